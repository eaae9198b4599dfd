/* wraps: help/system_calls.h */
/* Overflow pools: random operations on a chain of three, compared with a list. Also tests which functions of the first
 * pool find objects of the others, reports, and memory returned to the system. (Hooks: test_pool_overflow_hooks.c.)
 * Reads KOLK_TEST_SEED and KOLK_TEST_OPS from the environment. */
#include "../help/debug_test.h"

#include "../help/system_calls.h"
#include "two.h"

#include <time.h>

#define POOLS  3u
#define MOST   100u
#define STALE  64u
#define NO_MAX 0u

static uint64_t seed, operations;

/* ---- A chain of three compared with a list ----------------------------------------------------------------------- */

typedef struct one {
    void *object;
    kolk_handle handle;
    unsigned owner;
} one;

typedef struct run {
    kolk_pool pools[POOLS]; /* the first overflows into the second, the second into the third */
    uint32_t counts[POOLS];
    one alive[POOLS * MOST], stale[STALE];
    uint32_t count;
    uint64_t random;
    notes taken;
    bool bypass;
} run;

/* Each pool has its own order of reuse, kind of memory and debug mode. */
static void make_chain(run *r, bool bypass) {
    static _Alignas(16) unsigned char memory[POOLS][KOLK_POOL_BYTES(SIZE, 8, 40)];
    static const char *const names[] = {"first", "second", "third"};
    r->bypass = bypass;
    setenv("KOLK_BYPASS", bypass ? "1" : "0", 1);
    kolk_generations kind = random_below(&r->random, 4) ? KOLK_GENERATIONS_RECYCLE : KOLK_GENERATIONS_NONE;
    for (unsigned n = POOLS; n-- > 0;) {
        kolk_pool_desc desc = {.name = names[n], .tag = n + 1, .object_size = SIZE, .generations = kind};
        desc.reuse = orders[random_below(&r->random, 3)];
        desc.debug = debug_modes[random_below(&r->random, DEBUG_MODES - 1)].debug;
        desc.capacity = random_below(&r->random, 12);
        uint32_t memory_kind = random_below(&r->random, 3);
        if (memory_kind == 1) desc.max_capacity = desc.capacity + 1 + random_below(&r->random, MOST - 12);
        if (memory_kind == 2) {
            fill_random(&r->random, memory[n], sizeof memory[n]);
            desc.memory = memory[n], desc.memory_size = sizeof memory[n];
            desc.capacity++;
        }
        if (n + 1 < POOLS) desc.full.overflow = &r->pools[n + 1];
        if (n + 1 == POOLS && memory_kind == 0) desc.capacity++; /* only the last pool must have slots */
        make_pool(&r->pools[n], &desc);
    }
}

static void stamp(const one *it) {
    memset(it->object, (int)(unsigned char)((uintptr_t)it->object >> 3), SIZE);
}

static bool is_intact(const one *it) {
    return all_bytes_are(it->object, SIZE, (unsigned char)((uintptr_t)it->object >> 3));
}

static bool has_room(const kolk_pool *pool) {
    return kolk_pool_count(pool) < pool->max_capacity;
}

/* An alloc from any pool of the chain takes an object of the first pool with room, searching from that pool on. */
static void alloc(run *r) {
    unsigned asked = random_below(&r->random, POOLS + 3) % POOLS, owner = asked;
    while (owner < POOLS && !has_room(&r->pools[owner])) owner++;
    void *object = kolk_pool_alloc(&r->pools[asked]);
    assert_int_equal(object != NULL, owner < POOLS);
    if (!object) return;
    for (uint32_t n = 0; n < r->count; n++) assert_ptr_not_equal(object, r->alive[n].object);
    one *it = &r->alive[r->count++];
    *it = (one){.object = object, .owner = owner};
    if (r->pools[0].high) it->handle = kolk_pool_handle_of(&r->pools[asked], object);
    r->counts[owner]++;
    stamp(it);
}

