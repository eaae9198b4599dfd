/* runs: long once with: KOLK_SCHEDULED=1 wraps: help/arena.h */
/* Waiting for an object of a shared pool, and the uncached pool, in every order of the steps of two or three threads
 * with up to 2 preemptions and a surprise, then in random orders: see schedule.h. A thread that sleeps for ever is
 * reported as a deadlock.
 *
 * The promises to a waiter:
 *   - Once fewer than `capacity` objects are alive, it is served: the other magazines have no room for all free slots,
 *     and a slot without room returns by the slow path, which looks for waiters.
 *   - A free that begins when the waiter is already asleep serves it or an earlier waiter. */
#include "../help/test.h"

#include "shared_schedule.h"

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

/* Does thread n sleep until an object is free (and not until a lock is free)? */
static bool sleeps(const state *s, unsigned n) {
    const sched_thread *t = &sched.threads[1 + n];
    return t->condition == SCHED_ASLEEP && t->word != &s->pool.inside->waiters_lock &&
           t->word != &s->pool.inside->store.lock;
}

/* Waits until thread n sleeps or has ended. Returns false if it has ended. */
static bool until_asleep(const state *s, unsigned n) {
    KOLK_UNSEEN_();
    while (!sleeps(s, n) && sched.threads[1 + n].condition != SCHED_UNBORN) kolk_pause_();
    return sleeps(s, n);
}

static void tell(state *s, unsigned n) {
    kolk_store_(&s->told[n], 1, KOLK_RELEASE_);
}

static void until_told(state *s, unsigned n) {
    while (!kolk_load_(&s->told[n], KOLK_ACQUIRE_)) kolk_pause_();
}

static bool has_none(const kolk_magazine_ *magazine) {
    return magazine->top == 0;
}

/* The waiter has local 1; a second waiter has local 2. */
static void wait_for_ever(void *context) {
    state *s = (state *)context;
    schedule_assert(take_until(s, &s->locals[1 + schedule_thread()], KOLK_FOREVER));
}

static void wait_a_while(void *context) {
    state *s = (state *)context;
    take_until(s, &s->locals[1 + schedule_thread()], kolk_deadline_after(1));
}

/* Frees the situation's objects through local 0. */
static void free_all(void *context) {
    state *s = (state *)context;
    for (unsigned i = 0; i < MOST && s->objects[i]; i++) give(s, &s->locals[0], s->objects[i]);
}

static void free_all_in_bulk(void *context) {
    state *s = (state *)context;
    uint32_t n = 0;
    while (n < MOST && s->objects[n]) n++;
    give_n(s, &s->locals[0], s->objects, n);
}

/* ---- Situations: all slots have been handed out ------------------------------------------------------------------ */

static void all_alive(state *s) {
    hand_out(s, all_slots(&s->pool));
}

/* The same, but the pool is uncached. */
static void all_alive_and_direct(state *s) {
    all_alive(s);
    schedule_assert(!kolk_shared_alloc(&s->locals[0]));
}

/* All slots are alive except those that fill the magazine of local 0. */
static void all_but_a_magazine(state *s) {
    all_alive(s);
    for (unsigned i = 0; i < cache; i++) {
        unsigned last = s->alive - 1;
        free_to(s, 0, last);
        s->objects[last] = NULL;
    }
}

/* ---- Once fewer than `capacity` objects are alive ---------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*made)(state *s);
} situations[] = {
    {"from none at hand", all_alive}, {"direct", all_alive_and_direct}, {"from all at hand", all_but_a_magazine}};

static void each_situation(const char *what, void (*first)(void *), void (*second)(void *), void (*third)(void *)) {
    char name[100];
    for (unsigned n = 0; n < LENGTH_OF(situations); n++) {
        snprintf(name, sizeof name, "%s, %s, cache %u%s%s", what, situations[n].name, cache, exact ? ", exact" : "",
                 stepped ? ", stepped" : "");
        run_from(name, situations[n].made, first, second, third);
    }
}

/* One thread waits, the other frees. An exact pool has no fast path. */
static void each_pool(const char *what, void (*waits)(void *)) {
    threads = 2;
    capacity = 1;
    for (unsigned n = 0; n < 8; n++) {
        cache = 1 + n % 2;
        exact = n / 2 == 1;
        stepped = n / 2 == 2;
        generations = n / 2 == 3 ? KOLK_GENERATIONS_NONE : KOLK_GENERATIONS_RECYCLE; /* NONE: fast paths with steps */
        brief = n > 0;
        each_situation(what, waits, free_all, NULL);
        if (!stepped) each_situation(what, waits, free_all_in_bulk, NULL);
    }
    exact = stepped = brief = false;
    generations = KOLK_GENERATIONS_RECYCLE;
}

