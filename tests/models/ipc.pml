/* ipc.pml: what processes do to a pool between processes (src/ipc) while any of them may be killed at each step, for
 * SPIN (Holzmann, The SPIN Model Checker, 2003), which tries every possible order of their steps. tests/models/ipc.sh
 * runs it.
 *
 * Each inline models the function of its name. Each d_step, and each statement outside one, is one atomic operation. A
 * process does any TIMES operations. At any moment, at most DEATHS times, one dies: it does nothing more, and its locks
 * are released. A new process takes its place, BIRTHS times, which joins as any does. There are two parts:
 *
 *     PART=1  objects, one queue and recovery. An alloc tries any slot: which one, only hints decide.
 *     PART=2  objects, hints and recovery, without a queue
 *
 * Left out: closing, the hook and KOLK_IPC_KEEP; threads of one process; counts that wrap round; whole words of hints
 * and their summary; sleep, which lasts no longer than 10 milliseconds.
 *
 * Proved:
 *
 *     D1  nobody waits for another, alive or dead: when nothing can move any more, each process has done its operations
 *     D2  then, after one more recovery: each slot is free, or a living process owns it, or it is in the ring once
 *     D3  what a process has allocated or popped is nobody else's, until it has freed or pushed it
 *     D4  what is popped is the first of what was pushed and not popped; so nothing is popped twice
 *     D5  what is in the queue stays there, although its pusher is dead: no recovery frees it
 *     D6  a pop finds nothing only if the queue was empty at one moment of the call, and a push finds no room only if
 *         it was full
 *     D7  an alloc fails only if, at one moment of the call, no slot was free whose free had returned. That of a dead
 *         process returns when the process is recovered
 *     D8  nobody but who recovers changes the life of a dead process's object that is in no queue
 *
 * -DBUG=n puts in a mistake. ipc.sh has 3 to 7, which are found in seconds. 1, 2 and 8 need larger settings. Whether
 * any setting finds 9 and 10 is not known:
 *
 *     1  recovery completes no pops                           5  who recovers does not keep the lock of the dead
 *     2  recovery does not give the dead one's pushes away    6  `used` is cleared before the recovery
 *     3  a pop does not read the head again                   7  a pop completes what nobody has claimed: its own claim
 *     4  a cell has no lap                                       failed because a recovery has changed the life
 *     8  a free reads `search` before it changes the life
 *     9  a recovery does not count as a return
 *    10  the end of a search is no count, so it may come late, when somebody has searched again */

#ifndef BUG
#define BUG 0
#endif

#define NONE 0

/* ---- The block ---- */

#define SLOTS    2
#define QUEUED   4 /* a life: owner, 2 bits; queued, 1; pushes, 3; generation */
#define ONE_PUSH 8
#define ONE_LIFE 64

#define is_alive(l)     ((l) & ONE_LIFE)
#define owner_of(l)     ((l) & 3)
#define owned_life(l,n) (((l) & ~7) | (n))
#define next_life(l,n)  (((l) / ONE_LIFE + 1) * ONE_LIFE + (n))

short life[SLOTS];
bool used[NUMBERS + 1];
byte lock[NUMBERS + 1]; /* NONE, or process + 1 */

#if PART == 1
#if BUG == 4
#define cell_of_lap(t,content) (content)
#else
#define cell_of_lap(t,content) (((t) / CELLS) * 4 + (content))
#endif
#define content_of(c)          ((c) & 3)
#define is_slot(c)             (content_of(c) != 0)
#define is_pushed(t,c)         ((c) > cell_of_lap(t, 0)) /* a later lap, or of this lap and full */

byte cells[CELLS], head, tail;
#else
byte hints, returns;
bool searching;
#endif

/* ---- What only the proof looks at ---- */

byte owner[SLOTS];       /* the process + 1 that believes that it owns the slot */
bool dead[PROCESSES], done[PROCESSES];
byte deaths, births;
#if PART == 1
chan order = [SLOTS] of { byte }; /* the slots in the queue */
bool was_empty[PROCESSES], was_full[PROCESSES]; /* during this call */
#else
byte freeing[SLOTS];     /* the number of the process whose free of this slot has not returned */
bool was_full[PROCESSES];
#endif
hidden byte each;

inline got(slot) { /* D3 */
    assert(owner[slot] == NONE);
    owner[slot] = me + 1
}

/* ---- Alloc and free ---- */

#define is_mine(slot) (is_alive(life[slot]) && !(life[slot] & QUEUED) && owner_of(life[slot]) == number)

#if PART == 1

inline alloc() {
    if
    :: s = 0
    :: s = 1
    fi;
    d_step {
        if
        :: !is_alive(life[s]) -> life[s] = next_life(life[s], number); got(s)
        :: else
        fi;
        s = 0
    }
}

