/* Pins: objects that are freed while somebody still uses them. (Random operations: test_pool_model.c.) */
#include "two.h"

#include "last_life.h"

static const size_t orders_and_modes = 3 * DEBUG_MODES;

/* Makes a pool with pins, in one of the orders of reuse and debug modes. Its slots begin dirty in the caller's memory,
 * where such a pool may lie. */
static void make_pinned(kolk_pool *pool, size_t n, kolk_pool_desc desc) {
    static uint64_t memory[1024];
    desc.debug = begin_debug_mode(n / 3);
    desc.name = "pinned";
    desc.object_size = 8;
    desc.reuse = orders[n % 3];
    desc.pins = true;
    if (!desc.capacity) desc.capacity = 3;
    if (n % 2 == 0 && !desc.max_capacity) {
        memset(memory, 0xa5, sizeof memory);
        desc.memory = memory;
        desc.memory_size = kolk_pool_memory_size(&desc);
        assert_true(desc.memory_size <= sizeof memory);
    }
    make_pool(pool, &desc);
}

static void unpin(kolk_pool *pool, const void *object) {
    kolk_pool_unpin(pool, object);
    assert_true(kolk_pool_is_valid(pool));
}

/* ---- What a free leaves ------------------------------------------------------------------------------------------ */

typedef struct resets {
    kolk_pool pool;
    int count;
    uint64_t last;
} resets;

/* Nobody can pin what is just being freed. */
static void note_reset(void *object, void *context) {
    resets *all = (resets *)context;
    notes taken;
    all->count++;
    memcpy(&all->last, object, sizeof all->last);
    begin_notes(&taken);
    kolk_pool_pin(&all->pool, object);
    kolk_pool_unpin(&all->pool, object);
    assert_int_equal(taken.count, 2);
    assert_int_equal(taken.last.rule, KOLK_DEAD_OBJECT);
}

enum { FREED, FREED_N, BY_A_HANDLE, BY_ITS_INDEX, CLEARED, RENEWED, WAYS };

static void end_somehow(kolk_pool *pool, void *object, unsigned way) {
    if (way == FREED) kolk_pool_free(pool, object);
    if (way == FREED_N) kolk_pool_free_n(pool, &object, 1);
    if (way == BY_A_HANDLE) assert_true(kolk_pool_free_handle(pool, kolk_pool_handle_of(pool, object)));
    if (way == BY_ITS_INDEX) assert_true(kolk_pool_free_at(pool, kolk_pool_index(pool, object)));
    if (way == CLEARED) kolk_pool_clear(pool);
    if (way != RENEWED) return;
    void *next = kolk_pool_renew(pool, object);
    assert_true(next && next != object);
    kolk_pool_free(pool, next);
}

/* promise: "lets you pin objects ... of its slot gives NULL", "ends the life in the same way; the new object is that
 * of an alloc", "Pins an object that is live ... nothing if it is NULL", "Takes back one pin ... frees its slot", "The
 * number of live objects (and of those that were freed while they were pinned)" */
static void test_a_free_waits_for_the_last_unpin(void **state) {
    for (size_t n = 0; n < orders_and_modes * WAYS * 2; n++) {
        resets all = {.count = 0};
        kolk_pool *pool = &all.pool;
        kolk_pool_desc desc = {.context = &all};
        bool has_reset = n / orders_and_modes % 2;
        if (has_reset) desc.life.reset = note_reset;
        make_pinned(pool, n, desc);
        uint64_t *object = (uint64_t *)(void *)taken_from(pool);
        kolk_handle handle = kolk_pool_handle_of(pool, object);
        uint32_t slot = kolk_pool_index(pool, object);
        *object = 17;
        kolk_pool_pin(pool, NULL);
        kolk_pool_pin(pool, object);
        kolk_pool_pin(pool, object);
        assert_ptr_equal(kolk_pool_get(pool, handle), object); /* nothing else has changed */
        assert_ptr_equal(kolk_pool_at(pool, slot), object);
        end_somehow(pool, object, (unsigned)(n / orders_and_modes / 2));
        all.count = 0;
        assert_true(kolk_pool_is_valid(pool));
        assert_null(kolk_pool_get(pool, handle));
        assert_false(kolk_pool_is_live(pool, object));
        assert_null(kolk_pool_at(pool, slot));
        assert_int_equal(*object, 17);
        kolk_cursor cursor = kolk_pool_each(pool);
        assert_null(kolk_cursor_next(&cursor));
        assert_int_equal(kolk_pool_count(pool), 1);
        assert_int_equal(kolk_pool_available(pool), 2);
        assert_null(kolk_pool_alloc_at_index(pool, slot));
        assert_null(kolk_pool_alloc_at(pool, handle));
        kolk_pool_clear(pool); /* it ends lives only */
        kolk_pool_pin(pool, object);
        for (unsigned i = 0; i < 2; i++) unpin(pool, object);
        assert_true(taken_from(pool) && taken_from(pool) && !kolk_pool_alloc(pool));
        assert_int_equal(*object, 17);
        assert_int_equal(all.count, 0);
        *object = 18;
        unpin(pool, object);
        assert_int_equal(all.count, has_reset);
        if (has_reset) assert_int_equal(all.last, 18);
        kolk_pool_unpin(pool, NULL);
        assert_int_equal(kolk_pool_count(pool), 2);
        taken_from(pool);
        if (kolk_pool_at(pool, slot) == NULL) fail_msg("slot %u is lost", slot);
        kolk_pool_clear(pool);
        end_pool(pool);
        abort_on_failure(state);
    }
}

