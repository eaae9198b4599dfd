/* heap_watched.c: malloc's heap watches its first blocks, and reports the damage that its nursery finds. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/fail.h"

static void report_young_damage(const kolk_heap *heap, const kolk_damage_ *damage, const void *site) {
    kolk_failure failure = {.rule = damage->rule,
                            .pool = heap->root->name ? heap->root->name : "",
                            .object = damage->block,
                            .slot = UINT32_MAX,
                            .site = site};
    const char *what = damage->rule == KOLK_OVERFLOW    ? "overflow of"
                       : damage->rule == KOLK_UNDERFLOW ? "underflow of"
                                                        : "write after free to";
    if (damage->size == UINT64_MAX)
        kolk_fail_(failure, "%s a block", what);
    else
        kolk_fail_(failure, "%s a block of %u bytes", what, damage->size);
}

/* A block with pages of its own, for a size for which the nursery is too small. */
static void *alloc_apart(kolk_heap *heap, size_t size) {
    kolk_heap_inside_ *inside = kolk_heap_grow_(heap);
    return inside ? kolk_large_alloc_apart_(&inside->large, size) : NULL;
}

void *kolk_heap_alloc_watched_(kolk_heap *heap, size_t size, const void *site) {
    kolk_nursery_ *nursery = &heap->root->nursery;
    kolk_damage_ damage = {KOLK_OK, NULL, 0};
    kolk_nursery_count_watched_(nursery, size);
    void *block = kolk_nursery_alloc_watched_(nursery, size, &damage);
    if (damage.rule != KOLK_OK) report_young_damage(heap, &damage, site);
    return block || size <= KOLK_WATCHED_LARGEST_ ? block : alloc_apart(heap, size);
}

bool kolk_heap_free_watched_(const kolk_heap *heap, const void *block, const void *site) {
    kolk_damage_ damage = {KOLK_OK, NULL, 0};
    bool freed = heap->root && kolk_nursery_free_watched_(&heap->root->nursery, block, &damage);
    if (damage.rule != KOLK_OK) report_young_damage(heap, &damage, site);
    return freed;
}

#endif