static void free_one(run *r) {
    if (r->count == 0) return;
    uint32_t at = random_below(&r->random, r->count);
    one it = r->alive[at];
    kolk_pool *asked = &r->pools[random_below(&r->random, it.owner + 1)];
    assert_true(is_intact(&it));
    if (r->pools[0].high && random_below(&r->random, 2)) {
        assert_true(kolk_pool_free_handle(asked, it.handle));
        assert_false(kolk_pool_free_handle(asked, it.handle));
    } else if (random_below(&r->random, 2)) {
        kolk_pool_free_n(asked, (void *[]){NULL, it.object}, 2);
    } else {
        kolk_pool_free(asked, it.object);
    }
    r->counts[it.owner]--;
    r->alive[at] = r->alive[--r->count];
    r->stale[random_below(&r->random, STALE)] = it;
}

static void renew_one(run *r) {
    if (r->count == 0) return;
    one *it = &r->alive[random_below(&r->random, r->count)];
    kolk_pool *asked = &r->pools[random_below(&r->random, it->owner + 1)];
    r->stale[random_below(&r->random, STALE)] = *it;
    it->object = kolk_pool_renew(asked, it->object);
    assert_true(kolk_pool_at(&r->pools[it->owner], kolk_pool_index(&r->pools[it->owner], it->object)) == it->object);
    if (r->pools[0].high) it->handle = kolk_pool_handle_of(asked, it->object);
    stamp(it);
}

/* An object is visited in its owner only. It is found by its owner and by the pools before the owner, but not by later
 * pools. Neither a stale handle's
 * owner nor the pools before the owner find an object by the handle. */
static void ask(run *r) {
    bool handles = r->pools[0].high;
    for (unsigned n = 0; n < POOLS; n++) {
        const kolk_pool *pool = &r->pools[n];
        for (uint32_t i = 0; i < r->count; i++) {
            const one *it = &r->alive[i];
            assert_int_equal(kolk_pool_is_live(pool, it->object), n <= it->owner);
            if (!handles || n > it->owner) continue;
            assert_true(kolk_handle_equal(kolk_pool_handle_of(pool, it->object), it->handle));
            assert_ptr_equal(kolk_pool_get(pool, it->handle), it->object);
        }
        for (uint32_t i = 0; handles && i < STALE; i++)
            assert_true(n > r->stale[i].owner || !kolk_pool_get(pool, r->stale[i].handle));
        kolk_stats stats;
        kolk_pool_stats(pool, &stats);
        assert_int_equal(stats.wrong_pool, 0);
        uint32_t visited = 0;
        for (kolk_cursor cursor = kolk_pool_each(pool); kolk_cursor_next(&cursor);) visited++;
        assert_int_equal(visited, r->counts[n]);
    }
}

static void free_twice(run *r) {
    const one *it = &r->stale[random_below(&r->random, STALE)];
    if (!it->object || kolk_pool_is_live(&r->pools[0], it->object)) return;
    begin_notes(&r->taken);
    kolk_pool_free(&r->pools[random_below(&r->random, it->owner + 1)], it->object);
    assert_int_equal(r->taken.count, 1);
    assert_true(r->taken.last.rule == KOLK_DOUBLE_FREE || r->bypass); /* bypass may have given its slot a new block */
    abort_on_failure(NULL);
}

static void clear_one(run *r) {
    unsigned n = random_below(&r->random, POOLS);
    kolk_pool_clear(&r->pools[n]);
    for (uint32_t i = 0; i < r->count;)
        if (r->alive[i].owner == n)
            r->alive[i] = r->alive[--r->count];
        else
            i++;
    r->counts[n] = 0;
}

