/* runs: slow not:qemu not:wine */
/* Statistics of every kind, in every form, while other threads do everything that the headers let them do at the same
 * time: statistics may be written at any moment, because KOLK_STATS_AT does so. ThreadSanitizer (tests/tools/tools.sh
 * races) finds what they read without the protection that the writers have. */
#include "../help/threads.h"

#include "kolk/budget.h"
#include "kolk/bytemap.h"
#include "kolk/heap.h"
#include "kolk/pool.h"
#include "kolk/queue.h"
#include "kolk/resource.h"
#include "kolk/shared.h"
#include "kolk/slotmap.h"

static bool ends;

static bool goes_on(void) {
    return !kolk_load_(&ends, KOLK_ACQUIRE_);
}

static const char *name_of_round(unsigned round) {
    return round % 2 ? "odd" : "even";
}

/* ---- Kinds for one thread: it has them, and others may ask only by the registry ---------------------------------- */

static void *use_pool(void *unused) {
    void *objects[40];
    for (unsigned round = 0; goes_on(); round++) {
        kolk_pool pool, moved;
        kolk_pool_desc desc = {.name = "pool", .object_size = 48, .capacity = 10, .max_capacity = 1000};
        REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
        for (unsigned i = 0; i < LENGTH_OF(objects); i++) REQUIRE(objects[i] = kolk_pool_alloc(&pool));
        desc.name = name_of_round(round);
        REQUIRE(kolk_pool_rebind(&pool, &desc) == KOLK_OK);
        for (unsigned i = 0; i < LENGTH_OF(objects); i += 2) kolk_pool_free(&pool, objects[i]);
        kolk_pool_trim(&pool);
        REQUIRE(kolk_pool_reserve(&pool, 200) == KOLK_OK);
        kolk_pool_clear(&pool);
        moved = pool;
        (void)moved;
        kolk_pool_deinit(&pool);
    }
    return unused;
}

static void *use_map(void *unused) {
    kolk_handle handles[40];
    for (unsigned round = 0; goes_on(); round++) {
        kolk_slotmap map;
        kolk_slotmap_desc desc = {.name = "map", .object_size = 48, .capacity = 10, .max_capacity = 1000};
        REQUIRE(kolk_slotmap_init(&map, &desc) == KOLK_OK);
        for (unsigned i = 0; i < LENGTH_OF(handles); i++) REQUIRE(kolk_slotmap_add(&map, &handles[i]));
        desc.name = name_of_round(round);
        REQUIRE(kolk_slotmap_rebind(&map, &desc) == KOLK_OK);
        for (unsigned i = 0; i < LENGTH_OF(handles); i += 2) kolk_slotmap_remove(&map, handles[i]);
        kolk_slotmap_trim(&map);
        kolk_slotmap_clear(&map);
        kolk_slotmap_deinit(&map);
    }
    return unused;
}

static void *use_bytemap(void *unused) {
    while (goes_on()) {
        kolk_bytemap map;
        REQUIRE(kolk_bytemap_initialise_with(
                    &map, &(kolk_bytemap_view){.name = "bytemap", .object_size = 16, .count = 50}) == KOLK_OK);
        for (unsigned i = 0; i < 30; i++) kolk_bytemap_delete(&map, kolk_bytemap_new(&map));
        for (unsigned i = 0; i < 30; i++) REQUIRE(kolk_bytemap_new(&map));
        kolk_bytemap_flush(&map);
    }
    return unused;
}

/* ---- Kinds for many threads -------------------------------------------------------------------------------------- */

static kolk_queue queue;
static kolk_shared shared;
static kolk_heap heap;
static kolk_resource_pool resources;

