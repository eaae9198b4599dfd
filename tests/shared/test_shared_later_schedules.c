/* runs: long once with: KOLK_SCHEDULED=1 wraps: help/arena.h */
/* Lock-free readers and deferred free, in every order of the steps of two or three threads with up to 2 preemptions and
 * a surprise or two, then in random orders: see schedule.h. A writer replaces the object in a shared pointer by a
 * single release store, retires the old object, and writes to its next allocation. If a reader still reads that object,
 * there is a data race, or the reader finds an unpublished value.
 *
 * The pool never has another free slot, so the first successful alloc returns the old object. In each situation, some
 * schedules must reach this alloc. */
#include "../help/test.h"

#include "../help/arena.h"
#include "../help/schedule.h"
#include "inside.h"

enum { WRITER, READER, THIRD, THREADS };

#define PUBLISHED   UINT64_C(0x600d600d)
#define UNPUBLISHED UINT64_C(0xbadbad)

typedef struct state {
    kolk_shared pool;
    kolk_shared_local locals[THREADS];
    uint64_t *old, *next;
    uintptr_t current; /* the published object */
    uint32_t time, third_has, reader_has;
    uint32_t alive, most; /* upper bounds, which include retired objects: now, and since the writer's call began */
} state;

static state own;
static uint32_t threads, capacity = 3;
static void (*situation)(state *s);
static uint64_t taken; /* the number of objects reused, in all schedules */

/* ---- What threads do --------------------------------------------------------------------------------------------- */

static void quiesce(state *s, unsigned local) {
    kolk_shared_quiesce(&s->locals[local]);
}

/* Loads the published pointer, takes one more step so that others can run, then reads the object. */
static void look(state *s) {
    const uint64_t *at = (const uint64_t *)kolk_load_(&s->current, KOLK_ACQUIRE_);
    kolk_load_(&s->time, KOLK_RELAXED_);
    KOLK_PLAIN_READ_(at, 8);
    schedule_assert(*at == PUBLISHED);
}

/* Publishes the writer's next object and retires the old one. */
static void replace(state *s, unsigned local) {
    KOLK_PLAIN_READ_(s->old, 8);
    KOLK_PLAIN_WRITE_(s->next, 8);
    *s->next = PUBLISHED;
    kolk_store_(&s->current, (uintptr_t)s->next, KOLK_RELEASE_);
    kolk_shared_free_later(&s->locals[local], s->old);
}

static bool reuse(state *s, unsigned local) {
    uint64_t *object = (uint64_t *)kolk_shared_alloc(&s->locals[local]);
    if (!object) return false;
    taken++;
    KOLK_PLAIN_WRITE_(object, 8);
    *object = UNPUBLISHED;
    return true;
}

/* ---- Situations -------------------------------------------------------------------------------------------------- */

/* Makes a local for each thread and allocates all slots. Only these threads can delay the slots' return. */
static void give_out(state *s) {
    for (unsigned i = 0; i < threads; i++) schedule_assert(kolk_shared_local_init(&s->locals[i], &s->pool) == KOLK_OK);
    for (uint32_t i = 0; i < all_slots(&s->pool); i++) {
        uint64_t *object = (uint64_t *)kolk_shared_alloc(&s->locals[WRITER]);
        if (i == 0) s->old = object;
        if (i == 1) s->next = object;
        KOLK_PLAIN_WRITE_(object, 8);
        *object = UNPUBLISHED;
    }
    *s->old = PUBLISHED;
    kolk_store_(&s->time, 0, KOLK_RELAXED_);
    kolk_store_(&s->third_has, 0, KOLK_RELAXED_);
    kolk_store_(&s->reader_has, 0, KOLK_RELAXED_);
    kolk_store_(&s->current, (uintptr_t)s->old, KOLK_RELEASE_);
}

static void all_offline_but_writer(state *s) {
    give_out(s);
    for (unsigned i = READER; i < threads; i++) kolk_shared_offline(&s->locals[i]);
}

