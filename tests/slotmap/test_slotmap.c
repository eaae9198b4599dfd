/* runs: sample:clang wraps: help/system_calls.h */
/* The promises of slotmap.h, one by one: descriptors, order, handles, on_move, sorting, misuse, memory and typed
 * maps. */
#include "../help/test.h"

#include "../help/system_calls.h"
#include "slotmap_test.h"

static _Alignas(64) unsigned char memory[4096];

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

/* promise: "0: with `memory`, as many as fit", "the map is left all zero" */
static void test_each_broken_rule_has_its_status(void **state) {
    static const struct {
        kolk_status status;
        kolk_slotmap_desc desc;
    } rows[] = {
        {KOLK_ZERO_SIZE, {.capacity = 4}},
        {KOLK_BAD_ALIGN, {.object_size = 8, .object_align = 24, .capacity = 4}},
        {KOLK_ALIGN_TOO_LARGE, {.object_size = 8, .object_align = 8192, .capacity = 4}},
        {KOLK_SIZE_OVERFLOW, {.object_size = INT32_MAX, .capacity = 4}},
        {KOLK_ZERO_CAPACITY, {.object_size = 8}},
        {KOLK_MAX_BELOW_CAPACITY, {.object_size = 8, .capacity = 4, .max_capacity = 3}},
        {KOLK_BAD_CAPACITY, {.object_size = 8, .capacity = (uint32_t)-1}},
        {KOLK_CANNOT_GROW, {.object_size = 8, .max_capacity = 5, .memory = memory, .memory_size = 4096}},
        {KOLK_MEMORY_MISSING, {.object_size = 8, .capacity = 4, .memory_size = 4096}},
        {KOLK_MEMORY_TOO_SMALL, {.object_size = 8, .capacity = 400, .memory = memory, .memory_size = 4096}},
        {KOLK_MEMORY_MISALIGNED, {.object_size = 8, .memory = memory + 4, .memory_size = 4000}},
        {KOLK_OK, {.object_size = 1, .max_capacity = 1}},
        {KOLK_OK, {.object_size = 8, .capacity = 4, .max_capacity = 4, .memory = memory, .memory_size = 4096}},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        kolk_slotmap map;
        memset(&map, 0xff, sizeof map);
        kolk_status status = kolk_slotmap_init(&map, &rows[i].desc);
        if (status != rows[i].status) fail_msg("row %u: %s", (unsigned)i, kolk_status_text(status));
        if (status == KOLK_OK) end_map(&map);
        assert_true(map_is_zero(&map));
    }
    kolk_slotmap map;
    kolk_slotmap_desc desc = {.object_size = 8, .capacity = 4};
    assert_int_equal(kolk_slotmap_init(&map, NULL), KOLK_NO_DESCRIPTOR);
    memset(&map, 0xff, sizeof map);
    assert_int_equal(kolk_slotmap_init_abi_(&map, &desc, 0, 0, sizeof map, KOLK_ABI + 1), KOLK_WRONG_ABI);
    assert_true(map_is_zero(&map));
    assert_int_equal(kolk_slotmap_init_abi_(&map, &desc, 0, 0, sizeof map - 8, KOLK_ABI), KOLK_WRONG_ABI);
}

static void answer_everything(kolk_slotmap *map, notes *taken) {
    int object = 0;
    kolk_stats stats;
    kolk_handle handle = {1};
    assert_true(kolk_slotmap_is_valid(map));
    assert_null(kolk_slotmap_add(map, &handle));
    assert_true(kolk_handle_is_null(handle));
    handle = kolk_handle_unpack(UINT64_C(1) << 32);
    assert_null(kolk_slotmap_get(map, handle));
    assert_false(kolk_slotmap_remove(map, handle));
    assert_int_equal(kolk_slotmap_slot(map, handle), UINT32_MAX);
    assert_null(kolk_slotmap_at(map, 0));
    assert_int_equal(kolk_slotmap_count(map) + kolk_slotmap_available(map), 0);
    kolk_slotmap_cursor cursor = kolk_slotmap_each(map);
    assert_null(kolk_slotmap_cursor_next(&cursor));
    kolk_slotmap_clear(map);
    kolk_slotmap_sort(map, NULL, NULL);
    assert_int_equal(kolk_slotmap_reserve(map, 0), KOLK_OK);
    assert_int_equal(kolk_slotmap_reserve(map, 1), KOLK_ABOVE_MAX);
    assert_int_equal(kolk_slotmap_trim(map), 0);
    kolk_slotmap_stats(map, &stats);
    assert_string_equal(stats.kind, "slotmap");
    assert_int_equal(stats.failed, 1);
    assert_silent(taken);
    assert_int_equal(kolk_slotmap_index(map, &object), UINT32_MAX);
    assert_true(kolk_handle_is_null(kolk_slotmap_handle_of(map, NULL)));
    assert_int_equal(taken->count, 2);
    assert_int_equal(taken->last.rule, KOLK_FOREIGN_POINTER);
    taken->count = 0;
}

