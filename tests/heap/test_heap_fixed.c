/* Tests each promise of "Trays on your memory" in heap.h. Random work is in test_heap_model.c. */
#include "../help/test.h"

#include "heap/fixed.h"

#include "core/tools.h"

#include <sys/mman.h>

static const kolk_heap_class trays[] = {
    {.name = "keys", .size = 30, .capacity = 100},
    {.size = 160, .capacity = 20, .when_full = KOLK_HEAP_NULL},
    {.size = 1600, .capacity = 3},
    {.size = 4096, .capacity = 2},
};
#define MEMORY_BYTES                                                                                                   \
    (KOLK_HEAP_BYTES + KOLK_HEAP_TRAY_BYTES(30, 100) + KOLK_HEAP_TRAY_BYTES(160, 20) + KOLK_HEAP_TRAY_BYTES(1600, 3) + \
     KOLK_HEAP_TRAY_BYTES(4096, 2))

static KOLK_ALIGNAS(64) unsigned char memory[MEMORY_BYTES];
static kolk_heap heap;
static notes taken;

static kolk_heap_desc desc_of_trays(void) {
    return (kolk_heap_desc){
        .name = "bay", .classes = trays, .n_classes = 4, .memory = memory, .memory_size = sizeof memory};
}

static void init_bay(kolk_heap_desc desc) {
    memset(memory, 0xa5, sizeof memory);
    assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
    assert_true(kolk_heap_is_valid(&heap));
}

static void end_bay(void) {
    assert_true(kolk_heap_is_valid(&heap));
    kolk_heap_deinit(&heap);
    assert_true(all_bytes_are(&heap, sizeof heap, 0));
    kolk_heap_deinit(&heap); /* an all-zero heap may be ended */
}

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

static void refuse(const kolk_heap_desc *desc, kolk_status status) {
    assert_int_equal(kolk_heap_init(&heap, desc), status);
    assert_true(all_bytes_are(&heap, sizeof heap, 0));
}

static void refuse_class(kolk_heap_class class_, kolk_status status) {
    kolk_heap_desc desc = desc_of_trays();
    desc.classes = &class_;
    desc.n_classes = 1;
    refuse(&desc, status);
    assert_int_equal(kolk_heap_memory_size(&desc), 0);
}

/* promise: "aligned to 16; it need ... No class grows", "`limit`, `budget` ... returns 0" */
static void test_bad_descriptors(void **state) {
    kolk_heap_desc desc = desc_of_trays();
    assert_int_equal(kolk_heap_memory_size(&desc), sizeof memory);
    assert_int_equal(kolk_heap_memory_size(NULL), 0);
    desc.memory_size--;
    refuse(&desc, KOLK_MEMORY_TOO_SMALL);
    desc.memory_size = 0;
    refuse(&desc, KOLK_MEMORY_TOO_SMALL);
    desc = desc_of_trays();
    desc.memory = memory + 8;
    desc.memory_size = SIZE_MAX / 2;
    refuse(&desc, KOLK_MEMORY_MISALIGNED);
    desc = desc_of_trays();
    desc.memory = NULL;
    refuse(&desc, KOLK_MEMORY_MISSING);
    desc = desc_of_trays();
    desc.limit = 1;
    refuse(&desc, KOLK_FIXED_HEAP);
    desc.limit = 0;
    desc.parent = &heap;
    refuse(&desc, KOLK_FIXED_HEAP);
    desc = desc_of_trays();
    desc.classes = NULL;
    refuse(&desc, KOLK_BAD_CLASSES);
    desc.classes = trays;
    desc.n_classes = 0;
    refuse(&desc, KOLK_BAD_CLASSES);
    refuse_class((kolk_heap_class){.size = 0, .capacity = 1}, KOLK_ZERO_SIZE);
    refuse_class((kolk_heap_class){.size = 16}, KOLK_ZERO_CAPACITY);
    refuse_class((kolk_heap_class){.size = 16, .capacity = 2, .max_capacity = 1}, KOLK_MAX_BELOW_CAPACITY);
    refuse_class((kolk_heap_class){.size = 16, .capacity = 2, .max_capacity = 3}, KOLK_CANNOT_GROW);
    refuse_class((kolk_heap_class){.size = 16, .capacity = (1u << 24) + 1}, KOLK_SIZE_OVERFLOW);
    refuse_class((kolk_heap_class){.size = (1u << 30) + 1, .capacity = 1}, KOLK_SIZE_OVERFLOW);
    if (sizeof(void *) < 8) refuse_class((kolk_heap_class){.size = 1u << 30, .capacity = 2}, KOLK_SIZE_OVERFLOW);
}

