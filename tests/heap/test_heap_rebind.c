/* kolk_heap_rebind: a new on_full for an existing heap, and descriptors that it must refuse. */
#include "../help/test.h"

#include <kolk/heap.h>

static bool count(kolk_heap *heap, size_t bytes, void *context) {
    ++*(unsigned *)context;
    return false;
}

static void refuse_rebind(kolk_heap *heap, const kolk_heap_desc *desc, kolk_status with) {
    kolk_heap before = *heap;
    assert_int_equal(kolk_heap_rebind(heap, desc), with);
    assert_memory_equal(heap, &before, sizeof before);
}

static void fill(kolk_heap *heap) {
    while (kolk_heap_alloc(heap, 64)) {}
}

static void check_hooks(kolk_heap_desc desc) {
    unsigned before = 0, after = 0;
    kolk_heap heap;
    desc.name = "first";
    desc.on_full = count;
    desc.context = &before;
    assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
    fill(&heap);
    assert_int_equal(before, 1);
    char text[] = "second";
    desc.name = text;
    desc.context = &after;
    assert_int_equal(kolk_heap_rebind(&heap, &desc), KOLK_OK);
    text[0] = 'S';
    fill(&heap);
    assert_true(before == 1 && after == 1);
    kolk_stats of;
    kolk_heap_stats(&heap, &of);
    assert_string_equal(of.name, "second");
    assert_int_equal(kolk_heap_rebind(&heap, &(kolk_heap_desc){0}), KOLK_OK);
    fill(&heap);
    assert_int_equal(after, 1);
    assert_true(kolk_heap_is_valid(&heap));
    kolk_heap_deinit(&heap);
}

/* promise: "replaces on_full ... heap is all zero" */
static void test_hooks(void **state) {
    static _Alignas(64) unsigned char memory[4096];
    static const kolk_heap_class classes[] = {{.size = 64, .capacity = 10, .when_full = KOLK_HEAP_NULL}};
    check_hooks((kolk_heap_desc){.memory = memory, .memory_size = sizeof memory, .classes = classes, .n_classes = 1});
    if (sizeof(void *) < 8) return;
    check_hooks((kolk_heap_desc){.limit = 1 << 20});
    check_hooks((kolk_heap_desc){.limit = 1 << 20, .classes = classes, .n_classes = 1});
}

/* The texts of a descriptor may be gone after the init, and after a rebind. */
static void check_texts(kolk_heap_desc desc) {
    char name[] = "airport", pocket[] = "pocket", luggage[] = "luggage", debug[] = "fill";
    char *const texts[] = {name, pocket, luggage, debug};
    kolk_heap_class classes[] = {
        {.name = pocket, .size = 32, .capacity = 4}, {.name = luggage, .size = 256}, {.size = 512}};
    kolk_heap heap;
    kolk_heap_class_stats of;
    desc.name = name;
    desc.classes = classes;
    desc.n_classes = LENGTH_OF(classes);
    if (desc.memory) classes[1].capacity = classes[2].capacity = 2;
    if (!desc.memory) desc.debug = debug;
    assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
    for (int again = 0; again < 2; again++) {
        for (size_t n = 0; n < LENGTH_OF(texts); n++) memset(texts[n], 'x', strlen(texts[n]));
        for (size_t size = 32; size <= 512; size *= 4) assert_non_null(kolk_heap_alloc(&heap, size));
        assert_true(kolk_heap_stats_of_class(&heap, 0, &of));
        assert_string_equal(of.stats.name, again ? "bag" : "pocket");
        assert_true(kolk_heap_stats_of_class(&heap, 1, &of));
        assert_string_equal(of.stats.name, again ? "trunk" : "luggage");
        assert_int_equal(of.stats.debug, desc.debug ? KOLK_DEBUG_FILL : 0);
        kolk_heap_stats_of_class(&heap, 2, &of);
        assert_string_equal(of.stats.name, desc.memory ? "airport" : "airport/512");
        strcpy(name, "station");
        strcpy(pocket, "bag");
        strcpy(luggage, "trunk");
        if (!again) assert_int_equal(kolk_heap_rebind(&heap, &desc), KOLK_OK);
    }
    assert_true(kolk_heap_is_valid(&heap));
    kolk_heap_deinit(&heap);
}

static void test_texts_are_copied(void **state) {
    static _Alignas(64) unsigned char memory[4096];
    check_texts((kolk_heap_desc){.memory = memory, .memory_size = sizeof memory});
    if (sizeof(void *) == 8) check_texts((kolk_heap_desc){.limit = 1 << 20});
}

/* tests/contracts/test_all_rebinds.c has more of them. promise: "replaces on_full ... heap is all zero" */
static void test_what_is_refused(void **state) {
    static _Alignas(64) unsigned char memory[4096];
    static const kolk_heap_class classes[] = {{.size = 64, .capacity = 10}, {.size = 128, .capacity = 2}},
                                 other[] = {{.size = 64}, {.size = 144}};
    static const kolk_heap_class wider[] = {{.size = 64, .capacity = 10}, {.size = 128, .capacity = 3}},
                                 full[] = {{.size = 64, .capacity = 10},
                                           {.size = 128, .capacity = 2, .when_full = KOLK_HEAP_NULL}};
    kolk_heap heap, zero = {0};
    kolk_heap_desc fixed = {.memory = memory, .memory_size = sizeof memory, .classes = classes, .n_classes = 2};
    refuse_rebind(&zero, &fixed, KOLK_CLOSED);
    assert_int_equal(kolk_heap_init(&heap, &fixed), KOLK_OK);
    refuse_rebind(&heap, &(kolk_heap_desc){.classes = classes, .n_classes = 1}, KOLK_LAYOUT_CHANGED);
    refuse_rebind(&heap, &(kolk_heap_desc){.classes = other, .n_classes = 2}, KOLK_LAYOUT_CHANGED);
    refuse_rebind(&heap, &(kolk_heap_desc){.classes = wider, .n_classes = 2}, KOLK_LAYOUT_CHANGED);
    refuse_rebind(&heap, &(kolk_heap_desc){.classes = full, .n_classes = 2}, KOLK_LAYOUT_CHANGED);
    refuse_rebind(&heap, &(kolk_heap_desc){.n_classes = 3}, KOLK_LAYOUT_CHANGED);
    assert_int_equal(kolk_heap_rebind_abi_(&heap, &fixed, sizeof heap, KOLK_ABI + 1), KOLK_WRONG_ABI);
    kolk_heap_deinit(&heap);
    if (sizeof(void *) < 8) return;

    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.n_classes = 3}), KOLK_BAD_CLASSES);
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.classes = classes, .n_classes = 2}), KOLK_OK);
    bool is_bypassed = heap.n_classes == 0;
    if (!is_bypassed) {
        refuse_rebind(&heap, &(kolk_heap_desc){.classes = wider, .n_classes = 2}, KOLK_LAYOUT_CHANGED);
        refuse_rebind(&heap, &(kolk_heap_desc){.classes = full, .n_classes = 2}, KOLK_LAYOUT_CHANGED);
        refuse_rebind(&heap, &(kolk_heap_desc){.n_classes = 3}, KOLK_LAYOUT_CHANGED);
    }
    kolk_heap_deinit(&heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_texts_are_copied),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
