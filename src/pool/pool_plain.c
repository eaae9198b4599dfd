/* pool_plain.c: pools without options, in programs that have no others.
 *
 * On a device each kilobyte counts, and most of the code of a pool is there for options. pool.h looks at the descriptor
 * where a pool is initialised, which the compiler knows there as a rule. If it asks for no option, and only then, its
 * init is kolk_pool_init_plain. Any other leads to kolk_pool_init_type, which is in one file with what options need,
 * and enters that here. As long as no program calls it, a linker that drops what nobody calls (--gc-sections) drops all
 * of it. Pools without options take either way and notice no difference.
 *
 * In a build with diagnostics the environment may ask any pool for the debug mode, so all of them take the long way. */
#include "pool_order.h"

#if !KOLK_DIAGNOSTICS

static void show_plain_bounds(kolk_pool *pool) { /* show_pool_bounds, of such a pool */
    pool->bound = pool->free_bound = pool->fresh;
    pool->floor = pool->stack;
    pool->age_floor = (kolk_slot *)UINTPTR_MAX;
    pool->held_floor = UINT32_MAX;
}

/* The stack is empty. */
static void *alloc_plain(kolk_pool *pool, const void *site) {
    (void)site;
    KOLK_ASSERT(pool->top <= pool->stack);
    uint32_t index;
    if (pool->fresh < pool->capacity) {
        index = take_fresh_slot(pool);
    } else if ((index = kolk_pool_take_worn(pool)) == KOLK_NO_SLOT) {
        pool->failed++;
        return NULL;
    }
    show_plain_bounds(pool);
    kolk_bits_set(pool->live, index);
    return plain_slot_at(pool, index);
}

kolk_pool_option_table kolk_pool_options = {alloc_plain, show_plain_bounds, NULL, NULL};

#endif