/* The macros and kolk_heap_memory_size agree for every number of levels, and the memory is just large enough.
 * promise: "A fixed heap ... builds and on 32-bit machines", "outside the blocks; a record for each tray", "the sum of
 * the macros ... not checked" */
static void test_sizes_of_memory(void **state) {
    static const uint32_t capacities[] = {1, 63, 64, 65, 4096, 4097, 262144, 262145};
    for (unsigned n = 0; n < LENGTH_OF(capacities); n++)
        for (size_t size = 1; size < 200; size += 21) {
            kolk_heap_class tray = {.size = size, .capacity = capacities[n]};
            kolk_heap_desc desc = {.classes = &tray, .n_classes = 1};
            desc.memory_size = KOLK_HEAP_BYTES + KOLK_HEAP_TRAY_BYTES(size, capacities[n]);
            assert_int_equal(kolk_heap_memory_size(&desc), desc.memory_size);
            if (size > 43 && capacities[n] > 70000) continue; /* too much memory */
            unsigned char *given = malloc(desc.memory_size + 64 + 8);
            assert_non_null(given);
            unsigned char *lent = given + ((uintptr_t)given & 8); /* on 32 bits malloc may align to 8 */
            for (unsigned shift = 0; shift < 64; shift += 16) {
                unsigned char *end = lent + shift + desc.memory_size;
                memset(lent, 0xa5, desc.memory_size + 64);
                desc.memory = lent + shift;
                assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
                for (uint32_t i = 0; i < capacities[n]; i++) {
                    unsigned char *block = kolk_heap_alloc(&heap, size);
                    assert_true(block && block >= lent + shift && block + (size + 15) / 16 * 16 <= end);
                    memset(block, (int)i, size);
                }
                assert_null(kolk_heap_alloc(&heap, size));
                end_bay();
                assert_true(all_bytes_are(end, (size_t)(lent + desc.memory_size + 64 - end), 0xa5));
            }
            free(given);
        }
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static void test_lowest_first(void **state) {
    init_bay(desc_of_trays());
    unsigned char *blocks[100];
    for (unsigned n = 0; n < 100; n++) {
        blocks[n] = kolk_heap_alloc(&heap, 1 + n % 30);
        assert_ptr_equal(blocks[n], blocks[0] + n * 32u);
    }
    kolk_heap_free(&heap, blocks[70]);
    kolk_heap_free(&heap, blocks[9]);
    kolk_heap_free(&heap, blocks[99]);
    assert_ptr_equal(kolk_heap_alloc_zeroed(&heap, 30), blocks[9]);
    assert_true(all_bytes_are(blocks[9], 30, 0));
    assert_ptr_equal(kolk_heap_alloc(&heap, 0), blocks[70]);
    assert_ptr_equal(kolk_heap_alloc(&heap, 32), blocks[99]);
    end_bay();
}

/* NEXT: a full tray's allocs go to the next larger one. NULL: they fail.
 * promise: "it takes a block ... it returns NULL", "if the tray ... name have the heap's" */
static void test_full_trays(void **state) {
    init_bay(desc_of_trays());
    for (unsigned n = 0; n < 100; n++) assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 20)), 32);
    for (unsigned n = 0; n < 20; n++) assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 20)), 160);
    assert_null(kolk_heap_alloc(&heap, 20));
    assert_null(kolk_heap_alloc(&heap, 160));
    for (unsigned n = 0; n < 3; n++) assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 161)), 1600);
    for (unsigned n = 0; n < 2; n++) assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 161)), 4096);
    assert_null(kolk_heap_alloc(&heap, 161));
    assert_null(kolk_heap_alloc(&heap, 4097));
    assert_null(kolk_heap_alloc(&heap, SIZE_MAX));
    kolk_stats stats;
    kolk_heap_stats(&heap, &stats);
    assert_int_equal(stats.count, 125);
    assert_int_equal(stats.failed, 5);
    kolk_heap_class_stats of;
    kolk_heap_stats_of_class(&heap, 0, &of);
    assert_int_equal(of.stats.failed, 21); /* those that a larger tray served, too */
    kolk_heap_stats_of_class(&heap, 1, &of);
    assert_int_equal(of.stats.failed, 2);
    kolk_heap_reset(&heap);
    kolk_heap_stats(&heap, &stats);
    assert_int_equal(stats.count, 0);
    assert_int_equal(stats.peak, 125);
    assert_non_null(kolk_heap_alloc(&heap, 20));
    end_bay();
}

