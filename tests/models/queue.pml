/* queue.pml: how threads wait and are woken in src/queue, for SPIN (Holzmann, The SPIN Model Checker, 2003), which
 * tries every possible order of their steps. tests/models/queue.sh runs it.
 *
 * Each inline models the function of its name, with or without kolk_queue_. Each d_step, and each statement outside
 * one, models one atomic operation, or the part of a lock's body that others see at once. Everything that does not
 * affect sleep is left out:
 *
 *     tickets and cells      are counts: something[POP] items, something[PUSH] cells with room. A take at one end adds
 *                            one at the other end. A cell between ticket and turn is waited for: no sleep.
 *     look_for_a_while       looks without a result write nothing
 *     kolk_wait_, kolk_wake_   a `called` thread goes on: a wake follows each store, and one for no reason only looks again
 *     times                  a deadline, and the millisecond after which the gate is held, pass at any moment or never
 *     kolk_queue_fd          is left out
 *
 * Proved, by every run to which the property applies:
 *
 *     S1  when nothing can move any more, nobody sleeps at an end that has something to take: no wake-up is lost
 *     S2  ... nor when the queue has ended, nor if it has ended during their wait, whatever came later (except pops, if
 *         a close left items: they keep waiting)
 *     S3  a pop returns CLOSED only if the queue was closed and empty at one moment of the call
 *     S4  the gate is not held when the line is empty
 *     S5  only the first in line holds the gate
 *     served (FAIR)  a waiter is served as long as the others continue, even if others come at the right moment
 *
 * -DBUG=n puts in a mistake that must be found:
 *
 *     1  `asleep` is set after the last look, not before      4  a leaver does not check whether the queue has ended
 *     2  a leaver does not call the next                      5  a waiter ignores endings
 *     3  `asleep` is looked at before the ticket is taken     6  nobody ever holds the gate
 *     7  a waiter heeds the last ending only                  8  a waiter called in vain holds the gate
 *
 * More definitions: PUSHERS, POPPERS, CAPACITY. ALL_DEADLINES=1: some operations have a deadline, or are KOLK_NOW.
 * FAIR=n: threads run for ever, and thread n (from 1) is observed. ENDER=n adds a thread: 1 close or shutdown, 2 either
 * and then shutdown or reopen, 3 clear, 4 twice: either, clear, reopen; each thread then does TIMES operations, and
 * thread 1 one fewer. With neither FAIR nor ENDER, threads stop at any time. */

#ifndef BUG
#define BUG 0
#endif
#ifndef ENDER
#define ENDER 0
#endif
#ifndef FAIR
#define FAIR 0
#endif

#if FAIR
#define OTHERS_LOOK /* weak fairness may starve a thread at a contended lock, so the lock is not visible */
#else
#define OTHERS_LOOK } d_step {
#endif

#define THREADS (PUSHERS + POPPERS)
#define PUSH    0
#define POP     1
#define NOBODY  255

mtype = { OK, FULL, TIMEOUT, CLOSED, SHUTDOWN }; /* FULL: nothing to take, at either end */

/* ---- kolk_queue, kolk_queue_end_ ---- */

byte something[2];
bool open[2] = true, held[2], frozen; /* the gates; only pushes are frozen */
bool asleep[2], locked[2];
byte called_at[2] = NOBODY;
chan line[2] = [THREADS] of { byte };

bool queue_locked;
mtype ending = OK;
byte shutdowns[2], closes[2]; /* the two counts in `endings` */
#if BUG == 7
mtype last_ending[2] = OK;
#endif

/* ---- waiter, and what only the proof looks at ---- */

bool called[THREADS], in_line[THREADS];
byte shutdowns_of[THREADS], closes_of[THREADS]; /* `endings` of wait_for */
bool may_be_closed[THREADS]; /* the queue was closed and empty during this call */
hidden byte each;

#if ENDER
inline note_closed() { /* after each step that can make it so */
    for (each : 0 .. THREADS - 1) {
        may_be_closed[each] = may_be_closed[each] || (something[POP] == 0 && ending == CLOSED)
    }
}
#else
inline note_closed() { skip }
#endif

/* ---- The line ---- */

inline show_asleep(at) { asleep[at] = (called_at[at] == NOBODY && len(line[at]) > 0) }

inline call_next(at) {
    d_step {
        !locked[at] -> locked[at] = true; /* kolk_lock_word_ */
        if
        :: called_at[at] == NOBODY && len(line[at]) > 0 ->
            line[at]?<each>;
            called_at[at] = each;
            called[each] = true /* kolk_store_, and later kolk_wake_ */
        :: else
        fi;
        OTHERS_LOOK
        show_asleep(at); locked[at] = false
    }
}

inline tell(other) {
    if
#if BUG == 3
    :: d_step { saw_asleep -> saw_asleep = false } call_next(other)
#else
    :: asleep[other] -> call_next(other)
#endif
    :: else
    fi
}

