/* wraps: help/system_calls.h */
/* Deferred free, promise by promise, in one thread that plays several: what it does immediately, what it leaves
 * unchanged, when the slot returns to the depot, and which threads must quiesce first. Tests with readers in other
 * threads are in test_shared_later_schedules.c, and with threads that end in test_shared_death.c. Reads KOLK_TEST_SEED
 * and KOLK_TEST_OPS from the environment. */
#include "../help/test.h"

#include "../help/system_calls.h"
#include "shared_test.h"

#include <time.h>

enum { MOST_LOCALS = 4, MOST = 2000, SIZE = 24 };

static kolk_shared pool;
static kolk_shared_local locals[MOST_LOCALS];
static void *objects[MOST];

static void set_up(const kolk_shared_desc *desc) {
    make_shared(&pool, desc);
    for (uint32_t i = 0; i < desc->max_threads; i++) make_local(&locals[i], &pool);
}

static void tear_down(void) {
    for (uint32_t i = 0; i < pool.inside->max_threads; i++) kolk_shared_local_deinit(&locals[i]);
    end_shared(&pool);
}

/* Allocates all free slots through one local. The other locals' magazines must be empty. */
static uint32_t take_all(kolk_shared_local *local) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < pool.inside->max_threads; i++) kolk_shared_local_flush(&locals[i]);
    while (n < MOST && (objects[n] = kolk_shared_alloc(local))) n++;
    assert_true(n < MOST);
    assert_true(kolk_shared_is_valid(&pool));
    return n;
}

/* Makes each local quiesce once. */
static void quiesce_all(void) {
    for (uint32_t i = 0; i < pool.inside->max_threads; i++) {
        kolk_shared_quiesce(&locals[i]);
        assert_true(kolk_shared_is_valid(&pool));
    }
}

/* Pools with depot words of 1 to 64 slots, two to four locals, with or without handles, exact or not; one kind
 * grows. */
enum { KINDS = 5 * 3 * 2 * 2 * 2 };

static kolk_shared_desc kind_of(unsigned kind) {
    static const uint32_t caches[] = {1, 2, 5, 64, 100};
    bool grows = kind / 60 % 2;
    return (kolk_shared_desc){.name = "later",
                              .object_size = grows ? 1000 : SIZE,
                              .capacity = grows ? 3 : 150,
                              .max_capacity = 150,
                              .max_threads = 2 + kind / 5 % 3,
                              .cache = caches[kind % 5],
                              .generations = kind / 15 % 2 ? KOLK_GENERATIONS_NONE : 0,
                              .exact = kind / 30 % 2};
}

/* ---- Immediate effects ------------------------------------------------------------------------------------------- */

static void test_dead_at_once(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_desc desc = kind_of(kind);
        set_up(&desc);
        for (int i = 0; i < 5; i++) memset(objects[i] = kolk_shared_alloc(&locals[0]), 'a' + i, SIZE);
        kolk_handle handle = {0};
        if (desc.generations != KOLK_GENERATIONS_NONE) handle = kolk_shared_handle_of(&pool, objects[2]);
        kolk_shared_free_later(&locals[kind % desc.max_threads], objects[2]); /* any local may do this */
        assert_true(kolk_shared_is_valid(&pool));
        assert_false(kolk_shared_is_live(&pool, objects[2]));
        assert_null(kolk_shared_get(&pool, handle));
        assert_int_equal(kolk_shared_count(&pool), 4);
        kolk_stats stats;
        kolk_shared_stats(&pool, &stats);
        assert_int_equal(stats.count, 4);
        unsigned seen = 0;
        kolk_shared_cursor cursor = kolk_shared_each(&pool);
        for (void *at; (at = kolk_shared_cursor_next(&cursor)); seen++) assert_ptr_not_equal(at, objects[2]);
        assert_int_equal(seen, 4);
        for (int i = 0; i < 5; i++) assert_true(all_bytes_are(objects[i], SIZE, (unsigned char)('a' + i)));
        tear_down();
    }
}

