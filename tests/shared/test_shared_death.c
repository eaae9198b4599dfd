/* runs: not:qemu */
/* A shared pool whose threads end without kolk_shared_local_deinit, on their own or because a process forks; of_thread
 * locals; and all of this under a storm of signals. Forks at each single step are in test_shared_forks.c. Reads
 * KOLK_TEST_SEED and KOLK_TEST_OPS (the number of forks, and of signals) from the environment. */
#include "../queue/queue_test.h"

#include "../help/child.h"
#include "shared_test.h"

#include <limits.h>

#ifndef FORKS
#define FORKS 60
#endif

enum { MOST = 600 };

/* ThreadSanitizer supports neither threads in the child of a fork nor the end of the first thread. */
static void skip_under_tsan(void) {
#if UNDER_TSAN
    print_message("left out: under ThreadSanitizer\n");
    skip();
#endif
}

/* Runs the body in a child, which must exit with 0. */
static void run_in_child(void (*body)(void)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        END_IF_IT_HANGS();
        body();
        _exit(0);
    }
    await_child(child);
}

static uint32_t take_all(kolk_shared_local *local, void **objects) {
    uint32_t n = 0;
    while (n < MOST && (objects[n] = kolk_shared_alloc(local))) n++;
    return n;
}

/* ---- Threads that end without a deinit --------------------------------------------------------------------------- */

typedef struct death {
    kolk_shared pool;
    kolk_shared_local local;
    uint32_t n, keeps;
    void *objects[MOST];
    bool online;
} death;

/* The thread ends without a deinit: its free slots stay in its magazine and the depot. */
static void *die(void *argument) {
    death *d = (death *)argument;
    REQUIRE(kolk_shared_local_init(&d->local, &d->pool) == KOLK_OK);
    for (uint32_t i = 0; i < d->n; i++) REQUIRE(d->objects[i] = kolk_shared_alloc(&d->local));
    for (uint32_t i = 0; i < d->keeps; i++) *(uint32_t *)d->objects[i] = i;
    for (uint32_t i = d->keeps; i < d->n; i++) kolk_shared_free(&d->local, d->objects[i]);
    return NULL;
}

/* The next thread takes over the dead thread's keeper. It can allocate all free slots, and free the objects that are
 * still alive. promise: "ended without a deinit do not count" */
static void test_one_after_another(void **state) {
    static death d;
    static const uint32_t caches[] = {1, 2, 5, 64, 100};
    for (unsigned kind = 0; kind < 20; kind++) {
        make_shared(&d.pool, &(kolk_shared_desc){.object_size = 8,
                                                 .capacity = 120,
                                                 .max_threads = 1 + kind % 2,
                                                 .cache = caches[kind / 4],
                                                 .generations = kind / 2 % 2 ? KOLK_GENERATIONS_NONE : 0});
        kolk_shared_local other;
        uint32_t all = all_slots(&d.pool);
        if (kind % 2) make_local(&other, &d.pool);
        for (unsigned n = 0; n < 30; n++) {
            d.n = all;
            d.keeps = n;
            run_thread(die, &d);
            assert_true(kolk_shared_is_valid(&d.pool));
            assert_int_equal(kolk_shared_count(&d.pool), n);
            kolk_shared_local next;
            make_local(&next, &d.pool);
            assert_true(kolk_shared_is_valid(&d.pool));
            void *objects[MOST];
            assert_int_equal(take_all(&next, objects), all - n);
            for (uint32_t i = 0; i < n; i++) {
                assert_int_equal(*(uint32_t *)d.objects[i], i);
                kolk_shared_free(kind % 2 ? &other : &next, d.objects[i]);
            }
            for (uint32_t i = 0; i < all - n; i++) kolk_shared_free(&next, objects[i]);
            assert_int_equal(kolk_shared_count(&d.pool), 0);
            kolk_shared_local_deinit(&next);
            if (kind % 2) kolk_shared_local_flush(&other);
            assert_true(kolk_shared_is_valid(&d.pool));
        }
        end_shared(&d.pool);
    }
}

