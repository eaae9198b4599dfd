/* runs: long not:clang wraps: poll */
/* The state that one borrower leaves to the next, what becomes of prepared statements, and how long the pool itself
 * waits for the server. */
#include "proxy.h"

#include "pq_inside.h"

static void open_db(kolk_pq *db, kolk_pq_desc desc) {
    desc.pool.max = 1;
    if (!desc.conninfo) desc.conninfo = conninfo_of(0, "postgres");
    make_db(db, &desc);
}

static int process_of(const kolk_borrowed *borrow) {
    return PQbackendPID(kolk_pq_conn(borrow));
}

/* Returns the connection and borrows it again, as the next borrower would. */
static void borrow_again(kolk_pq *db, kolk_borrowed *borrow) {
    int pid = process_of(borrow);
    kolk_resource_give_back(&db->pool, borrow);
    borrow_or_fail(db, borrow);
    assert_int_equal(process_of(borrow), pid);
}

static PGresult *run_query(const kolk_borrowed *borrow, const char *sql, kolk_error *error) {
    return kolk_pq_exec(borrow, sql, 0, NULL, soon(), error);
}

/* ---- What is left to the next ------------------------------------------------------------------------------------ */

static int received, processed;

static void receive(void *argument, const PGresult *notice) {
    received++;
}

static void process(void *argument, const char *notice) {
    processed++;
}

#define SAY_SOMETHING "SET client_min_messages = notice; DO 'BEGIN RAISE NOTICE ''news''; END'"

/* promise: "undone at give_back; its event procedures stay" */
static void test_settings_of_libpq(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_error error;
    open_db(&db, (kolk_pq_desc){.pool.name = "left"});
    borrow_or_fail(&db, &borrow);
    PGconn *conn = kolk_pq_conn(&borrow);
    PQnoticeReceiver ours = PQsetNoticeReceiver(conn, receive, NULL);
    PQclear(run_query(&borrow, SAY_SOMETHING, &error));
    assert_int_equal(received, 1);
    borrow_again(&db, &borrow);
    PQnoticeProcessor standard = PQsetNoticeProcessor(conn, process, NULL);
    PQclear(run_query(&borrow, SAY_SOMETHING, &error)); /* called by the standard receiver */
    assert_int_equal(received, 1);
    assert_int_equal(processed, 1);
    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
    PQsetErrorContextVisibility(conn, PQSHOW_CONTEXT_ALWAYS);
    FILE *trace = tmpfile();
    assert_non_null(trace);
    PQtrace(conn, trace);
    borrow_again(&db, &borrow);
    long traced = ftell(trace);
    assert_int_equal(number_of(&borrow, "SELECT 3"), 3);
    assert_int_equal(fseek(trace, 0, SEEK_END), 0);
    assert_int_equal(ftell(trace), traced);
    fclose(trace);
    assert_ptr_equal(PQsetNoticeProcessor(conn, NULL, NULL), standard);
    assert_ptr_equal(PQsetNoticeReceiver(conn, NULL, NULL), ours);
    assert_int_equal(PQsetErrorVerbosity(conn, PQERRORS_DEFAULT), PQERRORS_DEFAULT);
    assert_int_equal(PQsetErrorContextVisibility(conn, PQSHOW_CONTEXT_ERRORS), PQSHOW_CONTEXT_ERRORS);
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_pq_deinit(&db);
}

static void assert_no_notification(PGconn *conn) {
    PGnotify *heard = PQnotifies(conn);
    if (heard) fail_msg("heard: %s", heard->extra);
}

static void test_notifications(void **state) {
    skip_without_server();
    PGconn *admin = connect_admin();
    for (int all = 0; all < 2; all++) {
        kolk_pq db;
        kolk_borrowed borrow;
        open_db(&db, (kolk_pq_desc){.discard_all = all == 1});
        borrow_or_fail(&db, &borrow);
        number_of(&borrow, "LISTEN secret");
        pq_connection *connection = (pq_connection *)borrow.resource;
        ask_number(admin, "NOTIFY secret, 'for the first'");
        assert_true(kolk_pq_wait_(PQsocket(connection->conn), POLLIN, soon()));
        number_of(&borrow, "SELECT 1"); /* libpq reads the notification, too */
        borrow_again(&db, &borrow);
        assert_no_notification(kolk_pq_conn(&borrow));

        /* If a notification comes while the connection is idle, the check of the socket reads it, without a query. */
        if (all) number_of(&borrow, "LISTEN secret");
        ask_number(admin, "NOTIFY secret, 'for nobody'");
        assert_true(kolk_pq_wait_(PQsocket(connection->conn), POLLIN, soon()));
        kill(process_of(&borrow), SIGSTOP);
        assert_true(kolk_pq_validate_(&db, connection, KOLK_NOW));
        assert_false(kolk_pq_wait_(PQsocket(connection->conn), POLLIN, KOLK_NOW));
        kill(process_of(&borrow), SIGCONT);
        assert_no_notification(connection->conn);
        kolk_resource_give_back(&db.pool, &borrow);
        kolk_pq_deinit(&db);
    }
    PQfinish(admin);
}

