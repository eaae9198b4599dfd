/* with: src wraps: kolk_now_ns_ kolk_unlock_word_ kolk_wait_ kolk_wake_ */
/* Fairness of kolk_queue, step by step. The test controls the clock, and decides when a woken thread continues. So it
 * decides how often, and for how long, a waiter is overtaken. */
#include "queue_test.h"

#include <semaphore.h>

/* ---- Clock and sleep --------------------------------------------------------------------------------------------- */

/* Nanoseconds. Each reading advances the clock by a microsecond, however slow the machine is. Sleeps use the system's
 * clock. */
static int64_t now = 1;
static _Thread_local bool sleeping;

int64_t __real_kolk_now_ns_(void);
int64_t __wrap_kolk_now_ns_(void);
bool __real_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);
bool __wrap_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);

int64_t __wrap_kolk_now_ns_(void) {
    return sleeping ? __real_kolk_now_ns_() : __atomic_add_fetch(&now, 1000, __ATOMIC_SEQ_CST);
}

static void pass_milliseconds(int64_t n) {
    __atomic_fetch_add(&now, n * 1000000, __ATOMIC_SEQ_CST);
}

/* A caller whose sleeps the test controls. It reports when it falls asleep and when it was woken, and then waits for
 * go_on. */
typedef struct slow {
    caller it;
    sem_t asleep, woken, go_on;
} slow;

static _Thread_local slow *me;

static bool sleep_really(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    sleeping = true;
    bool result = __real_kolk_wait_(word, expected, deadline);
    sleeping = false;
    return result;
}

bool __wrap_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    if (!me || expected != 0) return sleep_really(word, expected, deadline); /* only locks wait for 0 */
    sem_post(&me->asleep);
    bool result = sleep_really(word, expected, deadline);
    sem_post(&me->woken);
    while (sem_wait(&me->go_on) != 0) {}
    return result;
}

static unsigned wakes;               /* system calls that woke, or should have woken, a waiter at an end */
static _Thread_local bool unlocking; /* wakes for the lock are not counted */

void __real_kolk_unlock_word_(uint32_t *word);
void __wrap_kolk_unlock_word_(uint32_t *word);

void __wrap_kolk_unlock_word_(uint32_t *word) {
    unlocking = true;
    __real_kolk_unlock_word_(word);
    unlocking = false;
}

void __real_kolk_wake_(uint32_t *word, uint32_t n);
void __wrap_kolk_wake_(uint32_t *word, uint32_t n);

void __wrap_kolk_wake_(uint32_t *word, uint32_t n) {
    if (!unlocking) __atomic_fetch_add(&wakes, 1, __ATOMIC_SEQ_CST);
    __real_kolk_wake_(word, n);
}

static unsigned wakes_so_far(void) {
    return __atomic_exchange_n(&wakes, 0, __ATOMIC_SEQ_CST);
}

static void *call_slowly(void *argument) {
    me = (slow *)argument;
    return call(&me->it);
}

static void await(sem_t *event) {
    while (sem_wait(event) != 0) {}
}

/* When this returns, the caller is asleep or about to be. */
static void start_slow(slow *s, kolk_queue *queue, int end) {
    s->it = (caller){.queue = queue, .end = (kolk_queue_event)end, .deadline = KOLK_FOREVER, .items = {1000}};
    sem_init(&s->asleep, 0, 0);
    sem_init(&s->woken, 0, 0);
    sem_init(&s->go_on, 0, 0);
    assert_int_equal(pthread_create(&s->it.thread, NULL, call_slowly, s), 0);
    await(&s->asleep);
}

/* ---- A queue of 3 with nothing to take at one end, or something -------------------------------------------------- */

static void begin(kolk_queue *queue, int end) {
    make_ints(queue, 3);
    if (end == KOLK_QUEUE_WRITABLE)
        for (int i = 0; i < 3; i++) assert_int_equal(push_int(queue, i), KOLK_OK);
}

/* Provides one more item, or one more free cell, at this end. */
static void give_one(kolk_queue *queue, int end) {
    int item = 0;
    assert_int_equal(end == KOLK_QUEUE_WRITABLE ? kolk_queue_pop(queue, &item, KOLK_NOW) : push_int(queue, 7), KOLK_OK);
}