inline free(slot) {
    d_step { assert(is_mine(slot)); life[slot] = next_life(life[slot], NONE); owner[slot] = NONE }
}

#else

#define is_free(slot) (!is_alive(life[slot]) && freeing[slot] == NONE)
#define is_none_free  (!is_free(0) && !is_free(1))

inline note_full() {
    for (each : 0 .. PROCESSES - 1) { was_full[each] = was_full[each] || is_none_free }
}

inline show_hint(slot) {
    hints = hints | (1 << slot);
    d_step { returns++; r = returns }
    if
    :: d_step { hints != 0 -> /* half of the word */
#if BUG == 10
        r = 0 };
        searching = false
#else
        if
        :: searching && returns == r -> searching = false; returns++ /* one word has both */
        :: else
        fi;
        r = 0 }
#endif
    :: d_step { hints == 0 -> r = 0 }
    fi
}

inline keep_hint(slot) {
    if
#if BUG == 8
    :: was_searching ->
#else
    :: searching ->
#endif
        show_hint(slot)
#if BUG == 8
    :: d_step { !was_searching -> mine = mine | (1 << slot) }
#else
    :: d_step { !searching -> mine = mine | (1 << slot) }
#endif
    fi
}

inline free(slot) {
#if BUG == 8
    was_searching = searching;
#endif
    d_step {
        assert(is_mine(slot));
        life[slot] = next_life(life[slot], NONE);
        owner[slot] = NONE;
        freeing[slot] = number;
        note_full()
    }
    keep_hint(slot);
    d_step { freeing[slot] = (freeing[slot] == number -> NONE : freeing[slot]) }
}

#define lowest(bits) ((bits) & 1 -> 0 : 1)

/* Sets ok: there are hints now. */
inline search() {
    do
    :: d_step { others = searching; searching = true; r = returns };
        if
        :: others && r == seen -> ok = false; break
        :: else
        fi;
        d_step { found = !is_alive(life[0]) };
        d_step { found = found | (!is_alive(life[1]) << 1) };
        if
        :: found != 0 -> hints = hints | found; ok = true; break
        :: else
        fi;
        if
        :: d_step { searching && returns == r -> seen = r; ok = false }; break
        :: else
        fi
    od;
    atomic { r = 0; found = 0; others = false }
}

inline alloc() {
    d_step { was_full[me] = is_none_free; ok = true }
    do
    :: ok && mine != 0 -> /* next_hint and begin_life */
        d_step {
            s = lowest(mine);
            mine = mine & ~(1 << s);
            if
            :: !is_alive(life[s]) ->
                life[s] = next_life(life[s], number);
                got(s);
                freeing[s] = NONE;
                note_full();
                ok = false
            :: else
            fi
        }
        if
        :: !ok -> break
        :: else
        fi
    :: ok && mine == 0 ->
        if
        :: d_step { hints != 0 -> mine = 1 << lowest(hints); hints = hints & ~mine }
        :: hints == 0 ->
            search();
            if
            :: !ok -> assert(was_full[me]); break /* D7 */
            :: else
            fi
        fi
    od;
    atomic { was_full[me] = false; ok = false; s = 0 }
}

#endif

/* ---- The ring ---- */

#if PART == 1

mtype = { NOTHING, MOVED, CLAIMED, POPPABLE };

inline look_at_head() {
    ticket = head;
    cell = cells[ticket % CELLS];
    l = (is_slot(cell) -> life[content_of(cell) - 1] : 0);
    d_step {
        if
        :: head != ticket && BUG != 3 -> what = MOVED
        :: else ->
            if
            :: cell == cell_of_lap(ticket, 0) -> what = NOTHING
            :: else -> what = (is_alive(l) && (l & QUEUED) -> POPPABLE : CLAIMED)
            fi
        fi
    }
}

inline complete_pop() {
    d_step {
        cells[ticket % CELLS] =
            (cells[ticket % CELLS] == cell -> cell_of_lap(ticket + CELLS, 0) : cells[ticket % CELLS])
    }
    d_step { head = head + (head == ticket) }
}

inline forget() {
    atomic {
        ticket = 0; cell = 0; l = 0; what = 0; s = 0; t = 0; ok = false; was_empty[me] = false; was_full[me] = false
    }
}