static void test_a_life_that_wears_its_slot_out(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        for (unsigned strict = 0; strict < 2; strict++) {
            kolk_pool pool;
            kolk_stats stats;
            kolk_pool_desc desc = {.generations = strict ? KOLK_GENERATIONS_STRICT : KOLK_GENERATIONS_RECYCLE};
            make_pinned(&pool, i, desc);
            void *object = taken_from(&pool);
            be_in_last_life(&pool, 0);
            kolk_pool_pin(&pool, object);
            give_back(&pool, object);
            kolk_pool_stats(&pool, &stats);
            assert_int_equal(stats.worn_out, 0);
            unpin(&pool, object);
            kolk_pool_stats(&pool, &stats);
            assert_int_equal(stats.worn_out, 1);
            assert_int_equal(kolk_pool_count(&pool), 0);
            end_pool(&pool);
        }
    }
}

/* ---- Full pools -------------------------------------------------------------------------------------------------- */

static double cost_of(const void *object, void *context) {
    return *(const double *)object;
}

static void pin_victim(void *object, void *context) {
    kolk_pool_pin((kolk_pool *)context, object);
}

/* promise: "the ready-made hooks and alloc_over spare pinned objects" */
static void test_an_eviction_spares_it(void **state) {
    static bool (*const hooks[])(kolk_pool *, size_t, void *) = {kolk_pool_evict_oldest, kolk_pool_evict_cheapest};
    for (size_t n = 0; n < orders_and_modes * 4; n++) {
        kolk_pool pool;
        kolk_pool_desc desc = {.full.on_full = hooks[n % 2], .full.cost = cost_of, .full.ranked = n / 2 % 2};
        make_pinned(&pool, n / 4, desc);
        double *first = (double *)(void *)taken_from(&pool), *second = (double *)(void *)taken_from(&pool),
               *third = (double *)(void *)taken_from(&pool);
        *first = 1, *second = 2, *third = 3;
        kolk_pool_pin(&pool, first);
        kolk_pool_pin(&pool, third);
        double *fourth = (double *)(void *)taken_from(&pool); /* of the second */
        *fourth = 4;
        assert_true(kolk_pool_is_live(&pool, first) && kolk_pool_is_live(&pool, third));
        kolk_pool_pin(&pool, fourth);
        assert_null(kolk_pool_alloc(&pool)); /* all are pinned */
        assert_null(kolk_pool_alloc_over(&pool, 9));
        assert_false(hooks[n % 2](&pool, 0, NULL));
        unpin(&pool, first);
        double *fifth = (double *)(void *)kolk_pool_alloc_over(&pool, 9); /* it can be evicted again */
        if (n % 2) assert_non_null(fifth);
        if (!fifth) fifth = (double *)(void *)taken_from(&pool);
        *fifth = 5;
        assert_true(kolk_pool_is_live(&pool, third) && kolk_pool_is_live(&pool, fourth));
        unpin(&pool, third);
        unpin(&pool, fourth);
        end_pool(&pool);
        abort_on_failure(state);
    }
}

/* An on_evict may pin what is evicted. Then its slot is not free yet. */
static void test_a_victim_that_is_pinned(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_pool_desc desc = {
            .full.on_full = kolk_pool_evict_oldest, .full.on_evict = pin_victim, .context = &pool, .capacity = 1};
        make_pinned(&pool, i, desc);
        void *object = taken_from(&pool);
        assert_null(kolk_pool_alloc(&pool));
        assert_false(kolk_pool_is_live(&pool, object));
        assert_true(kolk_pool_is_valid(&pool));
        unpin(&pool, object);
        assert_ptr_equal(taken_from(&pool), object);
        end_pool(&pool);
    }
}

