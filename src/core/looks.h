/* looks.h: a thread that has found nothing looks again for a while before it sleeps.
 *
 *     found nothing --> pause, look, pause, look, ... --> yield, look, yield, look, ... --> sleep
 *     waited                                  SPIN_NS or less                       LOOK_NS
 *
 * A pause is a quarter of the time waited so far. So the other side gets several cache lines ahead, and what comes is
 * found soon after it has come.
 *
 * The other side may be waiting for this very processor, so the thread yields in the end. But if another program wants
 * the processor, a yield costs milliseconds, even if that program has the lowest priority. So the time without yields
 * depends on whether it was enough lately: each wait that yields halves it for the next one, and each wait that does
 * not doubles it. If the other side runs on another processor and leaves something every few microseconds, hardly any
 * wait yields; if it shares this one, waits yield almost at once. bench/README.md has the figures. */
#ifndef KOLK_SRC_LOOKS_H
#define KOLK_SRC_LOOKS_H

#include "../base/atomics.h"
#include "../os/clock.h"
#include "../os/sleep.h"

#ifdef KOLK_SCHEDULED /* scheduled tests try rare paths as often as others */
#define LOOK_NS INT64_C(0)
#endif
#ifndef LOOK_NS /* bench/backoff.cc tries other values of these three */
#define LOOK_NS INT64_C(50000)
#endif
#ifndef SPIN_NS
#define SPIN_NS        INT64_C(10000)
#define SHORTEST_PAUSE INT64_C(100)
#endif
#define MOST_HALVINGS 4u  /* of SPIN_NS */
#define NEW_ATTEMPT   64u /* after this many waits in a row that yield, the next one spins for SPIN_NS again */

typedef struct kolk_looks_ {
    int64_t began;    /* 0: it has not looked yet */
    uint32_t in_vain; /* how many of the last waits had to yield; for all threads that wait at one place */
    bool yields;
} kolk_looks_;

static inline uint32_t kolk_halvings_(uint32_t in_vain) {
    return in_vain < MOST_HALVINGS ? in_vain : MOST_HALVINGS;
}

/* Pauses or yields, before the caller looks again. Returns false if it has looked for LOOK_NS: then it should sleep. */
/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline bool kolk_look_later_(kolk_looks_ *me, uint32_t *in_vain, int64_t now) {
    if (me->began == 0 && LOOK_NS > 0) *me = (kolk_looks_){.began = now, .in_vain = kolk_load_(in_vain, KOLK_RELAXED_)};
    int64_t waited = now - me->began, pause = waited / 4;
    if (waited >= LOOK_NS) return false;
    if (waited < SPIN_NS >> kolk_halvings_(me->in_vain)) {
        int64_t until = now + (pause > SHORTEST_PAUSE ? pause : SHORTEST_PAUSE);
        do kolk_pause_();
        while (kolk_now_ns_() < until);
        return true;
    }
    if (!me->yields) kolk_store_(in_vain, (me->in_vain + 1) % NEW_ATTEMPT, KOLK_RELAXED_);
    me->yields = true;
    kolk_yield_();
    return true;
}

/* Call it when the wait is over. */
/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void kolk_end_looks_(const kolk_looks_ *me, uint32_t *in_vain) {
    if (!me->yields && me->in_vain > 0) kolk_store_(in_vain, kolk_halvings_(me->in_vain) - 1, KOLK_RELAXED_);
}

#endif
