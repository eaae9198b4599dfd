/* wraps: help/system_calls.h */
/* Promises of shared.h, in one thread: descriptors, locals without a pool, walks, handles, and how slots are fetched.
 * What alloc and free promise is in test_shared_model.c, many threads in test_shared_threads.c. */
#include "../help/test.h"

#include "../help/system_calls.h"
#include "../help/threads.h"
#include "shared_test.h"
#include "watch/registry.h"

/* The status if more memory is requested than a 32-bit address space has, or than a 64-bit system provides. */
#define FAR_TOO_MUCH (sizeof(void *) == 4 ? KOLK_SIZE_OVERFLOW : KOLK_NO_MEMORY)

static kolk_shared pool;

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

/* promise: "A power of two ... object_size, at most 16", "the pool is left all zero" */
static void test_each_broken_rule_has_its_status(void **state) {
    static const struct {
        kolk_status status;
        kolk_shared_desc desc;
    } rows[] = {
        {KOLK_ZERO_SIZE, {.capacity = 4}},
        {KOLK_BAD_ALIGN, {.object_size = 8, .object_align = 24, .capacity = 4}},
        {KOLK_ALIGN_TOO_LARGE, {.object_size = 8, .object_align = 8192, .capacity = 4}},
        {KOLK_SIZE_OVERFLOW, {.object_size = INT32_MAX, .capacity = 4}},
        {KOLK_BAD_CAPACITY, {.object_size = 8, .capacity = (uint32_t)-1}},
        {KOLK_SIZE_OVERFLOW, {.object_size = 1, .max_capacity = UINT32_MAX}},
        {KOLK_SIZE_OVERFLOW, {.object_size = 1, .max_capacity = UINT32_MAX - 15, .cache = 1}}, /* too many slots */
        {KOLK_SIZE_OVERFLOW, {.object_size = 1, .capacity = 4, .max_threads = UINT32_MAX, .cache = 2}},
        {KOLK_SIZE_OVERFLOW, {.object_size = 1, .capacity = 4, .max_threads = 1u << 31, .cache = INT32_MAX}},
        {KOLK_SIZE_OVERFLOW, {.object_size = 1, .capacity = 4, .max_threads = 1, .cache = (1u << 28) + 1}},
        {KOLK_SIZE_OVERFLOW, {.object_size = 1, .capacity = 4, .max_threads = 1, .cache = 1u << 30}},
        {KOLK_SIZE_OVERFLOW, {.object_size = 1, .capacity = 4, .max_threads = 1, .cache = UINT32_MAX - 1}},
        {FAR_TOO_MUCH, {.object_size = 1u << 30, .capacity = INT32_MAX}},
        {KOLK_MAX_BELOW_CAPACITY, {.object_size = 8, .capacity = 4, .max_capacity = 3}},
        {KOLK_BAD_GENERATIONS, {.object_size = 8, .capacity = 4, .generations = (kolk_generations)3}},
        {KOLK_BAD_GENERATIONS, {.object_size = 8, .capacity = 4, .generations = (kolk_generations)-1}},
        {KOLK_BAD_GENERATIONS, {.object_size = 8, .capacity = 4, .generations = KOLK_GENERATIONS_STRICT}},
        {KOLK_ZERO_CAPACITY, {.object_size = 1}},
        {KOLK_OK, {.object_size = 1, .max_capacity = 1}}, /* the nearest correct descriptors */
        {KOLK_OK, {.object_size = 8, .capacity = 4, .generations = KOLK_GENERATIONS_RECYCLE}},
        {KOLK_OK, {.object_size = 8, .capacity = 4, .generations = KOLK_GENERATIONS_NONE}},
        {KOLK_OK, {.object_size = 8, .capacity = 4, .max_capacity = 4, .object_align = 4096}},
        {KOLK_OK, {.object_size = 100000, .capacity = 4, .max_threads = 1, .cache = 1u << 20}},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        memset(&pool, 0xff, sizeof pool);
        kolk_status status = kolk_shared_init(&pool, &rows[i].desc);
        if (status != rows[i].status) fail_msg("row %u: %s", (unsigned)i, kolk_status_text(status));
        if (status == KOLK_OK) end_shared(&pool);
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
    }
    kolk_shared_desc desc = {.object_size = 8, .capacity = 4};
    memset(&pool, 0xff, sizeof pool);
    assert_int_equal(kolk_shared_init(&pool, NULL), KOLK_NO_DESCRIPTOR);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
    memset(&pool, 0xff, sizeof pool);
    assert_int_equal(kolk_shared_init_abi_(&pool, &desc, 0, 0, sizeof pool, KOLK_ABI + 1), KOLK_WRONG_ABI);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
    memset(&pool, 0xff, sizeof pool); /* for a program with a smaller struct, init writes nothing beyond it */
    assert_int_equal(kolk_shared_init_abi_(&pool, &desc, 0, 0, sizeof pool - 8, KOLK_ABI), KOLK_WRONG_ABI);
    assert_true(all_bytes_are(&pool, sizeof pool - 8, 0));
    assert_true(all_bytes_are((unsigned char *)&pool + sizeof pool - 8, 8, 0xff));
}

