/* runs: not:qemu not:wine with: src wraps: heap/counted_memory.h malloc posix_memalign realloc */
/* Large blocks of a heap: their pages, their hash table, and blocks that come from malloc. Reads KOLK_TEST_SEED and
 * KOLK_TEST_OPS from the environment. */
#include "../help/test.h"

#include "heap/large.h"

#include "../help/threads.h"
#include "counted_memory.h"

#define MIB ((size_t)1 << 20)

static kolk_large_ large;
static size_t page;

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

static bool malloc_refuses;
static size_t last_malloc;

void *__real_malloc(size_t size);
int __real_posix_memalign(void **start, size_t align, size_t size);
void *__real_realloc(void *start, size_t size);
void *__wrap_malloc(size_t size);
int __wrap_posix_memalign(void **start, size_t align, size_t size);
void *__wrap_realloc(void *start, size_t size);

void *__wrap_malloc(size_t size) {
    void *start = malloc_refuses ? NULL : __real_malloc(size);
    if (start) memset(start, 0xee, size); /* malloc's memory may be dirty */
    last_malloc = size;
    return start;
}

int __wrap_posix_memalign(void **start, size_t align, size_t size) {
    last_malloc = size;
    return malloc_refuses ? 12 : __real_posix_memalign(start, align, size);
}

void *__wrap_realloc(void *start, size_t size) {
    last_malloc = size;
    return malloc_refuses ? NULL : __real_realloc(start, size);
}

static void *made(size_t align, size_t size) {
    unsigned char *block = (unsigned char *)kolk_large_alloc_(&large, align, size);
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % align, 0);
    assert_true(kolk_large_size_(&large, block) >= size);
    return block;
}

static void assert_gone(void) {
    assert_true(kolk_large_is_valid_(&large));
    kolk_large_end_(&large);
    assert_int_equal(memory.held, 0);
    const kolk_large_ zero = {0};
    assert_memory_equal(&large, &zero, sizeof large);
}

static int begin(void **state) {
    page = kolk_memory_page_();
    memset(&large, 0, sizeof large);
    memset(&memory, 0, sizeof memory);
    malloc_refuses = false;
    return 0;
}

/* ---- One block --------------------------------------------------------------------------------------------------- */

/* No address space is wasted, unless the system cannot release a part of a mapping. */
static void test_alignment(void **state) {
    for (int no_trim = 0; no_trim < 2; no_trim++)
        for (size_t align = 1; align <= 64 * MIB; align *= 2) {
            void *blocks[5];
            memory.no_trim = no_trim;
            for (size_t i = 0; i < LENGTH_OF(blocks); i++) {
                blocks[i] = made(align, 3 * page + i);
                assert_true(all_bytes_are((unsigned char *)blocks[i], 3 * page + i, 0));
                memset(blocks[i], 0xaa, kolk_large_size_(&large, blocks[i]));
            }
            size_t surplus = no_trim && align > page ? align - page : 0;
            assert_int_equal(large.bytes, 5 * (4 * page + surplus) - page);
            assert_true(kolk_large_is_valid_(&large));
            for (size_t i = 0; i < LENGTH_OF(blocks); i++) assert_true(kolk_large_free_(&large, blocks[i]));
        }
    assert_gone();
}

static void test_other_pointers_are_refused(void **state) {
    char foreign;
    assert_false(kolk_large_free_(&large, &foreign)); /* there is no table yet */
    assert_null(kolk_large_locate_(&large, &foreign, &(size_t){0}));
    assert_null(kolk_large_next_(&large, 0));
    char *block = (char *)made(16, 10 * page), *freed = (char *)made(16, page);
    assert_true(kolk_large_free_(&large, freed));
    void *const wrong[] = {NULL, &foreign, block + 1, block + page, block - page, block + 10 * page, &large, freed};
    for (size_t i = 0; i < LENGTH_OF(wrong); i++) {
        assert_int_equal(kolk_large_size_(&large, wrong[i]), 0);
        assert_false(kolk_large_free_(&large, wrong[i]));
        assert_null(kolk_large_resize_(&large, wrong[i], kolk_large_size_(&large, wrong[i]), 20 * page));
        assert_true(large.count == 1 && large.bytes == 10 * page && large.failed == 0);
    }
    assert_true(kolk_large_free_(&large, block));
    assert_false(kolk_large_free_(&large, block));
    assert_gone();
}