static kolk_shared of_child;
static pthread_t first_thread;

static void *go_on_without_the_first(void *unused) {
    kolk_shared_local local;
    REQUIRE(pthread_join(first_thread, NULL) == 0);
    REQUIRE(kolk_shared_local_init(&local, &of_child) == KOLK_OK);
    for (int i = 0; i < 10; i++) REQUIRE(kolk_shared_alloc(&local));
    REQUIRE(!kolk_shared_alloc(&local));
    _exit(0);
}

static void end_the_first_thread(void) {
    kolk_shared_local local;
    pthread_t thread;
    REQUIRE(kolk_shared_init(&of_child, &(kolk_shared_desc){.object_size = 8, .capacity = 10, .max_threads = 1}) == 0);
    REQUIRE(kolk_shared_local_init(&local, &of_child) == KOLK_OK);
    kolk_shared_free(&local, kolk_shared_alloc(&local));
    first_thread = pthread_self();
    REQUIRE(pthread_create(&thread, NULL, go_on_without_the_first, NULL) == 0);
    pthread_exit(NULL);
}

/* The system lists the process's first thread as long as the process lives. */
static void test_the_first_thread_of_a_process(void **state) {
    skip_on_windows(); /* the process ends with it */
    skip_under_tsan();
    run_in_child(end_the_first_thread);
}

/* A thread that dies online delays the return of retired slots, but not for ever.
 * promise: "may wait there for some 1,000 calls of quiesce", "Every 1024th time that a thread finds another" */
static void test_death_online(void **state) {
    static death d;
    make_shared(&d.pool, &(kolk_shared_desc){.object_size = 8, .capacity = 10, .max_threads = 2, .cache = 3});
    kolk_shared_local local;
    make_local(&local, &d.pool);
    d.n = d.keeps = 5;
    run_thread(die, &d);
    for (int i = 0; i < 5; i++) kolk_shared_free_later(&local, d.objects[i]);
    uint32_t quiesces = 0;
    void *objects[MOST];
    for (uint32_t got = take_all(&local, objects); got < all_slots(&d.pool); got += take_all(&local, objects)) {
        for (int i = 0; i < 10; i++, quiesces++) kolk_shared_quiesce(&local);
        assert_true(quiesces < 10000);
    }
    end_shared(&d.pool);
}

static uint32_t is_online;