inline pop() {
    was_empty[me] = len(order) == 0;
    do
    :: look_at_head();
        if
        :: what == NOTHING -> assert(was_empty[me]); break /* D6 */
        :: what == MOVED
        :: what == CLAIMED -> complete_pop()
        :: what == POPPABLE ->
            d_step {
                s = content_of(cell) - 1;
                ok = life[s] == l;
                if
                :: ok ->
                    life[s] = owned_life(l, number);
                    assert(order?[eval(s)]); /* D4 */
                    order?each;
                    got(s);
                    for (each : 0 .. PROCESSES - 1) { was_empty[each] = was_empty[each] || len(order) == 0 }
                :: else
                fi
            }
            if
            :: ok || BUG == 7 -> complete_pop()
            :: else
            fi;
            if
            :: ok -> break
            :: else
            fi
        fi
    od;
    forget()
}

/* Sets ok: the queue is full. */
inline look_if_full() {
    if
    :: t - head < CAPACITY -> ok = false
    :: else ->
        look_at_head();
        if
        :: what == CLAIMED -> complete_pop()
        :: else
        fi;
        ok = what == POPPABLE && t - ticket >= CAPACITY
    fi
}

inline push(slot) {
    d_step {
        assert(is_mine(slot));
        life[slot] = (life[slot] + ONE_PUSH) | QUEUED;
        was_full[me] = len(order) == CAPACITY
    }
    do
    :: t = tail;
        look_if_full();
        if
        :: d_step { ok -> assert(was_full[me]); /* D6; take_back */
                assert(is_alive(life[slot]) && owner_of(life[slot]) == number);
                life[slot] = owned_life(life[slot], number) };
            break
        :: else
        fi;
        d_step {
            ok = cells[t % CELLS] == cell_of_lap(t, 0);
            if
            :: ok ->
                cells[t % CELLS] = cell_of_lap(t, slot + 1);
                order!slot;
                assert(owner[slot] == me + 1);
                owner[slot] = NONE;
                for (each : 0 .. PROCESSES - 1) { was_full[each] = was_full[each] || len(order) == CAPACITY }
            :: else
            fi
        }
        if
        :: d_step { ok || is_pushed(t, cells[t % CELLS]) -> tail = tail + (tail == t) }
        :: else
        fi;
        if
        :: ok -> break
        :: else
        fi
    od;
    forget()
}

#endif

/* ---- Recovery ---- */

#if PART == 1

inline complete_pops() {
    t = 0;
    do
    :: t < CELLS ->
        look_at_head();
        if
        :: what == CLAIMED -> complete_pop()
        :: else
        fi;
        if
        :: what != CLAIMED && what != MOVED -> break
        :: else -> t++
        fi
    :: else -> break
    od;
    atomic { ticket = 0; cell = 0; l = 0; what = 0; t = 0 }
}

inline inherit() {
    ticket = head;
    t = tail;
    if
    :: t - ticket < CELLS && is_pushed(t, cells[t % CELLS]) -> t++
    :: else
    fi;
    t = (t - ticket < CELLS -> t - ticket : CELLS);
    do
    :: t == 0 -> break
    :: else ->
        cell = cells[ticket % CELLS];
        if
        :: is_slot(cell) ->
            l = life[content_of(cell) - 1];
            if
            :: is_alive(l) && (l & QUEUED) && owner_of(l) == n ->
                d_step {
                    s = content_of(cell) - 1;
                    life[s] = (life[s] == l -> l & ~3 : life[s]);
                    s = 0
                }
            :: else
            fi
        :: else
        fi;
        d_step { t--; ticket++ }
    od;
    atomic { ticket = 0; cell = 0; l = 0 }
}

#define is_in_queue(slot) order??[eval(slot)]

inline settle() {
#if BUG != 1
    complete_pops();
#endif
#if BUG != 2
    inherit()
#else
    skip
#endif
}

inline count_recovery() { skip }

#else

#define is_in_queue(slot) false

inline settle() { skip }

inline count_recovery() {
    d_step {
#if BUG != 9
        returns++;
#endif
        for (each : 0 .. SLOTS - 1) { freeing[each] = (freeing[each] == n -> NONE : freeing[each]) }
    }
}

#endif

inline end_orphans() {
    slot = 0;
    do
    :: slot == SLOTS -> break
    :: else ->
        l = life[slot];
        if
        :: is_alive(l) && owner_of(l) == n ->
            d_step {
                assert(!is_in_queue(slot)); /* D5 */
                assert(life[slot] == l);    /* D8 */
                life[slot] = next_life(l, NONE);
#if PART == 2
                freeing[slot] = n;
                note_full()
#endif
            }
#if PART == 2
            show_hint(slot)
#endif
        :: else
        fi;
        slot++
    od;
    atomic { slot = 0; l = 0 }
}

inline recover_process() {
#if BUG == 6
    used[n] = false;
#endif
    settle();
    end_orphans();
    count_recovery();
    used[n] = false
}

