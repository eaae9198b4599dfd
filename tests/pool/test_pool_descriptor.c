/* Descriptors: every broken rule has its own status and leaves the pool zeroed; every function works on a zeroed pool;
 * the computed memory size is exact. */
#include "../help/test.h"

/* ---- Broken rules ------------------------------------------------------------------------------------------------ */

static _Alignas(64) unsigned char memory[4096];

static kolk_pool no_pool;

static double no_cost(const void *object, void *context) {
    return 0;
}

/* 2^62 bytes: too large for 32 bits, and more than any system provides. */
#if UINTPTR_MAX > UINT32_MAX
#define FAR_TOO_MUCH KOLK_NO_MEMORY
#else
#define FAR_TOO_MUCH KOLK_SIZE_OVERFLOW
#endif

typedef struct row {
    kolk_status status;
    kolk_pool_desc desc;
} row;

static const row rows[] = {
    {KOLK_ZERO_SIZE, {.capacity = 4}},
    {KOLK_ZERO_SIZE, {.capacity = 4, .object_align = 8}},
    {KOLK_BAD_ALIGN, {.object_size = 8, .object_align = 3}},
    {KOLK_BAD_ALIGN, {.object_size = 8, .object_align = 6144}},
    {KOLK_BAD_ALIGN, {.object_size = 8, .object_align = SIZE_MAX}},
    {KOLK_ALIGN_TOO_LARGE, {.object_size = 8, .object_align = 8192}},
    {KOLK_ALIGN_TOO_LARGE, {.object_size = 8, .object_align = SIZE_MAX / 2 + 1}},
    {KOLK_SIZE_OVERFLOW, {.object_size = SIZE_MAX, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.object_size = SIZE_MAX - 1, .object_align = 2, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.object_size = PTRDIFF_MAX, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.object_size = INT32_MAX, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.object_size = (size_t)INT32_MAX + 1, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.object_size = PTRDIFF_MAX / 2 + 1, .capacity = 2}},
    {FAR_TOO_MUCH, {.object_size = (size_t)1 << 30, .object_align = 4096, .max_capacity = UINT32_MAX}},
    {FAR_TOO_MUCH, {.object_size = INT32_MAX - 4096, .max_capacity = UINT32_MAX}},
    {KOLK_MAX_BELOW_CAPACITY, {.object_size = 8, .capacity = 4, .max_capacity = 3}},
    {KOLK_BAD_CAPACITY, {.object_size = 8, .capacity = (uint32_t)-1, .max_capacity = 1}},
    {KOLK_BAD_CAPACITY, {.object_size = 8, .capacity = (uint32_t)INT32_MAX + 1}},
    {KOLK_ZERO_CAPACITY, {.object_size = 8}},
    {KOLK_CANNOT_GROW, {.object_size = 8, .capacity = 4, .max_capacity = 5, .memory = memory, .memory_size = 4096}},
    {KOLK_CANNOT_GROW, {.object_size = 8, .max_capacity = 5, .memory = memory, .memory_size = 4096}},
    {KOLK_MEMORY_MISSING, {.object_size = 8, .capacity = 4, .memory_size = 4096}},
    {KOLK_MEMORY_TOO_SMALL, {.object_size = 8, .capacity = 4, .memory = memory}},
    {KOLK_MEMORY_TOO_SMALL, {.object_size = 8, .capacity = 400, .memory = memory, .memory_size = 4096}},
    {KOLK_MEMORY_TOO_SMALL, {.object_size = 8, .memory = memory, .memory_size = 20}}, /* too small for a single slot */
    {KOLK_MEMORY_TOO_SMALL, {.object_size = 8192, .capacity = 1, .memory = memory, .memory_size = 4096}},
    {KOLK_MEMORY_MISALIGNED, {.object_size = 8, .memory = memory + 1, .memory_size = 4000}},
    {KOLK_MEMORY_MISALIGNED, {.object_size = 1, .memory = memory + 4, .memory_size = 4000}},
    {KOLK_MEMORY_MISALIGNED, {.object_size = 64, .object_align = 64, .memory = memory + 32, .memory_size = 4000}},
    {KOLK_BAD_REUSE, {.object_size = 8, .capacity = 4, .reuse = (kolk_reuse)3}},
    {KOLK_BAD_REUSE, {.object_size = 8, .capacity = 4, .reuse = (kolk_reuse)-1}},
    {KOLK_BAD_GENERATIONS, {.object_size = 8, .capacity = 4, .generations = (kolk_generations)3}},
    {KOLK_BAD_GENERATIONS, {.object_size = 8, .capacity = 4, .generations = (kolk_generations)-1}},
    {KOLK_COST_MISSING, {.object_size = 8, .capacity = 4, .full.on_full = kolk_pool_evict_cheapest}},
    {KOLK_COST_MISSING, {.object_size = 8, .capacity = 4, .full.ranked = true}},
    {KOLK_BAD_HEADROOM, {.object_size = 8, .capacity = 1, .full.headroom = 2}},
    {KOLK_BAD_HEADROOM, {.object_size = 8, .capacity = 4, .full.headroom = 5}},
    {KOLK_BAD_HEADROOM, {.object_size = 8, .capacity = 4, .full.headroom = UINT32_MAX}},
    {KOLK_BAD_HEADROOM, {.object_size = 8, .capacity = 4, .max_capacity = 9, .full.headroom = 10}},
    {KOLK_BAD_HEADROOM, {.object_size = 8, .memory = memory, .memory_size = 4096, .full.headroom = 1000}},
    {KOLK_BAD_OVERFLOW, {.object_size = 8, .capacity = 4, .full.overflow = &no_pool}},
    /* the nearest correct descriptors */
    {KOLK_OK, {.object_size = 1, .max_capacity = 1}},
    {KOLK_OK, {.object_size = 8, .object_align = 4096, .capacity = 4}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .max_capacity = 4}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .max_capacity = 4, .memory = memory, .memory_size = 4096}},
    {KOLK_OK, {.object_size = 8, .memory = memory + 8, .memory_size = 4000}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .reuse = KOLK_REUSE_LOWEST, .generations = KOLK_GENERATIONS_NONE}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .full.on_full = kolk_pool_evict_cheapest, .full.cost = no_cost}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .full.on_full = kolk_pool_evict_oldest, .ages = true}},
    {KOLK_OK, {.object_size = 8, .max_capacity = 1, .ages = true}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .full.headroom = 4}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .max_capacity = 9, .full.headroom = 9}},
    {KOLK_OK, {.object_size = 8, .memory = memory, .memory_size = 4096, .full.headroom = 100}},
    {KOLK_OK, {.object_size = 8, .capacity = 4, .full.low_water = UINT32_MAX}},
};