static void test_resizing(void **state) {
    init_bay(desc_of_trays());
    unsigned char *block = kolk_heap_realloc(&heap, NULL, 20);
    assert_ptr_equal(kolk_heap_realloc(&heap, block, 32), block);
    unsigned char *larger = kolk_heap_realloc(&heap, block, 150);
    assert_ptr_not_equal(larger, block);
    assert_ptr_equal(kolk_heap_realloc(&heap, larger, 81), larger);
    assert_null(kolk_heap_realloc(&heap, larger, 5000));
    assert_true(kolk_heap_is_live(&heap, larger));
    assert_ptr_equal(kolk_heap_realloc(&heap, larger, 10), block);
    end_bay();
}

static bool must_not_be_called(kolk_heap *full, size_t bytes, void *context) {
    fail();
    return false;
}

/* A realloc to a smaller size stays where it is rather than fail, or take a larger block. */
static void test_shrinking(void **state) {
    kolk_heap_desc desc = desc_of_trays();
    desc.on_full = must_not_be_called;
    init_bay(desc);
    unsigned char *block = kolk_heap_alloc(&heap, 1600);
    for (unsigned n = 0; n < 120; n++) kolk_heap_alloc(&heap, 20);
    assert_ptr_equal(kolk_heap_realloc(&heap, block, 100), block);
    assert_ptr_equal(kolk_heap_realloc(&heap, block, 10), block);
    kolk_stats stats;
    kolk_heap_stats(&heap, &stats);
    assert_int_equal(stats.failed, 0);
    end_bay();
}

static void test_walk_behind_no_block(void **state) {
    init_bay(desc_of_trays());
    void *block = kolk_heap_alloc(&heap, 150);
    kolk_heap_free(&heap, block);
    assert_null(kolk_heap_next(&heap, block));  /* a freed block may continue a walk */
    assert_null(kolk_heap_next(&heap, &block)); /* not of this heap */
    assert_false(kolk_heap_on_end(&heap, (void (*)(void *))free, NULL));
    assert_int_equal(kolk_heap_trim(&heap), 0);
    end_bay();
}

static unsigned calls;

static bool empty_a_tray(kolk_heap *full, size_t bytes, void *context) {
    calls++;
    assert_null(kolk_heap_alloc(full, bytes)); /* does not call the hook again */
    if (*(void **)context) kolk_heap_free(full, *(void **)context);
    bool freed = *(void **)context;
    *(void **)context = NULL;
    return freed;
}

static void test_on_full(void **state) {
    void *victim;
    kolk_heap_desc desc = desc_of_trays();
    desc.on_full = empty_a_tray;
    desc.context = &victim;
    init_bay(desc);
    victim = kolk_heap_alloc(&heap, 4000);
    void *block = victim;
    assert_non_null(kolk_heap_alloc(&heap, 4000));
    calls = 0;
    assert_ptr_equal(kolk_heap_alloc(&heap, 4000), block);
    assert_null(kolk_heap_alloc(&heap, 4000));
    assert_int_equal(calls, 2);
    end_bay();
}

/* ---- Bugs of the caller ------------------------------------------------------------------------------------------ */

