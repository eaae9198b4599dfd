/* runs: long once with: KOLK_CHAOS=1 */
/* The process forks while another thread is stopped before each of its atomic operations on a resource pool, and in the
 * middle of each of the factory's functions. The child does nothing with its parent's resources and can use pools of
 * its own. The parent is not affected. */
#include "../help/child.h"

#include "../help/test.h"

#include <pthread.h>
#include <semaphore.h>

static void stop_here(void);

#define IN_FUNCTION(factory, what) stop_here()
#include "resource_test.h"

/* ---- A thread that is stopped before its n-th step --------------------------------------------------------------- */

typedef struct doing {
    const char *name;
    void (*act)(void);
    bool closes;
} doing;

static const doing *current;
static unsigned step, steps_left;
static bool has_stopped;
static sem_t stopped, go_on;
static _Thread_local bool can_be_stopped;

static void stop_here(void) {
    if (!can_be_stopped || steps_left == 0 || --steps_left) return;
    has_stopped = true;
    sem_post(&stopped);
    while (sem_wait(&go_on) != 0) {}
}

void kolk_chaos_(void);

void kolk_chaos_(void) {
    stop_here();
}

/* ---- The pools --------------------------------------------------------------------------------------------------- */

static kolk_resource_pool pool, kept; /* kept has a maker */
static factory f, of_kept;
static kolk_borrowed lent; /* borrowed by the forking thread, before the fork */

static void begin(void) {
    memset(&f, 0, sizeof f);
    kolk_resource_pool_desc desc = {.name = "parent's",
                                    .max = 3,
                                    .min_idle = 2,
                                    .validate = validate_thing,
                                    .validate_after_ms = -1,
                                    .reset = reset_thing,
                                    .no_housekeeper = true};
    make_resources(&pool, &f, desc);
    kolk_borrowed two[2];
    for (int i = 0; i < 2; i++) INSIST(take_thing(&pool, NULL, KOLK_NOW, &two[i]) == KOLK_OK);
    give_thing(&pool, &two[0]);
    lent = two[1];
}

static void end(void) {
    if (!current->closes) {
        INSIST(kolk_resource_is_valid(&pool));
        give_thing(&pool, &lent);
        kolk_borrowed all[3], none;
        kolk_resource_resize(&pool, 3);
        for (int i = 0; i < 3; i++) INSIST(take_thing(&pool, NULL, KOLK_NOW, &all[i]) == KOLK_OK);
        INSIST(take_thing(&pool, NULL, KOLK_NOW, &none) == KOLK_FULL);
        for (int i = 0; i < 3; i++) give_thing(&pool, &all[i]);
    } else {
        give_thing(&pool, &lent);
    }
    kolk_set_failure_handler(NULL, NULL);
    kolk_resource_deinit(&pool);
    INSIST(f.there == 0);
}

/* ---- What the thread does ---------------------------------------------------------------------------------------- */

static void borrow_and_give(void) {
    kolk_borrowed borrow;
    INSIST(take_thing(&pool, NULL, KOLK_FOREVER, &borrow) == KOLK_OK);
    give_thing(&pool, &borrow);
}

static void borrow_three(void) {
    kolk_borrowed borrows[3];
    for (int i = 0; i < 3; i++) {
        kolk_status status = take_thing(&pool, i == 1 ? "k" : NULL, kolk_deadline_after(2), &borrows[i]);
        INSIST(status == (i < 2 ? KOLK_OK : KOLK_TIMEOUT));
    }
    for (int i = 0; i < 2; i++) discard_thing(&pool, &borrows[i]);
}

static void evict(void) {
    kolk_resource_evict(&pool);
}

static bool wants_all(const char *key, const void *resource, bool in_use, void *context) {
    stop_here();
    return true;
}

static void evict_all_by_one(void) {
    INSIST(kolk_resource_evict_if(&pool, wants_all, NULL) == 2);
}

static void tick(void) {
    kolk_resource_tick(&pool, KOLK_FOREVER);
}

static void resize(void) {
    kolk_resource_pause(&pool);
    INSIST(kolk_resource_resize(&pool, 2) == KOLK_OK);
    kolk_resource_resume(&pool);
}

static void take_note_only(const kolk_failure *failure, void *context) {
    INSIST(failure->rule == KOLK_LEAK);
}

