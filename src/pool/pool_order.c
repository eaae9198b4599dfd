/* pool_order.c: see pool_order.h. */
#include "pool_order.h"

#include "../diag/quarantine.h"

/* Worn-out slots form a list through generations[]. The generation of a worn-out slot is not needed. */
void kolk_pool_put_worn_(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT_(index < pool->fresh && pool->generations && !kolk_bits_get_(pool->live, index));
    if (pool->worn.count == 0)
        pool->worn.first = index;
    else
        pool->generations[pool->worn.last] = index;
    pool->worn.last = index;
    pool->worn.count++;
    pool->held++;
}

/* Takes a slot out of the list; `before` is the slot before it, or KOLK_NO_SLOT_ if it is the first. Its generations
 * start again. */
static void recycle(kolk_pool *pool, uint32_t before, uint32_t index) {
    KOLK_ASSERT_(pool->worn.count > 0 && index < pool->fresh);
    if (before == KOLK_NO_SLOT_)
        pool->worn.first = pool->generations[index];
    else
        pool->generations[before] = pool->generations[index];
    if (pool->worn.last == index) pool->worn.last = before;
    pool->generations[index] = 1;
    pool->worn.count--;
    pool->held--;
    pool->worn.recycled++;
}

uint32_t kolk_pool_take_worn_(kolk_pool *pool) {
    if (is_strict(pool) || pool->worn.count == 0) return KOLK_NO_SLOT_;
    uint32_t index = pool->worn.first;
    recycle(pool, KOLK_NO_SLOT_, index);
    return index;
}

uint32_t kolk_pool_take_quarantined_(kolk_pool *pool) {
    uint32_t index = kolk_quarantine_leave_(pool->debug, &pool->quarantined);
    if (index != KOLK_NO_SLOT_) pool->held--;
    return index;
}

void kolk_pool_put_quarantined_(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT_(index < pool->fresh && !kolk_bits_get_(pool->live, index));
    uint32_t leaves = kolk_quarantine_enter_(pool->debug, index, &pool->quarantined);
    if (leaves == KOLK_NO_SLOT_)
        pool->held++;
    else
        put_free(pool, leaves); /* `index` is held instead */
}

static void mark(kolk_pool *pool, uint32_t index, bool live) {
    if (live)
        kolk_bits_set_(pool->live, index);
    else
        kolk_bits_clear_(pool->live, index);
}

/* Marks free slots that must not be used yet as live, or removes these marks (I1 and I2 are broken in between). */
static void mark_withheld(kolk_pool *pool, bool live) {
    uint32_t worn = pool->worn.first;
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = pool->generations[worn]) mark(pool, worn, live);
    for (uint32_t n = 0; n < pool->quarantined; n++) mark(pool, *kolk_debug_ring_(pool->debug, n), live);
}

void kolk_pool_sort_free_(kolk_pool *pool) {
    mark_withheld(pool, true);
    pool->top = pool->stack;
    pool->held = pool->worn.count + pool->quarantined;
    if (pool->desc.reuse == KOLK_REUSE_LIFO) {
        for (uint32_t i = pool->fresh; i-- > 0;)
            if (!kolk_bits_get_(pool->live, i)) put_free(pool, i);
    } else {
        for (uint64_t i = 0; (i = kolk_bits_find_(pool->live, false, i, pool->fresh)) < pool->fresh; i++)
            put_free(pool, (uint32_t)i);
    }
    mark_withheld(pool, false);
}

/* Removes this slot from the array of LIFO or FIFO and closes the gap. Returns false if it is not there. */
static bool take_queued(kolk_pool *pool, uint32_t index) {
    uint32_t length = queued(pool), n = 0;
    while (n < length && queue_at(pool, n)->index != index) n++;
    if (n == length) return false;
    for (; n + 1 < length; n++) *queue_at(pool, n) = *queue_at(pool, n + 1);
    if (pool->desc.reuse == KOLK_REUSE_LIFO)
        pool->top--;
    else
        pool->held--;
    return true;
}

static bool take_this_quarantined(kolk_pool *pool, uint32_t index) {
    uint32_t n = 0;
    while (n < pool->quarantined && *kolk_debug_ring_(pool->debug, n) != index) n++;
    if (n == pool->quarantined) return false;
    for (; n > 0; n--) *kolk_debug_ring_(pool->debug, n) = *kolk_debug_ring_(pool->debug, n - 1);
    kolk_pool_take_quarantined_(pool);
    return true;
}

bool kolk_pool_take_this_(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT_(index < pool->fresh && !kolk_bits_get_(pool->live, index));
    if (pool->desc.reuse == KOLK_REUSE_LOWEST && kolk_bits_get_(pool->holes[0], index)) {
        kolk_levels_clear_(pool->holes, pool->levels, index);
        pool->held--;
        return true;
    }
    if (take_queued(pool, index) || take_this_quarantined(pool, index)) return true;
    if (is_strict(pool)) return false;
    uint32_t before = KOLK_NO_SLOT_, worn = pool->worn.first, n = 0;
    for (; n < pool->worn.count && worn != index; n++, worn = pool->generations[worn]) before = worn;
    if (n == pool->worn.count) return false; /* its life is just ending: its reset hook is the caller */
    recycle(pool, before, index);
    return true;
}
