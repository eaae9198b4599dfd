/* heap_guarded.c: with the setting sample=N, about one block in N is a guarded block.
 *
 * The fast paths do not count. In a heap that samples, the classes' bounds are 0, so that every free leaves the fast
 * path (slow_free in depot.h). So the slow paths see each slot that enters a thread's magazine, by a free or a refill,
 * and count it as an alloc. A slot that leaves the magazine for the depot is subtracted again. The count is exact
 * except for slots that are still in a magazine, and no alloc leaves the fast path just to be counted.
 *
 * `until` is the number of allocs before the thread's next guarded block. Each distance is random, N on average, so
 * that no regular pattern in the program is missed for ever. After that many allocs it is the thread's turn: the next
 * alloc that finds a magazine empty gets the guarded block, and until then each free empties its magazine. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../base/hash.h"
#include "../os/clock.h"

#include <string.h>

/* Draws the number of allocs from one guarded block to the next: 1 to 2 N - 1. */
static int64_t draw_distance(const kolk_heap_inside_ *inside, kolk_heap_thread_ *thread) {
    return 1 + (int64_t)(kolk_mixed_(++thread->random) % (2 * (uint64_t)inside->sample - 1));
}

/* Is it this thread's turn? Once it is, it remains so until an alloc tries to take a guarded block. */
static bool is_turn_of(const kolk_heap_inside_ *inside, kolk_heap_thread_ *thread) {
    if (!thread->random) {
        thread->random = kolk_mixed_((uint64_t)kolk_now_ns_() ^ (uintptr_t)thread) | 1;
        thread->until += draw_distance(inside, thread) - 1;
    }
    if (thread->until <= 0) thread->is_turn = true;
    return thread->is_turn;
}

void *kolk_heap_sample_(kolk_heap *heap, size_t align, size_t size, const void *site) {
    kolk_heap_inside_ *inside = heap->inside;
    kolk_heap_thread_ *thread = inside->sample ? kolk_heap_thread_of_(heap) : NULL;
    if (!thread || !is_turn_of(inside, thread)) return NULL;
    void *block = kolk_guarded_alloc_(&inside->guarded, align, size, site);
    int64_t distance = draw_distance(inside, thread) - 1;
    thread->until = block ? thread->until + distance : distance;
    thread->is_turn = false;
    return block;
}

void kolk_heap_count_free_(const kolk_heap_inside_ *inside, kolk_heap_thread_ *thread, kolk_slot_store_ *store,
                           kolk_magazine_ *magazine, uint32_t before) {
    uint32_t now = kolk_magazine_count_(magazine);
    thread->until -= (int64_t)now - before;
    if (!is_turn_of(inside, thread)) return;
    thread->until += now;
    kolk_store_flush_(store, magazine);
}

bool kolk_heap_refuse_guarded_(const kolk_heap_inside_ *inside, kolk_failure failure, const char *verb) {
    if (!kolk_guarded_has_(&inside->guarded, failure.object)) return false;
    failure.slot = kolk_guarded_slot_of_(&inside->guarded, failure.object);
    const kolk_guarded_slot_ *slot = &inside->guarded.slots[failure.slot];
    uintptr_t within = (uintptr_t)failure.object - kolk_load_(&slot->start, KOLK_RELAXED_);
    if (within >= kolk_load_(&slot->size, KOLK_RELAXED_)) return false;
    failure.rule = strcmp(verb, "free") == 0 ? KOLK_DOUBLE_FREE : KOLK_DEAD_OBJECT;
    failure.sites = true;
    failure.alloc_site = (const void *)kolk_load_(&slot->alloc_site, KOLK_RELAXED_);
    failure.free_site = (const void *)kolk_load_(&slot->free_site, KOLK_RELAXED_);
    kolk_fail_object_(failure, verb, "guarded block", within);
    return true;
}

#endif