static void test_misuse(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_desc desc = kind_of(kind);
        notes taken;
        set_up(&desc);
        void *object = kolk_shared_alloc(&locals[0]), *other = kolk_shared_alloc(&locals[0]);
        memset(object, 'x', SIZE);
        begin_notes(&taken);
        kolk_shared_free_later(&locals[0], NULL); /* has no effect */
        kolk_shared_free_later(&locals[0], object);
        assert_silent(&taken);
        for (unsigned round = 0; round < 4; round++) { /* while the slot is retired, and after its return */
            for (unsigned i = 0; i < 2; i++) {
                kolk_shared_free_later(&locals[i], object);
                assert_noted(&taken, KOLK_DOUBLE_FREE, "later", object, 0, "kolk: later: double free of slot 0");
                kolk_shared_free(&locals[i], object);
                assert_noted(&taken, KOLK_DOUBLE_FREE, "later", object, 0, "kolk: later: double free of slot 0");
            }
            if (desc.generations != KOLK_GENERATIONS_NONE) {
                assert_true(kolk_handle_is_null(kolk_shared_handle_of(&pool, object)));
                assert_noted(&taken, KOLK_DEAD_OBJECT, "later", object, 0,
                             "kolk: later: handle of slot 0, which is free");
            }
            assert_true(kolk_shared_is_valid(&pool));
            assert_true(all_bytes_are(object, SIZE, 'x'));
            assert_int_equal(kolk_shared_count(&pool), 1);
            quiesce_all();
        }
        kolk_shared_free_later(&locals[1], moved(other, 3));
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "later", moved(other, 3), 1,
                     "kolk: later: free of a pointer into slot 1, at byte 3 of it");
        kolk_shared_free_later(&locals[1], &pool);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "later", &pool, NO_SLOT,
                     "kolk: later: free of a pointer that does not belong to this pool");
        kolk_shared_free(&locals[1], other);
        kolk_shared_free_later(&locals[1], other);
        assert_noted(&taken, KOLK_DOUBLE_FREE, "later", other, 1, "kolk: later: double free of slot 1");
        kolk_set_failure_handler(NULL, NULL);
        assert_int_equal(take_all(&locals[0]), all_slots(&pool));
        tear_down();
    }
    kolk_shared_local none = {0};
    kolk_shared zero;
    notes taken;
    memset(&zero, 0, sizeof zero);
    assert_int_equal(kolk_shared_local_init(&none, &zero), KOLK_NO_LOCAL);
    kolk_shared_quiesce(&none);
    kolk_shared_online(&none);
    kolk_shared_offline(&none);
    kolk_shared_free_later(&none, NULL);
    begin_notes(&taken);
    kolk_shared_free_later(&none, &pool);
    assert_noted(&taken, KOLK_NO_LOCAL, "", &pool, NO_SLOT,
                 "kolk: a pool without a name: free through a local that is of no pool");
}

/* ---- The return to the depot ------------------------------------------------------------------------------------- */

/* In a pool that is full except for retired slots, each local delays their return until it has quiesced.
 * promise: "Frees an object as kolk_shared_free ... slot counts as alive", "States that the calling thread holds no" */
static void test_not_before_all_have_passed(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_desc desc = kind_of(kind);
        uint32_t n = desc.max_threads;
        for (uint32_t late = 0; late < n; late++) {
            set_up(&desc);
            uint32_t all = take_all(&locals[0]);
            assert_int_equal(all, all_slots(&pool));
            void *freed[] = {objects[all / 2], objects[all / 2 + 1], objects[all - 1]};
            for (uint32_t i = 0; i < 3; i++) kolk_shared_free_later(&locals[i % n], freed[i]);
            for (int round = 0; round < 10; round++) { /* all locals but one quiesce */
                for (uint32_t i = 0; i < n; i++)
                    if (i != late) kolk_shared_quiesce(&locals[i]);
                assert_true(kolk_shared_is_valid(&pool));
                assert_null(kolk_shared_alloc(&locals[round % (int)n])); /* retired slots count as alive */
                assert_int_equal(kolk_shared_count(&pool), all - 3);
            }
            for (int round = 0; round < 3; round++) quiesce_all(); /* three rounds are always enough */
            assert_int_equal(take_all(&locals[late]), 3);
            for (int i = 0; i < 3; i++)
                assert_true(freed[i] == objects[0] || freed[i] == objects[1] || freed[i] == objects[2]);
            assert_int_equal(kolk_shared_count(&pool), all);
            tear_down();
        }
    }
}