/* promise: "Zero means the default, except for object_size", "the pool is left all zero", "aligned to object_align ...
 * grow then" */
static void test_each_broken_rule_has_its_status(void **state) {
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        kolk_pool pool;
        memset(&pool, 0xff, sizeof pool);
        kolk_status status = kolk_pool_init(&pool, &rows[i].desc);
        if (status != rows[i].status) fail_msg("row %u: %s", (unsigned)i, kolk_status_text(status));
        if (status == KOLK_OK)
            kolk_pool_deinit(&pool);
        else
            assert_true(is_all_zero(&pool));
        assert_true(is_all_zero(&pool));
    }
}

static void test_no_descriptor(void **state) {
    kolk_pool pool;
    memset(&pool, 0xff, sizeof pool);
    assert_int_equal(kolk_pool_init(&pool, NULL), KOLK_NO_DESCRIPTOR);
    assert_true(is_all_zero(&pool));
    assert_int_equal(kolk_pool_memory_size(NULL), 0);
}

/* A program has a larger or smaller struct, or a different ABI: init zeroes as many bytes as the program states, and no
 * more. promise: "the pool is left all zero" */
static void test_another_abi(void **state) {
    struct {
        kolk_pool pool;
        unsigned char more[64];
    } both;
    const kolk_pool_desc desc = {.object_size = 8, .capacity = 4};
    memset(&both, 0xff, sizeof both);
    assert_int_equal(kolk_pool_init_abi_(&both.pool, &desc, 0, 0, sizeof both.pool, KOLK_POOL_ABI_ + 1),
                     KOLK_WRONG_ABI);
    assert_true(is_all_zero(&both.pool));
    assert_true(all_bytes_are(both.more, sizeof both.more, 0xff));
    assert_int_equal(kolk_pool_init_abi_(&both.pool, &desc, 0, 0, sizeof both.pool + 8, KOLK_POOL_ABI_),
                     KOLK_WRONG_ABI);
    assert_true(is_all_zero(&both.pool) && all_bytes_are(both.more, 8, 0));
    assert_true(all_bytes_are(both.more + 8, sizeof both.more - 8, 0xff));
    memset(&both, 0xff, sizeof both);
    assert_int_equal(kolk_pool_init_abi_(&both.pool, &desc, 0, 0, sizeof both.pool - 8, KOLK_POOL_ABI_),
                     KOLK_WRONG_ABI);
    const unsigned char *bytes = (const unsigned char *)&both.pool;
    assert_true(all_bytes_are(bytes, sizeof both.pool - 8, 0));
    assert_true(all_bytes_are(bytes + sizeof both.pool - 8, 8, 0xff));
    assert_int_equal(kolk_pool_init_abi_(&both.pool, &desc, 0, 0, sizeof both.pool, KOLK_POOL_ABI_), KOLK_OK);
    kolk_pool_deinit(&both.pool);
}

