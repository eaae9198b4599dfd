/* makers.c: see makers.h.
 *
 *     lookout     sleeps until the first chore is due or a call comes, then works; there is one at a time
 *     at work     does a chore, which may take a long time
 *     spare       has no work: becomes the lookout when the lookout begins to work; ends after a while
 *
 * Before the lookout begins to work, it gets a successor: a spare, or a new thread (leader and followers, Schmidt et
 * al., 2000). So a chore that hangs does not delay the others. If the system has no thread left, there is no lookout
 * until a maker has finished its work; kolk_makers_are_there_ returns false then.
 *
 * The lock is held only briefly, and never during a chore. A chore counts the makers that work on it, and is not
 * removed until they have finished.
 *
 * A crew consists of all makers from the first chore to the last. The call that removes the last chore waits until the
 * crew has ended. A chore that is added meanwhile begins the next crew. Threads are joined in a chain: each joins the
 * thread that ended before it, and the call that waits for the crew joins the last one. A fork's child begins with no
 * makers and no chores. */
#include "kolk/resource.h"

#include "makers.h"

#if KOLK_HOSTED

#include "../base/atomics.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/lock.h"
#include "../os/sleep.h"
#include "../os/worker.h"

#define SPARE_NS INT64_C(1000000000) /* how long a spare stays */

typedef struct maker_crew {
    uintptr_t number;
    uint32_t threads;           /* threads that have not ended */
    uintptr_t starting;         /* the last thread started */
    bool has_ended;             /* a thread has ended and has not been joined */
    uintptr_t ended;            /* that thread */
    struct maker_crew *earlier; /* another crew that is waited for */
} maker_crew;

static struct {
    uint32_t lock;
    uint32_t forks;
    kolk_chore_ *first;
    uint32_t calls;    /* the lookout sleeps while this stays the same */
    uint32_t ends;     /* counts finished chores and ended threads; threads that wait for such an end sleep on it */
    uint32_t turns;    /* spares sleep while this stays the same */
    uint32_t spares;   /* spares that sleep, minus the called ones */
    uint32_t called;   /* spares that were called to be the lookout, and have not woken yet */
    bool has_lookout;  /* there is a lookout, or one is on its way */
    int64_t until;     /* the lookout sleeps at most until then */
    uint32_t deserted; /* atomic: there is no lookout, because no thread could be started */
    maker_crew crew;
    maker_crew *earlier; /* crews that are waited for, on the stacks of the waiting threads */
} makers;

static void lock_makers(void) {
    kolk_lock_word_(&makers.lock);
    if (makers.forks == kolk_forks_()) return;
    makers.forks = kolk_forks_();
    makers.first = NULL;
    makers.spares = makers.called = 0;
    makers.has_lookout = false;
    makers.deserted = 0;
    makers.crew = (maker_crew){.number = makers.crew.number + 1};
    makers.earlier = NULL;
}

bool kolk_makers_are_there_(void) {
    return !kolk_load_(&makers.deserted, KOLK_RELAXED_);
}

void kolk_makers_call_(void) {
    kolk_fetch_add_(&makers.calls, 1, KOLK_RELEASE_); /* partner: the load with acquire in work_in_crew */
    kolk_wake_(&makers.calls, UINT32_MAX);            /* a lookout of an earlier crew may be asleep too */
}

static void note_end(void) {
    kolk_store_(&makers.ends, makers.ends + 1, KOLK_RELAXED_); /* a waiting thread checks again under the lock */
    kolk_wake_(&makers.ends, UINT32_MAX);
}

/* Sleeps until a chore or a thread has ended, with the lock released. */
static void await_end(void) {
    uint32_t ends = makers.ends;
    kolk_unlock_word_(&makers.lock);
    kolk_wait_(&makers.ends, ends, KOLK_FOREVER);
    kolk_lock_word_(&makers.lock);
}

/* Finds the chore that is due first, and when it is due. Runs under the lock. */
static kolk_chore_ *first_due(int64_t *when) {
    kolk_chore_ *first = NULL;
    *when = KOLK_FOREVER.ns;
    for (kolk_chore_ *chore = makers.first; chore; chore = chore->next) {
        int64_t due = kolk_load_(&chore->due, KOLK_RELAXED_);
        if (due >= *when) continue;
        *when = due;
        first = chore;
    }
    return first;
}