/* ---- Setup ------------------------------------------------------------------------------------------------------- */

#define LOCK_TIMEOUT "SELECT setting FROM pg_settings WHERE name = 'lock_timeout'"

/* promise: "SQL that each ... is final", "Runs DISCARD ... give_back in any case" */
static void test_setup(void **state) {
    skip_without_server();
    for (int discards = 0; discards < 2; discards++) {
        kolk_pq db;
        kolk_borrowed borrow;
        open_db(&db, (kolk_pq_desc){.setup = "SET lock_timeout = 7; SELECT 1; CREATE TEMP TABLE mine (n int)",
                                    .discard_all = discards == 1});
        for (int n = 0; n < 3; n++) {
            borrow_or_fail(&db, &borrow);
            assert_int_equal(number_of(&borrow, LOCK_TIMEOUT), n == 0 || discards ? 7 : 8);
            assert_int_equal(number_of(&borrow, "SELECT count(*) FROM mine"), discards ? 0 : n);
            number_of(&borrow, "SET lock_timeout = 8; INSERT INTO mine VALUES (1)");
            kolk_resource_give_back(&db.pool, &borrow);
        }
        kolk_resource_pool_stats stats;
        kolk_resource_stats(&db.pool, &stats);
        assert_int_equal(stats.created, 1);
        kolk_pq_deinit(&db);
    }
}

static void test_setup_fails(void **state) {
    skip_without_server();
    static const struct {
        const char *sql;
        kolk_pq_cause cause;
        bool is_final, is_endless;
        const char *sentence;
    } all[] = {
        {"SET lock_timeout = 1; SELCT 1", KOLK_PQ_OTHER, true, false, "42601: syntax error at or near \"SELCT\""},
        {"SET lock_timeout = 'soon'", KOLK_PQ_OTHER, true, false, "22023: "},
        {"BEGIN", KOLK_PQ_OTHER, true, false, "setup leaves a transaction or a COPY open"},
        {"COPY (SELECT 1) TO STDOUT", KOLK_PQ_OTHER, true, false, "setup leaves a transaction or a COPY open"},
        {"SET statement_timeout = 1; SELECT pg_sleep(600)", KOLK_PQ_TIMEOUT, false, false, "57014: "},
        {"SELECT 'endless', pg_sleep(600)", KOLK_PQ_TIMEOUT, false, true, "the server has not answered in time"},
        {"SELECT pg_terminate_backend(pg_backend_pid())", KOLK_PQ_OTHER, false, false, "57P01: "},
    };
    for (size_t n = 0; n < LENGTH_OF(all); n++) {
        kolk_pq db;
        kolk_error error;
        void *resource = NULL;
        int64_t ms = all[n].is_endless ? 100 : 120000;
        open_db(&db, (kolk_pq_desc){.setup = all[n].sql});
        do { /* a busy machine may not even connect in the first 100 ms */
            error = (kolk_error){0};
            assert_false(kolk_pq_create_(&db, "", kolk_deadline_after(ms), &resource, &error));
            ms *= 2;
        } while (strstr(error.text, "no answer in time from") || strcmp(error.text, HAD_PASSED) == 0);
        assert_int_equal(error.code, all[n].cause);
        assert_int_equal(error.final, all[n].is_final);
        if (!strstr(error.text, all[n].sentence)) fail_msg("%s: %s", all[n].sql, error.text);
        kolk_pq_deinit(&db);
    }

    /* Nothing of it goes on in the server. */
    EVENTUALLY(ask_admin("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT ''endless''%'") == 0);
}

/* ---- Prepared statements ----------------------------------------------------------------------------------------- */

/* Runs the statement and returns the last value of the first row; or NULL if it fails, which must be with this
 * SQLSTATE. */
