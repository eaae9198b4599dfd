/* The clock, sleeping on a word of memory, and the state of threads and forks. No test asserts that a time is short,
 * only that it is long enough. */
#include "../help/test.h"

#include "../help/child.h"
#include "../help/run_threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/atomics.h"
#include "os/clock.h"
#include "os/key.h"
#include "os/lock.h"
#include "os/sleep.h"
#include "os/thread.h"

#define SLEEPERS 5u

typedef struct bedroom {
    uint32_t word, awake, timed_out;
} bedroom;

static void take_a_nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_clock(void **state) {
    int64_t before = kolk_now_ns_();
    assert_true(before > 0);
    for (unsigned i = 0; i < 1000; i++) {
        int64_t now = kolk_now_ns_();
        assert_true(now >= before);
        before = now;
    }
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_true(kolk_now_ns_() >= before + 2000000);
    assert_true(kolk_deadline_after(1).ns >= before + 3000000);
}

/* If the word has a different value than expected, the call neither sleeps nor times out, whatever the deadline. */
static void test_other_values(void **state) {
    uint32_t word = 7;
    errno = ERANGE; /* no call of this test changes it */
    assert_true(kolk_wait_(&word, 8, KOLK_FOREVER));
    assert_true(kolk_wait_(&word, 8, KOLK_NOW));
    assert_true(kolk_wait_(&word, 8, (kolk_deadline){-1}));
    assert_int_equal(word, 7);
    assert_int_equal(errno, ERANGE);
}

static void test_deadlines(void **state) {
    uint32_t word = 7;
    alarm(60);
    assert_false(kolk_wait_(&word, 7, KOLK_NOW));
    assert_false(kolk_wait_(&word, 7, (kolk_deadline){-1}));
    assert_false(kolk_wait_(&word, 7, (kolk_deadline){kolk_now_ns_()}));
    kolk_deadline deadline = kolk_deadline_after(3);
    while (kolk_wait_(&word, 7, deadline)) {}
    assert_true(kolk_now_ns_() >= deadline.ns);
    alarm(0);
}

/* Deadlines that are far away do not fit 32 bits. A sleep until such a deadline must not end before the wake because
 * the deadline was truncated. Spurious wake-ups happen, but not a thousand times. */
enum { MOST_SLEEPS = 1000 };

typedef struct long_sleep {
    kolk_deadline deadline;
    uint32_t word, begun, sleeps, timed_out;
} long_sleep;

static void *sleep_long(void *context) {
    long_sleep *it = (long_sleep *)context;
    kolk_store_(&it->begun, 1u, KOLK_RELEASE_);
    while (kolk_load_(&it->word, KOLK_ACQUIRE_) == 0 && kolk_load_(&it->sleeps, KOLK_RELAXED_) < MOST_SLEEPS) {
        bool in_time = kolk_wait_(&it->word, 0, it->deadline);
        if (!in_time) kolk_store_(&it->timed_out, 1u, KOLK_RELAXED_);
        kolk_fetch_add_(&it->sleeps, 1u, KOLK_RELEASE_);
    }
    return NULL;
}

static void test_far_deadlines(void **state) {
    static const int64_t seconds[] = {INT32_MAX - 1000000, INT32_MAX, UINT32_MAX, INT64_C(0x100000000) + 5, 9000000000};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        long_sleep it = {.deadline = kolk_deadline_after(seconds[i] * 1000)};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, sleep_long, &it), 0);
        while (!kolk_load_(&it.begun, KOLK_ACQUIRE_)) take_a_nap();
        for (int n = 0; n < 50 && kolk_load_(&it.sleeps, KOLK_ACQUIRE_) < MOST_SLEEPS; n++) take_a_nap();
        kolk_store_(&it.word, 1u, KOLK_RELEASE_);
        kolk_wake_(&it.word, 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(it.timed_out, 0);
        assert_true(it.sleeps < MOST_SLEEPS);
    }
}