/* ---- Interrupts -------------------------------------------------------------------------------------------------- */

static KOLK_THREAD_LOCAL_ kolk_maker_ *own_maker;

void kolk_maker_enter_(kolk_maker_ *maker) {
    own_maker = maker;
}

void kolk_maker_leave_(kolk_maker_ *maker) {
    own_maker = NULL;
    if (maker->fd) kolk_event_close_((int)maker->fd - 1);
}

kolk_maker_ *kolk_maker_self_(void) {
    return own_maker;
}

void kolk_maker_set_interrupted_(kolk_maker_ *maker, bool interrupted) {
    kolk_lock_word_(&maker->lock);
    if (maker->fd && interrupted) kolk_event_set_((int)maker->fd - 1);
    if (maker->fd && !interrupted && maker->interrupted) kolk_event_reset_((int)maker->fd - 1);
    maker->interrupted = interrupted;
    kolk_unlock_word_(&maker->lock);
}

int kolk_resource_interrupt_fd(void) {
    kolk_maker_ *maker = own_maker;
    if (!maker) return -1;
    kolk_lock_word_(&maker->lock);
    bool is_new = maker->fd == 0;
    if (is_new) maker->fd = (uint32_t)(kolk_event_open_() + 1);
    if (is_new && maker->fd && maker->interrupted) kolk_event_set_((int)maker->fd - 1);
    int fd = (int)maker->fd - 1;
    kolk_unlock_word_(&maker->lock);
    return fd;
}

bool kolk_resource_is_interrupted(void) {
    kolk_maker_ *maker = own_maker;
    if (!maker) return false;
    kolk_lock_word_(&maker->lock);
    bool interrupted = maker->interrupted;
    kolk_unlock_word_(&maker->lock);
    return interrupted;
}

/* ---- A maker ----------------------------------------------------------------------------------------------------- */

static KOLK_WORK_ be_maker(void *number);

/* Wakes a spare, or starts a thread, to be the lookout. Runs under the lock. */
static void find_lookout(void) {
    makers.has_lookout = true;
    if (makers.spares > 0) {
        makers.spares--;
        makers.called++;
        kolk_store_(&makers.turns, makers.turns + 1, KOLK_RELAXED_); /* a spare checks again under the lock */
        kolk_wake_(&makers.turns, 1);
    } else if (kolk_worker_start_(&makers.crew.starting, be_maker, (void *)makers.crew.number)) {
        makers.crew.threads++;
    } else {
        makers.has_lookout = false;
    }
    kolk_store_(&makers.deserted, !makers.has_lookout, KOLK_RELAXED_);
}

static void do_chore(kolk_chore_ *chore) {
    chore->workers++;
    kolk_unlock_word_(&makers.lock);
    chore->work(chore);
    kolk_lock_word_(&makers.lock);
    chore->workers--;
    note_end();
}

/* Sleeps until `when`, or until a call comes. */
static void look_out(int64_t when, uint32_t calls) {
    makers.until = when;
    kolk_unlock_word_(&makers.lock);
    kolk_wait_(&makers.calls, calls, (kolk_deadline){when});
    kolk_lock_word_(&makers.lock);
}

/* Waits as a spare. True: the thread was called to be the lookout. False: it was not called within SPARE_NS, or the
 * crew ends. */
static bool is_spare(uintptr_t crew) {
    int64_t until = kolk_now_ns_() + SPARE_NS;
    bool in_time = true;
    makers.spares++;
    while (in_time && !makers.called && makers.crew.number == crew) {
        uint32_t turns = makers.turns;
        kolk_unlock_word_(&makers.lock);
        in_time = kolk_wait_(&makers.turns, turns, (kolk_deadline){until});
        kolk_lock_word_(&makers.lock);
    }
    if (makers.crew.number != crew) return false; /* the next crew has its own counters */
    if (makers.called) {
        makers.called--;
        return true;
    }
    makers.spares--;
    return false;
}