static void *die_online(void *pool) {
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, (kolk_shared *)pool) == KOLK_OK);
    __atomic_store_n(&is_online, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *die_when_one_waits(void *argument) {
    kolk_shared *pool = (kolk_shared *)argument;
    die_online(pool);
    while (!__atomic_load_n(&pool->inside->store.depot.waiting, __ATOMIC_SEQ_CST)) usleep(100);
    usleep(1000);
    return NULL;
}

/* A waiter is served even if a thread died online, before or during the wait, and no other thread quiesces.
 * promise: "one of the waiters checks whether they wait" */
static void test_a_waiter_behind_the_dead(void **state) {
    static void *(*const bodies[])(void *) = {die_online, die_when_one_waits};
    for (size_t n = 0; n < LENGTH_OF(bodies); n++) {
        kolk_shared pool;
        kolk_shared_local local;
        pthread_t thread;
        make_shared(&pool, &(kolk_shared_desc){.object_size = 16, .capacity = 1, .max_threads = 4});
        make_local(&local, &pool);
        is_online = 0;
        assert_int_equal(pthread_create(&thread, NULL, bodies[n], &pool), 0);
        while (!__atomic_load_n(&is_online, __ATOMIC_SEQ_CST)) usleep(100);
        kolk_shared_free_later(&local, kolk_shared_alloc(&local));
        kolk_shared_offline(&local);
        if (n == 0) { /* each wait is too short for a check for dead threads, but together they are long enough */
            unsigned waits = 0;
            while (!kolk_shared_alloc_wait(&local, kolk_deadline_after(100))) assert_true(++waits < 1000);
        } else {
            assert_non_null(kolk_shared_alloc_wait(&local, kolk_deadline_after(100000)));
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        kolk_shared_local_deinit(&local);
        kolk_shared_deinit(&pool);
    }
}

/* An alloc lowers `top` and begins a life with two stores that are not ordered. So when a thread dies, the second store
 * may be visible and the first not: then a live object is in its magazine. */
static void test_alive_in_a_magazine(void **state) {
    static death d;
    for (unsigned kind = 0; kind < 2; kind++) {
        make_shared(&d.pool, &(kolk_shared_desc){.object_size = 8,
                                                 .capacity = 100,
                                                 .max_threads = 1,
                                                 .cache = 5,
                                                 .generations = kind ? KOLK_GENERATIONS_NONE : 0});
        d.n = 8;
        d.keeps = 5;
        run_thread(die, &d);
        kolk_magazine_ *magazine = d.local.magazine;
        uint32_t slot = slot_of(&d.pool, d.objects[0]);
        *kolk_magazine_entry_(magazine, magazine->top++) = slot;
        kolk_shared_local next;
        make_local(&next, &d.pool);
        assert_true(kolk_shared_is_valid(&d.pool));
        assert_int_equal(kolk_shared_count(&d.pool), 5);
        void *objects[MOST];
        uint32_t got = take_all(&next, objects);
        assert_int_equal(got, all_slots(&d.pool) - 5);
        for (uint32_t i = 0; i < got; i++) assert_ptr_not_equal(objects[i], d.objects[0]);
        assert_int_equal(*(uint32_t *)d.objects[0], 0);
        kolk_shared_deinit(&d.pool);
    }
}

/* ---- A thread's own local ---------------------------------------------------------------------------------------- */

static kolk_shared pools[3];

static void make_pools(uint32_t max_threads) {
    for (size_t i = 0; i < LENGTH_OF(pools); i++)
        make_shared(&pools[i],
                    &(kolk_shared_desc){.object_size = 8, .capacity = 10, .max_threads = max_threads, .cache = 2});
}

static void end_pools(void) {
    for (size_t i = 0; i < LENGTH_OF(pools); i++) end_shared(&pools[i]);
}

static unsigned taken_members(const kolk_shared *pool) {
    unsigned n = 0;
    for (const kolk_keeper_ *keeper = (kolk_keeper_ *)pool->inside->keepers.first; keeper; keeper = keeper->next)
        n += keeper->taken;
    return n;
}

static void *use_own(void *argument) {
    kolk_shared_local *own[LENGTH_OF(pools)];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < LENGTH_OF(pools); i++) {
            kolk_shared_local *local = kolk_shared_local_of_thread(&pools[i]);
            REQUIRE(local && (round == 0 || local == own[i]));
            REQUIRE(local->pool == pools[i].inside);
            own[i] = local;
            kolk_shared_free(local, kolk_shared_alloc(local));
        }
    }
    if (argument) pthread_exit(argument);
    return NULL;
}

/* Each thread's locals are reclaimed when it ends. On Windows, the functions for that run under locks of the system.
 * promise: "Returns the calling ... thread-specific data" */
static void test_ends_at_the_same_time(void **state) {
    enum { THREADS = 8, ROUNDS = 50 };
    make_pools(THREADS);
    for (int round = 0; round < ROUNDS; round++) {
        run_threads(THREADS, use_own, round % 2 ? pools : NULL, 0);
        for (size_t i = 0; i < LENGTH_OF(pools); i++) assert_int_equal(taken_members(&pools[i]), 0);
    }
    end_pools();
}

static void *have_none(void *unused) {
    for (int i = 0; i < 3; i++) REQUIRE(!kolk_shared_local_of_thread(&pools[0]));
    REQUIRE(kolk_shared_local_of_thread(&pools[1]));
    return NULL;
}

static void test_no_more_than_max_threads(void **state) {
    make_pools(2);
    kolk_shared_local *own = kolk_shared_local_of_thread(&pools[0]), other;
    assert_non_null(own);
    make_local(&other, &pools[0]);
    run_thread(have_none, NULL);
    assert_ptr_equal(kolk_shared_local_of_thread(&pools[0]), own);
    kolk_shared_local_deinit(&other);
    run_thread(use_own, NULL);
    kolk_shared_local_deinit(own);
    end_pools();
}

