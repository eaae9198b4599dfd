/* runs: not:qemu not:wine wraps: help/system_calls.h */
/* The behaviour of a heap when the system refuses memory: each call that can fail does so, alone or together with all
 * later ones. The heap returns NULL or KOLK_NO_MEMORY, loses nothing, and keeps its contents. */
#include "../help/system_calls.h"

#include "../help/child.h"
#include "../help/threads.h"
#include "heap_test.h"

#include <sys/resource.h>

enum { BLOCKS = 18 };

static const size_t sizes[] = {10, 100, 1000, 20000, 100000, 270000};

static const kolk_heap_class trays[] = {{.size = 100, .capacity = 10}, {.size = 30000, .max_capacity = 20}};

typedef struct held {
    unsigned char *at;
    size_t size;
} held;

static void check(const held *blocks, unsigned n) {
    for (unsigned i = 0; i < n; i++) assert_true(all_bytes_are(blocks[i].at, blocks[i].size, (unsigned char)i));
}

static unsigned fill(kolk_heap *heap, held *blocks) {
    unsigned n = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        size_t size = sizes[i % LENGTH_OF(sizes)];
        unsigned char *at = (unsigned char *)(i % 3 ? kolk_heap_alloc(heap, size) : kolk_heap_alloc_zeroed(heap, size));
        if (!at) continue;
        blocks[n] = (held){at, size};
        memset(at, (int)n++, size);
    }
    return n;
}

static void resize(kolk_heap *heap, held *blocks, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        size_t size = blocks[i].size * 2 + 50;
        unsigned char *at = (unsigned char *)kolk_heap_realloc(heap, blocks[i].at, size);
        if (!at) continue;
        blocks[i] = (held){at, size};
        assert_true(all_bytes_are(at, (size - 50) / 2, (unsigned char)i));
        memset(at, (int)i, size);
    }
}

/* Runs one life of a heap whose n-th system call is refused. Returns false if there were fewer calls. */
static bool live_with_refusal(const kolk_heap_desc *desc, unsigned nth, bool for_ever) {
    kolk_heap heap;
    static held blocks[BLOCKS];
    kolk_leaves_end_();
    long pages = address_space();
    refuse(nth, for_ever);
    kolk_status status = kolk_heap_init(&heap, desc);
    if (status != KOLK_OK) {
        assert_int_equal(status, KOLK_NO_MEMORY);
        assert_true(all_bytes_are(&heap, sizeof heap, 0));
        kolk_leaves_end_();
        assert_int_equal(address_space(), pages);
        return true;
    }
    unsigned n = fill(&heap, blocks);
    check(blocks, n);
    assert_int_equal(stats_of(&heap).count, n);
    assert_true(kolk_heap_is_valid(&heap));
    resize(&heap, blocks, n);
    check(blocks, n);
    kolk_heap_trim(&heap);
    bool all = os.calls < nth;
    assert_true(all || for_ever || n >= BLOCKS - LENGTH_OF(sizes));
    refuse(0, false);
    assert_true(kolk_heap_is_valid(&heap));
    assert_int_equal(stats_of(&heap).count, n);
    check(blocks, n);
    for (unsigned i = 0; i < n; i++) kolk_heap_free(&heap, blocks[i].at);
    assert_int_equal(fill(&heap, blocks), BLOCKS); /* memory is available again */
    end_heap(&heap);
    kolk_leaves_end_();
    assert_int_equal(address_space(), pages);
    return !all;
}

static void test_each_call(void **state) {
    (void)state;
    static const kolk_heap_desc descs[] = {
        {.name = "own"},
        {.name = "limited", .limit = 100 << 20},
        {.name = "trays", .classes = trays, .n_classes = LENGTH_OF(trays)},
        {.name = "debug", .debug = "fill,guard,quarantine=3"},
    };
    if (sizeof(void *) < 8) skip();
    unsigned apart = steps_apart();
    for (size_t d = 0; d < LENGTH_OF(descs); d++)
        for (unsigned for_ever = 0; for_ever < 2; for_ever++) {
            unsigned nth = first_step();
            while (live_with_refusal(&descs[d], nth, for_ever)) nth += apart;
            print_message("%s, %s: fewer than %u calls\n", descs[d].name, for_ever ? "from then on" : "once", nth);
            assert_true(nth > 20);
        }
}

