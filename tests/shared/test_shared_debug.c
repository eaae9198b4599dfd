/* The debug mode of a shared pool: fill and quarantine with several locals and deferred free, and that
 * kolk_shared_is_valid finds every breach. (Reports: tests/contracts, test_shared_debug_reports.c. Objects from malloc:
 * test_shared_debug_bypass.c.) */
#include "../help/debug_test.h"

#include "shared_test.h"

#include "core/quarantine.h"

#define NEW 0xcd

static unsigned char *taken_by(kolk_shared_local *local) {
    unsigned char *object = (unsigned char *)kolk_shared_alloc(local);
    assert_non_null(object);
    assert_true(kolk_shared_is_valid(shared_of(local)));
    return object;
}

static void freed_by(kolk_shared_local *local, void *object) {
    kolk_shared_free(local, object);
    assert_true(kolk_shared_is_valid(shared_of(local)));
}

static void quiesce_thrice(kolk_shared_local *local) {
    for (int i = 0; i < 3; i++) kolk_shared_quiesce(local);
    assert_true(kolk_shared_is_valid(shared_of(local)));
}

/* ---- What objects are filled with -------------------------------------------------------------------------------- */

/* n objects live three times. One local allocates them, the other frees them. */
static void live_and_die(kolk_shared_local locals[2], uint32_t n, size_t size, size_t align, bool fills) {
    unsigned char *objects[80];
    for (int life = 0; life < 3; life++) {
        for (uint32_t i = 0; i < n; i++) {
            objects[i] = taken_by(&locals[life % 2]);
            assert_int_equal((uintptr_t)objects[i] % align, 0);
            if (fills) assert_true(all_bytes_are(objects[i], size, NEW));
            memset(objects[i], (int)i, size);
        }
        for (uint32_t i = 0; i < n; i++) {
            assert_true(all_bytes_are(objects[i], size, (unsigned char)i)); /* no other object has overwritten it */
            assert_true(kolk_shared_is_live(shared_of(&locals[0]), objects[i]));
            if (life == 1)
                kolk_shared_free_later(&locals[0], objects[i]);
            else
                freed_by(&locals[1 - life % 2], objects[i]);
            assert_true(life == 1 || !fills || has_dead_fill(objects[i], size));
        }
        for (int i = 0; i < 6; i++) kolk_shared_quiesce(&locals[i % 2]);
        assert_int_equal(kolk_shared_count(shared_of(&locals[0])), 0);
        if (life == 1 && fills)
            for (uint32_t i = 0; i < n; i++) assert_true(has_dead_fill(objects[i], size));
    }
}

static void live_in(kolk_shared_desc desc, uint32_t n) {
    kolk_shared pool;
    kolk_shared_local locals[2];
    size_t align = desc.object_align ? desc.object_align : 1;
    if (!desc.cache) desc.cache = 1;
    make_shared(&pool, &desc);
    for (int i = 0; i < 2; i++) make_local(&locals[i], &pool);
    live_and_die(locals, n, desc.object_size, align, strstr(desc.debug, "fill"));
    end_shared(&pool);
}

static const char *const settings[] = {"fill", "guard", "fill,guard,quarantine=2", "all"};

static void test_all_sizes_and_alignments(void **state) {
    for (size_t size = 1; size <= 300; size += SLOW ? 7 : 1)
        live_in((kolk_shared_desc){.object_size = size,
                                   .object_align = size < 60 ? (size_t)1 << size % 13 : 0,
                                   .capacity = 3,
                                   .max_threads = 2,
                                   .generations = size / 4 % 2 ? KOLK_GENERATIONS_NONE : 0,
                                   .debug = settings[size % 4]},
                3);
    for (uint32_t n = 0; n < 16; n++) /* pools that grow, with depot words of several lengths */
        live_in((kolk_shared_desc){.object_size = 3000,
                                   .max_capacity = 70,
                                   .max_threads = 2,
                                   .cache = 1 + n / 4 * 26,
                                   .debug = settings[n % 4]},
                70);
}