/* A thread deinitialises its of_thread local itself, then gets a new one. */
static void test_deinit_by_hand(void **state) {
    make_pools(2);
    for (int i = 0; i < 10; i++) {
        kolk_shared_local *own = kolk_shared_local_of_thread(&pools[0]);
        assert_non_null(own);
        void *object = kolk_shared_alloc(own);
        assert_non_null(object);
        kolk_shared_local_deinit(own);
        assert_int_equal(taken_members(&pools[0]), 0);
        own = kolk_shared_local_of_thread(&pools[0]);
        assert_non_null(own);
        assert_true(kolk_shared_is_live(&pools[0], object));
        kolk_shared_free(own, object);
        kolk_shared_local_deinit(own);
        run_thread(use_own, NULL);
        assert_int_equal(taken_members(&pools[0]), 0);
    }
    end_pools();
}

/* The program has a thread-specific value of its own. Its destructor frees an object, before or after the local's
 * deinit. */
static pthread_key_t users_key;
static unsigned destructions;

static void free_at_threads_end(void *object) {
    kolk_shared_local *local = kolk_shared_local_of_thread(&pools[0]);
    REQUIRE(local);
    kolk_shared_free(local, object);
    destructions++;
}

static void *leave_an_object(void *unused) {
    kolk_shared_local *local = kolk_shared_local_of_thread(&pools[0]);
    REQUIRE(local);
    void *object = kolk_shared_alloc(local);
    REQUIRE(object);
    REQUIRE(pthread_setspecific(users_key, object) == 0);
    return NULL;
}

static void test_destructors_of_the_program(void **state) {
    for (int order = 0; order < 2; order++) {
        make_pools(1);
        destructions = 0;
        if (order == 0) assert_int_equal(pthread_key_create(&users_key, free_at_threads_end), 0);
        run_thread(use_own, NULL); /* creates the pools' keys */
        if (order == 1) assert_int_equal(pthread_key_create(&users_key, free_at_threads_end), 0);
        for (unsigned n = 1; n <= 20; n++) {
            run_thread(leave_an_object, NULL);
            assert_int_equal(destructions, n);
            assert_int_equal(kolk_shared_count(&pools[0]), 0);
            assert_int_equal(taken_members(&pools[0]), 0);
            assert_true(kolk_shared_is_valid(&pools[0]));
        }
        assert_int_equal(pthread_key_delete(users_key), 0);
        end_pools();
    }
}

static void test_no_keys_left(void **state) {
    skip_on_windows(); /* its keys do not run out */
    static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
    unsigned n = 0;
    make_pools(2);
    while (n <= PTHREAD_KEYS_MAX && pthread_key_create(&keys[n], NULL) == 0) n++;
    assert_true(n > 0 && n <= PTHREAD_KEYS_MAX);
    for (int i = 0; i < 5; i++) {
        assert_null(kolk_shared_local_of_thread(&pools[0])); /* a failed call takes no keeper */
        assert_int_equal(taken_members(&pools[0]), 0);
        assert_true(kolk_shared_is_valid(&pools[0]));
    }
    pthread_key_delete(keys[--n]);
    assert_non_null(kolk_shared_local_of_thread(&pools[0]));
    assert_null(kolk_shared_local_of_thread(&pools[1]));
    while (n > 0) pthread_key_delete(keys[--n]);
    assert_non_null(kolk_shared_local_of_thread(&pools[1]));
    end_pools();
    make_pools(2); /* the pools' keys were deleted with them */
    for (int i = 0; i < 2000; i++) {
        kolk_shared pool;
        make_shared(&pool, &(kolk_shared_desc){.object_size = 8, .capacity = 2});
        assert_non_null(kolk_shared_local_of_thread(&pool));
        kolk_shared_deinit(&pool);
    }
    end_pools();
}