/* promise: "map is valid and has the capacity 0" */
static void test_the_all_zero_map(void **state) {
    static kolk_slotmap map;
    notes taken;
    begin_notes(&taken);
    answer_everything(&map, &taken);
    kolk_slotmap_deinit(&map);
    assert_true(map_is_zero(&map));
}

/* ---- Order and handles ------------------------------------------------------------------------------------------- */

/* Handles of another map or pool, a forged handle of the next life, and the null handle.
 * promise: "Returns the object, or NULL ... become valid again", "Returns the slot ... below max_capacity" */
static void test_handles_that_find_nothing(void **state) {
    kolk_slotmap one, other;
    kolk_pool pool;
    kolk_stats stats;
    make_map(&one, &(kolk_slotmap_desc){.name = "one", .object_size = 1, .capacity = 9});
    make_map(&other, &(kolk_slotmap_desc){.name = "other", .object_size = 1, .capacity = 9});
    make_pool(&pool, &(kolk_pool_desc){.name = "pool", .object_size = 1, .capacity = 9});
    kolk_handle a = add_letter(&one, 'a'), b = add_letter(&other, 'b');
    kolk_handle c = kolk_pool_handle_of(&pool, kolk_pool_alloc(&pool));
    assert_false(kolk_handle_equal(a, b));
    assert_int_equal(letter_of(&one, b), '-');
    assert_int_equal(letter_of(&one, c), '-');
    assert_null(kolk_pool_get(&pool, a));
    assert_false(kolk_slotmap_remove(&one, b));
    assert_int_equal(kolk_slotmap_slot(&one, b), UINT32_MAX);
    assert_int_equal(letter_of(&one, kolk_handle_unpack(0)), '-');
    kolk_slotmap_stats(&one, &stats);
    assert_int_equal(stats.wrong_pool, 4);
    assert_true(kolk_slotmap_remove(&one, a));
    kolk_handle next = kolk_handle_unpack(a.bits + (UINT64_C(1) << 32));
    assert_int_equal(letter_of(&one, next), '-');
    assert_false(kolk_slotmap_remove(&one, next));
    assert_true(kolk_handle_equal(add_letter(&one, 'c'), next));
    kolk_slotmap_stats(&one, &stats);
    assert_int_equal(stats.wrong_pool, 4);
    end_map(&one);
    end_map(&other);
    kolk_pool_deinit(&pool);
    make_map(&one, &(kolk_slotmap_desc){.object_size = 1, .capacity = 9, .tag = 1});
    make_map(&other, &(kolk_slotmap_desc){.object_size = 1, .capacity = 900, .tag = 2});
    b = add_letter(&other, 'b');
    assert_int_equal(letter_of(&one, b), '-');
    kolk_slotmap_stats(&one, &stats);
    assert_int_equal(stats.wrong_pool, 1);
    end_map(&one);
    end_map(&other);
}

/* Removals during a walk, as the manual shows them.
 * promise: "which walks ... may be added", "kolk_slotmap_cursor_next", "kolk_slotmap_each" */
static void test_removal_on_the_way(void **state) {
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.object_size = 3, .capacity = 9});
    for (unsigned doomed = 0; doomed < 1u << 9; doomed++) {
        for (int down = 0; down < 2; down++) {
            kolk_slotmap_clear(&map);
            for (unsigned i = 0; i < 9; i++) add_letter(&map, (char)('a' + i));
            unsigned seen = 0;
            kolk_slotmap_cursor cursor = kolk_slotmap_each(&map);
            for (uint32_t i = kolk_slotmap_count(&map); down && i-- > 0;) {
                unsigned letter = (unsigned)(*(char *)kolk_slotmap_at(&map, i) - 'a');
                assert_false(seen >> letter & 1);
                seen |= 1u << letter;
                if (doomed >> letter & 1) kolk_slotmap_remove_at(&map, i);
            }
            for (char *object; !down && (object = kolk_slotmap_cursor_next(&cursor));) {
                unsigned letter = (unsigned)(*object - 'a');
                assert_false(seen >> letter & 1);
                seen |= 1u << letter;
                if (doomed >> letter & 1) kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, object));
            }
            assert_int_equal(seen, (1u << 9) - 1);
            assert_int_equal(kolk_slotmap_count(&map), 9 - (unsigned)__builtin_popcount(doomed));
        }
    }
    end_map(&map);
}

/* ---- on_move and sort -------------------------------------------------------------------------------------------- */