/* promise: "the most locals at the same time; 0: 16", "Free slots ... with a setup or teardown hook" */
static void test_the_defaults(void **state) {
    static const struct {
        kolk_shared_desc desc;
        uint32_t threads, cache, slack;
    } rows[] = {
        {{.object_size = 8, .capacity = 1}, 16, 0, 0},
        {{.object_size = 8, .capacity = 239}, 16, 0, 0},
        {{.object_size = 8, .capacity = 240}, 16, 4, 60},
        {{.object_size = 8, .capacity = 15359}, 16, 255, 15 * 255},
        {{.object_size = 8, .capacity = 15360}, 16, 256, 15 * 256},
        {{.object_size = 8, .capacity = 100000}, 16, 256, 15 * 256},
        {{.object_size = 8, .capacity = 1, .max_capacity = 240}, 16, 4, 60},
        {{.object_size = 8, .capacity = 10, .max_threads = 1}, 1, 256, 0},
        {{.object_size = 8, .capacity = 10, .max_threads = 3}, 3, 0, 0},
        {{.object_size = 8, .capacity = 100000, .cache = KOLK_NO_CACHE}, 16, 0, 0},
        {{.object_size = 8, .capacity = 10, .max_threads = 3, .cache = 7}, 3, 7, 14},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        make_shared(&pool, &rows[i].desc);
        assert_int_equal(pool.inside->max_threads, rows[i].threads);
        assert_int_equal(pool.inside->store.depot.cache, rows[i].cache);
        assert_int_equal(pool.inside->store.slack, rows[i].slack);
        end_shared(&pool);
    }
    static const struct {
        size_t size, align, stride;
    } shapes[] = {{1, 0, 1},   {2, 0, 2},   {12, 0, 12},     {16, 0, 16},
                  {48, 0, 48}, {12, 8, 16}, {1, 4096, 4096}, {24, 32, 32}};
    for (size_t i = 0; i < LENGTH_OF(shapes); i++) {
        kolk_shared_local local;
        make_shared(
            &pool, &(kolk_shared_desc){.object_size = shapes[i].size, .object_align = shapes[i].align, .capacity = 99});
        make_local(&local, &pool);
        for (int n = 0; n < 99; n++) {
            void *object = kolk_shared_alloc(&local);
            assert_non_null(object);
            assert_int_equal((uintptr_t)object % (shapes[i].align ? shapes[i].align : 1), 0);
            assert_int_equal((size_t)((unsigned char *)object - pool.slots) % shapes[i].stride, 0);
        }
        end_shared(&pool);
    }
}

typedef struct wide {
    double numbers[3];
} wide;

KOLK_SHARED_TYPE(wides, wide)

/* A local whose init was forgotten is all zero: it has no objects and accepts none.
 * promise: "local has no pool: alloc returns NULL" */