/* Retires another object, because the epoch would not advance without one. */
static void retire_another(state *s, unsigned local) {
    kolk_shared_cursor cursor = kolk_shared_each(&s->pool);
    for (void *at; (at = kolk_shared_cursor_next(&cursor));) {
        if (at == s->old || at == s->next) continue;
        kolk_shared_free_later(&s->locals[local], at);
        return;
    }
    schedule_assert(false);
}

/* The writer is an epoch behind. */
static void writer_behind(state *s) {
    give_out(s);
    retire_another(s, READER);
    quiesce(s, READER);
    quiesce(s, READER);
    schedule_assert(keeper_of(&s->locals[WRITER])->epoch + 1 == s->pool.inside->epoch);
    schedule_assert(keeper_of(&s->locals[READER])->epoch == s->pool.inside->epoch);
}

static void reader_behind(state *s) {
    give_out(s);
    retire_another(s, WRITER);
    quiesce(s, WRITER);
    quiesce(s, WRITER);
    schedule_assert(keeper_of(&s->locals[READER])->epoch + 1 == s->pool.inside->epoch);
    schedule_assert(keeper_of(&s->locals[WRITER])->epoch == s->pool.inside->epoch);
}

/* The writer is an epoch behind, and the others are offline. */
static void writer_behind_and_alone(state *s) {
    writer_behind(s);
    for (unsigned i = READER; i < threads; i++) kolk_shared_offline(&s->locals[i]);
}

/* Another object was retired two epochs ago, and returns when the next epoch begins. */
static void one_is_about_to_come_home(state *s) {
    give_out(s);
    retire_another(s, THIRD);
    uint64_t epoch = s->pool.inside->epoch;
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < threads; i++) quiesce(s, i);
    kolk_shared_offline(&s->locals[WRITER]);
    kolk_shared_online(&s->locals[WRITER]); /* enters an epoch without checking whether it has ended */
    for (unsigned i = 0; i < threads; i++) schedule_assert(keeper_of(&s->locals[i])->epoch == epoch + 2);
}

/* All threads are offline except the third, which can end epochs alone. An object was retired in this epoch. */
static void third_alone(state *s) {
    give_out(s);
    kolk_shared_offline(&s->locals[READER]);
    kolk_shared_offline(&s->locals[WRITER]);
    retire_another(s, THIRD);
}

/* `capacity` - 1 objects are alive. Slots 64 and 65, which the second summary word covers, are retired and return with
 * the next epoch. Slot 1 is in the depot. The magazines of the reader and the third thread are full, with slots 0 and
 * 2. */
static void two_are_about_to_come_home(state *s) {
    give_out(s);
    unsigned char *slots = s->pool.slots;
    for (unsigned i = 64; i < 66; i++) kolk_shared_free_later(&s->locals[THIRD], slots + i * 8);
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < threads; i++) quiesce(s, i);
    kolk_shared_offline(&s->locals[WRITER]);
    kolk_shared_online(&s->locals[WRITER]);
    kolk_shared_free(&s->locals[WRITER], slots);
    kolk_shared_local_flush(&s->locals[WRITER]);
    schedule_assert(kolk_shared_alloc(&s->locals[READER]) == slots); /* its next search starts at this word */
    kolk_shared_free(&s->locals[READER], slots);
    kolk_shared_free(&s->locals[WRITER], slots + 8);
    kolk_shared_local_flush(&s->locals[WRITER]);
    kolk_shared_free(&s->locals[THIRD], slots + 16);
    s->alive = capacity - 1;
}

/* One object is retired, and all locals are offline except the writer's, which must quiesce until the object
 * returns. */
static void old_one_is_retired(state *s) {
    all_offline_but_writer(s);
    kolk_shared_free_later(&s->locals[WRITER], s->old);
}