/* A retired object can be read, with its contents, until its slot returns to the depot. */
static void test_the_contents_of_what_is_free_later(void **state) {
    kolk_shared pool;
    kolk_shared_local locals[2];
    make_shared(&pool, &(kolk_shared_desc){.object_size = 30, .capacity = 4, .max_threads = 2, .debug = "all"});
    for (int i = 0; i < 2; i++) make_local(&locals[i], &pool);
    unsigned char *object = (unsigned char *)memcpy(taken_by(&locals[0]), "read until nobody is behind", 28);
    kolk_handle handle = kolk_shared_handle_of(&pool, object);
    kolk_shared_free_later(&locals[0], object);
    assert_true(!kolk_shared_is_live(&pool, object) && !kolk_shared_get(&pool, handle));
    assert_int_equal(kolk_shared_count(&pool), 0);
    for (int i = 0; i < 5; i++) {
        quiesce_thrice(&locals[0]); /* the other local has not quiesced */
        assert_string_equal((char *)object, "read until nobody is behind");
    }
    kolk_shared_offline(&locals[1]);
    quiesce_thrice(&locals[0]);
    assert_true(has_dead_fill(object, 30));
    object = taken_by(&locals[0]); /* deinit checks the zones of a retired object, and does not report it as a leak */
    kolk_shared_free_later(&locals[0], object);
    notes taken;
    begin_notes(&taken);
    object[30] = 1;
    assert_false(kolk_shared_is_valid(&pool));
    kolk_shared_deinit(&pool);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_OVERFLOW);
}

/* ---- Writes after free ------------------------------------------------------------------------------------------- */

enum { SIZE = 30, SLOTS = 4 };

/* Slots 0 to 3 were alive; only slot 1 is free again. */
typedef struct fixture {
    kolk_shared pool;
    kolk_shared_local local;
    unsigned char *objects[SLOTS];
    reports kept;
} fixture;

static void start(fixture *f, const char *debug) {
    make_shared(
        &f->pool,
        &(kolk_shared_desc){.name = "dead", .object_size = SIZE, .capacity = SLOTS, .max_threads = 1, .debug = debug});
    make_local(&f->local, &f->pool);
    for (int i = 0; i < SLOTS; i++) f->objects[i] = taken_by(&f->local);
    freed_by(&f->local, f->objects[1]);
    begin_reports(&f->kept);
}

static void test_writes_after_free_are_found_at_deinit(void **state) {
    for (int waits = 0; waits < 2; waits++) {
        fixture f;
        start(&f, waits ? "fill,quarantine=3" : "fill");
        freed_by(&f.local, f.objects[3]);
        memset(f.objects[1] + 2, 0, 3);
        f.objects[3][SIZE - 1] = 7;
        f.objects[0][3] = 1; /* slot 0 is alive */
        kolk_shared_deinit(&f.pool);
        assert_damage(&f.kept, KOLK_WRITE_AFTER_FREE, "dead", f.objects[1], 1, 2, 3,
                      "kolk: dead: write after free to slot 1: 00 00 00 written at byte 2 of it");
        assert_damage(&f.kept, KOLK_WRITE_AFTER_FREE, "dead", f.objects[3], 3, SIZE - 1, 1,
                      "kolk: dead: write after free to slot 3: 07 written at byte 29 of it");
        assert_no_more(&f.kept);
        assert_true(all_bytes_are(&f.pool, sizeof f.pool, 0));
    }
}

/* ---- Quarantine -------------------------------------------------------------------------------------------------- */

/* All slots of the pool have been used. A freed slot is not reused until n others have been freed, as long as there are
 * other free slots. When those run out, alloc takes slots from quarantine, the oldest first, before it returns NULL. */
static void test_the_order_of_quarantine(void **state) {
    enum { ALL = 14 }; /* the capacity of 9, and 5 for the other local's magazine */
    for (uint32_t n = 1; n < 20; n++) {
        kolk_shared pool;
        kolk_shared_local locals[2];
        char text[40];
        unsigned char *objects[ALL];
        snprintf(text, sizeof text, "fill,quarantine=%u", n);
        make_shared(&pool,
                    &(kolk_shared_desc){.object_size = 8, .capacity = 9, .max_threads = 2, .cache = 5, .debug = text});
        for (int i = 0; i < 2; i++) make_local(&locals[i], &pool);
        for (int i = 0; i < ALL; i++) objects[i] = taken_by(&locals[i % 2]);
        for (int round = 0; round < 3; round++) {
            unsigned char *again[ALL];
            const uint32_t freed = 11, waiting = n < freed ? n : freed;
            for (uint32_t i = 0; i < freed; i++) freed_by(&locals[i / 3 % 2], objects[i]);
            assert_int_equal(pool.inside->store.quarantined, waiting);
            assert_int_equal(kolk_shared_count(&pool), ALL - freed);
            for (uint32_t i = 0; i < freed; i++) {
                again[i] = taken_by(&locals[i % 2]);
                uint32_t at = 0;
                while (objects[at] != again[i]) at++;
                if (i < freed - waiting) assert_true(at < freed - waiting); /* one of those that were freed first */
                if (i >= freed - waiting) assert_int_equal(at, i);
            }
            assert_null(kolk_shared_alloc(&locals[0]));
            assert_null(kolk_shared_alloc_wait(&locals[1], KOLK_NOW));
            memcpy(objects, again, freed * sizeof *again);
        }
        end_shared(&pool);
    }
}

