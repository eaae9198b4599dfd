/* heap_sizes.c: see heap_sizes.h. */
#include "heap_sizes.h"

#include "../base/assert.h"

kolk_status kolk_heap_check_classes_(const kolk_heap_desc *desc) {
    if (!desc->classes || desc->n_classes == 0 || desc->n_classes > KOLK_HEAP_CLASSES) return KOLK_BAD_CLASSES;
    for (uint32_t n = 0; n < desc->n_classes; n++) {
        const kolk_heap_class *class_ = &desc->classes[n];
        if (class_->size == 0) return KOLK_ZERO_SIZE;
        if (class_->size > KOLK_HEAP_GREATEST_) return KOLK_SIZE_OVERFLOW;
        if (class_->max_capacity && class_->max_capacity < class_->capacity) return KOLK_MAX_BELOW_CAPACITY;
        if (n && kolk_heap_rounded_(class_) <= kolk_heap_rounded_(class_ - 1)) return KOLK_BAD_CLASSES;
    }
    return KOLK_OK;
}

/* The smallest class whose blocks have at least this size. */
static uint32_t class_from(const kolk_heap_desc *desc, uint32_t size) {
    uint32_t n = 0;
    while (n < desc->n_classes && kolk_heap_rounded_(&desc->classes[n]) < size) n++;
    return n;
}

void kolk_heap_set_tables_(kolk_heap *heap, const kolk_heap_desc *desc) {
    heap->n_classes = desc->n_classes;
    for (uint32_t at = 0; at < sizeof heap->by_size; at++)
        heap->by_size[at] = (uint8_t)class_from(desc, at * KOLK_GRAIN_);
    for (uint32_t at = 0; at < sizeof heap->by_quarter; at++)
        heap->by_quarter[at] = (uint8_t)class_from(desc, kolk_heap_quarter_(at));
}