/* ---- The all-zero pool ------------------------------------------------------------------------------------------- */

/* Calls every function on a zeroed pool. Failures are counted by `failed`, `wrong_pool` and the handler, and nowhere
 * else. */
static void answer_everything(kolk_pool *pool, notes *taken) {
    int object = 0;
    kolk_stats stats;
    void *objects[2];
    kolk_handle handle = kolk_handle_unpack(UINT64_C(1) << 32);
    assert_true(kolk_pool_is_valid(pool));
    assert_null(kolk_pool_alloc(pool));
    assert_null(kolk_pool_alloc_zeroed(pool));
    assert_int_equal(kolk_pool_alloc_n(pool, objects, 2), 0);
    assert_null(kolk_pool_alloc_at(pool, handle));
    assert_null(kolk_pool_get(pool, handle));
    assert_false(kolk_pool_free_handle(pool, handle));
    assert_null(kolk_pool_at(pool, 0));
    assert_null(kolk_pool_at(pool, UINT32_MAX));
    assert_false(kolk_pool_is_live(pool, &object));
    assert_false(kolk_pool_is_live(pool, NULL));
    assert_int_equal(kolk_pool_count(pool), 0);
    assert_int_equal(kolk_pool_available(pool), 0);
    uint32_t length = 1;
    kolk_cursor cursor = kolk_pool_each_in(pool, 0, 1);
    assert_null(kolk_cursor_next_run(&cursor, &length));
    assert_int_equal(length, 0);
    cursor = kolk_pool_each(pool);
    assert_null(kolk_cursor_next(&cursor));
    assert_null(kolk_cursor_next(&cursor));
    kolk_pool_clear(pool);
    assert_int_equal(kolk_pool_reserve(pool, 0), KOLK_OK);
    assert_int_equal(kolk_pool_reserve(pool, 1), KOLK_ABOVE_MAX);
    assert_int_equal(kolk_pool_trim(pool), 0);
    assert_int_equal(kolk_pool_tick(pool, 64), 0);
    assert_null(kolk_pool_alloc_urgent(pool));
    assert_int_equal(kolk_pool_tick(pool, UINT32_MAX), 0);
    unsigned char block[72];
    assert_int_equal(kolk_pool_snapshot(pool, block, sizeof block), sizeof block);
    assert_int_equal(kolk_pool_restore(pool, block, sizeof block), KOLK_OK);
    kolk_pool_free(pool, NULL);
    assert_silent(taken);
    kolk_pool_stats(pool, &stats);
    assert_string_equal(stats.kind, "pool");
    assert_int_equal(stats.failed, 4);
    assert_int_equal(stats.capacity + stats.max_capacity + stats.count + stats.peak, 0);
    assert_int_equal(stats.bytes_reserved + stats.bytes_committed + stats.unused_bytes, 0);

    kolk_pool_free(pool, &object);
    assert_int_equal(taken->count, 1);
    assert_int_equal(taken->last.rule, KOLK_FOREIGN_POINTER);
    assert_int_equal(kolk_pool_index(pool, &object), UINT32_MAX);
    assert_true(kolk_handle_is_null(kolk_pool_handle_of(pool, &object)));
    assert_null(kolk_pool_oldest(pool));
    assert_null(kolk_pool_newest(pool));
    assert_null(kolk_pool_newer(pool, &object));
    assert_null(kolk_pool_older(pool, &object));
    kolk_pool_touch(pool, &object);
    kolk_pool_protect(pool, &object, true);
    assert_false(kolk_pool_evict_oldest(pool, 0, NULL));
    assert_int_equal(taken->count, 10);
    assert_int_equal(taken->last.rule, KOLK_AGES_MISSING);
    assert_null(kolk_pool_alloc_over(pool, 1));
    assert_false(kolk_pool_evict_cheapest(pool, 0, NULL));
    assert_int_equal(taken->count, 12);
    assert_int_equal(taken->last.rule, KOLK_COST_MISSING);
    assert_false(kolk_pool_trap_full(pool, 0, NULL));
    assert_int_equal(taken->count, 13);
    assert_int_equal(taken->last.rule, KOLK_FULL);
    taken->count = 0;
    assert_true(kolk_pool_is_valid(pool));
}

