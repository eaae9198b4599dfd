/* heap_sizes.h: which class serves a size. */
#ifndef KOLK_SRC_HEAP_SIZES_H
#define KOLK_SRC_HEAP_SIZES_H

#include "kolk/heap.h"

#include "../base/bits.h"

#define KOLK_GRAIN_         16u                                    /* bytes; all blocks start at multiples of this */
#define KOLK_HEAP_BY_SIZE_  1024u                                  /* up to this size, a table gives the class */
#define KOLK_SMALL_SIZES_   (KOLK_HEAP_BY_SIZE_ / KOLK_GRAIN_ + 1) /* entries of this table */
#define KOLK_HEAP_GREATEST_ (1u << 30)                             /* bytes of a block of a class */

/* The bytes of a block of this class. */
static inline uint32_t kolk_heap_rounded_(const kolk_heap_class *class_) {
    return ((uint32_t)class_->size + KOLK_GRAIN_ - 1) / KOLK_GRAIN_ * KOLK_GRAIN_;
}

/* Checks the sizes and capacities of a descriptor's classes. */
kolk_status kolk_heap_check_classes_(const kolk_heap_desc *desc);

/* Fills in a heap's number of classes and its tables for these classes. */
void kolk_heap_set_tables_(kolk_heap *heap, const kolk_heap_desc *desc);

/* The smallest size that by_quarter[at] is for. */
static inline uint32_t kolk_heap_quarter_(uint32_t at) {
    return (256u << at / 4) * (4 + at % 4) + 1;
}

/* The first class that may serve this size: up to KOLK_HEAP_BY_SIZE_ it does, beyond that, a later one may be the
 * smallest that fits. n_classes if all are too small. The heap must not be all zero. */
static inline uint32_t kolk_heap_first_class_(const kolk_heap *heap, size_t size) {
    if (size <= KOLK_HEAP_BY_SIZE_) return heap->by_size[(size + KOLK_GRAIN_ - 1) / KOLK_GRAIN_];
    if (size > KOLK_HEAP_GREATEST_) return heap->n_classes;
    unsigned doubling = kolk_bits_highest_(size - 1);
    return heap->by_quarter[(doubling - 10) * 4 + ((size - 1) >> (doubling - 2) & 3)];
}

#endif
