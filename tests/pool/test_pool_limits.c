/* runs: slow not:asan not:qemu not:wine */
/* Limits: capacities from 0 to 2^32 - 1, object sizes from 1 to 4096 with wrong pointers around every slot, and
 * alignments up to a page. Also the time that alloc_at takes in a large pool. */
#include "../help/test.h"

#include <time.h>

/* ---- Capacities -------------------------------------------------------------------------------------------------- */

/* Fills the pool, which must have room for exactly `capacity` objects, in ascending slots. */
static void fill(kolk_pool *pool, uint32_t capacity) {
    for (uint32_t i = 0; i < capacity; i++) {
        void *object = kolk_pool_alloc(pool);
        if (object != pool->slots + (size_t)i * pool->stride) fail_msg("slot %u is not the next", i);
    }
    assert_null(kolk_pool_alloc(pool));
    assert_int_equal(kolk_pool_count(pool), capacity);
    assert_int_equal(kolk_pool_available(pool), 0);
    assert_true(kolk_pool_is_valid(pool));
}

/* Frees every third object, fills the holes, frees all by handle, then fills and clears again. */
static void use(kolk_pool *pool, uint32_t capacity) {
    uint32_t freed = 0;
    for (uint32_t i = 0; i < capacity; i += 3, freed++) kolk_pool_free(pool, kolk_pool_at(pool, i));
    assert_int_equal(kolk_pool_available(pool), freed);
    assert_true(kolk_pool_is_valid(pool));
    for (uint32_t i = 0; i < freed; i++) assert_non_null(kolk_pool_alloc(pool));
    assert_null(kolk_pool_alloc(pool));
    for (uint32_t i = 0; i < capacity; i++) {
        kolk_handle handle = kolk_pool_handle_of(pool, kolk_pool_at(pool, i));
        if (!kolk_pool_free_handle(pool, handle)) fail_msg("the handle of slot %u is not known", i);
    }
    assert_int_equal(kolk_pool_count(pool), 0);
    assert_true(kolk_pool_is_valid(pool));
    kolk_pool_clear(pool);
    fill(pool, capacity);
    kolk_pool_clear(pool);
    kolk_pool_trim(pool);
    fill(pool, capacity);
}

static void test_capacities(void **state) {
    static const uint32_t capacities[] = {1, 63, 64, 65, 4095, 4096, 4097, 262144, 262145, 1u << 20};
    for (size_t n = 0; n < LENGTH_OF(capacities); n++) {
        for (size_t i = 0; i < LENGTH_OF(orders); i++) {
            kolk_pool pool;
            kolk_pool_desc desc = {.name = "limits", .object_size = 3, .capacity = capacities[n], .reuse = orders[i]};
            make_pool(&pool, &desc);
            fill(&pool, capacities[n]);
            use(&pool, capacities[n]);
            kolk_pool_deinit(&pool);

            desc.max_capacity = capacities[n];
            desc.capacity = 0;
            make_pool(&pool, &desc);
            fill(&pool, capacities[n]);
            kolk_pool_clear(&pool);
            fill(&pool, capacities[n]);
            kolk_pool_deinit(&pool);
            desc.capacity = capacities[n];
            desc.memory_size = kolk_pool_memory_size(&desc);
            desc.memory = malloc(desc.memory_size);
            assert_non_null(desc.memory);
            memset(desc.memory, 0xff, desc.memory_size); /* dirty memory */
            make_pool(&pool, &desc);
            fill(&pool, capacities[n]);
            use(&pool, capacities[n]);
            kolk_pool_deinit(&pool);
            free(desc.memory);
        }
    }
}

/* ---- The largest number of slots --------------------------------------------------------------------------------- */

#if UINTPTR_MAX > UINT32_MAX
/* 2^32 - 1 objects of 1 byte. Handing them all out would take minutes and 36 GB of metadata, so the test sets the
 * pool's fields as if all but the last three slots were worn out. */
