// expect: ok
// flags: -pedantic -Wconversion -Wshadow -Wcast-align -Wundef
/* A C++17 program that uses every header: compiled, linked with the library and run. Its result is 0 if all is well. */
#include <kolk/base.h>
#include <kolk/bytemap.h>
#include <kolk/kolk.h>
#include <kolk/pool.h>
#include <kolk/queue.h>
#include <kolk/shared.h>
#include <kolk/slotmap.h>
#include <kolk/typed.h>

#include <cstring>

namespace {

struct bullet {
    float x, y;
    bullet *next;
};

union shape {
    bullet round;
    double wide;
};

} // namespace

KOLK_POOL_TYPE(bullets, bullet)
KOLK_SLOTMAP_TYPE(packed, bullet)
KOLK_POOL_TYPE(shapes, union shape)
KOLK_POOL_MEMBER(shapes, bullet, round)

struct particle;
KOLK_POOL_DECLARE(particles, particle)
struct particle {
    int frames;
};
KOLK_POOL_DEFINE(particles, particle)
KOLK_BYTEMAP_TYPE(peds, bullet)
KOLK_QUEUE_TYPE(shots, bullet)
KOLK_SHARED_TYPE(tracers, bullet)
KOLK_RESOURCE_TYPE(guns, bullet)

namespace {

int failures_seen;

void count_failure(const kolk_failure *failure, void *context) {
    failures_seen++;
    if (std::strcmp(failure->pool, static_cast<const char *>(context)) != 0) failures_seen += 100;
}

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) return __LINE__;                                                                             \
    } while (0)

int base() {
    REQUIRE(std::strcmp(kolk_status_text(KOLK_OK), "done") == 0);
    kolk_handle handle = kolk_handle_unpack(7);
    REQUIRE(kolk_handle_pack(handle) == 7 && !kolk_handle_is_null(handle));
    REQUIRE(kolk_handle_equal(handle, kolk_handle_unpack(7)));
    REQUIRE(kolk_deadline_after(-1).ns == KOLK_NOW.ns);
    REQUIRE(kolk_deadline_after(INT64_MAX).ns == KOLK_FOREVER.ns);
    return 0;
}

