/* pool_plain.c: keeps the code for options out of programs whose pools have none.
 *
 * On a small device every kilobyte counts, and most of a pool's code serves options. The inline init in pool.h tests
 * the descriptor, which the compiler usually knows at that point. If the descriptor sets no option, init calls
 * kolk_pool_init_plain_abi_. Otherwise it calls kolk_pool_init_abi_, whose file has the functions for options and sets
 * kolk_pool_options_ to them. If a program never calls kolk_pool_init_abi_, a linker that drops unused functions
 * (--gc-sections) drops all these functions. A pool without options behaves the same in either case.
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
    (void)site;
    KOLK_ASSERT_(pool->top <= pool->stack);
    uint32_t index;
    if (pool->fresh < pool->capacity) {
        index = take_fresh_slot(pool);
    } else if ((index = kolk_pool_take_worn_(pool)) == KOLK_NO_SLOT_) {
        pool->failed++;
        return NULL;
    }
    show_plain_bounds(pool);
    kolk_bits_set_(pool->live, index);
    return plain_slot_at(pool, index);
}

kolk_pool_option_table_ kolk_pool_options_ = {alloc_plain, show_plain_bounds, NULL, NULL};

kolk_status kolk_pool_init_plain_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                      size_t pool_size, uint32_t abi) {
    return kolk_pool_begin_(pool, desc, type_size, type_align, pool_size, abi, kolk_pool_resolve_);
}

#endif
