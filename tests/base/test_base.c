/* runs: sample */
/* base.h: texts of statuses, handles as integers, deadlines, and setting the failure handler. */
#include "../help/test.h"

#include <time.h>

/* ---- Status ------------------------------------------------------------------------------------------------------ */

#define STATUS(status, number, sentence) status,
static const kolk_status statuses[] = {KOLK_STATUS_LIST(STATUS)};
#undef STATUS

/* promise: "Each row has a name ... used twice", "full stop, in static storage; never NULL" */
static void test_status_texts(void **state) {
    for (size_t i = 0; i < LENGTH_OF(statuses); i++) {
        const char *text = kolk_status_text(statuses[i]);
        assert_true(i == 0 || statuses[i] > statuses[i - 1]);
        assert_true(strlen(text) > 3);
        assert_true(text[strlen(text) - 1] != '.'); /* a sentence without a full stop */
        for (size_t n = 0; n < i; n++) assert_string_not_equal(text, kolk_status_text(statuses[n]));
    }
    assert_int_equal(KOLK_OK, 0);
    static const int none[] = {-1, 99, INT32_MAX};
    for (size_t i = 0; i < LENGTH_OF(none); i++)
        assert_string_equal(kolk_status_text((kolk_status)none[i]), "not a status of kolk");
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* promise: "NULL for a handle that it did not issue", "kolk_handle_equal", "kolk_handle_is_null" */
static void test_handles_are_integers(void **state) {
    static const uint64_t bits[] = {0, 1, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(0x123456789abcdef0), UINT64_MAX};
    for (size_t i = 0; i < LENGTH_OF(bits); i++) {
        kolk_handle handle = kolk_handle_unpack(bits[i]);
        assert_int_equal(handle.bits, bits[i]);
        assert_int_equal(kolk_handle_pack(handle), bits[i]);
        assert_int_equal(kolk_handle_is_null(handle), bits[i] == 0);
        for (size_t n = 0; n < LENGTH_OF(bits); n++)
            assert_int_equal(kolk_handle_equal(handle, kolk_handle_unpack(bits[n])), i == n);
    }
}

/* A handle has the same bits in every run and on every platform: the generation on top, and below it the index XOR the
 * tag, whose bits fill from the top down. (The tag of a name is its FNV-1a hash.) */
static void test_the_bits_of_a_handle(void **state) {
    static const struct {
        const char *name;
        uint32_t tag, capacity, expected; /* expected: the tag in the handle */
    } rows[] = {
        {NULL, 0, 100, 0x00000000u},
        {NULL, 5, 100, 0xa0000000u},
        {"bullets", 5, 100, 0xa0000000u},
        {"", 0, 100, 0xa3b93881u},
        {"a", 0, 100, 0x34943027u},
        {"foobar", 0, 100, 0x169f39fdu},
        {"a", 0, 1, 0x34943027u},
        {"a", 0, 2, 0x34943027u},
        {"a", 0, 129, 0x34943027u},
        {"a", 0, 1u << 20, 0x34943027u},
        {NULL, UINT32_MAX, 65536, 0xffffffffu},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){
                             .name = rows[i].name, .tag = rows[i].tag, .object_size = 1, .capacity = rows[i].capacity});
        void *object = kolk_pool_alloc(&pool);
        if (rows[i].capacity > 1) object = kolk_pool_alloc(&pool);
        uint32_t index = kolk_pool_index(&pool, object);
        kolk_pool_free(&pool, object);
        assert_ptr_equal(kolk_pool_alloc(&pool), object); /* its second life */
        uint64_t bits = kolk_handle_pack(kolk_pool_handle_of(&pool, object));
        assert_int_equal(bits, UINT64_C(2) << 32 | (index ^ rows[i].expected));
        assert_ptr_equal(kolk_pool_get(&pool, kolk_handle_unpack(bits)), object);
        kolk_pool_deinit(&pool);
    }
}

/* Pools with distinct tags refuse each other's handles, whatever their capacities, as long as both have enough bits for
 * the tags. promise: pool.h "A tag uses ... share a tag" */
static void test_small_tags_differ_whatever_the_capacities(void **state) {
    static const uint32_t capacities[] = {1, 2, 100, 256, 1024, 65536};
    for (uint32_t tag = 1; tag < 16; tag++) {
        for (size_t n = 0; n < LENGTH_OF(capacities) * 15 * LENGTH_OF(capacities); n++) {
            uint32_t other_tag = 1 + (uint32_t)(n / LENGTH_OF(capacities) % 15);
            kolk_pool one, other;
            make_pool(&one, &(kolk_pool_desc){
                                .object_size = 1, .tag = tag, .capacity = capacities[n % LENGTH_OF(capacities)]});
            make_pool(&other, &(kolk_pool_desc){.object_size = 1,
                                                .tag = other_tag,
                                                .capacity = capacities[n / (15 * LENGTH_OF(capacities))]});
            void *object = kolk_pool_alloc(&one), *others = kolk_pool_alloc(&other);
            kolk_handle handle = kolk_pool_handle_of(&one, object);
            assert_ptr_equal(kolk_pool_get(&one, handle), object);
            assert_ptr_equal(kolk_pool_get(&other, handle), tag == other_tag ? others : NULL);
            kolk_pool_deinit(&one);
            kolk_pool_deinit(&other);
        }
    }
}

