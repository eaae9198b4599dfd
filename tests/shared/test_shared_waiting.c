/* with: src wraps: help/system_calls.h kolk_wait_ kolk_wake_ */
/* Waiting for an object of a shared pool, with threads that really sleep: deadlines, the wait queue, growth and dead
 * threads, the uncached pool, shutdown, signals and forks. All orders of the steps, and the other ways in which a slot
 * returns, are tested in test_shared_wait_schedules.c. */
#include "../help/child.h"
#include "../help/system_calls.h"

#include "../queue/queue_test.h"
#include "os/thread.h"
#include "shared_test.h"

enum { SLEEPERS = 5, MOST_SLOTS = 1200 };

/* ---- Observed sleeps --------------------------------------------------------------------------------------------- */

static _Thread_local unsigned sleeps; /* how often this thread has slept */
static unsigned wakes;                /* how many threads that wait for a slot were woken */

bool __real_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);
bool __wrap_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);
void __real_kolk_wake_(uint32_t *word, uint32_t n);
void __wrap_kolk_wake_(uint32_t *word, uint32_t n);

/* ---- Pools whose slots are all alive ----------------------------------------------------------------------------- */

typedef struct full_pool {
    kolk_shared pool;
    kolk_shared_local mine, other; /* both belong to this thread; `other` exists only if max_threads permits two */
    uint32_t slots;
    void *objects[MOST_SLOTS];
} full_pool;

static full_pool own;

static full_pool *make_full(const kolk_shared_desc *desc) {
    full_pool *f = &own;
    memset(f, 0, sizeof *f);
    make_shared(&f->pool, desc);
    make_local(&f->mine, &f->pool);
    if (f->pool.inside->max_threads > 1) make_local(&f->other, &f->pool);
    f->slots = all_slots(&f->pool);
    assert_true(f->slots <= MOST_SLOTS);
    for (uint32_t i = 0; i < f->slots; i++) assert_non_null(f->objects[i] = kolk_shared_alloc(&f->mine));
    return f;
}

/* A thread may also sleep, and be woken, for the lock of the wait queue. The calls for this are not counted. */
bool __wrap_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    sleeps += word != &own.pool.inside->waiters_lock;
    return __real_kolk_wait_(word, expected, deadline);
}

void __wrap_kolk_wake_(uint32_t *word, uint32_t n) {
    if (word != &own.pool.inside->waiters_lock) __atomic_fetch_add(&wakes, 1, __ATOMIC_SEQ_CST);
    __real_kolk_wake_(word, n);
}

/* Makes a pool for two locals of this thread, three sleepers, and locals made later. */
static full_pool *make_small(void) {
    return make_full(&(kolk_shared_desc){.object_size = 8, .capacity = 6, .max_threads = 9, .cache = 2});
}

static void end_full(full_pool *f) {
    end_shared(&f->pool);
}

static uint32_t waiting(const full_pool *f) {
    return __atomic_load_n(&f->pool.inside->store.depot.waiting, __ATOMIC_SEQ_CST);
}

static kolk_stats stats_of(const full_pool *f) {
    kolk_stats stats;
    kolk_shared_stats(&f->pool, &stats);
    return stats;
}

/* ---- Threads that wait ------------------------------------------------------------------------------------------- */

typedef struct sleeper {
    full_pool *f;
    kolk_deadline deadline;
    void *object;
    pthread_t thread;
    bool ready, go; /* ready: it has its local; go: it may start to wait */
} sleeper;

static void *sleep_for_one(void *argument) {
    sleeper *me = (sleeper *)argument;
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, &me->f->pool) == KOLK_OK);
    __atomic_store_n(&me->ready, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&me->go, __ATOMIC_SEQ_CST)) nap();
    me->object = kolk_shared_alloc_wait(&local, me->deadline);
    kolk_shared_local_deinit(&local);
    return NULL;
}

static void be_born(sleeper *one) {
    assert_int_equal(pthread_create(&one->thread, NULL, sleep_for_one, one), 0);
    while (!__atomic_load_n(&one->ready, __ATOMIC_SEQ_CST)) nap();
}

/* Can a free by this thread still put the slot into its magazine, from which no waiter is served? */
static bool keeps_what_it_frees(const full_pool *f) {
    const kolk_magazine_ *magazine = f->mine.magazine;
    return magazine && __atomic_load_n(&magazine->bound, __ATOMIC_SEQ_CST) != 0;
}

/* Waits until the sleeper is in the wait queue and the depot is uncached. Returns false if that is not so before
 * `moment`, the deadline of the first waiter to give up. */