static uint32_t made_own, pools_are_gone;

static void *outlive_the_pools(void *unused) {
    use_own(NULL);
    __atomic_add_fetch(&made_own, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&pools_are_gone, __ATOMIC_ACQUIRE)) nap();
    return NULL;
}

static void test_pools_that_end_before_their_threads(void **state) {
    pthread_t threads[4];
    made_own = pools_are_gone = 0;
    make_pools(4);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, outlive_the_pools, NULL), 0);
    while (__atomic_load_n(&made_own, __ATOMIC_ACQUIRE) < 4) nap();
    end_pools();
    make_pools(4); /* the new pools may get the same keys, but the threads' values belong to the old pools */
    assert_non_null(kolk_shared_local_of_thread(&pools[0]));
    __atomic_store_n(&pools_are_gone, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(taken_members(&pools[0]), 1);
    end_pools();
}

/* ---- Threads at work --------------------------------------------------------------------------------------------- */

typedef struct runner {
    kolk_shared *pool;
    uint64_t random;
    pthread_t thread;
    uint64_t *held[8];
    uint32_t holds;
    uint32_t number; /* starts from 1 */
} runner;

static bool over;

/* An object holds the number of the thread that may write to it, or 0 if none may. In the child of a fork the number is
 * unchanged. */
static void stamp(const runner *w, uint64_t *object) { /* NOLINT(readability-non-const-parameter): it is written */
    REQUIRE(__atomic_exchange_n(object, w->number, __ATOMIC_RELAXED) == 0);
}

static void give_back(const runner *w, uint64_t *object) { /* NOLINT(readability-non-const-parameter): it is written */
    REQUIRE(__atomic_exchange_n(object, 0, __ATOMIC_RELAXED) == w->number);
}

static void work_once(runner *w, kolk_shared_local *local) {
    uint32_t choice = random_below(&w->random, 32);
    if (choice < 14 && w->holds < LENGTH_OF(w->held)) {
        uint64_t *object =
            (uint64_t *)(choice < 2 ? kolk_shared_alloc_wait(local, kolk_deadline_after(1)) : kolk_shared_alloc(local));
        if (object) stamp(w, w->held[w->holds++] = object);
    } else if (choice < 26 && w->holds) {
        uint64_t *object = w->held[--w->holds];
        give_back(w, object);
        if (choice < 18)
            kolk_shared_free_later(local, object);
        else
            kolk_shared_free(local, object);
    } else if (choice == 26) {
        kolk_shared_local_flush(local);
    } else if (choice == 27) {
        kolk_shared_local_deinit(local);
        REQUIRE(kolk_shared_local_init(local, w->pool) == KOLK_OK);
    } else if (choice == 28) {
        kolk_shared_offline(local);
        kolk_shared_online(local);
    } else {
        kolk_shared_quiesce(local);
    }
}

static void *work(void *argument) {
    runner *w = (runner *)argument;
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, w->pool) == KOLK_OK);
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        work_once(w, &local);
        KOLK_CHAOS_HERE();
    }
    while (w->holds) {
        give_back(w, w->held[w->holds - 1]);
        kolk_shared_free(&local, w->held[--w->holds]);
    }
    kolk_shared_local_deinit(&local);
    return NULL;
}

