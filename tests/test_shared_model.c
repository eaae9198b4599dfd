/* The shared pool beside a model of it: random operations of several locals in one thread, pools of random shapes.
 * KOLK_TEST_SEED and KOLK_TEST_OPS may be set in the environment. */
#include "kolk_test.h"

#include "kolk_shared_test.h"

#include <time.h>

enum { MOST_LOCALS = 8, MOST_SLOTS = 4096, SIZE = 16 };

typedef struct model {
    kolk_shared pool;
    kolk_local locals[MOST_LOCALS]; /* all zero: not there */
    uint32_t count, failed, deaths;
    struct {
        bool alive;
        uint64_t stamp;
        kolk_handle handle, stale; /* of this life; of an earlier one */
    } slots[MOST_SLOTS];
    uint32_t alive[MOST_SLOTS]; /* slots, in any order */
    uint64_t random;
} model;

static model m;

static kolk_local *any_local(uint32_t *n) {
    *n = random_below(&m.random, m.pool.max_threads);
    if (!m.locals[*n].pool) make_local(&m.locals[*n], &m.pool);
    return &m.locals[*n];
}

static void allocate(void) {
    uint32_t n;
    kolk_local *local = any_local(&n);
    uint64_t *object = (uint64_t *)kolk_local_alloc(local);
    if (!object) {
        m.failed++;
        assert_true(m.count >= m.pool.max_capacity);
        return;
    }
    uint32_t slot = slot_of(&m.pool, object);
    assert_true(slot < all_slots(&m.pool) && !m.slots[slot].alive);
    assert_ptr_equal(object, m.pool.slots + (size_t)slot * m.pool.stride);
    assert_int_equal(object[0], m.slots[slot].stamp); /* as its last life left it */
    assert_int_equal(object[1], m.slots[slot].stamp ? ~m.slots[slot].stamp : 0);
    m.slots[slot].alive = true;
    m.slots[slot].stamp = object[0] = next_random(&m.random) | 1;
    object[1] = ~object[0];
    m.alive[m.count++] = slot;
    if (m.pool.no_handles) return;
    m.slots[slot].handle = kolk_shared_handle(&m.pool, object);
    assert_false(kolk_handle_equal(m.slots[slot].handle, m.slots[slot].stale));
}

static void deallocate(void) {
    uint32_t n, at;
    if (m.count == 0) return;
    kolk_local *local = any_local(&n);
    at = random_below(&m.random, 4) ? m.count - 1 : random_below(&m.random, m.count);
    uint32_t slot = m.alive[at];
    uint64_t *object = (uint64_t *)(void *)(m.pool.slots + (size_t)slot * m.pool.stride);
    assert_true(object[0] == m.slots[slot].stamp && object[1] == ~m.slots[slot].stamp);
    kolk_local_free(local, object);
    m.slots[slot].alive = false;
    m.slots[slot].stale = m.slots[slot].handle;
    m.alive[at] = m.alive[--m.count];
    m.deaths++;
}

static void go_or_flush(void) {
    uint32_t n;
    kolk_local *local = any_local(&n);
    if (random_below(&m.random, 2))
        kolk_local_flush(local);
    else
        kolk_local_deinit(local);
}

static void ask(void) {
    uint32_t slot = random_below(&m.random, all_slots(&m.pool));
    void *object = m.pool.slots + (size_t)slot * m.pool.stride;
    assert_int_equal(kolk_shared_is_live(&m.pool, object), m.slots[slot].alive);
    assert_int_equal(kolk_shared_count(&m.pool), m.count);
    if (m.pool.no_handles) return;
    assert_ptr_equal(kolk_shared_get(&m.pool, m.slots[slot].handle), m.slots[slot].alive ? object : NULL);
    assert_null(kolk_shared_get(&m.pool, m.slots[slot].stale));
}

static void look_at_all(void) {
    uint32_t slot = 0;
    kolk_stats stats;
    for (void *at = NULL; (at = kolk_shared_next(&m.pool, at)); slot++) {
        while (!m.slots[slot].alive) assert_true(++slot < MOST_SLOTS);
        assert_int_equal(slot_of(&m.pool, at), slot);
    }
    while (slot < MOST_SLOTS && !m.slots[slot].alive) slot++;
    assert_int_equal(slot, MOST_SLOTS);
    assert_true(kolk_shared_is_valid(&m.pool));
    kolk_shared_stats(&m.pool, &stats);
    assert_true(stats.count == m.count && stats.failed == m.failed && stats.peak >= m.count);
}

/* Until there is no more for one of the locals. */
static void fill_up(void) {
    uint32_t n, before = m.failed;
    any_local(&n);
    while (m.failed == before) allocate();
}

static void make_any_pool(void) {
    static const uint32_t caches[] = {1, 2, 3, 5, 16, 63, 64, 65, 100, 0};
    memset(&m, 0, offsetof(model, random));
    kolk_shared_desc desc = {.name = "model",
                             .object_size = SIZE,
                             .max_threads = 1 + random_below(&m.random, MOST_LOCALS),
                             .cache = caches[random_below(&m.random, LENGTH_OF(caches))],
                             .capacity = random_below(&m.random, 4) ? random_below(&m.random, 300) : 1,
                             .no_handles = random_below(&m.random, 4) == 0,
                             .exact = random_below(&m.random, 4) == 0};
    if (random_below(&m.random, 2)) desc.max_capacity = desc.capacity + random_below(&m.random, 2000);
    if (desc.max_capacity + desc.capacity == 0) desc.capacity = 7;
    make_shared(&m.pool, &desc);
    assert_true(all_slots(&m.pool) <= MOST_SLOTS);
}

static void test_random_operations(void **state) {
    (void)state;
    uint64_t operations = number_from_environment("KOLK_TEST_OPS", SLOW ? 50000 : 400000), done = 0, filled = 0,
             deaths = 0;
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    m.random = seed;
    while (done < operations) {
        make_any_pool();
        uint32_t allocations = 50;
        for (uint32_t i = 0; i < 8000; i++, done++) {
            if (random_below(&m.random, 500) == 0) allocations = 5 + random_below(&m.random, 90);
            uint32_t choice = random_below(&m.random, 1000);
            if (choice < 4)
                go_or_flush();
            else if (choice < 6)
                look_at_all();
            else if (choice < 7 && i % 4 == 0)
                fill_up();
            else if (choice < 100)
                ask();
            else if (choice % 100 < allocations)
                allocate();
            else
                deallocate();
        }
        look_at_all();
        filled += m.failed;
        deaths += m.deaths;
        end_shared(&m.pool);
    }
    print_message("%" PRIu64 " times full, %" PRIu64 " objects freed\n", filled, deaths);
    assert_true(filled && deaths);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_random_operations, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
