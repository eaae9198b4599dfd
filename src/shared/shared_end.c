/* shared_end.c: a shared pool ends, while no other thread is at work: lives end, parts are torn down, and locals that
 * were left over are told.
 *
 * A reset hook may still free objects and allocate some: so the lives are ended again until there are none. That comes
 * to an end, since no slot whose life is ended here can be had again. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../core/room.h"
#include "../core/tools.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/thread.h"

#include <string.h>

#define ORPHANED_POOLS 64u

/* The object is dead, and its slot is in no place. */
static void end_object(kolk_shared *pool, uint32_t slot) {
    void *object = object_at(pool, slot);
    if (pool->reset) pool->reset(object, pool->context);
    if (pool->debug) kolk_debug_wipe(pool->debug, slot, object);
}

static void end_later(void *context, uint32_t slot, uint64_t bits) {
    KOLK_ASSERT(bits == 1);
    (void)bits;
    end_object((kolk_shared *)context, slot);
}

static bool end_alive(kolk_shared *pool, const void *site) {
    uint32_t end = kolk_load(&pool->depot.fresh, KOLK_RELAXED);
    bool any = false;
    for (uint32_t slot = 0; slot < end; slot++) {
        if (!is_alive(pool, slot)) continue;
        kolk_shared_end_life(pool, object_at(pool, slot), site);
        end_object(pool, slot);
        any = true;
    }
    return any;
}

static void tear_down_all(kolk_shared *pool) {
    for (uint32_t slot = 0; slot < pool->depot.fresh; slot++) {
        if (!is_ready(pool, slot)) continue;
        kolk_fetch_and(kolk_slot_set_word(&pool->ready, slot / 64), ~kolk_bits_at(slot), KOLK_RELAXED);
        pool->teardown(object_at(pool, slot), pool->context);
    }
}

void kolk_shared_end_lives(kolk_shared *pool, const void *site) {
    for (bool any = pool->reset || pool->debug; any;) {
        any = kolk_shared_drain_later(pool, end_later);
        any |= end_alive(pool, site);
    }
    if (pool->teardown) tear_down_all(pool);
}

/* ---- Locals that were left over ---------------------------------------------------------------------------------- */

/* The pages with the records of the last pools that left locals of running threads. All zero is what the slow paths
 * know such a local by: they look at its magazine before its pool, which may be gone altogether. */
static struct {
    struct {
        void *start;
        size_t size;
    } kept[ORPHANED_POOLS];
    uint32_t next; /* the oldest ones, if all places are taken */
} orphans;

/* Keeps these pages in place of the oldest ones. */
static void keep_pages(void *start, size_t size) {
    kolk_lock();
    uint32_t n = orphans.next++ % ORPHANED_POOLS;
    void *old_start = orphans.kept[n].start;
    size_t old_size = orphans.kept[n].size;
    orphans.kept[n].start = start;
    orphans.kept[n].size = size;
    kolk_unlock();
    if (old_start) kolk_memory_release(old_start, old_size);
}

/* To ask the system takes microseconds: not of the calling thread. */
static bool is_of_running_thread(const kolk_member *member) {
    return member->taken && (member->owner == kolk_thread() || !kolk_thread_has_ended(member->owner));
}

/* Clears the locals; are there any of running threads? */
static bool clear_records(const kolk_shared *pool) {
    bool any = false;
    for (kolk_member *member = kolk_members_first(&pool->members), *next; member; member = next) {
        next = member->next;
        any = any || is_of_running_thread(member);
        memset(member, 0, MEMBER_BYTES + sizeof(kolk_magazine));
    }
    return any;
}

/* Gives back pages at one end of the block, or at least their memory; how many bytes of addresses. */
static size_t give_end(unsigned char *start, size_t size) {
    if (size == 0 || kolk_memory_trim(start, size)) return size;
    kolk_memory_decommit(start, size);
    return 0;
}

void kolk_shared_end_memory(const kolk_shared *pool) {
    if (pool->range || !clear_records(pool)) {
        kolk_shared_end_block(pool);
        return;
    }
    size_t page = kolk_memory_page(), records = pool->max_threads * pool->record_size;
    size_t size = (size_t)round_up(pool->block_size, page), at = (size_t)(pool->records - pool->block);
    size_t before = at / page * page, behind = (size_t)round_up(at + records, page);
    kolk_tools_remove_root(pool->block, pool->block_size);
    kolk_memory_discard(pool->records, records);
    size_t end = size - give_end(pool->block + behind, size - behind), start = give_end(pool->block, before);
    keep_pages(pool->block + start, end - start);
}

#endif