typedef struct log_of_moves {
    char text[200];
    char beside[10]; /* max_capacity + 1 */
} log_of_moves;

static void note_move(void *object, uint32_t from, uint32_t to, void *context) {
    log_of_moves *log = (log_of_moves *)context;
    size_t length = strlen(log->text);
    snprintf(log->text + length, sizeof log->text - length, "%c%u>%u ", *(char *)object, (unsigned)from, (unsigned)to);
    log->beside[to] = log->beside[from];
}

static int compare_letters(const void *a, const void *b, void *context) {
    unsigned *calls = (unsigned *)context;
    if (calls) ++*calls;
    return *(const char *)a - *(const char *)b;
}

/* promise: "O(1); a remove copies one object", "Called after ... max_capacity then" */
static void test_on_move(void **state) {
    kolk_slotmap map;
    log_of_moves log = {.beside = "cabed"};
    kolk_handle handles[5];
    make_map(&map, &(kolk_slotmap_desc){.object_size = 5, .capacity = 9, .on_move = note_move, .context = &log});
    for (int i = 0; i < 5; i++) handles[i] = add_letter(&map, log.beside[i]);
    kolk_slotmap_sort(&map, compare_letters, NULL);
    assert_string_equal(log.text, "c0>9 a1>0 b2>1 c9>2 e3>9 d4>3 e9>4 ");
    assert_string_equal(letters(&map), "abcde");
    assert_memory_equal(log.beside, "abcde", 5);
    for (int i = 0; i < 5; i++) assert_int_equal(letter_of(&map, handles[i]), "cabed"[i]);
    log.text[0] = 0;
    kolk_slotmap_sort(&map, compare_letters, NULL);
    assert_string_equal(log.text, "");     /* sorted */
    kolk_slotmap_remove(&map, handles[2]); /* b */
    kolk_slotmap_remove(&map, handles[4]); /* d is the last object now: nothing moves */
    assert_string_equal(log.text, "e4>1 ");
    assert_memory_equal(log.beside, letters(&map), kolk_slotmap_count(&map));
    kolk_slotmap_clear(&map);
    end_map(&map);
}

/* ---- on_remove --------------------------------------------------------------------------------------------------- */

/* promise: "as `remove` does ... there are holes, no snapshot is possible" */
static void test_holes_until_settle(void **state) {
    log_of_moves log = {.beside = "abcdef"};
    kolk_handle handles[6];
    kolk_slotmap map;
    kolk_slotmap_desc desc = {.object_size = 5, .capacity = 6, .on_move = note_move, .context = &log};
    make_map(&map, &desc);
    for (int i = 0; i < 6; i++) handles[i] = add_letter(&map, log.beside[i]);
    char *first = (char *)kolk_slotmap_objects(&map);
    uint32_t visited = 0;
    kolk_slotmap_cursor cursor = kolk_slotmap_each(&map);
    for (char *object; (object = (char *)kolk_slotmap_cursor_next(&cursor)); visited++)
        if (strchr("bdf", *object)) kolk_slotmap_remove_in_place(&map, kolk_slotmap_handle_of(&map, object));
    assert_int_equal(visited, 6);
    assert_false(kolk_slotmap_remove_in_place(&map, handles[1]) || kolk_slotmap_remove(&map, handles[3]));
    assert_true(kolk_slotmap_is_valid(&map) && log.text[0] == 0);
    assert_int_equal(kolk_slotmap_count(&map), 6);
    assert_int_equal(kolk_slotmap_snapshot_size(&map), 0);
    for (uint32_t i = 0; i < 6; i++) { /* the others are where they were */
        assert_ptr_equal(kolk_slotmap_get(&map, handles[i]), i % 2 ? NULL : first + i * 5);
        assert_ptr_equal(kolk_slotmap_at(&map, i), i % 2 ? NULL : first + i * 5);
    }
    handles[5] = add_letter(&map, 'g'); /* the map is full, so this one gets a hole */
    assert_int_equal(kolk_slotmap_index(&map, kolk_slotmap_get(&map, handles[5])), 5);
    kolk_slotmap_settle(&map);
    assert_string_equal(log.text, "g5>3 e4>1 ");
    assert_int_equal(kolk_slotmap_count(&map), 4);
    assert_true(kolk_slotmap_is_valid(&map) && letter_of(&map, handles[4]) == 'e');
    kolk_slotmap_settle(&map); /* there are no holes */
    kolk_slotmap_remove_in_place(&map, handles[0]);
    assert_true(kolk_slotmap_remove(&map, handles[2])); /* closes both */
    assert_int_equal(kolk_slotmap_count(&map), 2);
    assert_true(kolk_slotmap_is_valid(&map) && kolk_slotmap_snapshot_size(&map) > 0);
    end_map(&map);
}

