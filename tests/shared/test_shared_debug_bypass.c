/* runs: not:qemu not:wine wraps: help/watched_malloc.h */
/* KOLK_BYPASS=1 and a shared pool: each life has a malloc block, which is freed when no thread may read it any more.
 * Everything else works as without bypass. */
#include "../help/watched_malloc.h"

#include "shared_test.h"

#include <pthread.h>
#include <sched.h>

static kolk_shared pool;
static kolk_shared_local locals[2];

static void make_bypassed(kolk_shared_desc desc) {
    if (!desc.name) desc.name = "blocks";
    if (!desc.object_size) desc.object_size = 24;
    if (!desc.max_threads) desc.max_threads = 2;
    if (!desc.cache) desc.cache = 1;
    make_shared(&pool, &desc);
    for (int i = 0; i < 2; i++) make_local(&locals[i], &pool);
    kolk_stats stats;
    kolk_shared_stats(&pool, &stats);
    assert_true(stats.debug & KOLK_DEBUG_BYPASS);
    assert_int_equal(heap.count, 0);
}

static void end_bypassed(void) {
    end_shared(&pool);
    assert_int_equal(heap.count, 0);
}

static unsigned char *taken_by(kolk_shared_local *local) {
    unsigned char *object = (unsigned char *)kolk_shared_alloc(local);
    assert_true(object && block_of(object));
    assert_true(kolk_shared_is_valid(shared_of(local)));
    return object;
}

static void test_each_object_is_a_block_of_its_size(void **state) {
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t size = 1; size < 200; size += 33) {
            void *objects[4];
            make_bypassed((kolk_shared_desc){.object_size = size,
                                             .object_align = align,
                                             .capacity = 4,
                                             .generations = size % 2 ? KOLK_GENERATIONS_NONE : 0,
                                             .debug = "fill,guard,quarantine=3"}); /* these settings have no effect */
            for (uint32_t i = 0; i < 4; i++) {
                objects[i] = i % 2 ? kolk_shared_alloc_wait(&locals[0], KOLK_FOREVER) : taken_by(&locals[i / 2]);
                assert_int_equal(heap.count, i + 1);
                const block *own = block_of(objects[i]);
                assert_non_null(own);
                assert_int_equal(own->size, size);
                assert_true(align <= _Alignof(max_align_t) || own->align == align);
                assert_int_equal((uintptr_t)objects[i] % align, 0);
                memset(objects[i], 1, size);
            }
            for (int i = 0; i < 3; i++) {
                kolk_shared_free(&locals[i % 2], objects[i]);
                assert_null(block_of(objects[i]));
                assert_true(kolk_shared_is_valid(&pool));
            }
            assert_int_equal(kolk_shared_count(&pool), 1);
            end_bypassed(); /* also frees the live objects */
        }
    }
}

/* A retired object can be read until its slot returns to the depot. Then its block is freed, or at the latest with the
 * pool. */
static void test_free_later(void **state) {
    notes taken;
    begin_notes(&taken);
    make_bypassed((kolk_shared_desc){.capacity = 4, .debug = "sites"});
    unsigned char *object = (unsigned char *)memset(taken_by(&locals[0]), 7, 24);
    kolk_shared_free_later(&locals[1], object);
    kolk_shared_free(&locals[0], object);
    assert_true(taken.last.rule == KOLK_DOUBLE_FREE && taken.count == 1);
    for (int i = 0; i < 9; i++) kolk_shared_quiesce(&locals[0]); /* the other local has not quiesced */
    assert_true(block_of(object) && all_bytes_are(object, 24, 7));
    assert_true(!kolk_shared_is_live(&pool, object) && kolk_shared_count(&pool) == 0);
    for (int i = 0; i < 6; i++) kolk_shared_quiesce(&locals[i % 2]);
    assert_int_equal(heap.count, 0);
    assert_true(kolk_shared_is_valid(&pool));
    for (int i = 0; i < 3; i++) kolk_shared_free_later(&locals[0], taken_by(&locals[i % 2]));
    assert_int_equal(heap.count, 3);
    end_bypassed();
    assert_int_equal(taken.count, 1); /* retired objects are not leaks */
}

/* If malloc fails, the slot is not lost. */
static void test_malloc_fails(void **state) {
    for (unsigned n = 0; n < 6; n++) {
        kolk_stats stats;
        make_bypassed((kolk_shared_desc){.capacity = 4, .object_align = n % 2 ? 64 : 0});
        void *first = taken_by(&locals[0]);
        if (n >= 4) kolk_shared_free(&locals[0], first); /* a slot that once had a block */
        heap.calls = 0;
        heap.refused_from = 1;
        assert_null(kolk_shared_alloc(&locals[0]));
        assert_null(kolk_shared_alloc(&locals[0]));
        assert_null(kolk_shared_alloc_wait(&locals[0], KOLK_FOREVER));
        assert_true(kolk_shared_is_valid(&pool));
        kolk_shared_stats(&pool, &stats);
        assert_true(stats.failed == 3 && stats.count == (n < 4) && heap.count == stats.count);
        heap.refused_from = 0;
        if (n & 2) kolk_shared_local_flush(&locals[0]);
        for (uint32_t i = heap.count; i < 5; i++) taken_by(&locals[n & 2 ? 1 : 0]);
        assert_null(kolk_shared_alloc(&locals[0]));
        assert_null(kolk_shared_alloc(&locals[1]));
        end_bypassed();
    }
}

