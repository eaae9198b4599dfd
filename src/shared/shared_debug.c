/* shared_debug.c: the debug mode of a shared pool.
 *
 * The depot of such a pool is uncached for ever: no magazine keeps slots, every operation leaves the fast path, and
 * each life begins and ends here. The debug mode's record of a slot belongs to the thread that has the slot, as its
 * bytes do. The parts that slots share are under debug_lock: the quarantine and, malloc-backed, the lists in which
 * objects are found. No lock is held while a failure is reported, and the handler may longjmp. So a slot whose fill is
 * being proved is noted in its thread's magazine as `proving`, and is the next one that the thread takes. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../diag/quarantine.h"
#include "../core/assert.h"
#include "../os/lock.h"
#include "../os/thread.h"

void kolk_shared_lock_debug(const kolk_shared *pool) {
    kolk_lock_word((uint32_t *)(uintptr_t)&pool->debug_lock);
}

void kolk_shared_unlock_debug(const kolk_shared *pool) {
    kolk_unlock_word((uint32_t *)(uintptr_t)&pool->debug_lock);
}

kolk_failure kolk_shared_failure(const kolk_shared *pool, kolk_status rule, uint32_t slot, const void *site) {
    kolk_failure failure = {.rule = rule, .pool = shared_name(pool), .slot = slot, .site = site};
    if (pool->debug) kolk_debug_sites(pool->debug, slot, &failure);
    return failure;
}

/* ---- Malloc-backed objects --------------------------------------------------------------------------------------- */

uintptr_t kolk_shared_find_bypassed(const kolk_shared *pool, const void *object) {
    kolk_shared_lock_debug(pool);
    uintptr_t slot = kolk_debug_find(pool->debug, object);
    kolk_shared_unlock_debug(pool);
    return slot;
}

uint32_t kolk_shared_search_bypassed(const kolk_shared *pool, const void *pointer, uint64_t *inside) {
    kolk_shared_lock_debug(pool);
    uint32_t slot = kolk_debug_search(pool->debug, kolk_load(&pool->depot.fresh, KOLK_RELAXED), pointer, inside);
    kolk_shared_unlock_debug(pool);
    return slot;
}

void *kolk_shared_bypassed_at(const kolk_shared *pool, uintptr_t slot) {
    kolk_shared_lock_debug(pool);
    void *object = (void *)~pool->objects[slot];
    kolk_shared_unlock_debug(pool);
    return object;
}

/* ---- Quarantine -------------------------------------------------------------------------------------------------- */

/* Gives the slot that leaves for this one, NO_SLOT if none does. */
static uint32_t enter_quarantine(kolk_shared *pool, uint32_t slot) {
    if (kolk_debug_quarantine(pool->debug) == 0) return slot;
    kolk_shared_lock_debug(pool);
    uint32_t leaves = kolk_quarantine_enter(pool->debug, slot, &pool->quarantined);
    kolk_shared_unlock_debug(pool);
    return leaves;
}

