/* heap_trim.c: returns unused memory to the system.
 *
 * The heap has no thread or timer of its own to do so. A thread that is off the fast path reads the clock now and then,
 * and sweeps if the last sweep was at least DECAY_NS ago. A sweep releases the pages of slots that were free at the
 * previous sweep and that no thread has taken since (heap_rest.c). So that a sweep finds all free slots, each thread
 * that is off the fast path empties its magazines into the depots once between two sweeps. When a class grows, which
 * takes new pages in any case, the pages that others no longer need are released sooner. The nursery returns the leaves
 * that no live block touches, because most of its sizes have classes by now. Free leaves keep some memory for other
 * heaps; beside malloc's heap there are none, so its sweeps release that too. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/budget.h"
#include "../core/begin.h"
#include "../os/clock.h"
#include "../os/lock.h"

#define DECAY_NS     INT64_C(1000000000)
#define GROWTH_NS    INT64_C(10000000) /* a class that has grown sweeps after this time already, */
#define GROWTH_SHARE 32                /* unless the sweeps would take more than this part of the time */
#define TURNS        64u               /* slow calls between two readings of the clock */
#define FEW_RETURNS  128u              /* a return brings one slot to 128 slots back */

static size_t sweep_heap(kolk_heap_inside_ *inside, bool counts) {
    size_t bytes = 0;
    for (uint32_t n = 0; n < inside->n_classes; n++) {
        kolk_heap_tray_ *tray = &inside->trays[n];
        if (!kolk_load_(&tray->is_made, KOLK_ACQUIRE_)) {
            bytes += kolk_heap_discard_kept_(inside, n, counts);
            continue;
        }
        bytes += kolk_heap_sweep_(tray, counts);
        kolk_heap_list_class_(tray);
    }
    return bytes;
}

void kolk_heap_decay_(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread, bool has_grown) {
    kolk_heap_reclaim_after_fork_(inside);
    if (++thread->turns % TURNS && !has_grown) return;
    uint64_t now = (uint64_t)kolk_now_ns_(), last = kolk_load_(&inside->swept, KOLK_RELAXED_);
    int64_t rest = has_grown ? kolk_load_(&inside->growth_rest, KOLK_RELAXED_) : DECAY_NS;
    bool sweeps = (int64_t)(now - last) >= (rest > GROWTH_NS ? rest : GROWTH_NS) &&
                  kolk_compare_exchange_(&inside->swept, &last, now, KOLK_RELAXED_, KOLK_RELAXED_);
    if (!has_grown && (sweeps || thread->flushed != last)) {
        kolk_heap_flush_(inside, thread);
        thread->flushed = sweeps ? now : last;
    }
    if (!sweeps) return;
    kolk_lock_word_(&inside->sweeping);
    sweep_heap(inside, false);
    kolk_spares_expire_(&inside->large.spares, (int64_t)last);
    kolk_nursery_trim_(&inside->root->nursery);
    kolk_ended_expire_((int64_t)now - KOLK_ENDED_TIME_);
    if (inside->root->serves_malloc) kolk_leaves_trim_(false);
    kolk_store_(&inside->growth_rest, (kolk_now_ns_() - (int64_t)now) * GROWTH_SHARE, KOLK_RELAXED_);
    kolk_unlock_word_(&inside->sweeping);
}

/* Releases the pages of all free slots: the first sweep finds them, the second one releases them. */
static size_t sweep_twice(kolk_heap_inside_ *inside, bool counts) {
    return sweep_heap(inside, counts) + sweep_heap(inside, counts);
}

/* Any thread may trim all heaps at any time, also while another one resets this heap: so the lock is held for the
 * calling thread's magazines, too. `thread` may be NULL. */
static size_t sweep_all(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread, bool counts) {
    kolk_lock_word_(&inside->sweeping);
    if (thread) kolk_heap_flush_(inside, thread);
    size_t bytes = sweep_twice(inside, counts) + kolk_spares_expire_(&inside->large.spares, INT64_MAX);
    kolk_unlock_word_(&inside->sweeping);
    return bytes;
}

/* Releases what the process keeps for heaps that are to come. */
static size_t trim_process(bool counts) {
    return kolk_leaves_trim_(counts) + kolk_ended_expire_(INT64_MAX);
}

size_t kolk_heap_trim_now_(kolk_heap *heap, bool counts) {
    kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    kolk_heap_thread_ *thread = inside ? kolk_heap_thread_of_(heap) : NULL;
    if (!heap->root) return 0;
    kolk_nursery_trim_(&heap->root->nursery);
    return (inside ? sweep_all(inside, thread, counts) : 0) + trim_process(counts);
}

/* How many slots the classes have used, and how often slots have come back to their depots. */
static uint64_t count_returns(const kolk_heap_inside_ *inside, uint64_t *slots) {
    uint64_t returns = 0;
    *slots = 0;
    for (uint32_t n = 0; n < inside->n_classes; n++) {
        if (!kolk_load_(&inside->trays[n].is_made, KOLK_ACQUIRE_)) continue;
        returns += kolk_load_(&inside->trays[n].store.depot.returns, KOLK_RELAXED_);
        *slots += kolk_store_fresh_(&inside->trays[n].store);
    }
    return returns;
}

bool kolk_heap_trim_for_room_(kolk_heap *heap, size_t size) {
    kolk_heap_inside_ *inside = heap->inside;
    uint64_t slots, last = kolk_load_(&inside->trimmed, KOLK_RELAXED_), before = kolk_budget_used(&heap->root->own);
    if (kolk_budget_left_(heap->root->budget) >= size) return false;
    if (count_returns(inside, &slots) - last <= slots / FEW_RETURNS) return false;
    kolk_heap_thread_ *thread = kolk_heap_thread_of_(heap);
    if (thread) kolk_heap_flush_(inside, thread);
    kolk_lock_word_(&inside->sweeping);
    bool is_done = inside->trimmed != last; /* by another thread, meanwhile */
    if (!is_done) {
        sweep_twice(inside, false);
        kolk_store_(&inside->trimmed, count_returns(inside, &slots), KOLK_RELAXED_); /* sweeps count as returns, too */
    }
    kolk_unlock_word_(&inside->sweeping);
    return is_done || kolk_budget_used(&heap->root->own) < before;
}

/* Trims the nurseries of all heaps. While the process's lock is held, no root ends, and a heap that the registry has
 * does not begin to. */
static void trim_nurseries(void) {
    char name[KOLK_NAME_ROOM_];
    if (!kolk_lock_unless_forking_()) return;
    for (const kolk_heap_root_ *root = NULL; (root = kolk_heap_next_root_(root));)
        if (kolk_heap_name_of_(kolk_load_(&root->number, KOLK_RELAXED_), name))
            kolk_nursery_trim_((kolk_nursery_ *)(uintptr_t)&root->nursery);
    kolk_unlock_();
}

static size_t trim_inside(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread) {
    return sweep_all(inside, thread, true);
}

size_t kolk_heap_trim_all_(void) {
    trim_nurseries();
    return kolk_heaps_each_(trim_inside) + trim_process(true);
}

size_t kolk_heap_trim(kolk_heap *heap) {
    return kolk_heap_trim_now_(heap, true);
}

#endif
