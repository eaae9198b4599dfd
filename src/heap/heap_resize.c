/* heap_resize.c: realloc. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include <string.h>

static void *resize_large(kolk_heap *heap, void *block, size_t before, size_t size) {
    uint32_t ways = 0;
    do {
        do {
            void *resized = kolk_large_resize_(&heap->inside->large, block, before, size);
            if (resized) return resized;
        } while (kolk_heap_trim_for_room_(heap, size > before ? size - before : 0));
    } while (kolk_heap_make_room_(heap, size, &ways));
    kolk_fetch_add_(&heap->root->failed, 1, KOLK_RELAXED_);
    return NULL;
}

static void *move_block(kolk_heap *heap, void *block, size_t usable, size_t size, const void *site) {
    void *moved = kolk_heap_alloc_at_(heap, size, site);
    if (!moved) return NULL;
    memcpy(moved, block, usable < size ? usable : size);
    kolk_heap_free_at_(heap, block, site);
    return moved;
}

/* A large block releases the pages that it no longer needs; a block that came from malloc gets exactly the requested
 * size. */
static KOLK_NOINLINE_ void *resize_block(kolk_heap *heap, void *block, size_t usable, size_t size, const void *site) {
    bool is_large = !kolk_nursery_has_(&heap->root->nursery, block) && !kolk_heap_store_of_(heap, block) &&
                    !kolk_guarded_has_(&heap->inside->guarded, block);
    bool stays = kolk_heap_is_as_good_(usable, size);
    if (is_large && (stays || kolk_heap_class_for_(heap, size) == heap->n_classes))
        return resize_large(heap, block, usable, size);
    return stays ? block : move_block(heap, block, usable, size, site);
}

void *kolk_heap_realloc_at_(kolk_heap *heap, void *block, size_t size, const void *site) {
    if (heap->fixed) return kolk_fixed_realloc_(heap, block, size, site);
    if (!block) return kolk_heap_alloc_at_(heap, size, site);
    size_t usable = kolk_heap_size_of_(heap, block);
    if (!usable) {
        kolk_heap_refuse_(heap, block, "realloc", site);
        return NULL;
    }
    if (kolk_heap_is_as_good_(usable, size) && kolk_heap_class_at_(heap, block) < heap->n_classes) return block;
    return resize_block(heap, block, usable, size, site);
}

KOLK_NOINLINE_ void *kolk_heap_realloc(kolk_heap *heap, void *block, size_t size) {
    return kolk_heap_realloc_at_(heap, block, size, SITE);
}

#endif