static void test_served(void **unused) {
    each_pool("one for ever", wait_for_ever);
}

static void test_deadline(void **unused) {
    each_pool("one for a while", wait_a_while);
}

static void wait_too(void *context) {
    state *s = (state *)context;
    schedule_assert(take_until(s, &s->locals[2], KOLK_FOREVER));
}

static void wait_too_a_while(void *context) {
    state *s = (state *)context;
    take_until(s, &s->locals[2], kolk_deadline_after(1));
}

/* With 2 preemptions these schedules would take minutes. */
static void test_two_wait(void **unused) {
    threads = 3;
    capacity = cache = 2;
    brief = true;
    each_situation("two for ever", wait_for_ever, wait_too, free_all);
    run_from("one for ever, one for a while", all_but_a_magazine, wait_for_ever, wait_too_a_while, free_all);
    run_from("two for a while", all_but_a_magazine, wait_a_while, wait_too_a_while, free_all);
    brief = false;
}

static void free_one(void *context) {
    state *s = (state *)context;
    give(s, &s->locals[0], s->objects[0]);
}

/* The waiter reads the summary twice before it sleeps, and may get an old value both times. */
static void test_two_old_looks(void **unused) {
    threads = 2;
    capacity = cache = 1;
    situation = all_alive_and_direct;
    schedule_must_pass(&(schedule){.name = "two old looks",
                                   .context = &own,
                                   .begin = begin,
                                   .threads = {{"waiter", wait_for_ever}, {"free", free_one}},
                                   .end = end,
                                   .preemptions = does_a_part() ? 1 : 2,
                                   .surprises = 2});
    situation = NULL;
}

/* ---- A free that begins when the waiter is already asleep -------------------------------------------------------- */

static void free_one_late(void *context) {
    state *s = (state *)context;
    bool late = until_asleep(s, 0);
    give(s, &s->locals[0], s->objects[0]);
    schedule_assert(!late || has_none(s->locals[0].magazine));
}

/* The freeing thread first returns half of its magazine to the depot, and so may be about to raise the magazine's
 * bound. */
static void free_two_and_one_late(void *context) {
    state *s = (state *)context;
    give(s, &s->locals[0], s->objects[1]);
    free_one_late(context);
}

/* Finds nothing, so that two threads make the pool uncached at the same time, or else gets the freed slot and frees it
 * again. */
static void take_and_give(void *context) {
    state *s = (state *)context;
    give(s, &s->locals[2], take(s, &s->locals[2]));
}

static void test_a_free_serves_who_sleeps(void **unused) {
    capacity = 2;
    for (unsigned n = 0; n < 8; n++) {
        cache = 1 + n % 2;
        exact = n / 2 % 2;
        threads = 2 + n / 4;
        void (*third)(void *) = threads == 3 ? take_and_give : NULL;
        brief = threads == 3;
        run_from("late", all_alive, wait_for_ever, free_one_late, third);
        run_from("late, direct", all_alive_and_direct, wait_for_ever, free_one_late, third);
        run_from("late, from all at hand", all_but_a_magazine, wait_for_ever, free_two_and_one_late, third);
    }
    exact = brief = false;
    cache = 1;
    run_from("late, two let it go direct", all_alive, wait_for_ever, free_one_late, take_and_give);
}

/* The second waiter is not served. It comes second in time, but has not synchronised with the first, so this test
 * allows no loads of old values: with an old value, the waiter would not see that another one waits. */
static void wait_behind(void *context) {
    state *s = (state *)context;
    until_asleep(s, 0);
    schedule_assert(!take_until(s, &s->locals[2], kolk_deadline_after(1)));
}

static void free_one_for_the_first(void *context) {
    until_asleep((state *)context, 0);
    free_one(context);
}

