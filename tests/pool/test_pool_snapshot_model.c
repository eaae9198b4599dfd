/* Snapshots at random points of random streams of operations: what comes after a restore must be what came after the
 * snapshot, slot by slot and handle by handle, in the same pool and in others, and end in the same block. */
#include "../help/test.h"

#include "snapshot_block.h"

#include <time.h>

#ifndef OPERATIONS
#define OPERATIONS 400000
#endif

#define SLOTS  200u /* at most */
#define STREAM 60u  /* operations from a snapshot to the restore, at most */

static uint64_t seed;

typedef struct run {
    kolk_pool pool;
    kolk_pool_desc desc;
    uint64_t random;
    const char *what;
    uint64_t step;
    void *memory;
} run;

#define check(r, condition)                                                                                            \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("KOLK_TEST_SEED=%" PRIu64 ", step %" PRIu64 ", %s: line %d: not true: %s", seed, (r)->step,       \
                     (r)->what, __LINE__, #condition);                                                                 \
    } while (0)

/* ---- Operations, which say what they came to --------------------------------------------------------------------- */

static uint64_t stamp(run *r, void *object) {
    uint64_t result = 1;
    if (!object) return result;
    fill_random(&r->random, object, r->desc.object_size);
    result += (uint64_t)kolk_pool_index(&r->pool, object) << 1;
    if (r->desc.generations != KOLK_GENERATIONS_NONE) result ^= kolk_pool_handle(&r->pool, object).bits << 1;
    return result;
}

static void *nth_live(const run *r, uint32_t n) {
    void *object = NULL;
    do object = kolk_pool_next(&r->pool, object);
    while (n-- > 0);
    return object;
}

static uint64_t free_some(run *r, uint32_t count) {
    uint64_t result = 0;
    for (; count > 0 && kolk_pool_count(&r->pool); count--) {
        void *object = nth_live(r, random_below(&r->random, kolk_pool_count(&r->pool)));
        for (size_t i = 0; i < r->desc.object_size; i++) result = result * 31 + ((unsigned char *)object)[i];
        result = result * 31 + kolk_pool_index(&r->pool, object);
        kolk_pool_free(&r->pool, object);
    }
    return result;
}

static uint64_t alloc_at(run *r) {
    uint32_t slot = random_below(&r->random, r->desc.max_capacity), generation = 1 + random_below(&r->random, 3);
    return stamp(r,
                 kolk_pool_alloc_at(&r->pool, kolk_handle_unpack((uint64_t)generation << 32 | (slot ^ r->pool.tag))));
}

/* Dead slots leave the order lazily, at walks, which must make no difference. */
static uint64_t age(run *r) {
    uint32_t choice = random_below(&r->random, 4), n = random_below(&r->random, SLOTS);
    if (kolk_pool_count(&r->pool) == 0) return 0;
    void *object = nth_live(r, n % kolk_pool_count(&r->pool));
    if (choice == 0) return kolk_pool_touch(&r->pool, object), 1;
    if (choice == 1) return kolk_pool_protect(&r->pool, object, n % 2), 2;
    if (choice == 2) kolk_pool_evict_oldest(&r->pool, NULL);
    object = choice == 2 ? kolk_pool_newest(&r->pool) : kolk_pool_older(&r->pool, object);
    return object ? kolk_pool_index(&r->pool, object) : NO_SLOT;
}