static kolk_status take_one(kolk_queue *queue, int end, kolk_deadline deadline) {
    int item = 7;
    return end == KOLK_QUEUE_WRITABLE ? kolk_queue_push(queue, &item, deadline)
                                      : kolk_queue_pop(queue, &item, deadline);
}

/* Provides one item or cell and waits until `s` is called for it. Then another caller takes it first. */
static void overtake_by(slow *s, kolk_deadline deadline) {
    give_one(s->it.queue, (int)s->it.end);
    await(&s->woken);
    assert_int_equal(take_one(s->it.queue, (int)s->it.end, deadline), KOLK_OK);
    sem_post(&s->go_on);
    await(&s->asleep);
}

static void overtake(slow *s) {
    overtake_by(s, KOLK_NOW);
}

/* Overtakes it for more than a millisecond: from now on, callers that may wait line up behind it. */
static void make_it_hold(slow *s) {
    overtake(s);
    pass_milliseconds(2);
    overtake(s);
}

static bool lines_up_behind(slow *s, slow *behind) {
    give_one(s->it.queue, (int)s->it.end);
    await(&s->woken);
    start(&behind->it);
    while (kolk_queue_count(s->it.queue) == (s->it.end == KOLK_QUEUE_WRITABLE ? 2 : 1)) {
        if (last_in_line(s->it.queue, (int)s->it.end) != s->it.queue->ends[s->it.end].called) return true;
        sched_yield();
    }
    return false;
}

static void test_a_millisecond_of_being_overtaken(void **state) {
    for (int end = 0; end < 2; end++) {
        kolk_queue queue;
        slow first, second = {.it = {.queue = &queue, .end = (kolk_queue_event)end, .deadline = KOLK_FOREVER}};
        begin(&queue, end);
        start_slow(&first, &queue, end);
        for (int i = 0; i < 20; i++) overtake(&first); /* within less than a millisecond */
        assert_false(lines_up_behind(&first, &second));
        assert_int_equal(joined(&second.it), KOLK_OK);
        sem_post(&first.go_on);
        await(&first.asleep);
        pass_milliseconds(2);
        overtake(&first);
        assert_true(lines_up_behind(&first, &second));
        assert_int_equal(kolk_queue_count(&queue), end == KOLK_QUEUE_WRITABLE ? 2 : 1); /* reserved for the first */
        kolk_lock_word_(&queue.ends[end].lock);
        assert_ptr_equal(queue.ends[end].called,
                         queue.ends[end].waiters.first); /* it was called already, so no other waiter is called */
        kolk_unlock_word_(&queue.ends[end].lock);
        sem_post(&first.go_on);
        assert_int_equal(joined(&first.it), KOLK_OK);
        give_one(&queue, end);
        assert_int_equal(joined(&second.it), KOLK_OK);
        slow third = second; /* the queue is as at the start */
        give_one(&queue, end);
        start(&third.it);
        assert_int_equal(joined(&third.it), KOLK_OK);
        end_queue(&queue);
    }
}

/* A call that does not wait takes an item or a cell even ahead of a waiter. So FULL and EMPTY are always true, and so
 * is a time-out. promise: "waiters are served ... deadline has passed" */
static void test_who_does_not_wait_passes(void **state) {
    for (int end = 0; end < 2; end++) {
        kolk_queue queue;
        slow first;
        begin(&queue, end);
        start_slow(&first, &queue, end);
        make_it_hold(&first);
        for (int i = 0; i < 3; i++) overtake(&first);
        overtake_by(&first, PAST);
        give_one(&queue, end);
        await(&first.woken);
        sem_post(&first.go_on);
        assert_int_equal(joined(&first.it), KOLK_OK);
        end_queue(&queue);
    }
}

