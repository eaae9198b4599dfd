/* calls.h: the heap behind malloc, and the fast paths of its functions. `site` is the address of the program's call. */
#ifndef KOLK_PRELOAD_CALLS_H
#define KOLK_PRELOAD_CALLS_H

#include "../src/heap/heap_fast.h"

#define EXPORT __attribute__((visibility("default")))

extern kolk_heap malloc_heap;

/* Leaves errno unchanged unless there is no memory. */
void *alloc_slow(size_t align, size_t size, const void *site);
void free_slow(void *block, const void *site);

/* operators.c: finds out whether the program has operators of its own. */
void kolk_note_operators_(void);

/* This thread's part of the heap. The library has only this heap, so its part is the first. */
static inline kolk_heap_thread_ *malloc_thread(void) {
    return kolk_near_heaps_[KOLK_FIRST_HEAP_].thread;
}

KOLK_ALWAYS_INLINE_ static void *alloc_for(size_t size, const void *site) {
    void *block = take_at_hand(&malloc_heap, malloc_thread(), size);
    return KOLK_UNLIKELY_(!block) ? alloc_slow(1, size, site) : block;
}

static inline void *alloc_aligned_for(size_t align, size_t size, const void *site) {
    return align <= KOLK_GRAIN_ ? alloc_for(size, site) : alloc_slow(align, size, site);
}

KOLK_ALWAYS_INLINE_ static void free_for(void *block, const void *site) {
    if (KOLK_UNLIKELY_(!give_at_hand(&malloc_heap, malloc_thread(), block))) free_slow(block, site);
}

static inline bool is_power_of_two(size_t align) {
    return align && (align & (align - 1)) == 0;
}

#endif