static void test_wake_of_nobody(void **state) {
    uint32_t word = 7;
    kolk_wake_(&word, 0);
    kolk_wake_(&word, 1);
    kolk_wake_(&word, UINT32_MAX);
    assert_int_equal(word, 7);
}

static void *sleep_until_changed(void *context) {
    bedroom *room = (bedroom *)context;
    while (kolk_load_(&room->word, KOLK_ACQUIRE_) == 0) kolk_wait_(&room->word, 0, KOLK_FOREVER);
    kolk_fetch_add_(&room->awake, 1u, KOLK_RELEASE_);
    return NULL;
}

static void *sleep_once(void *context) {
    bedroom *room = (bedroom *)context;
    kolk_deadline deadline = kolk_deadline_after(600000);
    while (kolk_wait_(&room->word, 0, deadline) && kolk_load_(&room->word, KOLK_ACQUIRE_) == 0) {}
    kolk_fetch_add_(kolk_load_(&room->word, KOLK_ACQUIRE_) ? &room->awake : &room->timed_out, 1u, KOLK_RELEASE_);
    return NULL;
}

static void start(pthread_t *threads, void *(*body)(void *), bedroom *room) {
    for (unsigned i = 0; i < SLEEPERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, body, room), 0);
    take_a_nap(); /* some, all or none of them are asleep now: each case is valid */
}

static void join(pthread_t *threads, const bedroom *room) {
    for (unsigned i = 0; i < SLEEPERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(room->awake, SLEEPERS);
    assert_int_equal(room->timed_out, 0);
}

/* Without the wake these threads would hang, or wait for ten minutes. */
static void test_wake_of_all(void **state) {
    for (unsigned i = 0; i < 20; i++) {
        bedroom room = {0};
        pthread_t threads[SLEEPERS];
        start(threads, i % 2 ? sleep_once : sleep_until_changed, &room);
        kolk_store_(&room.word, 1u, KOLK_RELEASE_);
        kolk_wake_(&room.word, UINT32_MAX);
        join(threads, &room);
    }
}

/* One wake for each thread; late threads find the new value. */
static void test_wakes_one_by_one(void **state) {
    for (unsigned i = 0; i < 20; i++) {
        bedroom room = {0};
        pthread_t threads[SLEEPERS];
        start(threads, sleep_until_changed, &room);
        kolk_store_(&room.word, 1u, KOLK_RELEASE_);
        for (unsigned n = 0; n < SLEEPERS; n++) kolk_wake_(&room.word, 1);
        join(threads, &room);
    }
}

/* Two threads pass a ball to and fro, and sleep while the other has it: of thousands of wake-ups none is lost. */
static void *play(void *context) {
    uint32_t *ball = (uint32_t *)context;
    for (uint32_t turn = 1; turn < 4000; turn += 2) {
        while (kolk_load_(ball, KOLK_ACQUIRE_) != turn) kolk_wait_(ball, turn - 1, KOLK_FOREVER);
        kolk_store_(ball, turn + 1, KOLK_RELEASE_);
        kolk_wake_(ball, 1);
    }
    return NULL;
}

static void test_hand_over(void **state) {
    uint32_t ball = 0;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, play, &ball), 0);
    for (uint32_t turn = 0; turn < 4000; turn += 2) {
        kolk_store_(&ball, turn + 1, KOLK_RELEASE_);
        kolk_wake_(&ball, 1);
        while (kolk_load_(&ball, KOLK_ACQUIRE_) != turn + 2) kolk_wait_(&ball, turn + 1, KOLK_FOREVER);
    }
    assert_int_equal(pthread_join(other, NULL), 0);
    assert_int_equal(ball, 4000);
}

/* A signal is not a time-out, and does not end the sleep of a thread that loops. */
static uint32_t signals;

static void count_signal(int number) {
    kolk_fetch_add_(&signals, 1u, KOLK_RELAXED_);
}

