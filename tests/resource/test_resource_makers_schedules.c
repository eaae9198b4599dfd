/* runs: long once with: KOLK_SCHEDULED=1 wraps: resource/resource_schedule.h */
/* The resource pool with makers, in every order of the steps of two or three threads with a few preemptions and a
 * surprise, then in random orders: one or two makers, and borrowers that depend on them. A maker works when the pool
 * has called it, never because time has passed. If a call is lost, a borrower sleeps for ever, which the scheduler
 * reports. */
#include "resource_schedule.h"

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

static void be_maker(void *context) {
    state *s = (state *)context;
    kolk_chore_ *chore = &s->pool.inside->chore;
    while (s->served + s->refused < how->borrows) {
        if (kolk_load_(&chore->due, KOLK_RELAXED_) <= sched.now)
            kolk_resource_work_(chore);
        else
            kolk_pause_();
    }
}

static void borrow_and_discard(void *context) {
    state *s = (state *)context;
    kolk_borrowed one;
    if (borrow_one(s, NULL, KOLK_FOREVER, &one) == KOLK_OK) discard_thing(&s->pool, &one);
}

static void evict(void *context) {
    state *s = (state *)context;
    uint32_t clear = begin_clear(&s->f, s->f.made);
    kolk_resource_evict(&s->pool);
    end_clear(&s->f, clear);
}

static void close_it(void *context) {
    state *s = (state *)context;
    s->closed = true;
    kolk_resource_close(&s->pool, KOLK_NOW);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

#define ASKS .validate = validate_thing, .validate_after_ms = -1
#define ONE  .max = 1, .max_creating = 1
#define TWO  .max = 2, .max_creating = 2

static void test_create(void **unused) {
    run("made for one", &(setting){.desc = {ONE}, .borrows = 1}, borrow, be_maker, NULL);
    run("made for one of two", &(setting){.desc = {ONE}, .borrows = 2}, borrow, borrow, be_maker);
    run("made for one by two", &(setting){.desc = {TWO}, .borrows = 1}, borrow, be_maker, be_maker);
    run("made for two", &(setting){.desc = {TWO}, .borrows = 2}, borrow, borrow, be_maker);
    run("made for keys", &(setting){.desc = {ONE}, .borrows = 2}, borrow, borrow_key, be_maker);
}

static void test_deadlines(void **unused) {
    may = MAY_TIME_OUT | MAY_BE_FULL;
    run("made a while", &(setting){.desc = {ONE}, .borrows = 1}, borrow_a_while, be_maker, NULL);
    run("made a while, and for ever", &(setting){.desc = {ONE}, .borrows = 2}, borrow_a_while, borrow, be_maker);
    run("made now", &(setting){.desc = {ONE}, .borrows = 2}, borrow_now, borrow, be_maker);
}

static void test_come_back(void **unused) {
    run("discarded", &(setting){.desc = {ONE}, .borrows = 2}, borrow_and_discard, borrow, be_maker);
    run("given back", &(setting){.desc = {ONE}, .lent = 1, .borrows = 1}, borrow, give_first, be_maker);
    run("discarded by another", &(setting){.desc = {ONE}, .lent = 1, .borrows = 1}, borrow, discard_first, be_maker);
    run("detached by another", &(setting){.desc = {ONE}, .lent = 1, .borrows = 1}, borrow, detach_first, be_maker);
    run("for another key", &(setting){.desc = {ONE}, .lent = 1, .borrows = 1}, borrow_key, give_first, be_maker);
}

static void test_asked(void **unused) {
    run("asked", &(setting){.desc = {ONE, ASKS}, .idle = 1, .borrows = 1}, borrow, be_maker, NULL);
    run("asked for two", &(setting){.desc = {ONE, ASKS}, .idle = 1, .borrows = 2}, borrow, borrow, be_maker);
    run("two asked", &(setting){.desc = {TWO, ASKS}, .idle = 2, .borrows = 2}, borrow, borrow, be_maker);
    run("dead", &(setting){.desc = {ONE, ASKS}, .idle = 1, .borrows = 1, .validate_fails = 1}, borrow, be_maker, NULL);
    run("dead, two makers", &(setting){.desc = {TWO, ASKS}, .idle = 2, .borrows = 1, .validate_fails = 2}, borrow,
        be_maker, be_maker);
    run("given back beside", &(setting){.desc = {TWO, ASKS}, .idle = 1, .lent = 1, .borrows = 1}, borrow, give_first,
        be_maker);
}

static void test_steer(void **unused) {
    run("evict", &(setting){.desc = {ONE}, .borrows = 1}, borrow, evict, be_maker);
    run("evict, at hand", &(setting){.desc = {TWO, ASKS}, .idle = 1, .borrows = 1}, borrow, evict, be_maker);
    run("pause", &(setting){.desc = {ONE, ASKS}, .idle = 1, .borrows = 1}, borrow, pause_and_resume, be_maker);
    may = MAY_BE_CLOSED;
    allows_leaks = true;
    run("close", &(setting){.desc = {ONE}, .borrows = 1}, borrow, close_it, be_maker);
    run("close, at hand", &(setting){.desc = {ONE, ASKS}, .idle = 1, .borrows = 1}, borrow, close_it, be_maker);
}

static void test_kept(void **unused) {
    run("kept", &(setting){.desc = {TWO, .min_idle = 1}, .borrows = 2}, borrow, borrow_and_discard, be_maker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_create, set_up),    cmocka_unit_test_setup(test_deadlines, set_up),
        cmocka_unit_test_setup(test_come_back, set_up), cmocka_unit_test_setup(test_asked, set_up),
        cmocka_unit_test_setup(test_steer, set_up),     cmocka_unit_test_setup(test_kept, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
