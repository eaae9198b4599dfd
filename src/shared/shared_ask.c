/* shared_ask.c: answers questions about a shared pool's objects, by pointer and by handle, reports its statistics, and
 * checks its invariants. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/bits.h"
#include "../core/begin.h"
#include "../core/fail.h"
#include "../core/geometry.h"
#include "../core/handle.h"
#include "../core/stale.h"
#include "../core/tools.h"
#include "../os/lock.h"

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

void kolk_shared_fail_local_(const kolk_shared_local *local, const void *object, const char *verb, const void *site) {
    kolk_failure failure = {.rule = KOLK_NO_LOCAL, .pool = "", .object = object, .slot = KOLK_NO_SLOT_, .site = site};
    failure.no_debug = true;
    failure.sites = kolk_settings_of_("", NULL, false).flags & KOLK_DEBUG_SITES; /* its pool is no longer known */
    kolk_fail_(failure, "%s through a local %s", verb,
               local->magazine ? "whose pool is deinit'd" : "that is of no pool");
}

static void fail_in_hook(const kolk_shared_inside_ *pool, const char *verb, const void *site) {
    kolk_fail_(kolk_store_failure_(&pool->store, KOLK_IN_HOOK, KOLK_NO_SLOT_, site),
               "%s in a hook of this pool, which may only alloc and free", verb);
}

bool kolk_shared_bar_(const kolk_shared_local *local, const char *verb, const void *site) {
    const kolk_shared_inside_ *pool = local->pool;
    uint32_t me = kolk_thread_();
    if (!me || (keeper_of(local)->in_hook != me && kolk_load_(&pool->ender, KOLK_RELAXED_) != me)) return false;
    fail_in_hook(pool, verb, site);
    return true;
}

/* After a fork, hooks that ran in other threads are those of the parent. */
bool kolk_shared_runs_hook_(const kolk_shared_inside_ *pool) {
    uint32_t me = kolk_thread_();
    bool runs = me && kolk_load_(&pool->ender, KOLK_RELAXED_) == me;
    for (const kolk_shared_keeper_ *keeper = first_keeper(pool); keeper && !runs; keeper = next_keeper(keeper))
        runs = me && keeper->in_hook == me;
    return runs;
}

bool kolk_shared_is_all_barred_(const kolk_shared_inside_ *pool, const char *verb, const void *site) {
    if (!kolk_shared_runs_hook_(pool)) return false;
    fail_in_hook(pool, verb, site);
    return true;
}

/* ---- Handles and questions --------------------------------------------------------------------------------------- */

/* The pool's store, or an empty store if the pool is all zero. */
static const kolk_slot_store_ *store_of(const kolk_shared *pool) {
    static const kolk_slot_store_ none = {.name = ""};
    return pool->inside ? &pool->inside->store : &none;
}

KOLK_NOINLINE_ kolk_handle kolk_shared_handle_of(const kolk_shared *pool, const void *object) {
    const kolk_slot_store_ *store = store_of(pool);
    uintptr_t slot = kolk_store_slot_of_(store, object);
    uint32_t life = kolk_store_is_alive_(store, slot) ? kolk_store_life_(store, slot) : 0;
    if (store->lives && (life & 1)) return kolk_handle_make_(life, (uint32_t)slot, pool->tag);
    if (life & 1) {
        kolk_failure failure = kolk_store_failure_(store, KOLK_NO_HANDLES, (uint32_t)slot, SITE);
        failure.object = object;
        kolk_fail_(failure, "handle of slot %u, but KOLK_GENERATIONS_NONE has no handles", (uint64_t)slot);
    } else {
        kolk_store_fail_object_(store, object, "handle", KOLK_DEAD_OBJECT, SITE);
    }
    return (kolk_handle){0};
}

/* The pool may have grown since its bound was set. If two threads set it at the same time and the lower bound remains,
 * the next call raises it. */
