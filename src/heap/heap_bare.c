/* heap_bare.c: the inline functions of heap.h; and its other functions in freestanding builds, where all heaps lie in
 * the caller's memory. */
#include "fixed.h"

/* Emitted for other languages: in C and C++ programs they are inline. They are in this file because it sees no other
 * inline functions: mingw's gcc exports all that it sees. */
extern inline kolk_status kolk_heap_init(kolk_heap *heap, const kolk_heap_desc *desc);
extern inline kolk_status kolk_heap_rebind(kolk_heap *heap, const kolk_heap_desc *desc);

#if !KOLK_HOSTED

#include "../core/begin.h"
#include "../core/watch.h"

#include <string.h>

kolk_status kolk_heap_init_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi) {
    kolk_status status = kolk_begin_(heap, heap_size, sizeof *heap, abi, desc);
    if (status != KOLK_OK) return status;
    return desc->memory || desc->memory_size ? kolk_fixed_make_(heap, desc) : KOLK_NO_MEMORY;
}

kolk_status kolk_heap_rebind_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi) {
    kolk_status status = kolk_check_call_(heap_size, sizeof *heap, abi, desc);
    if (status != KOLK_OK) return status;
    return heap->fixed ? kolk_fixed_rebind_(heap, desc) : KOLK_CLOSED;
}

KOLK_NOINLINE_ void kolk_heap_deinit(kolk_heap *heap) {
    if (!heap->fixed || kolk_fixed_is_barred_(heap, "deinit", SITE)) return;
    memset(heap, 0, sizeof *heap);
}

KOLK_NOINLINE_ void kolk_heap_reset(kolk_heap *heap) {
    if (heap->fixed && !kolk_fixed_is_barred_(heap, "reset", SITE)) kolk_fixed_reset_(heap);
}

bool kolk_heap_on_end(kolk_heap *heap, void (*function)(void *context), void *context) {
    (void)heap, (void)function, (void)context;
    return false;
}

size_t kolk_heap_trim(kolk_heap *heap) {
    (void)heap;
    return 0;
}

void *kolk_heap_alloc_aligned(kolk_heap *heap, size_t align, size_t size) {
    if (!heap->fixed || align == 0 || align & (align - 1)) return NULL;
    return kolk_fixed_alloc_(heap, align, size);
}

void *kolk_heap_alloc(kolk_heap *heap, size_t size) {
    return heap->fixed ? kolk_fixed_alloc_(heap, 1, size) : NULL;
}

void *kolk_heap_alloc_zeroed(kolk_heap *heap, size_t size) {
    void *block = kolk_heap_alloc(heap, size);
    return block ? memset(block, 0, size) : NULL;
}

size_t kolk_heap_alloc_n(kolk_heap *heap, size_t size, void **blocks, size_t n) {
    size_t count = 0;
    while (count < n && (blocks[count] = kolk_heap_alloc(heap, size))) count++;
    return count;
}

void *kolk_heap_realloc(kolk_heap *heap, void *block, size_t size) {
    if (!heap->fixed && !block) return NULL;
    return kolk_fixed_realloc_(heap, block, size, SITE);
}

void kolk_heap_free(kolk_heap *heap, void *block) {
    if (block) kolk_fixed_free_(heap, block, SITE);
}

void kolk_heap_free_n(kolk_heap *heap, void *const *blocks, size_t n) {
    for (size_t at = 0; at < n; at++) kolk_heap_free(heap, blocks[at]);
}

size_t kolk_heap_usable_size(kolk_heap *heap, const void *block) {
    size_t size = block ? kolk_fixed_size_of_(heap, block) : 0;
    if (block && !size) kolk_fixed_refuse_(heap, block, "usable_size", SITE);
    return size;
}

bool kolk_heap_is_live(const kolk_heap *heap, const void *block) {
    return heap->fixed && kolk_fixed_size_of_(heap, block);
}

void *kolk_heap_next(const kolk_heap *heap, const void *block) {
    return heap->fixed ? kolk_fixed_next_(heap, block, SITE) : NULL;
}

bool kolk_heap_stats_of_class(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out) {
    if (heap->fixed) return kolk_fixed_stats_of_class_(heap, n, out);
    *out = (kolk_heap_class_stats){.stats = {.name = "", .kind = "heap"}};
    return false;
}

void kolk_heap_stats(const kolk_heap *heap, kolk_stats *out) {
    *out = (kolk_stats){.name = "", .kind = "heap"};
    if (heap->fixed) kolk_fixed_stats_(heap, out);
}

bool kolk_heap_is_valid(const kolk_heap *heap) {
    return !heap->fixed || kolk_fixed_is_valid_(heap);
}

#endif
