/* pool_rebind.c: gives an existing pool the hooks of another descriptor. */
#include "pool_order.h"

#include "../core/handle.h"
#include "../core/begin.h"

/* Would the descriptor lay the pool out as it is? With KOLK_SIZES, the capacity was not the descriptor's. */
static bool keeps_layout(const kolk_pool *pool, const kolk_pool_desc *desc) {
    const kolk_pool_kept_desc *own = &pool->desc;
    bool sizes = kolk_is_capacity_kept_(desc->capacity, desc->max_capacity, pool->capacity, own->max_capacity);
    bool order = kolk_is_kept_(desc->reuse, own->reuse) && kolk_is_kept_(desc->ages, own->ages) &&
                 kolk_is_kept_(desc->ranked, own->ranked);
    bool tag = kolk_is_tag_kept_(desc->tag, pool->tag);
    bool handles = kolk_is_kept_(desc->generations, own->generations) && tag;
    bool memory = kolk_is_kept_((uintptr_t)desc->memory, (uintptr_t)own->memory);
    memory = memory && kolk_is_kept_(desc->memory_size, own->memory_size);
    memory = memory && kolk_is_kept_((uintptr_t)desc->budget, (uintptr_t)own->budget);
    bool overflow = kolk_is_kept_((uintptr_t)desc->overflow, (uintptr_t)own->overflow);
    bool parts = (desc->setup || desc->teardown) == (own->setup || own->teardown);
    bool lives_on = kolk_is_kept_(desc->keep, own->keep) && parts;
    return (sizes || kolk_sizes_matter_()) && order && handles && memory && overflow && lives_on;
}

KOLK_NOINLINE_ kolk_status kolk_pool_rebind_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                                 size_t type_align, size_t pool_size, uint32_t abi) {
    kolk_status status = kolk_check_call_(pool_size, sizeof *pool, pool_abi(abi), desc);
    if (status != KOLK_OK) return status;
    begin_static_pool(pool);
    if (!kolk_is_home_(pool, pool->number, pool->desc.name, SITE)) return KOLK_MOVED;
    if (pool->in_hook) return KOLK_IN_HOOK;
    status = kolk_block_match_size_(desc->object_size, desc->object_align, type_size, type_align,
                                    pool->desc.object_size, pool->slots, pool->stride);
    if (status != KOLK_OK) return status;
    if (!keeps_layout(pool, desc)) return KOLK_LAYOUT_CHANGED;
    kolk_pool_desc next = pool->desc;
    next.name = kolk_name_kept_(desc->name);
    next.headroom = desc->headroom;
    next.low_water = desc->low_water;
    next.on_full = desc->on_full;
    next.cost = desc->cost;
    next.on_evict = desc->on_evict;
    next.on_low = desc->on_low;
    next.setup = desc->setup;
    next.reset = desc->reset;
    next.teardown = desc->teardown;
    next.context = desc->context;
    status = kolk_pool_resolve_hooks_(&next);
    if (status != KOLK_OK) return status;
    pool->options = kolk_pool_options_of_(pool);
    pool->desc = next;
    kolk_pool_list_all_(pool); /* a new reset hook may be called while its slot is in no place */
    pool->ranking = 0;         /* the new `cost` may differ */
    kolk_pool_show_all_bounds_(pool);
    kolk_relist_(pool->number, next.name, pool->debug);
    return KOLK_OK;
}