/* Three rounds suffice, in whatever order the threads quiesce and whatever epochs they start from. */
static void test_three_at_most(void **state) {
    (void)state;
    uint64_t random = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", random);
    unsigned needed[5] = {0};
    for (unsigned n = 0; n < (does_a_part() ? 300u : 3000u); n++) {
        kolk_shared_desc desc = kind_of(random_below(&random, KINDS / 2));
        set_up(&desc);
        uint32_t all = take_all(&locals[0]);
        kolk_shared_free_later(&locals[0], objects[1]);
        for (uint32_t steps = random_below(&random, 20); steps; steps--)
            kolk_shared_quiesce(&locals[random_below(&random, desc.max_threads)]);
        kolk_shared_free_later(&locals[random_below(&random, desc.max_threads)], objects[0]);
        unsigned rounds = 0;
        for (bool home = false; !home; rounds++) {
            assert_true(rounds < 3);
            uint32_t first = random_below(&random, desc.max_threads);
            for (uint32_t i = 0; i < desc.max_threads; i++)
                kolk_shared_quiesce(&locals[(first + i) % desc.max_threads]);
            void *got;
            while ((got = kolk_shared_alloc(&locals[0]))) home |= got == objects[0];
        }
        needed[rounds]++;
        assert_int_equal(kolk_shared_count(&pool), all);
        tear_down();
    }
    assert_int_equal(needed[0] + needed[1], 0); /* no slot returns before its readers have quiesced */
    assert_true(needed[2] && needed[3]);
}

static void test_who_is_offline_is_not_asked(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_desc desc = kind_of(kind);
        set_up(&desc);
        uint32_t all = take_all(&locals[0]);
        for (uint32_t i = 1; i < desc.max_threads; i++) kolk_shared_offline(&locals[i]);
        kolk_shared_offline(&locals[1]); /* a second call has no effect */
        for (uint32_t i = 1; i < desc.max_threads; i++) {
            kolk_shared_free_later(&locals[i], objects[i]); /* offline threads may do this */
            assert_false(kolk_shared_is_live(&pool, objects[i]));
            kolk_shared_quiesce(&locals[i]); /* has no effect */
        }
        assert_null(kolk_shared_alloc(&locals[0]));
        for (int i = 0; i < 3; i++) kolk_shared_quiesce(&locals[0]);
        for (uint32_t i = 1; i < desc.max_threads; i++) assert_non_null(kolk_shared_alloc(&locals[i]));
        assert_null(kolk_shared_alloc(&locals[0]));
        assert_int_equal(kolk_shared_count(&pool), all);
        /* Once it is online again, the thread delays returns as before. */
        kolk_shared_online(&locals[1]);
        kolk_shared_online(&locals[1]);
        kolk_shared_free_later(&locals[0], objects[0]);
        for (int i = 0; i < 10; i++) kolk_shared_quiesce(&locals[0]);
        assert_null(kolk_shared_alloc(&locals[0]));
        kolk_shared_offline(&locals[1]);
        for (int i = 0; i < 3; i++) kolk_shared_quiesce(&locals[0]);
        assert_ptr_equal(kolk_shared_alloc(&locals[0]), objects[0]);
        tear_down();
    }
}

/* With all locals offline, a retired slot stays retired until a local (perhaps a new one) comes online and quiesces, or
 * until an alloc needs the slot and finds no local online. promise: "offline states that ... new local is online" */