static bool line_up_before(sleeper *one, kolk_deadline moment) {
    uint32_t before = waiting(one->f);
    __atomic_store_n(&one->go, true, __ATOMIC_SEQ_CST);
    while ((waiting(one->f) == before || keeps_what_it_frees(one->f)) && kolk_now_ns_() < moment.ns) nap();
    return kolk_now_ns_() < moment.ns;
}

static void line_up(sleeper *one) {
    assert_true(line_up_before(one, KOLK_FOREVER));
}

static bool start_sleeper_before(sleeper *one, full_pool *f, kolk_deadline deadline, kolk_deadline moment) {
    *one = (sleeper){.f = f, .deadline = deadline};
    be_born(one);
    return line_up_before(one, moment);
}

static void start_sleeper(sleeper *one, full_pool *f, kolk_deadline deadline) {
    assert_true(start_sleeper_before(one, f, deadline, KOLK_FOREVER));
}

static void *woken(sleeper *one) {
    assert_int_equal(pthread_join(one->thread, NULL), 0);
    return one->object;
}

static void serve_one(full_pool *f, uint32_t number) {
    sleeper one;
    start_sleeper(&one, f, KOLK_FOREVER);
    kolk_shared_free(&f->mine, f->objects[number]);
    assert_ptr_equal(woken(&one), f->objects[number]);
}

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void check_deadline(full_pool *f) {
    kolk_deadline deadline = kolk_deadline_after(2);
    sleeps = 0;
    assert_null(kolk_shared_alloc_wait(&f->mine, deadline));
    assert_true(kolk_now_ns_() >= deadline.ns); /* never earlier */
    assert_true(sleeps);
    assert_int_equal(stats_of(f).failed, 1);
    assert_null(kolk_shared_alloc_wait(&f->mine, PAST));
    assert_int_equal(stats_of(f).failed, 2);
    sleeps = 0;
    assert_null(kolk_shared_alloc_wait(&f->mine, KOLK_NOW));
    assert_null(kolk_shared_alloc_wait(&f->mine, (kolk_deadline){-1}));
    assert_int_equal(stats_of(f).failed, 4);
    const kolk_deadline any[] = {KOLK_NOW, PAST, kolk_deadline_after(1000), KOLK_FOREVER};
    for (size_t i = 0; i < LENGTH_OF(any); i++) {
        kolk_shared_free(&f->mine, f->objects[i]);
        assert_ptr_equal(kolk_shared_alloc_wait(&f->mine, any[i]), f->objects[i]); /* a slot is free */
    }
    assert_int_equal(sleeps, 0);
    assert_int_equal(stats_of(f).failed, 4);
    assert_int_equal(waiting(f), 0);
    assert_int_equal(kolk_shared_count(&f->pool), f->slots);
}

/* promise: "waits for an object ... like kolk_shared_alloc" */
static void test_a_deadline_is_kept(void **state) {
    static const uint32_t caches[] = {1, 2, 64}, threads[] = {1, 2, 16};
    for (size_t i = 0; i < LENGTH_OF(caches) * LENGTH_OF(threads) * 4; i++) {
        full_pool *f = make_full(&(kolk_shared_desc){.object_size = 8,
                                                     .capacity = 7,
                                                     .cache = caches[i % 3],
                                                     .max_threads = threads[i / 3 % 3],
                                                     .exact = i / 9 % 2,
                                                     .generations = i / 18 ? KOLK_GENERATIONS_NONE : 0});
        check_deadline(f);
        end_full(f);
    }
}

static void test_now_does_not_wait_in_line(void **state) {
    sleeper first;
    full_pool *f = make_small();
    start_sleeper(&first, f, KOLK_FOREVER);
    sleeps = 0;
    assert_null(kolk_shared_alloc_wait(&f->mine, KOLK_NOW));
    assert_int_equal(sleeps, 0);
    assert_int_equal(waiting(f), 1);
    kolk_shared_free(&f->mine, f->objects[0]);
    assert_ptr_equal(woken(&first), f->objects[0]);
    end_full(f);
}

/* ---- The wait queue ---------------------------------------------------------------------------------------------- */

