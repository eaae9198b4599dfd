/* runs: not:qemu */
/* Heaps inside heaps: who ends when, functions that are called at the end, and limits that add up. */
#include "../help/test.h"

#include "../help/threads.h"
#include "heap_test.h"

#include <sys/mman.h>

static kolk_heap root, left, right, deep;
static char order[4000]; /* what happened, a letter for each function that was called */

static void note(void *letter) {
    size_t length = strlen(order);
    if (length + 1 < sizeof order) order[length] = *(const char *)letter;
}

static void note_on_end(kolk_heap *heap, const char *letters) {
    for (; *letters; letters++) assert_true(kolk_heap_on_end(heap, note, (void *)(uintptr_t)letters));
}

static void begin(kolk_heap *heap, kolk_heap *parent, uint64_t limit) {
    assert_int_equal(kolk_heap_init(heap, &(kolk_heap_desc){.name = "a heap", .parent = parent, .limit = limit}),
                     KOLK_OK);
}

static void begin_family(uint64_t limit) {
    memset(order, 0, sizeof order);
    begin(&root, NULL, limit);
    begin(&left, &root, 0);
    begin(&right, &root, limit / 2);
    begin(&deep, &left, 0);
    note_on_end(&root, "ab");
    note_on_end(&left, "lm");
    note_on_end(&right, "r");
    note_on_end(&deep, "d");
}

static void assert_ended(const kolk_heap *heap) {
    assert_true(all_bytes_are(heap, sizeof *heap, 0));
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

/* promise: "One deinit frees a whole heap, and all heaps", "A heap may live inside another one (`parent`)", "children
 * end ... block of its parent", "heaps inside it, whose structs become all zero"; README.md "one call frees
 * them all" */
static void test_end_of_all(void **state) {
    begin_family(0);
    assert_non_null(kolk_heap_alloc(&deep, 100));
    kolk_heap_deinit(&root);
    assert_string_equal(order, "rdmlba"); /* children before parents, the newest first */
    assert_ended(&left);
    assert_ended(&right);
    assert_ended(&deep);
    assert_null(kolk_heap_alloc(&deep, 100));
    kolk_heap_deinit(&deep); /* does nothing */
}

static void test_end_of_some(void **state) {
    begin_family(0);
    kolk_heap_deinit(&left);
    assert_string_equal(order, "dml");
    assert_ended(&deep);
    assert_non_null(kolk_heap_alloc(&right, 100));
    begin(&left, &root, 0);
    note_on_end(&left, "n");
    kolk_heap_deinit(&root);
    assert_string_equal(order, "dmlnrba");
}

/* A reset ends the children, but not the heap itself. promise: "limits of all heaps inside which it lives" */
static void test_reset(void **state) {
    begin_family(0);
    void *block = kolk_heap_alloc(&root, 100);
    kolk_heap_reset(&root);
    assert_string_equal(order, "rdmlba");
    assert_ended(&left);
    assert_false(kolk_heap_is_live(&root, block));
    note_on_end(&root, "z");
    assert_non_null(kolk_heap_alloc(&root, 100));
    end_heap(&root);
    assert_string_equal(order, "rdmlbaz");
}

/* There is no recursion: a hundred thousand heaps, each inside the one before, end with the first one. */
static void test_deep_tree(void **state) {
    unsigned depth = SLOW_CALLS ? 5000 : 100000;
    kolk_heap *heaps = (kolk_heap *)calloc(depth, sizeof *heaps);
    assert_non_null(heaps);
    begin(&root, NULL, 0);
    for (unsigned n = 0; n < depth; n++) begin(&heaps[n], n ? &heaps[n - 1] : &root, 0);
    end_heap(&root);
    assert_true(all_bytes_are(heaps, depth * sizeof *heaps, 0));
    free(heaps);
}

/* The storage of a child's struct is gone, or used for something else: the child ends, its struct is not touched. */
static void test_lost_child(void **state) {
    kolk_heap *gone = (kolk_heap *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(gone != MAP_FAILED);
    begin_family(0);
    begin(gone, &right, 0);
    note_on_end(gone, "g");
    for (unsigned n = 0; n < 1000; n++) assert_non_null(kolk_heap_alloc(&left, 1000)); /* it has classes */
    munmap(gone, 4096);
    memset(&left, 0xee, sizeof left);
    kolk_heap_deinit(&root);
    assert_string_equal(order, "grdmlba");
    assert_true(all_bytes_are(&left, sizeof left, 0xee));
    memset(&left, 0, sizeof left);
}

/* So many that one look does not show all of them: some are lost, some have functions, classes or children. Their
 * structs may lie in blocks of the parent. promise: "children end ... block of its parent" */
static void test_many_children(void **state) {
    enum { MANY = 90 };
    static kolk_heap in_place[MANY], grandchild;
    kolk_heap *children[MANY], *pages[MANY];
    for (unsigned kinds = 0; kinds < 3; kinds++) {
        memset(order, 0, sizeof order);
        begin(&root, NULL, 0);
        for (unsigned n = 0; n < MANY; n++) {
            void *lost = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            assert_true(lost != MAP_FAILED);
            pages[n] = (kolk_heap *)lost;
            children[n] = kinds == 0   ? &in_place[n]
                          : kinds == 1 ? (kolk_heap *)kolk_heap_alloc(&root, sizeof(kolk_heap))
                          : n % 3      ? &in_place[n]
                                       : pages[n];
            begin(children[n], &root, 0);
            assert_non_null(kolk_heap_alloc(children[n], 100));
            if (n % 20 == 7) note_on_end(children[n], "f");
            if (n == 40) begin(&grandchild, children[n], 0);
        }
        for (unsigned n = 0; n < MANY; n += 6)
            if (kinds == 2) munmap(pages[n], 4096);
        kolk_heap_reset(&root);
        for (unsigned n = 0; n < MANY; n++)
            if (kinds == 0 || (kinds == 2 && (n % 3 || n % 6))) assert_ended(children[n]);
        assert_ended(&grandchild);
        assert_string_equal(order, "fffff");
        assert_null(root.root->child);
        for (unsigned n = 0; n < MANY; n++)
            if (kinds < 2 || n % 6) munmap(pages[n], 4096);
        end_heap(&root);
    }
}

static void test_bad_parent(void **state) {
    kolk_heap heap, ended = {0};
    memset(&heap, 0xee, sizeof heap);
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.parent = &ended}), KOLK_BAD_PARENT);
    assert_ended(&heap);
    assert_false(kolk_heap_on_end(&heap, note, NULL));
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static unsigned called;