static void test_signals(void **state) {
    skip_on_windows();
    struct sigaction before, counting = {.sa_handler = count_signal};
    assert_int_equal(sigaction(SIGUSR1, &counting, &before), 0);
    bedroom room = {0};
    pthread_t threads[SLEEPERS];
    start(threads, sleep_once, &room);
    for (unsigned n = 0; n < 10; n++) {
        for (unsigned i = 0; i < SLEEPERS; i++) assert_int_equal(pthread_kill(threads[i], SIGUSR1), 0);
        take_a_nap();
    }
    assert_true(kolk_load_(&signals, KOLK_RELAXED_) > 0);
    assert_int_equal(kolk_load_(&room.awake, KOLK_ACQUIRE_) + kolk_load_(&room.timed_out, KOLK_ACQUIRE_), 0);
    kolk_store_(&room.word, 1u, KOLK_RELEASE_);
    kolk_wake_(&room.word, UINT32_MAX);
    join(threads, &room);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* ---- Threads, forks, keys and locks of a word -------------------------------------------------------------------- */

typedef struct person {
    uint32_t number, may_end;
    pthread_t thread;
} person;

static void *say_number(void *context) {
    person *me = (person *)context;
    uint32_t number = kolk_thread_();
    kolk_store_(&me->number, number, KOLK_RELEASE_);
    while (!kolk_load_(&me->may_end, KOLK_ACQUIRE_)) take_a_nap();
    return kolk_thread_() == number ? NULL : me;
}

static void meet(person *one) {
    *one = (person){.number = 0};
    assert_int_equal(pthread_create(&one->thread, NULL, say_number, one), 0);
    while (!kolk_load_(&one->number, KOLK_ACQUIRE_)) take_a_nap();
}

static void let_end(person *one) {
    void *result;
    kolk_store_(&one->may_end, 1, KOLK_RELEASE_);
    assert_int_equal(pthread_join(one->thread, &result), 0);
    assert_null(result);
}

static void test_numbers_of_threads(void **state) {
    person people[4];
    assert_false(kolk_thread_is_gone_(0));
    assert_false(kolk_thread_has_ended_(0));
    if (!kolk_thread_()) skip(); /* the system has no thread numbers */
    skip_if_emulated();          /* its threads end later than reported */
    for (int i = 0; i < 4; i++) {
        meet(&people[i]);
        assert_true(people[i].number != kolk_thread_());
        for (int k = 0; k < i; k++) assert_true(people[i].number != people[k].number);
    }
    errno = 7;
    for (int i = 0; i < 4; i++) {
        assert_false(kolk_thread_is_gone_(people[i].number));
        assert_false(kolk_thread_has_ended_(people[i].number));
    }
    assert_false(kolk_thread_has_ended_(kolk_thread_()));
    for (int i = 0; i < 4; i++) {
        let_end(&people[i]);
        errno = 7;
        assert_true(kolk_thread_has_ended_(people[i].number));
        while (!kolk_thread_is_gone_(people[i].number)) take_a_nap();
        assert_int_equal(errno, 7);
    }
}

/* Checks children of this process only. A child exits with 0 if all checks hold. */
static bool child_is_right(uint32_t me, uint32_t other, uint32_t forks) {
    return kolk_forks_() == forks && kolk_thread_() == me && !kolk_thread_is_gone_(me) && !kolk_thread_has_ended_(me) &&
           kolk_thread_is_gone_(other) && kolk_thread_has_ended_(other);
}

static void test_numbers_through_forks(void **state) {
    skip_on_windows();
    person one;
    uint32_t me = kolk_thread_(), forks = kolk_forks_();
    if (!me) skip();
    meet(&one);
    pid_t child = fork();
    if (child == 0) {
        if (!child_is_right(me, one.number, forks + 1)) _exit(1);
        child = fork();
        if (child == 0) _exit(child_is_right(me, one.number, forks + 2) ? 0 : 2);
        int status;
        _exit(waitpid(child, &status, 0) == child && status == 0 && kolk_forks_() == forks + 1 ? 0 : 3);
    }
    await_child(child);
    assert_int_equal(kolk_forks_(), forks);
    assert_false(kolk_thread_is_gone_(one.number));
    let_end(&one);
}

/* A new namespace starts its thread numbers again, so a thread of a fork's child may get the number of the thread that
 * forked. Here that number is 2, in the second process of a namespace, whose child is the first process of another. */
enum { NOT_ALLOWED = 77 };

static int result_of(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
    return WEXITSTATUS(status);
}

static void *compare_number(void *of_first) {
    return kolk_thread_() == *(uint32_t *)of_first ? of_first : NULL;
}

static int first_of_another(void) {
    pthread_t thread;
    void *same;
    uint32_t number = kolk_thread_();
    for (int i = 0; i < 5; i++) {
        if (pthread_create(&thread, NULL, compare_number, &number) != 0 || pthread_join(thread, &same) != 0) return 2;
        if (same) return 3;
    }
    return 0;
}

static int second_of_a_namespace(void) {
    if (getpid() != 2 || !kolk_thread_()) return 4;
    if (unshare(CLONE_NEWPID) != 0) return NOT_ALLOWED;
    pid_t child = fork();
    if (child == 0) _exit(first_of_another());
    return result_of(child);
}

static int first_of_a_namespace(void) {
    pid_t child = fork();
    if (child == 0) _exit(second_of_a_namespace());
    return result_of(child);
}

/* Runs in a thread that has no number yet. */
static void *enter_namespaces(void *result) {
    pid_t child = fork();
    if (child == 0) {
        END_IF_IT_HANGS();
        if (unshare(CLONE_NEWPID) != 0) _exit(NOT_ALLOWED);
        child = fork();
        if (child == 0) _exit(first_of_a_namespace());
        _exit(result_of(child));
    }
    *(int *)result = result_of(child);
    return NULL;
}

static void test_numbers_in_namespaces(void **state) {
    skip_on_windows();
    pthread_t thread;
    int result = 1;
    skip_if_emulated();
    assert_int_equal(pthread_create(&thread, NULL, enter_namespaces, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (result == NOT_ALLOWED) {
        print_message("skipped: only root may make namespaces\n");
        skip();
    }
    assert_int_equal(result, 0);
}

/* kolk does not recognise a process made without pthread_atfork's handlers, so it takes no earlier thread for dead. */
pid_t _Fork(void) __attribute__((weak)); /* NOLINT(readability-redundant-declaration): only since glibc 2.34 */

static void *look_for_first(void *number) {
    uint32_t first = *(uint32_t *)number;
    return kolk_thread_is_gone_(first) || kolk_thread_has_ended_(first) ? number : NULL;
}

/* promise: base.h "kolk does not notice which threads have ended" */
static void test_numbers_of_a_silent_child(void **state) {
    skip_on_windows();
    uint32_t me = kolk_thread_();
    skip_if_emulated();
    if (!_Fork) {
        print_message("skipped: the C library has no _Fork\n");
        skip();
    }
    pid_t child = _Fork ? _Fork() : -1;
    if (child == 0) {
        pthread_t thread;
        void *gone;
        END_IF_IT_HANGS();
        if (kolk_thread_() != me || look_for_first(&me)) _exit(1);
        if (pthread_create(&thread, NULL, look_for_first, &me) != 0 || pthread_join(thread, &gone) != 0) _exit(2);
        if (gone) _exit(3);
        child = fork(); /* kolk recognises this child */
        if (child == 0) {
            if (pthread_create(&thread, NULL, look_for_first, &me) != 0 || pthread_join(thread, &gone) != 0) _exit(2);
            _exit(gone ? 4 : 0);
        }
        _exit(result_of(child));
    }
    await_child(child);
}

/* Handlers of pthread_atfork that were registered before kolk's run within kolk's. */
static bool handlers_make_pools;
static unsigned handled;

__attribute__((unused)) static void make_pool_in_handler(void) { /* where there is no fork */
    kolk_pool pool;
    if (!handlers_make_pools) return;
    handled++;
    if (kolk_pool_init(&pool, &(kolk_pool_desc){.name = "p", .object_size = 8, .capacity = 4}) != KOLK_OK) _exit(5);
    kolk_pool_deinit(&pool);
}

__attribute__((constructor(101))) static void register_before_kolk(void) {
    pthread_atfork(make_pool_in_handler, make_pool_in_handler, make_pool_in_handler);
}

/* promise: base.h "loaded may use single-threaded pools once" */
static void test_pools_in_handlers(void **state) {
    skip_on_windows();
    pid_t child = fork();
    if (child == 0) {
        END_IF_IT_HANGS();
        handlers_make_pools = true;
        child = fork();
        if (child == 0) _exit(handled == 2 ? 0 : 6);
        handlers_make_pools = false;
        int result = result_of(child);
        _exit(result == 0 && handled == 2 && first_of_another() == 0 ? 0 : 7);
    }
    await_child(child);
}

static uint32_t ends;

static void KOLK_AT_THREADS_END_ at_end(void *value) {
    kolk_fetch_add_((uint32_t *)value, 1u, KOLK_RELAXED_);
}

static void *set_key(void *context) {
    uintptr_t key = *(uintptr_t *)context;
    if (kolk_key_get_(key) || !kolk_key_set_(key, &ends)) return context;
    return kolk_key_get_(key) == &ends ? NULL : context;
}

static void test_keys(void **state) {
    uintptr_t key, other;
    void *result;
    pthread_t thread;
    assert_true(kolk_key_make_(&key, at_end));
    assert_true(kolk_key_make_(&other, NULL));
    assert_true(key != other);
    assert_null(kolk_key_get_(key));
    assert_true(kolk_key_set_(other, &other));
    for (uint32_t n = 1; n <= 3; n++) {
        assert_int_equal(pthread_create(&thread, NULL, set_key, &key), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_null(result);
        assert_int_equal(ends, n);
    }
    assert_ptr_equal(kolk_key_get_(other), &other);
    kolk_key_drop_(other);
    kolk_key_drop_(key);
}

/* A lock that another thread holds during a fork is free in the child, even with waiters; a lock that the forking
 * thread holds is not free for the child's threads. */
static uint32_t word_lock, holds_it;

static void *hold_lock(void *context) {
    kolk_lock_word_(&word_lock);
    kolk_store_(&holds_it, 1, KOLK_RELEASE_);
    while (kolk_load_(&holds_it, KOLK_ACQUIRE_)) take_a_nap();
    kolk_unlock_word_(&word_lock);
    return context;
}

static void *count_under_lock(void *context) {
    for (int i = 0; i < 2000; i++) {
        kolk_lock_word_(&word_lock);
        ++*(uint32_t *)context; /* not atomic */
        kolk_unlock_word_(&word_lock);
    }
    return NULL;
}

/* What three threads have counted. */
static uint32_t count_by_three(void *(*count_so)(void *)) {
    uint32_t count = 0;
    run_threads(3, count_so, &count, 0);
    return count;
}

/* The same of a brief lock; the child is told. */
static uint32_t brief_lock;

static void *hold_brief_lock(void *context) {
    kolk_lock_brief_(&brief_lock);
    kolk_store_(&holds_it, 1, KOLK_RELEASE_);
    while (kolk_load_(&holds_it, KOLK_ACQUIRE_)) take_a_nap();
    kolk_unlock_brief_(&brief_lock);
    return context;
}

static void *count_briefly(void *context) {
    for (int i = 0; i < 20000; i++) {
        if (!kolk_lock_brief_(&brief_lock)) abort();
        ++*(uint32_t *)context; /* not atomic */
        kolk_unlock_brief_(&brief_lock);
    }
    return NULL;
}

static void test_brief_lock(void **state) {
    pthread_t holder, waiter;
    uint32_t count = 0;
    kolk_unlock_brief_(&brief_lock);
    assert_int_equal(count_by_three(count_briefly), 60000);
    skip_on_windows();
    skip_if_emulated(); /* qemu's own threads do not outlive a fork */
    pid_t child = fork();
    if (child == 0) _exit(kolk_lock_brief_(&brief_lock) ? 0 : 1); /* nobody had it */
    await_child(child);
    assert_int_equal(pthread_create(&holder, NULL, hold_brief_lock, NULL), 0);
    while (!kolk_load_(&holds_it, KOLK_ACQUIRE_)) take_a_nap();
    assert_int_equal(pthread_create(&waiter, NULL, count_briefly, &count), 0);
    take_a_nap();
    child = fork();
    if (child == 0) {
        END_IF_IT_HANGS();
        if (kolk_lock_brief_(&brief_lock)) _exit(1);
        kolk_unlock_brief_(&brief_lock);
        _exit(count_by_three(count_briefly) == 60000 ? 0 : 2);
    }
    await_child(child);
    assert_int_equal(count, 0);
    kolk_store_(&holds_it, 0, KOLK_RELEASE_);
    assert_int_equal(pthread_join(holder, NULL), 0);
    assert_int_equal(pthread_join(waiter, NULL), 0);
    assert_int_equal(count, 20000);
}

static void test_locks_through_forks(void **state) {
    skip_on_windows();
    assert_int_equal(count_by_three(count_under_lock), 6000);
    skip_if_emulated(); /* qemu's own threads do not outlive a fork */
    for (int waiters = 0; waiters < 2; waiters++) {
        pthread_t holder, waiter;
        uint32_t count = 0;
        assert_int_equal(pthread_create(&holder, NULL, hold_lock, NULL), 0);
        while (!kolk_load_(&holds_it, KOLK_ACQUIRE_)) take_a_nap();
        if (waiters) assert_int_equal(pthread_create(&waiter, NULL, count_under_lock, &count), 0);
        if (waiters) take_a_nap();
        pid_t child = fork();
        if (child == 0) {
            END_IF_IT_HANGS();
            _exit(count_by_three(count_under_lock) == 6000 && word_lock == 0 ? 0 : 1);
        }
        await_child(child);
        kolk_store_(&holds_it, 0, KOLK_RELEASE_);
        assert_int_equal(pthread_join(holder, NULL), 0);
        if (waiters) assert_int_equal(pthread_join(waiter, NULL), 0);
        assert_int_equal(count, waiters ? 2000 : 0);
        assert_int_equal(word_lock, 0);
    }
}

/* The same of a child that was made without pthread_atfork's handlers, once kolk has a thread of its own; and of the
 * process's lock. The child notices at its first call that it is another process, whichever that is. */
static void *hold_all_locks(void *context) {
    kolk_lock_word_(&word_lock);
    kolk_lock_brief_(&brief_lock);
    kolk_lock_();
    kolk_store_(&holds_it, 1, KOLK_RELEASE_);
    while (kolk_load_(&holds_it, KOLK_ACQUIRE_)) take_a_nap();
    kolk_unlock_();
    kolk_unlock_brief_(&brief_lock);
    kolk_unlock_word_(&word_lock);
    return context;
}

static void *ask_for_number(void *context) {
    kolk_thread_();
    return context;
}

static bool takes_locks(int first) {
    pthread_t thread;
    uint32_t forks = kolk_forks_();
    if (!kolk_forks_are_others_()) return false;
    for (int n = first; n < first + 4; n++) {
        if (n % 4 == 0) {
            kolk_lock_();
            kolk_unlock_();
        } else if (n % 4 == 1) {
            kolk_lock_word_(&word_lock);
            kolk_unlock_word_(&word_lock);
        } else if (n % 4 == 2) {
            if (kolk_lock_brief_(&brief_lock)) return false;
            kolk_unlock_brief_(&brief_lock);
        } else if (pthread_create(&thread, NULL, ask_for_number, NULL) != 0 || pthread_join(thread, NULL) != 0) {
            return false;
        }
        if (kolk_forks_() != forks + 1 || kolk_forks_now_() != forks + 1 || kolk_forks_are_others_()) return false;
    }
    return count_by_three(count_briefly) == 60000 && count_by_three(count_under_lock) == 6000;
}

static void test_locks_of_silent_children(void **state) {
    skip_on_windows();
    skip_if_emulated();
    if (!_Fork) {
        print_message("skipped: the C library has no _Fork\n");
        skip();
    }
    pthread_t holder;
    uint32_t forks = kolk_forks_();
    kolk_forks_watch_();
    assert_false(kolk_forks_are_others_());
    assert_int_equal(pthread_create(&holder, NULL, hold_all_locks, NULL), 0);
    while (!kolk_load_(&holds_it, KOLK_ACQUIRE_)) take_a_nap();
    int wrong = 0; /* tested when the locks are free again, because a failed test ends the process, which needs them */
    for (int first = 0; first < 4 && !wrong; first++) {
        pid_t child = _Fork ? _Fork() : -1;
        if (child == 0) {
            END_IF_IT_HANGS();
            if (!takes_locks(first)) _exit(2);
            child = _Fork ? _Fork() : -1; /* nobody had the locks */
            if (child == 0) _exit(kolk_lock_brief_(&brief_lock) && kolk_forks_now_() == forks + 2 ? 0 : 3);
            _exit(result_of(child));
        }
        wrong = result_of(child);
    }
    pid_t child = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork): it is neither another nor the same */
    if (child == 0) _exit(kolk_forks_are_others_() ? 0 : 4);
    int wrong_after_vfork = result_of(child);
    kolk_store_(&holds_it, 0, KOLK_RELEASE_);
    assert_int_equal(pthread_join(holder, NULL), 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(wrong_after_vfork, 0);
    assert_int_equal(kolk_forks_now_(), forks);
    assert_false(kolk_forks_are_others_());
}

/* Threads that sleep during a fork do not exist in the child, and delay no thread there. */
static void test_sleepers_through_forks(void **state) {
    skip_on_windows();
    skip_if_emulated();
    static bedroom room; /* it contains the ball as well */
    pthread_t threads[SLEEPERS], other;
    room = (bedroom){.word = 0};
    start(threads, sleep_until_changed, &room);
    for (int i = 0; i < 20; i++) take_a_nap();
    pid_t child = fork();
    if (child == 0) {
        END_IF_IT_HANGS();
        if (pthread_create(&other, NULL, play, &room.word) != 0) _exit(1);
        for (uint32_t turn = 0; turn < 4000; turn += 2) {
            kolk_store_(&room.word, turn + 1, KOLK_RELEASE_);
            kolk_wake_(&room.word, 1);
            while (kolk_load_(&room.word, KOLK_ACQUIRE_) != turn + 2) kolk_wait_(&room.word, turn + 1, KOLK_FOREVER);
        }
        _exit(pthread_join(other, NULL));
    }
    await_child(child);
    kolk_store_(&room.word, 1u, KOLK_RELEASE_);
    kolk_wake_(&room.word, UINT32_MAX);
    join(threads, &room);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_other_values),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_far_deadlines),
        cmocka_unit_test(test_wake_of_nobody),
        cmocka_unit_test(test_wake_of_all),
        cmocka_unit_test(test_wakes_one_by_one),
        cmocka_unit_test(test_hand_over),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_numbers_of_threads),
        cmocka_unit_test(test_numbers_through_forks),
        cmocka_unit_test(test_numbers_in_namespaces),
        cmocka_unit_test(test_numbers_of_a_silent_child),
        cmocka_unit_test(test_pools_in_handlers),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_locks_through_forks),
        cmocka_unit_test(test_brief_lock),
        cmocka_unit_test(test_locks_of_silent_children),
        cmocka_unit_test(test_sleepers_through_forks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