inline join() { /* others see only the change of asleep */
    d_step {
        !locked[end];
        if
        :: !in_line[me] -> line[end]!me; in_line[me] = true
        :: else
        fi;
        called[me] = false;
        called_at[end] = (called_at[end] == me -> NOBODY : called_at[end]);
        may_pass_held = line[end]?[eval(me)] || !in_time; /* is_first || !in_time, passed to look_again */
#if BUG != 1
        show_asleep(end)
#endif
    }
}

inline leave() {
    d_step {
        !locked[end] -> locked[end] = true;
        line[end]??eval(me);
        in_line[me] = false;
        called_at[end] = (called_at[end] == me -> NOBODY : called_at[end]);
        held[end] = held[end] && !holds; /* kolk_fetch_and_ */
        in_time = true; holds = false; may_pass_held = false;
#if FAIR
        since = false;
#endif
        OTHERS_LOOK
        show_asleep(end); others = asleep[end]; called[me] = false; locked[end] = false
    }
#if BUG != 2
    if
    :: d_step { others && !open[PUSH] && BUG != 4 -> others = false } call_next(end) /* has_news */
    :: else ->
        if
        :: d_step { others && something[end] > 0 -> others = false } call_next(end) /* has_something */
        :: d_step { else -> others = false }
        fi
    fi
#else
    others = false
#endif
}

#define is_overtaken (in_vain && in_time && (line[end]?[eval(me)] || BUG == 8))
#define hold(if_so) d_step { if_so && !holds && BUG != 6 -> assert(!held[end]); /* S5 */ holds = true; held[end] = true }

inline mind_being_overtaken() {
    if
    :: is_overtaken ->
        if
#if FAIR /* the second time in vain */
        :: d_step { !since -> since = true }
        :: since && (holds || BUG == 6)
        :: hold(since)
#else
        :: true /* less than a millisecond */
        :: hold(true)
#endif
        fi
    :: else
    fi;
    in_vain = false
}

/* ---- The end ---- */

inline look_under_lock() { /* others see nothing of this */
    d_step { !queue_locked -> status = (ending == CLOSED && end == POP && something[POP] > 0 -> OK : ending) }
}

#if ENDER
inline begin() { may_be_closed[me] = (ending == CLOSED && something[POP] == 0) }

inline wait_for() {
    d_step { shutdowns_of[me] = shutdowns[end]; closes_of[me] = closes[end] }
}

#define was_let_go(i, at) (shutdowns[at] != shutdowns_of[i] || closes[at] != closes_of[i])

#if BUG == 7
#define meant last_ending[end]
#else
#define meant (shutdowns[end] != shutdowns_of[me] -> SHUTDOWN : CLOSED)
#endif

inline ended_since(otherwise) {
    d_step { status = (was_let_go(me, end) && BUG != 5 -> meant : otherwise) }
}

inline look_again() {
    ended_since(OK);
    if
    :: status == OK -> pass()
    :: else
    fi
}

inline finished() {
    d_step {
        assert(!(end == POP && status == CLOSED) || may_be_closed[me]); /* S3 */
        may_be_closed[me] = false;
        shutdowns_of[me] = 0;
        closes_of[me] = 0
    }
}
#else
inline begin() { skip }
inline wait_for() { skip }
inline look_again() { pass() }
inline finished() { skip }
inline ended_since(otherwise) { skip }
#define was_let_go(i, at) false
#endif

inline wake_all(at) {
    d_step {
        !locked[at];
        for (each : 0 .. THREADS - 1) {
            if
            :: line[at]??[eval(each)] -> called[each] = true
            :: else
            fi
        }
        show_asleep(at)
    }
}

inline finish(as) {
    d_step {
        !queue_locked -> queue_locked = true;
        ending = (ending == SHUTDOWN -> SHUTDOWN : as);
        open[PUSH] = false; /* kolk_fetch_and_, which returns the tail too */
        note_closed()
    }
    if
    :: as == SHUTDOWN -> open[POP] = false
    :: else
    fi;
    d_step { /* two operations in the source; between them only pops run, and empty stays empty */
        if
        :: ending == SHUTDOWN -> shutdowns[PUSH]++; shutdowns[POP]++
        :: else ->
            closes[PUSH]++;
            closes[POP] = closes[POP] + (something[POP] == 0)
        fi;
#if BUG == 7
        last_ending[PUSH] = ending;
        last_ending[POP] = (ending == CLOSED && something[POP] > 0 -> OK : ending);
#endif
        queue_locked = false
    }
    wake_all(PUSH);
    wake_all(POP)
}

inline reopen() {
    d_step { !queue_locked -> queue_locked = true; ending = OK; open[POP] = true }
    d_step { open[PUSH] = true; queue_locked = false }
}