static void test_misuse(void **state) {
    init_bay(desc_of_trays());
    begin_notes(&taken);
    unsigned char *key = kolk_heap_alloc(&heap, 8), *other = kolk_heap_alloc(&heap, 8), elsewhere;
    unsigned char *plate = kolk_heap_alloc(&heap, 100);
    kolk_heap_free(&heap, key);
    kolk_heap_free(&heap, key);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "keys", key, 0, "kolk: keys: double free of block 0");
    assert_int_equal(kolk_heap_usable_size(&heap, key), 0);
    assert_noted(&taken, KOLK_DEAD_OBJECT, "keys", key, 0, "kolk: keys: usable_size of block 0, which is free");
    assert_null(kolk_heap_realloc(&heap, key, 10));
    assert_noted(&taken, KOLK_DEAD_OBJECT, "keys", key, 0, "kolk: keys: realloc of block 0, which is free");
    kolk_heap_free(&heap, other + 5);
    assert_noted(&taken, KOLK_INTERIOR_POINTER, "keys", other + 5, 1,
                 "kolk: keys: free of a pointer into block 1, at byte 5 of it");
    kolk_heap_free(&heap, other + 32);
    assert_noted(&taken, KOLK_NEVER_ISSUED, "keys", other + 32, 2,
                 "kolk: keys: free of block 2, which was never handed out");
    kolk_heap_free(&heap, plate + 1);
    assert_noted(&taken, KOLK_INTERIOR_POINTER, "bay", plate + 1, 0,
                 "kolk: bay: free of a pointer into block 0, at byte 1 of it");
    kolk_heap_free(&heap, &elsewhere);
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "bay", &elsewhere, UINT32_MAX,
                 "kolk: bay: free of a pointer that does not belong to this heap");
    kolk_heap_free(&heap, memory); /* the records of the trays */
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "bay", memory, UINT32_MAX,
                 "kolk: bay: free of a pointer that does not belong to this heap");
    assert_null(kolk_heap_next(&heap, other + 64));
    assert_noted(&taken, KOLK_NEVER_ISSUED, "keys", other + 64, 3,
                 "kolk: keys: next of block 3, which was never handed out");
    assert_null(kolk_heap_next(&heap, key + 3));
    assert_noted(&taken, KOLK_INTERIOR_POINTER, "keys", key + 3, 0,
                 "kolk: keys: next of a pointer into block 0, at byte 3 of it");
    assert_false(kolk_heap_is_live(&heap, key));
    assert_true(kolk_heap_is_live(&heap, other));
    kolk_heap_free(&heap, NULL);
    assert_int_equal(taken.count, 0);
    end_bay();
}

/* Neither the heap nor the tray has a name. */
static void test_misuse_without_names(void **state) {
    static const kolk_heap_class nameless[] = {{.size = 16, .capacity = 1}};
    kolk_heap_desc desc = {.classes = nameless, .n_classes = 1, .memory = memory, .memory_size = sizeof memory};
    init_bay(desc);
    begin_notes(&taken);
    unsigned char *block = kolk_heap_alloc(&heap, 8);
    kolk_heap_free(&heap, block);
    kolk_heap_free(&heap, block);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "", block, 0, "kolk: a pool without a name: double free of block 0");
    end_bay();
}

/* kolk_heap_is_valid finds each kind of damage. promise: "Checks every invariant of src/heap/heap.c" */
static void test_validity(void **state) {
    init_bay(desc_of_trays());
    kolk_heap_alloc(&heap, 8);
    kolk_heap_alloc(&heap, 8);
    kolk_fixed_tray_ *keys = heap.fixed->trays;
    keys->peak--; /* F4 */
    assert_false(kolk_heap_is_valid(&heap));
    keys->peak++;
    keys->count--; /* F3 */
    assert_false(kolk_heap_is_valid(&heap));
    keys->count++;
    keys->free[1][0] ^= 2; /* F2 */
    assert_false(kolk_heap_is_valid(&heap));
    keys->free[1][0] ^= 2;
    keys->inverse += 2; /* F1 */
    assert_false(kolk_heap_is_valid(&heap));
    keys->inverse -= 2;
    keys[1].blocks -= 16; /* F1 */
    assert_false(kolk_heap_is_valid(&heap));
    keys[1].blocks += 16;
    end_bay();
}

/* Under AddressSanitizer, only live blocks may be touched, and all of the memory after deinit.
 * promise: "free blocks must not be touched" */
static void test_poison(void **state) {
#if UNDER_ASAN
    extern int __asan_address_is_poisoned(void const volatile *);
    kolk_heap_desc desc = desc_of_trays();
    init_bay(desc);
    unsigned char *block = kolk_heap_alloc(&heap, 8);
    assert_false(__asan_address_is_poisoned(block));
    assert_true(__asan_address_is_poisoned(block + 32));
    kolk_heap_free(&heap, block);
    assert_true(__asan_address_is_poisoned(block));
    assert_ptr_equal(kolk_heap_alloc(&heap, 8), block);
    kolk_heap_reset(&heap);
    assert_true(__asan_address_is_poisoned(block));
    memset(&heap, 0, sizeof heap); /* forgotten: another one may begin there */
    assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
    end_bay();
    memset(memory, 0, sizeof memory);
#else
    skip();
#endif
}