static void count_down(void *number) {
    assert_int_equal((uintptr_t)number, --called);
}

/* As many functions as anybody wants, in reverse order. promise: "Calls function(context) ... called then" */
static void test_many_functions(void **state) {
    begin(&root, NULL, 0);
    for (unsigned round = 0; round < 3; round++)
        for (unsigned many = 1; many < 3000; many = many * 3 / 2 + 1) {
            uint32_t leaf = root.root->ends_leaf;
            for (called = 0; called < many; called++)
                assert_true(kolk_heap_on_end(&root, count_down, (void *)(uintptr_t)called));
            kolk_heap_reset(&root);
            assert_int_equal(called, 0);
            assert_int_equal(root.root->ends_leaf, leaf);
        }
    end_heap(&root);
}

/* A function may use the heap, add functions, and make children, which end before the function's heap does. */
static void use_the_heap(void *unused) {
    note((void *)(uintptr_t) "u");
    char *block = (char *)kolk_heap_alloc(&root, 1000);
    assert_non_null(block);
    kolk_heap_free(&root, block);
    begin(&deep, &root, 0);
    note_on_end(&deep, "d");
    note_on_end(&root, "x");
}

static void test_functions_that_use_the_heap(void **state) {
    memset(order, 0, sizeof order);
    begin(&root, NULL, 0);
    assert_true(kolk_heap_on_end(&root, use_the_heap, NULL));
    kolk_heap_deinit(&root);
    assert_string_equal(order, "udx");
    assert_ended(&deep);
}

/* The function reads a block that is alive until all functions have been called. */
static void read_block(void *block) {
    assert_string_equal((const char *)block, "still here");
}

