/* debug_test.h: for the tests of the debug mode: an environment without settings, a handler that keeps all reports, and
 * steps on pools, each of which ends by checking is_valid. Include it first. */
#ifndef TESTS_DEBUG_TEST_H
#define TESTS_DEBUG_TEST_H

#include "child.h"

/* Runs before and after each test: under every tool, only the test's own settings are in force. */
static inline int plain_environment(void **state) {
    unsetenv("KOLK_DEBUG");
    unsetenv("KOLK_FAIL");
    unsetenv("KOLK_STATS");
    setenv("KOLK_BYPASS", "0", 1);
    kolk_set_profiler(NULL);
    return abort_on_failure(state);
}

#define DEBUG_TEST(name) cmocka_unit_test_setup_teardown(name, plain_environment, plain_environment)

/* The ways to observe a pool, from not at all to malloc blocks. */
static const struct debug_mode {
    const char *debug, *bypass;
} debug_modes[] = {{NULL, "0"}, {"fill", "0"}, {"quarantine=2", "0"}, {"fill,guard,quarantine=64", "0"}, {NULL, "1"}};

#define DEBUG_MODES LENGTH_OF(debug_modes)

/* Sets up the environment for the n-th of these modes, and returns the value of a descriptor's `debug`. */
static inline const char *begin_debug_mode(size_t n) {
    setenv("KOLK_BYPASS", debug_modes[n % DEBUG_MODES].bypass, 1);
    return debug_modes[n % DEBUG_MODES].debug;
}

static inline uint32_t debug_flags(const kolk_pool *pool) {
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    return stats.debug;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static inline unsigned char *taken_from(kolk_pool *pool) {
    unsigned char *object = (unsigned char *)kolk_pool_alloc(pool);
    assert_non_null(object);
    assert_true(kolk_pool_is_valid(pool));
    return object;
}

static inline void give_back(kolk_pool *pool, void *object) {
    kolk_pool_free(pool, object);
    assert_true(kolk_pool_is_valid(pool));
}

static inline void end_pool(kolk_pool *pool) {
    assert_true(kolk_pool_is_valid(pool));
    kolk_pool_deinit(pool);
    assert_true(is_all_zero(pool));
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

typedef struct report {
    kolk_failure failure; /* its strings live only during the call, so they are copied below */
    char pool[64];
    char sentence[2100];
    const void *stack[24]; /* the stack of failure.site; empty without `sites` */
} report;

typedef struct reports {
    unsigned count, read;
    report all[32];
} reports;

static inline void keep_report(const kolk_failure *failure, void *context) {
    reports *kept = (reports *)context;
    assert_true(kept->count < LENGTH_OF(kept->all));
    report *now = &kept->all[kept->count++];
    now->failure = *failure;
    snprintf(now->pool, sizeof now->pool, "%s", failure->pool);
    snprintf(now->sentence, sizeof now->sentence, "%s", failure->sentence);
    for (size_t n = 0; failure->stack && failure->stack[n]; n++) now->stack[n] = failure->stack[n];
}

static inline void begin_reports(reports *kept) {
    memset(kept, 0, sizeof *kept);
    kolk_set_failure_handler(keep_report, kept);
}

static inline const report *next_report(reports *kept) {
    if (kept->read == kept->count) fail_msg("there is no further report");
    return &kept->all[kept->read++];
}

#define assert_no_more(kept)                                                                                           \
    do {                                                                                                               \
        if ((kept)->read != (kept)->count) fail_msg("unexpected: %s", (kept)->all[(kept)->read].sentence);             \
    } while (0)

/* Checks that the next report is about damage and has these fields. */
#define assert_damage(kept, rule_, pool_, object_, slot_, offset_, count_, sentence_)                                  \
    do {                                                                                                               \
        const report *now_ = next_report(kept);                                                                        \
        assert_string_equal(now_->sentence, sentence_);                                                                \
        assert_string_equal(now_->pool, pool_);                                                                        \
        assert_int_equal(now_->failure.rule, rule_);                                                                   \
        assert_ptr_equal(now_->failure.object, object_);                                                               \
        assert_int_equal(now_->failure.slot, slot_);                                                                   \
        assert_int_equal(now_->failure.offset, offset_);                                                               \
        assert_int_equal(now_->failure.count, count_);                                                                 \
        assert_int_equal(now_->failure.handle.bits, 0);                                                                \
    } while (0)

#endif