/* A class's block may be freed while its memory is corrupted up to the block: records and bits lie in front of it. */
static void test_overflow_reaches_blocks_only(void **state) {
    init_bay(desc_of_trays());
    unsigned char *first = kolk_heap_alloc(&heap, 32);
    for (unsigned n = 0; n < 3; n++) kolk_heap_alloc(&heap, 1000);
    if (!UNDER_ASAN) memset(first, 0xff, (size_t)(memory + sizeof memory - first));
    assert_true(kolk_heap_is_valid(&heap));
    kolk_heap_free(&heap, first);
    end_bay();
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

static void test_statistics(void **state) {
    init_bay(desc_of_trays());
    kolk_heap_class_stats of;
    kolk_stats stats;
    void *block = kolk_heap_alloc(&heap, 10);
    kolk_heap_alloc(&heap, 20);
    kolk_heap_free(&heap, block);
    assert_true(kolk_heap_stats_of_class(&heap, 0, &of));
    assert_string_equal(of.stats.name, "keys");
    assert_int_equal(of.stats.count, 1);
    assert_int_equal(of.stats.peak, 2);
    assert_int_equal(of.stats.capacity, 100);
    assert_int_equal(of.stats.object_size, 32);
    assert_int_equal(of.stats.bytes_committed, 3200);
    assert_int_equal(of.stats.bytes_reserved, 3200);
    assert_int_equal(of.asked, 30);
    assert_int_equal(of.given, 64);
    assert_true(kolk_heap_stats_of_class(&heap, 1, &of));
    assert_string_equal(of.stats.name, "bay");
    assert_false(kolk_heap_stats_of_class(&heap, 4, &of));
    kolk_heap_stats(&heap, &stats);
    assert_string_equal(stats.name, "bay");
    assert_int_equal(stats.capacity, 125);
    assert_int_equal(stats.bytes_committed, sizeof memory);
    end_bay();
}

static void collect(const char *text, size_t length, void *context) {
    strncat(context, text, length);
}

/* Each tray has a row as long as its memory can be read, also when the heap was not ended. */
static void test_listed(void **state) {
    skip_on_windows(); /* no MAP_FIXED */
    if (!(kolk_features() & KOLK_HAS_DIAGNOSTICS)) skip();
    static char text[8192];
    size_t size = (sizeof memory + 4095) / 4096 * 4096;
    kolk_heap_desc desc = desc_of_trays();
    desc.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(desc.memory != MAP_FAILED);
    desc.memory_size = size;
    assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
    kolk_heap_alloc(&heap, 10);
    kolk_stats_write(KOLK_STATS_TEXT, collect, text);
    assert_non_null(strstr(text, "keys"));
    assert_non_null(strstr(text, "bay"));
    kolk_tools_show_(desc.memory, size);
    memset(desc.memory, 0x41, size); /* used for something else, although the heap has not ended */
    *text = 0;
    kolk_stats_write(KOLK_STATS_TEXT, collect, text);
    assert_null(strstr(text, "keys"));
    assert_null(strstr(text, "bay"));
    munmap(desc.memory, size);
    *text = 0;
    kolk_stats_write(KOLK_STATS_TEXT, collect, text);
    assert_null(strstr(text, "keys"));
    assert_null(strstr(text, "bay"));
    assert_true(mmap(desc.memory, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                desc.memory);
    memset(&heap, 0, sizeof heap); /* forgotten without a deinit */
    assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
    end_bay();
    munmap(desc.memory, size);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_bad_descriptors),
        TEST(test_sizes_of_memory),
        TEST(test_lowest_first),
        TEST(test_full_trays),
        TEST(test_resizing),
        TEST(test_walk_behind_no_block),
        TEST(test_on_full),
        TEST(test_misuse),
        TEST(test_shrinking),
        TEST(test_misuse_without_names),
        TEST(test_validity),
        TEST(test_poison),
        TEST(test_statistics),
        TEST(test_listed),
        TEST(test_overflow_reaches_blocks_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
