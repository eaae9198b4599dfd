/* runs: long once with: KOLK_CHAOS=1 */
/* The process forks before every atomic operation of another thread's work on a shared pool. In each child the forking
 * thread continues with its local, and as many other locals can be made as before. Live objects stay alive. Each free
 * slot can be allocated once, except those that the other thread was just moving, which are at most a magazine. No
 * thread hangs. The parent is not affected. */
#include "../help/test.h"

#include "forks.h"
#include "os/thread.h"

#include <time.h>

enum { THREADS = 3, CAPACITY = 200, MOST = 1000 };

static void *objects[MOST];
static uint32_t most_lost;

/* ---- What is true in the child ----------------------------------------------------------------------------------- */

static bool was_alive[MOST], is_mine[MOST];

static void *object_of(uint32_t slot) {
    return pool.slots + (size_t)slot * pool.stride;
}

/* Allocates all free slots. Each is handed out once, and no slot that was alive is. */
static uint32_t take_all(kolk_shared_local *local) {
    uint32_t n = 0;
    memset(is_mine, 0, sizeof is_mine);
    for (void *object; (object = kolk_shared_alloc(local)); n++) {
        uint32_t slot = slot_of(&pool, object);
        REQUIRE(slot < all_slots(&pool));
        REQUIRE(!was_alive[slot]);
        REQUIRE(!is_mine[slot]);
        is_mine[slot] = true;
    }
    return n;
}

static void give_all(kolk_shared_local *local) {
    for (uint32_t slot = 0; slot < all_slots(&pool); slot++)
        if (is_mine[slot]) kolk_shared_free(local, object_of(slot));
}

static void check_alive(uint32_t alive) {
    for (uint32_t slot = 0; slot < all_slots(&pool); slot++) {
        const void *object = object_of(slot);
        REQUIRE(kolk_shared_is_live(&pool, object) == was_alive[slot]);
        alive -= was_alive[slot];
    }
    REQUIRE(alive == 0);
}

static void *work(void *argument) {
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, &pool) == KOLK_OK);
    for (int i = 0; i < 10; i++) {
        void *object = kolk_shared_alloc_wait(&local, KOLK_FOREVER);
        REQUIRE(object);
        kolk_shared_free(&local, object);
    }
    kolk_shared_local_deinit(&local);
    return NULL;
}

static uint32_t count_alive(void) {
    uint32_t alive = 0;
    for (uint32_t slot = 0; slot < all_slots(&pool); slot++)
        alive += was_alive[slot] = kolk_shared_is_live(&pool, object_of(slot));
    return alive;
}

