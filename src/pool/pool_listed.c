/* pool_listed.c: pools with another order of reuse than LIFO, and no other option, on devices. There every kilobyte
 * counts, so these bring less code than all options do. */
#include "pool_order.h"

#if !KOLK_HOSTED

static void count_peak(kolk_pool *pool) {
    if (!keeps_peak(pool) || kolk_pool_count(pool) <= pool->peak) return;
    pool->peak = kolk_pool_count(pool);
    kolk_pool_show_all_bounds_(pool);
}

/* Takes a slot of a pool that has none for take_listed, or must count its peak. */
static KOLK_NOINLINE_ uint32_t take_any(kolk_pool *pool) {
    uint32_t index;
    if (!is_fresh_first(pool) && listed(pool) > 0) return take_listed(pool);
    pool->held_back = 0;
    if (pool->fresh < pool->capacity) {
        index = take_fresh_slot(pool);
        if (index % 64 == 0) clear_holes_from(pool, index);
    } else {
        index = kolk_pool_take_worn_(pool);
    }
    kolk_pool_show_all_bounds_(pool);
    return index;
}

/* Does what kolk_pool_alloc_listed_ does. */
static void *alloc_listed_alone(kolk_pool *pool, const void *site) {
    bool direct = pool->aside > pool->aside_floor;
    if (!direct && kolk_pool_is_barred_(pool, HOOK_FREES, "alloc", site)) return NULL; /* `convert` of a restore */
    uint32_t index = direct ? take_listed(pool) : take_any(pool);
    if (index == KOLK_NO_SLOT_) return refuse(pool);
    set_alive(pool, index);
    if (!direct) count_peak(pool);
    return plain_slot_at(pool, index);
}

static const kolk_pool_options_ listed_options = {.resolve = kolk_pool_resolve_,
                                                  .alloc = alloc_listed_alone,

                                                  .show_bounds = kolk_pool_show_all_bounds_};

kolk_status kolk_pool_init_listed_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                       size_t pool_size, uint32_t abi) {
    return kolk_pool_begin_(pool, desc, type_size, type_align, pool_size, abi, &listed_options);
}

#endif