static void *use_queue(void *unused) {
    for (unsigned round = 0; goes_on(); round++) {
        uint32_t item = round;
        kolk_queue own;
        kolk_queue_desc desc = {.name = "own queue", .item_size = 4, .capacity = 8};
        for (unsigned i = 0; i < 50; i++) {
            kolk_queue_push(&queue, &item, i % 7 ? KOLK_NOW : kolk_deadline_after(1));
            kolk_queue_pop(&queue, &item, i % 7 ? KOLK_NOW : kolk_deadline_after(1));
        }
        REQUIRE(kolk_queue_init(&own, &desc) == KOLK_OK);
        REQUIRE(kolk_queue_push(&own, &item, KOLK_NOW) == KOLK_OK);
        desc.name = name_of_round(round);
        REQUIRE(kolk_queue_rebind(&own, &desc) == KOLK_OK);
        kolk_queue_deinit(&own);
    }
    return unused;
}

static void *use_shared(void *unused) {
    kolk_shared_local local, own_local;
    void *objects[60];
    for (unsigned round = 0; goes_on(); round++) {
        kolk_shared own;
        kolk_shared_desc desc = {.name = "own shared", .object_size = 32, .capacity = 60, .max_capacity = 200};
        REQUIRE(kolk_shared_local_init(&local, &shared) == KOLK_OK);
        for (unsigned i = 0; i < LENGTH_OF(objects); i++)
            objects[i] = i % 9 ? kolk_shared_alloc(&local) : kolk_shared_alloc_wait(&local, kolk_deadline_after(1));
        for (unsigned i = 0; i < LENGTH_OF(objects); i++)
            if (objects[i]) kolk_shared_free(&local, objects[i]);
        kolk_shared_local_deinit(&local);
        REQUIRE(kolk_shared_init(&own, &desc) == KOLK_OK);
        REQUIRE(kolk_shared_local_init(&own_local, &own) == KOLK_OK);
        for (unsigned i = 0; i < LENGTH_OF(objects); i++) REQUIRE(objects[i] = kolk_shared_alloc(&own_local));
        desc.name = name_of_round(round);
        REQUIRE(kolk_shared_rebind(&own, &desc) == KOLK_OK);
        kolk_shared_free_n(&own_local, objects, LENGTH_OF(objects));
        kolk_shared_clear(&own);
        kolk_shared_local_deinit(&own_local);
        kolk_shared_deinit(&own);
    }
    return unused;
}

static void *use_heap(void *unused) {
    void *blocks[100];
    for (unsigned round = 0; goes_on(); round++) {
        kolk_heap own;
        kolk_heap_desc desc = {.name = "own heap", .limit = 1 << 24};
        REQUIRE(kolk_heap_init(&own, &desc) == KOLK_OK);
        for (unsigned of_own = 0; of_own < 2; of_own++) {
            kolk_heap *its = of_own ? &own : &heap;
            for (unsigned i = 0; i < LENGTH_OF(blocks); i++)
                REQUIRE(blocks[i] = kolk_heap_alloc(its, i % 20 ? (round % 3 + 1) * 16 * i : 100000));
            for (unsigned i = 0; i < LENGTH_OF(blocks); i += 3)
                REQUIRE(blocks[i] = kolk_heap_realloc(its, blocks[i], 200 + i * 8));
            for (unsigned i = 0; i < LENGTH_OF(blocks); i++) kolk_heap_free(its, blocks[i]);
            kolk_heap_trim(its);
        }
        desc.name = name_of_round(round);
        REQUIRE(kolk_heap_rebind(&own, &desc) == KOLK_OK);
        for (unsigned i = 0; i < LENGTH_OF(blocks); i++) REQUIRE(kolk_heap_alloc(&own, 16 * i));
        kolk_heap_reset(&own);
        REQUIRE(kolk_heap_alloc(&own, 100));
        kolk_heap_deinit(&own);
    }
    return unused;
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key, (void)deadline, (void)error;
    *resource = context;
    return true;
}

static kolk_resource_pool_desc resource_desc(const char *name) {
    static int any;
    return (kolk_resource_pool_desc){.name = name, .context = &any, .create = create, .max = 2};
}

