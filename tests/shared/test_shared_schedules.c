/* runs: long once with: KOLK_SCHEDULED=1 wraps: help/arena.h */
/* The shared pool in every order of the steps of two or three threads with up to 2 preemptions and a surprise, then in
 * random orders: see schedule.h. */
#include "../help/test.h"

#include "shared_schedule.h"

static void one_after_another(void *context) {
    state *s = (state *)context;
    kolk_shared_local local;
    schedule_assert(kolk_shared_local_init(&local, &s->pool) == KOLK_OK);
    for (int i = 0; i < 2; i++) give(s, &local, take(s, &local));
    kolk_shared_local_deinit(&local);
}

/* Holds more objects than its magazine: some slots return to the depot and are fetched again. */
static void three_at_a_time(void *context) {
    state *s = (state *)context;
    kolk_shared_local local;
    void *objects[3];
    schedule_assert(kolk_shared_local_init(&local, &s->pool) == KOLK_OK);
    for (int i = 0; i < 3; i++) objects[i] = take(s, &local);
    for (int i = 0; i < 3; i++) give(s, &local, objects[i]);
    give(s, &local, take(s, &local));
}

static void in_bulk(void *context) {
    state *s = (state *)context;
    kolk_shared_local local;
    void *objects[3];
    schedule_assert(kolk_shared_local_init(&local, &s->pool) == KOLK_OK);
    for (uint32_t n = 2; n <= 3; n++) give_n(s, &local, objects, take_n(s, &local, objects, n));
    kolk_shared_local_deinit(&local);
}

static void produce(void *context) {
    state *s = (state *)context;
    kolk_shared_local local;
    schedule_assert(kolk_shared_local_init(&local, &s->pool) == KOLK_OK);
    for (int i = 0; i < 2; i++) kolk_store_(&s->passed[i], (uintptr_t)take(s, &local), KOLK_RELEASE_);
    kolk_shared_local_deinit(&local);
}

static void consume(void *context) {
    state *s = (state *)context;
    kolk_shared_local local;
    schedule_assert(kolk_shared_local_init(&local, &s->pool) == KOLK_OK);
    for (int i = 0; i < 2; i++) {
        uintptr_t object;
        while (!(object = kolk_load_(&s->passed[i], KOLK_ACQUIRE_))) kolk_pause_();
        give(s, &local, (void *)object);
    }
    give(s, &local, take(s, &local));
    kolk_shared_local_deinit(&local);
}

/* ---- From the beginning ------------------------------------------------------------------------------------------ */

static void test_two(void **unused) {
    capacity = threads = 2;
    for (cache = 1; cache <= 2; cache++)
        run(cache == 1 ? "one after another, cache 1" : "one after another, cache 2", one_after_another,
            one_after_another, NULL);
}

/* Without caches NULL is exact: there is no slack, so a thread that holds a spare slot, even for a moment, would make
 * another alloc fail. promise: "Without caches (small pools, or KOLK_NO_CACHE) ... and then returns the slot" */
static void test_without_caches(void **unused) {
    cache = KOLK_NO_CACHE;
    threads = 2;
    capacity = 1;
    run("no caches", one_after_another, one_after_another, NULL);
    run("no caches, three at a time", three_at_a_time, one_after_another, NULL);
    capacity = 3;
    run("no caches, passed on", produce, consume, NULL);
    capacity = threads = 3;
    run("no caches, three", one_after_another, one_after_another, one_after_another);
}

static void test_three(void **unused) {
    capacity = threads = 3;
    cache = 1;
    run("three", one_after_another, one_after_another, one_after_another);
}

static void test_full(void **unused) {
    capacity = cache = 1;
    threads = 2;
    run("full", one_after_another, one_after_another, NULL);
}

static void test_through_home(void **unused) {
    capacity = 6;
    threads = 2;
    for (cache = 1; cache <= 2; cache++)
        run(cache == 1 ? "through home, cache 1" : "through home, cache 2", three_at_a_time, three_at_a_time, NULL);
}

/* With caches and without, with room for all objects and with too little. promise: "Allocates up ... local's cache" */
static void test_in_bulk(void **unused) {
    static const uint32_t caches[] = {1, 2, KOLK_NO_CACHE};
    static const char *const names[] = {"in bulk, cache 1", "in bulk, cache 2", "in bulk, no caches"};
    threads = 2;
    for (size_t n = 0; n < LENGTH_OF(caches); n++) {
        cache = caches[n];
        for (capacity = 2; capacity <= 6; capacity += 2) run(names[n], in_bulk, in_bulk, NULL);
        capacity = 3;
        run(names[n], in_bulk, one_after_another, NULL);
    }
    threads = 3;
    cache = 1;
    run("in bulk beside others", in_bulk, one_after_another, three_at_a_time);
}

