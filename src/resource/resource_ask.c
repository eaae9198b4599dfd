/* resource_ask.c: statistics of a resource pool, and whether its invariants hold. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/tools.h"

void kolk_resource_pool_stats(const kolk_resource_pool *pool, kolk_resource_stats *out) {
    *out = (kolk_resource_stats){.name = ""};
    kolk_resource_inside *inside = pool->inside;
    if (!inside) return;
    kolk_resource_lock(inside);
    const resource_counts *counts = &inside->counts;
    *out = (kolk_resource_stats){
        .name = inside->desc.name ? inside->desc.name : "",
        .max = inside->max,
        .in_use = inside->lent,
        .idle = inside->idle,
        .creating = inside->creating,
        .waiting = inside->waiting,
        .peak = inside->peak,
        .borrows = counts->borrows,
        .full = counts->full,
        .timeouts = counts->timeouts,
        .failed = counts->failed,
        .created = counts->created,
        .create_failures = counts->create_failures,
        .discarded = counts->destroyed[END_DISCARDED],
        .invalid = counts->destroyed[END_INVALID],
        .unclean = counts->destroyed[END_UNCLEAN],
        .expired = counts->destroyed[END_EXPIRED],
        .unused = counts->destroyed[END_UNUSED],
        .evicted = counts->destroyed[END_EVICTED],
        .replaced = counts->destroyed[END_REPLACED],
        .closed = counts->destroyed[END_CLOSED],
        .leaks = counts->leaks,
    };
    kolk_times_sum_up(&inside->wait, &out->wait);
    kolk_times_sum_up(&inside->use, &out->use);
    kolk_times_sum_up(&inside->create, &out->create);
    kolk_resource_unlock(inside);
    kolk_tools_wrote(out, sizeof *out);
}

/* Is the list of a key as long as it says, in order, and closed at both ends (I2)? */
static bool key_is_valid(const kolk_resource_inside *pool, const resource_key *key, uint32_t *idle) {
    uint32_t count = 0;
    const resource_entry *newer = NULL;
    for (const resource_entry *entry = key->newest; entry; entry = entry->older) {
        if (++count > key->idle || entry->key != key || entry->state != RESOURCE_IDLE) return false;
        if (entry->newer != newer || (newer && newer->idle_since < entry->idle_since)) return false;
        newer = entry;
    }
    *idle += count;
    return count == key->idle && key->oldest == newer && (key->users > 0) && (!key->making || pool->creating);
}

static bool resource_counts_are_valid(const kolk_resource_inside *pool) {
    uint32_t states[RESOURCE_MAKING + 1] = {0}, idle = 0;
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        const resource_entry *entry = kolk_entry_at(pool, slot);
        if (entry && (entry->state > RESOURCE_MAKING || entry->slot != slot)) return false;
        if (entry) states[entry->state]++;
    }
    for (uint32_t list = 0; list < KEY_LISTS; list++)
        for (const resource_key *key = pool->lists[list]; key; key = key->next)
            if (!key_is_valid(pool, key, &idle)) return false;
    return states[RESOURCE_IDLE] == pool->idle && idle == pool->idle && states[RESOURCE_LENT] == pool->lent &&
           states[RESOURCE_MAKING] == pool->creating && pool->creating <= pool->desc.max_creating;
}

/* Could no waiter be served (I5, I6)? */
static bool waiters_are_right(const kolk_resource_inside *pool) {
    uint32_t waiting = 0;
    bool stopped = pool->paused || pool->closed;
    bool can_make =
        pool->creating < pool->desc.max_creating && (kolk_pool_count(&pool->entries) < pool->max ||
                                                     (kolk_pool_count(&pool->entries) == pool->max && pool->idle > 0));
    for (const kolk_waiter *each = pool->waiters.first; each; each = each->behind) {
        if (!stopped && (can_make || ((const resource_waiter *)(const void *)each)->key->idle > 0)) return false;
        waiting++;
    }
    return waiting == pool->waiting && !(pool->closed && (waiting || pool->idle));
}

bool kolk_resource_pool_is_valid(const kolk_resource_pool *pool) {
    kolk_resource_inside *inside = pool->inside;
    if (!inside) return true;
    kolk_lock_word(&inside->lock);
    bool valid = kolk_pool_is_valid(&inside->entries) && kolk_pool_is_valid(&inside->keys) &&
                 resource_counts_are_valid(inside) && waiters_are_right(inside);
    kolk_unlock_word(&inside->lock);
    return valid;
}

#endif