static const char *get_item(const kolk_borrowed *borrow, const char *state, kolk_error *error) {
    static char value[64];
    PGresult *result = kolk_pq_exec_prepared(borrow, "get \"it\"", "SELECT * FROM item", 0, NULL, soon(), error);
    const char *is = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (error->code && strcmp(is ? is : "", state) != 0) fail_msg("%s", error->text);
    assert_string_equal(is ? is : "", state);
    assert_int_equal(error->code != 0, is != NULL);
    snprintf(value, sizeof value, "%s", is ? "" : PQgetvalue(result, 0, PQnfields(result) - 1));
    PQclear(result);
    return is ? NULL : value;
}

#define DROP_STATEMENT "DEALLOCATE \"get \"\"it\"\"\""

/* promise: "A statement ... statement again" */
static void test_statements_after_ddl(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_error error;
    ask_admin("CREATE TABLE item (id int); INSERT INTO item VALUES (1)");
    open_db(&db, (kolk_pq_desc){0});
    borrow_or_fail(&db, &borrow);
    assert_string_equal(get_item(&borrow, "", &error), "1");

    /* The result now has one more column; the statement is prepared again, and callers see no error. */
    ask_admin("ALTER TABLE item ADD COLUMN two int DEFAULT 2");
    assert_string_equal(get_item(&borrow, "", &error), "2");
    borrow_again(&db, &borrow);

    /* Within a transaction, the error is returned; the next use prepares the statement again, even within the next
     * transaction. */
    ask_admin("ALTER TABLE item ADD COLUMN three int DEFAULT 3");
    number_of(&borrow, "BEGIN");
    assert_null(get_item(&borrow, "0A000", &error));
    assert_int_equal(error.code, KOLK_PQ_OTHER);
    assert_non_null(strstr(error.text, "0A000: cached plan must not change result type"));
    assert_null(get_item(&borrow, "25P02", &error)); /* a failed transaction refuses everything */
    borrow_again(&db, &borrow);
    number_of(&borrow, "BEGIN");
    assert_string_equal(get_item(&borrow, "", &error), "3");
    number_of(&borrow, "COMMIT");

    /* The statement may have been deallocated meanwhile. Within a transaction, that is reported too. */
    for (int within = 0; within < 2; within++) {
        ask_admin(within ? "ALTER TABLE item ADD COLUMN five int DEFAULT 5"
                         : "ALTER TABLE item ADD COLUMN four int DEFAULT 4");
        number_of(&borrow, "BEGIN");
        assert_null(get_item(&borrow, "0A000", &error));
        number_of(&borrow, "ROLLBACK");
        number_of(&borrow, DROP_STATEMENT);
        if (within) number_of(&borrow, "BEGIN");
        if (within) assert_null(get_item(&borrow, "26000", &error));
        if (within) number_of(&borrow, "ROLLBACK");
        assert_string_equal(get_item(&borrow, "", &error), within ? "5" : "4");
    }

    /* The name of a deallocated statement may be used again for another text. */
    ask_admin("ALTER TABLE item ADD COLUMN six int DEFAULT 6");
    number_of(&borrow, "BEGIN");
    assert_null(get_item(&borrow, "0A000", &error));
    number_of(&borrow, "ROLLBACK");
    assert_true(kolk_pq_prepare(&borrow, "get \"it\"", "SELECT 6", soon(), &error));
    assert_false(kolk_pq_prepare(&borrow, "get \"it\"", "SELECT 7", soon(), &error));
    assert_int_equal(number_of(&borrow, "SELECT count(*) FROM pg_prepared_statements"), 1);

    /* If a statement can't be prepared, the error gives the reason. If a statement itself fails with 0A000, it must not
     * be run twice. */
    PGresult *result = kolk_pq_exec_prepared(&borrow, "bad", "SELECT * FROM nowhere", 0, NULL, soon(), &error);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "42P01");
    assert_non_null(strstr(error.text, "42P01: relation \"nowhere\" does not exist"));
    assert_null(strstr(error.text, "LOCATION"));
    PQclear(result);
    assert_false(kolk_pq_prepare(&borrow, "bad", "SELECT * FROM nowhere", soon(), &error));
    assert_non_null(strstr(error.text, "42P01"));
    number_of(&borrow, "CREATE TEMP SEQUENCE runs");
    static const char fails[] = "SELECT nextval('runs'), pg_temp.fail()";
    number_of(&borrow, "CREATE FUNCTION pg_temp.fail() RETURNS int LANGUAGE plpgsql AS "
                       "'BEGIN RAISE EXCEPTION SQLSTATE ''0A000''; END'");
    result = kolk_pq_exec_prepared(&borrow, "fails", fails, 0, NULL, soon(), &error);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "0A000");
    PQclear(result);
    assert_int_equal(number_of(&borrow, "SELECT last_value FROM runs"), 1);
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_pq_deinit(&db);
}