/* A waiter that gives up behind the preferred one wakes no other waiter, and the preferred one stays preferred. */
static void test_who_gives_up_behind(void **state) {
    for (int end = 0; end < 2; end++) {
        kolk_queue queue;
        slow first, second = {.it = {.queue = &queue, .end = (kolk_queue_event)end, .deadline = KOLK_FOREVER}};
        kolk_deadline passed = {1000000000}; /* has passed on kolk_wait_'s clock, not on the test's */
        begin(&queue, end);
        start_slow(&first, &queue, end);
        make_it_hold(&first);
        wakes_so_far();
        assert_int_equal(take_one(&queue, end, passed), KOLK_TIMEOUT);
        assert_int_equal(wakes_so_far(), 0);
        assert_true(lines_up_behind(&first, &second));
        sem_post(&first.go_on);
        assert_int_equal(joined(&first.it), KOLK_OK);
        give_one(&queue, end);
        assert_int_equal(joined(&second.it), KOLK_OK);
        end_queue(&queue);
    }
}

/* ---- The end of a queue in which somebody is preferred ----------------------------------------------------------- */

/* The queue is closed while two items are left and two callers wait: each gets one, in their order. */
static void test_closed_with_items_for_all(void **state) {
    kolk_queue queue;
    slow first, second;
    size_t n = 2;
    begin(&queue, KOLK_QUEUE_READABLE);
    start_slow(&first, &queue, KOLK_QUEUE_READABLE);
    make_it_hold(&first);
    start_slow(&second, &queue, KOLK_QUEUE_READABLE);
    assert_int_equal(kolk_queue_push_n(&queue, (int[]){1, 2}, &n, KOLK_NOW), KOLK_OK);
    await(&first.woken);
    kolk_queue_close(&queue);
    await(&second.woken);
    for (int i = 0; i < 4; i++) sem_post(&second.go_on); /* it looks, and lines up again, up to four times */
    sem_post(&first.go_on);
    assert_int_equal(joined(&first.it), KOLK_OK);
    assert_int_equal(joined(&second.it), KOLK_OK);
    assert_int_equal(first.it.items[0], 1);
    assert_int_equal(second.it.items[0], 2);
    end_queue(&queue);
}

/* A call on an ended queue does not wait for ever, even if the preferred waiter has not woken up yet. */
static void test_who_comes_after_the_end(void **state) {
    for (int shut = 0; shut < 2; shut++) {
        for (int end = 0; end < 2; end++) {
            kolk_queue queue;
            slow first;
            caller late = {.queue = &queue, .end = (kolk_queue_event)end, .deadline = KOLK_FOREVER};
            begin(&queue, end);
            start_slow(&first, &queue, end);
            make_it_hold(&first);
            shut ? kolk_queue_shutdown(&queue) : kolk_queue_close(&queue);
            await(&first.woken);
            start(&late);
            for (int i = 0; i < 50; i++) nap(); /* enough time for `late` to line up, if it does so at all */
            sem_post(&first.go_on);
            assert_int_equal(joined(&first.it), shut ? KOLK_SHUTDOWN : KOLK_CLOSED);
            assert_int_equal(joined(&late), shut ? KOLK_SHUTDOWN : KOLK_CLOSED);
            end_queue(&queue);
        }
    }
}

/* Close calls two waiters, but others take the items: only the first in line counts as overtaken. The second becomes
 * preferred only later, when it is first in line. promise: "If items were left ... after the reopen" */
static void test_closed_with_items_for_nobody(void **state) {
    kolk_queue queue;
    slow first, second, third = {.it = {.queue = &queue, .end = KOLK_QUEUE_READABLE, .deadline = KOLK_FOREVER}};
    begin(&queue, KOLK_QUEUE_READABLE);
    start_slow(&first, &queue, KOLK_QUEUE_READABLE);
    start_slow(&second, &queue, KOLK_QUEUE_READABLE);
    for (int i = 0; i < 2; i++, pass_milliseconds(2)) {
        assert_int_equal(push_int(&queue, 1), KOLK_OK);
        await(&first.woken);
        kolk_queue_close(&queue);
        await(&second.woken);
        assert_int_equal(pop_int(&queue), 1);
        kolk_queue_reopen(&queue);
        sem_post(&second.go_on);
        await(&second.asleep);
        sem_post(&first.go_on);
        await(&first.asleep);
    }
    assert_int_equal(push_int(&queue, 2), KOLK_OK);
    await(&first.woken);
    sem_post(&first.go_on);
    assert_int_equal(joined(&first.it), KOLK_OK);
    make_it_hold(&second);
    assert_true(lines_up_behind(&second, &third));
    sem_post(&second.go_on);
    assert_int_equal(joined(&second.it), KOLK_OK);
    assert_int_equal(push_int(&queue, 3), KOLK_OK);
    assert_int_equal(joined(&third.it), KOLK_OK);
    end_queue(&queue);
}