/* Two objects are retired, and all locals are offline. */
static void two_are_retired(state *s) {
    old_one_is_retired(s);
    kolk_shared_free_later(&s->locals[WRITER], s->next);
    kolk_shared_offline(&s->locals[WRITER]);
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

static void write_and_reuse(void *context) {
    state *s = (state *)context;
    replace(s, WRITER);
    for (int i = 0; i < 3; i++) quiesce(s, WRITER);
    reuse(s, WRITER);
}

static void write_and_reuse_as_soon_as_can_be(void *context) {
    state *s = (state *)context;
    replace(s, WRITER);
    for (int i = 0; i < 4; i++) {
        quiesce(s, WRITER);
        if (reuse(s, WRITER)) return;
    }
}

static void write_only(void *context) {
    replace((state *)context, WRITER);
}

static void write_and_quiesce(void *context) {
    replace((state *)context, WRITER);
    for (int i = 0; i < 3; i++) quiesce((state *)context, WRITER);
}

static void look_and_quiesce(void *context) {
    state *s = (state *)context;
    for (int i = 0; i < 3; i++) {
        look(s);
        quiesce(s, READER);
    }
    look(s);
}

static void look_once(void *context) {
    look((state *)context);
}

static void quiesce_and_look(void *context) {
    quiesce((state *)context, READER);
    look((state *)context);
}

static void come_and_go(void *context) {
    state *s = (state *)context;
    for (int i = 0; i < 2; i++) {
        kolk_shared_online(&s->locals[READER]);
        look(s);
        kolk_shared_offline(&s->locals[READER]);
    }
}

static void come_and_look(void *context) {
    state *s = (state *)context;
    kolk_shared_online(&s->locals[READER]);
    look(s);
}

static void third_quiesces(void *context) {
    for (int i = 0; i < 3; i++) quiesce((state *)context, THIRD);
}

static void third_quiesces_and_takes(void *context) {
    state *s = (state *)context;
    for (int i = 0; i < 4; i++) quiesce(s, THIRD);
    reuse(s, THIRD);
}

static void third_quiesces_once(void *context) {
    quiesce((state *)context, THIRD);
}

/* Lets the others run, then also allocates all slots that have returned. */
static void write_and_take(void *context) {
    state *s = (state *)context;
    replace(s, WRITER);
    kolk_pause_();
    while (reuse(s, WRITER)) {}
}

static void quiesce_write_and_take(void *context) {
    quiesce((state *)context, WRITER);
    write_and_take(context);
}

static void come_write_and_take(void *context) {
    kolk_shared_online(&((state *)context)->locals[WRITER]);
    write_and_take(context);
}

/* The third thread advances the epoch by two, then the reader comes online and reads, then the third thread ends the
 * epoch. */
static void third_lets_the_reader_come(void *context) {
    state *s = (state *)context;
    for (int i = 0; i < 2; i++) quiesce(s, THIRD);
    kolk_store_(&s->third_has, 1, KOLK_RELEASE_);
    while (!kolk_load_(&s->reader_has, KOLK_ACQUIRE_)) kolk_pause_();
    quiesce(s, THIRD);
}

static void come_when_told(void *context) {
    state *s = (state *)context;
    while (!kolk_load_(&s->third_has, KOLK_ACQUIRE_)) kolk_pause_();
    kolk_shared_online(&s->locals[READER]);
    const uint64_t *at = (const uint64_t *)kolk_load_(&s->current, KOLK_ACQUIRE_);
    kolk_store_(&s->reader_has, 1, KOLK_RELEASE_);
    KOLK_PLAIN_READ_(at, 8);
    schedule_assert(*at == PUBLISHED);
}

/* NULL is correct only if `capacity` objects were alive. */
static void take_what_there_is(void *context) {
    state *s = (state *)context;
    KOLK_UNSEEN_();
    s->most = s->alive;
    bool got = kolk_shared_alloc(&s->locals[WRITER]);
    KOLK_UNSEEN_();
    schedule_assert(got || s->most >= capacity);
    taken += got;
}

static void take_two(void *context) {
    state *s = (state *)context;
    for (int i = 0; i < 2; i++) {
        KOLK_UNSEEN_();
        if (++s->alive > s->most) s->most = s->alive;
        if (kolk_shared_alloc(&s->locals[READER])) continue;
        KOLK_UNSEEN_();
        s->alive--;
    }
}

static void end_the_epoch(void *context) {
    state *s = (state *)context;
    quiesce(s, THIRD);
    KOLK_UNSEEN_();
    s->alive -= 2;
}

static const uint64_t *wait_for_any(state *s, unsigned local) {
    uint64_t *object = (uint64_t *)kolk_shared_alloc_wait(&s->locals[local], KOLK_FOREVER);
    schedule_assert(object == s->old || object == s->next);
    KOLK_PLAIN_WRITE_(object, 8);
    *object = UNPUBLISHED;
    taken++;
    return object;
}

static void wait_for_the_old_one(void *context) {
    state *s = (state *)context;
    schedule_assert(wait_for_any(s, READER) == s->old);
}

static void go_offline(void *context) {
    kolk_shared_offline(&((state *)context)->locals[WRITER]);
}

/* The others can run while the third thread is online. */
static void third_comes_for_a_moment(void *context) {
    state *s = (state *)context;
    kolk_shared_online(&s->locals[THIRD]);
    kolk_pause_();
    kolk_shared_offline(&s->locals[THIRD]);
}

static void third_frees_later(void *context) {
    state *s = (state *)context;
    kolk_shared_free_later(&s->locals[THIRD], s->old);
}

static void writer_waits(void *context) {
    wait_for_any((state *)context, WRITER);
}

static void reader_waits(void *context) {
    wait_for_any((state *)context, READER);
}

/* The same steps, with a pause after each so that the others can run. */
static void write_and_reuse_in_turns(void *context) {
    state *s = (state *)context;
    replace(s, WRITER);
    for (int i = 0; i < 4; i++) {
        kolk_pause_();
        quiesce(s, WRITER);
        if (reuse(s, WRITER)) return;
    }
}

static void look_and_quiesce_in_turns(void *context) {
    state *s = (state *)context;
    look(s);
    for (int i = 0; i < 4; i++) {
        quiesce(s, READER);
        kolk_pause_();
    }
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void begin(void *context) {
    state *s = (state *)context;
    *s = (state){.old = NULL};
    kolk_shared_desc desc = {.name = "later",
                             .object_size = 8,
                             .capacity = capacity,
                             .max_threads = threads,
                             .cache = 1,
                             .generations = KOLK_GENERATIONS_NONE};
    schedule_assert(kolk_shared_init(&s->pool, &desc) == KOLK_OK);
    situation(s);
}

/* At the end all freed slots return, after at most three rounds of quiesces. */
static void end(void *context) {
    state *s = (state *)context;
    uint32_t all = all_slots(&s->pool);
    for (unsigned i = 0; i < threads; i++) kolk_shared_online(&s->locals[i]);
    for (int round = 0; round < 3; round++) {
        schedule_assert(kolk_shared_is_valid(&s->pool));
        for (unsigned i = 0; i < threads; i++) quiesce(s, i);
    }
    schedule_assert(kolk_shared_is_valid(&s->pool));
    for (unsigned i = 0; i < threads; i++) kolk_shared_local_flush(&s->locals[i]);
    while (kolk_shared_alloc(&s->locals[WRITER])) {}
    schedule_assert(kolk_shared_count(&s->pool) == all);
    kolk_shared_deinit(&s->pool);
}

static void run(const char *name, void (*made)(state *), void (*writer)(void *), void (*reader)(void *),
                void (*third)(void *)) {
    situation = made;
    threads = third ? 3 : 2;
    taken = 0;
    schedule what = {.name = name,
                     .context = &own,
                     .begin = begin,
                     .threads = {{"writer", writer}, {"reader", reader}, {"third", third}},
                     .end = end,
                     .preemptions = does_a_part() ? 1 : 2,
                     .max_steps = 6000};
    schedule_must_pass(&what);
    what.preemptions = 1;
    what.surprises = does_a_part() ? 1 : third ? 1 : 2;
    what.random = does_a_part() ? 300 : 3000;
    schedule_must_pass(&what);
    assert_true(taken || !schedules_are_all());
}

static void test_readers_that_quiesce(void **unused) {
    run("quiesce", give_out, write_and_reuse, look_and_quiesce, NULL);
    run("quiesce, as soon as can be", give_out, write_and_reuse_as_soon_as_can_be, look_and_quiesce, NULL);
    run("quiesce, in turns", give_out, write_and_reuse_in_turns, look_and_quiesce_in_turns, NULL);
    run("quiesce, beside a third", give_out, write_and_quiesce, look_and_quiesce, third_quiesces_and_takes);
}

static void test_readers_that_come_and_go(void **unused) {
    run("come and go", all_offline_but_writer, write_and_reuse_as_soon_as_can_be, come_and_go, NULL);
    run("come and look", all_offline_but_writer, write_and_reuse, come_and_look, third_quiesces);
}

static void test_threads_in_different_epochs(void **unused) {
    run("writer behind", writer_behind, write_and_reuse_as_soon_as_can_be, quiesce_and_look, NULL);
    run("writer behind and alone", writer_behind_and_alone, write_and_reuse_as_soon_as_can_be, come_and_look, NULL);
    run("reader behind", reader_behind, write_and_reuse_as_soon_as_can_be, look_and_quiesce, NULL);
    run("writer behind, beside a third", writer_behind_and_alone, write_and_reuse, come_and_look, third_quiesces_once);
}

/* A slot is retired while the slots of three epochs ago return. The retiring thread is already in the new epoch, or
 * comes online, or is offline. promise: "Frees an object as kolk_shared_free ... slot counts as alive" */
static void test_the_end_of_an_epoch(void **unused) {
    run("retired in the next epoch", one_is_about_to_come_home, quiesce_write_and_take, look_once, third_quiesces_once);
    run("retired by one that comes", third_alone, come_write_and_take, come_when_told, third_lets_the_reader_come);
    run("retired by one that is offline", third_alone, write_and_take, come_when_told, third_lets_the_reader_come);
}

static void test_writers_that_are_offline(void **unused) {
    run("offline", third_alone, write_only, come_and_look, third_quiesces_and_takes);
    run("offline, and takes itself", third_alone, write_and_take, come_and_go, third_quiesces);
}

/* A waiter gets a slot that returns at the end of an epoch. */
static void test_waiters(void **unused) {
    run("in line", all_offline_but_writer, write_and_quiesce, wait_for_the_old_one, NULL);
}

/* The last thread to go offline ends the epochs for which a waiter waits, even if two threads go offline at the same
 * time and each still sees the other online. promise: "offline states that ... new local is online" */
static void test_waiters_beside_the_last_one_online(void **unused) {
    run("in line, the last goes offline", old_one_is_retired, go_offline, wait_for_the_old_one, NULL);
    run("in line, another comes for a moment", old_one_is_retired, go_offline, wait_for_the_old_one,
        third_comes_for_a_moment);
    run("in line, another frees later", all_offline_but_writer, go_offline, wait_for_the_old_one, third_frees_later);
    run("two in line, all offline", two_are_retired, writer_waits, reader_waits, NULL);
}

/* A search finds slots that return at the end of an epoch: see test_seen_empty_in_the_summary in
 * test_shared_schedules.c. promise: "States that the calling thread holds no" */
static void test_not_overlooked(void **unused) {
    capacity = 65;
    run("not overlooked", two_are_about_to_come_home, take_what_there_is, take_two, end_the_epoch);
    capacity = 3;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers_that_quiesce),
                                       cmocka_unit_test(test_readers_that_come_and_go),
                                       cmocka_unit_test(test_threads_in_different_epochs),
                                       cmocka_unit_test(test_the_end_of_an_epoch),
                                       cmocka_unit_test(test_writers_that_are_offline),
                                       cmocka_unit_test(test_waiters),
                                       cmocka_unit_test(test_waiters_beside_the_last_one_online),
                                       cmocka_unit_test(test_not_overlooked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
