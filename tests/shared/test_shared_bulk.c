/* alloc_n and free_n of shared pools: the capacity, mistakes among the objects, hooks, and what goes through the
  * magazine. (test_shared_model.c has every length and order, test_all_*.c have the reports, and
  * test_shared_wait_schedules.c waiting threads.) */
#include "../help/test.h"

#include "shared_test.h"

#include <setjmp.h>

enum { SIZE = 24, MOST = 700 };

static kolk_shared pool;
static kolk_shared_local local;
static void *objects[MOST + 2];

static void begin(kolk_shared_desc desc) {
    make_shared(&pool, &desc);
    make_local(&local, &pool);
}

/* ---- Pools of every kind ----------------------------------------------------------------------------------------- */

#define KINDS 16u

static kolk_shared_desc some_desc(unsigned kind) {
    static const uint32_t caches[] = {KOLK_NO_CACHE, 3, 64, 100};
    return (kolk_shared_desc){.name = "jobs",
                              .object_size = SIZE,
                              .capacity = MOST,
                              .max_threads = 2,
                              .cache = caches[kind % 4],
                              .generations = kind / 4 % 2 ? KOLK_GENERATIONS_NONE : 0,
                              .exact = kind / 8 % 2};
}

/* Lives of one byte begin anew after 128 lives, and never become 0. */
static void test_many_lives(void **state) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        notes taken;
        begin(some_desc(kind));
        begin_notes(&taken);
        for (int life = 0; life < 400; life++) {
            assert_int_equal(kolk_shared_alloc_n(&local, objects, 150), 150);
            kolk_shared_free_n(&local, objects, 150);
        }
        kolk_shared_free(&local, objects[149]);
        assert_int_equal(taken.count, 1);
        assert_int_equal(taken.last.rule, KOLK_DOUBLE_FREE);
        kolk_set_failure_handler(NULL, NULL);
        assert_true(kolk_shared_is_valid(&pool));
        end_shared(&pool);
    }
}

/* ---- Capacity ---------------------------------------------------------------------------------------------------- */

/* What is missing was not there: each slot that the other local has not cached is handed out. The failure counts once,
 * and from then on the pool is uncached. Afterwards the other local gets all that this one frees. */
static void test_more_than_there_are(void **state) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_local other;
        kolk_stats stats;
        begin(some_desc(kind));
        make_local(&other, &pool);
        uint32_t slots = all_slots(&pool);
        void **all = (void **)calloc(slots + 5, sizeof *all);
        kolk_shared_free(&other, kolk_shared_alloc(&other));
        uint32_t cached = other.magazine->top, given = kolk_shared_alloc_n(&local, all, slots + 5);
        assert_int_equal(given, slots - cached);
        assert_true(given >= MOST);
        kolk_shared_stats(&pool, &stats);
        assert_int_equal(stats.failed, 1);
        assert_true(kolk_depot_is_uncached_(local.magazine->depot));
        kolk_shared_free_n(&local, all, given);
        assert_int_equal(local.magazine->top, 0);
        assert_int_equal(kolk_shared_count(&pool), 0);
        assert_int_equal(kolk_shared_alloc_n(&other, all, slots), slots);
        assert_int_equal(kolk_shared_alloc_n(&other, all, 0), 0);
        assert_true(kolk_shared_is_valid(&pool));
        end_shared(&pool);
        free(all);
    }
}

/* An uncached pool counts each slot that free_n puts into the depot, as it does for single frees. So it is cached again
 * after as many of them. promise: "From then on the pool ... returned as the pool has" */
static void test_returns_are_counted(void **state) {
    begin(some_desc(2));
    uint32_t slots = all_slots(&pool);
    void **all = (void **)calloc(slots, sizeof *all);
    assert_int_equal(kolk_shared_alloc_n(&local, all, slots), slots);
    assert_int_equal(kolk_shared_alloc_n(&local, objects, 1), 0);
    uint64_t returns = local.magazine->depot->returns;
    kolk_shared_free_n(&local, all, slots - 1);
    assert_int_equal(local.magazine->depot->returns, returns + slots - 1);
    assert_true(kolk_depot_is_uncached_(local.magazine->depot));
    kolk_shared_free_n(&local, all + slots - 1, 1);
    assert_false(kolk_depot_is_uncached_(local.magazine->depot));
    end_shared(&pool);
    free(all);
}

/* The magazine gets what is left of a word, and the last objects of a long array. Everything else passes it by.
 * promise: "Allocates up ... local's cache", "slots that are neighbours ... served at the end" */