static void test_all_offline(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_desc desc = kind_of(kind);
        set_up(&desc);
        take_all(&locals[0]);
        for (uint32_t i = 0; i < desc.max_threads; i++) kolk_shared_offline(&locals[i]);
        kolk_shared_free_later(&locals[0], objects[0]);
        for (int i = 0; i < 5; i++) quiesce_all();
        assert_true(kolk_shared_is_valid(&pool));
        if (kind % 3 == 0) {
            kolk_shared_online(&locals[1]);
        } else if (kind % 3 == 1) {
            kolk_shared_local_deinit(&locals[1]);
            make_local(&locals[1], &pool); /* a new local is online */
        }
        if (kind % 3 < 2) assert_null(kolk_shared_alloc(&locals[0]));
        for (int i = 0; i < 3 && kind % 3 < 2; i++) kolk_shared_quiesce(&locals[1]);
        void *got = kind % 2 ? kolk_shared_alloc(&locals[0]) : kolk_shared_alloc_wait(&locals[0], KOLK_FOREVER);
        assert_ptr_equal(got, objects[0]);
        tear_down();
    }
}

/* A deinitialised local delays no returns, and its own retired slots return as well. */
static void test_deinit(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_desc desc = kind_of(kind);
        set_up(&desc);
        take_all(&locals[0]);
        for (uint32_t i = 1; i < desc.max_threads; i++) {
            kolk_shared_free_later(&locals[i], objects[i]);
            kolk_shared_local_deinit(&locals[i]);
            assert_true(kolk_shared_is_valid(&pool));
        }
        for (int i = 0; i < 3; i++) kolk_shared_quiesce(&locals[0]);
        for (uint32_t i = 1; i < desc.max_threads; i++) assert_non_null(kolk_shared_alloc(&locals[0]));
        assert_null(kolk_shared_alloc(&locals[0]));
        tear_down();
    }
}

/* Thousands of deferred frees, scattered over all slots and epochs, in a pool with more slots than one summary word
 * covers. promise: "States that the calling thread holds no" */
static void test_many(void **state) {
    (void)state;
    static const uint32_t caches[] = {1, 5, 64};
    for (size_t c = 0; c < LENGTH_OF(caches); c++) {
        enum { MANY = 20000 };
        static void *all[MANY + 65];
        make_shared(&pool,
                    &(kolk_shared_desc){.object_size = 8, .capacity = MANY, .max_threads = 2, .cache = caches[c]});
        for (int i = 0; i < 2; i++) make_local(&locals[i], &pool);
        uint32_t n = 0;
        while ((all[n] = kolk_shared_alloc(&locals[0]))) n++;
        assert_int_equal(n, all_slots(&pool));
        uint32_t freed = 0;
        for (uint32_t i = 0; i < n; i += 1 + i % 7 * (i % 130), freed++) {
            kolk_shared_free_later(&locals[i % 2], all[i]);
            if (i % 1000 == 0) kolk_shared_quiesce(&locals[i / 1000 % 2]);
        }
        assert_int_equal(kolk_shared_count(&pool), n - freed);
        for (int round = 0; round < 3; round++) quiesce_all();
        uint32_t got = 0;
        while (kolk_shared_alloc(&locals[0])) got++;
        assert_int_equal(got, freed);
        tear_down();
    }
}

/* The system refuses memory to a growing pool. When memory is available again, the pool grows, and the retired slot
 * returns too. */
static void test_growth_is_refused(void **state) {
    (void)state;
    set_up(&(kolk_shared_desc){.object_size = 4096, .capacity = 2, .max_capacity = 40, .max_threads = 2, .cache = 1});
    refuse(1, true);
    uint32_t n = take_all(&locals[0]);
    assert_in_range(n, 2, 10);
    void *one = objects[0];
    kolk_shared_free_later(&locals[0], one);
    assert_null(kolk_shared_alloc(&locals[0]));
    for (int i = 0; i < 3; i++) quiesce_all();
    assert_ptr_equal(kolk_shared_alloc(&locals[1]), one);
    refuse(0, false);
    kolk_shared_free_later(&locals[0], one);
    assert_non_null(kolk_shared_alloc(&locals[0]));
    for (int i = 0; i < 3; i++) quiesce_all();
    assert_int_equal(kolk_shared_count(&pool), n);
    tear_down();
}

/* ---- Random operations, compared with a model -------------------------------------------------------------------- */

typedef struct model {
    struct {
        bool alive, waits;
        bool asked[MOST_LOCALS]; /* must this local quiesce before the slot returns? */
    } slots[MOST];
    bool online[MOST_LOCALS];
    uint32_t alive;
    uint64_t reused;
} model;