static void test_too_large(void **state) {
    void *block = made(16, page);
    const size_t sizes[] = {SIZE_MAX,
                            SIZE_MAX - 1,
                            SIZE_MAX - page,
                            (size_t)PTRDIFF_MAX,
                            (size_t)PTRDIFF_MAX + 1,
                            (size_t)PTRDIFF_MAX - page};
    const size_t aligns[] = {1, 16, 2 * page, SIZE_MAX / 4 + 1, SIZE_MAX / 2 + 1};
    size_t failed = 0;
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        for (size_t k = 0; k < LENGTH_OF(aligns); k++) {
            assert_null(kolk_large_alloc_(&large, aligns[k], sizes[i]));
            assert_int_equal(large.failed, ++failed);
        }
        assert_null(kolk_large_resize_(&large, block, kolk_large_size_(&large, block), sizes[i]));
        assert_int_equal(large.failed, ++failed);
    }
    assert_null(kolk_large_alloc_(&large, SIZE_MAX / 2 + 1, 1));
    assert_int_equal(large.failed, ++failed);
    assert_int_equal(kolk_large_size_(&large, block), page);
    assert_true(large.count == 1 && large.bytes == page);
    assert_gone();
}

/* ---- Resizing ---------------------------------------------------------------------------------------------------- */

/* Returns the byte that the block holds at this place. */
static unsigned char stamp(uint64_t block, size_t place) {
    return (unsigned char)((block * 131 + place / 512 * 7 + place % 251) | 1);
}

static void write_stamps(unsigned char *bytes, size_t from, size_t size, uint64_t block) {
    for (size_t i = from; i < size; i++) bytes[i] = stamp(block, i);
}

static bool has_stamps(const unsigned char *bytes, size_t size, uint64_t block) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != stamp(block, i)) return false;
    return true;
}

/* If the number of pages stays the same, nothing moves and no system call is made. */
static void test_resize_within_pages(void **state) {
    void *block = made(16, 2 * page);
    memory.calls = memory.resized = 0;
    assert_ptr_equal(kolk_large_resize_(&large, block, kolk_large_size_(&large, block), page + 1), block);
    assert_true(memory.calls == 0 && memory.resized == 0);
    assert_gone();
}

/* ---- No memory --------------------------------------------------------------------------------------------------- */

/* Refuses each call in turn, with and without a table that must grow. */
static void test_alloc_without_memory(void **state) {
    size_t failed = 0;
    for (unsigned count = 0; count < 400; count++) {
        void *block = NULL;
        for (unsigned n = 1; !block; n++) {
            size_t held = memory.held;
            refuse_call(n);
            block = kolk_large_alloc_(&large, n % 2 ? 16 : 4 * page, page);
            if (block) break;
            assert_int_equal(memory.held, held);
            assert_int_equal(large.failed, ++failed);
            assert_int_equal(large.count, count);
        }
        refuse_call(0);
        assert_int_equal(kolk_large_size_(&large, block), page);
        if (count % 16 == 0) assert_true(kolk_large_is_valid_(&large));
    }
    /* each alloc makes two calls for its pages; five of them make two more for a larger table */
    assert_int_equal(failed, 400 * 2 + 5 * 2);
    assert_gone();
}

static void test_resize_without_memory(void **state) {
    memory.no_resize = true;
    for (size_t size = page; size <= 9 * page; size += 2 * page) {
        unsigned char *block = (unsigned char *)made(16, 5 * page);
        size_t failed = large.failed;
        bool stays = size == 3 * page || size == 5 * page; /* it is more than half full */
        write_stamps(block, 0, 5 * page, 1);
        refuse_call(1);
        assert_ptr_equal(kolk_large_resize_(&large, block, kolk_large_size_(&large, block), size),
                         stays ? block : NULL);
        refuse_call(0);
        assert_true(large.failed == failed + !stays && large.moving == 0);
        assert_int_equal(kolk_large_size_(&large, block), 5 * page);
        assert_true(has_stamps(block, 5 * page, 1));
        assert_true(kolk_large_is_valid_(&large));
    }
    assert_gone();
}

/* ---- Many blocks ------------------------------------------------------------------------------------------------- */

#define MOST 3000u

typedef struct item {
    unsigned char *block;
    size_t size;
    uint64_t number;
} item;

/* Marks both ends of each page, because filling pages would take too long. */
static void mark(const item *it) {
    for (size_t at = 0; at < it->size; at += page) memcpy(it->block + at, &it->number, sizeof it->number);
    memcpy(it->block + it->size - sizeof it->number, &it->number, sizeof it->number);
}

static bool is_marked(const item *it, size_t size) {
    for (size_t at = 0; at < size; at += page)
        if (memcmp(it->block + at, &it->number, sizeof it->number) != 0) return false;
    return true;
}

