/* steps.h: one schedule of schedule.h: which thread takes the next step, and what the step does. Included by
 * schedule.h.
 *
 *     sched_reach: chooses a thread     the step itself: choices of weak.h     ... until the next sched_reach
 *
 * A choice has several options, of which the first is always free. The list of the options taken is the schedule.
 * Choices have the same numbers in every mode, so that a schedule that one mode found can be replayed in any other.
 *
 * If schedules differ only in the order of independent steps, one of them is enough:
 *
 *     a  b  | x  y |  c           a  b  c  | x  y |         c of one thread, x and y of another
 *
 * A step is news to c if both access the same 8 bytes and at least one of them writes. If neither x nor y is news to c,
 * the first schedule is equivalent to the second, in which the thread of c is preempted one step later at the same
 * cost. So
 *
 *   - a thread that is preempted before a step (not one that has just woken up) resumes only after news. These are the
 *     sleep sets of Godefroid (1996). They suit a bound on preemptions, because each preemption is put off as long as
 *     possible.
 *   - a thread is not preempted before a step if, when it was preempted one step later, nothing that the others did was
 *     news to this step. Those later preemptions were tried first, because the last choice of the trail is changed
 *     first.
 *
 * A step depends on more than its 8 bytes if it sleeps or wakes, or if the code up to the next step reads the clock,
 * pauses, or has KOLK_UNSEEN_. A thread before such a step needs no news to resume. A pause is news to a step that
 * writes, because the write might end the pause. While a thread sleeps until a deadline, everything is news.
 * test_schedule.c compares the outcomes of programs with and without this reduction. */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include "os/clock.h"
#include "os/sleep.h"

/* ---- The state of one exploration -------------------------------------------------------------------------------- */

#define SCHED_TEST          0u /* the thread that runs `begin` and `end` */
#define SCHED_STACK         ((size_t)256 << 10)
#define SCHED_MAX_STEPS     2000u
#define SCHED_MAX_CHOICES   20000u
#define SCHED_NO_CHOICE     SCHED_MAX_CHOICES
#define SCHED_HASHES        256u /* a multiple of 64 */
#define SCHED_LAST          16u  /* how many steps of each thread are kept for the story */
#define SCHED_PCT_CHANGES   2u
#define SCHED_RANDOM_DEATHS 2u

typedef enum sched_cost { SCHED_FREE, SCHED_PREEMPTION, SCHED_SURPRISE, SCHED_DEATH, SCHED_COSTS } sched_cost;

/* A PAUSED thread waits until others have written, a JOINING one until they have ended. */
typedef enum sched_condition { SCHED_UNBORN, SCHED_READY, SCHED_PAUSED, SCHED_ASLEEP, SCHED_JOINING } sched_condition;

typedef struct sched_step {
    unsigned number;
    kolk_place_ place;
    uint64_t before, after;
    const char *note;
} sched_step;

typedef struct sched_thread {
    const char *name;
    ucontext_t context;
    unsigned char *stack;
    sched_condition condition;
    bool granted; /* whether it may take its next step */
    bool is_dead;
    uintptr_t granule; /* the 8 bytes that its next step accesses; `writes`: it may write there */
    bool writes;
    unsigned choice;          /* the number of the choice that may preempt it there */
    bool is_left, needs_news; /* it was preempted, and resumes only after news: see above */
    uint64_t paused_at;
    const uint32_t *word; /* the word it sleeps on */
    int64_t deadline;
    unsigned asleep_since;
    bool timed_out;
    uint64_t priority;
    unsigned steps;
    sched_step last[SCHED_LAST];
} sched_thread;

/* The 8-byte granules that some steps have accessed, as bits of a hash, which may include other granules but misses
 * none. */
typedef struct sched_steps {
    uint64_t any[SCHED_HASHES / 64], writes[SCHED_HASHES / 64];
} sched_steps;

/* A choice: `option` was taken, of `limit` options. */
typedef struct sched_node {
    uint16_t option, limit, without; /* a bit for each option that is left out */
    /* If the choice may preempt a thread before a step: */
    bool writes, sees_more;                    /* whether that step does; see above */
    unsigned hash;                             /* the hash of that step's 8 bytes */
    unsigned surprises, deaths;                /* how many were spent so far */
    uint64_t able;                             /* the threads among which to choose, 4 bits for each */
    unsigned previous;                         /* the choice that could preempt the same thread one step earlier */
    bool has_next;                             /* whether all options of the preemption one step later were tried */
    sched_steps while_left[WEAK_THREADS];      /* per option, what the others accessed until the thread resumed */
    sched_steps while_left_next[WEAK_THREADS]; /* the same for the preemption one step later */
} sched_node;