/* Works until the crew ends, or until the thread has been a spare for too long. The thread begins as the lookout. */
static void work_in_crew(uintptr_t crew) {
    bool is_lookout = true;
    while (makers.crew.number == crew) {
        uint32_t calls = kolk_load_(&makers.calls, KOLK_ACQUIRE_); /* partner: kolk_makers_call_ */
        int64_t when;
        kolk_chore_ *chore = first_due(&when);
        if (chore && when <= kolk_now_ns_()) {
            /* The chore is not due again until its `work` sets the next time, or a call makes it due. */
            kolk_store_(&chore->due, KOLK_FOREVER.ns, KOLK_RELAXED_);
            if (is_lookout) find_lookout();
            is_lookout = false;
            do_chore(chore);
        } else if (is_lookout || !makers.has_lookout) {
            is_lookout = makers.has_lookout = true;
            kolk_store_(&makers.deserted, 0, KOLK_RELAXED_);
            look_out(when, calls);
        } else {
            if (when < makers.until) kolk_makers_call_(); /* the lookout would wake too late */
            is_lookout = is_spare(crew);
            if (!is_lookout) return;
        }
    }
}

/* The crew with this number, which exists as long as any of its threads. Runs under the lock. */
static maker_crew *crew_of(uintptr_t number) {
    maker_crew *crew = &makers.crew;
    if (crew->number != number)
        for (crew = makers.earlier; crew->number != number; crew = crew->earlier) {}
    return crew;
}

static KOLK_WORK_ be_maker(void *number) {
    kolk_maker_ self = {0};
    kolk_maker_enter_(&self);
    kolk_lock_word_(&makers.lock);
    uintptr_t thread = crew_of((uintptr_t)number)->starting; /* the next thread is started only after this one has
                                                              * begun */
    work_in_crew((uintptr_t)number);
    maker_crew *crew = crew_of((uintptr_t)number);
    bool joins = crew->has_ended;
    uintptr_t before = crew->ended;
    crew->has_ended = true;
    crew->ended = thread;
    kolk_unlock_word_(&makers.lock);
    if (joins) kolk_worker_join_(before);
    kolk_maker_leave_(&self);
    kolk_lock_word_(&makers.lock);
    crew_of((uintptr_t)number)->threads--; /* the crew may have become an earlier one */
    note_end();
    kolk_unlock_word_(&makers.lock);
    return 0;
}

/* ---- Chores ------------------------------------------------------------------------------------------------------ */

bool kolk_makers_add_(kolk_chore_ *chore) {
    lock_makers();
    chore->next = makers.first;
    makers.first = chore;
    if (makers.crew.threads == 0) find_lookout();
    bool served = makers.crew.threads > 0;
    if (!served) makers.first = chore->next;
    kolk_unlock_word_(&makers.lock);
    if (served) kolk_makers_call_();
    return served;
}

/* Ends the crew, and returns when it has ended. Runs under the lock. */
static void end_crew(void) {
    maker_crew crew = makers.crew;
    makers.crew = (maker_crew){.number = crew.number + 1};
    makers.spares = makers.called = 0;
    makers.has_lookout = false;
    kolk_store_(&makers.deserted, 0, KOLK_RELAXED_);
    crew.earlier = makers.earlier;
    makers.earlier = &crew;
    kolk_store_(&makers.turns, makers.turns + 1, KOLK_RELAXED_);
    kolk_wake_(&makers.turns, UINT32_MAX);
    kolk_makers_call_();
    while (crew.threads > 0) await_end();
    maker_crew **link = &makers.earlier;
    while (*link != &crew) link = &(*link)->earlier;
    *link = crew.earlier;
    kolk_unlock_word_(&makers.lock);
    if (crew.has_ended) kolk_worker_join_(crew.ended);
    kolk_lock_word_(&makers.lock);
}

void kolk_makers_remove_(kolk_chore_ *chore) {
    lock_makers();
    kolk_chore_ **link = &makers.first;
    while (*link && *link != chore) link = &(*link)->next;
    if (*link) *link = chore->next;
    while (chore->workers > 0) await_end();
    if (!makers.first && makers.crew.threads > 0) end_crew();
    kolk_unlock_word_(&makers.lock);
}

#endif
