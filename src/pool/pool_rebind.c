/* pool_rebind.c: gives an existing pool the hooks of another descriptor. */
#include "pool_order.h"

#include "../core/handle.h"
#include "../core/begin.h"

/* Would the descriptor lay the pool out as it is? With KOLK_SIZES, the capacity was not the descriptor's. */
static bool keeps_layout(const kolk_pool *pool, const kolk_pool_desc *desc) {
    bool sizes = kolk_is_capacity_kept_(desc->capacity, desc->max_capacity, pool->capacity, pool->max_capacity);
    bool order = kolk_is_kept_(desc->reuse, pool->reuse) && (!desc->ages || pool->ages) &&
                 (!desc->pins || pool->pins) && kolk_is_kept_(desc->full.ranked, pool->ranked);
    bool handles = kolk_is_kept_(desc->generations, pool->generations) && kolk_is_tag_kept_(desc->tag, pool->tag);
    bool callers = pool->memory == MEMORY_CALLERS;
    bool memory = !desc->memory || (callers && desc->memory == pool->block);
    memory = memory && (!desc->memory_size || (callers && desc->memory_size >= pool->block_size));
    memory = memory && kolk_is_kept_((uintptr_t)desc->budget, (uintptr_t)pool->budget);
    bool overflow = kolk_is_kept_((uintptr_t)desc->full.overflow, (uintptr_t)pool->overflow);
    bool parts = (desc->life.setup || desc->life.teardown) == (pool->setup || pool->teardown);
    bool lives_on = kolk_is_kept_(desc->life.keep, pool->keep) && parts;
    return (sizes || kolk_sizes_matter_()) && order && handles && memory && overflow && lives_on;
}

KOLK_NOINLINE_ kolk_status kolk_pool_rebind_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                                 size_t type_align, size_t pool_size, uint32_t abi) {
    kolk_status status = kolk_check_call_(pool_size, sizeof *pool, pool_abi(abi), desc);
    if (status != KOLK_OK) return status;
    begin_static_pool(pool);
    if (!kolk_is_home_(pool, pool->number, pool->name, SITE)) return KOLK_MOVED;
    if (pool->in_hook) return KOLK_IN_HOOK;
    status = kolk_block_match_size_(desc->object_size, desc->object_align, type_size, type_align, pool->object_size,
                                    pool->slots, pool->stride);
    if (status != KOLK_OK) return status;
    if (!keeps_layout(pool, desc)) return KOLK_LAYOUT_CHANGED;
    kolk_pool_desc next = *desc;
    next.name = kolk_name_kept_(desc->name);
    next.max_capacity = pool->max_capacity;
    next.ages = pool->ages != NULL;
    next.full.ranked = pool->ranked;
    status = kolk_pool_resolve_hooks_(&next);
    if (status != KOLK_OK) return status;
    pool->options = kolk_pool_options_of_(pool);
    pool->name = next.name;
    next.full.overflow = pool->overflow;
    kolk_pool_take_hooks_(pool, &next);
    pool->ranking = 0; /* the new `cost` may differ */
    kolk_pool_show_all_bounds_(pool);
    kolk_relist_(pool->number, pool->name, pool->debug);
    return KOLK_OK;
}
