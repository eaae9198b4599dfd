/* pool_order.c: see pool_order.h. */
#include "pool_order.h"

#include "../core/quarantine.h"

#define LISTED_AT_ONCE 64u /* unlisted places */

uint64_t kolk_pool_next_(const kolk_pool *pool, bool alive, uint64_t from, uint64_t end) {
    kolk_group_ flip = alive ? 0 : KOLK_ALL_, found = 0;
    for (uint64_t group = from / KOLK_GROUP * KOLK_GROUP; group < end; group += KOLK_GROUP) {
        found = kolk_pool_mask_(pool->states + group) ^ flip;
        if (group < from) found &= KOLK_ALL_ << from % KOLK_GROUP;
        if (end - group < KOLK_GROUP) found &= KOLK_ALL_ >> (KOLK_GROUP - (end - group));
        if (found) return group + KOLK_LOWEST_OF_(found);
    }
    return end;
}

/* Returns how many of the last free slots need the slow path. This is the largest of three numbers: the headroom or
 * low_water + 1, whichever is larger, less the never-issued slots; the slots whose use would raise a counted peak; and
 * those that do not count towards the budget. */
static inline uint32_t watched_slots(const kolk_pool *pool) {
    uint64_t low = pool->on_low ? (uint64_t)pool->low_water + 1 : 0, spare = open_capacity(pool) - pool->fresh;
    uint64_t kept = pool->headroom > low ? pool->headroom : low;
    uint32_t used = pool->fresh - pool->worn.count - pool->quarantined; /* alive, or free and ready for use */
    uint64_t slots = kept > spare ? kept - spare : 0, above = used > pool->peak ? used - pool->peak : 0;
    if (slots < above) slots = above;
    if (slots < uncounted_slots(pool)) slots = uncounted_slots(pool);
    return slots < used ? (uint32_t)slots : used;
}

void kolk_pool_show_all_bounds_(kolk_pool *pool) {
    bool open = !pool_debug_of(pool) && pool->in_hook != HOOK_LOOKS;
    bool lifo = pool->reuse == KOLK_REUSE_LIFO, easy = open && !pool->ready,
         found = open && !pool->pinned && !(pool->unlisted && pool->reset);
    kolk_slot_ *nothing = (kolk_slot_ *)UINTPTR_MAX, *floor = nothing;
    uint32_t watched = watched_slots(pool);
    uint32_t least = watched > pool->unlisted ? watched : pool->unlisted;
    if (easy && lifo) floor = least ? pool->stack + least : pool->stack; /* NULL if there are no slots */
    pool->bound = found ? pool->fresh : 0;
    pool->free_bound = lifo && found && !pool->reset ? pool->fresh : 0;
    bool ordered = pool->ages || pool->ranks;
    pool->floor = ordered ? nothing : floor;
    pool->order_floor = ordered ? floor : nothing;
    bool direct = easy && !lifo && !ordered && !is_fresh_first(pool) && !pool->unlisted;
    pool->aside_floor = direct ? pool->worn.count + watched : UINT32_MAX;
}

/* Worn-out slots form a list through high[], and have no generation. */
void kolk_pool_put_worn_(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT_(index < pool->fresh && pool->high && !kolk_pool_lives_(pool, index));
    if (pool->worn.count == 0)
        pool->worn.first = index;
    else
        pool->high[pool->worn.last] = index;
    pool->worn.last = index;
    pool->worn.count++;
    pool->aside++;
}

/* Takes a slot out of the list; `before` is the slot before it, or KOLK_NO_SLOT_ if it is the first. Its generations
 * start again. */
static void recycle(kolk_pool *pool, uint32_t before, uint32_t index) {
    KOLK_ASSERT_(pool->worn.count > 0 && index < pool->fresh);
    if (before == KOLK_NO_SLOT_)
        pool->worn.first = next_worn(pool, index);
    else
        pool->high[before] = next_worn(pool, index);
    if (pool->worn.last == index) pool->worn.last = before;
    pool->states[index] = (uint8_t)KOLK_A_LIFE_; /* generation 1 */
    pool->high[index] = 0;
    pool->worn.count--;
    pool->aside--;
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
    if (index != KOLK_NO_SLOT_) pool->aside--;
    return index;
}

void kolk_pool_put_quarantined_(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT_(index < pool->fresh && !kolk_pool_lives_(pool, index));
    uint32_t leaves = kolk_quarantine_enter_(pool->debug, index, &pool->quarantined);
    if (leaves == KOLK_NO_SLOT_)
        pool->aside++;
    else
        put_free(pool, leaves); /* `index` is aside instead */
}

static void mark(kolk_pool *pool, uint32_t index, bool live) {
    if (live)
        set_alive(pool, index);
    else
        set_dead(pool, index);
}

/* Marks free slots that must not be used yet as live, or removes these marks (I1 and I2 are broken in between). */
static void mark_withheld(kolk_pool *pool, bool live) {
    uint32_t worn = pool->worn.first;
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = next_worn(pool, worn)) mark(pool, worn, live);
    for (uint32_t n = 0; n < pool->quarantined; n++) mark(pool, *kolk_quarantined_(pool->debug, n), live);
    for (uint32_t slot = 0; pool->pinned && slot < pool->fresh; slot++)
        if (is_kept(pool, slot)) mark(pool, slot, live);
    for (const kolk_away_ *away = pool->away; away; away = away->outer) mark(pool, away->slot, live);
}