static void random_step(kolk_large_ *in, item *it, uint64_t *random, size_t most_pages) {
    size_t size = random_below(random, (uint32_t)(most_pages * page)) + 1;
    uint32_t choice = random_below(random, 8);
    if (!it->block) {
        size_t align = choice ? 16 : (size_t)16 << random_below(random, 16);
        it->block = (unsigned char *)kolk_large_alloc_(in, align, size);
        REQUIRE(it->block && (uintptr_t)it->block % align == 0);
        if (choice % 2) kolk_large_zero_(in, it->block, size);
        if (choice % 2 || !in->keeps) REQUIRE(*it->block == 0 && it->block[size - 1] == 0);
        it->number = next_random(random);
    } else if (choice < 5) {
        REQUIRE(is_marked(it, it->size));
        REQUIRE(kolk_large_free_(in, it->block));
        it->block = NULL;
        return;
    } else {
        it->block = (unsigned char *)kolk_large_resize_(in, it->block, it->size, size);
        REQUIRE(it->block);
        REQUIRE(is_marked(it, size < it->size ? size : it->size));
    }
    it->size = kolk_large_size_(in, it->block);
    REQUIRE(it->size >= size);
    mark(it);
}

static int compare_blocks(const void *one, const void *other) {
    uintptr_t a = (uintptr_t)((const item *)one)->block, b = (uintptr_t)((const item *)other)->block;
    return (a > b) - (a < b);
}

/* The table must contain exactly the live blocks, in the order of their addresses. Dead items are sorted to the
 * front. */
static void compare_with_model(item *items) {
    size_t n = 0, inside = 0;
    qsort(items, MOST, sizeof *items, compare_blocks);
    while (n < MOST && !items[n].block) n++;
    assert_int_equal(large.count, MOST - n);
    void *at = kolk_large_next_(&large, 0);
    for (; n < MOST; n++, at = kolk_large_next_(&large, (uintptr_t)at)) {
        assert_ptr_equal(at, items[n].block);
        assert_ptr_equal(kolk_large_locate_(&large, items[n].block + items[n].size - 1, &inside), items[n].block);
        assert_int_equal(inside, items[n].size - 1);
        assert_ptr_equal(kolk_large_locate_(&large, items[n].block, &inside), items[n].block);
        assert_int_equal(inside, 0);
        assert_ptr_not_equal(kolk_large_locate_(&large, items[n].block - 1, &inside), items[n].block);
        assert_true(kolk_large_locate_(&large, items[n].block + items[n].size, &inside) != items[n].block);
    }
    assert_null(at);
    assert_true(kolk_large_is_valid_(&large));
}

static void test_random_work(void **state) {
    static item items[MOST];
    uint64_t random = seed, steps = does_a_part() ? operations / 8 : operations;
    for (int round = 0; round < 3; round++) {
        memory.no_resize = round == 1;
        memory.no_trim = round == 2;
        large.keeps = round != 0;
        memset(items, 0, sizeof items);
        for (uint64_t n = 0; n < steps; n++) {
            /* works alternately on all items, which fills the table, and on a sixteenth of them */
            uint32_t among = n * 3 / steps % 2 ? MOST / 16 : MOST;
            random_step(&large, &items[MOST - 1 - random_below(&random, among)], &random, 6);
            if (n % 997 == 0) assert_true(kolk_large_is_valid_(&large));
            if (n % (steps / 2) == steps / 2 - 1) compare_with_model(items);
        }
        assert_true(large.failed == 0 && large.peak >= large.count && large.peak_bytes >= large.bytes);
        assert_gone();
    }
}

/* ---- Blocks from malloc ------------------------------------------------------------------------------------------ */

/* malloc is called with the exact size, so that a tool detects an access one byte beyond it.
 * promise: "each block is a malloc ... still applies" */