static void test_what_goes_through_the_magazine(void **state) {
    begin(some_desc(3)); /* cache 100, words of 64 slots */
    assert_int_equal(kolk_shared_alloc_n(&local, objects, 130), 130);
    assert_int_equal(local.magazine->top, 3 * 64 - 130);
    assert_int_equal(kolk_shared_alloc_n(&local, objects + 130, 62 + 64), 126);
    assert_int_equal(local.magazine->top, 0);
    uint64_t returns = local.magazine->depot->returns;
    kolk_shared_free_n(&local, objects, 256);
    assert_int_equal(local.magazine->top, 50);
    assert_int_equal(local.magazine->depot->returns, returns + 206);
    assert_ptr_equal(kolk_shared_alloc(&local), objects[255]);
    kolk_shared_free_n(&local, objects + 255, 1);
    assert_int_equal(local.magazine->top, 50);
    kolk_shared_free_n(&local, NULL, 0);
    end_shared(&pool);
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

/* NULL is skipped, and each wrong pointer is reported; all others are freed. */
static void test_mistakes_among_objects(void **state) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        notes taken;
        begin(some_desc(kind));
        assert_int_equal(kolk_shared_alloc_n(&local, objects, MOST), MOST);
        begin_notes(&taken);
        void *kept[4] = {objects[0], objects[200], objects[400], objects[699]};
        objects[0] = NULL;
        objects[200] = moved(objects[200], 1);
        objects[400] = &taken;
        objects[699] = objects[698];
        kolk_shared_free_n(&local, objects, MOST);
        assert_int_equal(taken.count, 3);
        assert_int_equal(taken.last.rule, KOLK_DOUBLE_FREE);
        assert_ptr_equal(taken.last.object, objects[698]);
        taken.count = 0;
        for (unsigned i = 0; i < 4; i++) assert_true(kolk_shared_is_live(&pool, kept[i]));
        assert_int_equal(kolk_shared_count(&pool), 4);
        assert_true(kolk_shared_is_valid(&pool));
        kolk_shared_free_n(&local, kept, 4);
        kolk_shared_free_n(&local, kept, 4);
        assert_int_equal(taken.count, 4);
        taken.count = 0;
        void *nothing[300] = {NULL};
        kolk_shared_free_n(&local, nothing, LENGTH_OF(nothing));
        assert_silent(&taken);
        kolk_set_failure_handler(NULL, NULL);
        end_shared(&pool);
    }
}

static jmp_buf out;

static void jump_out(const kolk_failure *failure, void *context) {
    longjmp(out, 1);
}

/* When a mistake is reported, the objects before it have been freed completely, and those behind it are alive. */
static void test_the_handler_may_jump_out(void **state) {
    static unsigned kind; /* static, so that longjmp preserves it */
    for (kind = 0; kind < KINDS; kind++) {
        begin(some_desc(kind));
        assert_int_equal(kolk_shared_alloc_n(&local, objects, MOST), MOST);
        static void *right;
        right = objects[250];
        objects[250] = &out;
        kolk_set_failure_handler(jump_out, NULL);
        if (setjmp(out) == 0) {
            kolk_shared_free_n(&local, objects, MOST);
            fail_msg("%s", "nothing was reported");
        }
        kolk_set_failure_handler(NULL, NULL);
        assert_true(kolk_shared_is_valid(&pool));
        assert_int_equal(kolk_shared_count(&pool), MOST - 250);
        kolk_shared_free_n(&local, &right, 1);
        kolk_shared_free_n(&local, objects + 251, MOST - 251);
        assert_int_equal(kolk_shared_count(&pool), 0);
        end_shared(&pool);
    }
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

static unsigned setups, resets, teardowns;

static bool set_up(void *object, void *context) {
    return setups++ < 90;
}

static void reset(void *object, void *context) {
    assert_false(kolk_shared_is_live((const kolk_shared *)context, object));
    resets++;
}

static void tear_down(void *object, void *context) {
    teardowns++;
}

static void test_hooks(void **state) {
    for (unsigned kind = 0; kind < 8; kind++) { /* with setup and teardown, with reset, with a cache */
        kolk_shared_desc desc = {.object_size = SIZE, .capacity = 100, .max_threads = 1, .context = &pool};
        setups = resets = teardowns = 0;
        if (kind % 2) desc.life.setup = set_up, desc.life.teardown = tear_down;
        if (kind / 2 % 2) desc.life.reset = reset;
        if (kind / 4) desc.cache = 20;
        begin(desc);
        for (unsigned round = 1; round <= 3; round++) {
            uint32_t given = kolk_shared_alloc_n(&local, objects, 100);
            assert_int_equal(given, kind % 2 ? 90 : 100);
            kolk_shared_free_n(&local, objects, given);
            assert_int_equal(resets, kind / 2 % 2 ? round * given : 0);
            assert_true(kolk_shared_is_valid(&pool));
        }
        end_shared(&pool);
        assert_int_equal(teardowns, kind % 2 ? 90 : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_many_lives),
        TEST(test_more_than_there_are),
        TEST(test_returns_are_counted),
        TEST(test_what_goes_through_the_magazine),
        TEST(test_mistakes_among_objects),
        TEST(test_the_handler_may_jump_out),
        TEST(test_hooks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