static void operate(run *r, bool rising) {
    uint32_t choice = random_below(&r->random, 1000);
    if (choice < (rising ? 600u : 350u))
        alloc(r);
    else if (choice < 940)
        free_one(r);
    else if (choice < 960)
        renew_one(r);
    else if (choice < 980)
        free_twice(r);
    else if (choice < 990)
        ask(r);
    else if (choice < 995)
        kolk_pool_trim(&r->pools[random_below(&r->random, POOLS)]);
    else if (choice < 997)
        clear_one(r);
}

/* promise: "A free and an alloc ... stays there", "This pool's ... pool separately" */
static void test_a_chain_of_three(void **state) {
    uint64_t random = seed;
    run *r = (run *)malloc(sizeof *r);
    assert_non_null(r);
    for (uint64_t done = 0; done < operations;) {
        memset(r, 0, sizeof *r);
        r->random = next_random(&random);
        make_chain(r, random_below(&r->random, 4) == 0);
        bool rising = true;
        for (uint32_t step = 0; step < 1000; step++, done++) {
            if (random_below(&r->random, 100) == 0) rising = !rising;
            operate(r, rising);
            for (unsigned n = 0; n < POOLS; n++) {
                assert_int_equal(kolk_pool_count(&r->pools[n]), r->counts[n]);
                assert_true(kolk_pool_is_valid(&r->pools[n]));
            }
        }
        ask(r);
        for (unsigned n = 0; n < POOLS; n++) kolk_pool_deinit(&r->pools[n]);
    }
    free(r);
}

/* ---- Which pool finds which objects ------------------------------------------------------------------------------ */

static void test_ways_to_ask(void **state) {
    two t;
    void *objects[6];
    make_two(&t, (kolk_pool_desc){.full.headroom = 1, .full.cost = NULL}, (kolk_pool_desc){.full.headroom = 1});
    memset(taken_from(&t.first), 0xff, SIZE);
    for (int i = 0; i < 2; i++) { /* dirties the slots, so that zeros below do not come from new memory */
        objects[i] = taken_from(&t.first);
        memset(objects[i], 0xff, SIZE);
    }
    assert_counts(&t, 1, 2);
    assert_null(kolk_pool_alloc(&t.first)); /* both are full except for their headroom */
    kolk_pool_free(&t.first, objects[1]);
    assert_ptr_equal(kolk_pool_alloc_zeroed(&t.first), objects[1]);
    assert_true(all_bytes_are(objects[1], SIZE, 0));
    assert_non_null(kolk_pool_alloc_urgent(&t.first));
    assert_counts(&t, 2, 2);
    assert_null(kolk_pool_alloc(&t.first));
    assert_non_null(kolk_pool_alloc_urgent(&t.first)); /* takes the headroom of the second pool */
    assert_counts(&t, 2, 3);
    assert_null(kolk_pool_alloc_urgent(&t.first));
    kolk_pool_clear(&t.first);
    kolk_pool_clear(&t.second);
    assert_int_equal(kolk_pool_alloc_n(&t.first, objects, 6), 3);
    assert_counts(&t, 1, 2);
    end_two(&t);
}

