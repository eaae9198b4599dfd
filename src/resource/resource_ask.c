/* resource_ask.c: statistics of a resource pool, and the check of its invariants. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/tools.h"

void kolk_resource_sum_up_(const kolk_resource_inside_ *inside, kolk_resource_pool_stats *out) {
    const resource_counts *counts = &inside->counts;
    *out = (kolk_resource_pool_stats){
        .name = inside->desc.name ? inside->desc.name : "",
        .max = inside->max,
        .in_use = inside->lists[LIST_LENT].count,
        .idle = count_of_idle(inside),
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
        .detached = counts->destroyed[END_DETACHED],
        .leaks = counts->leaks,
        .waits = counts->waits,
    };
    kolk_times_sum_up_(&inside->wait, &out->wait);
    kolk_times_sum_up_(&inside->use, &out->use);
    kolk_times_sum_up_(&inside->create, &out->create);
}

void kolk_resource_stats(const kolk_resource_pool *pool, kolk_resource_pool_stats *out) {
    *out = (kolk_resource_pool_stats){.name = ""};
    kolk_resource_inside_ *inside = pool->inside;
    if (!inside) return;
    kolk_resource_lock_(inside);
    kolk_resource_sum_up_(inside, out);
    kolk_resource_settle_and_unlock_(inside);
    kolk_tools_wrote_(out, sizeof *out);
}

/* Does the line of a key have the counted length, and is it closed at both ends (I2)? */
static bool line_is_valid(const kolk_resource_inside_ *pool, const resource_key *key) {
    uint32_t idle = 0, asked = 0;
    const resource_entry *newer = NULL;
    for (const resource_entry *entry = key->newest; entry; entry = entry->line_older) {
        if (entry->key != key || entry->line_newer != newer || entry->state > RESOURCE_ASKED) return false;
        if (entry->state == RESOURCE_IDLE ? ++idle > key->idle : ++asked > pool->asked) return false;
        newer = entry;
    }
    return idle == key->idle && asked == key->asked + key->silent && key->oldest == newer;
}

/* Are the waiters in the order of their calls (I8)? */
static bool waiters_are_in_order(const resource_key *key) {
    uint32_t count = 0;
    uint64_t turn = 0;
    for (const kolk_waiter_ *each = key->waiters.first; each; each = each->behind, count++) {
        uint64_t before = turn;
        turn = ((const resource_waiter *)(const void *)each)->turn;
        if (turn <= before) return false;
    }
    return count == key->waiting;
}

/* Is it true that no waiter could be served (I6)? */
static bool waiters_are_right(const kolk_resource_inside_ *pool, const resource_key *key) {
    if (!waiters_are_in_order(key)) return false;
    if (key->waiting == 0 || pool->paused) return true;
    if (pool->closed) return false;
    if (pool->has_makers) return key->idle == 0 || pool->desc.validate || pool->hungry.first; /* another key's turn */
    return key->idle == 0 && !kolk_resource_can_make_(pool, key, ROOM_OF_ANY);
}

static bool keys_are_valid(const kolk_resource_inside_ *pool) {
    uint32_t waiting = 0, wanted = 0, news = 0, hungry = 0, making = 0, entries = 0;
    for (const resource_key *key = kolk_key_next_(pool, NULL); key; key = kolk_key_next_(pool, key)) {
        uint32_t uses = key->entries + (key->wishes > 0) + key->rests + key->wanted + key->news;
        if (!line_is_valid(pool, key) || key->hungry != kolk_key_is_hungry_(pool, key) || !waiters_are_right(pool, key))
            return false;
        if (key->users < uses + (key == pool->no_key) || key->making > pool->desc.max_creating) return false;
        waiting += key->waiting;
        wanted += key->wanted;
        news += key->news;
        hungry += key->hungry;
        making += key->making;
        entries += key->entries;
    }
    for (const resource_key *key = pool->hungry.first; key; key = key->behind) hungry -= key->hungry;
    return waiting == pool->waiting && wanted == pool->wanted && news == pool->news && hungry == 0 &&
           making == pool->creating && entries == kolk_pool_count(&pool->entries);
}

/* Does a list have the counted length, and is it closed at both ends? */
static bool list_is_valid(const resource_list *list) {
    uint32_t count = 0;
    const resource_entry *older = NULL;
    for (const resource_entry *entry = list->oldest; entry; entry = entry->newer) {
        if (++count > list->count || entry->older != older) return false;
        older = entry;
    }
    return count == list->count && list->newest == older;
}

static bool jobs_are_valid(const kolk_resource_inside_ *pool) {
    uint32_t creates = 0, others = 0;
    for (const resource_entry *entry = pool->jobs.oldest; entry; entry = entry->job_newer) {
        bool creates_one = entry->state == RESOURCE_MAKING;
        if (!creates_one && entry->state != RESOURCE_ASKED && entry->state != RESOURCE_ENDING) return false;
        if (creates_one ? ++creates > pool->jobs.creates : ++others > pool->jobs.others) return false;
    }
    return creates == pool->jobs.creates && others == pool->jobs.others && creates <= pool->desc.max_creating;
}

/* Is each entry in the list of its state, and are the counts right (I1, I3)? */
static bool entries_are_valid(const kolk_resource_inside_ *pool) {
    uint32_t lists[STATE_LISTS] = {0}, making = 0, asked = 0, going = 0, in_time = 0;
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        const resource_entry *entry = kolk_entry_at_(pool, slot);
        if (!entry) continue;
        if (entry->state > RESOURCE_ENDING || entry->slot != slot || entry->key->users == 0) return false;
        making += entry->state == RESOURCE_MAKING;
        asked += entry->state == RESOURCE_ASKED;
        going += entry->state >= RESOURCE_DOOMED;
        in_time += entry->in_time;
        lists[kolk_list_of_state_(entry->state)]++;
    }
    for (int list = 0; list < STATE_LISTS; list++)
        if (lists[list] != pool->lists[list].count || !list_is_valid(&pool->lists[list])) return false;
    return making == pool->creating && asked == pool->asked && going == pool->going &&
           in_time == pool->jobs.creates + pool->jobs.others;
}

bool kolk_resource_is_valid(const kolk_resource_pool *pool) {
    kolk_resource_inside_ *inside = pool->inside;
    if (!inside) return true;
    kolk_lock_word_(&inside->lock);
    bool valid = kolk_pool_is_valid(&inside->entries) && kolk_pool_is_valid(&inside->keys.pool) &&
                 entries_are_valid(inside) && jobs_are_valid(inside) && keys_are_valid(inside) &&
                 !(inside->closed && (inside->waiting || count_of_idle(inside)));
    kolk_unlock_word_(&inside->lock);
    return valid;
}

#endif