static void test_first_come_first_served(void **unused) {
    threads = 3;
    capacity = 2;
    situation = all_alive;
    for (cache = 1; cache <= 2; cache++)
        schedule_must_pass(&(schedule){
            .name = "first come",
            .context = &own,
            .begin = begin,
            .threads = {{"first", wait_for_ever}, {"second", wait_behind}, {"third", free_one_for_the_first}},
            .end = end,
            .preemptions = 1});
    situation = NULL;
}

/* ---- Other ways in which slots return ---------------------------------------------------------------------------- */

static void flush(void *context) {
    kolk_shared_local_flush(&((state *)context)->locals[0]);
}

static void flush_late(void *context) {
    state *s = (state *)context;
    until_asleep(s, 0);
    until_asleep(s, 1);
    flush(context);
}

static void deinit(void *context) {
    kolk_shared_local_deinit(&((state *)context)->locals[0]);
}

static void free_later(void *context) {
    state *s = (state *)context;
    kolk_shared_free_later(&s->locals[0], s->objects[0]);
    s->alive--;
    for (int i = 0; i < 4; i++) kolk_shared_quiesce(&s->locals[0]);
}

static void others_are_offline(state *s) {
    all_alive(s);
    for (unsigned i = 1; i < threads; i++) kolk_shared_offline(&s->locals[i]);
}

static void test_other_ways_home(void **unused) {
    threads = capacity = 2;
    for (cache = 1; cache <= 2; cache++) {
        run_from("flush", all_but_a_magazine, wait_for_ever, flush, NULL);
        run_from("deinit", all_but_a_magazine, wait_for_ever, deinit, NULL);
        run_from("free_later", others_are_offline, wait_for_ever, free_later, NULL);
        run_from("flush, deadline", all_but_a_magazine, wait_a_while, flush, NULL);
    }
    threads = 3;
    cache = 2;
    brief = true;
    run_from("flush, two wait", all_but_a_magazine, wait_for_ever, wait_too, flush_late);
    brief = false;
}

/* Slots 0 and 1 belong to one word, whose summary bit is still set from earlier. Local 2 is about to return both. */
static void two_of_one_word(state *s) {
    all_alive(s);
    free_to(s, 2, 0);
    free_to(s, 2, 1);
    kolk_store_(kolk_slot_set_summary_(&s->pool.inside->store.depot.free, 0), 1, KOLK_RELAXED_);
}

static void take_when_one_sleeps(void *context) {
    state *s = (state *)context;
    until_asleep(s, 0);
    take(s, &s->locals[0]);
}

static void flush_2(void *context) {
    kolk_shared_local_flush(&((state *)context)->locals[2]);
}

/* A thread that takes one slot of a word may hold all the free slots of that word for a moment. The slots that it puts
 * back serve the waiters. */
static void test_brought_back(void **unused) {
    threads = 3;
    capacity = cache = 2;
    situation = two_of_one_word;
    schedule what = {.name = "brought back",
                     .context = &own,
                     .begin = begin,
                     .threads = {{"waiter", wait_for_ever}, {"allocator", take_when_one_sleeps}, {"bringer", flush_2}},
                     .end = end,
                     .preemptions = 2};
    schedule_must_pass(&what);
    what.preemptions = what.surprises = 1;
    what.random = does_a_part() ? 200 : 20000;
    schedule_must_pass(&what);
    situation = NULL;
}

/* ---- After a NULL, threads keep no slots in their magazines ------------------------------------------------------ */

static void take_none(void *context) {
    state *s = (state *)context;
    void *object = take(s, &s->locals[1]);
    tell(s, object ? 1 : 0);
}

/* A slot freed after another thread got NULL returns to the depot, even if the freeing thread was just about to raise
 * its magazine's bound. */
static void free_before_and_after(void *context) {
    state *s = (state *)context;
    give(s, &s->locals[0], s->objects[0]);
    while (!kolk_load_(&s->told[0], KOLK_ACQUIRE_) && !kolk_load_(&s->told[1], KOLK_ACQUIRE_)) kolk_pause_();
    give(s, &s->locals[0], s->objects[1]);
    schedule_assert(kolk_load_(&s->told[1], KOLK_RELAXED_) || has_none(s->locals[0].magazine));
}

static void take_none_either(void *context) {
    state *s = (state *)context;
    take(s, &s->locals[2]);
}

