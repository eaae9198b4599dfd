/* heap_large.c: keeps large blocks within the heap's limit. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/budget.h"
#include "../core/block.h"
#include "../os/memory.h"

void *kolk_heap_alloc_large_(kolk_heap_inside_ *inside, size_t align, size_t size) {
    if (size > PTRDIFF_MAX) return NULL;
    if (align < KOLK_GRAIN_) align = KOLK_GRAIN_;
    size_t bytes = kolk_large_bytes_(&inside->large, NULL, align, size);
    if (kolk_budget_take_(inside->root->budget, bytes, bytes) == 0) return NULL;
    void *block = kolk_large_alloc_(&inside->large, align, bytes);
    if (!block) kolk_budget_give_(inside->root->budget, bytes);
    return block;
}

bool kolk_heap_free_large_(kolk_heap_inside_ *inside, void *block) {
    size_t bytes = kolk_large_size_(&inside->large, block);
    if (!kolk_large_free_(&inside->large, block)) return false;
    kolk_budget_give_(inside->root->budget, bytes);
    return true;
}

void kolk_heap_clear_large_(kolk_heap_inside_ *inside) {
    kolk_budget_give_(inside->root->budget, kolk_large_clear_(&inside->large));
}

void *kolk_heap_resize_large_(kolk_heap_inside_ *inside, void *block, size_t before, size_t size) {
    if (size > PTRDIFF_MAX) return NULL;
    size_t after = kolk_large_bytes_(&inside->large, block, KOLK_GRAIN_, size);
    size_t more = after > before ? after - before : 0;
    if (more && kolk_budget_take_(inside->root->budget, more, more) == 0) return NULL;
    void *resized = kolk_large_resize_(&inside->large, block, after);
    if (!resized)
        kolk_budget_give_(inside->root->budget, more);
    else if (after < before) /* the block has shrunk, or has kept its size */
        kolk_budget_give_(inside->root->budget, before - kolk_large_size_(&inside->large, resized));
    return resized;
}

#endif