static void test_the_all_zero_local(void **state) {
    static wides_local zero;
    kolk_shared_local *local = &zero.local;
    wide object;
    notes taken;
    begin_notes(&taken);
    assert_null(wides_alloc(&zero));
    assert_null(kolk_shared_alloc(local));
    assert_null(wides_alloc_wait(&zero, KOLK_FOREVER));
    wides_free(&zero, NULL);
    kolk_shared_free(local, NULL);
    wides_free_later(&zero, NULL);
    assert_int_equal(kolk_shared_alloc_n(local, (void *[2]){NULL}, 2), 0);
    kolk_shared_local_flush(local);
    kolk_shared_quiesce(local);
    kolk_shared_offline(local);
    kolk_shared_online(local);
    kolk_shared_local_deinit(local);
    assert_silent(&taken);
    for (int i = 0; i < 4; i++) {
        if (i == 0) wides_free(&zero, &object);
        if (i == 1) kolk_shared_free(local, &object);
        if (i == 2) wides_free_later(&zero, &object);
        if (i == 3) kolk_shared_free_n(local, (void *[]){NULL, &object}, 2);
        assert_noted(&taken, KOLK_NO_LOCAL, "", &object, UINT32_MAX,
                     "kolk: a pool without a name: free through a local that is of no pool");
        assert_true(taken.last.no_debug);
    }
    kolk_set_failure_handler(NULL, NULL);
    assert_true(all_bytes_are(&zero, sizeof zero, 0));
}

/* When the pool is gone, calls through its locals are reported, for pools with and without debug mode, growth and
 * handles. promise: "A later alloc ... pages behind" */
static void test_a_local_whose_pool_is_gone(void **state) {
    for (unsigned way = 0; way < 8; way++) {
        wides many;
        wides_local left;
        wide *object;
        notes taken;
        kolk_shared_desc desc = {.name = "wides", .capacity = 1000, .cache = 50};
        if (way & 1) desc.generations = KOLK_GENERATIONS_NONE;
        if (way & 2) desc.debug = "sites";
        if (way & 4) desc.max_capacity = 100000;
        assert_int_equal(wides_init(&many, &desc), KOLK_OK);
        assert_int_equal(wides_local_init(&left, &many), KOLK_OK);
        object = wides_alloc(&left);
        wides_free(&left, object);
        wides_deinit(&many);
        memset(&many, 0x55, sizeof many); /* now its memory is used for something else */
        begin_notes(&taken);
        for (int i = 0; i < 5; i++) {
            bool allocs = i < 3;
            if (i == 0) assert_null(wides_alloc(&left));
            if (i == 1) assert_null(kolk_shared_alloc(&left.local));
            if (i == 2) assert_null(wides_alloc_wait(&left, KOLK_FOREVER));
            if (i == 3) wides_free(&left, object);
            if (i == 4) wides_free_later(&left, object);
            assert_noted(&taken, KOLK_NO_LOCAL, "", allocs ? NULL : object, UINT32_MAX,
                         allocs ? "kolk: a pool without a name: alloc through a local whose pool is deinit'd"
                                : "kolk: a pool without a name: free through a local whose pool is deinit'd");
        }
        wides_local_flush(&left);
        wides_quiesce(&left);
        wides_offline(&left);
        wides_online(&left);
        wides_local_deinit(&left);
        assert_silent(&taken);
        assert_true(all_bytes_are(&left, sizeof left, 0));
        kolk_set_failure_handler(NULL, NULL);
    }
}