static void raise_bound(const kolk_shared *pool, const kolk_slot_store_ *store) {
    if (!store->debug) kolk_store_((uint32_t *)(uintptr_t)&pool->bound, kolk_store_usable_(store), KOLK_RELAXED_);
}

KOLK_NOINLINE_ void *kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle) {
    const kolk_slot_store_ *store = store_of(pool);
    uint32_t slot = kolk_handle_index_(handle, pool->tag);
    bool alive = store->lives && kolk_store_is_alive_(store, slot);
    if (alive && kolk_store_life_(store, slot) == kolk_handle_generation_(handle)) {
        raise_bound(pool, store);
        return kolk_store_object_(store, slot);
    }
    if (kolk_note_stale_(&pool->name, handle) && kolk_handle_is_foreign_(handle, pool->tag, store->depot.slots) &&
        kolk_note_foreign_(&pool->inside->wrong_pool, store->debug_flags & KOLK_DEBUG_STRICT_))
        kolk_fail_handle_(kolk_store_failure_(store, KOLK_WRONG_POOL, KOLK_NO_SLOT_, SITE), handle);
    return NULL;
}

bool kolk_shared_is_live(const kolk_shared *pool, const void *object) {
    const kolk_slot_store_ *store = store_of(pool);
    return kolk_store_is_alive_(store, kolk_store_slot_of_(store, object));
}

kolk_shared_cursor kolk_shared_each(const kolk_shared *pool) {
    return (kolk_shared_cursor){pool, 0, kolk_load_(&store_of(pool)->depot.fresh, KOLK_ACQUIRE_), true};
}

void *kolk_shared_cursor_next(kolk_shared_cursor *cursor) {
    void *object = kolk_store_next_alive_(store_of(cursor->pool), &cursor->slot, cursor->end);
    if (object) cursor->slot++;
    return object;
}

uint32_t kolk_shared_count(const kolk_shared *pool) {
    return kolk_store_count_(store_of(pool));
}

void kolk_shared_add_waits_(const kolk_shared_inside_ *inside, kolk_stats *out) {
    out->waiting = kolk_load_(&inside->store.depot.waiting, KOLK_RELAXED_);
    out->waits = kolk_load_(&inside->waits, KOLK_RELAXED_);
    out->wrong_pool = kolk_load_(&inside->wrong_pool, KOLK_RELAXED_);
}

void kolk_shared_stats(const kolk_shared *pool, kolk_stats *out) {
    const kolk_shared_inside_ *inside = pool->inside;
    kolk_store_stats_(store_of(pool), "shared", out);
    if (inside) kolk_shared_add_waits_(inside, out);
    if (inside && inside->waiters_forks != kolk_forks_()) out->waiting = 0;
    kolk_tools_wrote_(out, sizeof *out);
}

/* ---- Invariants, which shared.c lists ---------------------------------------------------------------------------- */

static bool is_raw(const kolk_shared_inside_ *pool, uint32_t slot) {
    return *kolk_slot_set_word_(&pool->store.sets[RAW], slot / 64) & kolk_bits_at_(slot);
}

bool kolk_shared_is_valid(const kolk_shared *of) {
    const kolk_shared_inside_ *pool = of->inside;
    if (!pool) return !of->slots && !of->bound;
    const kolk_depot_ *depot = &pool->store.depot;
    if (!kolk_store_is_valid_(&pool->store)) return false;                         /* I1 */
    if (depot->waiting || pool->waiters.first || pool->waiters.last) return false; /* I2 */
    const kolk_slot_set_ *to_come = &pool->store.sets[LATER + (pool->epoch + 1) % 4];
    if (pool->epoch == 0 || kolk_slot_set_count_(to_come, kolk_bits_words_(depot->usable))) return false; /* I3 */
    for (uint32_t slot = 0; makes_parts(pool) && slot < depot->usable; slot++)
        if (is_ready(pool, slot) != (slot < depot->fresh && !is_raw(pool, slot))) return false; /* I4 */
    return true;
}

#endif
