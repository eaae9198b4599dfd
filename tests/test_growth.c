// link: -Wl,--wrap=mmap,--wrap=mmap64,--wrap=mprotect,--wrap=madvise,--wrap=mincore
/* Growing pools: addresses that never move, reserve, trim by resident memory, and what happens when the system refuses:
 * the n-th call fails, n = 1, 2, 3 ... until the operation succeeds, once and for ever. */
#include "kolk_test.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- The system's calls, counted, and refused on demand ----------------------------------------------------------------- */

static struct {
    unsigned calls;
    unsigned refused_from; /* the n-th call from the start; 0: none */
    bool for_ever;
    bool only_mincore;
} os;

static bool refused(bool is_mincore) {
    if (os.only_mincore && !is_mincore) return false;
    os.calls++;
    bool now = os.refused_from && (os.for_ever ? os.calls >= os.refused_from : os.calls == os.refused_from);
    if (now) errno = ENOMEM;
    return now;
}

void *__real_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset);
void *__real_mmap64(void *start, size_t size, int protection, int flags, int file, int64_t offset);
int __real_mprotect(void *start, size_t size, int protection);
int __real_madvise(void *start, size_t size, int advice);
int __real_mincore(void *start, size_t size, unsigned char *states);
void *__wrap_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap64(void *start, size_t size, int protection, int flags, int file, int64_t offset);
int __wrap_mprotect(void *start, size_t size, int protection);
int __wrap_madvise(void *start, size_t size, int advice);
int __wrap_mincore(void *start, size_t size, unsigned char *states);

void *__wrap_mmap(void *start, size_t size, int protection, int flags, int file, off_t offset) {
    return refused(false) ? MAP_FAILED : __real_mmap(start, size, protection, flags, file, offset);
}

void *__wrap_mmap64(void *start, size_t size, int protection, int flags, int file, int64_t offset) {
    return refused(false) ? MAP_FAILED : __real_mmap64(start, size, protection, flags, file, offset);
}

int __wrap_mprotect(void *start, size_t size, int protection) {
    return refused(false) ? -1 : __real_mprotect(start, size, protection);
}

int __wrap_madvise(void *start, size_t size, int advice) {
    return refused(false) ? -1 : __real_madvise(start, size, advice);
}

int __wrap_mincore(void *start, size_t size, unsigned char *states) {
    return refused(true) ? -1 : __real_mincore(start, size, states);
}

static void refuse(unsigned nth, bool for_ever) {
    os.calls = 0;
    os.refused_from = nth;
    os.for_ever = for_ever;
    os.only_mincore = false;
}

static int accept_again(void **state) {
    refuse(0, false);
    return abort_on_failure(state);
}

/* ---- Growth -------------------------------------------------------------------------------------------------------------- */

static const kolk_reuse orders[] = {KOLK_REUSE_LIFO, KOLK_REUSE_FIFO, KOLK_REUSE_LOWEST};

#define OBJECT 1000u /* a stride that makes it grow in small steps: 65 slots at first */

static void *stamped(kolk_pool *pool, uint32_t number) {
    uint32_t *object = (uint32_t *)kolk_pool_alloc(pool);
    if (object)
        for (size_t i = 0; i < OBJECT / sizeof *object; i++) object[i] = number;
    return object;
}

static bool is_stamped(const void *object, uint32_t number) {
    const uint32_t *words = (const uint32_t *)object;
    for (size_t i = 0; i < OBJECT / sizeof *words; i++)
        if (words[i] != number) return false;
    return true;
}