/* In debug mode no magazine is used. A freed slot goes to quarantine, but a thread that needs it gets it from there. */
static void test_debug_mode(void **state) {
    static const char *const settings[] = {"fill,guard", "fill,quarantine=4", "bypass,sites"};
    for (size_t i = 0; i < LENGTH_OF(settings); i++) {
        full_pool *f = make_full(
            &(kolk_shared_desc){.object_size = 8, .capacity = 20, .max_threads = 3, .cache = 2, .debug = settings[i]});
        kolk_shared_local_deinit(&f->other);
        sleeper one;
        for (uint32_t n = 0; n < 3; n++) {
            start_sleeper(&one, f, KOLK_FOREVER);
            kolk_shared_free(&f->mine, f->objects[n]);
            assert_int_equal(waiting(f), 0);
            assert_non_null(f->objects[n] = woken(&one));
        }
        assert_null(kolk_shared_alloc_wait(&f->mine, kolk_deadline_after(1)));
        assert_int_equal(kolk_shared_count(&f->pool), f->slots);
        for (uint32_t n = 0; n < f->slots; n++) kolk_shared_free(&f->mine, f->objects[n]);
        end_full(f);
    }
}

static void begin_line(sleeper *line, full_pool *f) {
    for (int i = 0; i < SLEEPERS; i++) start_sleeper(&line[i], f, KOLK_FOREVER);
    assert_int_equal(waiting(f), SLEEPERS);
}

/* promise: "an alloc that does not wait may overtake them" */
static void test_first_come_first_served(void **state) {
    full_pool *f = make_small();
    sleeper line[SLEEPERS];
    begin_line(line, f);
    __atomic_store_n(&wakes, 0, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < SLEEPERS; i++) {
        kolk_shared_free(i % 2 ? &f->mine : &f->other, f->objects[2 * i]);
        assert_int_equal(waiting(f), SLEEPERS - 1 - i); /* a free serves one waiter */
        assert_int_equal(__atomic_load_n(&wakes, __ATOMIC_SEQ_CST), i + 1);
        assert_ptr_equal(woken(&line[i]), f->objects[2 * i]);
    }
    end_full(f);
}

/* A thread with slots in its own magazine is served from it and does not wait. */
static void test_who_has_one_does_not_wait(void **state) {
    full_pool *f = make_small();
    sleeper one;
    kolk_shared_free(&f->other, f->objects[1]);
    start_sleeper(&one, f, KOLK_FOREVER);
    sleeps = 0;
    assert_ptr_equal(kolk_shared_alloc_wait(&f->other, KOLK_FOREVER), f->objects[1]);
    assert_int_equal(sleeps, 0);
    kolk_shared_free(&f->other, f->objects[2]);
    assert_ptr_equal(woken(&one), f->objects[2]);
    end_full(f);
}

/* ---- Other ways in which slots return ---------------------------------------------------------------------------- */

static void test_growth_serves(void **state) {
    full_pool *f = &own;
    sleeper one;
    kolk_shared_desc desc = {.object_size = 4096, .capacity = 1, .max_capacity = 1000, .max_threads = 3, .cache = 1};
    memset(f, 0, sizeof *f);
    make_shared(&f->pool, &desc);
    make_local(&f->mine, &f->pool);
    while (f->pool.inside->store.depot.fresh < f->pool.inside->store.depot.usable)
        assert_non_null(kolk_shared_alloc(&f->mine));
    os.calls = 0;
    os.refused_from = 1;
    os.for_ever = true;
    start_sleeper(&one, f, KOLK_FOREVER);
    assert_null(kolk_shared_alloc(&f->mine));
    os.refused_from = 0;
    assert_non_null(kolk_shared_alloc(&f->mine)); /* the pool grows, and the waiter gets one of the new slots */
    assert_int_equal(waiting(f), 0);
    assert_non_null(woken(&one));
    end_full(f);
}

/* A waiter that a free serves does not check whether dead threads delay retired slots. */
static void test_a_wake_that_serves_is_no_look(void **state) {
    full_pool *f = make_small();
    sleeper one;
    kolk_shared_local_deinit(&f->other);
    start_sleeper(&one, f, KOLK_FOREVER);
    kolk_shared_free_later(&f->mine, f->objects[4]);
    kolk_shared_free(&f->mine, f->objects[1]);
    assert_ptr_equal(woken(&one), f->objects[1]);
    assert_int_equal(f->pool.inside->looked, 0);
    end_full(f);
}

static uint32_t leaver; /* the thread that ended */

static void *end_without_a_word(void *argument) {
    full_pool *f = (full_pool *)argument;
    kolk_shared_local local;
    leaver = kolk_thread_();
    REQUIRE(kolk_shared_local_init(&local, &f->pool) == KOLK_OK);
    kolk_shared_free(&local, f->objects[0]);
    return NULL;
}

/* When a new local is made, a dead thread's slots are reclaimed and serve the waiter. */
static void test_a_burial_serves(void **state) {
    full_pool *f = make_small();
    sleeper one = {.f = f, .deadline = KOLK_FOREVER};
    kolk_shared_local late;
    be_born(&one);
    run_thread(end_without_a_word, f);
    await_thread_end(leaver);
    line_up(&one);
    make_local(&late, &f->pool);
    assert_int_equal(waiting(f), 0);
    assert_ptr_equal(woken(&one), f->objects[0]);
    end_full(f);
}