static void test_blocks_outlive_functions(void **state) {
    begin(&root, NULL, 0);
    begin(&left, &root, 0);
    char *block = (char *)kolk_heap_alloc(&root, 20);
    strcpy(block, "still here");
    assert_true(kolk_heap_on_end(&left, read_block, block));
    assert_true(kolk_heap_on_end(&root, read_block, block));
    kolk_heap_deinit(&root);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

static uint64_t fill_heap(kolk_heap *heap, size_t size) {
    uint64_t bytes = 0;
    for (void *block; (block = kolk_heap_alloc(heap, size));) bytes += kolk_heap_usable_size(heap, block);
    return bytes;
}

static void assert_family_is_valid(void) {
    assert_true(kolk_heap_is_valid(&root) && kolk_heap_is_valid(&left) && kolk_heap_is_valid(&right) &&
                kolk_heap_is_valid(&deep));
}

/* What a heap takes counts towards its own limit and those above it, and is given back when it ends or is reset. */
static void test_limits(void **state) {
    static const size_t sizes[] = {50, 1000, 20000, 400000};
    enum { LIMIT = 4 << 20 };
    for (unsigned s = 0; s < LENGTH_OF(sizes); s++) {
        size_t size = sizes[s];
        begin_family(LIMIT);
        uint64_t of_right = fill_heap(&right, size), of_deep = fill_heap(&deep, size), of_root = fill_heap(&root, size);
        assert_in_range(of_right, LIMIT / 2 - 2 * size - LIMIT / 10, LIMIT / 2);
        assert_in_range(of_right + of_deep, LIMIT - 3 * size - LIMIT / 8, LIMIT);
        assert_in_range(of_right + of_deep + of_root, 1, LIMIT);
        assert_family_is_valid();
        kolk_heap_deinit(&right);
        assert_true(fill_heap(&deep, size) >= LIMIT / 4);
        begin(&right, &root, 0);
        assert_family_is_valid();
        kolk_heap_reset(&left); /* ends `deep` */
        begin(&deep, &left, 0);
        assert_true(fill_heap(&right, size) >= LIMIT / 2);
        assert_family_is_valid();
        kolk_heap_deinit(&root);
    }
}

/* The class's addresses follow from the least limit. promise: "a class gets at most 2.2 times the limit" */
static void test_addresses_of_a_child(void **state) {
    begin(&root, NULL, 1 << 20);
    begin(&left, &root, 0);
    leave_nursery(&left);
    assert_in_range(left.inside->space_size, 1, (uint64_t)left.n_classes * (1 << 20) * 22 / 10);
    kolk_heap_deinit(&root);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4 };

/* Children of one heap may begin and end in several threads at once. */
static void *begin_and_end_children(void *unused) {
    for (unsigned n = 0; n < (SLOW ? 300u : 3000u); n++) {
        kolk_heap heap, child;
        REQUIRE(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "request", .parent = &root}) == KOLK_OK);
        REQUIRE(kolk_heap_init(&child, &(kolk_heap_desc){.name = "part", .parent = &heap}) == KOLK_OK);
        for (unsigned i = 0; i < 10; i++) REQUIRE(kolk_heap_alloc(&child, 10 + 90 * i));
        if (n % 2) kolk_heap_deinit(&child);
        kolk_heap_deinit(&heap);
    }
    return NULL;
}

static void test_threads(void **state) {
    begin(&root, NULL, 10 << 20);
    run_threads(THREADS, begin_and_end_children, NULL, 0);
    assert_null(root.root->child);
    assert_int_equal(kolk_budget_used(&root.root->own), 0);
    end_heap(&root);
}

int main(void) {
    END_IF_IT_HANGS();
    if (sizeof(void *) < 8) return 0; /* there are no heaps on 32-bit machines */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_all),
        cmocka_unit_test(test_end_of_some),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_deep_tree),
        cmocka_unit_test(test_lost_child),
        cmocka_unit_test(test_many_children),
        cmocka_unit_test(test_bad_parent),
        cmocka_unit_test(test_many_functions),
        cmocka_unit_test(test_functions_that_use_the_heap),
        cmocka_unit_test(test_blocks_outlive_functions),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_addresses_of_a_child),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