static void test_objects_never_move(void **state) {
    (void)state;
    enum { N = 5000 };
    static void *objects[N];
    static kolk_handle handles[N];
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats, before = {0};
        unsigned steps = 0;
        make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT, .max_capacity = N, .reuse = orders[i]});
        const unsigned char *slots = pool.slots;
        for (uint32_t n = 0; n < N; n++) {
            objects[n] = stamped(&pool, n);
            assert_ptr_equal(objects[n], slots + (size_t)n * OBJECT);
            handles[n] = kolk_pool_handle(&pool, objects[n]);
            kolk_pool_stats(&pool, &stats);
            if (stats.capacity == before.capacity) continue;
            assert_true(stats.capacity > n && stats.capacity <= N);
            assert_true(stats.bytes_committed > before.bytes_committed);
            assert_true(stats.bytes_committed <= stats.bytes_reserved);
            assert_true(kolk_pool_is_valid(&pool));
            before = stats;
            steps++;
        }
        assert_true(steps > 3 && steps < 20);
        assert_null(stamped(&pool, N));
        assert_true(stats.bytes_reserved > (uint64_t)N * OBJECT);
        for (uint32_t n = 0; n < N; n++) {
            assert_true(is_stamped(objects[n], n));
            assert_ptr_equal(kolk_pool_get(&pool, handles[n]), objects[n]);
        }
        kolk_pool_deinit(&pool);
    }
}

/* An object larger than the first step. */
static void test_growth_by_large_objects(void **state) {
    (void)state;
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.object_size = 100000, .max_capacity = 7});
    for (uint32_t n = 0; n < 7; n++) {
        unsigned char *object = (unsigned char *)kolk_pool_alloc(&pool);
        object[99999] = (unsigned char)n;
        assert_true(pool.capacity <= 2 * n + 1); /* twice as many, not all at once */
    }
    assert_int_equal(pool.capacity, 7);
    kolk_pool_deinit(&pool);
}

static void test_reserve(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){
                             .object_size = OBJECT, .capacity = 10, .max_capacity = 1000, .reuse = orders[i]});
        assert_int_equal(kolk_pool_reserve(&pool, 5), KOLK_OK);
        assert_int_equal(pool.capacity, 10);
        kolk_pool before = pool;
        assert_int_equal(kolk_pool_reserve(&pool, 1001), KOLK_ABOVE_MAX);
        assert_memory_equal(&before, &pool, sizeof pool);
        assert_int_equal(kolk_pool_reserve(&pool, 700), KOLK_OK);
        assert_int_equal(kolk_pool_available(&pool), 700);
        refuse(0, false);
        for (uint32_t n = 0; n < 700; n++) assert_non_null(stamped(&pool, n));
        assert_int_equal(os.calls, 0); /* without asking the system later */
        assert_non_null(stamped(&pool, 700));
        assert_true(os.calls > 0);
        assert_int_equal(kolk_pool_reserve(&pool, 1000), KOLK_OK);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);

        make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT, .capacity = 10, .reuse = orders[i]});
        assert_int_equal(kolk_pool_reserve(&pool, 10), KOLK_OK);
        assert_int_equal(kolk_pool_reserve(&pool, 11), KOLK_ABOVE_MAX);
        kolk_pool_deinit(&pool);
    }
}

/* The ring of dead slots goes round its end when reserve makes it longer: the order must be kept, for each place where it
 * may begin and each number of free slots. */
static void test_reserve_while_the_ring_goes_round(void **state) {
    (void)state;
    enum { N = 6 };
    for (uint32_t begin = 0; begin < N; begin++) {
        for (uint32_t dead = 0; dead <= N; dead++) {
            for (uint32_t more = 1; more <= 2 * N; more += 3) {
                kolk_pool pool;
                make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT, .capacity = N, .max_capacity = 3 * N,
                                                   .reuse = KOLK_REUSE_FIFO});
                void *objects[N];
                assert_int_equal(kolk_pool_alloc_n(&pool, objects, N), N);
                for (uint32_t n = 0; n < begin; n++) { /* the ring's beginning goes up by one */
                    kolk_pool_free(&pool, objects[n]);
                    assert_ptr_equal(kolk_pool_alloc(&pool), objects[n]);
                }
                for (uint32_t n = 0; n < dead; n++) kolk_pool_free(&pool, objects[N - 1 - n]);
                assert_int_equal(kolk_pool_reserve(&pool, N + more), KOLK_OK);
                assert_true(kolk_pool_is_valid(&pool));
                for (uint32_t n = 0; n < more; n++) /* those never handed out come first */
                    assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), N + n);
                for (uint32_t n = 0; n < dead; n++) assert_ptr_equal(kolk_pool_alloc(&pool), objects[N - 1 - n]);
                assert_true(kolk_pool_is_valid(&pool));
                kolk_pool_deinit(&pool);
            }
        }
    }
}