static struct {
    const schedule *what;
    schedule_report report;
    ucontext_t outside;
    sched_thread threads[WEAK_THREADS];
    unsigned count, current, steps, max_steps, expected_steps;
    uint64_t writes;
    int64_t now;

    enum { SCHED_EXHAUSTIVE, SCHED_RANDOM, SCHED_REPLAY } mode;
    unsigned choices, spent[SCHED_COSTS], bounds[SCHED_COSTS];
    unsigned trail_length;
    bool is_alike; /* the rest of the schedule is equivalent to another one and has no options */
    size_t told;   /* how many characters report.choices has */
    uint64_t random;
    unsigned changes[SCHED_PCT_CHANGES], deaths[SCHED_RANDOM_DEATHS]; /* numbers of steps */
} sched;

/* The path from the root of the tree of schedules. */
static sched_node sched_trail[SCHED_MAX_CHOICES + 1];

/* ---- Choices ----------------------------------------------------------------------------------------------------- */

/* Returns the option that the replayed schedule takes at this choice. */
static inline unsigned sched_replayed(unsigned number) {
    for (const char *at = sched.what->replay; *at;) {
        char *end;
        unsigned long choice = strtoul(at, &end, 10);
        unsigned long option = *end == ':' ? strtoul(end + 1, &end, 10) : 0;
        if (choice == number) return (unsigned)option;
        if (*end != ',') break;
        at = end + 1;
    }
    return 0;
}

/* Is preempting the thread here equivalent to preempting it one step later? */
static inline bool sched_is_as_next(sched_node *node, unsigned option) {
    if (!node->has_next || node->sees_more) return false;
    const sched_steps *others = &node->while_left_next[option];
    if ((node->writes ? others->any : others->writes)[node->hash / 64] >> node->hash % 64 & 1) return false;
    node->while_left[option] = *others;
    return true;
}

/* Returns the first option from this one on that is not left out, or the limit if there is none. */
static inline uint16_t sched_option_from(sched_node *node, unsigned option) {
    while (option < node->limit && (node->without >> option & 1 || sched_is_as_next(node, option))) option++;
    return (uint16_t)option;
}

/* Follows the trail, and extends it with first options. If all options are left out, the schedule is equivalent to
 * another one and runs to its end without choices. */
static inline unsigned sched_next_on_trail(unsigned number, sched_cost cost, unsigned options, unsigned without) {
    if (sched.is_alike) return 0;
    sched_node *node = &sched_trail[number];
    if (number == sched.trail_length) {
        bool affordable = cost == SCHED_FREE || sched.spent[cost] < sched.bounds[cost];
        node->limit = (uint16_t)(affordable ? options : 1);
        node->without = (uint16_t)without;
        node->previous = SCHED_NO_CHOICE;
        node->has_next = node->sees_more = false;
        node->option = sched_option_from(node, 0);
        sched.is_alike = node->option == node->limit;
        if (sched.is_alike) return 0;
        sched.trail_length++;
    }
    return node->option;
}

/* Called when all options have been tried. Records what the others did for the choice that could preempt the same
 * thread one step earlier. */
static inline void sched_tell_previous(const sched_node *node) {
    sched_node *previous = &sched_trail[node->previous];
    if (node->previous == SCHED_NO_CHOICE || previous->option != 0) return;
    if (node->able != previous->able || node->limit != previous->limit) return;
    if (node->surprises != previous->surprises || node->deaths != previous->deaths) return;
    for (unsigned i = 1; i < node->limit; i++) previous->while_left_next[i] = node->while_left[i];
    previous->has_next = true;
}

/* Backtracks to the next path in the tree. Returns false if there is none. */
static inline bool sched_advance(void) {
    for (; sched.trail_length > 0; sched.trail_length--) {
        sched_node *last = &sched_trail[sched.trail_length - 1];
        last->option = sched_option_from(last, last->option + 1u);
        if (last->option < last->limit) return true;
        sched_tell_previous(last);
    }
    return false;
}

/* Makes each choice of a schedule. The number of options does not depend on the mode, so choices have the same numbers
 * in each mode, and any schedule can be replayed. */