/* All pools of a chain need the same object size and alignment. promise: "same object_align and a different tag" */
static void test_descriptors(void **state) {
    static _Alignas(64) unsigned char memory[2][1024];
    kolk_pool first, second, third;
    static const struct {
        kolk_status status;
        kolk_pool_desc second, first;
    } rows[] = {
        {KOLK_OK, {.object_size = 24, .tag = 1}, {.object_size = 24, .tag = 2}},
        {KOLK_OK, {.object_size = 24, .name = "a"}, {.object_size = 24, .name = "b"}},
        {KOLK_OK, {.object_size = 24, .object_align = 8, .tag = 1}, {.object_size = 24, .object_align = 4, .tag = 2}},
        {KOLK_BAD_OVERFLOW, {.object_size = 24, .tag = 1}, {.object_size = 32, .tag = 2}},
        {KOLK_BAD_OVERFLOW, {.object_size = 32, .tag = 1}, {.object_size = 24, .tag = 2}},
        {KOLK_BAD_OVERFLOW, {.object_size = 24, .tag = 1}, {.object_size = 24, .object_align = 16, .tag = 2}},
        {KOLK_BAD_OVERFLOW, {.object_size = 24, .tag = 1}, {.object_size = 24, .tag = 1}},
        {KOLK_BAD_OVERFLOW, {.object_size = 24, .name = "a"}, {.object_size = 24, .name = "a"}},
        {KOLK_BAD_OVERFLOW, {.object_size = 24}, {.object_size = 24}},
        /* pools with different capacities, whose tags begin at different bits */
        {KOLK_BAD_OVERFLOW,
         {.object_size = 24, .tag = 7, .capacity = 1},
         {.object_size = 24, .tag = 7, .capacity = 1000}},
        {KOLK_OK, {.object_size = 24, .tag = 6, .capacity = 1}, {.object_size = 24, .tag = 7, .capacity = 1000}},
        /* pools without handles have no tags that could collide */
        {KOLK_OK,
         {.object_size = 24, .generations = KOLK_GENERATIONS_NONE},
         {.object_size = 24, .generations = KOLK_GENERATIONS_NONE}},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        kolk_pool_desc desc = rows[i].first, of_second = rows[i].second; /* with slots, so that handles exist */
        if (!desc.capacity) desc.capacity = 4;
        if (!of_second.capacity) of_second.capacity = 4;
        size_t size = kolk_pool_memory_size(&desc);
        make_pool(&second, &of_second);
        desc.full.overflow = &second;
        memset(&first, 0xff, sizeof first);
        kolk_status status = kolk_pool_init(&first, &desc);
        if (status != rows[i].status) fail_msg("row %u: %s", (unsigned)i, kolk_status_text(status));
        assert_int_equal(kolk_pool_memory_size(&desc), size); /* memory_size ignores the overflow pool */
        kolk_pool_deinit(&first);
        assert_true(is_all_zero(&first));
        kolk_pool_deinit(&second);
    }
    /* A pool cannot overflow into itself. */
    memset(&first, 0, sizeof first);
    assert_int_equal(kolk_pool_init(&first, &(kolk_pool_desc){.object_size = 24, .tag = 1, .full.overflow = &first}),
                     KOLK_BAD_OVERFLOW);

    /* Further down the chain: a tag that occurs twice, and an alignment that is too small. */
    kolk_pool_desc desc = {.object_size = 64, .object_align = 8, .capacity = 4, .tag = 1, .memory_size = 1000};
    desc.memory = memory[0] + 8;
    make_pool(&third, &desc);
    desc.tag = 2, desc.memory = memory[1], desc.full.overflow = &third;
    make_pool(&second, &desc);
    desc.tag = 1, desc.memory = NULL, desc.memory_size = 0, desc.full.overflow = &second;
    assert_int_equal(kolk_pool_init(&first, &desc), KOLK_BAD_OVERFLOW);
    desc.tag = 3, desc.object_align = 64;
    assert_int_equal(kolk_pool_init(&first, &desc), KOLK_BAD_OVERFLOW);
    kolk_pool_deinit(&second);
    kolk_pool_deinit(&third);
}