static void test_growth_comes_before_those_that_wait(void **state) {
    kolk_shared pool;
    kolk_shared_local local;
    make_shared(&pool, &(kolk_shared_desc){
                           .object_size = 5000, .max_capacity = 40, .max_threads = 1, .debug = "quarantine=100"});
    make_local(&local, &pool);
    for (uint32_t i = 0; i < 40; i++) {
        unsigned char *object = taken_by(&local);
        assert_int_equal(slot_of(&pool, object), i);
        freed_by(&local, object);
    }
    for (uint32_t i = 0; i < 40; i++) assert_int_equal(slot_of(&pool, taken_by(&local)), i);
    end_shared(&pool);
}

static void test_what_was_free_later_goes_through_the_quarantine(void **state) {
    kolk_shared pool;
    kolk_shared_local local;
    unsigned char *objects[6];
    make_shared(&pool, &(kolk_shared_desc){.object_size = 8, .capacity = 6, .max_threads = 1, .debug = "quarantine=2"});
    make_local(&local, &pool);
    for (int i = 0; i < 6; i++) objects[i] = taken_by(&local);
    for (int i = 0; i < 4; i++) kolk_shared_free_later(&local, objects[i]);
    assert_null(kolk_shared_alloc(&local)); /* the objects are still retired */
    assert_int_equal(pool.inside->store.quarantined, 0);
    quiesce_thrice(&local);
    assert_int_equal(pool.inside->store.quarantined, 2);
    for (int i = 0; i < 4; i++) assert_int_equal(slot_of(&pool, taken_by(&local)), i);
    assert_null(kolk_shared_alloc(&local));
    end_shared(&pool);
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

#define assert_seen(what, value) assert_breaks(kolk_shared_is_valid, pool, what, value)

/* Slot 0 is alive, 1 and 2 are in quarantine, 3 is retired. promise: "Checks every invariant of src/shared/shared.c" */
static void test_validity(void **state) {
    fixture f;
    kolk_shared *pool = &f.pool;
    start(&f, "fill,guard,quarantine=3");
    freed_by(&f.local, f.objects[2]);
    kolk_shared_free_later(&f.local, f.objects[3]);
    for (int slot = 0; slot < SLOTS; slot++) {
        assert_seen(f.objects[slot][-16], 0); /* I7 */
        assert_seen(f.objects[slot][-1], 0);
        assert_seen(f.objects[slot][SIZE], 0);
        assert_seen(f.objects[slot][SIZE + 15], 0);
        if (slot == 1 || slot == 2) assert_seen(f.objects[slot][SIZE / 2], 0);
    }
    f.objects[0][1] = 1;                             /* a live object may be written to */
    assert_seen(pool->inside->store.quarantined, 1); /* I2 */
    assert_seen(pool->inside->store.quarantined, 3);
    assert_seen(*kolk_quarantined_(pool->inside->store.debug, 0), 0);
    assert_seen(*kolk_quarantined_(pool->inside->store.debug, 1), 1);
    assert_seen(f.local.magazine->proving, 1);
    assert_seen(f.local.magazine->proving, 5);
    assert_seen(f.local.magazine->proving, UINT32_MAX);
    kolk_set_failure_handler(NULL, NULL);
    end_shared(&f.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_all_sizes_and_alignments),
        DEBUG_TEST(test_the_contents_of_what_is_free_later),
        DEBUG_TEST(test_writes_after_free_are_found_at_deinit),
        DEBUG_TEST(test_the_order_of_quarantine),
        DEBUG_TEST(test_growth_comes_before_those_that_wait),
        DEBUG_TEST(test_what_was_free_later_goes_through_the_quarantine),
        DEBUG_TEST(test_validity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