static void live_on(uint32_t alive) {
    kolk_shared_local made[THREADS];
    END_IF_IT_HANGS();
    if (current->a_third) alive = count_alive(); /* the third thread may have continued after the parent counted */
    check_alive(alive);
    kolk_shared_free(&mine, kolk_shared_alloc(&mine)); /* the alloc may return NULL if the others hold all objects */
    for (unsigned i = 1; i < THREADS; i++) REQUIRE(kolk_shared_local_init(&made[i], &pool) == KOLK_OK);
    REQUIRE(kolk_shared_local_init(&made[0], &pool) == KOLK_TOO_MANY_THREADS);
    made[0] = mine;
    for (unsigned n = 0; n < 5 * THREADS; n++) kolk_shared_quiesce(&made[n % THREADS]);
    for (unsigned i = 1; i < THREADS; i++) kolk_shared_local_deinit(&made[i]);
    uint32_t got = take_all(&mine);
    REQUIRE(alive + got <= all_slots(&pool));
    uint32_t lost = all_slots(&pool) - alive - got;
    if (lost > most_lost) most_lost = lost;
    REQUIRE(lost <= pool.inside->store.depot.cache + current->a_third);
    REQUIRE(lost || kolk_shared_is_valid(&pool));
    give_all(&mine);
    check_alive(alive);
    REQUIRE(take_all(&mine) == got);
    give_all(&mine);
    kolk_shared_local_flush(&mine);
    if (got) run_threads(2, work, NULL, 0);
    for (unsigned n = 0; n < 3; n++) kolk_shared_quiesce(&mine);
    REQUIRE(take_all(&mine) == got);
    kolk_shared_deinit(&pool);
    _exit(lost < 255 ? (int)lost : 255);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static void fork_now(void) {
    if (current->takes) kolk_shared_free(&mine, kolk_shared_alloc(&mine));
    uint32_t lost = (uint32_t)fork_and_live(live_on, count_alive());
    if (lost > most_lost) most_lost = lost;
}

static void check_parent(void) {
    assert_true(kolk_shared_is_valid(&pool));
    kolk_shared_local_deinit(&others);
    for (unsigned n = 0; n < 5; n++) kolk_shared_quiesce(&mine);
    uint32_t alive = count_alive();
    assert_int_equal(alive + take_all(&mine), all_slots(&pool));
    assert_true(kolk_shared_is_valid(&pool));
}

static void fork_everywhere(const deed *what, uint32_t cache, bool can_grow) {
    bool more = true;
    unsigned apart = steps_apart(), forks = 0;
    current = what;
    most_lost = 0;
    for (step = first_step(); more; step += apart, forks++) {
        make_shared(&pool, &(kolk_shared_desc){.name = "forks",
                                               .object_size = can_grow ? 512 : 8,
                                               .capacity = can_grow ? 8 : CAPACITY,
                                               .max_capacity = CAPACITY,
                                               .max_threads = THREADS,
                                               .cache = cache});
        make_local(&mine, &pool);
        more = fork_at_step(fork_now);
        check_parent();
        kolk_shared_deinit(&pool);
    }
    print_message("%s, cache %u: %u forks, at most %u lost\n", what->name, cache, forks - 1, most_lost);
}

/* ---- Actions of the other thread --------------------------------------------------------------------------------- */

static void hold(uint32_t n) {
    while (held < n) REQUIRE(objects[held++] = kolk_shared_alloc(&others));
}

static void drop(uint32_t n) {
    while (n--) kolk_shared_free(&others, objects[--held]);
}

static void hold_many(void) {
    hold(150);
}

static void hold_all(void) {
    hold(all_slots(&pool));
}

/* Allocates all slots in committed memory. */
static void hold_usable(void) {
    while (pool.inside->store.depot.fresh < pool.inside->store.depot.usable || others.magazine->top) hold(held + 1);
}

static void some_at_home(void) {
    hold(150);
    drop(100);
    kolk_shared_local_flush(&others);
}

static void be_full(void) {
    hold(150);
    drop(50);
    while (others.magazine->top < pool.inside->store.depot.cache) drop(1);
}

static void be_direct(void) {
    hold_all();
    REQUIRE(!kolk_shared_alloc(&others));
}

static void take_one(void) {
    objects[held] = kolk_shared_alloc(&others);
    held += objects[held] != NULL;
}

static void drop_one(void) {
    drop(1);
}

static void flush(void) {
    kolk_shared_local_flush(&others);
}

static void deinit(void) {
    kolk_shared_local_deinit(&others);
}

static void free_one_later(void) {
    kolk_shared_free_later(&others, objects[--held]);
}

static void free_one_later_offline(void) {
    kolk_shared_offline(&others);
    free_one_later();
    kolk_shared_online(&others);
}

static void retire_many(void) {
    kolk_shared_offline(&mine);
    hold_all();
    for (unsigned n = 0; n < 100; n++) free_one_later();
}

static void quiesce_thrice(void) {
    for (int i = 0; i < 3; i++) kolk_shared_quiesce(&others);
}

static void wait_in_vain(void) {
    REQUIRE(!kolk_shared_alloc_wait(&others, kolk_deadline_after(1)));
}

static void wait_for_one(void) {
    drop(1);
    objects[held++] = kolk_shared_alloc_wait(&others, kolk_deadline_after(100000));
    REQUIRE(objects[held - 1]);
}

static void *die_with_full_magazine(void *number) {
    kolk_shared_local local;
    void *some[100];
    *(uint32_t *)number = kolk_thread_();
    REQUIRE(kolk_shared_local_init(&local, &pool) == KOLK_OK);
    for (int i = 0; i < 100; i++) REQUIRE(some[i] = kolk_shared_alloc(&local));
    for (int i = 0; i < 100; i++) kolk_shared_free(&local, some[i]);
    return NULL;
}

/* The preparing thread deinitialises its local, so that a second thread can make one. */
static void let_one_die(void) {
    uint32_t number;
    kolk_shared_local_deinit(&others);
    run_thread(die_with_full_magazine, &number);
    while (!kolk_thread_is_gone_(number)) usleep(100); /* may take a moment */
}

static void init(void) {
    REQUIRE(kolk_shared_local_init(&others, &pool) == KOLK_OK);
}

static void own(void) {
    REQUIRE(kolk_shared_local_of_thread(&pool));
}

static pthread_t in_line;

static void *wait_in_line(void *unused) {
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, &pool) == KOLK_OK);
    void *object = kolk_shared_alloc_wait(&local, KOLK_FOREVER);
    REQUIRE(object);
    kolk_shared_local_deinit(&local);
    return NULL;
}

static void let_one_wait(void) {
    hold_all();
    REQUIRE(pthread_create(&in_line, NULL, wait_in_line, NULL) == 0);
    while (!__atomic_load_n(&pool.inside->store.depot.waiting, __ATOMIC_SEQ_CST)) usleep(100);
    usleep(1000);
}

static void serve(void) {
    drop(1);
    can_be_stopped = false;
    REQUIRE(pthread_join(in_line, NULL) == 0);
}

static const deed deeds[] = {
    {"alloc of fresh slots", NULL, take_one, false, false},
    {"alloc of slots at home", some_at_home, take_one, true, false},
    {"alloc when there is none", hold_all, take_one, false, false},
    {"free to a full magazine", be_full, drop_one, true, false},
    {"free in a direct pool", be_direct, drop_one, true, false},
    {"flush", be_full, flush, true, false},
    {"deinit", be_full, deinit, true, false},
    {"init after a death", let_one_die, init, true, false},
    {"of_thread after a death", let_one_die, own, true, false},
    {"free_later", hold_many, free_one_later, true, false},
    {"free_later offline", hold_many, free_one_later_offline, true, false},
    {"quiesce", retire_many, quiesce_thrice, true, false},
    {"a wait in vain", hold_all, wait_in_vain, false, false},
    {"a wait", hold_all, wait_for_one, false, false},
    {"a free that serves", let_one_wait, serve, false, true},
};

static const deed grows = {"alloc that grows the pool", hold_usable, take_one, false, false};

/* promise: "middle of one stops no other thread", "a child can ... threads are lost" */
static void test_each_step(void **state) {
    static const uint32_t caches[] = {1, 5, 64};
    for (size_t i = 0; i < LENGTH_OF(deeds); i++)
        for (size_t c = 0; c < LENGTH_OF(caches); c++) fork_everywhere(&deeds[i], caches[c], false);
    for (size_t c = 0; c < LENGTH_OF(caches); c++) fork_everywhere(&grows, caches[c], true);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {TEST(test_each_step)};
    return cmocka_run_group_tests(tests, make_semaphores, NULL);
}
