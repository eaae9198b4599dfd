/* heap_trim.c: memory that nobody uses goes back to the system.
 *
 * No thread of the heap's own does that, and no timer. A thread that is off the fast path looks at the clock now and
 * then; if the last sweep was DECAY_NS ago, it sweeps. What a sweep finds that was free at the one before, and that
 * nobody has asked for since, goes back (src/shared/shared_trim.c). So that this is all that is free, each thread that
 * is off the fast path puts what it has at hand into the depots, once from sweep to sweep. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../os/clock.h"
#include "../os/lock.h"

#define DECAY_NS UINT64_C(1000000000)
#define TURNS    64u /* from look to look at the clock */

static size_t sweep_heap(kolk_heap_inside *inside) {
    size_t bytes = 0;
    for (uint32_t n = 0; n < inside->heap->n_classes; n++) {
        kolk_heap_tray *tray = &inside->trays[n];
        if (!kolk_load(&tray->is_made, KOLK_ACQUIRE)) continue;
        bytes += kolk_shared_sweep(&tray->pool);
        kolk_shared_list_part(&tray->pool);
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
    sweep_heap(inside);
    kolk_unlock_word(&inside->sweeping);
}

size_t kolk_heap_trim(kolk_heap *heap) {
    kolk_heap_inside *inside = heap->inside;
    kolk_heap_thread *thread = inside ? kolk_heap_thread_of(heap) : NULL;
    if (!inside) return 0;
    if (thread) kolk_heap_flush(inside, thread);
    kolk_lock_word(&inside->sweeping);
    size_t bytes = sweep_heap(inside) + sweep_heap(inside);
    kolk_unlock_word(&inside->sweeping);
    return bytes;
}

#endif
