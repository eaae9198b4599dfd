/* shared_ask.c: what can be asked of a shared pool, by pointer and handle, its statistics, and what is said of pointers
 * that it does not know. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/bits.h"
#include "../core/fail.h"
#include "../core/geometry.h"
#include "../core/handle.h"
#include "../diag/stale.h"
#include "../core/tools.h"
#include "../os/lock.h"

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

/* The slot whose stride this pointer is in, and how far; NO_SLOT if it is not of this pool. */
static uint32_t locate(const kolk_shared *pool, const void *pointer, uint64_t *inside) {
    *inside = 0;
    if (pool->objects) return kolk_shared_search_bypassed(pool, pointer, inside);
    return kolk_locate(pool->slots, pool->stride, usable(pool), pointer, inside);
}

/* A slot that is taken from `fresh`, and not alive yet, may pass for one that was. */
static bool is_new(const kolk_shared *pool, uint32_t slot) {
    return life_of(pool, slot) == 0 && (pool->lives || slot >= kolk_load(&pool->depot.fresh, KOLK_RELAXED));
}

void kolk_shared_fail_object(const kolk_shared *pool, const void *object, const char *verb, kolk_status if_dead,
                             const void *site) {
    uint64_t inside;
    uint32_t slot = locate(pool, object, &inside);
    kolk_failure failure = kolk_shared_failure(pool, if_dead, slot, site);
    failure.object = object;
    if (slot != NO_SLOT && is_new(pool, slot)) failure.rule = KOLK_NEVER_ISSUED;
    kolk_fail_object(failure, verb, "slot", inside);
}

void kolk_shared_fail_local(const kolk_local *local, const void *object, const char *verb, const void *site) {
    kolk_failure failure = {.rule = KOLK_NO_LOCAL, .pool = "", .object = object, .slot = NO_SLOT, .site = site};
    failure.no_debug = true;
    failure.sites = kolk_settings_of_part("", NULL).flags & KOLK_DEBUG_SITES; /* of which pool, nobody knows any more */
    if (local->magazine)
        kolk_fail(failure, "%s through a local whose pool is deinit'd", verb);
    else
        kolk_fail(failure, "%s through a local that is of no pool", verb);
}

void kolk_shared_refuse(const kolk_shared *pool, const void *object, const char *verb, const void *site) {
    kolk_shared_fail_object(pool, object, verb, KOLK_DEAD_OBJECT, site);
}

/* ---- Handles and questions --------------------------------------------------------------------------------------- */

KOLK_NOINLINE kolk_handle kolk_shared_handle(const kolk_shared *pool, const void *object) {
    uintptr_t index = slot_of(pool, object);
    uint32_t life = is_alive(pool, index) ? life_of(pool, index) : 0;
    if (pool->lives && (life & 1)) return kolk_handle_make(life, (uint32_t)index, pool->tag);
    if (life & 1) {
        kolk_failure failure = kolk_shared_failure(pool, KOLK_NO_HANDLES, (uint32_t)index, SITE);
        failure.object = object;
        kolk_fail(failure, "handle of slot %u, but KOLK_GENERATIONS_NONE has no handles", (uint64_t)index);
    } else {
        kolk_shared_fail_object(pool, object, "handle", KOLK_DEAD_OBJECT, SITE);
    }
    return (kolk_handle){0};
}

KOLK_NOINLINE void *kolk_shared_get_slow(const kolk_shared *pool, kolk_handle handle) {
    uint32_t index = kolk_handle_index(handle, pool->tag);
    bool alive = pool->lives && is_alive(pool, index);
    if (alive && life_of(pool, index) == kolk_handle_generation(handle)) return object_at(pool, index);
    if (kolk_note_stale(&pool->name, handle) && kolk_handle_is_foreign(handle, pool->tag, slots_of(pool)) &&
        kolk_note_foreign(&pool->wrong_pool, pool->debug_flags & KOLK_DEBUG_STRICT))
        kolk_fail_handle(kolk_shared_failure(pool, KOLK_WRONG_POOL, NO_SLOT, SITE), handle);
    return NULL;
}

bool kolk_shared_is_live(const kolk_shared *pool, const void *object) {
    return is_alive(pool, slot_of(pool, object));
}

/* The first slot from this one on that has a live object, or `end`. */
static uint32_t live_from(const kolk_shared *pool, uintptr_t index, uint32_t end) {
    while (index < end && !(life_of(pool, index) & 1)) index++;
    return (uint32_t)index;
}

/* The first live object from this slot on, and its slot; NULL: there is none below `end`. */
static void *live_object_from(const kolk_shared *pool, uint32_t *slot, uint32_t end) {
    void *object = NULL;
    if (pool->objects) kolk_shared_lock_debug(pool);
    *slot = live_from(pool, *slot, end);
    if (*slot < end) object = pool->objects ? (void *)~pool->objects[*slot] : plain_object_at(pool, *slot);
    if (pool->objects) kolk_shared_unlock_debug(pool);
    return object;
}

kolk_shared_cursor kolk_shared_each(const kolk_shared *pool) {
    return (kolk_shared_cursor){pool, 0, kolk_load(&pool->depot.fresh, KOLK_ACQUIRE), true};
}