/* ---- The uncached pool ------------------------------------------------------------------------------------------- */

static uint32_t at_hand(const kolk_shared_local *local) {
    return local->magazine->top;
}

/* `mine` allocates each slot that `other` frees, n times. */
static void check_direct(full_pool *f, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        void *object = f->objects[i % f->slots];
        kolk_shared_free(&f->other, object);
        assert_int_equal(at_hand(&f->other), 0);
        assert_ptr_equal(kolk_shared_alloc(&f->mine), object);
        assert_int_equal(at_hand(&f->mine), 0);
    }
}

static void check_kept_at_hand(full_pool *f) {
    kolk_shared_free(&f->other, f->objects[0]);
    assert_int_equal(at_hand(&f->other), 1);
    assert_ptr_equal(kolk_shared_alloc(&f->other), f->objects[0]);
}

static void test_direct_from_null_on(void **state) {
    for (int n = 0; n < 3 * 2 * 2; n++) {
        full_pool *f = make_full(&(kolk_shared_desc){.object_size = 8,
                                                     .capacity = 20,
                                                     .max_threads = n % 2 ? 2 : 16,
                                                     .cache = (uint32_t[]){1, 2, 64}[n / 2 % 3],
                                                     .exact = n / 6});
        check_kept_at_hand(f);
        assert_null(n % 2 ? kolk_shared_alloc(&f->mine) : kolk_shared_alloc_wait(&f->mine, PAST));
        check_direct(f, f->slots);
        check_kept_at_hand(f); /* as many slots have returned as the pool has, so it is cached again */
        assert_null(kolk_shared_alloc(&f->other));
        check_direct(f, f->slots - 1);
        assert_null(kolk_shared_alloc(&f->mine)); /* the uncached time starts again */
        check_direct(f, f->slots);
        check_kept_at_hand(f);
        end_full(f);
    }
}

/* A wait that finds a free object immediately does not make the pool uncached. */
static void test_a_wait_that_is_none(void **state) {
    full_pool *f = make_full(&(kolk_shared_desc){.object_size = 8, .capacity = 20, .max_threads = 2, .cache = 2});
    kolk_shared_free(&f->other, f->objects[1]);
    kolk_shared_free(&f->other, f->objects[2]);
    kolk_shared_local_flush(&f->other);
    sleeps = 0;
    assert_non_null(kolk_shared_alloc_wait(&f->mine, KOLK_FOREVER));
    assert_int_equal(sleeps, 0);
    check_kept_at_hand(f);
    end_full(f);
}

/* As long as a thread waits, the pool stays uncached, however many slots return. */
static void test_direct_while_somebody_waits(void **state) {
    full_pool *f = make_small();
    sleeper line[2];
    start_sleeper(&line[0], f, KOLK_FOREVER);
    start_sleeper(&line[1], f, KOLK_FOREVER);
    kolk_shared_free(&f->other, f->objects[0]);
    assert_ptr_equal(woken(&line[0]), f->objects[0]);
    f->pool.inside->store.depot.uncached_until = 0; /* as if the uncached time had ended long ago */
    kolk_shared_free(&f->other, f->objects[1]);
    assert_int_equal(at_hand(&f->other), 0);
    assert_ptr_equal(woken(&line[1]), f->objects[1]);
    check_kept_at_hand(f);
    end_full(f);
}

/* ---- Shutdown ---------------------------------------------------------------------------------------------------- */

/* promise: "every alloc_wait ... still work", "`capacity` and `max_capacity` ... calls that have waited" */
static void test_all_who_wait_are_woken(void **state) {
    full_pool *f = make_small();
    sleeper line[SLEEPERS];
    begin_line(line, f);
    EVENTUALLY(stats_of(f).waits == SLEEPERS); /* counted a moment later than `waiting` */
    kolk_shared_shutdown(&f->pool);
    assert_int_equal(stats_of(f).waiting, 0);
    for (int i = 0; i < SLEEPERS; i++) assert_null(woken(&line[i]));
    assert_int_equal(stats_of(f).failed, 0); /* these NULLs are not counted as failures of a full pool */
    end_full(f);
}