static model m;

static void play_take(unsigned who) {
    void *object = kolk_shared_alloc(&locals[who]);
    if (!object) return;
    uint32_t slot = slot_of(&pool, object);
    assert_false(m.slots[slot].alive);
    for (unsigned i = 0; i < MOST_LOCALS; i++) assert_false(m.slots[slot].asked[i]); /* all locals have quiesced */
    m.reused += m.slots[slot].waits;
    m.slots[slot].waits = false;
    m.slots[slot].alive = true;
    m.alive++;
    *(uint32_t *)object = slot;
}

static void play_free(unsigned who, uint64_t *random, bool later) {
    uint32_t from = random_below(random, all_slots(&pool));
    kolk_shared_cursor cursor = kolk_shared_each(&pool);
    if (from < cursor.end) cursor.slot = from;
    void *object = kolk_shared_cursor_next(&cursor);
    if (!object) return;
    uint32_t slot = slot_of(&pool, object);
    assert_true(m.slots[slot].alive);
    assert_int_equal(*(uint32_t *)object, slot);
    m.slots[slot].alive = false;
    m.alive--;
    if (later) {
        m.slots[slot].waits = true;
        for (unsigned i = 0; i < MOST_LOCALS; i++) m.slots[slot].asked[i] = m.online[i];
        kolk_shared_free_later(&locals[who], object);
    } else {
        kolk_shared_free(&locals[who], object);
    }
}

static void pass(unsigned who) {
    for (uint32_t i = 0; i < all_slots(&pool); i++) m.slots[i].asked[who] = false;
}

static void play_once(uint64_t *random) {
    unsigned who = random_below(random, pool.inside->max_threads), choice = random_below(random, 32);
    if (choice < 12) {
        play_take(who);
    } else if (choice < 20) {
        play_free(who, random, choice < 17);
    } else if (choice == 20) {
        kolk_shared_local_flush(&locals[who]);
    } else if (choice == 21) {
        kolk_shared_offline(&locals[who]);
        m.online[who] = false;
        pass(who);
    } else if (choice < 24) {
        kolk_shared_online(&locals[who]);
        m.online[who] = true;
    } else if (choice == 24) {
        kolk_shared_local_deinit(&locals[who]);
        pass(who);
        make_local(&locals[who], &pool);
        m.online[who] = true;
    } else {
        if (m.online[who]) pass(who);
        kolk_shared_quiesce(&locals[who]);
    }
}

static void test_at_random(void **state) {
    (void)state;
    uint64_t random = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL)), reused = 0;
    uint64_t steps = number_from_environment("KOLK_TEST_OPS", does_a_part() ? 200 : 1500);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", random, steps);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        kolk_shared_desc desc = kind_of(kind);
        set_up(&desc);
        memset(&m, 0, sizeof m);
        for (uint32_t i = 0; i < desc.max_threads; i++) m.online[i] = true;
        for (uint64_t n = 0; n < steps; n++) {
            play_once(&random);
            if (n % 8 == 0) assert_true(kolk_shared_is_valid(&pool));
            assert_int_equal(kolk_shared_count(&pool), m.alive);
        }
        for (uint32_t i = 0; i < desc.max_threads; i++) kolk_shared_online(&locals[i]);
        for (int round = 0; round < 3; round++) quiesce_all();
        assert_int_equal(take_all(&locals[0]), all_slots(&pool) - m.alive);
        reused += m.reused;
        tear_down();
    }
    assert_true(reused > KINDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REFUSAL_TEST(test_dead_at_once),
        REFUSAL_TEST(test_misuse),
        REFUSAL_TEST(test_not_before_all_have_passed),
        REFUSAL_TEST(test_three_at_most),
        REFUSAL_TEST(test_who_is_offline_is_not_asked),
        REFUSAL_TEST(test_all_offline),
        REFUSAL_TEST(test_deinit),
        REFUSAL_TEST(test_many),
        REFUSAL_TEST(test_growth_is_refused),
        REFUSAL_TEST(test_at_random),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