/* Returns the KiB of address space that the process uses, or 0 if they are unknown or an emulator's. */
static unsigned long addresses(void) {
    FILE *file = emulator() ? NULL : fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (!file) return 0;
    if (fscanf(file, "%lu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * 4;
}

/* A deinitialised pool leaves a few pages behind, but only the last such pools keep theirs. */
static void test_the_last_pools_that_are_gone(void **state) {
    enum { POOLS = 200, KNOWN = 64 };
    static wides pools[POOLS];
    static wides_local left[POOLS];
    kolk_shared_desc desc = {.name = "wides", .capacity = 100, .max_capacity = 100000};
    notes taken;
    unsigned long at_first = 0;
    for (int i = 0; i < POOLS; i++) {
        assert_int_equal(wides_init(&pools[i], &desc), KOLK_OK);
        assert_int_equal(wides_local_init(&left[i], &pools[i]), KOLK_OK);
        assert_non_null(wides_alloc(&left[i]));
        wides_deinit(&pools[i]);
        if (i == KNOWN) at_first = addresses();
    }
    if (at_first)
        assert_true(addresses() < at_first + 1000);
    else
        print_message("not looked at: the process's addresses\n");
    begin_notes(&taken);
    for (int i = POOLS - KNOWN; i < POOLS; i++) {
        assert_null(wides_alloc(&left[i]));
        assert_noted(&taken, KOLK_NO_LOCAL, "", NULL, UINT32_MAX,
                     "kolk: a pool without a name: alloc through a local whose pool is deinit'd");
        wides_local_deinit(&left[i]);
    }
    assert_silent(&taken);
    kolk_set_failure_handler(NULL, NULL);
}

/* ---- KOLK_EACH --------------------------------------------------------------------------------------------------- */

/* A walk visits the live objects. Its body may free the current object. An object that is allocated during the walk, in
 * a slot that was never alive, is not visited.
 * promise: "A walk over ... not visited", "kolk_shared_cursor_next", "kolk_shared_each" */
static void test_each(void **state) {
    enum { N = 200 };
    wides many;
    wides_local local;
    wide *objects[N];
    unsigned seen = 0;
    assert_int_equal(wides_init(&many, &(kolk_shared_desc){.capacity = 3 * N, .cache = 10}), KOLK_OK);
    assert_int_equal(wides_local_init(&local, &many), KOLK_OK);
    KOLK_EACH(wides, it, &many) seen++;
    assert_int_equal(seen, 0);
    for (int i = 0; i < N; i++) *(objects[i] = wides_alloc(&local)) = (wide){{i}};
    for (int i = 0; i < N; i += 3) wides_free(&local, objects[i]);
    wides_cursor cursor = wides_each(&many);
    KOLK_EACH(wides, it, &many) {
        assert_ptr_equal(it, wides_each_next(&cursor));
        assert_int_not_equal((int)it->numbers[0] % 3, 0);
        seen++;
    }
    assert_null(wides_each_next(&cursor));
    assert_null(wides_each_next(&cursor)); /* the end is final */
    assert_int_equal(seen, N - (N + 2) / 3);
    wide *last = NULL;
    KOLK_EACH(wides, it, &many) {
        assert_true(it > last || many.pool.inside->store.objects);
        last = it;
        if (it->numbers[0] > 100) break;
        wides_free(&local, it);
        if (seen++ % 2 == 0) assert_non_null(wides_alloc(&local));
    }
    assert_true(wides_is_valid(&many));
    kolk_shared_local_flush(&local.local);
    wides_deinit(&many);
}

/* An alloc in two halves, as kolk.hpp makes it: nobody finds the object between them. */
static void test_the_two_halves_of_an_alloc(void **state) {
    static const kolk_shared_desc wishes[] = {
        {.object_size = 24, .capacity = 100, .max_threads = 2, .cache = 10},
        {.object_size = 24, .capacity = 100, .cache = KOLK_NO_CACHE},
        {.object_size = 24, .capacity = 100, .max_threads = 2, .cache = 10, .generations = KOLK_GENERATIONS_NONE},
        {.object_size = 24, .capacity = 100, .max_threads = 2, .cache = 10, .exact = true},
        {.object_size = 24, .capacity = 100, .debug = "fill,guard,quarantine=3"},
    };
    for (unsigned n = 0; n < LENGTH_OF(wishes); n++) {
        kolk_shared_local local;
        make_shared(&pool, &wishes[n]);
        assert_int_equal(kolk_shared_local_init(&local, &pool), KOLK_OK);
        unsigned begun = 0;
        for (unsigned i = 0; i < 100; i++) {
            uint32_t *life;
            void *object = i % 2 ? kolk_shared_take_sized_(&local, pool.stride, &life)
                                 : kolk_shared_take_slow_(&local, KOLK_FOREVER);
            if (i % 2 == 0) life = NULL;
            assert_non_null(object);
            assert_false(kolk_shared_is_live(&pool, object));
            kolk_shared_cursor cursor = kolk_shared_each(&pool);
            for (void *each; (each = kolk_shared_cursor_next(&cursor));) assert_ptr_not_equal(each, object);
            memset(object, 1, 24);
            if (i % 3) {
                kolk_shared_begin_(&local, object, life);
                begun++;
            } else {
                kolk_shared_give_up_(&local, object);
            }
            assert_int_equal(kolk_shared_is_live(&pool, object), i % 3 != 0);
            assert_int_equal(kolk_shared_count(&pool), begun);
            assert_true(kolk_shared_is_valid(&pool));
        }
        kolk_shared_clear(&pool);
        unsigned slots = 100 + (wishes[n].max_threads == 2 ? 10 : 0);
        for (unsigned i = 0; i < slots; i++) assert_non_null(kolk_shared_alloc(&local)); /* no slot is lost */
        assert_null(kolk_shared_take_slow_(&local, KOLK_NOW));
        kolk_shared_clear(&pool);
        kolk_shared_local_deinit(&local);
        end_shared(&pool);
    }
}

/* In an exact pool each free takes the slow path, because the magazine's bound is 0. */
static void test_exact_frees_are_out_of_line(void **state) {
    for (unsigned exact = 0; exact < 2; exact++) {
        kolk_shared_local local;
        make_shared(&pool, &(kolk_shared_desc){.object_size = 8, .capacity = 100, .max_threads = 1, .exact = exact});
        make_local(&local, &pool);
        void *object = kolk_shared_alloc(&local);
        assert_int_equal(local.magazine->bound, exact ? 0 : pool.inside->store.depot.usable);
        kolk_shared_free(&local, object);
        assert_int_equal(local.magazine->bound, exact ? 0 : pool.inside->store.depot.usable);
        end_shared(&pool);
    }
}

/* ---- Capacity ---------------------------------------------------------------------------------------------------- */

/* Allocates up to n objects, writes its number into each, and returns how many there are. */
static uint32_t take_many(kolk_shared_local *local, uint32_t **objects, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        objects[i] = (uint32_t *)kolk_shared_alloc(local);
        if (!objects[i]) return i;
        *objects[i] = i;
    }
    return n;
}

/* A search clears the summary bit of an empty word, and later searches skip that word. So the summary of a full pool is
 * empty. promise: "About every ... few atomic operations" */
static void test_a_search_does_not_look_at_empty_words(void **state) {
    kolk_shared_local local;
    uint32_t **objects = (uint32_t **)calloc(5000, sizeof *objects);
    assert_non_null(objects);
    make_shared(&pool, &(kolk_shared_desc){.object_size = 4, .capacity = 5000, .max_threads = 1, .cache = 1});
    make_local(&local, &pool);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(take_many(&local, objects, 5000), 5000);
        for (int word = 0; word < 5000; word += 64)
            assert_int_equal(*kolk_slot_set_summary_(&pool.inside->store.depot.free, (uint64_t)word), 0);
        for (int i = 0; i < 5000; i++) kolk_shared_free(&local, objects[(i * 17 + round) % 5000]);
        kolk_shared_local_flush(&local);
        assert_true(kolk_shared_is_valid(&pool));
    }
    free(objects);
    end_shared(&pool);
}