/* Whether a pool can serve as an overflow pool does not depend on its debug mode. */
static void test_descriptors_in_debug_mode(void **state) {
    kolk_status without = KOLK_OK;
    for (size_t mode = 0; mode < DEBUG_MODES; mode++) {
        kolk_pool first, second;
        const char *debug = begin_debug_mode(mode);
        make_pool(&second,
                  &(kolk_pool_desc){.object_size = 64, .object_align = 8, .capacity = 4, .tag = 1, .debug = debug});
        kolk_status status = kolk_pool_init(
            &first, &(kolk_pool_desc){
                        .object_size = 64, .object_align = 64, .capacity = 1, .tag = 2, .full.overflow = &second});
        if (mode == 0) without = status;
        assert_int_equal(status, without);
        for (int i = 0; status == KOLK_OK && i < 5; i++) assert_int_equal((uintptr_t)kolk_pool_alloc(&first) % 64, 0);
        kolk_pool_deinit(&first);
        kolk_pool_deinit(&second);
    }
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static void test_wrong_pointers(void **state) {
    static const kolk_generations kinds[] = {KOLK_GENERATIONS_RECYCLE, KOLK_GENERATIONS_NONE};
    for (size_t i = 0; i < LENGTH_OF(kinds); i++) {
        two t;
        notes taken;
        int foreign = 0;
        make_two(&t, (kolk_pool_desc){.generations = kinds[i], .ages = true},
                 (kolk_pool_desc){.generations = kinds[i], .ages = true});
        void *own = taken_from(&t.first);
        taken_from(&t.first);
        void *dead = taken_from(&t.first), *other = taken_from(&t.first);
        kolk_pool_free(&t.first, dead);
        kolk_pool before = t.first, second = t.second;
        begin_notes(&taken);
        kolk_pool_free(&t.first, dead);
        assert_noted(&taken, KOLK_DOUBLE_FREE, "second", dead, 0, "kolk: second: double free of slot 0");
        kolk_pool_free(&t.first, moved(other, 3));
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "second", moved(other, 3), 1,
                     "kolk: second: free of a pointer into slot 1, at byte 3 of it");
        kolk_pool_free(&t.first, moved(other, SIZE));
        assert_noted(&taken, KOLK_NEVER_ISSUED, "second", moved(other, SIZE), 2,
                     "kolk: second: free of slot 2, which was never handed out");
        kolk_pool_free(&t.first, &foreign);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "first", &foreign, NO_SLOT,
                     "kolk: first: free of a pointer that does not belong to this pool");
        kolk_pool_free(&t.second, own); /* the second pool cannot free an object of the first */
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "second", own, NO_SLOT,
                     "kolk: second: free of a pointer that does not belong to this pool");
        assert_int_equal(kolk_pool_index(&t.first, other), NO_SLOT);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "second", other, 1,
                     "kolk: second: index of slot 1, for the pool that overflowed into this one");
        kolk_pool_touch(&t.first, other);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "second", other, 1,
                     "kolk: second: touch of slot 1, for the pool that overflowed into this one");
        kolk_pool_protect(&t.first, other, true);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "second", other, 1,
                     "kolk: second: protect of slot 1, for the pool that overflowed into this one");
        assert_true(kolk_handle_is_null(kolk_pool_handle_of(&t.first, dead)));
        assert_noted(&taken, KOLK_DEAD_OBJECT, "second", dead, 0, "kolk: second: handle of slot 0, which is free");
        if (kinds[i] == KOLK_GENERATIONS_NONE) {
            assert_true(kolk_handle_is_null(kolk_pool_handle_of(&t.first, other)));
            assert_noted(&taken, KOLK_NO_HANDLES, "second", other, 1,
                         "kolk: second: handle of slot 1, but KOLK_GENERATIONS_NONE has no handles");
        }
        assert_memory_equal(&t.first, &before, sizeof before);
        assert_memory_equal(&t.second, &second, sizeof second);
        end_two(&t);
    }
}

/* The first pool does not treat a stale handle of the second as another pool's. A handle that belongs to neither is
 * reported once. */
