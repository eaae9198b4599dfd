/* pool_plain.c: keeps the code for options out of programs whose pools have none.
 *
 * On a small device every kilobyte counts, and most of a pool's code serves options. The inline init in pool.h tests
 * the descriptor, which the compiler usually knows at that point. If the descriptor sets no option, init calls
 * kolk_pool_init_plain_abi_. Otherwise it calls kolk_pool_init_abi_, whose file has the functions for options and sets
 * kolk_pool_options_ to them. If a program never calls kolk_pool_init_abi_, a linker that drops unused functions
 * (--gc-sections) drops all these functions. A pool without options behaves the same in either case.
 *
 * FIFO and LOWEST are options where there is an operating system. On a device they cost less: for a pool with no other
 * option init calls kolk_pool_init_listed_abi_, which brings only the alloc for these two orders.
 *
 * In a build with diagnostics the environment may turn on the debug mode of any pool, so all pools use
 * kolk_pool_init_abi_. */
#include "pool_order.h"

#if !KOLK_DIAGNOSTICS

static void show_plain_bounds(kolk_pool *pool) { /* show_pool_bounds for a plain pool */
    pool->bound = pool->free_bound = pool->fresh;
    pool->floor = pool->stack;
    pool->order_floor = (kolk_slot_ *)UINTPTR_MAX;
    pool->held_floor = UINT32_MAX;
}

/* Allocates when the stack is empty. */
static void *alloc_plain(kolk_pool *pool, const void *site) {
    if (kolk_pool_is_barred_(pool, HOOK_FREES, "alloc", site)) return NULL; /* `convert` of a restore */
    KOLK_ASSERT_(pool->top <= pool->stack);
    begin_static_pool(pool);
    uint32_t index;
    if (pool->fresh < pool->capacity) {
        index = take_fresh_slot(pool);
    } else if ((index = kolk_pool_take_worn_(pool)) == KOLK_NO_SLOT_) {
        pool->failed++;
        return NULL;
    }
    show_plain_bounds(pool);
    set_alive(pool, index);
    return plain_slot_at(pool, index);
}

kolk_pool_option_table_ kolk_pool_options_ = {.alloc = alloc_plain, .show_bounds = show_plain_bounds};

kolk_status kolk_pool_init_plain_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                      size_t pool_size, uint32_t abi) {
    return kolk_pool_begin_(pool, desc, type_size, type_align, pool_size, abi, kolk_pool_resolve_);
}

#if !KOLK_HOSTED

static void count_peak(kolk_pool *pool) {
    if (!keeps_peak(pool) || kolk_pool_count(pool) <= pool->peak) return;
    pool->peak = kolk_pool_count(pool);
    show_pool_bounds(pool);
}

/* Takes a slot of a pool that has none for take_listed, or must count its peak. */
static KOLK_NOINLINE_ uint32_t take_any(kolk_pool *pool) {
    begin_static_pool(pool);
    uint32_t index;
    if (!is_fresh_first(pool) && listed(pool) > 0) return take_listed(pool);
    pool->held_back = 0;
    if (pool->fresh < pool->capacity) {
        index = take_fresh_slot(pool);
        if (index % 64 == 0) clear_holes_from(pool, index);
    } else {
        index = kolk_pool_take_worn_(pool);
    }
    show_pool_bounds(pool);
    return index;
}

/* Does alloc_plain, and the same for FIFO and LOWEST: kolk_pool_alloc_listed_ without options. A LIFO pool calls it
 * when its stack is empty, and lists no slots. */
static void *alloc_listed(kolk_pool *pool, const void *site) {
    bool direct = pool->held > pool->held_floor;
    if (!direct && kolk_pool_is_barred_(pool, HOOK_FREES, "alloc", site)) return NULL; /* `convert` of a restore */
    uint32_t index = direct ? take_listed(pool) : take_any(pool);
    if (index == KOLK_NO_SLOT_) {
        pool->failed++;
        return NULL;
    }
    set_alive(pool, index);
    if (!direct) count_peak(pool);
    return plain_slot_at(pool, index);
}

kolk_status kolk_pool_init_listed_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                       size_t pool_size, uint32_t abi) {
    if (kolk_pool_options_.alloc == alloc_plain) { /* otherwise it does more already */
        kolk_pool_options_.alloc = alloc_listed;
        kolk_pool_options_.show_bounds = show_pool_bounds;
    }
    return kolk_pool_begin_(pool, desc, type_size, type_align, pool_size, abi, kolk_pool_resolve_);
}

#endif
#endif