static void start_workers(runner *workers, unsigned n, kolk_shared *pool, uint64_t *random) {
    over = false;
    for (unsigned i = 0; i < n; i++) {
        workers[i] = (runner){.pool = pool, .number = i + 1, .random = next_random(random)};
        REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
}

static void end_workers(runner *workers, unsigned n) {
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < n; i++) REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

enum { WORKERS = 4 };

static kolk_shared forked;
static kolk_shared_local forker;
static uint32_t may_be_lost; /* how many slots may have been on the move in threads that the forks left behind */

/* Every free slot can be allocated, once each, and no live one can. At most `may_be_lost` slots are missing. */
static void check_slots(void) {
    static bool was_alive[MOST];
    static void *objects[MOST];
    uint32_t all = all_slots(&forked), alive = 0;
    for (uint32_t i = 0; i < all; i++)
        alive += was_alive[i] = kolk_shared_is_live(&forked, forked.slots + i * forked.stride);
    uint32_t got = take_all(&forker, objects);
    REQUIRE(alive + got <= all);
    REQUIRE(alive + got + may_be_lost >= all);
    for (uint32_t i = 0; i < got; i++) {
        uint32_t slot = slot_of(&forked, objects[i]);
        REQUIRE(!was_alive[slot]);
        was_alive[slot] = true;
    }
    for (uint32_t i = 0; i < got; i++) {
        *(uint64_t *)objects[i] = 0; /* the dead thread may have been about to free it */
        kolk_shared_free(&forker, objects[i]);
    }
}

/* In a new process the forking thread continues, and new locals can be made. */
static void check_child(void) {
    kolk_shared_local locals[WORKERS];
    may_be_lost += WORKERS * forked.inside->store.depot.cache;
    kolk_shared_online(&forker);
    kolk_shared_free(&forker, kolk_shared_alloc(&forker));
    for (unsigned i = 0; i < WORKERS; i++) REQUIRE(kolk_shared_local_init(&locals[i], &forked) == KOLK_OK);
    for (unsigned n = 0; n < 5; n++) {
        kolk_shared_quiesce(&forker);
        for (unsigned i = 0; i < WORKERS; i++) kolk_shared_quiesce(&locals[i]);
    }
    for (unsigned i = 0; i < WORKERS; i++) kolk_shared_local_deinit(&locals[i]);
    check_slots();
}

/* The child has threads at work, and meanwhile forks children of its own. */
static _Noreturn void live_as_child(unsigned generations) {
    runner workers[2];
    for (;; generations--) {
        int status = 0;
        uint64_t random = seed + generations;
        END_IF_IT_HANGS();
        check_child();
        kolk_shared_offline(&forker);
        start_workers(workers, 2, &forked, &random);
        nap();
        pid_t child = generations > 1 ? fork() : -1;
        if (child == 0) continue;
        REQUIRE(child < 0 || (waitpid(child, &status, 0) == child && status == 0));
        end_workers(workers, 2);
        kolk_shared_online(&forker);
        for (unsigned n = 0; n < 5; n++) kolk_shared_quiesce(&forker);
        check_slots();
        kolk_shared_local_deinit(&forker);
        kolk_shared_deinit(&forked);
        _exit(0);
    }
}

static void fork_amid(const kolk_shared_desc *desc, uint64_t *random) {
    runner workers[WORKERS];
    make_shared(&forked, desc);
    make_local(&forker, &forked);
    kolk_shared_offline(&forker);
    may_be_lost = 0;
    start_workers(workers, WORKERS, &forked, random);
    for (uint64_t n = 0; n < operations / 6; n++) {
        for (uint32_t naps = random_below(random, 3); naps; naps--) nap();
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) live_as_child(n % 8 ? 1 : 3);
        await_child(child);
    }
    end_workers(workers, WORKERS);
    kolk_shared_online(&forker);
    for (unsigned n = 0; n < 5; n++) kolk_shared_quiesce(&forker);
    assert_true(kolk_shared_is_valid(&forked));
    assert_int_equal(kolk_shared_count(&forked), 0);
    check_slots(); /* the parent has lost nothing */
    kolk_shared_local_deinit(&forker);
    end_shared(&forked);
}

static void test_forks(void **state) {
    skip_on_windows(); /* no forks */
    skip_under_tsan();
    if (UNDER_ASAN) { /* its allocator has locks, which may be held at the moment of the fork */
        print_message("left out: under AddressSanitizer\n");
        skip();
    }
    uint64_t random = seed;
    static const uint32_t caches[] = {1, 5, 64};
    for (unsigned kind = 0; kind < 6; kind++)
        fork_amid(&(kolk_shared_desc){.object_size = kind % 2 ? 2048 : 8,
                                      .capacity = kind % 2 ? 4 : 30,
                                      .max_capacity = 30,
                                      .max_threads = WORKERS + 1,
                                      .cache = caches[kind / 2],
                                      .exact = kind == 2,
                                      .generations = kind == 3 ? KOLK_GENERATIONS_NONE : 0},
                  &random);
}