/* malloc may reuse a dead slot's block for another object. A pointer to it then means the new object. */
static void test_a_place_that_malloc_uses_again(void **state) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20261121), random = seed;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    enum { MOST = 200 };
    struct {
        unsigned char *object;
        kolk_handle handle;
    } all[MOST];
    uint32_t alive = 0;
    make_bypassed((kolk_shared_desc){.max_capacity = MOST, .max_threads = 3, .cache = 100});
    for (unsigned step = 0; step < (does_a_part() ? 20000 : 60000); step++) {
        bool grows = random_below(&random, 100) < (step / 1000 % 2 ? 35u : 65u); /* fills up, then empties again */
        kolk_shared_local *local = &locals[random_below(&random, 2)];
        if (grows && alive < MOST) {
            all[alive].object = (unsigned char *)kolk_shared_alloc(local);
            assert_non_null(all[alive].object);
            all[alive].handle = kolk_shared_handle_of(&pool, all[alive].object);
            memcpy(all[alive].object, &all[alive].handle, sizeof(kolk_handle));
            alive++;
        } else if (!grows && alive) {
            uint32_t gone = random_below(&random, alive);
            assert_memory_equal(all[gone].object, &all[gone].handle, sizeof(kolk_handle));
            assert_ptr_equal(kolk_shared_get(&pool, all[gone].handle), all[gone].object);
            if (random_below(&random, 4))
                kolk_shared_free(local, all[gone].object);
            else
                kolk_shared_free_later(local, all[gone].object);
            assert_null(kolk_shared_get(&pool, all[gone].handle));
            assert_false(kolk_shared_is_live(&pool, all[gone].object));
            all[gone] = all[--alive];
        }
        kolk_shared_quiesce(local);
        if (step % 1000) continue;
        assert_true(kolk_shared_is_valid(&pool));
        assert_int_equal(kolk_shared_count(&pool), alive);
        assert_true(heap.count >= alive && heap.count < alive + 100);
    }
    end_bypassed();
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

/* The body of the walk frees the current object, immediately or deferred, and allocates others. Each object that
 * existed before the walk is visited once. */
static void test_a_walk_that_frees_and_allocates(void **state) {
    for (int how = AS_EVER; how <= NEVER; how++) {
        for (int later = 0; later < 2; later++) {
            for (int more = 1; more <= 3; more++) {
                notes taken;
                begin_notes(&taken);
                use_places((places)how);
                make_bypassed((kolk_shared_desc){.capacity = 60});
                for (int i = 0; i < 10; i++) memcpy(taken_by(&locals[0]), &i, sizeof i);
                int old = 0, new = 0, number;
                kolk_shared_cursor cursor = kolk_shared_each(&pool);
                for (void *each; (each = kolk_shared_cursor_next(&cursor));) {
                    memcpy(&number, each, sizeof number);
                    assert_true(number == -1 || number == old);
                    if (number == -1) {
                        assert_true(++new <= 60);
                        continue;
                    }
                    (later ? kolk_shared_free_later : kolk_shared_free)(&locals[old++ % 2], each);
                    for (int i = 0; i < 8; i++) kolk_shared_quiesce(&locals[i % 2]);
                    for (int i = 0; i < more; i++) memset(taken_by(&locals[i % 2]), -1, 24);
                }
                assert_int_equal(old, 10);
                assert_silent(&taken);
                end_bypassed();
            }
        }
    }
}

static uint32_t rounds, over;

static void *come_and_go(void *unused) {
    kolk_shared_local local;
    void *objects[8];
    if (kolk_shared_local_init(&local, &pool) != KOLK_OK) abort();
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 8; i++) objects[i] = kolk_shared_alloc(&local);
        for (int i = 0; i < 8; i++) kolk_shared_free(&local, objects[i]);
        __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
    }
    kolk_shared_local_deinit(&local);
    return NULL;
}

/* Waits until the other threads have freed and reused the walk's current object, if it is theirs. */
static void let_them_go_on(void) {
    uint32_t before = __atomic_load_n(&rounds, __ATOMIC_RELAXED);
    while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) - before < 4) sched_yield();
}

/* While other threads work, a walk visits all objects that no thread frees. */
static void test_walks_beside_threads(void **state) {
    kolk_shared_local local;
    pthread_t threads[2];
    notes taken;
    void *kept[20];
    heap.on = false; /* the watched malloc supports only one thread */
    begin_notes(&taken);
    make_shared(&pool, &(kolk_shared_desc){.object_size = 24, .capacity = 40, .cache = KOLK_NO_CACHE});
    make_local(&local, &pool);
    for (int i = 0; i < 20; i++) assert_non_null(kept[i] = kolk_shared_alloc(&local));
    for (int i = 0; i < 20; i += 2) kolk_shared_free(&local, kept[i]); /* other threads use their slots */
    rounds = over = 0;
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    for (unsigned walks = 0; walks < (does_a_part() ? 5 : 30); walks++) {
        unsigned met = 0;
        kolk_shared_cursor cursor = kolk_shared_each(&pool);
        for (void *each; (each = kolk_shared_cursor_next(&cursor)); let_them_go_on())
            for (unsigned i = 0; i < 10; i++) met += each == kept[2 * i + 1] ? 1u << i : 0;
        assert_int_equal(met, (1 << 10) - 1);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_silent(&taken);
    end_shared(&pool);
}

#define BYPASS_TEST(name) cmocka_unit_test_setup_teardown(name, bypass, end_bypass)

int main(void) {
    const struct CMUnitTest tests[] = {
        BYPASS_TEST(test_each_object_is_a_block_of_its_size),
        BYPASS_TEST(test_free_later),
        BYPASS_TEST(test_malloc_fails),
        BYPASS_TEST(test_a_place_that_malloc_uses_again),
        BYPASS_TEST(test_a_walk_that_frees_and_allocates),
        BYPASS_TEST(test_walks_beside_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