/* A fetch takes all free slots of a word, and its search starts where the last one ended, so threads fetch from
 * different words. promise: "About every ... few atomic operations" */
static void fetch_words(void **state) {
    enum { ALL = 80 * 64, WORDS = 70 };
    kolk_shared_local local, other;
    uint32_t **objects = (uint32_t **)calloc(ALL, sizeof *objects);
    assert_non_null(objects);
    make_shared(&pool, &(kolk_shared_desc){.object_size = 4, .capacity = ALL - 64, .max_threads = 2, .cache = 64});
    make_local(&local, &pool);
    make_local(&other, &pool);
    assert_int_equal(take_many(&local, objects, WORDS * 64), WORDS * 64);
    static const int freed[] = {10, WORDS - 3, WORDS - 1};
    for (size_t n = 0; n < LENGTH_OF(freed); n++) {
        for (int i = 0; i < 64; i++) kolk_shared_free(&other, objects[freed[n] * 64 + i]);
        kolk_shared_local_flush(&other);
    }
    assert_ptr_equal(kolk_shared_alloc(&local), objects[(WORDS - 1) * 64]);
    assert_int_equal(local.magazine->top, 63);
    uint32_t *rest[63];
    assert_int_equal(take_many(&local, rest, 63), 63);
    assert_ptr_equal(kolk_shared_alloc(&local), objects[10 * 64]);
    assert_int_equal(take_many(&local, rest, 63), 63);
    assert_ptr_equal(kolk_shared_alloc(&local), objects[(WORDS - 3) * 64]);
    free(objects);
    kolk_shared_deinit(&pool);
}