static void *use_own_of_forked(void *unused) {
    kolk_shared_local *own = kolk_shared_local_of_thread(&forked);
    REQUIRE(own);
    kolk_shared_free(own, kolk_shared_alloc(own));
    return NULL;
}

static void *have_own_for_long(void *unused) {
    use_own_of_forked(unused);
    __atomic_add_fetch(&made_own, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&pools_are_gone, __ATOMIC_ACQUIRE)) nap();
    return NULL;
}

/* A child keeps the of_thread local of the forking thread, but not those of other threads. */
static void use_own_in_child(void) {
    kolk_shared_local *own = kolk_shared_local_of_thread(&forked);
    REQUIRE(own && own->pool == forked.inside);
    kolk_shared_free(own, kolk_shared_alloc(own));
    for (int i = 0; i < 3; i++) run_thread(use_own_of_forked, NULL);
    REQUIRE(taken_members(&forked) == 1);
    kolk_shared_local_deinit(own);
    REQUIRE(taken_members(&forked) == 0 && kolk_shared_local_of_thread(&forked));
}

static void test_own_locals_in_a_child(void **state) {
    skip_on_windows(); /* no forks */
    skip_under_tsan();
    make_shared(&forked, &(kolk_shared_desc){.object_size = 8, .capacity = 6, .max_threads = 2});
    kolk_shared_local *own = kolk_shared_local_of_thread(&forked);
    assert_non_null(own);
    pthread_t thread;
    made_own = pools_are_gone = 0;
    assert_int_equal(pthread_create(&thread, NULL, have_own_for_long, NULL), 0);
    while (!__atomic_load_n(&made_own, __ATOMIC_ACQUIRE)) nap();
    run_in_child(use_own_in_child);
    assert_ptr_equal(kolk_shared_local_of_thread(&forked), own);
    __atomic_store_n(&pools_are_gone, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, NULL), 0);
    kolk_shared_local_deinit(own);
    end_shared(&forked);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static void on_signal(int number) {}

/* Interrupted system calls are resumed, even without SA_RESTART. */
static void test_a_storm_of_signals(void **state) {
    skip_on_windows(); /* no signals for other threads */
    struct sigaction before, mine = {.sa_handler = on_signal};
    runner workers[WORKERS];
    uint64_t random = seed;
    kolk_shared pool;
    assert_int_equal(sigaction(SIGUSR1, &mine, &before), 0);
    for (int kind = 0; kind < 2; kind++) {
        make_shared(&pool, &(kolk_shared_desc){.object_size = 2048,
                                               .capacity = 2,
                                               .max_capacity = kind ? 40 : 12,
                                               .max_threads = WORKERS,
                                               .cache = kind ? 5 : 1});
        start_workers(workers, WORKERS, &pool, &random);
        for (uint64_t n = 0; n < operations * 30; n++) {
            assert_int_equal(pthread_kill(workers[n % WORKERS].thread, SIGUSR1), 0);
            if (n % 16 == 0) nap();
        }
        end_workers(workers, WORKERS);
        assert_int_equal(kolk_shared_count(&pool), 0);
        end_shared(&pool);
    }
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

int main(void) {
    begin_random_work(FORKS);
    const struct CMUnitTest tests[] = {
        TEST(test_one_after_another),
        TEST(test_the_first_thread_of_a_process),
        TEST(test_death_online),
        TEST(test_a_waiter_behind_the_dead),
        TEST(test_alive_in_a_magazine),
        TEST(test_ends_at_the_same_time),
        TEST(test_no_more_than_max_threads),
        TEST(test_deinit_by_hand),
        TEST(test_destructors_of_the_program),
        TEST(test_no_keys_left),
        TEST(test_pools_that_end_before_their_threads),
        TEST(test_forks),
        TEST(test_own_locals_in_a_child),
        TEST(test_a_storm_of_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
