/* heap_fast.h: the fast paths of alloc, free and usable_size, which need only the calling thread's magazines. The heap
 * uses them, and so does malloc itself. */
#ifndef KOLK_SRC_HEAP_FAST_H
#define KOLK_SRC_HEAP_FAST_H

#include "heap_inside.h"

/* Takes a block for this size from the thread's magazine, as shared.inl does, but with short lives. NULL:
 * kolk_heap_alloc_slow_ must allocate it. In a heap that is all zero, no magazine has slots. */
KOLK_ALWAYS_INLINE_ static void *take_at_hand(const kolk_heap *heap, const kolk_heap_thread_ *thread, size_t size) {
    kolk_magazine_ *magazine;
    if (KOLK_UNLIKELY_(size > KOLK_HEAP_BY_SIZE_))
        magazine = thread->magazines[kolk_heap_grown_(heap) ? kolk_heap_class_for_(heap, size) : 0];
    else
        magazine = thread->by_size[(size + KOLK_GRAIN_ - 1) / KOLK_GRAIN_];
    uint32_t top = magazine->top;
    if (KOLK_UNLIKELY_(top == 0)) return NULL;
    kolk_raw_store_(&magazine->top, --top, KOLK_RELAXED_);
    size_t index = *kolk_magazine_entry_(magazine, top);
    kolk_raw_store_(&magazine->short_lives[index], 1, KOLK_RELAXED_);
    return magazine->slots + index * magazine->stride;
}

/* Is the next slot for this size in the thread's magazine, and was it used before? If not, a zeroed block comes from
 * kolk_heap_alloc_slow_, which need not write to pages that were never used. */
KOLK_ALWAYS_INLINE_ static bool has_used(const kolk_heap *heap, const kolk_heap_thread_ *thread, size_t size) {
    kolk_magazine_ *magazine = thread->magazines[kolk_heap_grown_(heap) ? kolk_heap_class_for_(heap, size) : 0];
    uint32_t top = magazine->top;
    return top && kolk_raw_load_(&magazine->short_lives[*kolk_magazine_entry_(magazine, top - 1)], KOLK_RELAXED_);
}

/* A pointer that is not to a slot of the magazine's class gets a number beyond all slots. */
KOLK_ALWAYS_INLINE_ static uintptr_t slot_in(const kolk_magazine_ *magazine, const void *block) {
    return kolk_exact_slot_((uintptr_t)block - (uintptr_t)magazine->slots, magazine->shift, magazine->inverse);
}

/* Frees a block into the magazine of its class, if its slot is below this bound. */
KOLK_ALWAYS_INLINE_ static bool give_to_magazine(kolk_magazine_ *magazine, const void *block, uint32_t bound) {
    uintptr_t index = slot_in(magazine, block);
    uint32_t top = magazine->top;
    if (KOLK_UNLIKELY_(index >= bound || top == magazine->cache)) return false;
    if (KOLK_UNLIKELY_(!(kolk_raw_load_(&magazine->short_lives[index], KOLK_RELAXED_) & 1))) return false;
    kolk_raw_store_(&magazine->short_lives[index], 2, KOLK_RELAXED_);
    *kolk_magazine_entry_(magazine, top) = (uint32_t)index;
    kolk_raw_store_(&magazine->top, top + 1, KOLK_RELEASE_); /* a fork's child that sees this also sees the entry */
    return true;
}

/* Frees a block into the thread's magazine. False: kolk_heap_free_slow_ must free it, or report a bug. */
KOLK_ALWAYS_INLINE_ static bool give_at_hand(const kolk_heap *heap, const kolk_heap_thread_ *thread,
                                             const void *block) {
    uintptr_t n = kolk_heap_class_at_(heap, block);
    if (KOLK_UNLIKELY_(n >= heap->n_classes)) return false;
    kolk_magazine_ *magazine = thread->magazines[n];
    return give_to_magazine(magazine, block, kolk_raw_load_(&magazine->bound, KOLK_RELAXED_));
}

/* The bytes of a live block, if its class is at hand and its slot below the bound of the thread's magazine; 0: look
 * elsewhere. */
KOLK_ALWAYS_INLINE_ static size_t size_at_hand(const kolk_heap *heap, const kolk_heap_thread_ *thread,
                                               const void *block) {
    uintptr_t n = kolk_heap_class_at_(heap, block);
    if (n >= heap->n_classes) return 0;
    const kolk_magazine_ *magazine = thread->magazines[n];
    uintptr_t index = slot_in(magazine, block);
    if (index >= kolk_raw_load_(&magazine->bound, KOLK_RELAXED_)) return 0;
    return kolk_raw_load_(&magazine->short_lives[index], KOLK_RELAXED_) & 1 ? heap->inside->sizes[n] : 0;
}

#endif