void *kolk_shared_cursor_next(kolk_shared_cursor *cursor) {
    void *object = live_object_from(cursor->pool, &cursor->slot, cursor->end);
    if (object) cursor->slot++;
    return object;
}

/* With bypass a pointer alone does not tell the slot. All of it is under the lock, without which no slot gets another
 * block. */
static void *next_bypassed(const kolk_shared *pool, const void *object, const void *site) {
    void *next = NULL;
    kolk_shared_lock_debug(pool);
    uintptr_t slot = object ? kolk_debug_walked(pool->debug, object) : 0;
    uint32_t end = kolk_load(&pool->depot.fresh, KOLK_ACQUIRE);
    bool known = !object || slot < end;
    uint32_t index = known ? live_from(pool, object ? slot + 1 : 0, end) : end;
    if (index < end) {
        next = (void *)~pool->objects[index];
        kolk_debug_walk(pool->debug, index, false);
        if (!(life_of(pool, index) & 1)) kolk_debug_walk(pool->debug, index, true);
    }
    kolk_shared_unlock_debug(pool);
    if (!known) kolk_shared_fail_object(pool, object, "next", KOLK_DEAD_OBJECT, site);
    return next;
}

KOLK_NOINLINE void *kolk_shared_next(const kolk_shared *pool, const void *object) {
    if (pool->objects) return next_bypassed(pool, object, SITE);
    uintptr_t index = object ? slot_of(pool, object) : 0;
    uint32_t end = kolk_load(&pool->depot.fresh, KOLK_ACQUIRE);
    if (object && index++ >= end) {
        kolk_shared_fail_object(pool, object, "next", KOLK_DEAD_OBJECT, SITE);
        return NULL;
    }
    index = live_from(pool, index, end);
    return index < end ? plain_object_at(pool, index) : NULL;
}

/* Where statistics are asked for, the pool may be a copy of its struct (registry.h): its own members are at hand, and
 * the magazines know the depot by its place in the struct that was copied. */
static kolk_magazine *next_magazine(const kolk_shared *pool, const kolk_magazine *magazine) {
    if (pool->range || !pool->depot.members) return kolk_depot_next_magazine(&pool->depot, magazine);
    uintptr_t home = (uintptr_t)pool->depot.members - offsetof(kolk_shared, members);
    const kolk_depot *depot = (const kolk_depot *)(home + offsetof(kolk_shared, depot));
    return kolk_members_next_magazine(&pool->members, depot, magazine);
}

/* Slots below fresh without an object: in the depot, in magazines, in the sets of those to be free later, and in
 * quarantine. */
static uint64_t count_free(const kolk_shared *pool, uint32_t fresh) {
    uint64_t count = kolk_slot_set_count(&pool->depot.free, kolk_depot_words(&pool->depot, fresh));
    for (const kolk_magazine *magazine = NULL; (magazine = next_magazine(pool, magazine));)
        count += kolk_magazine_count(magazine) + (kolk_load(&magazine->proving, KOLK_RELAXED) != 0);
    count += kolk_load(&pool->quarantined, KOLK_RELAXED);
    for (unsigned n = 0; n < later_sets(pool); n++)
        count += kolk_slot_set_count(&pool->later[n], kolk_bits_words(fresh));
    if (makes_parts(pool)) count += kolk_slot_set_count(&pool->raw, kolk_bits_words(fresh));
    return count;
}

uint32_t kolk_shared_count(const kolk_shared *pool) {
    uint32_t fresh = kolk_load(&pool->depot.fresh, KOLK_RELAXED);
    uint64_t free = count_free(pool, fresh);
    return free < fresh ? (uint32_t)(fresh - free) : 0;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

void kolk_shared_stats(const kolk_shared *pool, kolk_stats *out) {
    uint32_t fresh = kolk_load(&pool->depot.fresh, KOLK_RELAXED), end = usable(pool);
    uint64_t free = count_free(pool, fresh), failed = 0;
    for (const kolk_magazine *magazine = NULL; (magazine = next_magazine(pool, magazine));)
        failed += kolk_load(&magazine->failed, KOLK_RELAXED);
    uint32_t count = free < fresh ? (uint32_t)(fresh - free) : 0, capacity = end > pool->slack ? end - pool->slack : 0;
    uint32_t taken = fresh < capacity ? fresh : capacity;
    *out = (kolk_stats){
        .name = shared_name(pool),
        .kind = pool->range ? "heap" : "shared",
        .object_size = pool->object_size,
        .stride = pool->stride,
        .count = count,
        .peak = count > taken ? count : taken,
        .capacity = capacity,
        .max_capacity = pool->max_capacity,
        .unused_bytes = (uint64_t)(capacity - taken) * pool->stride,
        .bytes_reserved = pool->block_size,
        .bytes_committed = kolk_shared_committed(pool, end),
        .failed = failed,
        .waiting = pool->waiters_forks == kolk_forks() ? kolk_load(&pool->depot.waiting, KOLK_RELAXED) : 0,
        .waits = kolk_load(&pool->waits, KOLK_RELAXED),
        .wrong_pool = kolk_load(&pool->wrong_pool, KOLK_RELAXED),
        .debug = pool->debug_flags,
    };
    kolk_tools_wrote(out, sizeof *out);
}

#endif