uint64_t kolk_shared_take_quarantined(kolk_shared *pool, uint32_t *word) {
    kolk_shared_lock_debug(pool);
    uint32_t slot = kolk_quarantine_leave(pool->debug, &pool->quarantined);
    kolk_shared_unlock_debug(pool);
    if (slot == NO_SLOT) return 0;
    *word = slot >> pool->depot.word_shift;
    return kolk_depot_bit(&pool->depot, slot);
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

void *kolk_shared_prepare(kolk_local *local, uint32_t slot, const void *site) {
    kolk_shared *pool = local->pool;
    KOLK_ASSERT(local->magazine->proving == 0 || local->magazine->proving == slot + 1);
    KOLK_ASSERT(!is_alive(pool, slot));
    kolk_store(&local->magazine->proving, slot + 1, KOLK_RELAXED); /* partner: kolk_shared_count */
    kolk_shared_verify(pool, slot, true, site);
    if (pool->objects) kolk_shared_lock_debug(pool);
    void *object = kolk_debug_prepare(pool->debug, slot, plain_object_at(pool, slot));
    if (pool->objects) kolk_shared_unlock_debug(pool);
    if (!object) return NULL;
    kolk_store(&local->magazine->proving, 0, KOLK_RELAXED);
    return object;
}

void kolk_shared_put_poisoned(kolk_shared *pool, uint32_t slot) {
    KOLK_ASSERT(!is_alive(pool, slot));
    kolk_debug_wipe(pool->debug, slot, object_at(pool, slot));
    uint32_t leaves = enter_quarantine(pool, slot);
    if (leaves == NO_SLOT)
        kolk_depot_count_return(&pool->depot);
    else
        kolk_depot_put(&pool->depot, leaves);
}

/* Is the slot freed, while its object may still be read? */
static bool is_free_later(const kolk_shared *pool, uint32_t slot) {
    uint64_t any = 0;
    for (unsigned n = 0; n < later_sets(pool); n++)
        any |= kolk_load(kolk_slot_set_word(&pool->later[n], slot / 64), KOLK_RELAXED);
    return any & kolk_bits_at(slot);
}

static bool is_filled(const kolk_shared *pool, uint32_t slot) {
    return !is_alive(pool, slot) && !is_free_later(pool, slot);
}

void kolk_shared_verify(const kolk_shared *pool, uint32_t slot, bool filled, const void *site) {
    if (pool->objects) return;
    kolk_debug_verify(pool->debug, slot, plain_object_at(pool, slot), !filled,
                      kolk_shared_failure(pool, KOLK_OK, slot, site));
}

/* ---- The pool ---------------------------------------------------------------------------------------------------- */

bool kolk_shared_begin_debug(kolk_shared *pool, const kolk_debug_desc *desc) {
    pool->debug_flags = (uint8_t)desc->settings.flags;
    if (!desc->settings.flags) return true;
    pool->debug = kolk_debug_begin(desc);
    if (!pool->debug) return false;
    pool->objects = kolk_debug_objects(pool->debug);
    pool->depot.uncached_until = pool->depot.lowered_until = UINT64_MAX;
    pool->bound = 0;
    return true;
}

bool kolk_shared_is_intact(const kolk_shared *pool) {
    for (uint32_t slot = 0; slot < pool->depot.fresh; slot++)
        if (!pool->objects &&
            !kolk_debug_is_intact(pool->debug, slot, plain_object_at(pool, slot), !is_filled(pool, slot)))
            return false;
    return true;
}

static bool is_in_depot(const kolk_shared *pool, uint32_t slot) {
    return *kolk_slot_set_word(&pool->depot.free, slot >> pool->depot.word_shift) & kolk_depot_bit(&pool->depot, slot);
}

/* A slot in quarantine, or one that is being proved. */
static void prove_free(const kolk_shared *pool, uint32_t slot, const void *site) {
    if (is_filled(pool, slot)) kolk_shared_verify(pool, slot, true, site);
}

/* Goes by the places where slots are. Those that are in none, or are being proved by a thread that is gone, are lost to
 * a fork's child, and their fill may be half done. */
void kolk_shared_prove_all(const kolk_shared *pool, const void *site) {
    for (uint32_t slot = 0; slot < pool->depot.fresh; slot++)
        if (!is_filled(pool, slot) || is_in_depot(pool, slot))
            kolk_shared_verify(pool, slot, is_filled(pool, slot), site);
    for (uint32_t n = 0; n < pool->quarantined; n++) prove_free(pool, *kolk_debug_ring(pool->debug, n), site);
    for (const kolk_magazine *magazine = NULL; (magazine = kolk_depot_next_magazine(&pool->depot, magazine));)
        if (magazine->proving && !kolk_thread_is_gone(magazine->member->owner))
            prove_free(pool, magazine->proving - 1, site);
    if (pool->debug_flags & KOLK_DEBUG_SITES) kolk_shared_list_leaks(pool);
}

void kolk_shared_list_leaks(const void *pool) {
    const kolk_shared *self = (const kolk_shared *)pool;
    kolk_debug_leaks(self->debug, self->depot.fresh, kolk_shared_failure(self, KOLK_LEAK, NO_SLOT, NULL));
}

void kolk_shared_end_debug(kolk_shared *pool) {
    kolk_debug_end(pool->debug, pool->depot.fresh);
}

#endif
