/* heap_large.c: keeps large blocks within the heap's limit. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/budget.h"
#include "../core/block.h"
#include "../os/memory.h"

/* The bytes that a large block gets if this size is requested. */
static size_t bytes_of_large(const kolk_heap_inside_ *inside, size_t size) {
    if (size == 0) size = 1;
    return inside->large.from_malloc ? size : (size_t)round_up(size, kolk_memory_page_());
}

void *kolk_heap_alloc_large_(kolk_heap_inside_ *inside, size_t align, size_t size) {
    if (size > PTRDIFF_MAX) return NULL;
    size_t bytes = bytes_of_large(inside, size);
    if (kolk_budget_take_(inside->root->budget, bytes, bytes) == 0) return NULL;
    void *block = kolk_large_alloc_(&inside->large, align > KOLK_GRAIN_ ? align : KOLK_GRAIN_, bytes);
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
    size_t after = bytes_of_large(inside, size), more = after > before ? after - before : 0;
    if (more && kolk_budget_take_(inside->root->budget, more, more) == 0) return NULL;
    void *resized = kolk_large_resize_(&inside->large, block, after);
    if (!resized)
        kolk_budget_give_(inside->root->budget, more);
    else if (after < before) /* the block has shrunk, or has kept its size */
        kolk_budget_give_(inside->root->budget, before - kolk_large_size_(&inside->large, resized));
    return resized;
}

#endif