static void at_the_end_of_the_largest_pool(kolk_reuse reuse) {
    kolk_pool pool;
    uint32_t first = UINT32_MAX - 3;
    kolk_status status = kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = 1,
                                                                 .max_capacity = UINT32_MAX,
                                                                 .reuse = reuse,
                                                                 .tag = 99,
                                                                 .generations = KOLK_GENERATIONS_STRICT});
    if (status == KOLK_OK) status = kolk_pool_reserve(&pool, UINT32_MAX);
    if (status == KOLK_NO_MEMORY) { /* address space is limited, or the system does not overcommit */
        print_message("left out: the system gives no address space for 2^32 - 1 slots\n");
        kolk_pool_deinit(&pool);
        return;
    }
    assert_int_equal(status, KOLK_OK);
    assert_int_equal(kolk_pool_available(&pool), UINT32_MAX);
    pool.fresh = pool.aside = pool.worn.count = first;
    if (reuse == KOLK_REUSE_LOWEST) pool.aside_floor = first; /* as a search would have set it */
    assert_int_equal(kolk_pool_available(&pool), 3);

    unsigned char *objects[3];
    kolk_handle handles[3];
    for (uint32_t i = 0; i < 3; i++) {
        objects[i] = (unsigned char *)kolk_pool_alloc(&pool);
        assert_ptr_equal(objects[i], pool.slots + first + i);
        *objects[i] = (unsigned char)i;
        handles[i] = kolk_pool_handle_of(&pool, objects[i]);
    }
    assert_null(kolk_pool_alloc(&pool));
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(kolk_pool_is_live(&pool, objects[i]));
        assert_int_equal(kolk_pool_index(&pool, objects[i]), first + i);
        assert_ptr_equal(kolk_pool_at(&pool, first + i), objects[i]);
        assert_ptr_equal(kolk_pool_get(&pool, handles[i]), objects[i]);
    }
    assert_null(kolk_pool_at(&pool, UINT32_MAX));
    assert_false(kolk_pool_is_live(&pool, objects[2] + 1));
    assert_false(kolk_pool_is_live(&pool, objects[0] - 1));
    uint32_t n;
    kolk_cursor runs = kolk_pool_each_in(&pool, first - 100, UINT32_MAX); /* their sum exceeds 32 bits */
    assert_ptr_equal(kolk_cursor_next_run(&runs, &n), objects[0]);
    for (uint32_t others = 3 - n; others; others -= n)
        assert_ptr_equal(kolk_cursor_next_run(&runs, &n), objects[3 - others]);
    kolk_pool_free(&pool, objects[1]);
    assert_null(kolk_pool_get(&pool, handles[1]));
    if (reuse == KOLK_REUSE_LIFO) { /* only once, because it reads 16 GiB, of which a shortened test reads 256 MiB */
        kolk_cursor cursor = kolk_pool_each_in(&pool, does_a_part() ? first - (1u << 26) : 0, UINT32_MAX);
        assert_ptr_equal(kolk_cursor_next(&cursor), objects[0]);
        assert_ptr_equal(kolk_cursor_next(&cursor), objects[2]);
        assert_null(kolk_cursor_next(&cursor));
    }
    assert_ptr_equal(kolk_pool_alloc(&pool), objects[1]);
    assert_null(kolk_pool_alloc(&pool));
    kolk_pool_deinit(&pool);
}

static void test_the_largest_pool(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) at_the_end_of_the_largest_pool(orders[i]);
}

/* The tag gets those of 32 bits that the index does not need: here one or none. With none, a handle of another pool is
 * not recognised. promise: "A tag uses ... share a tag" */