/* ---- Trim ---------------------------------------------------------------------------------------------------------------- */

/* Bytes of the pool's slots that memory backs. */
static size_t resident(const kolk_pool *pool) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 0;
    size_t pages = ((size_t)pool->capacity * pool->stride + page - 1) / page;
    unsigned char *states = (unsigned char *)malloc(pages);
    assert_non_null(states);
    assert_int_equal(__real_mincore(pool->slots, pages * page, states), 0);
    for (size_t i = 0; i < pages; i++) bytes += states[i] & 1 ? page : 0;
    free(states);
    return bytes;
}

static void test_trim_gives_memory_back(void **state) {
    (void)state;
    enum { N = 20000 };
    for (unsigned i = 0; i < 6; i++) { /* each order; fixed and growing */
        kolk_pool pool;
        kolk_pool_desc desc = {.object_size = OBJECT, .capacity = N, .reuse = orders[i % 3]};
        if (i >= 3) desc.capacity = 0, desc.max_capacity = N;
        make_pool(&pool, &desc);
        assert_int_equal(kolk_pool_trim(&pool), 0);
        kolk_handle kept[4];
        for (uint32_t n = 0; n < N; n++) {
            void *object = stamped(&pool, n);
            if (n % 5000 == 4999) kept[n / 5000] = kolk_pool_handle(&pool, object);
        }
        size_t full = resident(&pool);
        assert_true(full >= (size_t)N * OBJECT);
        assert_int_equal(kolk_pool_trim(&pool), 0); /* all is alive */
        for (uint32_t n = 0; n < N; n++)
            if (n % 5000 != 4999) kolk_pool_free(&pool, kolk_pool_at(&pool, n));
        assert_int_equal(resident(&pool), full); /* free gives nothing back */
        size_t given_back = kolk_pool_trim(&pool), left = resident(&pool);
        assert_int_equal(given_back, full - left); /* it has told the truth */
        assert_true(left <= 4 * 2 * (size_t)sysconf(_SC_PAGESIZE));
        assert_int_equal(kolk_pool_trim(&pool), 0);
        assert_int_equal(pool.capacity, N);
        for (uint32_t n = 0; n < 4; n++) {
            const void *object = kolk_pool_get(&pool, kept[n]);
            assert_non_null(object);
            assert_true(is_stamped(object, n * 5000 + 4999));
        }
        assert_true(kolk_pool_is_valid(&pool));
        for (uint32_t n = 0; n < N - 4; n++) { /* LIFO as well as LOWEST now uses the low slots first */
            void *object = stamped(&pool, n);
            assert_non_null(object);
            if (orders[i % 3] != KOLK_REUSE_FIFO) assert_true(kolk_pool_index(&pool, object) == n + n / 4999);
        }
        assert_null(stamped(&pool, 0));
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

/* Alive go up and down in waves, with a trim now and then: no object is lost or moved, and memory follows. */
static void test_growth_and_trim_under_load(void **state) {
    (void)state;
    enum { N = 3000 };
    static void *objects[N];
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        uint64_t random = 7;
        uint32_t count = 0;
        make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT, .max_capacity = N, .reuse = orders[i]});
        memset(objects, 0, sizeof objects);
        for (uint32_t step = 0; step < 40000; step++) {
            uint32_t n = random_below(&random, N), wanted = step / 4000 % 2 ? N / 30 : N - N / 30;
            if (objects[n] && count > wanted) {
                assert_true(is_stamped(objects[n], n));
                kolk_pool_free(&pool, objects[n]);
                objects[n] = NULL;
                count--;
            } else if (!objects[n] && count < wanted) {
                objects[n] = stamped(&pool, n);
                assert_non_null(objects[n]);
                count++;
            }
            if (step % 3999 != 3998) continue;
            kolk_pool_trim(&pool);
            assert_true(kolk_pool_is_valid(&pool));
            assert_int_equal(kolk_pool_count(&pool), count);
        }
        for (uint32_t n = 0; n < N; n++)
            if (objects[n]) assert_true(is_stamped(objects[n], n));
        kolk_pool_clear(&pool);
        kolk_pool_trim(&pool);
        assert_true(resident(&pool) <= (size_t)sysconf(_SC_PAGESIZE)); /* the end of the last slot is in a page's midst */
        kolk_pool_deinit(&pool);
    }
}

