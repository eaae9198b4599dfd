/* runs: long not:qemu not:wine with: KOLK_CHAOS=1 wraps: help/watched_syscall.h */
/* The cost of a thread's first use of a heap, of a switch between heaps, and of its end depends neither on the number
 * of threads nor on the number of heaps. Cost is counted in atomic operations and in queries to the system whether a
 * thread is alive. */
#include "../help/test.h"

#include "../help/run_threads.h"
#include "../help/watched_syscall.h"
#include "heap/heap_inside.h"
#include "heap_test.h"

#include <pthread.h>
#include <semaphore.h>

enum { MANY = 200, HEAPS = 40 };

static uint64_t steps, questions;

void kolk_chaos_(void) {
    __atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED);
}

static void watch_syscall(long number, long first) {
    if (number == SYS_tgkill) __atomic_add_fetch(&questions, 1, __ATOMIC_RELAXED);
}

static kolk_heap heaps[HEAPS];

static void make_heaps(unsigned n) {
    for (unsigned i = 0; i < n; i++) make_heap(&heaps[i], &(kolk_heap_desc){.name = "many", .limit = 1 << 24});
}

static void end_heaps(unsigned n) {
    for (unsigned i = 0; i < n; i++) end_heap(&heaps[i]);
}

/* ---- Threads, one step at a time --------------------------------------------------------------------------------- */

typedef struct life {
    pthread_t thread;
    sem_t begun, may_end;
    unsigned from, heaps;
    uint64_t start, change, end; /* in steps */
} life;

static void use(unsigned n) {
    void *block = kolk_heap_alloc(&heaps[n], 100);
    REQUIRE(block);
    kolk_heap_free(&heaps[n], block);
}

static void *live(void *argument) {
    life *it = (life *)argument;
    uint64_t before = steps;
    for (unsigned n = it->from; n < it->from + it->heaps; n++) use(n);
    it->start = steps - before;
    before = steps;
    for (unsigned n = it->from; n < it->from + it->heaps; n++) use(n);
    it->change = steps - before;
    sem_post(&it->begun);
    while (sem_wait(&it->may_end) != 0) {}
    return NULL;
}

/* Starts a thread that uses `n` heaps, from number `from` on. */
static void start_life(life *it, unsigned from, unsigned n) {
    it->from = from;
    it->heaps = n;
    REQUIRE(sem_init(&it->begun, 0, 0) == 0 && sem_init(&it->may_end, 0, 0) == 0);
    pthread_attr_t small;
    REQUIRE(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 18) == 0);
    REQUIRE(pthread_create(&it->thread, &small, live, it) == 0);
    while (sem_wait(&it->begun) != 0) {}
    pthread_attr_destroy(&small);
}

static void end_life(life *it) {
    uint64_t before = steps;
    sem_post(&it->may_end);
    REQUIRE(pthread_join(it->thread, NULL) == 0);
    it->end = steps - before;
}

#define FEW 3 /* the first threads also make classes */

/* From now on, no class of this heap sweeps when it grows. */
static void keep_from_sweeping(unsigned n) {
    heaps[n].inside->swept = INT64_MAX;
}

static void assert_alike(uint64_t now, uint64_t then) {
    assert_in_range(now, 0, then + 20);
}

static void test_many_threads(void **state) {
    static life lives[MANY];
    make_heaps(10);
    questions = 0;
    for (unsigned n = 0; n < MANY; n++) {
        start_life(&lives[n], 0, 10);
        for (unsigned i = 0; n == 0 && i < 10; i++) keep_from_sweeping(i);
    }
    assert_in_range(questions, 0, 10 * 3 * MANY); /* each thread has used 10 heaps for the first time */
    for (unsigned n = FEW; n < MANY; n++) {
        assert_in_range(lives[n].start, 0, 3 * lives[FEW].start); /* now and then a class grows */
        assert_alike(lives[n].change, lives[FEW].change);
    }
    for (unsigned n = 0; n < MANY; n++) assert_int_equal(heaps[n % 10].inside->records, MANY);
    for (unsigned n = MANY; n-- > 0;) end_life(&lives[n]);
    for (unsigned n = FEW; n < MANY; n++) assert_alike(lives[n].end, lives[FEW].end);
    questions = 0; /* the next threads take over released records without a query */
    for (unsigned n = 0; n < MANY; n++) start_life(&lives[n], 0, 10);
    assert_int_equal(questions, 0);
    for (unsigned n = 0; n < MANY; n++) end_life(&lives[n]);
    for (unsigned n = 0; n < 10; n++) assert_int_equal(heaps[n].inside->records, MANY);
    end_heaps(10);
}

/* With many heaps a thread pays only for those that it uses. promise: "depends on the number of threads or heaps" */
static void test_many_heaps(void **state) {
    life one;
    uint64_t start = 0, change = 0, end = 0;
    make_heaps(HEAPS);
    for (unsigned from = 0; from < HEAPS; from++) {
        for (unsigned n = 0; n < 2; n++) { /* the first thread makes the class */
            start_life(&one, from, 1);
            keep_from_sweeping(from);
            end_life(&one);
        }
        if (from == 0) start = one.start, change = one.change, end = one.end;
        assert_alike(one.start, start);
        assert_alike(one.change, change);
        assert_alike(one.end, end);
    }
    end_heaps(HEAPS);
}

/* ---- Threads that end unnoticed ---------------------------------------------------------------------------------- */

static pthread_key_t last_key;

static void use_in_last_round(void *argument) {
    use(0);
    REQUIRE(pthread_setspecific(last_key, argument) == 0); /* set again, as often as the system calls the destructor */
}

static void *end_late(void *unused) {
    use(0);
    REQUIRE(pthread_setspecific(last_key, &last_key) == 0);
    return NULL;
}

/* Records of threads that ended unnoticed are reclaimed: there are never many more records than threads. */
static void test_late_ends(void **state) {
    enum { ALIVE = 50 };
    static life lives[ALIVE];
    if (UNDER_TSAN) skip(); /* TSan considers a thread ended before its last round of destructors */
    make_heaps(1);
    use(0); /* so that kolk's key is the older one */
    assert_int_equal(pthread_key_create(&last_key, use_in_last_round), 0);
    for (unsigned n = 0; n < ALIVE; n++) start_life(&lives[n], 0, 1);
    questions = 0;
    for (unsigned n = 0; n < 4 * MANY; n++) run_thread(end_late, NULL);
    assert_in_range(heaps[0].inside->records, 2 + ALIVE, 10 + ALIVE * 3 / 2);
    assert_in_range(questions, 1, 4 * MANY * 4);
    for (unsigned n = 0; n < ALIVE; n++) end_life(&lives[n]);
    assert_int_equal(pthread_key_delete(last_key), 0);
    end_heaps(1);
}

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_threads), cmocka_unit_test(test_many_heaps),
                                       cmocka_unit_test(test_late_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
