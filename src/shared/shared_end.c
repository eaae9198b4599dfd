/* shared_end.c: ends all lives of a shared pool while no other thread uses it. At the end of the pool, also tears down
 * the objects' parts, and clears the locals that still exist.
 *
 * A reset hook may still free and allocate objects, so lives are ended repeatedly until no object is alive. This
 * terminates because a slot whose life has ended here cannot be allocated again. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/block.h"
#include "../core/tools.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/thread.h"

#include <string.h>

#define ORPHANED_POOLS 64u

/* Resets a dead object, whose slot is not in the depot, a magazine or a set. A clear puts the slot into the depot. */
static void end_object(kolk_shared_inside_ *pool, uint32_t slot, bool clears) {
    void *object = kolk_store_object_(&pool->store, slot);
    if (pool->life.reset) pool->life.reset(object, pool->context);
    if (clears)
        kolk_store_put_(&pool->store, NULL, slot, true);
    else if (pool->store.debug)
        kolk_watch_->wiped(pool->store.debug, slot, object);
}

static void end_later(void *context, uint32_t slot, uint64_t bits) {
    KOLK_ASSERT_(bits == 1);
    (void)bits;
    end_object((kolk_shared_inside_ *)context, slot, false);
}

static bool end_alive(kolk_shared_inside_ *pool, bool clears, const void *site) {
    bool any = false;
    for (uint32_t slot = 0; slot < kolk_store_fresh_(&pool->store); slot++) {
        if (!kolk_store_is_alive_(&pool->store, slot)) continue;
        kolk_store_end_life_(&pool->store, kolk_store_object_(&pool->store, slot), site);
        end_object(pool, slot, clears);
        any = true;
    }
    return any;
}

/* Lets all locals take the slow path of alloc, which returns NULL during teardown. */
static void empty_magazines(kolk_shared_inside_ *pool) {
    for (kolk_shared_keeper_ *keeper = first_keeper(pool); keeper; keeper = next_keeper(keeper)) {
        kolk_magazine_ *magazine = kolk_keeper_magazines_(&keeper->base);
        magazine->top = magazine->proving = 0;
    }
    pool->tears_down = true;
}

static void tear_down_all(kolk_shared_inside_ *pool) {
    empty_magazines(pool);
    for (uint32_t slot = 0; slot < pool->store.depot.fresh; slot++) {
        if (!is_ready(pool, slot)) continue;
        kolk_fetch_and_(kolk_slot_set_word_(&pool->store.sets[READY], slot / 64), ~kolk_bits_at_(slot), KOLK_RELAXED_);
        pool->life.teardown(kolk_store_object_(&pool->store, slot), pool->context);
    }
}

void kolk_shared_end_lives_(kolk_shared_inside_ *pool, const void *site) {
    kolk_store_(&pool->ender, kolk_thread_(), KOLK_RELAXED_);
    for (bool any = pool->life.reset || pool->store.debug; any;) {
        any = kolk_shared_drain_later_(pool, end_later);
        any |= end_alive(pool, false, site);
    }
    if (pool->life.teardown) tear_down_all(pool);
}

/* ---- Clear ------------------------------------------------------------------------------------------------------- */

/* With hooks, the slots that are not set up stay in their set, and each object is freed on its own. */
KOLK_NOINLINE_ void kolk_shared_clear(kolk_shared *of) {
    kolk_shared_inside_ *pool = of->inside;
    if (!pool || kolk_shared_is_all_barred_(pool, "clear", SITE)) return;
    if (!pool->store.debug && !pool->life.reset && !makes_parts(pool)) {
        kolk_store_reset_(&pool->store, NULL);
        return;
    }
    kolk_store_(&pool->ender, kolk_thread_(), KOLK_RELAXED_);
    kolk_shared_free_retired_(pool);
    end_alive(pool, true, SITE);
    kolk_store_(&pool->ender, 0, KOLK_RELAXED_);
}

/* ---- Locals that were left over ---------------------------------------------------------------------------------- */

/* The pages with the records of the most recent pools that ended while running threads still had locals. These records
 * are all zero, which is how the slow paths recognise such a local. They read its magazine before its pool, because the
 * pool may be unmapped. */
static struct {
    struct {
        void *start;
        size_t size;
    } kept[ORPHANED_POOLS];
    uint32_t next; /* the next place, modulo ORPHANED_POOLS; it has the oldest pages once all places are taken */
} orphans;

/* Keeps these pages in place of the oldest ones. */
static void keep_pages(void *start, size_t size) {
    kolk_lock_();
    uint32_t n = orphans.next++ % ORPHANED_POOLS;
    void *old_start = orphans.kept[n].start;
    size_t old_size = orphans.kept[n].size;
    orphans.kept[n].start = start;
    orphans.kept[n].size = size;
    kolk_unlock_();
    if (old_start) kolk_memory_release_(old_start, old_size);
}

/* Asking the system takes microseconds, so the calling thread is recognised without asking. */
static bool is_of_running_thread(const kolk_keeper_ *keeper) {
    return keeper->taken && (keeper->owner == kolk_thread_() || !kolk_thread_has_ended_(keeper->owner));
}

/* Clears the records of the locals. True: running threads still have some of these locals. */
static bool clear_records(const kolk_shared_inside_ *pool) {
    bool any = false;
    for (kolk_keeper_ *keeper = kolk_keepers_first_(&pool->keepers), *next; keeper; keeper = next) {
        next = keeper->next;
        any = any || is_of_running_thread(keeper);
        memset(keeper, 0, THREAD_BYTES + sizeof(kolk_magazine_));
    }
    return any;
}

/* Releases pages at one end of the block, or at least their memory. Returns how many bytes of addresses it released. */
static size_t give_end(unsigned char *start, size_t size) {
    if (size == 0 || kolk_memory_trim_(start, size)) return size;
    kolk_memory_decommit_(start, size);
    return 0;
}

void kolk_shared_end_memory_(const kolk_shared_inside_ *pool) {
    if (!clear_records(pool)) {
        kolk_store_end_block_(&pool->store);
        return;
    }
    size_t page = kolk_memory_page_(), records = pool->max_threads * pool->record_size;
    size_t size = (size_t)round_up(pool->store.block_size, page), at = (size_t)(pool->records - pool->store.block);
    size_t before = at / page * page, behind = (size_t)round_up(at + records, page);
    kolk_tools_remove_root_(pool->store.block, pool->store.block_size);
    kolk_memory_discard_(pool->records, records, false);
    size_t end = size - give_end(pool->store.block + behind, size - behind),
           start = give_end(pool->store.block, before);
    keep_pages(pool->store.block + start, end - start);
}

#endif