static void test_blocks_of_malloc(void **state) {
    large.from_malloc = true;
    for (size_t align = 1; align <= 2 * page; align *= 2) {
        unsigned char *block = (unsigned char *)made(align, 1003);
        assert_true(last_malloc == 1003 && kolk_large_size_(&large, block) == 1003);
        if (align <= 8) assert_true(all_bytes_are(block, 1003, 0xee)); /* a tool detects reads of uninitialised bytes */
        write_stamps(block, 0, 1003, align);
        block = (unsigned char *)kolk_large_resize_(&large, block, kolk_large_size_(&large, block), 5001);
        assert_true(block && last_malloc == 5001 && kolk_large_size_(&large, block) == 5001);
        assert_true(has_stamps(block, 1003, align));
        block = (unsigned char *)kolk_large_resize_(&large, block, kolk_large_size_(&large, block), 99);
        assert_true(block && last_malloc == 99 && kolk_large_size_(&large, block) == 99);
        assert_true(has_stamps(block, 99, align));
        assert_true(large.count == 1 && large.bytes == 99 && large.failed == 0);
        assert_true(kolk_large_is_valid_(&large));

        malloc_refuses = true;
        assert_null(kolk_large_resize_(&large, block, kolk_large_size_(&large, block), 100));
        assert_null(kolk_large_alloc_(&large, align, 100));
        malloc_refuses = false;
        assert_int_equal(large.failed, 2);
        large.failed = 0;
        assert_true(has_stamps(block, 99, align));
        assert_true(kolk_large_free_(&large, block));
        assert_false(kolk_large_free_(&large, block));
    }
    made(16, 100); /* AddressSanitizer reports it if it leaks */
    made(256, 100);
    size_t table = memory.held;
    assert_true(table > 0 && table < 2 * page + 2 * page); /* no pages except the table's */
    assert_gone();
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ITEMS = 100 };

/* A walk may see other threads' blocks; a thread can rely only on its own blocks. */
static void *work(void *number) {
    static item all[THREADS][ITEMS];
    item *items = all[*(uint64_t *)number];
    uint64_t random = seed + *(uint64_t *)number, steps = operations / (does_a_part() ? 32 : 4);
    size_t inside;
    for (uint64_t n = 0; n < steps; n++) {
        item *it = &items[random_below(&random, ITEMS)];
        random_step(&large, it, &random, 4);
        if (!it->block) continue;
        if (n % 64 == 0) REQUIRE(kolk_large_locate_(&large, it->block + page - 1, &inside) == it->block);
        if (n % 64 == 0) REQUIRE((uintptr_t)kolk_large_next_(&large, (uintptr_t)it->block - 1) == (uintptr_t)it->block);
        REQUIRE(!kolk_large_free_(&large, it->block + 1));
    }
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].block && i % 2) REQUIRE(kolk_large_free_(&large, items[i].block));
    return NULL;
}

static void test_threads(void **state) {
    uint64_t numbers[THREADS];
    large.keeps = true;
    for (uint64_t i = 0; i < THREADS; i++) numbers[i] = i;
    run_threads(THREADS, work, numbers, sizeof *numbers);
    assert_true(large.failed == 0 && large.moving == 0);
    assert_true(large.count <= THREADS * ITEMS / 2);
    assert_gone();
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

/* promise: "Checks every invariant of src/heap/heap.c" */
static void test_validity(void **state) {
    kolk_large_block_ *entry = NULL;
    void *block = made(16, 3 * page);
    made(16, page);
    kolk_large_table_ *table = (kolk_large_table_ *)large.table;
    for (size_t place = 0; place < table->places; place++)
        if (table->blocks[place].start == (uintptr_t)block) entry = &table->blocks[place];
    assert_non_null(entry);
    assert_breaks(kolk_large_is_valid_, &large, large.count, 1);
    assert_breaks(kolk_large_is_valid_, &large, large.count, 3);
    assert_breaks(kolk_large_is_valid_, &large, large.peak, 1);
    assert_breaks(kolk_large_is_valid_, &large, large.bytes, before_ - page);
    assert_breaks(kolk_large_is_valid_, &large, large.peak_bytes, before_ - page);
    assert_breaks(kolk_large_is_valid_, &large, large.moving, table->places);
    assert_breaks(kolk_large_is_valid_, &large, table->places, 48);
    assert_breaks(kolk_large_is_valid_, &large, entry->start, before_ + page);
    assert_breaks(kolk_large_is_valid_, &large, entry->size, before_ + 1);
    assert_breaks(kolk_large_is_valid_, &large, entry->mapping, before_ + page);
    assert_breaks(kolk_large_is_valid_, &large, entry->mapped, before_ - page);
    assert_gone();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, abort_on_failure)

int main(void) {
    begin_random_work(60000);
    const struct CMUnitTest tests[] = {
        TEST(test_alignment),
        TEST(test_other_pointers_are_refused),
        TEST(test_too_large),
        TEST(test_resize_within_pages),
        TEST(test_alloc_without_memory),
        TEST(test_resize_without_memory),
        TEST(test_random_work),
        TEST(test_blocks_of_malloc),
        TEST(test_threads),
        TEST(test_validity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