/* A parent removes its children, of which the last one is the last object. Nothing moves meanwhile. */
static void remove_the_rest(void *object, void *context) {
    kolk_slotmap *map = (kolk_slotmap *)context;
    char *first = (char *)kolk_slotmap_objects(map);
    if (*(char *)object != 'a') return;
    for (uint32_t i = kolk_slotmap_count(map); i-- > 0;)
        if (kolk_slotmap_at(map, i) != object) assert_true(kolk_slotmap_remove_at(map, i));
    assert_ptr_equal(object, first + 5);
    assert_false(kolk_slotmap_remove_at(map, 1));
    assert_int_equal(letter_of(map, add_letter(map, 'n')), 'n');
}

static void test_children_leave_holes(void **state) {
    kolk_slotmap map;
    make_map(&map,
             &(kolk_slotmap_desc){.object_size = 5, .capacity = 4, .on_remove = remove_the_rest, .context = &map});
    kolk_handle parent = {0};
    for (int i = 0; i < 4; i++) {
        kolk_handle handle = add_letter(&map, "bacd"[i]);
        if (i == 1) parent = handle;
    }
    assert_true(kolk_slotmap_remove(&map, parent));
    assert_int_equal(kolk_slotmap_count(&map), 1);
    assert_true(*(char *)kolk_slotmap_objects(&map) == 'n' && kolk_slotmap_is_valid(&map));
    end_map(&map);
}

static kolk_slotmap goers;

/* During on_remove the object is still in its place, its handle is valid, and no other object has moved. */
static void note_removal(void *object, void *context) {
    log_of_moves *log = (log_of_moves *)context;
    size_t length = strlen(log->text);
    uint32_t place = kolk_slotmap_index(&goers, object);
    assert_ptr_equal(kolk_slotmap_get(&goers, kolk_slotmap_handle_of(&goers, object)), object);
    snprintf(log->text + length, sizeof log->text - length, "-%c%u/%u ", *(char *)object, (unsigned)place,
             (unsigned)kolk_slotmap_count(&goers));
}

static void test_on_remove(void **state) {
    for (unsigned with_moves = 0; with_moves < 2; with_moves++) {
        log_of_moves log = {.beside = "abcd"};
        kolk_handle handles[4];
        kolk_slotmap_desc desc = {.object_size = 5, .capacity = 9, .on_remove = note_removal, .context = &log};
        if (with_moves) desc.on_move = note_move;
        make_map(&goers, &desc);
        for (int i = 0; i < 4; i++) handles[i] = add_letter(&goers, log.beside[i]);
        assert_true(kolk_slotmap_remove(&goers, handles[1]));
        assert_string_equal(log.text, with_moves ? "-b1/4 d3>1 " : "-b1/4 ");
        assert_false(kolk_slotmap_remove(&goers, handles[1])); /* already removed */
        log.text[0] = 0;
        assert_true(kolk_slotmap_remove(&goers, handles[2]));
        assert_string_equal(log.text, "-c2/3 ");
        log.text[0] = 0;
        handles[1] = add_letter(&goers, 'e');
        kolk_slotmap_clear(&goers);
        assert_string_equal(log.text, "-e2/3 -d1/3 -a0/3 ");
        log.text[0] = 0;
        kolk_slotmap_clear(&goers); /* the map is empty */
        assert_string_equal(log.text, "");
        handles[0] = add_letter(&goers, 'f');
        handles[1] = add_letter(&goers, 'g');
        kolk_slotmap_deinit(&goers);
        assert_string_equal(log.text, "-g1/2 -f0/2 ");
    }
}

typedef struct numbered {
    uint32_t key, order;
    unsigned char rest[301]; /* larger than the chunks in which objects are swapped */
} numbered;

static int compare_keys(const void *a, const void *b, void *context) {
    uint32_t first = ((const numbered *)a)->key, second = ((const numbered *)b)->key;
    ++*(unsigned *)context;
    return (first > second) - (first < second);
}