int untyped() {
    static KOLK_POOL_STORAGE(double, 10) memory;
    kolk_pool_desc desc = kolk_pool_desc();
    desc.name = "doubles";
    desc.object_size = sizeof(double);
    desc.capacity = 10;
    desc.memory = &memory;
    desc.memory_size = sizeof memory;
    kolk_pool pool;
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    double *number = static_cast<double *>(kolk_pool_alloc(&pool));
    *number = 1;
    kolk_handle handle = kolk_pool_handle_of(&pool, number);
    REQUIRE(kolk_pool_get(&pool, handle) == number);
    REQUIRE(kolk_pool_index(&pool, number) == 0 && kolk_pool_at(&pool, 0) == number);
    REQUIRE(kolk_pool_count(&pool) == 1 && kolk_pool_available(&pool) == 9);
    kolk_set_failure_handler(count_failure, const_cast<char *>("doubles"));
    kolk_pool_free(&pool, &desc);
    kolk_set_failure_handler(nullptr, nullptr);
    REQUIRE(failures_seen == 1);
    kolk_pool_free(&pool, number);
    REQUIRE(!kolk_pool_is_live(&pool, number) && kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
    return 0;
}

/* promise: typed.h "These macros ... resource pool" */
int typed() {
    kolk_pool_desc desc = kolk_pool_desc();
    desc.name = "bullets";
    desc.max_capacity = 1000;
    bullets all;
    REQUIRE(bullets_init(&all, &desc) == KOLK_OK);
    bullet *last = nullptr;
    for (int i = 0; i < 1000; i++) {
        bullet *one = bullets_alloc(&all);
        one->next = last;
        last = one;
    }
    REQUIRE(bullets_alloc(&all) == nullptr);
    int visited = 0;
    KOLK_EACH(bullets, each, &all) {
        if (visited++ % 2) bullets_free(&all, each);
    }
    REQUIRE(visited == 1000 && bullets_count(&all) == 500);
    bullets_handle handle = bullets_handle_of(&all, bullets_at(&all, 0));
    REQUIRE(bullets_free_handle(&all, handle) && !bullets_get(&all, handle));
    REQUIRE(bullets_is_valid(&all));
    bullets_deinit(&all);
    return 0;
}

int members_and_hidden() {
    kolk_pool_desc desc = kolk_pool_desc();
    desc.capacity = 3;
    shapes all;
    REQUIRE(shapes_init(&all, &desc) == KOLK_OK);
    bullet *round = shapes_alloc_round(&all);
    REQUIRE(round && shapes_count(&all) == 1);
    shapes_free_round(&all, round);
    shapes_deinit(&all);
    particles hidden;
    REQUIRE(particles_init(&hidden, &desc) == KOLK_OK);
    particle *one = particles_alloc_zeroed(&hidden);
    REQUIRE(one->frames == 0 && particles_index(&hidden, one) == 0);
    particles_deinit(&hidden);
    return 0;
}

int bytemap() {
    static peds all;
    REQUIRE(peds_initialise(&all, 3) == KOLK_OK);
    bullet *one = peds_new(&all);
    int32_t handle = peds_get_index(&all, one);
    REQUIRE(handle == 1 && peds_get_at(&all, handle) == one);
    peds_delete(&all, one);
    REQUIRE(!peds_get_at(&all, handle) && peds_is_valid(&all));
    peds_flush(&all);
    kolk_bytemap_difference difference = kolk_bytemap_difference();
    const uint8_t before = 0x80, after = 1;
    REQUIRE(kolk_bytemap_compare(&before, &after, 1, &difference) && difference.change == KOLK_BYTEMAP_BORN);
    return 0;
}

int by_x(const void *a, const void *b, void *) {
    float first = static_cast<const bullet *>(a)->x, second = static_cast<const bullet *>(b)->x;
    return (first > second) - (first < second);
}

int slotmap() {
    kolk_slotmap_desc desc = kolk_slotmap_desc();
    desc.name = "packed";
    desc.capacity = 3;
    packed all;
    REQUIRE(packed_init(&all, &desc) == KOLK_OK);
    packed_handle one, two;
    packed_add(&all, &one)->x = 2;
    packed_add(&all, &two)->x = 1;
    packed_sort(&all, by_x, nullptr);
    REQUIRE(packed_get(&all, two) == packed_objects(&all) && packed_slot(&all, two) == 1);
    REQUIRE(packed_at(&all, 1) == packed_get(&all, one) && packed_index(&all, packed_at(&all, 1)) == 1);
    REQUIRE(packed_available(&all) == 1 && packed_add(&all, nullptr) && !packed_add(&all, nullptr));
    int visited = 0;
    KOLK_EACH(packed, each, &all) {
        visited++;
        packed_remove(&all, packed_handle_of(&all, each));
    }
    REQUIRE(visited == 3 && packed_count(&all) == 0 && !packed_get(&all, one) && packed_is_valid(&all));
    packed_deinit(&all);
    return 0;
}

int untyped_slotmap() {
    static KOLK_SLOTMAP_STORAGE(double, 2) memory;
    kolk_slotmap_desc desc = kolk_slotmap_desc();
    desc.object_size = sizeof(double);
    desc.memory = &memory;
    desc.memory_size = sizeof memory;
    kolk_slotmap map;
    REQUIRE(kolk_slotmap_init(&map, &desc) == KOLK_OK && map.capacity == 2);
    kolk_handle handle;
    double *number = static_cast<double *>(kolk_slotmap_add(&map, &handle));
    *number = 1;
    REQUIRE(kolk_slotmap_get(&map, handle) == number && number == memory.objects);
    kolk_slotmap_cursor cursor = kolk_slotmap_each(&map);
    REQUIRE(kolk_slotmap_cursor_next(&cursor) == number && !kolk_slotmap_cursor_next(&cursor));
    REQUIRE(kolk_slotmap_remove(&map, handle) && !kolk_slotmap_remove(&map, handle) && kolk_slotmap_is_valid(&map));
    kolk_slotmap_deinit(&map);
    return 0;
}

int queue() {
    kolk_queue_desc desc = kolk_queue_desc();
    desc.name = "shots";
    desc.capacity = 2;
    shots all;
    REQUIRE(shots_init(&all, &desc) == KOLK_OK);
    const bullet one = {1, 2, nullptr};
    const bullet more[3] = {one, one, one};
    size_t n = 3;
    REQUIRE(shots_push(&all, &one, KOLK_FOREVER) == KOLK_OK);
    REQUIRE(shots_push_n(&all, more, &n, KOLK_NOW) == KOLK_OK && n == 1 && shots_count(&all) == 2);
    REQUIRE(shots_push(&all, &one, kolk_deadline_after(1)) == KOLK_TIMEOUT);
    bullet got[3];
    REQUIRE(shots_pop(&all, got, KOLK_NOW) == KOLK_OK && got[0].y == 2);
    REQUIRE(shots_pop_n(&all, got, &n, KOLK_NOW) == KOLK_OK && n == 1 && shots_pop(&all, got, KOLK_NOW) == KOLK_EMPTY);
    shots_close(&all);
    REQUIRE(shots_push(&all, &one, KOLK_NOW) == KOLK_CLOSED);
    shots_shutdown(&all);
    shots_reopen(&all);
    REQUIRE(shots_push(&all, &one, KOLK_NOW) == KOLK_OK && shots_clear(&all) == 1 && shots_is_valid(&all));
    shots_deinit(&all);
    desc.item_size = sizeof(bullet) + 1;
    REQUIRE(shots_init(&all, &desc) == KOLK_TYPE_MISMATCH);
    return 0;
}

int shared() {
    kolk_shared_desc desc = kolk_shared_desc();
    desc.name = "tracers";
    desc.capacity = 2;
    desc.max_threads = 2;
    tracers pool;
    REQUIRE(tracers_init(&pool, &desc) == KOLK_OK);
    tracers_local local;
    REQUIRE(tracers_local_init(&local, &pool) == KOLK_OK);
    tracers_local *own = tracers_local_of_thread(&pool);
    REQUIRE(own && own == tracers_local_of_thread(&pool));
    bullet *one = tracers_alloc(&local), *other = tracers_alloc_wait(own, kolk_deadline_after(1));
    tracers_cursor first = tracers_each(&pool);
    REQUIRE(one && other && tracers_count(&pool) == 2 && tracers_each_next(&first) == (one < other ? one : other));
    tracers_handle handle = tracers_handle_of(&pool, one);
    REQUIRE(tracers_get(&pool, handle) == one && tracers_is_live(&pool, one));
    int visited = 0;
    KOLK_EACH(tracers, each, &pool) {
        visited += each == one || each == other;
    }
    REQUIRE(visited == 2);
    tracers_shutdown(&pool);
    REQUIRE(!tracers_alloc_wait(&local, KOLK_FOREVER));
    tracers_reopen(&pool);
    tracers_free_later(&local, one);
    tracers_offline(own);
    tracers_quiesce(&local);
    tracers_online(own);
    REQUIRE(!tracers_get(&pool, handle));
    tracers_free(own, other);
    tracers_local_flush(own);
    tracers_local_deinit(own);
    tracers_local_deinit(&local);
    kolk_stats stats;
    tracers_stats(&pool, &stats);
    REQUIRE(stats.count == 0 && tracers_is_valid(&pool));
    tracers_deinit(&pool);
    return 0;
}

struct double_free {
    uint32_t slot;
};

/* A failure handler that throws an exception through the library's functions, which are C. */
int exceptions() {
    kolk_pool pool;
    kolk_pool_desc desc = {};
    desc.object_size = 8;
    desc.capacity = 4;
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    void *object = kolk_pool_alloc(&pool);
    kolk_pool_free(&pool, object);
    kolk_set_failure_handler([](const kolk_failure *failure, void *) { throw double_free{failure->slot}; }, nullptr);
    uint32_t caught = 4;
    try {
        kolk_pool_free(&pool, object);
    } catch (const double_free &it) {
        caught = it.slot;
    }
    kolk_set_failure_handler(nullptr, nullptr);
    REQUIRE(caught == 0 && kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
    return 0;
}

/* A pool still works after its on_full throws, but does not call it again. */
int exception_of_a_hook() {
    kolk_pool pool;
    kolk_pool_desc desc = {};
    desc.object_size = 8;
    desc.capacity = 1;
    int asked = 0, caught = 0;
    desc.context = &asked;
    desc.full.on_full = [](kolk_pool *, size_t, void *context) -> bool { throw ++*static_cast<int *>(context); };
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    void *object = kolk_pool_alloc(&pool);
    try {
        kolk_pool_alloc(&pool);
    } catch (int number) {
        caught = number;
    }
    REQUIRE(caught == 1 && kolk_pool_is_valid(&pool) && !kolk_pool_alloc(&pool) && asked == 1);
    kolk_pool_free(&pool, object);
    REQUIRE(kolk_pool_alloc(&pool) == object);
    kolk_pool_deinit(&pool);
    return 0;
}

} // namespace

int main() {
    int (*const parts[])() = {base,  untyped, typed,      members_and_hidden, bytemap, slotmap, untyped_slotmap,
                              queue, shared,  exceptions, exception_of_a_hook};
    for (int (*part)() : parts)
        if (int line = part()) return line;
    return 0;
}