static void test_the_last_bit_of_the_tag(void **state) {
    static const uint32_t max_capacities[] = {UINT32_C(1) << 31, (UINT32_C(1) << 31) + 1, UINT32_MAX};
    for (size_t i = 0; i < LENGTH_OF(max_capacities); i++) {
        kolk_pool pool;
        kolk_stats stats;
        make_pool(&pool, &(kolk_pool_desc){.object_size = 1, .max_capacity = max_capacities[i], .tag = 1});
        kolk_handle handle = kolk_pool_handle_of(&pool, kolk_pool_alloc(&pool));
        assert_int_equal((uint32_t)handle.bits, UINT32_C(1) << 31);
        handle.bits ^= UINT64_C(1) << 31;
        assert_null(kolk_pool_get(&pool, handle));
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.wrong_pool, i == 0);
        kolk_pool_deinit(&pool);
    }
}
#else
static void test_the_last_bit_of_the_tag(void **state) {
    print_message("32 bits have no address space for pools of 2^31 slots\n");
    skip();
}

/* The largest possible pool: slots and metadata may use half of the address space, and one slot more is refused. */
static void test_the_largest_pool(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_pool_desc desc = {.object_size = 1, .max_capacity = UINT32_MAX, .reuse = orders[i]};
        assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_SIZE_OVERFLOW);
        desc.object_size = 1u << 20;
        desc.max_capacity = 1u << 11;
        assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_SIZE_OVERFLOW);
        desc.max_capacity = 1u << 9;
        make_pool(&pool, &desc);
        unsigned char *last = (unsigned char *)kolk_pool_alloc_at(&pool, kolk_handle_unpack((UINT64_C(1) << 32) + 511));
        assert_ptr_equal(last, pool.slots + 511u * desc.object_size);
        last[desc.object_size - 1] = 1;
        assert_int_equal(kolk_pool_index(&pool, last), 511);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}
#endif

/* ---- Sizes, and wrong pointers around every slot ----------------------------------------------------------------- */

#define LARGEST 4096u
#define FEW     5u

static union {
    unsigned char bytes[KOLK_POOL_BYTES(LARGEST, 1, FEW)];
    _Alignas(16) uint64_t aligned;
} memory;

/* Returns the rule that free reports. The caller has already checked is_live. */
static kolk_status refused_by_free(kolk_pool *pool, notes *taken, void *object) {
    taken->count = 0;
    kolk_pool_free(pool, object);
    return taken->count == 1 ? taken->last.rule : KOLK_OK;
}

static void wrong_pointers_around(kolk_pool *pool, notes *taken, size_t size) {
    for (ptrdiff_t at = -(ptrdiff_t)size; at < (ptrdiff_t)((FEW + 1) * size); at++) {
        bool inside = at >= 0 && at < (ptrdiff_t)(FEW * size);
        bool is_slot = inside && at % (ptrdiff_t)size == 0;
        if (kolk_pool_is_live(pool, moved(pool->slots, at)) != is_slot)
            fail_msg("size %u: is_live is wrong at byte %d of the block", (unsigned)size, (int)at);
        if (is_slot || (size > 64 && at % 61 != 0)) continue;
        kolk_status rule = refused_by_free(pool, taken, moved(pool->slots, at));
        if (rule != (inside ? KOLK_INTERIOR_POINTER : KOLK_FOREIGN_POINTER))
            fail_msg("size %u: free says %d at byte %d of the block", (unsigned)size, (int)rule, (int)at);
    }
}

/* With align 1 the stride is the size. promise: "Is this the start ... including NULL" */
static void test_every_size_and_its_wrong_pointers(void **state) {
    notes taken;
    begin_notes(&taken);
    for (size_t size = 1; size <= LARGEST; size++) {
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){.object_size = size,
                                           .object_align = 1,
                                           .capacity = FEW,
                                           .reuse = orders[size % 3],
                                           .memory = &memory,
                                           .memory_size = sizeof memory});
        assert_int_equal(pool.stride, size);
        assert_int_equal((pool.stride >> pool.shift) % 2, 1);
        assert_true((uintptr_t)(pool.inverse * (pool.stride >> pool.shift)) == 1);
        unsigned char *objects[FEW];
        assert_int_equal(kolk_pool_alloc_n(&pool, (void **)objects, FEW), FEW);
        for (uint32_t i = 0; i < FEW; i++) memset(objects[i], (int)i, size);
        wrong_pointers_around(&pool, &taken, size);
        assert_int_equal(kolk_pool_count(&pool), FEW);
        assert_true(kolk_pool_is_valid(&pool));
        taken.count = 0;
        for (uint32_t i = 0; i < FEW; i++) {
            assert_int_equal(kolk_pool_index(&pool, objects[i]), i);
            assert_true(all_bytes_are(objects[i], size, (unsigned char)i));
            kolk_pool_free(&pool, objects[i]);
            if (kolk_pool_is_live(&pool, objects[i])) fail_msg("size %u: not freed", (unsigned)size);
        }
        assert_silent(&taken);
        kolk_pool_deinit(&pool);
    }
}