static inline unsigned sched_choose(sched_cost cost, unsigned options, unsigned without, unsigned at_random) {
    if (options < 2) return 0;
    unsigned number = sched.choices++, option = at_random;
    if (number >= SCHED_MAX_CHOICES) sched_stop("more than %u choices", SCHED_MAX_CHOICES);
    if (sched.mode == SCHED_EXHAUSTIVE) option = sched_next_on_trail(number, cost, options, without);
    if (sched.mode == SCHED_REPLAY) option = sched_replayed(number);
    if (option >= options)
        sched_stop(
            "choice %u has no option %u: the schedule is not of this test, or not all that the test does is chosen",
            number, option);
    if (option == 0) return 0;
    sched.spent[cost]++;
    char *choices = sched.report.choices;
    size_t room = sizeof sched.report.choices - sched.told;
    int length = snprintf(choices + sched.told, room, "%s%u:%u", sched.told ? "," : "", number, option);
    if ((size_t)length >= room) sched_stop("a schedule too long to be told");
    sched.told += (size_t)length;
    return option;
}

/* Takes a surprising option now and then if choices are random. */
static inline unsigned sched_surprise(unsigned options) {
    if (options < 2) return 0;
    bool now = sched.mode == SCHED_RANDOM && random_below(&sched.random, 8) == 0;
    return sched_choose(SCHED_SURPRISE, options, 0, now ? 1 + random_below(&sched.random, options - 1) : 0);
}

/* ---- Which thread runs next -------------------------------------------------------------------------------------- */

/* Can the thread take a step? A paused thread can; with `in_a_hurry`, only after others have written. */
static inline bool sched_can_run(unsigned thread, bool in_a_hurry) {
    const sched_thread *t = &sched.threads[thread];
    if (t->condition == SCHED_PAUSED) return !in_a_hurry || sched.writes > t->paused_at;
    if (t->condition != SCHED_JOINING) return t->condition == SCHED_READY;
    for (unsigned i = 1; i < sched.count; i++)
        if (sched.threads[i].condition != SCHED_UNBORN) return false;
    return true;
}

/* Collects the threads that may run next. If the running thread can continue, it comes first and all others follow.
 * Otherwise paused threads are left out until others have written, so that they do not take turns. */
static inline unsigned sched_able(unsigned able[WEAK_THREADS]) {
    unsigned n = 0;
    bool goes_on = sched_can_run(sched.current, true);
    if (goes_on) able[n++] = sched.current;
    for (unsigned i = 0; i < sched.count; i++)
        if (i != sched.current && sched_can_run(i, !goes_on)) able[n++] = i;
    return n;
}

static inline bool sched_has_deadline(const sched_thread *t) {
    return t->condition == SCHED_ASLEEP && t->deadline != KOLK_FOREVER.ns;
}

/* Gives news to all preempted threads, or only to those whose step writes. */
static inline void sched_spread_news_to_all(bool only_if_writing) {
    for (unsigned i = 0; i < sched.count; i++) {
        sched_thread *t = &sched.threads[i];
        if (!t->is_left) continue;
        if (t->writes || !only_if_writing) t->needs_news = false;
        sched_node *node = &sched_trail[t->choice];
        sched_steps *others = &node->while_left[node->option];
        memset(others->any, 255, sizeof others->any);
        if (!only_if_writing) memset(others->writes, 255, sizeof others->writes);
    }
}

static inline void sched_pass_time(int64_t now) {
    sched.now = now;
    for (unsigned i = 0; i < sched.count; i++) {
        sched_thread *t = &sched.threads[i];
        if (!sched_has_deadline(t) || t->deadline > now) continue;
        t->condition = SCHED_READY;
        t->timed_out = true;
    }
}

/* Called when no thread can run: resumes the paused threads although nothing has changed, or lets time pass if none is
 * paused. */
static inline void sched_resume_somebody(void) {
    bool paused = false;
    int64_t next = KOLK_FOREVER.ns;
    for (unsigned i = 0; i < sched.count; i++) {
        sched_thread *t = &sched.threads[i];
        if (sched_has_deadline(t) && t->deadline < next) next = t->deadline;
        if (t->condition != SCHED_PAUSED) continue;
        t->condition = SCHED_READY;
        paused = true;
    }
    if (paused) return;
    if (next == KOLK_FOREVER.ns) {
        sched.report.end = SCHEDULE_DEADLOCK;
        sched_stop("deadlock: nobody can go on");
    }
    sched_pass_time(next);
}