/* promise: "count == fresh ... capacity 0" */
static void test_the_all_zero_pool(void **state) {
    notes taken;
    begin_notes(&taken);
    static kolk_pool pool;
    kolk_stats stats;
    kolk_pool_stats(&pool, &stats);
    assert_string_equal(stats.name, "");
    answer_everything(&pool, &taken);
    kolk_pool_deinit(&pool);
    kolk_pool_deinit(&pool); /* a second deinit has no effect */
    assert_true(is_all_zero(&pool));
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

static bool setup(void *object, void *context) {
    return true;
}

/* Calls `check` for a few hundred shapes of pools. */
static void for_each_shape(void (*check)(const kolk_pool_desc *desc)) {
    static const size_t sizes[] = {1, 3, 8, 20, 64, 100};
    static const uint32_t capacities[] = {1, 2, 7, 63, 64, 65, 128, 129, 1000, 4096, 4097};
    for (unsigned n = 0; n < LENGTH_OF(sizes) * LENGTH_OF(capacities) * 3 * 2 * 2 * 3; n += does_a_part() ? 7 : 1) {
        unsigned rest = n;
        kolk_pool_desc desc = {.name = "shape"};
        desc.object_size = sizes[rest % LENGTH_OF(sizes)], rest /= LENGTH_OF(sizes);
        desc.capacity = capacities[rest % LENGTH_OF(capacities)], rest /= LENGTH_OF(capacities);
        desc.reuse = (kolk_reuse)(rest % 3), rest /= 3;
        desc.generations = rest % 2 ? KOLK_GENERATIONS_NONE : KOLK_GENERATIONS_RECYCLE, rest /= 2;
        desc.life.setup = rest % 2 ? setup : NULL, rest /= 2;
        desc.ages = n % 5 < 2;
        desc.pins = n % 3 == 1;
        desc.full.ranked = n % 5 == 1 || n % 5 == 2;
        desc.full.cost = desc.full.ranked ? no_cost : NULL;
        desc.object_align = (size_t[]){0, 1, 32}[rest];
        check(&desc);
    }
}

/* A pool works on exactly this many bytes, between canaries; one byte less is refused. */
static void memory_size_is_exact(const kolk_pool_desc *given) {
    kolk_pool_desc desc = *given;
    size_t size = kolk_pool_memory_size(&desc);
    uint64_t dirt = 1;
    desc.memory = lend_memory(size, desc.object_align, &dirt);
    desc.memory_size = size;
    kolk_pool pool;
    make_pool(&pool, &desc);
    for (int round = 0; round < 2; round++) {
        void *object;
        uint32_t count = 0;
        for (; (object = kolk_pool_alloc(&pool)); count++) memset(object, 0xff, desc.object_size);
        assert_int_equal(count, desc.capacity);
        if (desc.full.ranked) assert_true(kolk_pool_evict_cheapest(&pool, 0, NULL));
        assert_true(kolk_pool_is_valid(&pool));
        kolk_cursor cursor = kolk_pool_each(&pool);
        while ((object = kolk_cursor_next(&cursor))) kolk_pool_free(&pool, object);
        assert_true(kolk_pool_is_valid(&pool));
    }
    kolk_stats stats;
    kolk_pool_stats(&pool, &stats);
    assert_int_equal(stats.bytes_reserved, size);
    assert_int_equal(stats.bytes_committed, size);
    kolk_pool_deinit(&pool);
    desc.memory_size = size - 1;
    assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_MEMORY_TOO_SMALL);
    assert_true(is_all_zero(&pool));
    assert_true(take_memory_back(desc.memory, size, desc.object_align));
}

/* promise: "1 bit; without an OS, on 32 bits: 2 bytes", "Returns how ... overflow are not checked" */
static void test_memory_size_is_exact(void **state) {
    for_each_shape(memory_size_is_exact);
}