static void close_it(void) {
    kolk_set_failure_handler(take_note_only, NULL);
    INSIST(kolk_resource_close(&pool, KOLK_NOW) == KOLK_TIMEOUT);
}

static void *act(void *unused) {
    can_be_stopped = true;
    current->act();
    can_be_stopped = false;
    steps_left = 0;
    sem_post(&stopped);
    return unused;
}

/* ---- The child --------------------------------------------------------------------------------------------------- */

/* Uses a pool of the child's own, with its own makers. */
static void make_own(void) {
    static factory mine;
    kolk_resource_pool own;
    kolk_borrowed borrow;
    make_resources(&own, &mine, (kolk_resource_pool_desc){.name = "child's", .min_idle = 1});
    while (stats_of(&own).idle == 0) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    INSIST(take_thing(&own, NULL, KOLK_FOREVER, &borrow) == KOLK_OK);
    give_thing(&own, &borrow);
    kolk_resource_deinit(&own);
    INSIST(mine.there == 0);
}

static void live_on(void *unused) {
    static const kolk_deadline deadlines[] = {{0}, {INT64_MAX}};
    alarm(300); /* the parent's locks may be held for ever in the child */
    uint32_t calls[DEEDS];
    memcpy(calls, f.calls, sizeof calls);
    kolk_borrowed borrow, mine = lent;
    for (unsigned i = 0; i < 2; i++)
        INSIST(kolk_resource_borrow(&pool, &(kolk_borrow_desc){.deadline = deadlines[i]}, &borrow) == KOLK_FORKED);
    INSIST(strcmp(borrow.error.text, kolk_status_text(KOLK_FORKED)) == 0);
    kolk_resource_give_back(&pool, &mine);
    mine = lent;
    kolk_resource_discard(&pool, &mine);
    INSIST(!mine.resource);
    kolk_resource_pool_stats stats = stats_of(&pool);
    INSIST(stats.max > 0);
    kolk_resource_tick(&pool, KOLK_FOREVER);
    kolk_resource_evict(&pool);
    INSIST(kolk_resource_evict_if(&pool, wants_all, NULL) == 0);
    kolk_resource_pause(&pool);
    kolk_resource_resume(&pool);
    INSIST(kolk_resource_resize(&pool, 2) == KOLK_FORKED);
    INSIST(kolk_resource_close(&pool, KOLK_FOREVER) == KOLK_FORKED);
    make_own();
    kolk_resource_deinit(&pool);
    INSIST(!pool.inside);
    kolk_resource_deinit(&kept);
    make_own();
    INSIST(memcmp(calls, f.calls, sizeof calls) == 0); /* no function was called for the parent's pool */
}

/* Forks while the thread is stopped before its n-th step. Returns false if it has fewer steps. */
static bool fork_at_step(void) {
    pthread_t thread;
    char text[4000];
    has_stopped = false;
    steps_left = step;
    begin();
    assert_int_equal(pthread_create(&thread, NULL, act, NULL), 0);
    while (sem_wait(&stopped) != 0) {}
    bool was_stopped = has_stopped;
    if (was_stopped) {
        int status = run_child(live_on, NULL, text, sizeof text);
        if (status != 0) fail_msg("%s, step %u: the child ends with %d: %s", current->name, step, status, text);
        sem_post(&go_on);
        while (sem_wait(&stopped) != 0) {}
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    end();
    return was_stopped;
}

static void test_forks(void **state) {
    static const doing all[] = {{"borrow and give", borrow_and_give, false},
                                {"borrow three", borrow_three, false},
                                {"evict", evict, false},
                                {"evict all by one", evict_all_by_one, false},
                                {"tick", tick, false},
                                {"resize", resize, false},
                                {"close", close_it, true}};
    make_resources(&kept, &of_kept, (kolk_resource_pool_desc){.name = "kept", .min_idle = 1});
    unsigned forks = 0;
    for (size_t i = 0; i < LENGTH_OF(all); i++) {
        current = &all[i];
        for (step = 1; fork_at_step(); step += does_a_part() && step > 6 ? 3 : 1) forks++;
        assert_true(step > 2);
    }
    print_message("%u forks\n", forks);
    kolk_resource_deinit(&kept);
    assert_int_equal(of_kept.there, 0);
}

int main(void) {
    END_IF_IT_HANGS();
    sem_init(&stopped, 0, 0);
    sem_init(&go_on, 0, 0);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_forks, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