static inline unsigned sched_highest(const unsigned able[WEAK_THREADS], unsigned n) {
    unsigned best = 0;
    for (unsigned i = 1; i < n; i++)
        if (sched.threads[able[i]].priority > sched.threads[able[best]].priority && sched_can_run(able[i], true))
            best = i;
    return best;
}

/* Returns the options to leave out: the threads that need news. */
static inline unsigned sched_without(const unsigned able[WEAK_THREADS], unsigned n) {
    unsigned without = 0;
    for (unsigned i = 0; i < n; i++) without |= (unsigned)sched.threads[able[i]].needs_news << i;
    return without;
}

/* Records in a new choice that it may preempt the running thread before its step. */
static inline void sched_note_step(sched_node *node, const unsigned able[WEAK_THREADS], unsigned n, unsigned previous) {
    const sched_thread *me = &sched.threads[sched.current];
    node->hash = (unsigned)weak_hash(me->granule) % SCHED_HASHES;
    node->writes = me->writes;
    node->surprises = sched.spent[SCHED_SURPRISE];
    node->deaths = sched.spent[SCHED_DEATH];
    node->previous = previous;
    node->able = 0;
    for (unsigned i = 0; i < n; i++) {
        node->able = node->able << 4 | able[i];
        memset(&node->while_left[i], node->without >> i & 1 ? 255 : 0, sizeof node->while_left[i]);
    }
}

