/* The heap and the system around it: few addresses, tools that want blocks of malloc, pages that nobody touches. */
#include "../help/test.h"

#include "heap/heap_inside.h"
#include "os/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heap_test.h"

/* ---- Few addresses ----------------------------------------------------------------------------------------------- */

/* In a child that may have this many bytes of addresses more than now: how many does an empty heap leave? */
static int test_with_addresses(size_t more) {
    static kolk_heap heap;
    char text[100] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || !fgets(text, sizeof text, file)) return 1;
    size_t most = strtoul(text, NULL, 10) * kolk_memory_page() + more;
    setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    if (kolk_memory_addresses() != most) return 2;
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = NULL}) != KOLK_OK) return 3;
    for (size_t size = 1; size <= 4 * KOLK_HEAP_LARGEST; size *= 2)
        if (!kolk_heap_alloc(&heap, size)) return 4;
    void *rest = kolk_memory_reserve(more / 4);
    return rest ? 0 : 5;
}

static void test_few_addresses(void **state) {
    (void)state;
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    for (size_t more = (size_t)64 << 20; more <= (size_t)4 << 30; more *= 2) {
        pid_t child = fork();
        if (child == 0) _exit(test_with_addresses(more));
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* ---- A heap that serves malloc ----------------------------------------------------------------------------------- */

static void test_for_malloc(void **state) {
    (void)state;
    if (sizeof(void *) < 8) skip();
    kolk_heap heap;
    setenv("KOLK_BYPASS", "1", 1);
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "level"}), KOLK_OK);
    assert_int_equal(heap.n_classes, 0);
    for (unsigned n = 0; n < 100; n++) { /* zeroed, whatever malloc had there */
        unsigned char *zeroed = (unsigned char *)kolk_heap_alloc_zeroed(&heap, 1000);
        assert_true(zeroed && all_bytes_are(zeroed, 1000, 0));
        memset(zeroed, 0xee, 1000);
        if (n % 3) kolk_heap_free(&heap, zeroed);
    }
    kolk_heap_deinit(&heap);
    assert_int_equal(kolk_heap_init_for_malloc(&heap, &(kolk_heap_desc){.name = "level"}), KOLK_OK);
    unsetenv("KOLK_BYPASS");
    assert_int_not_equal(heap.n_classes, 0);
    assert_false(heap.inside->large.from_malloc);
    void *block = kolk_heap_alloc(&heap, 100);
    assert_true(kolk_heap_class_at(&heap, block) < heap.n_classes);
    end_heap(&heap);
}

/* ---- Pages that nobody touches ----------------------------------------------------------------------------------- */

static void test_large_zeroed_is_not_touched(void **state) {
    (void)state;
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    kolk_heap heap;
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    size_t page = kolk_memory_page(), size = 100 * page + KOLK_HEAP_LARGEST;
    unsigned char *block = (unsigned char *)kolk_heap_alloc_zeroed(&heap, size), states[1];
    assert_non_null(block);
    for (size_t at = 0; at < size; at += page) {
        assert_int_equal(mincore(block + at, page, states), 0);
        assert_int_equal(states[0] & 1, 0);
    }
    assert_true(all_bytes_are(block, size, 0));
    end_heap(&heap);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_addresses),
        cmocka_unit_test(test_for_malloc),
        cmocka_unit_test(test_large_zeroed_is_not_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