/* The same for the slots that are listed in the stack or the ring. */
static void mark_queued(kolk_pool *pool, bool live) {
    uint32_t length = queued(pool);
    for (uint32_t n = pool->unlisted; n < length; n++) mark(pool, queue_at(pool, n)->index, live);
}

/* Lists the lowest of the slots in unlisted places: FIFO in all of these places, LIFO in the last ones, at least n if
 * there are that many. LIFO lists at least as many slots as it looks at groups, so that this is O(1) for each. */
static void list_lowest(kolk_pool *pool, uint32_t n) {
    bool lifo = pool->reuse == KOLK_REUSE_LIFO;
    uint32_t end = pool->unlisted, done = 0;
    mark_withheld(pool, true);
    mark_queued(pool, true);
    for (uint64_t slot = 0; done < end && (!lifo || done < n || done < slot / KOLK_GROUP); slot++, done++) {
        slot = kolk_pool_next_(pool, false, slot, pool->fresh);
        KOLK_ASSERT_(slot < pool->fresh);
        queue_at(pool, lifo ? end - 1 - done : done)->index = (kolk_index_)slot;
    }
    mark_queued(pool, false);
    mark_withheld(pool, false);
    pool->unlisted = end - done;
    kolk_pool_show_all_bounds_(pool);
}

void kolk_pool_list_next_(kolk_pool *pool) {
    if (pool->reuse == KOLK_REUSE_FIFO || queued(pool) == pool->unlisted) list_lowest(pool, LISTED_AT_ONCE);
}

void kolk_pool_list_all_(kolk_pool *pool) {
    if (pool->unlisted) list_lowest(pool, pool->unlisted);
}

uint32_t kolk_pool_end_of_use_(kolk_pool *pool) {
    mark_withheld(pool, true);
    uint32_t end = pool->fresh;
    while (end > 0 && !kolk_pool_lives_(pool, end - 1)) end--;
    mark_withheld(pool, false);
    return end;
}

void kolk_pool_sort_free_(kolk_pool *pool) {
    if (pool->unlisted) {
        pool->unlisted = 0;
        show_bounds_of_options(pool);
    }
    mark_withheld(pool, true);
    pool->top = pool->stack;
    pool->aside = pool->worn.count + pool->quarantined;
    if (pool->reuse == KOLK_REUSE_LIFO) {
        for (uint32_t i = pool->fresh; i-- > 0;)
            if (!kolk_pool_lives_(pool, i)) put_free(pool, i);
    } else {
        for (uint64_t i = 0; (i = kolk_pool_next_(pool, false, i, pool->fresh)) < pool->fresh; i++)
            put_free(pool, (uint32_t)i);
    }
    mark_withheld(pool, false);
}

/* Makes the array of LIFO or FIFO one place shorter. */
static void drop_last(kolk_pool *pool) {
    if (pool->reuse == KOLK_REUSE_LIFO)
        pool->top--;
    else
        pool->aside--;
}

/* Removes this slot from the array of LIFO or FIFO and closes the gap. Returns false if it is not there. */
static bool take_queued(kolk_pool *pool, uint32_t index) {
    kolk_pool_list_all_(pool);
    uint32_t length = queued(pool), n = 0;
    while (n < length && queue_at(pool, n)->index != index) n++;
    if (n == length) return false;
    for (; n + 1 < length; n++) *queue_at(pool, n) = *queue_at(pool, n + 1);
    drop_last(pool);
    return true;
}

/* Takes this slot, which must be in the array, and gives up the order of the others unless it is the last one there. */
static void take_unlisted(kolk_pool *pool, uint32_t index) {
    uint32_t last = queued(pool) - 1;
    KOLK_ASSERT_(queued(pool) > 0);
    bool ordered = last >= pool->unlisted && queue_at(pool, last)->index == index;
    drop_last(pool);
    if (ordered) return;
    pool->unlisted = last;
}

static bool take_this_quarantined(kolk_pool *pool, uint32_t index) {
    uint32_t n = 0;
    while (n < pool->quarantined && *kolk_quarantined_(pool->debug, n) != index) n++;
    if (n == pool->quarantined) return false;
    for (; n > 0; n--) *kolk_quarantined_(pool->debug, n) = *kolk_quarantined_(pool->debug, n - 1);
    kolk_pool_take_quarantined_(pool);
    return true;
}

bool kolk_pool_take_this_(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT_(index < pool->fresh && !kolk_pool_lives_(pool, index));
    if (pool->reuse == KOLK_REUSE_LOWEST && kolk_bits_get_(pool->holes[0], index)) {
        kolk_levels_clear_(pool->holes, pool->levels, index);
        pool->aside--;
        return true;
    }
    uint32_t before = KOLK_NO_SLOT_, worn = pool->worn.first, n = 0;
    for (; n < pool->worn.count && worn != index; n++, worn = next_worn(pool, worn)) before = worn;
    if (n < pool->worn.count) {
        if (is_strict(pool)) return false;
        recycle(pool, before, index);
    } else if (!take_this_quarantined(pool, index)) {
        if (pool->reuse == KOLK_REUSE_LOWEST) return false;
        if (pool->in_hook > HOOK_CHANGES) return take_queued(pool, index);
        take_unlisted(pool, index);
    } /* false: its life is just ending, and its reset hook is the caller */
    return true;
}