/* promise: "`sort` is O(n log n)", "Sorts the objects ... comparisons and no move" */
static void test_sort_is_stable_and_in_n_log_n(void **state) {
    enum { N = 5000 };
    static kolk_handle handles[N];
    kolk_slotmap map;
    uint64_t random = 1;
    for (uint32_t keys = 1; keys <= N; keys = keys * 7 + 1) { /* from all equal to mostly different */
        unsigned calls = 0;
        make_map(&map, &(kolk_slotmap_desc){.object_size = sizeof(numbered), .capacity = N});
        for (uint32_t i = 0; i < N; i++) {
            numbered *object = (numbered *)kolk_slotmap_add(&map, &handles[i]);
            object->key = random_below(&random, keys);
            object->order = i;
            memset(object->rest, (int)i, sizeof object->rest);
        }
        kolk_slotmap_sort(&map, compare_keys, &calls);
        assert_true(calls < 2 * N * 13 + 2 * N); /* 2 n log2 n, and O(n) */
        assert_true(kolk_slotmap_is_valid(&map));
        const numbered *all = (const numbered *)kolk_slotmap_objects(&map);
        for (uint32_t i = 1; i < N; i++) {
            bool equal = all[i - 1].key == all[i].key;
            assert_true(equal ? all[i - 1].order < all[i].order : all[i - 1].key < all[i].key);
        }
        for (uint32_t i = 0; i < N; i++) {
            const numbered *object = (const numbered *)kolk_slotmap_get(&map, handles[i]);
            assert_true(object->order == i && all_bytes_are(object->rest, sizeof object->rest, (unsigned char)i));
        }
        calls = 0;
        kolk_slotmap_sort(&map, compare_keys, &calls);
        assert_int_equal(calls, N - 1);
        end_map(&map);
    }
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* promise: "the caller's memory, or pages ... plus 12 bytes", "Returns how ... same as a constant" */
static void test_memory_size_is_exact(void **state) {
    for (size_t size = 1; size < 40; size += 3) {
        for (uint32_t capacity = 1; capacity < 30; capacity++) {
            kolk_slotmap map;
            kolk_slotmap_desc desc = {.object_size = size, .object_align = 1, .capacity = capacity};
            size_t bytes = kolk_slotmap_memory_size(&desc);
            assert_int_equal(bytes, KOLK_SLOTMAP_BYTES(size, 1, capacity));
            memset(memory, 0xca, sizeof memory);
            desc.memory = memory + 8;
            desc.memory_size = bytes - 1;
            assert_int_equal(kolk_slotmap_init(&map, &desc), KOLK_MEMORY_TOO_SMALL);
            desc.memory_size = bytes;
            for (int fit = 0; fit < 2; fit++) { /* with a given capacity, or with as many as fit */
                desc.capacity = fit ? 0 : capacity;
                make_map(&map, &desc);
                assert_int_equal(kolk_slotmap_available(&map), capacity);
                for (char *object; (object = (char *)kolk_slotmap_add(&map, NULL));) memset(object, 1, size);
                assert_int_equal(kolk_slotmap_count(&map), capacity);
                end_map(&map);
            }
            assert_true(all_bytes_are(memory, 8, 0xca));
            assert_true(all_bytes_are(memory + 8 + bytes, 64, 0xca));
        }
    }
    assert_int_equal(kolk_slotmap_memory_size(NULL), 0);
    assert_int_equal(kolk_slotmap_memory_size(&(kolk_slotmap_desc){.capacity = 3}), 0);
    kolk_slotmap_desc all = {.name = "x", .object_size = 8, .capacity = 3, .max_capacity = 2, .memory_size = 1};
    assert_int_equal(kolk_slotmap_memory_size(&all), 8 * 3 + 8 * 3 + 16);
}

/* "the largest one that divides object_size, at most 16" promise: "0: the largest one that divides object_size" */
static void test_the_default_alignment(void **state) {
    for (size_t size = 1; size <= 64; size++) {
        size_t align = 16;
        while (size % align != 0) align /= 2;
        kolk_slotmap_desc desc = {.object_size = size, .capacity = 3};
        desc.memory_size = kolk_slotmap_memory_size(&desc);
        for (size_t skew = 0; skew <= 16; skew += 8) { /* the caller's memory must have this alignment */
            kolk_slotmap map;
            desc.memory = memory + (16 - (uintptr_t)memory % 16) + skew;
            kolk_status status = kolk_slotmap_init(&map, &desc);
            assert_int_equal(status, align == 16 && skew == 8 ? KOLK_MEMORY_MISALIGNED : KOLK_OK);
            if (status == KOLK_OK) assert_int_equal(map.stride, size); /* the alignment adds no padding */
            kolk_slotmap_deinit(&map);
        }
    }
}

static void test_growing_moves_nothing(void **state) {
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.object_size = OBJECT, .max_capacity = 3000});
    void *first = kolk_slotmap_add(&map, NULL);
    for (uint32_t i = 1; i < 3000; i++) assert_non_null(kolk_slotmap_add(&map, NULL));
    assert_null(kolk_slotmap_add(&map, NULL));
    assert_ptr_equal(kolk_slotmap_objects(&map), first);
    kolk_stats stats;
    kolk_slotmap_stats(&map, &stats);
    assert_int_equal(stats.capacity, 3000);
    assert_int_equal(stats.failed, 1);
    while (kolk_slotmap_count(&map) > 1000) kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, first));
    memset(kolk_slotmap_at(&map, 999), 7, OBJECT);
    kolk_slotmap_trim(&map);
    assert_true(all_bytes_are(kolk_slotmap_at(&map, 999), OBJECT, 7));
    end_map(&map);
}