static void test_a_fetch_takes_a_word_and_goes_on_from_there(void **state) {
    run_on_one_core((void (*const[])(void **)){fetch_words}, 1, state);
}

/* A slot of a word that a thread on another processor took last is used after those that were never used. */
static void fetch_near_words(void **state) {
    enum { WORDS = 3 };
    kolk_shared_local local, other;
    uint32_t *objects[WORDS * 64];
    make_shared(&pool, &(kolk_shared_desc){.object_size = 4, .capacity = 5 * 64, .max_threads = 2, .cache = 64});
    make_local(&local, &pool);
    make_local(&other, &pool);
    assert_int_equal(take_many(&local, objects, WORDS * 64), WORDS * 64);
    for (unsigned elsewhere = 0; elsewhere < 2; elsewhere++) {
        kolk_shared_free(&other, objects[64]);
        kolk_shared_local_flush(&other);
        if (elsewhere) memset(pool.inside->store.depot.takers, UINT8_MAX, KOLK_TAKERS_);
        assert_ptr_equal(kolk_shared_alloc(&local), elsewhere ? objects[WORDS * 64 - 1] + 1 : objects[64]);
    }
    kolk_shared_deinit(&pool);
}

static void test_a_fetch_looks_at_near_words_first(void **state) {
    run_on_one_core((void (*const[])(void **)){fetch_near_words}, 1, state);
}

/* ---- Locals ------------------------------------------------------------------------------------------------------ */

/* promise: "Makes a local ... KOLK_TOO_MANY_THREADS: there are already max_threads locals" */
static void test_too_many_threads(void **state) {
    kolk_shared_local locals[4], other;
    make_shared(&pool, &(kolk_shared_desc){.object_size = 4, .capacity = 50, .max_threads = 4});
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) make_local(&locals[i], &pool);
        memset(&other, 0xff, sizeof other);
        assert_int_equal(kolk_shared_local_init(&other, &pool), KOLK_TOO_MANY_THREADS);
        assert_true(all_bytes_are(&other, sizeof other, 0));
        for (int i = 0; i < 4; i++) assert_non_null(kolk_shared_alloc(&locals[i]));
        kolk_shared_local_deinit(&locals[round]);
        make_local(&locals[round], &pool);
        for (int i = 0; i < 4; i++) kolk_shared_local_deinit(&locals[i]);
    }
    assert_int_equal(kolk_shared_count(&pool), 12);
    end_shared(&pool);
}

/* ---- Handles and queries ----------------------------------------------------------------------------------------- */

/* Handles of other lives and of other pools are in tests/contracts.
 * promise: "distinguishes its handles from other pools'; 0", "Returns the handle ... null handle" */
static void test_handles(void **state) {
    kolk_shared_local local;
    make_shared(&pool, &(kolk_shared_desc){.name = "other", .object_size = 4, .capacity = 9, .tag = 7});
    assert_int_equal(pool.tag, UINT32_C(7) << 29); /* the tag comes from the descriptor, not from the name */
    make_local(&local, &pool);
    void *object = kolk_shared_alloc(&local);
    kolk_handle handle = kolk_shared_handle_of(&pool, object);
    assert_ptr_equal(kolk_shared_get(&pool, handle), object);
    for (uint64_t by = 1; by < UINT64_C(1) << 63; by *= 2) /* a different bit is changed each time */
        assert_null(kolk_shared_get(&pool, kolk_handle_unpack(handle.bits ^ by)));
    end_shared(&pool);
}