/* ---- Statistics: what is not compared elsewhere at every step (model.h) ------------------------------------------ */

/* promise: "start at init; clear does not reset them", "if it has none", "bytes, as requested ... including metadata";
 * pool.h "All counters; O(1)" */
static void test_statistics(void **state) {
    kolk_pool pool;
    kolk_stats stats;
    make_pool(&pool, &(kolk_pool_desc){.name = "five", .object_size = 5, .object_align = 8, .capacity = 100});
    void *objects[10];
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 10), 10);
    kolk_pool_free(&pool, objects[3]);
    memset(&stats, 0xff, sizeof stats);
    kolk_pool_stats(&pool, &stats);
    assert_string_equal(stats.name, "five");
    assert_string_equal(stats.kind, "pool");
    assert_int_equal(stats.object_size, 5); /* as asked for */
    assert_int_equal(stats.stride, 8);
    assert_int_equal(stats.count, 9);
    assert_int_equal(stats.peak, 10);
    assert_int_equal(stats.capacity, 100);
    assert_int_equal(stats.max_capacity, 100);
    assert_int_equal(stats.unused_bytes, 90 * 8);
    assert_true(stats.bytes_reserved >= 100 * (8 + 8) && stats.bytes_committed == stats.bytes_reserved);
    kolk_pool_clear(&pool);
    kolk_pool_stats(&pool, &stats); /* clear resets no counter */
    assert_int_equal(stats.count, 0);
    assert_int_equal(stats.peak, 10);
    kolk_pool_deinit(&pool);
}

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* promise: "A point in time on the monotonic clock", "has passed already ... never passes", "at most KOLK_FOREVER; 0 or
 * less gives KOLK_NOW" */
static void test_deadlines(void **state) {
    assert_int_equal(KOLK_NOW.ns, 0);
    assert_int_equal(KOLK_FOREVER.ns, INT64_MAX);
    static const int64_t past[] = {0, -1, -1000000, INT64_MIN};
    for (size_t i = 0; i < LENGTH_OF(past); i++) assert_int_equal(kolk_deadline_after(past[i]).ns, 0);
    static const int64_t never[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 1000000, INT64_MAX / 1000000 + 1};
    for (size_t i = 0; i < LENGTH_OF(never); i++) assert_int_equal(kolk_deadline_after(never[i]).ns, INT64_MAX);
    static const int64_t sometime[] = {1, 20, 1000, 86400000, INT64_C(86400000) * 365 * 100};
    for (size_t i = 0; i < LENGTH_OF(sometime); i++) {
        int64_t before = now_ns(), deadline = kolk_deadline_after(sometime[i]).ns, after = now_ns();
        assert_true(deadline >= before + sometime[i] * 1000000 && deadline <= after + sometime[i] * 1000000);
    }
}

/* ---- The failure handler ----------------------------------------------------------------------------------------- */

static void count_only(const kolk_failure *failure, void *context) {
    ++*(int *)context;
}

static void test_the_last_handler_set_is_called(void **state) {
    notes taken;
    int counted = 0, nothing = 0;
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "base", .object_size = 8, .capacity = 1});
    begin_notes(&taken);
    kolk_pool_free(&pool, &nothing);
    kolk_set_failure_handler(count_only, &counted);
    kolk_pool_free(&pool, &nothing);
    kolk_pool_free(&pool, &nothing);
    assert_int_equal(taken.count, 1);
    assert_int_equal(counted, 2);
    begin_notes(&taken);
    kolk_pool_free(&pool, &nothing);
    assert_int_equal(taken.count, 1);
    assert_int_equal(counted, 2);
    kolk_pool_deinit(&pool);
    /* NULL restores the default, which aborts: test_pool_misuse.c. */
}

/* Sentences print slot numbers of any length, from one digit to the maximum. */
static void test_numbers_in_sentences(void **state) {
    static const uint32_t slots[] = {0, 9, 10, 4095, 1000000};
    notes taken;
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "base", .object_size = 1, .capacity = 1000001});
    begin_notes(&taken);
    for (size_t i = 0; i < LENGTH_OF(slots); i++) {
        char sentence[100];
        void *object = pool.slots + slots[i];
        kolk_pool_free(&pool, object);
        snprintf(sentence, sizeof sentence, "kolk: base: free of slot %" PRIu32 ", which was never handed out",
                 slots[i]);
        assert_noted(&taken, KOLK_NEVER_ISSUED, "base", object, slots[i], sentence);
    }
    kolk_pool_deinit(&pool);
}

/* What the library says of itself is what its macros say. */
static void test_features(void **state) {
    uint32_t features = kolk_features();
    assert_int_equal(features & KOLK_HAS_PAGES, KOLK_HOSTED ? KOLK_HAS_PAGES : 0);
    assert_int_equal(
        features & ~(uint32_t)(KOLK_HAS_PROBES | KOLK_HAS_VALGRIND | KOLK_HAS_PAGES | KOLK_HAS_DIAGNOSTICS), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_statistics),
        TEST(test_status_texts),
        TEST(test_handles_are_integers),
        TEST(test_the_bits_of_a_handle),
        TEST(test_deadlines),
        TEST(test_the_last_handler_set_is_called),
        TEST(test_small_tags_differ_whatever_the_capacities),
        TEST(test_deadlines),
        TEST(test_the_last_handler_set_is_called),
        TEST(test_numbers_in_sentences),
        TEST(test_features),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
