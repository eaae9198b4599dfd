/* test.h: for the tests of the core: includes cmocka and plain.h. Include it first. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#define _GNU_SOURCE /* fork, MAP_ANONYMOUS ... under -std=c11 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "plain.h"

#pragma GCC diagnostic ignored "-Wunused-parameter" /* tests and hooks need few of their parameters */

/* Which sanitizers was this program compiled with? */
#if defined(__has_feature)
#define KOLK_TEST_SANITIZER(name) __has_feature(name)
#else
#define KOLK_TEST_SANITIZER(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || KOLK_TEST_SANITIZER(address_sanitizer)
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || KOLK_TEST_SANITIZER(thread_sanitizer)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

/* Under a sanitizer each step takes ten times as long, so long tests do only a part of their work. */
#if UNDER_ASAN || UNDER_TSAN || KOLK_TEST_SANITIZER(memory_sanitizer)
#define SLOW 1
#else
#define SLOW 0
#endif

/* The same where each system call takes long: wine asks a process for most of them. */
#ifdef _WIN32
#define SLOW_CALLS 1
#else
#define SLOW_CALLS SLOW
#endif

/* Should a long test do only a part of its work, because of a sanitizer or KOLK_TEST_EFFORT? Prints the effort once. */
static inline bool does_a_part(void) {
    static enum { UNKNOWN, FULL, QUICK } effort;
    if (effort == UNKNOWN) {
        effort = effort_is_quick() ? QUICK : FULL;
        print_message("KOLK_TEST_EFFORT=%s\n", effort == QUICK ? "quick: a part of the work" : "full");
    }
    return SLOW || effort == QUICK;
}

/* Returns the distance between the steps at which something happens, in a test that tries each: a shortened test tries
 * only every ninth step. */
static inline unsigned steps_apart(void) {
    return does_a_part() ? 9 : 1;
}

/* Returns the first of these steps, from 1: a shortened test tries others each time that it runs. */
static inline unsigned first_step(void) {
    return 1 + (unsigned)time(NULL) % steps_apart();
}

/* Ends a program that hangs, so that it fails, or a child that hangs, so that its parent fails. The limit is many times
 * as long as the slowest test takes in the slowest build on a slow machine, and shorter than ctest's limit in
 * CMakePresets.json. */
#define END_IF_IT_HANGS() alarm(600)

/* Returns the name of the emulator, or NULL. Under qemu-user a program sees the emulator's memory and executable
 * instead of its own, and the emulator prints a message when it dies. Checks that depend on these are left out, as they
 * are without /proc, or the test is skipped. */
static inline const char *emulator(void) {
#ifdef _WIN32
    return NULL; /* wine is no emulator: it maps the program's own memory, and the processor runs its instructions */
#endif
    const char *name = getenv("EMULATOR");
    return name && *name ? name : NULL;
}

static inline void skip_if_emulated(void) {
    if (!emulator()) return;
    print_message("left out: under an emulator\n");
    skip();
}

/* For tests of what Windows lacks: forks, signals, descriptors, names of functions. */
static inline void skip_on_windows(void) {
#ifdef _WIN32
    print_message("left out: on Windows\n");
    skip();
#endif
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

/* The teardown of a test: restores the handler that aborts, so that the next test's failures do not go unnoticed. */
static inline int abort_on_failure(void **state) {
    kolk_set_failure_handler(NULL, NULL);
    return 0;
}

/* Checks that there was exactly one failure since begin_notes or the last assert_noted, and checks its fields. */
#define assert_noted(taken, rule_, pool_, object_, slot_, sentence_)                                                   \
    do {                                                                                                               \
        assert_int_equal((taken)->count, 1);                                                                           \
        assert_string_equal((taken)->sentence, sentence_);                                                             \
        assert_int_equal((taken)->last.rule, rule_);                                                                   \
        assert_string_equal((taken)->pool, pool_);                                                                     \
        assert_ptr_equal((taken)->last.object, object_);                                                               \
        assert_int_equal((taken)->last.slot, slot_);                                                                   \
        (taken)->count = 0;                                                                                            \
    } while (0)

#define assert_silent(taken) assert_int_equal((taken)->count, 0)

/* Sets `what` to `value`, as a stray write would, and restores it after checking that is_valid(at) returns false.
 * `value` may refer to the old value as before_. */
#define assert_breaks(is_valid, at, what, value)                                                                       \
    do {                                                                                                               \
        __typeof__(what) before_ = (what);                                                                             \
        (what) = (value);                                                                                              \
        if (is_valid(at)) fail_msg("not seen: %s = %s", #what, #value);                                                \
        (what) = before_;                                                                                              \
        assert_true(is_valid(at));                                                                                     \
    } while (0)

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static const kolk_reuse orders[] = {KOLK_REUSE_LIFO, KOLK_REUSE_FIFO, KOLK_REUSE_LOWEST};

static inline void make_pool(kolk_pool *pool, const kolk_pool_desc *desc) {
    kolk_status status = kolk_pool_init(pool, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(kolk_pool_is_valid(pool));
}

/* Returns the live object in the lowest slot, or NULL. */
static inline void *first_alive(const kolk_pool *pool) {
    kolk_cursor cursor = kolk_pool_each(pool);
    return kolk_cursor_next(&cursor);
}

#endif