/* A pin finds objects there, as `free` does. */
static void test_an_object_of_the_overflow_pool(void **state) {
    two t;
    make_two(&t, (kolk_pool_desc){.name = ""}, (kolk_pool_desc){.pins = true});
    notes taken;
    void *own = taken_from(&t.first);
    taken_from(&t.first);
    void *there = taken_from(&t.first);
    kolk_pool_pin(&t.first, there);
    give_back(&t.first, there);
    assert_counts(&t, 2, 1);
    begin_notes(&taken);
    kolk_pool_pin(&t.first, own);
    assert_noted(&taken, KOLK_PINS_MISSING, "first", NULL, NO_SLOT, "kolk: first: pin needs .pins");
    unpin(&t.first, there);
    assert_counts(&t, 2, 0);
    end_two(&t);
}

static bool set_up(void *object, void *context) {
    return true;
}

static void count_end(void *object, void *context) {
    ++*(int *)context;
}

/* The second pool is trimmed when its last object goes, also if an unpin completes the free. A trim ends the set-up of
 * the slots whose pages it releases. */
static void test_the_last_unpin_trims_the_overflow_pool(void **state) {
    two t;
    int ends = 0;
    kolk_pool_desc paged = {.object_size = 65536, .pins = true, .context = &ends};
    paged.life.setup = set_up;
    paged.life.teardown = count_end;
    make_two(&t, (kolk_pool_desc){.object_size = 65536, .capacity = 1}, paged);
    taken_from(&t.first);
    void *there = taken_from(&t.first);
    kolk_pool_pin(&t.first, there);
    give_back(&t.first, there);
    assert_int_equal(ends, 0);
    unpin(&t.first, there);
    assert_counts(&t, 1, 0);
    assert_int_equal(ends, 1);
    end_two(&t);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* A trim keeps the pages of objects that were freed while pinned, and releases all others. */
static void test_a_trim_spares_it(void **state) {
    kolk_pool pool;
    unsigned char *objects[64];
    make_pool(&pool, &(kolk_pool_desc){.name = "pages", .object_size = 4096, .capacity = 64, .pins = true});
    for (unsigned i = 0; i < 64; i++) memset(objects[i] = taken_from(&pool), 7, 4096);
    for (unsigned i = 0; i < 64; i += 9) kolk_pool_pin(&pool, objects[i]);
    kolk_pool_clear(&pool);
    size_t bytes = kolk_pool_trim(&pool);
    assert_true(kolk_pool_is_valid(&pool));
    for (unsigned i = 0; i < 64; i += 9) assert_true(all_bytes_are(objects[i], 4096, 7));
    if (bytes) assert_true(all_bytes_are(objects[1], 4096, 0) && all_bytes_are(objects[62], 4096, 0));
    for (unsigned i = 0; i < 64; i += 9) unpin(&pool, objects[i]);
    end_pool(&pool);
}

/* ---- Misuse ------------------------------------------------------------------------------------------------------ */

/* promise: "are impossible while an object is pinned (KOLK_PINNED)", "is a bug of the caller while ... changes nothing
 * then" */
static void test_what_cannot_be_done_meanwhile(void **state) {
    kolk_pool pool, before;
    notes taken;
    unsigned char block[512];
    make_pool(&pool, &(kolk_pool_desc){.name = "busy", .object_size = 8, .capacity = 4, .pins = true});
    taken_from(&pool);
    void *object = taken_from(&pool);
    size_t size = kolk_pool_snapshot(&pool, block, sizeof block);
    assert_true(size > 0);
    kolk_pool_pin(&pool, object);
    assert_int_equal(kolk_pool_snapshot_size(&pool), 0);
    assert_int_equal(kolk_pool_snapshot(&pool, block, sizeof block), 0);
    assert_int_equal(kolk_pool_restore(&pool, block, size), KOLK_PINNED);
    begin_notes(&taken);
    before = pool;
    kolk_pool_deinit(&pool);
    assert_noted(&taken, KOLK_PINNED, "busy", NULL, 1, "kolk: busy: deinit with pinned objects, the first in slot 1");
    assert_memory_equal(&pool, &before, sizeof pool);
    unpin(&pool, object);
    assert_int_equal(kolk_pool_restore(&pool, block, size), KOLK_OK);
    end_pool(&pool);
}

/* A reset hook pins another object while the pool ends: that one ends all the same. */
static void pin_the_other(void *object, void *context) {
    resets *all = (resets *)context;
    if (all->count++ == 0) kolk_pool_pin(&all->pool, kolk_pool_at(&all->pool, 1));
}

static void test_pins_at_the_end(void **state) {
    resets all = {.count = 0};
    kolk_pool_desc desc = {.object_size = 8, .capacity = 4, .pins = true, .life.reset = pin_the_other, .context = &all};
    make_pool(&all.pool, &desc);
    for (int i = 0; i < 2; i++) taken_from(&all.pool);
    kolk_pool_deinit(&all.pool);
    assert_int_equal(all.count, 2);
}

/* The lowest slot of a range is kept, and a hook's own alloc fails: the next one is free all the same. */
static void fail_an_alloc(kolk_pool *pool, void *context) {
    assert_null(kolk_pool_alloc_in(pool, 100, 1));
}

static void test_a_range_with_a_pinned_slot(void **state) {
    kolk_pool pool;
    kolk_pool_desc desc = {.object_size = 8, .capacity = 4, .pins = true};
    desc.full.low_water = 4;
    desc.full.on_low = fail_an_alloc;
    make_pool(&pool, &desc);
    void *object = kolk_pool_alloc_at_index(&pool, 0);
    assert_non_null(object);
    kolk_pool_pin(&pool, object);
    kolk_pool_free(&pool, object);
    void *next = kolk_pool_alloc_in(&pool, 0, 4);
    assert_non_null(next);
    assert_int_equal(kolk_pool_index(&pool, next), 1);
    unpin(&pool, object);
    kolk_pool_free(&pool, next);
    end_pool(&pool);
}

/* promise: "bug of the caller, and so is a pool without .pins", "An object that is not pinned is a bug of the caller"
 * */
static void test_wrong_pins(void **state) {
    for (size_t n = 0; n < orders_and_modes; n++) {
        kolk_pool pool, plain;
        notes taken;
        int foreign = 0;
        make_pinned(&pool, n, (kolk_pool_desc){.name = ""});
        void *object = taken_from(&pool), *dead = taken_from(&pool);
        kolk_pool_free(&pool, dead);
        begin_notes(&taken);
        kolk_pool_pin(&pool, dead);
        assert_noted(&taken, KOLK_DEAD_OBJECT, "pinned", dead, 1, "kolk: pinned: pin of slot 1, which is free");
        kolk_pool_pin(&pool, &foreign);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "pinned", &foreign, NO_SLOT,
                     "kolk: pinned: pin of a pointer that does not belong to this pool");
        kolk_pool_unpin(&pool, object);
        assert_noted(&taken, KOLK_NOT_PINNED, "pinned", NULL, 0, "kolk: pinned: unpin of slot 0, which is not pinned");
        kolk_pool_pin(&pool, object);
        give_back(&pool, object);
        kolk_pool_free(&pool, object);
        assert_noted(&taken, KOLK_DOUBLE_FREE, "pinned", object, 0, "kolk: pinned: double free of slot 0");
        unpin(&pool, object);
        kolk_pool_unpin(&pool, object);
        assert_noted(&taken, KOLK_DEAD_OBJECT, "pinned", object, 0, "kolk: pinned: unpin of slot 0, which is free");
        assert_true(kolk_pool_is_valid(&pool));
        end_pool(&pool);
        make_pool(&plain, &(kolk_pool_desc){.name = "plain", .object_size = 8, .capacity = 1});
        kolk_pool_unpin(&plain, object = taken_from(&plain));
        assert_noted(&taken, KOLK_PINS_MISSING, "plain", NULL, NO_SLOT, "kolk: plain: unpin needs .pins");
        end_pool(&plain);
        abort_on_failure(state);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_free_waits_for_the_last_unpin),
        DEBUG_TEST(test_a_life_that_wears_its_slot_out),
        DEBUG_TEST(test_an_eviction_spares_it),
        DEBUG_TEST(test_a_victim_that_is_pinned),
        DEBUG_TEST(test_an_object_of_the_overflow_pool),
        DEBUG_TEST(test_the_last_unpin_trims_the_overflow_pool),
        DEBUG_TEST(test_a_trim_spares_it),
        DEBUG_TEST(test_what_cannot_be_done_meanwhile),
        DEBUG_TEST(test_pins_at_the_end),
        DEBUG_TEST(test_a_range_with_a_pinned_slot),
        DEBUG_TEST(test_wrong_pins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