static void test_what_goes_on_after_a_shutdown(void **state) {
    full_pool *f = make_full(&(kolk_shared_desc){.object_size = 8, .capacity = 1, .max_threads = 1});
    for (int i = 0; i < 2; i++) kolk_shared_shutdown(&f->pool);
    assert_null(kolk_shared_alloc_wait(&f->mine, KOLK_FOREVER));
    kolk_shared_free(&f->mine, f->objects[0]);
    assert_null(kolk_shared_alloc_wait(&f->mine, KOLK_FOREVER)); /* NULL even though an object is free */
    assert_null(kolk_shared_alloc_wait(&f->mine, kolk_deadline_after(100000)));
    assert_non_null(kolk_shared_alloc_wait(&f->mine, KOLK_NOW)); /* KOLK_NOW does not wait */
    assert_int_equal(stats_of(f).failed, 0);
    assert_null(kolk_shared_alloc(&f->mine));
    assert_int_equal(stats_of(f).failed, 1);
    kolk_shared_free_later(&f->mine, f->objects[0]);
    for (int i = 0; i < 3; i++) kolk_shared_quiesce(&f->mine);
    assert_non_null(kolk_shared_alloc(&f->mine));
    assert_int_equal(stats_of(f).waits, 0);
    end_full(f);
}

/* promise: "Undoes a shutdown ... still returns NULL" */
static void test_reopen(void **state) {
    full_pool *f = make_small();
    sleeper one;
    for (int i = 0; i < 20; i++) {
        start_sleeper(&one, f, KOLK_FOREVER);
        kolk_shared_shutdown(&f->pool);
        kolk_shared_reopen(&f->pool);
        kolk_shared_free(&f->mine, f->objects[0]); /* the sleeper was a waiter at the shutdown, however late it runs */
        assert_null(woken(&one));
        assert_ptr_equal(kolk_shared_alloc_wait(&f->mine, KOLK_FOREVER), f->objects[0]);
        serve_one(f, 0);
    }
    assert_int_equal(stats_of(f).waits, 40);
    end_full(f);
}

/* ---- Signals and forks ------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t signals_seen;

static void note_signal(int number) {
    signals_seen++;
}

/* Interrupts the thread repeatedly while it waits. */
static void interrupt(const sleeper *one) {
    int before = signals_seen;
    assert_int_equal(pthread_kill(one->thread, SIGUSR1), 0);
    while (signals_seen == before && waiting(one->f)) nap();
}

static void test_signals_disturb_nobody(void **state) {
    skip_on_windows();
    struct sigaction action = {.sa_handler = note_signal}, before;
    full_pool *f = make_small();
    sleeper one;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    start_sleeper(&one, f, KOLK_FOREVER);
    for (int i = 0; i < 20; i++) interrupt(&one);
    assert_int_equal(waiting(f), 1);
    kolk_shared_free(&f->mine, f->objects[0]);
    assert_ptr_equal(woken(&one), f->objects[0]);
    kolk_deadline deadline = kolk_deadline_after(50); /* not extended by signals */
    start_sleeper_before(&one, f, deadline, deadline);
    while (kolk_now_ns_() < deadline.ns && waiting(f)) interrupt(&one);
    assert_null(woken(&one));
    assert_true(kolk_now_ns_() >= deadline.ns);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    end_full(f);
}

/* The parent's waiters are not in the child's wait queue. */
static void test_a_child_goes_on(void **state) {
    skip_on_windows();
    skip_if_emulated(); /* qemu's own threads do not survive a fork */
    full_pool *f = make_small();
    sleeper one;
    start_sleeper(&one, f, KOLK_FOREVER);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        END_IF_IT_HANGS();
        if (stats_of(f).waiting) _exit(2);
        kolk_shared_free(&f->mine, f->objects[0]);
        bool found = kolk_shared_alloc(&f->other) == f->objects[0];
        serve_one(f, 1);
        _exit(found && kolk_shared_is_valid(&f->pool) ? 0 : 1);
    }
    await_child(child);
    assert_int_equal(waiting(f), 1);
    kolk_shared_free(&f->mine, f->objects[0]);
    assert_ptr_equal(woken(&one), f->objects[0]);
    end_full(f);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_a_deadline_is_kept),
        TEST(test_now_does_not_wait_in_line),
        TEST(test_debug_mode),
        TEST(test_first_come_first_served),
        TEST(test_who_has_one_does_not_wait),
        TEST(test_growth_serves),
        TEST(test_a_wake_that_serves_is_no_look),
        TEST(test_a_burial_serves),
        TEST(test_a_wait_that_is_none),
        TEST(test_direct_from_null_on),
        TEST(test_direct_while_somebody_waits),
        TEST(test_all_who_wait_are_woken),
        TEST(test_what_goes_on_after_a_shutdown),
        TEST(test_reopen),
        TEST(test_signals_disturb_nobody),
        TEST(test_a_child_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
