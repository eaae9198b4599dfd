/* heap.h: misuse.h for heaps and malloc, whose blocks are of any size. */
#ifndef KOLK_TESTS_MISUSE_HEAP_H
#define KOLK_TESTS_MISUSE_HEAP_H

#include "misuse.h"

#define PAGE  4096
#define LARGE 1000000 /* bytes of a block that has pages of its own */

static inline void *take_block(pool *items, size_t size) {
    stage("alloc");
#ifdef MALLOC
    (void)items;
    void *block = malloc(size);
#else
    void *block = kolk_heap_alloc(items, size);
#endif
    __asm__ volatile("" : "+r"(block));
    return block;
}

static inline void *resize(pool *items, void *block, size_t size) {
    stage("realloc");
    __asm__ volatile("" : "+r"(block));
#ifdef MALLOC
    (void)items;
    void *moved = realloc(block, size);
#else
    void *moved = kolk_heap_realloc(items, block, size);
#endif
    __asm__ volatile("" : "+r"(moved));
    if (!moved) fputs("answer: NULL\n", stderr);
    return moved;
}

#endif