/* Distant addresses, which a division that ignores the high bits would take for slots. */
static void test_far_pointers(void **state) {
    static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 24, 48, 64, 96, 1000, 4095, 4096};
    for (size_t n = 0; n < LENGTH_OF(sizes); n++) {
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){.object_size = sizes[n],
                                           .object_align = 1,
                                           .capacity = FEW,
                                           .memory = &memory,
                                           .memory_size = sizeof memory});
        for (uint32_t i = 0; i < FEW; i++) assert_non_null(kolk_pool_alloc(&pool));
        uint64_t random = n;
        for (int i = 0; i < 100000; i++) {
            uintptr_t at = (uintptr_t)next_random(&random) >> next_random(&random) % (8 * sizeof at);
            uintptr_t offset = at - (uintptr_t)pool.slots;
            bool is_slot = offset < FEW * sizes[n] && offset % sizes[n] == 0;
            assert_int_equal(kolk_pool_is_live(&pool, (void *)at), is_slot);
        }
        for (unsigned bit = 16; bit < 8 * sizeof(uintptr_t); bit++) { /* a slot's address with one more bit set */
            void *far = (void *)((uintptr_t)pool.slots + sizes[n] + ((uintptr_t)1 << bit));
            assert_false(kolk_pool_is_live(&pool, far));
        }
        kolk_pool_deinit(&pool);
    }
}

/* ---- Alignments -------------------------------------------------------------------------------------------------- */

/* promise: "a power of two up to 4096; 0" */
static void test_alignments(void **state) {
    static const size_t sizes[] = {1, 8, 24, 100, 4096, 5000};
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t n = 0; n < LENGTH_OF(sizes); n++) {
            for (int where = 0; where < 3; where++) { /* fixed, growing, and in the caller's memory */
                kolk_pool pool;
                kolk_pool_desc desc = {.object_size = sizes[n], .object_align = align, .capacity = 10};
                void *own = NULL;
                if (where == 1) desc.max_capacity = 20;
                if (where == 2) {
                    desc.memory_size = kolk_pool_memory_size(&desc);
                    assert_int_equal(posix_memalign(&own, align > 8 ? align : 8, desc.memory_size), 0);
                    desc.memory = own;
                }
                make_pool(&pool, &desc);
                assert_int_equal(pool.stride, (sizes[n] + align - 1) / align * align);
                for (int i = 0; i < (where == 1 ? 20 : 10); i++) {
                    void *object = kolk_pool_alloc(&pool);
                    assert_non_null(object);
                    assert_int_equal((uintptr_t)object % align, 0);
                    memset(object, 0xee, sizes[n]);
                }
                assert_true(kolk_pool_is_valid(&pool));
                kolk_pool_deinit(&pool);
                free(own);
            }
        }
    }
}

/* "the largest that divides object_size, at most 16" promise: "every type of that size without an _Alignas" */
static void test_the_default_alignment(void **state) {
    static const struct {
        size_t size, align;
    } rows[] = {{1, 1}, {2, 2}, {3, 1}, {6, 2}, {8, 8}, {12, 4}, {16, 16}, {24, 8}, {48, 16}, {64, 16}, {100, 4}};
    for (size_t n = 0; n < LENGTH_OF(rows); n++) {
        kolk_pool pool;
        kolk_pool_desc desc = {.object_size = rows[n].size, .capacity = 3};
        make_pool(&pool, &desc);
        assert_int_equal(pool.stride, rows[n].size); /* the alignment adds no padding */
        kolk_pool_deinit(&pool);
        desc.memory_size = kolk_pool_memory_size(&desc);
        for (size_t skew = 0; skew <= 16; skew += 8) { /* the caller's memory must have this alignment */
            desc.memory = memory.bytes + (16 - (uintptr_t)memory.bytes % 16) + skew;
            kolk_status status = kolk_pool_init(&pool, &desc);
            assert_int_equal(status, rows[n].align == 16 && skew == 8 ? KOLK_MEMORY_MISALIGNED : KOLK_OK);
            kolk_pool_deinit(&pool);
        }
    }
}

