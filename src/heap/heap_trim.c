/* heap_trim.c: returns unused memory to the system.
 *
 * The heap has no thread and no timer for that. A thread that is off the fast path reads the clock now and then; if the
 * last sweep was DECAY_NS ago, it sweeps. A sweep releases the pages of slots that were free at the sweep before and
 * that no thread has taken since (heap_rest.c). So that a sweep finds all free slots, each thread that is off the fast
 * path empties its magazines into the depots once between two sweeps. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../os/clock.h"
#include "../os/lock.h"

#define DECAY_NS UINT64_C(1000000000)
#define TURNS    64u /* slow calls between two looks at the clock */

static size_t sweep_heap(kolk_heap_inside *inside, bool counts) {
    size_t bytes = 0;
    for (uint32_t n = 0; n < inside->heap->n_classes; n++) {
        kolk_heap_tray *tray = &inside->trays[n];
        if (!kolk_load(&tray->is_made, KOLK_ACQUIRE)) continue;
        bytes += kolk_heap_sweep(&tray->store, counts);
        kolk_heap_list_class(tray);
    }
    return bytes;
}

void kolk_heap_decay(kolk_heap_inside *inside, kolk_heap_thread *thread) {
    kolk_heap_reclaim_after_fork(inside);
    if (++thread->turns % TURNS) return;
    uint64_t now = (uint64_t)kolk_now_ns(), last = kolk_load(&inside->swept, KOLK_RELAXED);
    bool sweeps =
        now - last >= DECAY_NS && kolk_compare_exchange(&inside->swept, &last, now, KOLK_RELAXED, KOLK_RELAXED);
    if (!sweeps && thread->flushed == last) return;
    kolk_heap_flush(inside, thread);
    thread->flushed = sweeps ? now : last;
    if (!sweeps) return;
    kolk_lock_word(&inside->sweeping);
    sweep_heap(inside, false);
    kolk_unlock_word(&inside->sweeping);
}

size_t kolk_heap_trim_now(kolk_heap *heap, bool counts) {
    kolk_heap_inside *inside = heap->inside;
    kolk_heap_thread *thread = inside ? kolk_heap_thread_of(heap) : NULL;
    if (!inside) return 0;
    if (thread) kolk_heap_flush(inside, thread);
    kolk_lock_word(&inside->sweeping);
    size_t bytes = sweep_heap(inside, counts) + sweep_heap(inside, counts);
    kolk_unlock_word(&inside->sweeping);
    return bytes;
}

size_t kolk_heap_trim(kolk_heap *heap) {
    return kolk_heap_trim_now(heap, true);
}

#endif