static void pool_bytes_are_enough(const kolk_pool_desc *desc) {
    size_t align = desc->object_align ? desc->object_align : 16;
    while (!desc->object_align && desc->object_size % align) align /= 2;
    size_t ages = desc->ages ? KOLK_POOL_AGE_BYTES(desc->capacity) : 0;
    size_t ranks = desc->full.ranked ? KOLK_POOL_RANK_BYTES(desc->capacity) : 0;
    size_t all = ages + ranks + (desc->pins ? KOLK_POOL_PIN_BYTES(desc->capacity) : 0);
    assert_true(KOLK_POOL_BYTES(desc->object_size, align, desc->capacity) + all >= kolk_pool_memory_size(desc));
}

/* promise: "The same as a constant ... ranked, KOLK_POOL_RANK_BYTES" */
static void test_pool_bytes_are_enough(void **state) {
    for_each_shape(pool_bytes_are_enough);
    for (uint32_t capacity = 1; capacity <= 300; capacity++) {
        for (int reuse = 0; reuse < 3; reuse++) {
            kolk_pool_desc desc = {
                .object_size = 5, .capacity = capacity, .reuse = (kolk_reuse)reuse, .life.setup = setup};
            pool_bytes_are_enough(&desc);
        }
    }
}

/* memory_size ignores some members, and returns 0 for a bad descriptor. */
static void test_memory_size_of_other_descriptors(void **state) {
    kolk_pool_desc desc = {.object_size = 8, .capacity = 100};
    size_t size = kolk_pool_memory_size(&desc);
    desc.max_capacity = 1000;
    desc.memory_size = 3;
    desc.memory = memory + 1;
    assert_int_equal(kolk_pool_memory_size(&desc), size);
    desc.max_capacity = 1;
    assert_int_equal(kolk_pool_memory_size(&desc), size);
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        kolk_status status = rows[i].status;
        bool of_memory = (status >= KOLK_MAX_BELOW_CAPACITY && status <= KOLK_MEMORY_MISALIGNED) || status == KOLK_OK;
        of_memory = of_memory || status == KOLK_NO_MEMORY;
        of_memory = of_memory || status == KOLK_BAD_HEADROOM || status == KOLK_BAD_OVERFLOW;
        if (!of_memory && rows[i].desc.capacity) assert_int_equal(kolk_pool_memory_size(&rows[i].desc), 0);
    }
    assert_int_equal(kolk_pool_memory_size(&(kolk_pool_desc){.object_size = 8}), 0);
}

/* promise: "1 bit; without an OS, on 32 bits: 2 bytes", "NONE saves the 4 bytes per slot" */
static void test_overhead_per_slot(void **state) {
    static const struct {
        kolk_reuse reuse;
        kolk_generations generations;
        double most;
    } promises[] = {
        {KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE, 9.2},
        {KOLK_REUSE_FIFO, KOLK_GENERATIONS_STRICT, 9.2},
        {KOLK_REUSE_LIFO, KOLK_GENERATIONS_NONE, 5.2},
        {KOLK_REUSE_FIFO, KOLK_GENERATIONS_NONE, 5.2},
        {KOLK_REUSE_LOWEST, KOLK_GENERATIONS_NONE, 1.2},
        {KOLK_REUSE_LOWEST, KOLK_GENERATIONS_NONE, 17.2}, /* with ages */
    };
    for (size_t i = 0; i < LENGTH_OF(promises); i++) {
        kolk_pool pool;
        kolk_stats stats;
        kolk_pool_desc desc = {.object_size = 64, .capacity = 1000000};
        desc.reuse = promises[i].reuse;
        desc.generations = promises[i].generations;
        desc.ages = i + 1 == LENGTH_OF(promises);
        assert_true((double)kolk_pool_memory_size(&desc) <= 1e6 * (64 + promises[i].most));
        make_pool(&pool, &desc);
        kolk_pool_stats(&pool, &stats);
        assert_true((double)stats.bytes_reserved <= 1e6 * (64 + promises[i].most));
        kolk_pool_deinit(&pool);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_broken_rule_has_its_status),
        TEST(test_no_descriptor),
        TEST(test_another_abi),
        TEST(test_the_all_zero_pool),
        TEST(test_memory_size_is_exact),
        TEST(test_pool_bytes_are_enough),
        TEST(test_memory_size_of_other_descriptors),
        TEST(test_overhead_per_slot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