/* promise: "`reserve` and `trim` move nothing", "Returns to the system ... budget no longer" */
static void test_trim_gives_back(void **state) {
    kolk_slotmap map;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    make_map(&map, &(kolk_slotmap_desc){.object_size = 1024, .capacity = 100});
    for (int i = 0; i < 100; i++) memset(kolk_slotmap_add(&map, NULL), 7, 1024);
    size_t touched = 100 * 1024 / page * page;
    while (kolk_slotmap_count(&map) > 3)
        kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, kolk_slotmap_objects(&map)));
    assert_int_equal(kolk_slotmap_trim(&map), touched - page);
    assert_int_equal(kolk_slotmap_trim(&map), 0);
    for (uint32_t i = 0; i < 3; i++) assert_true(all_bytes_are(kolk_slotmap_at(&map, i), 1024, 7));
    assert_int_equal(kolk_slotmap_available(&map), 97);
    for (int i = 0; i < 97; i++) memset(kolk_slotmap_add(&map, NULL), 8, 1024);
    end_map(&map);
    for (uint32_t capacity = 99; capacity <= 104; capacity++) { /* full: the last page is only partly needed */
        make_map(&map, &(kolk_slotmap_desc){.object_size = 1024, .capacity = capacity});
        for (uint32_t i = 0; i < capacity; i++) add_letter(&map, 'a');
        refuse(0, false);
        assert_int_equal(kolk_slotmap_trim(&map), 0);
        assert_int_equal(os.calls, 0);
        end_map(&map);
    }
    kolk_slotmap_desc desc = {.object_size = 8, .memory = memory, .memory_size = sizeof memory};
    make_map(&map, &desc);
    assert_int_equal(kolk_slotmap_trim(&map), 0);
    end_map(&map);
}

/* A removal succeeds even if the setting `move` gets no memory: then nothing moves. */
static void test_a_removal_needs_no_memory(void **state) {
    for (int moves = 0; moves < 2; moves++) {
        kolk_slotmap map;
        make_map(&map,
                 &(kolk_slotmap_desc){.object_size = OBJECT, .capacity = 100, .debug = moves ? "fill,move" : NULL});
        for (int i = 0; i < 100; i++) add_letter(&map, 'a');
        refuse(1, true);
        void *before = kolk_slotmap_objects(&map);
        assert_true(kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, before)));
        assert_ptr_equal(kolk_slotmap_objects(&map), before);
        refuse(0, false);
        end_map(&map);
    }
}

/* A growing map needs whole pages for each of three arrays, so a map that fits into four pages gets them from the
 * start. promise: "0: with `memory`, as many as fit" */
static void test_small_blocks_are_whole(void **state) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t fits = (uint32_t)(page / 16); /* each takes 64 bytes with cell and owner */
    for (uint32_t more = 0; more < 2; more++) {
        kolk_slotmap map;
        kolk_stats stats;
        make_map(&map, &(kolk_slotmap_desc){.object_size = 52, .capacity = 1, .max_capacity = fits + more});
        kolk_slotmap_stats(&map, &stats);
        assert_int_equal(stats.bytes_committed, more ? 3 * page : 4 * page);
        assert_int_equal(stats.bytes_reserved, more ? (4 + 1 + 1) * page : 4 * page);
        end_map(&map);
    }
}

#if KOLK_HOSTED
static bool is_mapped(void *start) {
    unsigned char state;
    return __real_mincore(start, 1, &state) == 0;
}

/* promise: "the caller's memory, or pages ... plus 12 bytes", "Removes all objects (see on_remove)" */
static void test_deinit_gives_memory_back(void **state) {
    skip_on_windows(); /* no mincore */
    static const char *const settings[] = {NULL, "move"};
    for (unsigned n = 0; n < 4; n++) {
        kolk_slotmap map;
        kolk_slotmap_desc desc = {.object_size = OBJECT, .max_capacity = 1000, .debug = settings[n % 2]};
        if (n / 2) desc.capacity = 1000;
        make_map(&map, &desc);
        add_letter(&map, 'a');
        void *block = map.block, *objects = map.objects;
        assert_true(is_mapped(block) && is_mapped(objects));
        end_map(&map);
        assert_false(is_mapped(block));
        assert_false(is_mapped(objects));
    }
}
#endif

/* ---- Typed ------------------------------------------------------------------------------------------------------- */