/* Grants a step to one thread. Returns when the calling thread is granted a step. */
static inline void sched_switch(void) {
    unsigned able[WEAK_THREADS], n;
    for (unsigned i = 0; i < sched.count; i++)
        if (sched_has_deadline(&sched.threads[i])) sched_spread_news_to_all(false);
    sched_thread *from = &sched.threads[sched.current];
    bool is_before_step = from->condition == SCHED_READY; /* and does not fall asleep, pause or die */
    while ((n = sched_able(able)) == 0) sched_resume_somebody();
    bool goes_on = able[0] == sched.current, may_be_left = goes_on && n > 1 && is_before_step;
    unsigned previous = from->choice, length = sched.trail_length;
    from->choice = may_be_left ? sched.choices : SCHED_NO_CHOICE;
    unsigned chosen =
        sched_choose(goes_on ? SCHED_PREEMPTION : SCHED_FREE, n, sched_without(able, n), sched_highest(able, n));
    sched_thread *to = &sched.threads[able[chosen]];
    bool is_new = may_be_left && sched.trail_length > length;
    if (is_new && !sched.what->all_alike) sched_note_step(&sched_trail[from->choice], able, n, previous);
    to->condition = SCHED_READY;
    to->granted = true;
    if (to == from) return;
    from->is_left = may_be_left && sched.mode == SCHED_EXHAUSTIVE && !sched.what->all_alike;
    from->needs_news = from->is_left && !sched_trail[from->choice].sees_more;
    to->is_left = to->needs_news = false;
    sched.current = able[chosen];
    swapcontext(&from->context, &to->context);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static inline sched_thread *sched_me(void) {
    return &sched.threads[sched.current];
}

static inline void sched_count_step(void) {
    if (++sched.steps > sched.max_steps) {
        sched.report.end = SCHEDULE_LIVELOCK;
        sched_stop("livelock: %u steps and no end", sched.max_steps);
    }
    for (unsigned i = 0; i < SCHED_PCT_CHANGES; i++)
        if (sched.changes[i] == sched.steps) sched_me()->priority = i;
}

static inline void sched_see_more(void) {
    sched_trail[sched_me()->choice].sees_more = true;
}

/* Gives the news of the running thread's step to the preempted threads. */
static inline void sched_spread_news(void) {
    const sched_thread *me = sched_me();
    unsigned hash = (unsigned)weak_hash(me->granule) % SCHED_HASHES;
    for (unsigned i = 0; i < sched.count; i++) {
        sched_thread *t = &sched.threads[i];
        if (!t->is_left) continue;
        if (t->granule == me->granule && (t->writes || me->writes)) t->needs_news = false;
        sched_node *node = &sched_trail[t->choice];
        sched_steps *others = &node->while_left[node->option];
        others->any[hash / 64] |= UINT64_C(1) << hash % 64;
        if (me->writes) others->writes[hash / 64] |= UINT64_C(1) << hash % 64;
    }
}

/* Does the running thread die in place of its step? */
static inline bool sched_dies(void) {
    if (!sched.what->deaths || sched.current == SCHED_TEST || sched_me()->is_dead) return false;
    bool now = false;
    for (unsigned i = 0; i < SCHED_RANDOM_DEATHS; i++) now |= sched.deaths[i] == sched.steps;
    return sched_choose(SCHED_DEATH, 2, 0, now);
}

/* What the system does for the dead are steps of its own, which other threads may precede. */
_Noreturn static inline void sched_die(void) {
    sched_thread *me = sched_me();
    me->is_dead = true;
    if (sched.what->on_death) sched.what->on_death(sched.what->context);
    me->condition = SCHED_UNBORN;
    sched_switch();
    abort(); /* nothing switches to a thread that has died */
}

/* Called before each atomic step of the running thread: deadlines may pass, and other threads may run first. */
static inline void sched_reach(const void *at, bool writes) {
    sched_thread *me = sched_me();
    sched_count_step();
    me->granule = (uintptr_t)at / 8;
    me->writes = writes;
    int64_t deadlines[WEAK_THREADS];
    unsigned n = 0;
    for (unsigned i = 0; i < sched.count; i++)
        if (sched_has_deadline(&sched.threads[i])) deadlines[n++] = sched.threads[i].deadline;
    unsigned passed = sched_surprise(n + 1);
    if (passed) sched_pass_time(deadlines[passed - 1]);
    if (me->granted)
        me->choice = SCHED_NO_CHOICE;
    else
        sched_switch();
    me->granted = false;
    if (sched_dies()) sched_die();
    sched_spread_news();
    weak_tick(sched.current);
}

static inline void sched_note(const kolk_place_ *place, uint64_t before, uint64_t after, const char *note) {
    sched_thread *me = sched_me();
    me->last[me->steps++ % SCHED_LAST] = (sched_step){sched.steps, *place, before, after, note};
}

uint64_t kolk_scheduled_load_(const void *at, size_t size, const kolk_place_ *place) {
    sched_reach(at, false);
    weak_atomic *atomic = weak_find(at, size, place->what);
    unsigned age = sched_surprise(weak_readable(atomic, sched.current, place->order, 0));
    uint64_t value = weak_read(atomic, sched.current, age, place->order);
    sched_note(place, value, value, age ? "an older store" : "");
    return value;
}

static inline uint64_t sched_updated(kolk_verb_ verb, uint64_t before, uint64_t value, size_t size) {
    uint64_t after = value;
    if (verb == KOLK_FETCH_ADD_) after = before + value;
    if (verb == KOLK_FETCH_SUB_) after = before - value;
    if (verb == KOLK_FETCH_OR_) after = before | value;
    if (verb == KOLK_FETCH_AND_) after = before & value;
    return size == 8 ? after : after & (((uint64_t)1 << size * 8) - 1);
}

static inline void sched_write(weak_atomic *atomic, void *at, uint64_t value, int order, bool modifies) {
    weak_write(atomic, sched.current, value, order, modifies);
    weak_poke(at, atomic->size, value);
    sched.writes++;
}

uint64_t kolk_scheduled_update_(void *at, size_t size, uint64_t value, const kolk_place_ *place) {
    sched_reach(at, true);
    weak_atomic *atomic = weak_find(at, size, place->what);
    bool modifies = place->verb != KOLK_STORE_;
    uint64_t before = modifies ? weak_read(atomic, sched.current, 0, place->order) : weak_newest(atomic)->value;
    uint64_t after = sched_updated(place->verb, before, value, size);
    sched_write(atomic, at, after, place->order, modifies);
    sched_note(place, before, after, "");
    return before;
}

bool kolk_scheduled_compare_(void *at, size_t size, void *expected, uint64_t desired, int failure,
                             const kolk_place_ *place) {
    sched_reach(at, true);
    weak_atomic *atomic = weak_find(at, size, place->what);
    uint64_t before = weak_newest(atomic)->value;
    bool equal = before == weak_peek(expected, size);
    bool fails = !equal || (place->verb == KOLK_COMPARE_EXCHANGE_WEAK_ && sched_surprise(2));
    weak_read(atomic, sched.current, 0, fails ? failure : place->order);
    uint64_t after = fails ? before : sched_updated(KOLK_EXCHANGE_, before, desired, size);
    if (fails)
        weak_poke(expected, size, before);
    else
        sched_write(atomic, at, after, place->order, true);
    sched_note(place, before, after, !fails ? "" : equal ? "fails for no reason" : "fails");
    return !fails;
}

void kolk_scheduled_pause_(const kolk_place_ *place) {
    sched_thread *me = sched_me();
    sched_count_step();
    sched_see_more();
    sched_note(place, 0, 0, "");
    sched_pass_time(sched.now + 1000);
    sched_spread_news_to_all(true);
    me->condition = SCHED_PAUSED;
    me->paused_at = sched.writes;
    sched_switch();
}

void kolk_scheduled_plain_(const void *at, size_t size, const kolk_place_ *place) {
    weak_tick(sched.current);
    bool writes = place->verb == KOLK_WRITE_PLAIN_;
    for (size_t i = 0; i < size; i++) {
        unsigned other;
        const weak_access *access = weak_touch((const char *)at + i, sched.current, writes, place, &other);
        if (!access) continue;
        sched_note(place, 0, 0, "a race");
        sched.report.end = SCHEDULE_RACE;
        sched_stop("data race: byte %u of %s is %s by %s in %s:%d, and %s by %s in %s:%d; nothing orders the two",
                   (unsigned)i, place->what, writes ? "written" : "read", sched_me()->name, place->function,
                   place->line, access->what, sched.threads[other].name, access->function, access->line);
    }
    sched_note(place, 0, 0, "");
}

void kolk_scheduled_unseen_(void) {
    sched_see_more();
}

/* ---- sleep.h ----------------------------------------------------------------------------------------------------- */

int64_t kolk_now_ns_(void) {
    sched_see_more();
    return sched.now;
}

bool kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    sched_reach(word, true);
    sched_see_more();
    weak_atomic *atomic = weak_find(word, sizeof *word, "a word");
    const kolk_place_ place = {KOLK_WAIT_, KOLK_SEQ_CST_, 0, atomic->name, "kolk_wait_"};
    unsigned age = sched_surprise(weak_readable(atomic, sched.current, KOLK_SEQ_CST_, atomic->awake));
    uint64_t value = weak_read(atomic, sched.current, age, KOLK_RELAXED_); /* reading the word orders nothing */
    bool passed = deadline.ns <= sched.now;
    if (value != expected || passed || sched_surprise(2)) {
        bool as_expected = value == expected;
        sched_note(&place, value, value,
                   !as_expected ? "not as expected"
                   : passed     ? "too late"
                                : "returns for no reason");
        return !as_expected || !passed;
    }
    sched_note(&place, value, value, age ? "sleeps, by an older store" : "sleeps");
    sched_thread *me = sched_me();
    me->condition = SCHED_ASLEEP;
    me->word = word;
    me->deadline = deadline.ns;
    me->asleep_since = sched.steps;
    me->timed_out = false;
    sched_switch();
    sched_note(&place, value, value, me->timed_out ? "the deadline passes" : "is woken");
    return !me->timed_out;
}

