/* ipc_wait.c: threads that wait, in any process, for a free slot, for an object in a queue, or for room in one.
 *
 * A thread that finds nothing first polls for a while (looks.h). Then it notes the event's word, sets `asleep`, looks
 * once more, and sleeps on the word. A thread that has left something reads `asleep` and, if it is set, clears it,
 * counts the word up, and wakes one sleeper. All of these are sequentially consistent, so the sleeper's last look finds
 * what the other has left, or the other sees `asleep` (Dekker), or the word has changed and the sleeper does not sleep.
 *
 * One call wakes one thread, and others may still sleep. So a thread that has slept sets `asleep` again when it leaves,
 * and only then looks whether there is more, and wakes the next if so (Dekker again). A thread that dies in the middle
 * of any of this can hold up nobody for long, because nobody sleeps for more than 10 milliseconds without looking
 * again. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#ifndef KOLK_SCHEDULED
#define IPC_NAP_NS INT64_C(10000000)
#else
#define IPC_NAP_NS INT64_MAX /* a thread that is not woken must sleep for ever */
#endif

/* The deadline of one sleep: that of the wait, or an earlier one. */
static kolk_deadline nap_until(kolk_deadline deadline, int64_t now) {
    if (IPC_NAP_NS == INT64_MAX || deadline.ns - now <= IPC_NAP_NS) return deadline;
    return (kolk_deadline){now + IPC_NAP_NS};
}

static void begin_to_listen(ipc_event *on, ipc_wait *me) {
    me->word = kolk_load_(&on->word, KOLK_SEQ_CST_);
    kolk_exchange_(&on->asleep, 1, KOLK_SEQ_CST_);
    me->listens = true;
}

bool kolk_ipc_wait_(kolk_ipc *pool, ipc_event *on, ipc_wait *me) {
    if (me->deadline.ns <= 0) return false; /* KOLK_NOW: no look at the clock */
    if (is_corrupt(pool)) return false;     /* as another thread has found */
    int64_t now = kolk_now_ns_();
    if (now >= me->deadline.ns) return false;
    if (!me->listens && kolk_look_later_(&me->looks, &pool->in_vain, now)) return true;
    if (!me->listens) {
        begin_to_listen(on, me);
        return true;
    }
    if (!me->slept) {
        me->slept = true;
        kolk_fetch_add_(&pool->waits, 1, KOLK_RELAXED_);
        kolk_fetch_add_(&pool->waiting, 1, KOLK_RELAXED_);
    }
    kolk_wait_between_(&on->word, me->word, nap_until(me->deadline, now));
    begin_to_listen(on, me);
    return true;
}

bool kolk_ipc_end_wait_(kolk_ipc *pool, ipc_event *on, const ipc_wait *me) {
    kolk_end_looks_(&me->looks, &pool->in_vain);
    if (!me->slept) return false;
    kolk_fetch_sub_(&pool->waiting, 1, KOLK_RELAXED_);
    kolk_exchange_(&on->asleep, 1, KOLK_SEQ_CST_);
    return true;
}

KOLK_NOINLINE_ void kolk_ipc_call_(ipc_event *at, uint32_t n) {
    kolk_exchange_(&at->asleep, 0, KOLK_SEQ_CST_);
    kolk_fetch_add_(&at->word, 1, KOLK_SEQ_CST_);
    kolk_wake_between_(&at->word, n);
}

#endif
