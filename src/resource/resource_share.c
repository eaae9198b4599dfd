/* resource_share.c: who gets what: entries, idle lists, waiters. All of it happens under the pool's lock. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../diag/debug.h"
#include "../os/event.h"

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

resource_entry *kolk_entry_at(const kolk_resource_inside *pool, uint32_t slot) {
    return slot < pool->slots ? kolk_pool_at(&pool->entries, slot) : NULL;
}

void kolk_resource_call_upkeep(kolk_resource_inside *pool) {
    pool->called = true;
    kolk_store(&pool->chore.due, 0, KOLK_RELAXED);
    if (!pool->desc.no_housekeeper) kolk_housekeeper_call();
}

void kolk_resource_has_room(kolk_resource_inside *pool) {
    if (pool->wanted || pool->desc.min_idle) kolk_resource_call_upkeep(pool);
}

/* ---- Idle ones --------------------------------------------------------------------------------------------------- */

void kolk_entry_take_out(kolk_resource_inside *pool, resource_entry *entry, uint32_t thread) {
    resource_key *key = entry->key;
    KOLK_ASSERT(entry->state == RESOURCE_IDLE && key->idle > 0 && pool->idle > 0);
    *(entry->newer ? &entry->newer->older : &key->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &key->oldest) = entry->newer;
    key->idle--;
    pool->idle--;
    entry->state = RESOURCE_IN_HAND;
    entry->thread = thread;
}

void kolk_entry_put_back(kolk_resource_inside *pool, resource_entry *entry) {
    resource_key *key = entry->key;
    KOLK_ASSERT(entry->state == RESOURCE_IN_HAND);
    resource_entry *newer = NULL, *older = key->newest;
    while (older && older->idle_since > entry->idle_since) {
        newer = older;
        older = older->older;
    }
    entry->newer = newer;
    entry->older = older;
    *(newer ? &newer->older : &key->newest) = entry;
    *(older ? &older->newer : &key->oldest) = entry;
    key->idle++;
    pool->idle++;
    entry->state = RESOURCE_IDLE;
    entry->promised = key->wanted;
    kolk_key_tell(pool, key);
    if (pool->wanted) kolk_resource_call_upkeep(pool); /* it may make room for another key */
}

/* The one of all keys that has been idle longest, but for those that are kept; NULL: none is. */
static resource_entry *longest_idle(const kolk_resource_inside *pool, bool keeps_promised) {
    resource_entry *longest = NULL;
    for (uint32_t slot = 0; slot < pool->slots && pool->idle; slot++) {
        resource_entry *entry = kolk_entry_at(pool, slot);
        if (!entry || entry->state != RESOURCE_IDLE || (keeps_promised && entry->promised)) continue;
        if (!longest || entry->idle_since < longest->idle_since) longest = entry;
    }
    return longest;
}

/* ---- Taking ------------------------------------------------------------------------------------------------------ */

static resource_entry *new_entry(kolk_resource_inside *pool) {
    resource_entry *entry = kolk_pool_alloc(&pool->entries);
    KOLK_ASSERT(entry); /* it has room for max */
    uint32_t slot = kolk_pool_index(&pool->entries, entry);
    if (slot >= pool->slots) pool->slots = slot + 1;
    *entry = (resource_entry){.borrows = entry->borrows, .slot = slot};
    return entry;
}

/* The idle one of another key that makes room for a new one. */
static resource_entry *entry_to_replace(kolk_resource_inside *pool, resource_room room, uint32_t thread) {
    resource_entry *entry = room == ROOM_OF_NONE ? NULL : longest_idle(pool, room == ROOM_OF_UNPROMISED);
    if (!entry) return NULL;
    kolk_entry_take_out(pool, entry, thread);
    kolk_key_leave(pool, entry->key);
    entry->replaces = true;
    entry->evicted = false;
    return entry;
}

resource_entry *kolk_resource_make(kolk_resource_inside *pool, resource_key *key, resource_room room, uint32_t thread) {
    if (pool->paused || pool->closed || pool->creating >= pool->desc.max_creating) return NULL;
    resource_entry *entry = NULL;
    uint32_t count = kolk_pool_count(&pool->entries);
    if (count < pool->max)
        entry = new_entry(pool);
    else if (count == pool->max)
        entry = entry_to_replace(pool, room, thread);
    if (!entry) return NULL;
    entry->state = RESOURCE_MAKING;
    entry->thread = thread;
    entry->key = key;
    entry->epoch = pool->epoch;
    key->users++;
    key->making++;
    pool->creating++;
    return entry;
}

resource_entry *kolk_resource_take(kolk_resource_inside *pool, resource_key *key, bool creates, uint32_t thread) {
    resource_entry *entry = pool->desc.reuse == KOLK_REUSE_FIFO ? key->oldest : key->newest;
    if (pool->paused || pool->closed) return NULL;
    if (!entry) return creates ? kolk_resource_make(pool, key, ROOM_OF_ANY, thread) : NULL;
    kolk_entry_take_out(pool, entry, thread);
    return entry;
}

static KOLK_NOINLINE void serve_resource_waiters(kolk_resource_inside *pool) {
    for (kolk_waiter *each = pool->waiters.first, *next; each; each = next) {
        next = each->behind;
        resource_waiter *waiter = (resource_waiter *)(void *)each;
        resource_entry *entry = kolk_resource_take(pool, waiter->key, true, waiter->thread);
        if (!entry) continue;
        kolk_waiter_leave(&pool->waiters, each);
        pool->waiting--;
        waiter->entry = entry;
        kolk_waiter_wake(each); /* it may return now */
    }
}

static KOLK_NOINLINE void tell_event_loops(kolk_resource_inside *pool) {
    if (pool->fd_called || !(pool->fd_news || pool->closed)) return;
    pool->fd_news = false;
    pool->fd_called = true;
    kolk_event_set((int)pool->fd - 1);
}

void kolk_resource_lock(kolk_resource_inside *pool) {
    kolk_lock_word(&pool->lock);
}

void kolk_resource_unlock(kolk_resource_inside *pool) {
    if (pool->waiters.first) serve_resource_waiters(pool);
    if (pool->fd) tell_event_loops(pool);
    kolk_unlock_word(&pool->lock);
}

#endif