typedef struct ship {
    double x, y;
    uint32_t number;
} ship;
KOLK_SLOTMAP_TYPE(ships, ship)

static int by_number(const void *a, const void *b, void *context) {
    uint32_t first = ((const ship *)a)->number, second = ((const ship *)b)->number;
    return (first < second) - (first > second);
}

static void test_every_typed_function(void **state) {
    static KOLK_SLOTMAP_STORAGE(ship, 7) storage;
    ships fleet;
    ships_handle one, two, three;
    assert_int_equal(ships_init(&fleet, &(kolk_slotmap_desc){.object_size = 5, .capacity = 7}), KOLK_TYPE_MISMATCH);
    kolk_slotmap_desc desc = {.name = "fleet", .capacity = 7, .memory = &storage, .memory_size = sizeof storage};
    assert_int_equal(ships_init(&fleet, &desc), KOLK_OK);
    assert_int_equal(ships_available(&fleet), 7);
    ships_add(&fleet, &one)->number = 1;
    ships_add(&fleet, &two)->number = 2;
    ships_add(&fleet, &three)->number = 3;
    assert_ptr_equal(ships_objects(&fleet), storage.objects);
    assert_ptr_equal(ships_at(&fleet, 2), storage.objects + 2);
    assert_int_equal(ships_index(&fleet, storage.objects + 2), 2);
    assert_int_equal(ships_slot(&fleet, three), 2);
    assert_true(kolk_handle_equal(ships_handle_of(&fleet, storage.objects + 1).untyped, two.untyped));
    ships_sort(&fleet, by_number, NULL);
    assert_int_equal(ships_objects(&fleet)->number, 3);
    assert_int_equal(ships_get(&fleet, one)->number, 1);
    uint32_t sum = 0;
    KOLK_EACH(ships, each, &fleet) {
        if (each->number == 2) continue;
        sum = sum * 10 + each->number;
        if (each->number == 3) ships_remove(&fleet, ships_handle_of(&fleet, each));
    }
    assert_int_equal(sum, 31);
    KOLK_EACH(ships, each, &fleet) {
        sum = each->number;
        break;
    }
    assert_int_equal(sum, 1);
    assert_false(ships_remove(&fleet, three));
    assert_int_equal(ships_count(&fleet), 2);
    assert_int_equal(ships_reserve(&fleet, 8), KOLK_ABOVE_MAX);
    assert_int_equal(ships_trim(&fleet), 0);
    kolk_stats stats;
    ships_stats(&fleet, &stats);
    assert_int_equal(stats.stride, sizeof(ship));
    ships_clear(&fleet);
    assert_true(ships_is_valid(&fleet));
    ships_deinit(&fleet);
    assert_true(map_is_zero(&fleet.map));
}

static void append(const char *text, size_t length, void *context) {
    strncat((char *)context, text, length);
}

static void test_it_is_listed(void **state) {
    static char text[4000];
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.name = "listed map", .object_size = 8, .capacity = 3});
    kolk_stats_write(KOLK_STATS_JSON, append, text);
    assert_non_null(strstr(text, "{\"name\": \"listed map\", \"kind\": \"slotmap\", \"object_size\": 8"));
    uint32_t number = map.number;
    end_map(&map);
    map.number = number; /* as if the memory were used for something else */
    *text = 0;
    kolk_stats_write(KOLK_STATS_JSON, append, text);
    assert_null(strstr(text, "listed map"));
}

/* ---- is_valid detects what is broken ----------------------------------------------------------------------------- */

#define assert_seen(map, what, value) assert_breaks(kolk_slotmap_is_valid, map, what, value)