/* promise: "except init, deinit, clear and is_valid", "The thread that allocates a slot next sees all" */
static void test_passed_on(void **unused) {
    capacity = 3;
    threads = 2;
    for (cache = 1; cache <= 2; cache++)
        run(cache == 1 ? "passed on, cache 1" : "passed on, cache 2", produce, consume, NULL);
    capacity = 4;
    threads = 3;
    run("passed on beside another", produce, consume, one_after_another);
}

/* ---- Situations -------------------------------------------------------------------------------------------------- */

/* Objects 3 and 4 are alive, one fewer than `capacity`. One thread frees these two, and another allocates two objects.
 * The magazines of both threads are full (cache 1), so only slot 0 is in the depot. */
static void one_is_at_home(state *s) {
    hand_out(s, 5);
    free_to(s, 2, 0);
    kolk_shared_local_flush(&s->locals[2]);
    free_to(s, 0, 1);
    free_to(s, 2, 2);
}

static void take_two(void *context) {
    state *s = (state *)context;
    for (int i = 0; i < 2; i++) take(s, &s->locals[0]);
}

static void take_by_1(void *context) {
    take((state *)context, &((state *)context)->locals[1]);
}

static void give_3_and_4(void *context) {
    state *s = (state *)context;
    give(s, &s->locals[2], s->objects[3]);
    give(s, &s->locals[2], s->objects[4]);
}

/* One thread reads the summary bit of slot 0. Then slots 2 and 3 return to the depot, and another thread takes slot
 * 0. promise: "system had no memory for the pool to grow" */
static void test_seen_empty_at_different_moments(void **unused) {
    capacity = threads = 3;
    cache = 1;
    run_from("at different moments", one_is_at_home, take_two, take_by_1, give_3_and_4);
}

/* Without caches: both slots are alive. Their word is empty, but its summary bit is still set. */
static void both_are_alive(state *s) {
    hand_out(s, 2);
    free_to(s, 0, 1);
    schedule_assert((s->objects[1] = kolk_shared_alloc(&s->locals[0])));
    s->alive++;
}

static void give_both(void *context) {
    state *s = (state *)context;
    give(s, &s->locals[2], s->objects[0]);
    give(s, &s->locals[2], s->objects[1]);
}

static void take_by_0(void *context) {
    take((state *)context, &((state *)context)->locals[0]);
}

/* One thread finds the word empty, then both slots return. It must not take both, not even for a moment, because
 * another thread is searching too. promise: "system had no memory for the pool to grow" */
static void test_two_come_home_at_once(void **unused) {
    capacity = 2;
    threads = 3;
    cache = KOLK_NO_CACHE;
    run_from("both at once", both_are_alive, take_by_0, take_by_1, give_both);
}

/* As one_is_at_home, but slots 64 and 65 return, which the second summary word covers. */
static void one_is_at_home_in_the_first_word(state *s) {
    hand_out(s, 67);
    free_to(s, 2, 0);
    kolk_shared_local_flush(&s->locals[2]);
    free_to(s, 0, 1);
    free_to(s, 2, 64);
}

static void give_65_and_66(void *context) {
    state *s = (state *)context;
    give(s, &s->locals[2], s->objects[65]);
    give(s, &s->locals[2], s->objects[66]);
}

/* One thread finds no bit in the second summary word, then none in the first. It has made no exchange, so the others'
 * stores may not yet be visible to it. promise: "system had no memory for the pool to grow" */
static void test_seen_empty_in_the_summary(void **unused) {
    capacity = 65;
    threads = 3;
    cache = 1;
    run_from("in the summary", one_is_at_home_in_the_first_word, take_two, take_by_1, give_65_and_66);
}

/* `capacity` objects are alive, objects 4 and 5. The threads that free them have full magazines (cache 2). The first
 * slots that they return belong to the same word. */
static void two_are_full(state *s) {
    hand_out(s, 6);
    free_to(s, 1, 0);
    free_to(s, 1, 2);
    free_to(s, 2, 1);
    free_to(s, 2, 3);
}

static void give_4(void *context) {
    give((state *)context, &((state *)context)->locals[1], ((state *)context)->objects[4]);
}

static void give_5(void *context) {
    give((state *)context, &((state *)context)->locals[2], ((state *)context)->objects[5]);
}

/* One thread puts a slot into a word, but has not yet set the summary bit. Meanwhile another thread puts a slot into
 * the same word, and may finish first. */
static void test_two_bring_to_one_word(void **unused) {
    capacity = cache = 2;
    threads = 3;
    run_from("two to one word", two_are_full, take_by_0, give_4, give_5);
}

/* Slot 0 is in the depot; the magazine of local 1 is full, with slots 1 and 2 (cache 2). */
static void one_is_full(state *s) {
    hand_out(s, 4);
    free_to(s, 1, 0);
    kolk_shared_local_flush(&s->locals[1]);
    free_to(s, 1, 1);
    free_to(s, 1, 2);
}

static void give_3(void *context) {
    give((state *)context, &((state *)context)->locals[1], ((state *)context)->objects[3]);
}