static void *use_resources(void *unused) {
    for (unsigned round = 0; goes_on(); round++) {
        for (unsigned i = 0; i < 20; i++) {
            kolk_borrowed one, two;
            kolk_borrow_desc desc = {.deadline = kolk_deadline_after(1)};
            bool has_one = kolk_resource_borrow(&resources, &desc, &one) == KOLK_OK;
            if (kolk_resource_borrow(&resources, &desc, &two) == KOLK_OK) kolk_resource_discard(&resources, &two);
            if (has_one) kolk_resource_give_back(&resources, &one);
        }
        kolk_resource_pool_desc desc = resource_desc(name_of_round(round));
        REQUIRE(kolk_resource_rebind(&resources, &desc) == KOLK_OK);
        kolk_resource_evict(&resources);
        REQUIRE(kolk_resource_resize(&resources, 2) == KOLK_OK);
        kolk_resource_pool own = {0};
        desc = resource_desc("own resources");
        REQUIRE(kolk_resource_init(&own, &desc) == KOLK_OK);
        kolk_resource_deinit(&own);
    }
    return unused;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

static void ask_all(void) {
    kolk_stats stats;
    kolk_resource_pool_stats more;
    kolk_heap_class_stats of_class;
    size_t bytes = 0;
    for (unsigned format = KOLK_STATS_TEXT; format <= KOLK_STATS_PROMETHEUS; format++)
        kolk_stats_write((kolk_stats_format)format, count_bytes, &bytes);
    kolk_queue_stats(&queue, &stats);
    kolk_shared_stats(&shared, &stats);
    kolk_heap_stats(&heap, &stats);
    for (uint32_t n = 0; kolk_heap_stats_of_class(&heap, n, &of_class); n++) REQUIRE(of_class.stats.name);
    kolk_resource_stats(&resources, &more);
    REQUIRE(bytes > 0 && stats.name && more.name && kolk_queue_count(&queue) <= 8 && kolk_shared_count(&shared) <= 100);
    REQUIRE(kolk_stats_now());
    kolk_trim_all();
}

static void test_all_kinds(void **state) {
    (void)state;
    static void *(*const jobs[])(void *) = {use_pool,   use_map,  use_bytemap, use_queue,     use_queue,    use_shared,
                                            use_shared, use_heap, use_heap,    use_resources, use_resources};
    pthread_t threads[LENGTH_OF(jobs)];
    kolk_resource_pool_desc desc = resource_desc("resources");
    assert_int_equal(kolk_queue_init(&queue, &(kolk_queue_desc){.name = "queue", .item_size = 4, .capacity = 8}),
                     KOLK_OK);
    assert_int_equal(
        kolk_shared_init(&shared, &(kolk_shared_desc){.name = "shared", .object_size = 8, .capacity = 100}), KOLK_OK);
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "heap"}), KOLK_OK);
    assert_int_equal(kolk_resource_init(&resources, &desc), KOLK_OK);
    for (unsigned i = 0; i < LENGTH_OF(jobs); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, jobs[i], NULL), 0);
    for (uint64_t n = 0; n < operations; n++) ask_all();
    kolk_store_(&ends, true, KOLK_RELEASE_);
    for (unsigned i = 0; i < LENGTH_OF(jobs); i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(kolk_queue_is_valid(&queue) && kolk_shared_is_valid(&shared) && kolk_heap_is_valid(&heap) &&
                kolk_resource_is_valid(&resources));
    kolk_queue_deinit(&queue);
    kolk_shared_deinit(&shared);
    kolk_heap_deinit(&heap);
    kolk_resource_deinit(&resources);
}

int main(void) {
    if (sizeof(void *) < 8) {
        print_message("left out: there is a heap, which needs 64 bits\n");
        return 0;
    }
    setenv("KOLK_STATS", "json:/dev/null", 1); /* so that the pools' ends keep their statistics */
    begin_random_work(30);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