/* ---- The system refuses ------------------------------------------------------------------------------------------------- */

/* Shapes with all regions: each is committed by a call of its own. */
static bool setup(void *object, void *context) {
    (void)object, (void)context;
    return true;
}

static kolk_pool_desc shape(unsigned n, uint32_t capacity, uint32_t max_capacity) {
    return (kolk_pool_desc){.name = "refused", .object_size = OBJECT, .capacity = capacity, .reuse = orders[n % 3],
                            .max_capacity = max_capacity, .setup = n >= 3 ? setup : NULL};
}

static void test_init_refused(void **state) {
    (void)state;
    for (unsigned n = 0; n < 6 * 2 * 2; n++) {
        kolk_pool_desc desc = shape(n % 6, 100, n / 6 % 2 ? 5000 : 0);
        for (unsigned nth = 1;; nth++) {
            kolk_pool pool;
            memset(&pool, 0xff, sizeof pool);
            refuse(nth, n / 12);
            kolk_status status = kolk_pool_init(&pool, &desc);
            unsigned calls = os.calls;
            refuse(0, false);
            if (status == KOLK_OK) {
                assert_true(nth == calls + 1 && nth > 2); /* reserve, and at least one commit */
                kolk_pool_deinit(&pool);
                break;
            }
            assert_int_equal(status, KOLK_NO_MEMORY);
            assert_true(is_all_zero(&pool));
        }
    }
}

/* One operation that needs more memory. */
typedef bool operation(kolk_pool *pool);

static bool by_reserve(kolk_pool *pool) {
    return kolk_pool_reserve(pool, 3000) == KOLK_OK;
}

static bool by_alloc(kolk_pool *pool) {
    return kolk_pool_alloc(pool) != NULL;
}

static bool by_alloc_at(kolk_pool *pool) {
    return kolk_pool_alloc_at(pool, kolk_handle_unpack(UINT64_C(5) << 32 | (2000 ^ pool->tag))) != NULL;
}

static void grow_refused(operation *grow, unsigned n, bool for_ever) {
    kolk_pool_desc desc = shape(n, 50, 5000);
    kolk_stats stats;
    for (unsigned nth = 1;; nth++) {
        kolk_pool pool;
        make_pool(&pool, &desc);
        for (uint32_t i = 0; i < 50; i++) assert_non_null(stamped(&pool, i));
        kolk_pool before = pool;
        refuse(nth, for_ever);
        bool done = grow(&pool);
        unsigned calls = os.calls;
        refuse(0, false);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_stats(&pool, &stats);
        for (uint32_t i = 0; i < 50; i++) assert_true(is_stamped(kolk_pool_at(&pool, i), i));
        if (done && nth == calls + 1) {
            kolk_pool_deinit(&pool);
            return;
        }
        if (done) { /* it has asked for less, once more */
            assert_true(!for_ever && pool.capacity >= 51);
        } else {
            assert_int_equal(stats.failed, grow == by_reserve ? 0 : 1);
            pool.failed = 0;
            assert_memory_equal(&pool, &before, sizeof pool); /* nothing else has changed */
            assert_true(grow(&pool));                         /* and now it works */
            assert_true(kolk_pool_is_valid(&pool));
        }
        kolk_pool_deinit(&pool);
    }
}

static void test_growth_refused(void **state) {
    (void)state;
    operation *operations[] = {by_reserve, by_alloc, by_alloc_at};
    for (size_t i = 0; i < LENGTH_OF(operations); i++)
        for (unsigned n = 0; n < 6; n++) {
            grow_refused(operations[i], n, false);
            grow_refused(operations[i], n, true);
        }
}

/* Memory for one slot more, but not for twice as many: the pool takes what it gets. */
static void test_growth_takes_what_it_gets(void **state) {
    (void)state;
    kolk_pool pool;
    kolk_pool_desc desc = shape(0, 50, 5000);
    make_pool(&pool, &desc);
    for (uint32_t i = 0; i < 50; i++) assert_non_null(stamped(&pool, i));
    refuse(1, false);
    assert_non_null(stamped(&pool, 50));
    assert_int_equal(pool.capacity, 51);
    refuse(0, false);
    assert_non_null(stamped(&pool, 51));
    assert_true(pool.capacity > 60);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
}