inline clear() { /* take_all */
    d_step { !queue_locked -> queue_locked = true; frozen = true }
    d_step { cleared = something[POP]; something[PUSH] = something[PUSH] + cleared; something[POP] = 0; note_closed() }
    d_step { frozen = false; queue_locked = false }
    if
    :: cleared > 0 && asleep[PUSH] -> call_next(PUSH) /* tell */
    :: else
    fi
}

/* ---- Passing items ---- */

#define is_shut  (!open[end] || (frozen && end == PUSH)) /* (word & GATE) is neither OPEN nor OPEN | HELD */
#define may_pass (!is_shut && (!held[end] || may_pass_held))

inline pass() {
    do
    :: d_step { !is_shut && !may_pass -> status = FULL }; break /* held */
    :: is_shut ->
        look_under_lock();
        if
        :: status != OK -> break
        :: else
        fi
#if BUG == 3
    :: d_step { may_pass -> saw_asleep = asleep[1 - end] };
#else
    :: may_pass -> /* word = kolk_load_(&here->ticket) */
#endif
        if
        :: d_step { may_pass && something[end] > 0 -> /* kolk_compare_exchange_weak_ */
                something[end]--; something[1 - end]++; status = OK; note_closed() };
            tell(1 - end);
            break
        :: d_step { something[end] == 0 && (end == PUSH || open[PUSH]) -> status = FULL }; break /* other = kolk_load_ */
        :: something[end] == 0 && end == POP && !open[PUSH] -> /* the same, but closed */
            look_under_lock();
            if
            :: status != OK -> break
            :: else
            fi
        :: !may_pass /* the word has changed */
        fi
    od
}

proctype thread(bool end; byte me) {
    mtype status;
    bool may_pass_held, in_time = true, in_vain, holds, others;
#if FAIR
    bool since;
#endif
#if ENDER
    byte times = (me == 1 -> TIMES - 1 : TIMES);
#endif
#if BUG == 3
    bool saw_asleep;
#endif
    do
#if ENDER
    :: times == 0 -> break
#elif !FAIR
    :: break
#endif
#if ALL_DEADLINES
    :: may_pass_held = true; /* KOLK_NOW */
        pass();
        goto done
#endif
#if ENDER
    :: times > 0 -> times--; may_pass_held = false;
#else
    :: may_pass_held = false;
#endif
        begin();
        pass();
        if
        :: status != FULL -> goto done
        :: else
        fi;
        wait_for();
        do
        :: join();
            mind_being_overtaken();
            look_again();
            if
            :: status != FULL -> break
            :: else
            fi;
#if BUG == 1
            d_step { !locked[end]; show_asleep(end) };
#endif
            if
            :: d_step { !in_time -> status = TIMEOUT }; break
            :: in_time -> called[me] -> in_vain = true /* asleep until it is called */
#if ALL_DEADLINES
            :: d_step { in_time -> in_time = false } /* the deadline has passed */
#endif
            fi
        od;
        skip;
        leave();
        if
        :: status != OK -> ended_since(status)
        :: else
        fi;
done:
        if
#if ENDER == 1
        :: status == CLOSED || status == SHUTDOWN -> finished(); break
        :: else -> finished()
#else
        :: finished()
#endif
        fi;
        status = 0
    od
}

#if ENDER
proctype ender() {
#if ENDER == 1
    if
    :: finish(CLOSED)
    :: finish(SHUTDOWN)
    fi
#elif ENDER == 2
    if
    :: finish(CLOSED)
    :: finish(SHUTDOWN)
    fi;
    if
    :: finish(SHUTDOWN)
    :: reopen()
    fi
#elif ENDER == 4
    byte times = 2, cleared;
    do
    :: times == 0 -> break
    :: times > 0 ->
        times--;
        if
        :: finish(CLOSED)
        :: finish(SHUTDOWN)
        fi;
        clear();
        reopen()
    od
#else
    byte cleared;
    clear()
#endif
}
#endif

init {
    byte i;
    atomic {
        something[PUSH] = CAPACITY;
        for (i : 0 .. THREADS - 1) {
            run thread(i >= PUSHERS, i)
        }
#if ENDER
        run ender()
#endif
    }
    timeout -> /* nothing can move any more */
    d_step {
        for (i : 0 .. THREADS - 1) {
            assert(!in_line[i] || something[i >= PUSHERS] == 0);            /* S1 */
            assert(!in_line[i] || (open[PUSH] && !was_let_go(i, i >= PUSHERS)))     /* S2 */
        }
        assert((len(line[PUSH]) > 0 || !held[PUSH]) && (len(line[POP]) > 0 || !held[POP])) /* S4 */
    }
}

#if FAIR
ltl served { [] (in_line[FAIR - 1] -> <> !in_line[FAIR - 1]) }
#endif