/* Returns the thread that has slept longest on the word, which is the one that Linux wakes. */
static inline sched_thread *sched_sleeper(const uint32_t *word) {
    sched_thread *first = NULL;
    for (unsigned i = 0; i < sched.count; i++) {
        sched_thread *t = &sched.threads[i];
        if (t->condition != SCHED_ASLEEP || t->word != word) continue;
        if (!first || t->asleep_since < first->asleep_since) first = t;
    }
    return first;
}

void kolk_wake_(uint32_t *word, uint32_t n) {
    sched_reach(word, true);
    sched_see_more();
    weak_atomic *atomic = weak_place(word, sizeof *word, "a word"); /* the sleeper may have freed the word */
    bool is_known = atomic->run == weak.run;
    if (is_known) weak_wake(atomic, sched.current);
    uint32_t woken = 0;
    for (sched_thread *t; woken < n && (t = sched_sleeper(word)); woken++) t->condition = SCHED_READY;
    const kolk_place_ place = {KOLK_WAKE_, KOLK_SEQ_CST_, 0, is_known ? atomic->name : "a word", "kolk_wake_"};
    sched_note(&place, woken, woken, "woken");
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

_Noreturn static inline void sched_stop(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sched.report.sentence, sizeof sched.report.sentence, format, arguments);
    va_end(arguments);
    if (sched.report.end == SCHEDULE_PASSED) sched.report.end = SCHEDULE_ASSERTION;
    setcontext(&sched.outside);
    abort(); /* setcontext returns only if it fails */
}

static inline unsigned schedule_thread(void) {
    return sched.current - 1;
}

static inline bool schedule_is_dead(unsigned thread) {
    return sched.threads[thread + 1].is_dead;
}

static inline void sched_on_failure(const kolk_failure *failure, void *context) {
    (void)context;
    sched_stop("%s: %s", sched_me()->name, failure->sentence);
}

#endif