/* A thread that puts a slot into a word that was just emptied must not rely on a stale summary bit. */
static void test_brought_to_a_word_that_is_taken(void **unused) {
    capacity = cache = threads = 2;
    run_from("a word that is taken", one_is_full, take_by_0, give_3, NULL);
}

/* Even if the other magazine is full, `capacity` objects can be alive. */
static void test_no_slot_too_few(void **unused) {
    capacity = 2;
    threads = 2;
    for (cache = 1; cache <= 2; cache++)
        run(cache == 1 ? "none too few, cache 1" : "none too few, cache 2", three_at_a_time, one_after_another, NULL);
}

static void take_twenty(void *context) {
    state *s = (state *)context;
    kolk_shared_local local;
    schedule_assert(kolk_shared_local_init(&local, &s->pool) == KOLK_OK);
    for (int i = 0; i < 20; i++) take(s, &local);
}

/* Two threads reach the end of the committed memory, which is 2 slots, then 18, then all. */
static void test_growth(void **unused) {
    capacity = cache = 1;
    threads = 2;
    max_capacity = 40;
    object_size = 4096;
    run("growth", three_at_a_time, one_after_another, NULL);
    schedule_must_pass(&(schedule){.name = "growth twice",
                                   .context = &own,
                                   .begin = begin,
                                   .threads = {{"first", one_after_another}, {"second", take_twenty}},
                                   .end = end,
                                   .preemptions = 1,
                                   .random = does_a_part() ? 200 : 2000});
    max_capacity = 0;
    object_size = 8;
}

/* ---- Two threads free one object at the same moment -------------------------------------------------------------- */

static void count_report(const kolk_failure *failure, void *context) {
    if (failure->rule == KOLK_DOUBLE_FREE && failure->slot == 0) own.reports++;
}

static void one_is_alive(state *s) {
    kolk_set_failure_handler(count_report, NULL);
    for (unsigned i = 0; i < threads; i++) schedule_assert(kolk_shared_local_init(&s->locals[i], &s->pool) == KOLK_OK);
    s->objects[0] = kolk_shared_alloc(&s->locals[0]);
}

static void free_it(void *context) {
    state *s = (state *)context;
    kolk_shared_free(&s->locals[schedule_thread()], s->objects[0]);
}

static uint32_t bulk; /* more than `cache`: the object goes directly to the depot */

static void free_it_in_bulk(void *context) {
    state *s = (state *)context;
    void *const objects[4] = {s->objects[0]};
    kolk_shared_free_n(&s->locals[schedule_thread()], objects, bulk);
}

static void all_but_one_are_reported(void *context) {
    schedule_assert(((state *)context)->reports == threads - 1);
    end(context);
}

/* promise: "detects two simultaneous frees of an object", "With `.exact`, one of them is always reported" */
static void test_exact(void **unused) {
    capacity = 4;
    exact = true;
    for (unsigned n = 0; n < 16; n++) {
        threads = 2 + n % 2;
        cache = 1 + n / 2 % 2;
        bulk = n < 8 ? 1 : 4;
        if (n >= 8 && threads == 3) continue; /* two are enough for this */
        generations = n / 4 % 2 ? KOLK_GENERATIONS_NONE : KOLK_GENERATIONS_RECYCLE;
        situation = one_is_alive;
        schedule what = {.name = threads == 2 ? "two free one" : "three free one",
                         .context = &own,
                         .begin = begin,
                         .threads = {{"first", n % 4 < 2 ? free_it : free_it_in_bulk},
                                     {"second", free_it_in_bulk},
                                     {"third", threads > 2 ? free_it : NULL}},
                         .end = all_but_one_are_reported,
                         .preemptions = does_a_part() ? 1 : 2,
                         .surprises = 1,
                         .random = does_a_part() ? 200 : 2000};
        schedule_must_pass(&what);
    }
    situation = NULL;
    threads = 2;
    run("exact, in bulk", in_bulk, in_bulk, NULL);
    run("exact, one after another", one_after_another, one_after_another, NULL);
    run("exact, passed on", produce, consume, NULL);
    exact = false;
    generations = KOLK_GENERATIONS_RECYCLE;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two),
                                       cmocka_unit_test(test_three),
                                       cmocka_unit_test(test_without_caches),
                                       cmocka_unit_test(test_full),
                                       cmocka_unit_test(test_through_home),
                                       cmocka_unit_test(test_in_bulk),
                                       cmocka_unit_test(test_passed_on),
                                       cmocka_unit_test(test_seen_empty_at_different_moments),
                                       cmocka_unit_test(test_seen_empty_in_the_summary),
                                       cmocka_unit_test(test_two_come_home_at_once),
                                       cmocka_unit_test(test_two_bring_to_one_word),
                                       cmocka_unit_test(test_brought_to_a_word_that_is_taken),
                                       cmocka_unit_test(test_no_slot_too_few),
                                       cmocka_unit_test(test_growth),
                                       cmocka_unit_test(test_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