static void test_handles_of_other_pools(void **state) {
    two t;
    notes taken;
    kolk_stats stats;
    kolk_pool other;
    make_two(&t, (kolk_pool_desc){.debug = "fill"}, (kolk_pool_desc){.debug = "fill"});
    make_pool(&other, &(kolk_pool_desc){.name = "other", .object_size = SIZE, .capacity = 2, .tag = 3});
    kolk_handle strange = kolk_pool_handle_of(&other, taken_from(&other));
    taken_from(&t.first), taken_from(&t.first);
    void *object = taken_from(&t.first);
    kolk_handle handle = kolk_pool_handle_of(&t.first, object);
    kolk_pool_free(&t.first, object);
    begin_notes(&taken);
    assert_null(kolk_pool_get(&t.first, handle));
    assert_false(kolk_pool_free_handle(&t.first, handle));
    assert_null(kolk_pool_alloc_at(&t.first, handle)); /* it is another pool's handle */
    assert_non_null(kolk_pool_alloc_at(&t.second, handle));
    assert_non_null(kolk_pool_get(&t.first, handle));
    assert_silent(&taken);
    assert_null(kolk_pool_get(&t.first, strange));
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_WRONG_POOL);
    assert_string_equal(taken.pool, "first");
    taken.count = 0;
    kolk_pool_stats(&t.first, &stats);
    assert_int_equal(stats.wrong_pool, 1);
    kolk_pool_stats(&t.second, &stats);
    assert_int_equal(stats.wrong_pool, 0);
    abort_on_failure(NULL);
    end_two(&t);
    end_pool(&other);
}

/* ---- Memory returned to the system ------------------------------------------------------------------------------- */

static void count_teardown(void *object, void *context) {
    ++*(unsigned *)context;
}

/* promise: "pool's last object is freed through this pool" */
static void test_the_last_free_gives_memory_back(void **state) {
    for (unsigned n = 0; n < 3 * 3; n++) {
        enum { MANY = 200 };
        two t;
        unsigned torn_down = 0;
        void *objects[MANY];
        bool hooks = n / 3 == 1;
        make_two(&t, (kolk_pool_desc){.object_size = OBJECT},
                 (kolk_pool_desc){.object_size = OBJECT,
                                  .max_capacity = n / 3 == 2 ? 2 * MANY : NO_MAX,
                                  .capacity = n / 3 == 2 ? 0 : MANY,
                                  .reuse = orders[n % 3],
                                  .life.teardown = hooks ? count_teardown : NULL,
                                  .context = &torn_down});
        for (int round = 0; round < 2; round++) {
            stamped(&t.first, 0), stamped(&t.first, 1);
            for (uint32_t i = 0; i < MANY; i++) assert_non_null(objects[i] = stamped(&t.first, i));
            assert_int_equal(kolk_pool_count(&t.second), MANY);
            size_t full = resident(&t.second);
            assert_true(full >= (size_t)MANY * OBJECT);
            for (uint32_t i = 1; i < MANY; i++) {
                assert_true(is_stamped(objects[i], i));
                kolk_pool_free(&t.first, objects[i]);
            }
            assert_int_equal(resident(&t.second), full); /* one object is still alive */
            assert_true(is_stamped(objects[0], 0));
            if (round == 0)
                kolk_pool_free(&t.first, objects[0]);
            else
                assert_true(kolk_pool_free_handle(&t.first, kolk_pool_handle_of(&t.first, objects[0])));
            assert_true(resident(&t.second) <= 2 * (size_t)sysconf(_SC_PAGESIZE));
            assert_int_equal(torn_down >= (hooks ? MANY - 9 : 0), true);
            assert_true(hooks || torn_down == 0);
            assert_true(kolk_pool_is_valid(&t.second));
            kolk_pool_clear(&t.first);
            torn_down = 0;
        }
        end_two(&t);
    }
}

int main(void) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    operations = number_from_environment("KOLK_TEST_OPS", does_a_part() ? 40000 : 400000);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_chain_of_three),
        DEBUG_TEST(test_ways_to_ask),
        DEBUG_TEST(test_descriptors),
        DEBUG_TEST(test_descriptors_in_debug_mode),
        DEBUG_TEST(test_wrong_pointers),
        DEBUG_TEST(test_handles_of_other_pools),
        DEBUG_TEST(test_the_last_free_gives_memory_back),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