/* The descriptor of a closed queue is readable, even if a late call found nothing before other waiters woke up. */
static void test_the_descriptor_of_an_ended_queue(void **state) {
    kolk_queue queue;
    slow sleeper, late;
    begin(&queue, KOLK_QUEUE_READABLE);
    start_slow(&sleeper, &queue, KOLK_QUEUE_READABLE);
    start_slow(&late, &queue, KOLK_QUEUE_READABLE);
    kolk_queue_close(&queue);
    await(&sleeper.woken);
    await(&late.woken);
    int fd = kolk_queue_fd(&queue, KOLK_QUEUE_READABLE); /* made while both are in line */
    for (int i = 0; i < 4; i++) sem_post(&sleeper.go_on), sem_post(&late.go_on);
    assert_int_equal(joined(&sleeper.it), KOLK_CLOSED);
    assert_int_equal(joined(&late.it), KOLK_CLOSED);
    if (fd >= 0) assert_int_equal(queue.ends[KOLK_QUEUE_READABLE].fd_called, 1);
    end_queue(&queue);
}

/* ---- System calls ------------------------------------------------------------------------------------------------ */

/* promise: "push and pop copy the item ... all of their items" */
static void test_nobody_is_woken_where_nobody_waits(void **state) {
    kolk_queue queue;
    slow sleeper;
    begin(&queue, KOLK_QUEUE_READABLE);
    wakes_so_far();
    for (int i = 0; i < 10; i++) assert_true(push_int(&queue, 1) == KOLK_OK && pop_int(&queue) == 1);
    assert_int_equal(wakes_so_far(), 0);
    start_slow(&sleeper, &queue, KOLK_QUEUE_READABLE);
    assert_int_equal(push_int(&queue, 1), KOLK_OK);
    await(&sleeper.woken);
    sem_post(&sleeper.go_on);
    assert_int_equal(joined(&sleeper.it), KOLK_OK);
    assert_int_equal(wakes_so_far(), 1);
    for (int i = 0; i < 10; i++) assert_true(push_int(&queue, 1) == KOLK_OK && pop_int(&queue) == 1);
    assert_int_equal(wakes_so_far(), 0); /* no waiter, so no wake */
    end_queue(&queue);
}

/* One of three sleepers is called, and no other one until the first has woken up. */
static void test_one_is_called_at_a_time(void **state) {
    for (int end = 0; end < 2; end++) {
        kolk_queue queue;
        slow sleepers[3];
        begin(&queue, end);
        for (size_t i = 0; i < LENGTH_OF(sleepers); i++) start_slow(&sleepers[i], &queue, end);
        wakes_so_far();
        give_one(&queue, end);
        await(&sleepers[0].woken);
        assert_int_equal(wakes_so_far(), 1);
        for (int i = 0; i < 2; i++) give_one(&queue, end);
        kolk_queue_fd(&queue, (kolk_queue_event)end);
        assert_int_equal(wakes_so_far(), 0);
        for (size_t i = 0; i < LENGTH_OF(sleepers); i++) {
            if (i > 0) await(&sleepers[i].woken); /* woken by the one before it, because more is left */
            sem_post(&sleepers[i].go_on);
            assert_int_equal(joined(&sleepers[i].it), KOLK_OK);
        }
        assert_int_equal(wakes_so_far(), 2);
        end_queue(&queue);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_a_millisecond_of_being_overtaken),
        TEST(test_who_does_not_wait_passes),
        TEST(test_who_gives_up_behind),
        TEST(test_closed_with_items_for_all),
        TEST(test_who_comes_after_the_end),
        TEST(test_closed_with_items_for_nobody),
        TEST(test_the_descriptor_of_an_ended_queue),
        TEST(test_nobody_is_woken_where_nobody_waits),
        TEST(test_one_is_called_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