/* promise: "src/slotmap/slotmap.c; O(slots), for tests" */
static void test_validity(void **state) {
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.object_size = 8, .capacity = 8});
    for (int i = 0; i < 5; i++) add_letter(&map, 'a');
    kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, kolk_slotmap_objects(&map)));
    uint32_t *const words[] = {&map.count,          &map.fresh,     &map.worn,      &map.add_bound, &map.remove_bound,
                               &map.cells[0].place, &map.owners[3], &map.owners[4], &map.owners[0]};
    for (size_t i = 0; i < LENGTH_OF(words); i++) {
        uint32_t before = *words[i];
        for (uint32_t wrong = 1; wrong; wrong <<= 4) {
            *words[i] = before + wrong;
            if (words[i] == &map.count && before + wrong <= map.fresh) continue; /* one more object is not an error */
            assert_false(kolk_slotmap_is_valid(&map));
        }
        *words[i] = before;
    }
    map.cells[map.owners[2]].generation = 0;
    assert_false(kolk_slotmap_is_valid(&map));
    map.cells[map.owners[2]].generation = 1;
    map.capacity = 9;
    assert_false(kolk_slotmap_is_valid(&map));
    map.capacity = 8;
    map.peak = map.add_bound = 3; /* though there are four objects */
    assert_false(kolk_slotmap_is_valid(&map));
    map.peak = UINT32_MAX;
    map.counted = 3;
    assert_false(kolk_slotmap_is_valid(&map));
    map.counted = 9;
    map.add_bound = 5;
    assert_false(kolk_slotmap_is_valid(&map));
    map.counted = 8;
    assert_true(kolk_slotmap_is_valid(&map));
    for (uint32_t i = 0; i < 3; i++)
        kolk_slotmap_remove_in_place(&map, kolk_slotmap_handle_of(&map, kolk_slotmap_at(&map, i)));
    assert_true(kolk_slotmap_is_valid(&map));
    assert_seen(&map, map.holes, 2);
    assert_seen(&map, map.holes, 4);
    assert_seen(&map, map.first_hole, 1);
    assert_seen(&map, map.first_hole, 3);
    assert_seen(&map, map.owners[1], map.owners[1] & ~KOLK_HOLE_);
    assert_seen(&map, map.owners[1], 8 | KOLK_HOLE_);
    assert_seen(&map, map.owners[3], map.owners[3] | KOLK_HOLE_);
    assert_seen(&map, map.cells[map.owners[1] & ~KOLK_HOLE_].place, 1);
    assert_seen(&map, map.cells[map.owners[1] & ~KOLK_HOLE_].place, 1 | KOLK_HOLE_);
    end_map(&map);
}

static void test_validity_of_worn_out_slots(void **state) {
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.object_size = 8, .capacity = 8});
    for (int i = 0; i < 6; i++) add_letter(&map, 'a');
    for (uint32_t slot = 1; slot <= 3; slot++) {
        map.cells[slot].generation = UINT32_MAX; /* makes this its last life */
        kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, kolk_slotmap_at(&map, map.cells[slot].place)));
    }
    assert_int_equal(map.worn, 3);
    assert_int_equal(map.worn_first, 1);
    assert_int_equal(map.worn_last, 3);
    assert_true(kolk_slotmap_is_valid(&map));
    assert_int_equal(map.add_bound, 3); /* the places with an owner: the slow path does the rest */
    assert_int_equal(map.remove_bound, 6);
    assert_seen(&map, map.count, 4); /* counts a place without an owner */
    assert_seen(&map, map.worn_first, 2);
    assert_seen(&map, map.worn_first, 6);
    assert_seen(&map, map.worn_first, UINT32_MAX);
    assert_seen(&map, map.worn_last, 2);
    assert_seen(&map, map.worn_last, 0);
    assert_seen(&map, map.cells[1].generation, 1);
    assert_seen(&map, map.cells[1].generation, 3);
    assert_seen(&map, map.cells[1].generation, 6);
    assert_seen(&map, map.cells[2].generation, UINT32_MAX);
    assert_seen(&map, map.cells[2].place, 7);
    assert_seen(&map, map.cells[0].place, UINT32_MAX);
    for (int i = 0; i < 2; i++) add_letter(&map, 'b'); /* they get the new slots */
    for (uint32_t slot = 1; slot <= 3; slot++)         /* the slots worn out longest ago come first */
        assert_int_equal(add_letter(&map, 'c').bits, UINT64_C(1) << 32 | (slot ^ map.tag));
    assert_null(kolk_slotmap_add(&map, NULL));
    kolk_stats stats;
    kolk_slotmap_stats(&map, &stats);
    assert_true(stats.worn_out == 0 && stats.recycled == 3);
    end_map(&map);
}

static int plain_and_accept(void **state) {
    unsetenv("KOLK_DEBUG");
    setenv("KOLK_BYPASS", "0", 1);
    return accept_again(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plain_and_accept, plain_and_accept)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_broken_rule_has_its_status),
        TEST(test_the_all_zero_map),
        TEST(test_handles_that_find_nothing),
        TEST(test_removal_on_the_way),
        TEST(test_on_move),
        TEST(test_on_remove),
        TEST(test_holes_until_settle),
        TEST(test_children_leave_holes),
        TEST(test_sort_is_stable_and_in_n_log_n),
        TEST(test_memory_size_is_exact),
        TEST(test_the_default_alignment),
        TEST(test_growing_moves_nothing),
        TEST(test_trim_gives_back),
        TEST(test_a_removal_needs_no_memory),
        TEST(test_small_blocks_are_whole),
#if KOLK_HOSTED
        TEST(test_deinit_gives_memory_back),
#endif
        TEST(test_every_typed_function),
        TEST(test_it_is_listed),
        TEST(test_validity),
        TEST(test_validity_of_worn_out_slots),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
