// link: -pthread
/* The clock, and sleeping on a word of memory. No test waits for a time to be short: only for it to be long enough. */
#include "kolk_test.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "atomics.h"
#include "wait.h"

#define SLEEPERS 5u

typedef struct bedroom {
    uint32_t word, awake, timed_out;
} bedroom;

static void test_clock(void **state) {
    (void)state;
    int64_t before = kolk_now_ns();
    assert_true(before > 0);
    for (unsigned i = 0; i < 1000; i++) {
        int64_t now = kolk_now_ns();
        assert_true(now >= before);
        before = now;
    }
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_true(kolk_now_ns() >= before + 2000000);
    assert_true(kolk_deadline_after(1).ns >= before + 3000000);
}

/* Another value than the expected one is no reason to sleep, and no time-out, whatever the deadline. */
static void test_other_values(void **state) {
    (void)state;
    uint32_t word = 7;
    assert_true(kolk_wait(&word, 8, KOLK_FOREVER));
    assert_true(kolk_wait(&word, 8, KOLK_NOW));
    assert_true(kolk_wait(&word, 8, (kolk_deadline){-1}));
    assert_int_equal(word, 7);
}

static void test_deadlines(void **state) {
    (void)state;
    uint32_t word = 7;
    assert_false(kolk_wait(&word, 7, KOLK_NOW));
    assert_false(kolk_wait(&word, 7, (kolk_deadline){-1}));
    assert_false(kolk_wait(&word, 7, (kolk_deadline){kolk_now_ns()}));
    kolk_deadline deadline = kolk_deadline_after(3);
    while (kolk_wait(&word, 7, deadline)) {}
    assert_true(kolk_now_ns() >= deadline.ns);
}

static void test_wake_of_nobody(void **state) {
    (void)state;
    uint32_t word = 7;
    kolk_wake(&word, 0);
    kolk_wake(&word, 1);
    kolk_wake(&word, UINT32_MAX);
    assert_int_equal(word, 7);
}

static void *sleep_until_changed(void *context) {
    bedroom *room = (bedroom *)context;
    while (kolk_load(&room->word, KOLK_ACQUIRE) == 0) kolk_wait(&room->word, 0, KOLK_FOREVER);
    kolk_fetch_add(&room->awake, 1u, KOLK_RELEASE);
    return NULL;
}

static void *sleep_once(void *context) {
    bedroom *room = (bedroom *)context;
    kolk_deadline deadline = kolk_deadline_after(600000);
    while (kolk_wait(&room->word, 0, deadline) && kolk_load(&room->word, KOLK_ACQUIRE) == 0) {}
    kolk_fetch_add(kolk_load(&room->word, KOLK_ACQUIRE) ? &room->awake : &room->timed_out, 1u, KOLK_RELEASE);
    return NULL;
}

static void take_a_nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void start(pthread_t *threads, void *(*body)(void *), bedroom *room) {
    for (unsigned i = 0; i < SLEEPERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, body, room), 0);
    take_a_nap(); /* some of them are asleep now, or all, or none: right each time */
}

static void join(pthread_t *threads, const bedroom *room) {
    for (unsigned i = 0; i < SLEEPERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(room->awake, SLEEPERS);
    assert_int_equal(room->timed_out, 0);
}

/* Without the wake these would hang, or wait for ten minutes. */
static void test_wake_of_all(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        bedroom room = {0};
        pthread_t threads[SLEEPERS];
        start(threads, i % 2 ? sleep_once : sleep_until_changed, &room);
        kolk_store(&room.word, 1u, KOLK_RELEASE);
        kolk_wake(&room.word, UINT32_MAX);
        join(threads, &room);
    }
}

/* One wake for each; those who come too late find the new value. */
static void test_wakes_one_by_one(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        bedroom room = {0};
        pthread_t threads[SLEEPERS];
        start(threads, sleep_until_changed, &room);
        kolk_store(&room.word, 1u, KOLK_RELEASE);
        for (unsigned n = 0; n < SLEEPERS; n++) kolk_wake(&room.word, 1);
        join(threads, &room);
    }
}

/* Two who hand a ball to and fro, sleeping whenever it is not theirs: no wake-up gets lost in thousands. */
static void *play(void *context) {
    uint32_t *ball = (uint32_t *)context;
    for (uint32_t turn = 1; turn < 4000; turn += 2) {
        while (kolk_load(ball, KOLK_ACQUIRE) != turn) kolk_wait(ball, turn - 1, KOLK_FOREVER);
        kolk_store(ball, turn + 1, KOLK_RELEASE);
        kolk_wake(ball, 1);
    }
    return NULL;
}

static void test_hand_over(void **state) {
    (void)state;
    uint32_t ball = 0;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, play, &ball), 0);
    for (uint32_t turn = 0; turn < 4000; turn += 2) {
        kolk_store(&ball, turn + 1, KOLK_RELEASE);
        kolk_wake(&ball, 1);
        while (kolk_load(&ball, KOLK_ACQUIRE) != turn + 2) kolk_wait(&ball, turn + 1, KOLK_FOREVER);
    }
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(ball, 4000);
}

/* A signal is no time-out and no end of the sleep of who loops. */
static uint32_t signals;

static void count_signal(int number) {
    (void)number;
    kolk_fetch_add(&signals, 1u, KOLK_RELAXED);
}

static void test_signals(void **state) {
    (void)state;
    struct sigaction before, counting = {.sa_handler = count_signal};
    assert_int_equal(sigaction(SIGUSR1, &counting, &before), 0);
    bedroom room = {0};
    pthread_t threads[SLEEPERS];
    start(threads, sleep_once, &room);
    for (unsigned n = 0; n < 10; n++) {
        for (unsigned i = 0; i < SLEEPERS; i++) assert_int_equal(pthread_kill(threads[i], SIGUSR1), 0);
        take_a_nap();
    }
    assert_true(kolk_load(&signals, KOLK_RELAXED) > 0);
    assert_int_equal(kolk_load(&room.awake, KOLK_ACQUIRE) + kolk_load(&room.timed_out, KOLK_ACQUIRE), 0);
    kolk_store(&room.word, 1u, KOLK_RELEASE);
    kolk_wake(&room.word, UINT32_MAX);
    join(threads, &room);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock),       cmocka_unit_test(test_other_values),
        cmocka_unit_test(test_deadlines),   cmocka_unit_test(test_wake_of_nobody),
        cmocka_unit_test(test_wake_of_all), cmocka_unit_test(test_wakes_one_by_one),
        cmocka_unit_test(test_hand_over),   cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