static void test_direct_from_null_on(void **unused) {
    capacity = 2;
    for (unsigned n = 0; n < 16; n++) {
        cache = 1 + n % 2;
        exact = n / 2 % 2;
        stepped = n / 4 % 2;
        threads = 2 + n / 8;
        void (*third)(void *) = threads == 3 ? take_none_either : NULL;
        brief = threads == 3;
        if (exact && stepped) continue;
        run_from("NULL", all_alive, take_none, free_before_and_after, third);
        run_from("NULL, from all at hand", all_but_a_magazine, take_none, free_before_and_after, third);
    }
    exact = stepped = brief = false;
}

/* The first thread has searched in vain and is about to set how long the pool stays uncached. Before it does so, enough
 * slots return to use up that time. Then another thread gets NULL. */
static void bring_many(void *context) {
    state *s = (state *)context;
    void *object = s->objects[0];
    for (uint32_t i = 0; object && i < all_slots(&s->pool); i++) {
        give(s, &s->locals[0], object);
        kolk_shared_local_flush(&s->locals[0]);
        object = take(s, &s->locals[0]);
    }
    tell(s, 0);
    until_told(s, 1);
    give(s, &s->locals[0], object);
    schedule_assert(!s->objects[0] || has_none(s->locals[0].magazine));
}

static void take_none_once(void *context) {
    state *s = (state *)context;
    take(s, &s->locals[1]);
}

static void take_none_when_told(void *context) {
    state *s = (state *)context;
    until_told(s, 0);
    if (take(s, &s->locals[2])) s->objects[0] = NULL; /* a slot was free, so nothing is promised */
    tell(s, 1);
}

static void test_who_looked_long_ago(void **unused) {
    threads = 3;
    capacity = cache = 1;
    situation = all_alive;
    schedule_must_pass(
        &(schedule){.name = "long ago",
                    .context = &own,
                    .begin = begin,
                    .threads = {{"long ago", take_none_once}, {"many", bring_many}, {"now", take_none_when_told}},
                    .end = end,
                    .preemptions = 1});
    situation = NULL;
}

/* ---- Shutdown ---------------------------------------------------------------------------------------------------- */

static void shut_down(void *context) {
    kolk_shared_shutdown(&((state *)context)->pool);
}

static void shut_down_and_reopen(void *context) {
    state *s = (state *)context;
    kolk_shared_shutdown(&s->pool);
    kolk_shared_reopen(&s->pool);
    free_all(s);
}

/* After a shutdown, NULL does not mean that `capacity` objects are alive. */
static void wait_or_be_sent_away(void *context) {
    state *s = (state *)context;
    if (kolk_shared_alloc_wait(&s->locals[1 + schedule_thread()], KOLK_FOREVER)) s->alive++;
}

static void wait_too_or_be_sent_away(void *context) {
    state *s = (state *)context;
    if (kolk_shared_alloc_wait(&s->locals[2], KOLK_FOREVER)) s->alive++;
}

/* No waiter sleeps on, whether it starts to wait before the shutdown or after, and whether a free or the shutdown ends
 * its wait. promise: "every alloc_wait ... still work" */
static void test_shutdown(void **unused) {
    threads = 2;
    capacity = cache = 1;
    run_from("shutdown", all_alive, wait_or_be_sent_away, shut_down, NULL);
    run_from("shutdown, reopen, free", all_alive, wait_or_be_sent_away, shut_down_and_reopen, NULL);
    threads = 3;
    capacity = cache = 2;
    brief = true;
    run_from("shutdown and free", all_alive, wait_or_be_sent_away, shut_down, free_all);
    run_from("two wait, shutdown", all_alive, wait_or_be_sent_away, wait_too_or_be_sent_away, shut_down);
    brief = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_free_serves_who_sleeps),
                                       cmocka_unit_test(test_served),
                                       cmocka_unit_test(test_two_old_looks),
                                       cmocka_unit_test(test_first_come_first_served),
                                       cmocka_unit_test(test_other_ways_home),
                                       cmocka_unit_test(test_direct_from_null_on),
                                       cmocka_unit_test(test_who_looked_long_ago),
                                       cmocka_unit_test(test_shutdown),
                                       cmocka_unit_test(test_brought_back),
                                       cmocka_unit_test(test_deadline),
                                       cmocka_unit_test(test_two_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