static void test_trim_refused(void **state) {
    (void)state;
    for (unsigned n = 0; n < 6; n++) {
        for (unsigned nth = 1; nth <= 2; nth++) {
            kolk_pool pool;
            kolk_pool_desc desc = shape(n, 100, 0);
            make_pool(&pool, &desc);
            for (uint32_t i = 0; i < 100; i++) assert_non_null(stamped(&pool, i));
            for (uint32_t i = 1; i < 100; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
            size_t before = resident(&pool), page = (size_t)sysconf(_SC_PAGESIZE);
            refuse(nth, true);
            os.only_mincore = nth == 1;
            size_t bytes = kolk_pool_trim(&pool);
            refuse(0, false);
            size_t whole_pages = 100 * OBJECT / page * page - page;
            if (nth == 1) { /* the system does not tell what was resident: all whole pages count */
                assert_int_equal(bytes, whole_pages);
                assert_int_equal(before - resident(&pool), whole_pages);
            } else { /* it takes nothing back */
                assert_int_equal(bytes, 0);
                assert_int_equal(resident(&pool), before);
            }
            assert_true(kolk_pool_is_valid(&pool));
            assert_true(is_stamped(kolk_pool_at(&pool, 0), 0));
            for (uint32_t i = 1; i < 100; i++) assert_non_null(stamped(&pool, i));
            kolk_pool_deinit(&pool);
        }
    }
}

/* The other sentence of trap_full. */
static void test_trap_full_when_memory_is_refused(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    kolk_pool_desc desc = shape(0, 2, 100);
    desc.on_full = kolk_pool_trap_full;
    make_pool(&pool, &desc);
    begin_notes(&taken);
    assert_non_null(stamped(&pool, 0));
    assert_non_null(stamped(&pool, 1));
    assert_silent(&taken);
    refuse(1, true);
    assert_null(stamped(&pool, 2));
    assert_noted(&taken, KOLK_FULL, "refused", NULL, NO_SLOT,
                 "kolk: refused: full: all 2 slots are in use, and the system gives no memory for more");
    refuse(0, false);
    assert_non_null(stamped(&pool, 2));
    assert_silent(&taken);
    kolk_pool_deinit(&pool);
}

/* A growing pool that fits a few pages is committed at once, and then never asks the system again. */
static void test_a_small_growing_pool(void **state) {
    (void)state;
    for (unsigned n = 0; n < 6; n++) {
        kolk_pool pool;
        kolk_stats stats;
        kolk_pool_desc desc = shape(n, 1, 10);
        refuse(0, false);
        make_pool(&pool, &desc);
        assert_int_equal(os.calls, 2); /* reserve and commit */
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.capacity, 1);
        assert_int_equal(stats.max_capacity, 10);
        assert_int_equal(stats.bytes_committed, stats.bytes_reserved);
        refuse(1, true);
        for (uint32_t i = 0; i < 10; i++) {
            assert_non_null(stamped(&pool, i));
            assert_true(kolk_pool_is_valid(&pool));
        }
        assert_null(stamped(&pool, 10));
        assert_int_equal(kolk_pool_reserve(&pool, 11), KOLK_ABOVE_MAX);
        assert_int_equal(os.calls, 0);
        for (uint32_t i = 0; i < 10; i++) assert_true(is_stamped(kolk_pool_at(&pool, i), i));
        refuse(0, false);
        kolk_pool_clear(&pool);
        kolk_pool_trim(&pool);
        assert_non_null(stamped(&pool, 0));
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, accept_again)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_objects_never_move),
        TEST(test_growth_by_large_objects),
        TEST(test_reserve),
        TEST(test_reserve_while_the_ring_goes_round),
        TEST(test_trim_gives_memory_back),
        TEST(test_growth_and_trim_under_load),
        TEST(test_a_small_growing_pool),
        TEST(test_init_refused),
        TEST(test_growth_refused),
        TEST(test_growth_takes_what_it_gets),
        TEST(test_trim_refused),
        TEST(test_trap_full_when_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