/* ---- Cancellation of threads ------------------------------------------------------------------------------------- */

/* Not on the thread's stack: AddressSanitizer does not notice that cancellation ends a function. */
static struct {
    kolk_borrowed borrow;
    kolk_error error;
    bool returned;
} victim;

static void *run_victim(void *argument) {
    PGresult *result = kolk_pq_exec_prepared(&victim.borrow, "wait", "SELECT 'a victim', pg_advisory_xact_lock(1)", 0,
                                             NULL, soon(), &victim.error);
    victim.returned = victim.error.code == 0;
    PQclear(result);
    pthread_testcancel();
    return argument;
}

static void test_cancelled_thread(void **state) {
    skip_without_server();
    kolk_pq db;
    pthread_t thread;
    void *end;
    open_db(&db, (kolk_pq_desc){0});
    borrow_or_fail(&db, &victim.borrow);
    PGconn *admin = connect_admin();
    ask_number(admin, "SELECT pg_advisory_lock(1)");
    assert_int_equal(pthread_create(&thread, NULL, run_victim, NULL), 0);
    EVENTUALLY(ask_number(admin, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"));
    pthread_cancel(thread);
    ask_number(admin, "SELECT pg_advisory_unlock(1)");
    assert_int_equal(pthread_join(thread, &end), 0);
    PQfinish(admin);
    assert_ptr_equal(end, PTHREAD_CANCELED);
    assert_true(victim.returned);
    assert_int_equal(PQtransactionStatus(kolk_pq_conn(&victim.borrow)), PQTRANS_IDLE);
    borrow_again(&db, &victim.borrow);
    kolk_resource_give_back(&db.pool, &victim.borrow);
    kolk_pq_deinit(&db);
}

/* ---- How long the pool waits ------------------------------------------------------------------------------------- */

int __real_poll(struct pollfd *all, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *all, nfds_t n, int timeout);

static _Thread_local int longest; /* the longest time-out of this thread's calls of poll, in milliseconds */

int __wrap_poll(struct pollfd *all, nfds_t n, int timeout) {
    if (timeout > longest) longest = timeout;
    return __real_poll(all, n, timeout);
}

static void *go_on_later(void *argument) {
    nap_ms(1300); /* more than the default patience */
    kill(*(int *)argument, SIGCONT);
    return NULL;
}

/* The server process is stopped during a rollback, DISCARD ALL, a cancel request, or a destroy. The test calls the
 * pool's callbacks directly, because the pool decides which thread calls them. */
static void test_patience(void **state) {
    skip_without_server();
    enum { ROLL_BACK, DISCARD, CANCEL, DESTROY, ENDS };
    for (int i = 0; i < (does_a_part() ? ENDS : 2 * ENDS); i++) {
        bool is_patient = i >= ENDS;
        int what = i % ENDS;
        kolk_pq db;
        kolk_error error = {0};
        kolk_borrowed borrow = {0};
        pthread_t thread;
        open_db(&db, (kolk_pq_desc){.patience_ms = is_patient ? 60000 : 60, .discard_all = what == DISCARD});
        assert_true(kolk_pq_create_(&db, "", soon(), &borrow.resource, &error));
        pq_connection *connection = (pq_connection *)borrow.resource;
        int pid = process_of(&borrow);
        if (what == ROLL_BACK) number_of(&borrow, "BEGIN");
        if (what == DESTROY) assert_true(PQsendQuery(connection->conn, "SELECT pg_sleep(600)"));
        kill(pid, SIGSTOP);
        if (is_patient) assert_int_equal(pthread_create(&thread, NULL, go_on_later, &pid), 0);
        longest = 0;
        if (what == ROLL_BACK || what == DISCARD) assert_int_equal(kolk_pq_reset_(&db, connection), is_patient);
        if (what == CANCEL) PQclear(exec_too_long(&borrow, "SELECT pg_sleep(600)", &error));
        if (what == CANCEL) assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
        if (what != DESTROY) assert_int_equal(connection->broken, !is_patient);
        kolk_pq_destroy_(&db, connection);
        if (!is_patient && what != CANCEL) assert_in_range(longest, 0, 60); /* CANCEL also waits for its deadline */
        if (is_patient) pthread_join(thread, NULL);
        kill(pid, SIGCONT);
        kolk_pq_deinit(&db);
    }
}

static void *unlock_after_a_knock(void *admin) {
    EVENTUALLY(__atomic_load_n(&proxy.knocks, __ATOMIC_ACQUIRE) > 0);
    ask_number(admin, "SELECT pg_advisory_unlock(1)");
    return NULL;
}

/* Runs a query that ends after its cancel request was lost. Returns whether that was within patience_ms. */
static bool loses_cancel(PGconn *admin, const char *sql, proxy_way way, int64_t patience_ms) {
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_error error, second;
    pthread_t thread;
    start_proxy();
    open_db(&db, (kolk_pq_desc){.conninfo = conninfo_of(proxy.port, "postgres"), .patience_ms = patience_ms});
    borrow_or_fail(&db, &borrow);
    int pid = process_of(&borrow);
    ask_number(admin, "SELECT pg_advisory_lock(1)");
    set_proxy(way);
    assert_int_equal(pthread_create(&thread, NULL, unlock_after_a_knock, admin), 0);
    PGresult *result = exec_too_long(&borrow, sql, &error);
    pthread_join(thread, NULL);
    if (error.code == 0) assert_string_equal(PQgetvalue(result, 0, 0), "8");
    if (error.code) assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    PQclear(result);
    assert_null(run_query(&borrow, "SELECT 9", &second));
    assert_int_equal(second.code, KOLK_PQ_BROKEN);
    set_proxy(PASS_ON);
    kolk_resource_give_back(&db.pool, &borrow);
    borrow_or_fail(&db, &borrow);
    assert_int_not_equal(process_of(&borrow), pid);
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_pq_deinit(&db);
    stop_proxy();
    return error.code == 0;
}

/* The connection is replaced, because the request may still be on its way, or because COPY has begun, for which the
 * call does not keep waiting. A query's answer is valid. promise: "When the deadline ... nothing is sent" */
static void test_lost_cancel(void **state) {
    skip_without_server();
    PGconn *admin = connect_admin();
    ask_number(admin, "CREATE TABLE goods (n int)");
    assert_false(loses_cancel(admin, "SELECT pg_advisory_xact_lock(1); COPY goods FROM STDIN", HANG_UP, 3600000));
    assert_false(loses_cancel(admin, "SELECT pg_advisory_xact_lock(1); COPY (SELECT 1) TO STDOUT", HANG_UP, 3600000));
    for (int64_t ms = 300; !loses_cancel(admin, "SELECT pg_advisory_xact_lock(1); SELECT 8", HOLD, ms);) ms *= 2;
    PQfinish(admin);
}

/* ---- Health ------------------------------------------------------------------------------------------------------ */

/* promise: "Borrows a connection ... cause in error->code" */
static void test_check(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_error error;
    start_proxy();
    open_db(&db, (kolk_pq_desc){.conninfo = conninfo_of(proxy.port, "postgres")});
    assert_true(kolk_pq_check(&db, soon(), &error));
    assert_int_equal(error.code, 0);
    borrow_or_fail(&db, &borrow);
    int pid = process_of(&borrow);
    assert_false(kolk_pq_check(&db, kolk_deadline_after(20), &error)); /* the only connection is in use */
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    assert_true(*error.text);
    kolk_resource_give_back(&db.pool, &borrow);

    /* One broken connection does not mean that the server is down. */
    set_proxy(CUT);
    assert_true(kolk_pq_check(&db, soon(), &error));
    set_proxy(PASS_ON);
    borrow_or_fail(&db, &borrow);
    assert_int_not_equal(process_of(&borrow), pid);
    kolk_resource_give_back(&db.pool, &borrow);

    /* The server is silent. */
    set_proxy(LOSE);
    db.patience_ns = 50 * PQ_MS;
    assert_false(kolk_pq_check(&db, kolk_deadline_after(50), &error));
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    set_proxy(PASS_ON);
    kolk_pq_deinit(&db);
    stop_proxy();

    /* The pool is closed. */
    open_db(&db, (kolk_pq_desc){0});
    kolk_resource_close(&db.pool, KOLK_NOW);
    assert_false(kolk_pq_check(&db, soon(), &error));
    assert_int_equal(error.code, KOLK_PQ_OTHER);
    kolk_pq_deinit(&db);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_of_libpq),
        cmocka_unit_test(test_notifications),
        cmocka_unit_test(test_setup),
        cmocka_unit_test(test_setup_fails),
        cmocka_unit_test(test_statements_after_ddl),
        cmocka_unit_test(test_cancelled_thread),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_lost_cancel),
        cmocka_unit_test(test_check),
    };
    return cmocka_run_group_tests_name("pq_state", tests, make_server, remove_server);
}