static uint64_t operate(run *r, bool filling) {
    uint32_t choice = random_below(&r->random, 100);
    uint64_t result = 0;
    if (r->desc.ages && random_below(&r->random, 4) == 0) return age(r);
    if (choice < (filling ? 55u : 35u)) return stamp(r, kolk_pool_alloc(&r->pool));
    if (choice < 85) return free_some(r, 1);
    if (choice < 92) return alloc_at(r);
    if (choice < 94) return free_some(r, random_below(&r->random, 20));
    if (choice < 97) {
        for (uint32_t n = random_below(&r->random, 20); n > 0; n--)
            result = result * 31 + stamp(r, kolk_pool_alloc(&r->pool));
        return result;
    }
    if (choice < 98) return kolk_pool_trim(&r->pool), result;
    if (choice < 99) return kolk_pool_reserve(&r->pool, random_below(&r->random, r->desc.max_capacity + 1)), result;
    if (random_below(&r->random, 8) == 0) kolk_pool_clear(&r->pool);
    return result;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

typedef struct moment {
    block taken;
    uint32_t count;
    kolk_handle handles[SLOTS];
    unsigned char contents[SLOTS][64];
} moment;

static void remember(run *r, moment *now) {
    now->count = 0;
    now->taken = take_snapshot(&r->pool);
    for (void *object = NULL; (object = kolk_pool_next(&r->pool, object)); now->count++) {
        bool handles = r->desc.generations != KOLK_GENERATIONS_NONE;
        now->handles[now->count] =
            handles ? kolk_pool_handle(&r->pool, object) : kolk_handle_unpack(kolk_pool_index(&r->pool, object));
        memcpy(now->contents[now->count], object, r->desc.object_size);
    }
}

/* Every handle of that time gives its object with its bytes, and nothing else is alive. */
static void compare(run *r, const moment *then) {
    check(r, kolk_pool_is_valid(&r->pool));
    check(r, kolk_pool_count(&r->pool) == then->count);
    for (uint32_t n = 0; n < then->count; n++) {
        kolk_handle handle = then->handles[n];
        bool handles = r->desc.generations != KOLK_GENERATIONS_NONE;
        void *object =
            handles ? kolk_pool_get(&r->pool, handle) : kolk_pool_at(&r->pool, (uint32_t)kolk_handle_pack(handle));
        check(r, object != NULL);
        check(r, memcmp(object, then->contents[n], r->desc.object_size) == 0);
    }
}

static void play(run *r, uint32_t length, bool filling, uint64_t *results) {
    for (uint32_t i = 0; i < length; i++) {
        results[i] = operate(r, filling);
        check(r, kolk_pool_is_valid(&r->pool));
    }
}

/* After a restore of `then`, the same operations must come to the same results as before. */
static void play_again(run *r, const moment *then, uint64_t random, uint32_t length, bool filling,
                       const uint64_t *expected, block end) {
    uint64_t results[STREAM];
    kolk_status status = kolk_pool_restore(&r->pool, then->taken.bytes, then->taken.size);
    if (status != KOLK_OK) fail_msg("%s: restore: %s", r->what, kolk_status_text(status));
    compare(r, then);
    block again = take_snapshot(&r->pool);
    put_number(again, CAPACITY_AT, number_in(then->taken, CAPACITY_AT)); /* more than then, perhaps */
    seal(again);
    check(r, equals(again, then->taken));
    free(again.bytes);

    r->random = random;
    play(r, length, filling, results);
    for (uint32_t i = 0; i < length; i++) check(r, results[i] == expected[i]);
    again = take_snapshot(&r->pool);
    put_number(again, CAPACITY_AT, number_in(end, CAPACITY_AT));
    seal(again);
    check(r, equals(again, end));
    free(again.bytes);
}

static void make(run *r, const kolk_pool_desc *desc, bool foreign) {
    r->desc = *desc;
    if (foreign) {
        r->desc.memory_size = kolk_pool_memory_size(desc);
        r->memory = aligned_alloc(64, (r->desc.memory_size + 63) / 64 * 64);
        assert_non_null(r->memory);
        memset(r->memory, 0xca, r->desc.memory_size);
        r->desc.memory = r->memory;
    }
    make_pool(&r->pool, &r->desc);
    if (r->desc.max_capacity == 0) r->desc.max_capacity = r->desc.capacity;
}

static void unmake(run *r) {
    kolk_pool_deinit(&r->pool);
    free(r->memory);
}

static void run_stream(const kolk_pool_desc *desc, bool foreign, uint64_t stream, uint64_t operations,
                       const char *what) {
    run *r = calloc(1, sizeof *r), *other = calloc(1, sizeof *other);
    moment *then = calloc(1, sizeof *then);
    assert_true(r && other && then);
    uint64_t results[STREAM];
    r->what = other->what = what;
    r->random = seed + stream * UINT64_C(0x632be59bd9b4e019);
    make(r, desc, foreign);
    for (uint64_t done = 0; done < operations; done += 2 * (uint64_t)STREAM, r->step++) {
        bool filling = random_below(&r->random, 2);
        play(r, random_below(&r->random, STREAM), filling, results); /* on to a random point */
        remember(r, then);
        uint64_t random = r->random;
        uint32_t length = random_below(&r->random, STREAM);
        r->random = random;
        play(r, length, filling, results);
        block end = take_snapshot(&r->pool);
        play(r, random_below(&r->random, STREAM), !filling, (uint64_t[STREAM]){0});

        /* in the same pool, or in a new one, where nothing else ever was */
        bool elsewhere = random_below(&r->random, 2);
        if (elsewhere) {
            make(other, desc, foreign);
            play_again(other, then, random, length, filling, results, end);
            unmake(other);
            memset(other, 0, sizeof *other);
            other->what = what;
        } else if (number_in(then->taken, CAPACITY_AT) == r->pool.capacity) {
            play_again(r, then, random, length, filling, results, end);
        } else { /* it has grown since: FIFO and reserve go on otherwise */
            assert_int_equal(kolk_pool_restore(&r->pool, then->taken.bytes, then->taken.size), KOLK_OK);
            compare(r, then);
        }
        free(end.bytes);
        free(then->taken.bytes);
    }
    unmake(r);
    free(then);
    free(other);
    free(r);
}

/* Each order, kind of generations, kind of memory, and what the debug mode does. */
static void test_streams_go_on_as_they_did(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 3, 8, 24, 64};
    static const char *const debugs[] = {NULL, NULL, "fill,guard,sites", "quarantine=5,trace", "BYPASS"};
    uint64_t streams = 3 * 3 * 3 * 2 * LENGTH_OF(debugs);
    uint64_t operations = number_from_environment("KOLK_TEST_OPS", OPERATIONS);
    for (uint64_t stream = 0; stream < streams; stream++) {
        uint64_t n = stream, random = seed + stream;
        char what[160];
        kolk_pool_desc desc = {.name = "streams", .object_size = sizes[stream % LENGTH_OF(sizes)]};
        desc.reuse = (kolk_reuse)(n % 3), n /= 3;
        desc.generations = (kolk_generations)(n % 3), n /= 3;
        unsigned memory = (unsigned)(n % 3);
        n /= 3;
        desc.capacity = n % 2 ? 1 + random_below(&random, 12) : 60 + random_below(&random, SLOTS - 60), n /= 2;
        const char *debug = debugs[n];
        if (memory == 1) {
            desc.max_capacity = desc.capacity;
            desc.capacity = random_below(&random, desc.capacity);
        }
        desc.ages = random_below(&random, 2);
        bool bypass = debug && strcmp(debug, "BYPASS") == 0;
        setenv("KOLK_BYPASS", bypass ? "1" : "0", 1);
        if (!bypass) desc.debug = debug;
        snprintf(what, sizeof what, "reuse %d, generations %d, %u bytes, %u to %u slots, memory %u, debug %s%s",
                 (int)desc.reuse, (int)desc.generations, (unsigned)desc.object_size, desc.capacity, desc.max_capacity,
                 memory, debug ? debug : "off", desc.ages ? ", ages" : "");
        run_stream(&desc, memory == 2, stream, operations / streams / (does_a_part() ? 4 : 1), what);
    }
    setenv("KOLK_BYPASS", "0", 1);
}

/* Objects are still alive at the end on purpose, also where `sites` would list them. */
static void ignore_leaks(const kolk_failure *failure, void *context) {
    (void)context;
    if (failure->rule != KOLK_LEAK) fail_msg("%s", failure->sentence);
}

static int listen(void **state) {
    (void)state;
    kolk_set_failure_handler(ignore_leaks, NULL);
    return 0;
}

int main(void) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_streams_go_on_as_they_did, listen, abort_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