inline recover_if_dead() {
    if
    :: n != number && used[n] ->
        if
        :: d_step { lock[n] == NONE -> lock[n] = me + 1 };
#if BUG == 5
            lock[n] = NONE;
#endif
            if
            :: used[n] -> recover_process()
            :: else
            fi;
#if BUG != 5
            lock[n] = NONE
#endif
        :: else
        fi
    :: else
    fi
}

inline recover_all() {
    n = 1;
    do
    :: n > NUMBERS -> break
    :: else -> recover_if_dead(); n++
    od;
    n = 0
}

/* ---- Processes ---- */

inline take_number() {
    if
    :: d_step { lock[n] == NONE -> lock[n] = me + 1 };
        if
        :: used[n] -> recover_process()
        :: else
        fi;
        d_step { used[n] = true; number = n }
    :: else
    fi
}

inline join() {
    n = 1;
    do
    :: number != 0 || n > NUMBERS -> break
    :: else ->
        if
        :: !used[n] -> take_number()
        :: else
        fi;
        n++
    od;
    n = 1;
    do
    :: number != 0 || n > NUMBERS -> break
    :: else -> take_number(); n++
    od;
    n = 0
}

inline operate() {
    if
    :: alloc()
#if PART == 1
    :: pop()
    :: owner[0] == me + 1 -> push(0)
    :: owner[1] == me + 1 -> push(1)
#endif
    :: owner[0] == me + 1 -> free(0)
    :: owner[1] == me + 1 -> free(1)
    :: DEATHS > 0 && deaths > 0 -> recover_all()
    fi
}

inline be_born() {
    d_step {
        times = TIMES; number = 0; n = 0; slot = 0; l = 0; s = 0; ok = false;
#if PART == 1
        ticket = 0; cell = 0; t = 0; what = 0;
#else
        mine = 0; found = 0; r = 0; others = false; seen = 255;
#endif
#if BUG == 8
        was_searching = false
#endif
    }
}

proctype process(byte me; byte number) {
    byte times = TIMES, n, slot, s;
    short l;
    bool ok;
#if PART == 1
    byte ticket, cell, t;
    mtype what;
#else
    byte mine, found, r, seen = 255;
    bool others;
#endif
#if BUG == 8
    bool was_searching;
#endif
life_of_a_process:
    {
        if
        :: number == 0 -> join()
        :: else
        fi;
        do
        :: times == 0 || number == 0 -> break
        :: else -> times--; operate()
        od;
        done[me] = true;
end:    false
    } unless { dead[me] }
    be_born();
    if
    :: d_step { births < BIRTHS -> births++; dead[me] = false }; goto life_of_a_process
    :: births == BIRTHS
    fi
}

inline die(p) {
    d_step {
        deaths < DEATHS && !dead[p] -> deaths++;
        dead[p] = true;
        done[p] = false;
        for (each : 1 .. NUMBERS) { lock[each] = (lock[each] == p + 1 -> NONE : lock[each]) }
        for (each : 0 .. SLOTS - 1) { owner[each] = (owner[each] == p + 1 -> NONE : owner[each]) }
        was_full[p] = false;
#if PART == 1
        was_empty[p] = false
#endif
    }
}

proctype death() {
    do
    :: deaths == DEATHS -> break
    :: die(0)
    :: die(1)
#if PROCESSES > 2
    :: die(2)
#endif
    :: break
    od
}

init {
    byte i, n, slot, s, me = PROCESSES, number;
    short l;
    bool ok;
#if PART == 1
    byte ticket, cell, t;
    mtype what;
#else
    byte r;
#endif
    d_step {
        for (i : 0 .. PROCESSES - 1) { used[i + 1] = true; lock[i + 1] = i + 1 }
#if PART == 1
        skip
#else /* process 1 owns all slots */
        for (i : 0 .. SLOTS - 1) { life[i] = ONE_LIFE + 1; owner[i] = 1 }
#endif
    }
    atomic {
        run process(0, 1);
        run process(1, 2);
#if PROCESSES > 2
        run process(2, 3);
#endif
        run death()
    }
    timeout -> /* nothing can move any more */
    d_step { for (i : 0 .. PROCESSES - 1) { assert(done[i] || dead[i]) } } /* D1 */
    recover_all();
    atomic {
        for (i : 0 .. SLOTS - 1) { /* D2 */
            l = life[i];
            assert(!is_alive(l) || (l & QUEUED) || lock[owner_of(l)] != NONE);
            assert((l & QUEUED) == 0 || is_alive(l));
            assert(((l & QUEUED) != 0) == is_in_queue(i));
#if PART == 1
            for (t : 0 .. CELLS - 1) {
                s = s + (cells[(head + t) % CELLS] == cell_of_lap(head + t, i + 1))
            }
            assert(s == is_in_queue(i));
            s = 0
#endif
        }
    }
}