/* Leaves that another heap has returned are enough for all that a small heap does. */
static void test_a_small_heap_makes_no_calls(void **state) {
    (void)state;
    if (sizeof(void *) < 8) skip();
    for (int again = 0; again < 3; again++) {
        kolk_heap small;
        refuse(again == 0 ? 0 : 1, again > 0);
        assert_int_equal(kolk_heap_init(&small, &(kolk_heap_desc){.name = "request"}), KOLK_OK);
        for (size_t size = 1; size <= 5000; size += 100) assert_non_null(kolk_heap_alloc(&small, size));
        kolk_heap_deinit(&small);
        if (again > 0) assert_int_equal(os.calls, 0);
    }
    refuse(0, false);
}

/* ---- A thread that gets no record -------------------------------------------------------------------------------- */

static kolk_heap heap;
static void *block;

static void *free_without_record(void *unused) {
    (void)unused;
    refuse(1, true);
    assert_null(kolk_heap_alloc(&heap, 100));
    assert_int_equal(kolk_heap_usable_size(&heap, block), 112);
    kolk_heap_free(&heap, block);
    assert_false(kolk_heap_is_live(&heap, block));
    notes taken;
    begin_notes(&taken);
    kolk_heap_free(&heap, block);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_DOUBLE_FREE);
    kolk_set_failure_handler(NULL, NULL);
    refuse(0, false);
    return NULL;
}

static void test_no_record(void **state) {
    (void)state;
    static const char *const settings[] = {NULL, "fill,guard,quarantine=3"};
    for (unsigned n = 0; n < LENGTH_OF(settings); n++) {
        make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = settings[n]});
        block = kolk_heap_alloc(&heap, 100);
        run_thread(free_without_record, NULL);
        assert_int_equal(stats_of(&heap).count, 0);
        end_heap(&heap);
    }
}

/* ---- Little address space ---------------------------------------------------------------------------------------- */

static size_t space;

/* The heap returns NULL in the end, and works again after a free. */
static void use_little_space(void *unused) {
    (void)unused;
    static void *blocks[100000];
    struct rlimit limit = {space, space};
    kolk_leaves_end_();
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    for (size_t size = 100; size < 1000000; size *= 80) { /* 100, 8,000 and 640,000 */
        REQUIRE(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "little"}) == KOLK_OK);
        for (unsigned round = 0; round < 2; round++) {
            size_t n = 0, given = 0;
            while (n < LENGTH_OF(blocks) && (blocks[n] = kolk_heap_alloc(&heap, size))) {
                given += kolk_heap_usable_size(&heap, blocks[n]);
                if (n++ % 10 == 0) *(char *)blocks[n - 1] = 1; /* not all, because the system is slow to find pages */
            }
            REQUIRE(kolk_heap_is_valid(&heap));
            if (n < LENGTH_OF(blocks)) REQUIRE(given > space / 100);
            while (n) kolk_heap_free(&heap, blocks[--n]);
        }
        kolk_heap_deinit(&heap);
    }
}

/* promise: "nurseries, but get no large blocks" */
static void test_little_space(void **state) {
    (void)state;
    static const size_t spaces[] = {1 << 30, 500 << 20, 300 << 20, 200 << 20};
    if (SLOW || sizeof(void *) < 8) skip();
    skip_if_emulated();
    for (unsigned n = 0; n < LENGTH_OF(spaces); n += does_a_part() ? 3 : 1) {
        char text[1000];
        space = spaces[n];
        int status = run_child(use_little_space, NULL, text, sizeof text);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("%zu bytes: %s", space, text);
    }
}

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_each_call, accept_again),
                                       cmocka_unit_test_teardown(test_a_small_heap_makes_no_calls, accept_again),
                                       cmocka_unit_test_teardown(test_no_record, accept_again),
                                       cmocka_unit_test(test_little_space)};
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