/* As if the slot had its 2^31st life now, which is the last one before its generations start anew.
 * promise: "a slot's generations ... STRICT is refused", "Returns the object ... valid again" */
static void test_a_handle_is_valid_again_after_all_lives(void **state) {
    kolk_shared_local local;
    make_shared(&pool, &(kolk_shared_desc){.name = "worn", .object_size = 4, .capacity = 1});
    make_local(&local, &pool);
    void *object = kolk_shared_alloc(&local);
    kolk_handle first = kolk_shared_handle_of(&pool, object);
    pool.lives[0] = UINT32_MAX;
    kolk_handle last = kolk_shared_handle_of(&pool, object);
    assert_ptr_equal(kolk_shared_get(&pool, last), object);
    assert_null(kolk_shared_get(&pool, first));
    kolk_shared_free(&local, object);
    assert_null(kolk_shared_get(&pool, last));
    assert_ptr_equal(kolk_shared_alloc(&local), object);
    assert_ptr_equal(kolk_shared_get(&pool, first), object);
    assert_null(kolk_shared_get(&pool, last));
    assert_true(kolk_shared_is_valid(&pool));
    end_shared(&pool);
}

/* promise: "No local can be made for a zero-initialised", "KOLK_NO_LOCAL: the pool ... zero, and alloc returns NULL" */
static void test_the_all_zero_pool(void **state) {
    static kolk_shared zero;
    kolk_shared_local local;
    kolk_stats stats;
    notes taken;
    int object = 0;
    assert_int_equal(kolk_shared_local_init(&local, &zero), KOLK_NO_LOCAL);
    assert_true(kolk_shared_is_valid(&zero));
    assert_null(kolk_shared_get(&zero, kolk_handle_unpack(0)));
    assert_null(kolk_shared_get(&zero, kolk_handle_unpack(UINT64_C(1) << 32)));
    assert_false(kolk_shared_is_live(&zero, &object) || kolk_shared_is_live(&zero, NULL));
    assert_int_equal(kolk_shared_count(&zero), 0);
    kolk_shared_cursor nothing = kolk_shared_each(&zero);
    assert_null(kolk_shared_cursor_next(&nothing));
    kolk_shared_stats(&zero, &stats);
    assert_string_equal(stats.kind, "shared");
    assert_true(stats.count + stats.peak + stats.capacity + stats.max_capacity + stats.bytes_reserved == 0);
    begin_notes(&taken);
    assert_true(kolk_handle_is_null(kolk_shared_handle_of(&zero, &object)));
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "", &object, NO_SLOT,
                 "kolk: a pool without a name: handle of a pointer that does not belong to this pool");
    kolk_shared_shutdown(&zero);
    kolk_shared_reopen(&zero);
    kolk_shared_clear(&zero);
    kolk_shared_deinit(&zero);
    assert_null(kolk_shared_local_of_thread(&zero));
    assert_true(all_bytes_are(&zero, sizeof zero, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        REFUSAL_TEST(test_each_broken_rule_has_its_status),
        REFUSAL_TEST(test_the_defaults),
        REFUSAL_TEST(test_the_all_zero_local),
        REFUSAL_TEST(test_a_local_whose_pool_is_gone),
        REFUSAL_TEST(test_the_last_pools_that_are_gone),
        REFUSAL_TEST(test_each),
        REFUSAL_TEST(test_the_two_halves_of_an_alloc),
        REFUSAL_TEST(test_exact_frees_are_out_of_line),
        REFUSAL_TEST(test_a_search_does_not_look_at_empty_words),
        REFUSAL_TEST(test_a_fetch_takes_a_word_and_goes_on_from_there),
        REFUSAL_TEST(test_a_fetch_looks_at_near_words_first),
        REFUSAL_TEST(test_too_many_threads),
        REFUSAL_TEST(test_handles),
        REFUSAL_TEST(test_a_handle_is_valid_again_after_all_lives),
        REFUSAL_TEST(test_the_all_zero_pool),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