/* ---- alloc_at ---------------------------------------------------------------------------------------------------- */

enum { TIMES = 32, IN_SMALL = 2000, IN_LARGE = TIMES * IN_SMALL };

enum { PLAIN, MIXES, WATCHED, WAYS };

static void do_nothing(void *object, void *context) {}

/* Allocates n slots by their handles, in descending or random order. If it MIXES, allocates and frees another object
 * after each, or with FIFO, where such an alloc lists the whole ring, frees the same object. WATCHED: with a hook and
 * debug mode. Returns the processor time for each. */
static double time_of_alloc_at(kolk_reuse reuse, uint32_t n, bool random, unsigned way) {
    static uint32_t slots[IN_LARGE];
    kolk_pool pool;
    uint64_t seed = 1;
    kolk_pool_desc desc = {.name = "handles", .object_size = 8, .capacity = n + 1, .reuse = reuse};
    bool mixes = way == MIXES;
    if (way == WATCHED) desc.debug = "fill", desc.life.reset = do_nothing;
    assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_OK);
    for (uint32_t i = 0; i < n; i++) slots[i] = n - 1 - i;
    for (uint32_t i = n - 1; random && i > 0; i--) {
        uint32_t other = random_below(&seed, i + 1), slot = slots[i];
        slots[i] = slots[other];
        slots[other] = slot;
    }
    clock_t begin = clock();
    for (uint32_t i = 0; i < n; i++) {
        kolk_handle handle = kolk_handle_unpack((UINT64_C(5) << 32) | (slots[i] ^ pool.tag));
        void *object = kolk_pool_alloc_at(&pool, handle);
        if (object != pool.slots + slots[i] * 8) fail_msg("slot %u is not given", slots[i]);
        if (mixes) kolk_pool_free(&pool, reuse == KOLK_REUSE_FIFO ? object : kolk_pool_alloc(&pool));
    }
    double each = (double)(clock() - begin) / CLOCKS_PER_SEC / n;
    assert_true(kolk_pool_is_valid(&pool));
    assert_int_equal(kolk_pool_count(&pool), mixes && reuse == KOLK_REUSE_FIFO ? 0 : n);
    kolk_pool_deinit(&pool);
    return each;
}

/* In a pool with 32 times as many free slots, it takes about as long: a search would take 32 times as long.
 * promise: "O(1), and a step for each of these lower slots" */
static void test_alloc_at_does_not_search(void **state) {
    for (unsigned n = 0; n < 6 * WAYS; n++) {
        double ratio = 100;
        for (unsigned tries = 0; tries < 8 && ratio > 8; tries++) {
            double few = 0;
            for (unsigned i = 0; i < TIMES; i++) few += time_of_alloc_at(orders[n % 3], IN_SMALL, n / 3 % 2, n / 6);
            double now = time_of_alloc_at(orders[n % 3], IN_LARGE, n / 3 % 2, n / 6) / few * TIMES;
            if (now < ratio) ratio = now;
        }
        if (ratio > 8) fail_msg("order of reuse %u, case %u: %.1f times as long", n % 3, n / 3, ratio);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_capacities),
        TEST(test_the_largest_pool),
        TEST(test_the_last_bit_of_the_tag),
        TEST(test_every_size_and_its_wrong_pointers),
        TEST(test_far_pointers),
        TEST(test_alignments),
        TEST(test_the_default_alignment),
        TEST(test_alloc_at_does_not_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
