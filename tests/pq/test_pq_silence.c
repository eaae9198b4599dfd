/* runs: long not:clang */
/* Silent servers and network paths, and the pool's threads that wait for them. No time is measured here: if a call
 * waited until its deadline, the test would exceed its own time limit. */
#include "proxy.h"

/* The time limit of all calls that could hang. */
#define NEVER_MS INT64_C(3600000)

/* Accepts a listener's next connection, to which nobody will answer. */
static int next_guest(int listener) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(fd >= 0);
    return fd;
}

/* Waits until the first moment of a connect is over. From then on, other code of the adapter waits. */
static void pass_first_moments(void) {
    nap_ms(150);
}

/* Waits until the client hangs up. */
static void await_end_of(int guest) {
    char bytes[1024];
    while (recv(guest, bytes, sizeof bytes, 0) > 0) {}
    close(guest);
}

static void make_silent_db(kolk_pq *db, kolk_resource_pool_desc pool, int *listener) {
    int port;
    *listener = listen_somewhere(100, &port);
    pool.create_timeout_ms = -1;
    make_db(db, &(kolk_pq_desc){.conninfo = conninfo_of(port, "alice"), .pool = pool});
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

static void test_deinit(void **state) {
    kolk_pq db;
    int listener, guests[2], fds = count_own("/proc/self/fd");
    make_silent_db(&db, (kolk_resource_pool_desc){.max = 2, .min_idle = 2}, &listener);
    for (int i = 0; i < 2; i++) guests[i] = next_guest(listener);
    pass_first_moments();
    kolk_pq_deinit(&db);
    for (int i = 0; i < 2; i++) await_end_of(guests[i]);
    close(listener);
    assert_int_equal(count_own("/proc/self/fd"), fds);
}

static void test_evict(void **state) {
    kolk_pq db;
    int listener;
    make_silent_db(&db, (kolk_resource_pool_desc){.max = 1, .min_idle = 1}, &listener);
    int first = next_guest(listener);
    pass_first_moments();
    kolk_resource_evict(&db.pool);
    await_end_of(first);
    int second = next_guest(listener); /* there is room for it now */
    kolk_pq_deinit(&db);
    await_end_of(second);
    close(listener);
}

/* A borrow ends at its deadline, but the pool goes on connecting, for the next borrow. */
static void test_deadline_while_connecting(void **state) {
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_resource_pool_stats stats;
    int listener;
    make_silent_db(&db, (kolk_resource_pool_desc){.max = 1}, &listener);
    do { /* a busy machine may not even begin to connect in the first 20 ms */
        assert_int_equal(borrow_within(&db, 20, &borrow), KOLK_TIMEOUT);
        assert_int_equal(borrow.error.code, 0); /* nothing has failed */
        kolk_resource_stats(&db.pool, &stats);
    } while (stats.creating == 0);
    int guest = next_guest(listener);
    assert_int_equal(stats.create_failures, 0);
    kolk_pq_deinit(&db);
    await_end_of(guest);
    close(listener);
}

/* ---- Lost paths -------------------------------------------------------------------------------------------------- */

/* Idle connections lose their network path without notice. The next borrow gets a new connection: right away if the
 * pool may have more connections, otherwise when patience_ms has passed for an old one. */
static void test_lost_path(void **state) {
    skip_without_server();
    enum { IDLE = 4 };
    for (int room = 0; room < 2; room++) {
        kolk_pq db;
        kolk_borrowed borrows[IDLE];
        start_proxy();
        make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(proxy.port, "postgres"),
                                     .pool = {.max = (uint32_t)(IDLE + room), .create_timeout_ms = -1},
                                     .ask_after_ms = 1,
                                     .patience_ms = room ? NEVER_MS : 50});
        for (int i = 0; i < IDLE; i++) borrow_or_fail(&db, &borrows[i]);
        for (int i = 0; i < IDLE; i++) kolk_resource_give_back(&db.pool, &borrows[i]);
        set_proxy(LOSE);
        set_proxy(PASS_ON);
        borrow_or_fail(&db, &borrows[0]);
        assert_int_equal(number_of(&borrows[0], "SELECT 3"), 3);
        kolk_resource_give_back(&db.pool, &borrows[0]);
        assert_true(kolk_resource_is_valid(&db.pool));
        stop_proxy(); /* releases the threads that still wait */
        kolk_pq_deinit(&db);
    }
}

/* Discards in the middle of a query, so that the server must be asked to cancel it. */
static void test_discard(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    start_proxy();
    make_db(&db,
            &(kolk_pq_desc){.conninfo = conninfo_of(proxy.port, "postgres"), .pool.max = 1, .patience_ms = NEVER_MS});
    borrow_or_fail(&db, &borrow);
    set_proxy(LOSE);
    assert_true(PQsendQuery(kolk_pq_conn(&borrow), "SELECT 1"));
    kolk_resource_discard(&db.pool, &borrow);
    kolk_resource_pool_stats stats = {0};
    for (; stats.discarded == 0; nap_ms(1)) kolk_resource_stats(&db.pool, &stats); /* until a maker has begun */
    kolk_pq_deinit(&db);
    stop_proxy();
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deinit),
        cmocka_unit_test(test_evict),
        cmocka_unit_test(test_deadline_while_connecting),
        cmocka_unit_test(test_lost_path),
        cmocka_unit_test(test_discard),
    };
    return cmocka_run_group_tests_name("pq_silence", tests, make_server, remove_server);
}
