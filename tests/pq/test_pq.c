/* runs: long not:clang wraps: poll */
/* Tests the header's promises, sentence by sentence, on connections to a real PostgreSQL server. */
#include "bank.h"

#include <fcntl.h>
#include <poll.h>

#include "pq_inside.h"

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

/* promise: "The time limit ... time is KOLK_BAD_TIME", "with parameters ... query succeeded" */
static void test_queries(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_error error;
    make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"), .pool = {.name = "shop", .max = 2}});
    borrow_or_fail(&db, &borrow);
    assert_int_equal(PQstatus(kolk_pq_conn(&borrow)), CONNECTION_OK);
    const char *values[] = {"7", NULL, "a 'quoted' text"};
    PGresult *result =
        kolk_pq_exec(&borrow, "SELECT $1::int + 1, $2::text IS NULL, $3::text", 3, values, soon(), &error);
    assert_int_equal(error.code, 0);
    assert_string_equal(PQgetvalue(result, 0, 0), "8");
    assert_string_equal(PQgetvalue(result, 0, 1), "t");
    assert_string_equal(PQgetvalue(result, 0, 2), values[2]);
    PQclear(result);

    assert_false(PQisnonblocking(kolk_pq_conn(&borrow)));

    /* A query without parameters may have several commands: the result is the last one's. */
    assert_int_equal(number_of(&borrow, "SELECT 1; SELECT 2"), 2);

    /* After an error of the server there is a result, and the error has the server's words. The connection stays
     * good. */
    result = kolk_pq_exec(&borrow, "SELECT 1/0", 0, NULL, soon(), &error);
    assert_int_equal(error.code, KOLK_PQ_OTHER);
    assert_non_null(strstr(error.text, "division by zero"));
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "22012");
    PQclear(result);

    /* A result of a megabyte, and a query with a parameter of a megabyte. */
    assert_int_equal(number_of(&borrow, "SELECT 12, repeat('x', 1000000)"), 12);
    char *query = malloc(1000100);
    assert_non_null(query);
    memset(query, 'y', 1000000);
    values[0] = query;
    query[1000000] = 0;
    result = kolk_pq_exec(&borrow, "SELECT length($1)", 1, values, soon(), &error);
    assert_string_equal(PQgetvalue(result, 0, 0), "1000000");
    PQclear(result);
    free(query);

    /* kolk_pq_exec can start a COPY, which libpq's functions continue. */
    result = kolk_pq_exec(&borrow, "COPY (SELECT 5) TO STDOUT", 0, NULL, soon(), &error);
    assert_int_equal(error.code, 0);
    assert_int_equal(PQresultStatus(result), PGRES_COPY_OUT);
    PQclear(result);
    char *line;
    assert_int_equal(PQgetCopyData(kolk_pq_conn(&borrow), &line, 0), 2);
    assert_memory_equal(line, "5\n", 2);
    PQfreemem(line);
    assert_int_equal(PQgetCopyData(kolk_pq_conn(&borrow), &line, 0), -1);
    while ((result = PQgetResult(kolk_pq_conn(&borrow)))) PQclear(result);

    /* While a query has unread results, the next one is refused, and does not end the first. */
    assert_true(PQsendQuery(kolk_pq_conn(&borrow), "SELECT 6"));
    assert_null(kolk_pq_exec(&borrow, "SELECT 7", 0, NULL, soon(), &error));
    assert_int_equal(error.code, KOLK_PQ_OTHER);
    result = PQgetResult(kolk_pq_conn(&borrow));
    assert_string_equal(PQgetvalue(result, 0, 0), "6");
    PQclear(result);
    assert_null(PQgetResult(kolk_pq_conn(&borrow)));

    assert_int_equal(number_of(&borrow, "SELECT 1 FROM pg_stat_activity WHERE pid = pg_backend_pid() AND "
                                        "application_name = 'shop'"),
                     1);
    kolk_resource_give_back(&db.pool, &borrow);
    assert_null(kolk_pq_conn(&borrow));
    assert_null(kolk_pq_exec(&borrow, "SELECT 1", 0, NULL, soon(), &error));
    assert_int_equal(error.code, KOLK_PQ_BROKEN);
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&db.pool, &stats);
    assert_int_equal(stats.created, 1);
    kolk_resource_deinit(&db.pool);
    assert_int_equal(kolk_pq_init(&db, NULL), KOLK_NO_DESCRIPTOR);
    const kolk_pq_desc bad[] = {{.ask_after_ms = -2},
                                {.patience_ms = -1},
                                {.statement_timeout_ms = -1},
                                {.statement_timeout_ms = INT64_C(0x80000000)}};
    for (size_t i = 0; i < LENGTH_OF(bad); i++) assert_int_equal(kolk_pq_init(&db, &bad[i]), KOLK_BAD_TIME);
    assert_null(db.pool.inside);
    assert_int_equal(kolk_pq_init(&db, &(kolk_pq_desc){0}), KOLK_OK);
    assert_int_equal(db.patience_ns, 1000 * PQ_MS);
    kolk_pq_deinit(&db);
}

/* ---- Why there is no connection ---------------------------------------------------------------------------------- */

/* Borrows must fail with this status, this code, and these words in the error's sentence. `create_ms`: the time limit
 * of an attempt to connect; 0: the default. If a busy machine needs more than that, tries again with twice the time. */
static void assert_refused_within(const char *conninfo, int64_t create_ms, kolk_status status, int32_t code,
                                  const char *words) {
    for (bool good = false; !good; create_ms *= 2) {
        kolk_pq db;
        kolk_borrowed borrow;
        kolk_status is;
        make_db(&db, &(kolk_pq_desc){.conninfo = conninfo, .pool.create_timeout_ms = create_ms});
        do is = borrow_within(&db, status == KOLK_NOT_CREATED ? 120000 : 20, &borrow);
        while (is == KOLK_TIMEOUT && borrow.error.code == 0); /* no attempt has failed so far */
        kolk_resource_deinit(&db.pool);
        assert_null(strchr(borrow.error.text, '\n'));
        good = is == status && borrow.error.code == code && strstr(borrow.error.text, words);
        bool was_late = create_ms > 0 && create_ms < 60000 && borrow.error.code == KOLK_PQ_TIMEOUT;
        if (!good && !was_late)
            fail_msg("%s: %s, %d: %s", conninfo, kolk_status_text(is), (int)borrow.error.code, borrow.error.text);
    }
}

static void assert_refused(const char *conninfo, int32_t code, const char *words) {
    assert_refused_within(conninfo, 0, KOLK_TIMEOUT, code, words);
}

static void assert_final(const char *conninfo, int32_t code, const char *words) {
    assert_refused_within(conninfo, 0, KOLK_NOT_CREATED, code, words);
}

/* promise: "kolk_error.code is a kolk_pq_cause ... connection is left", "anything else ... connection was lost" */
static void test_refusals(void **state) {
    skip_without_server();
    char text[300];
    int fds = count_own("/proc/self/fd");
    assert_refused(conninfo_of(free_port(), "alice"), KOLK_PQ_REFUSED, "refused");
    assert_refused("host=/nowhere dbname=postgres", KOLK_PQ_REFUSED, "No such file");
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=alice dbname=postgres", server.port);
    assert_final(text, KOLK_PQ_AUTHENTICATION, "no password");
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=alice dbname=postgres password=wrong", server.port);
    assert_final(text, KOLK_PQ_AUTHENTICATION, "28P01: password authentication failed");
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=nobody dbname=postgres", server.port);
    assert_final(text, KOLK_PQ_AUTHENTICATION, "28000");
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=postgres dbname=nothing", server.port);
    assert_final(text, KOLK_PQ_OTHER, "3D000");
    assert_final("host=127.0.0.1 colour=red", KOLK_PQ_OTHER, "colour");

    /* The failure is not final if another host may accept the next attempt, even if that host was silent this time. */
    int mute_port, mute = listen_somewhere(100, &mute_port);
    snprintf(text, sizeof text, "host=127.0.0.1,localhost port=%d,%d user=nobody dbname=postgres", free_port(),
             server.port);
    assert_refused(text, KOLK_PQ_AUTHENTICATION, "localhost");
    snprintf(text, sizeof text, "host=127.0.0.1,localhost port=%d,%d user=nobody dbname=postgres", mute_port,
             server.port);
    assert_refused_within(text, 400, KOLK_TIMEOUT, KOLK_PQ_AUTHENTICATION, "localhost");
    close(mute);

    /* The server is full: it has 30 connections. */
    PGconn *others[30];
    for (int i = 0; i < 30; i++) {
        others[i] = PQconnectdb(conninfo_of(server.port, "postgres"));
        while (PQstatus(others[i]) != CONNECTION_OK) PQreset(others[i]); /* until earlier sessions have ended */
    }
    assert_refused(conninfo_of(server.port, "alice"), KOLK_PQ_TOO_MANY, "53300");
    for (int i = 0; i < 30; i++) PQfinish(others[i]);

    /* The server hangs up immediately. */
    int port, listener = listen_somewhere(5, &port);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(accept(listener, NULL, NULL));
        _exit(0);
    }
    assert_refused(conninfo_of(port, "alice"), KOLK_PQ_REFUSED, "");
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(listener);
    assert_int_equal(count_own("/proc/self/fd"), fds);
}

/* promise: "hold even if servers ... connects immediately" */
static void test_black_holes(void **state) {
    skip_without_server();
    char text[300];
    kolk_pq db;
    kolk_borrowed borrow;
    int fds = count_own("/proc/self/fd");
    int port, full_port, hole = listen_somewhere(100, &port), full = listen_somewhere(0, &full_port);

    /* One server accepts connections and stays silent; the other accepts none, because its backlog is full. */
    assert_refused_within(conninfo_of(port, "alice"), 150, KOLK_TIMEOUT, KOLK_PQ_TIMEOUT, "127.0.0.1");
    int waiting[4];
    for (int i = 0; i < 4; i++) {
        waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        struct sockaddr_in at = {
            .sin_family = AF_INET, .sin_port = htons((uint16_t)full_port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        assert_true(connect(waiting[i], (struct sockaddr *)&at, sizeof at) == 0 || errno == EINPROGRESS);
    }
    assert_refused_within(conninfo_of(full_port, "alice"), 150, KOLK_TIMEOUT, KOLK_PQ_TIMEOUT, "127.0.0.1");

    /* The server runs, but does not have the requested attributes. */
    snprintf(text, sizeof text, "%s target_session_attrs=standby", conninfo_of(server.port, "alice"));
    assert_refused(text, KOLK_PQ_OTHER, "standby");

    /* A borrow without waiting makes the pool connect for the next borrow, but not if there is no housekeeper. */
    for (int alone = 0; alone < 2; alone++) {
        make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"), .pool.no_housekeeper = alone == 1});
        kolk_status status = borrow_within(&db, 0, &borrow);
        assert_int_equal(status, alone ? KOLK_NOT_CREATED : KOLK_FULL);
        assert_int_equal(borrow.error.code, alone ? KOLK_PQ_TIMEOUT : 0);
        for (; !alone && (status = borrow_within(&db, 0, &borrow)) != KOLK_OK; nap_ms(1))
            if (status != KOLK_FULL) fail_msg("%s", borrow.error.text);
        if (alone) assert_string_equal(borrow.error.text, "to connect takes waiting");
        kolk_resource_give_back(&db.pool, &borrow);
        kolk_resource_deinit(&db.pool);
    }

    for (int i = 0; i < 4; i++) close(waiting[i]);
    close(hole);
    close(full);
    assert_int_equal(count_own("/proc/self/fd"), fds);
}

/* ---- Give back --------------------------------------------------------------------------------------------------- */

int __real_poll(struct pollfd *all, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *all, nfds_t n, int timeout);

static _Thread_local bool waits_long; /* this thread's calls of poll wait for a minute */

int __wrap_poll(struct pollfd *all, nfds_t n, int timeout) {
    return __real_poll(all, n, waits_long ? 60000 : timeout);
}

/* promise: "a borrow checks ... transaction, or for discard_all", "At give_back ... borrow has no connection" */
static void test_give_back(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    ask_admin("CREATE TABLE notes (n int)");
    make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"), .pool = {.name = "notes", .max = 1}});
    const char *leave[] = {"BEGIN; INSERT INTO notes VALUES (1)",
                           "BEGIN; INSERT INTO notes VALUES (2); SELECT 1/0",
                           "COPY notes FROM STDIN",
                           "COPY (SELECT generate_series(1, 100000)) TO STDOUT",
                           "SELECT pg_sleep(600)", /* sent, not read */
                           "pipeline"};
    for (size_t i = 0; i < LENGTH_OF(leave); i++) {
        borrow_or_fail(&db, &borrow);
        int pid = PQbackendPID(kolk_pq_conn(&borrow));
        if (i < 4)
            PQclear(PQexec(kolk_pq_conn(&borrow), leave[i]));
        else if (i == 4)
            assert_true(PQsendQuery(kolk_pq_conn(&borrow), leave[i]));
        else
            assert_true(PQenterPipelineMode(kolk_pq_conn(&borrow)));
        kolk_resource_give_back(&db.pool, &borrow);
        borrow_or_fail(&db, &borrow);
        if ((PQbackendPID(kolk_pq_conn(&borrow)) == pid) != (i < 2)) fail_msg("after %s", leave[i]);
        assert_int_equal(PQtransactionStatus(kolk_pq_conn(&borrow)), PQTRANS_IDLE);
        assert_int_equal(number_of(&borrow, "SELECT count(*) FROM notes"), 0);
        /* The server does not go on with the abandoned query. */
        EVENTUALLY(number_of(&borrow, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'notes'") == 1);
        kolk_resource_give_back(&db.pool, &borrow);
    }
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&db.pool, &stats);
    assert_int_equal(stats.created, 5);
    assert_int_equal(stats.unclean, 4);

    /* When a connection is destroyed, its session at the server has ended, too, unless that takes longer than 40 ms. */
    PGconn *admin = connect_admin();
    waits_long = true;
    for (int i = 0; i < 5; i++) {
        char sql[64];
        kolk_error error = {0};
        assert_true(kolk_pq_create_(&db, "", soon(), &borrow.resource, &error));
        snprintf(sql, sizeof sql, "SELECT 1 FROM pg_stat_get_activity(%d)", PQbackendPID(kolk_pq_conn(&borrow)));
        kolk_pq_destroy_(&db, borrow.resource);
        assert_int_equal(ask_number(admin, sql), 0);
    }
    waits_long = false;
    PQfinish(admin);
    kolk_resource_deinit(&db.pool);
}

/* ---- Prepared statements ----------------------------------------------------------------------------------------- */

static int64_t run_prepared(const kolk_borrowed *borrow, const char *name, const char *sql, int32_t *code) {
    const char *values[] = {"20"};
    kolk_error error;
    PGresult *result = kolk_pq_exec_prepared(borrow, name, sql, 1, values, soon(), &error);
    int64_t number = error.code ? -1 : strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    *code = error.code;
    return number;
}

#define PREPARED "SELECT count(*) FROM pg_prepared_statements"

/* promise: "which is prepared ... like kolk_pq_exec", "Only prepares ... Returns false if preparing failed" */
static void test_prepared(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    int32_t code;
    kolk_error error;
    make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"), .pool = {.max = 1}});
    /* Prepared statements survive give_back and ROLLBACK, and are prepared only once. */
    for (int i = 0; i < 3; i++) {
        char name[16];
        borrow_or_fail(&db, &borrow);
        PQclear(PQexec(kolk_pq_conn(&borrow), "BEGIN"));
        for (int n = 0; n < 20; n++) {
            snprintf(name, sizeof name, "add%d", n);
            assert_int_equal(run_prepared(&borrow, name, "SELECT $1::int + 1", &code), 21);
        }
        assert_int_equal(number_of(&borrow, PREPARED), 20);
        assert_true(kolk_pq_prepare(&borrow, "add3", "SELECT $1::int + 1", soon(), &error));
        kolk_resource_give_back(&db.pool, &borrow);
    }
    borrow_or_fail(&db, &borrow);
    assert_int_equal(run_prepared(&borrow, "add3", "SELECT $1::int + 2", &code), -1);
    assert_int_equal(code, KOLK_PQ_OTHER);
    assert_int_equal(run_prepared(&borrow, "bad", "SELEKT", &code), -1);
    assert_int_equal(run_prepared(&borrow, "bad", "SELECT $1::int", &code), 20); /* it was not kept */

    /* If a statement is lost, with or without the pool's knowledge, it is prepared again. Within a transaction, its
     * next use reports the loss, and the use after the rollback prepares it again. */
    PQclear(kolk_pq_exec(&borrow, "DISCARD ALL", 0, NULL, soon(), &error));
    assert_int_equal(run_prepared(&borrow, "add3", "SELECT $1::int + 1", &code), 21);
    PQclear(PQexec(kolk_pq_conn(&borrow), "DEALLOCATE ALL"));
    assert_int_equal(run_prepared(&borrow, "add3", "SELECT $1::int + 1", &code), 21);
    PQclear(kolk_pq_exec(&borrow, "DEALLOCATE add3", 0, NULL, soon(), &error));
    number_of(&borrow, "BEGIN");
    assert_int_equal(run_prepared(&borrow, "add3", "SELECT $1::int + 1", &code), -1);
    assert_int_equal(PQtransactionStatus(kolk_pq_conn(&borrow)), PQTRANS_INERROR);
    number_of(&borrow, "ROLLBACK");
    assert_int_equal(run_prepared(&borrow, "add3", "SELECT $1::int + 1", &code), 21);

    /* A statement without a name is not kept, because the next query with parameters would replace it. */
    assert_int_equal(run_prepared(&borrow, "", "SELECT $1::int + 1", &code), 21);
    assert_int_equal(run_prepared(&borrow, "", "SELECT $1::int + 2", &code), 22);
    assert_false(kolk_pq_prepare(&borrow, "", "SELECT $1::int + 2", soon(), &error));
    assert_int_equal(error.code, KOLK_PQ_OTHER);
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_resource_deinit(&db.pool);

    /* With discard_all, statements are lost at give_back, and the pool takes that into account. With no_prepared, there
     * are no prepared statements. */
    for (int none = 0; none < 2; none++) {
        make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"),
                                     .pool = {.max = 1},
                                     .discard_all = !none,
                                     .no_prepared = none});
        for (int i = 0; i < 2; i++) {
            borrow_or_fail(&db, &borrow);
            assert_int_equal(number_of(&borrow, PREPARED), 0);
            assert_int_equal(run_prepared(&borrow, "add", "SELECT $1::int + 1", &code), 21);
            assert_int_equal(number_of(&borrow, PREPARED), !none);
            assert_int_equal(kolk_pq_prepare(&borrow, "add", "SELECT $1::int + 1", soon(), &error), !none);
            kolk_resource_give_back(&db.pool, &borrow);
        }
        kolk_resource_deinit(&db.pool);
    }
}

/* ---- Deadlines of queries ---------------------------------------------------------------------------------------- */

/* promise: "When a query ... after the call", "When the deadline ... nothing is sent" */
static void test_cancel(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_error error;
    int fds = count_own("/proc/self/fd");
    make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"), .pool = {.name = "sleepers", .max = 1}});
    borrow_or_fail(&db, &borrow);
    int pid = PQbackendPID(kolk_pq_conn(&borrow));
    PGresult *result = exec_too_long(&borrow, "SELECT pg_sleep(600)", &error);
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "57014");
    PQclear(result);
    assert_int_equal(number_of(&borrow, "SELECT 3"), 3);
    assert_null(kolk_pq_exec(&borrow, "SELECT 1", 0, NULL, KOLK_NOW, &error)); /* nothing is sent */
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);

    /* The query ends at about the time of the deadline: the cancel request must never hit the next query. */
    uint64_t random = 1;
    int timeouts = 0;
    for (int i = 0; i < (does_a_part() ? 50 : 1000); i++) {
        kolk_deadline deadline = {kolk_deadline_after(2).ns + random_below(&random, 4000000)};
        result = kolk_pq_exec(&borrow, "SELECT pg_sleep(0.005)", 0, NULL, deadline, &error);
        assert_true(error.code == 0 || error.code == KOLK_PQ_TIMEOUT);
        timeouts += error.code != 0;
        PQclear(result);
        assert_int_equal(number_of(&borrow, "SELECT 4"), 4);
    }
    print_message("%d were cancelled\n", timeouts);

    /* Within a transaction, a cancelled query makes the transaction fail; give_back rolls it back. */
    number_of(&borrow, "BEGIN");
    PQclear(exec_too_long(&borrow, "SELECT pg_sleep(600)", &error));
    assert_int_equal(PQtransactionStatus(kolk_pq_conn(&borrow)), PQTRANS_INERROR);
    kolk_resource_give_back(&db.pool, &borrow);
    borrow_or_fail(&db, &borrow);
    assert_int_equal(PQbackendPID(kolk_pq_conn(&borrow)), pid);

    /* If the server process is stopped, the call returns anyway, and the connection is replaced. */
    kill(pid, SIGSTOP);
    db.patience_ns = 100 * PQ_MS;
    assert_null(exec_too_long(&borrow, "SELECT 5", &error));
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    assert_null(kolk_pq_exec(&borrow, "SELECT 5", 0, NULL, soon(), &error));
    assert_int_equal(error.code, KOLK_PQ_BROKEN);
    kolk_resource_give_back(&db.pool, &borrow);
    kill(pid, SIGCONT);
    borrow_or_fail(&db, &borrow);
    assert_int_not_equal(PQbackendPID(kolk_pq_conn(&borrow)), pid);

    /* The connection ends before or during a query. The error has the server's last message, even if libpq took that
     * for a notice because no query was running when it was read. */
    PGconn *admin = connect_admin();
    for (int i = 0; i < 2; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 120000)::int", PQbackendPID(kolk_pq_conn(&borrow)));
        assert_int_equal(ask_number(admin, sql), 1);
        if (i == 1) {
            assert_true(PQconsumeInput(kolk_pq_conn(&borrow)));
            assert_null(PQnotifies(kolk_pq_conn(&borrow)));
        }
        PQclear(kolk_pq_exec(&borrow, "SELECT 5", 0, NULL, soon(), &error));
        assert_int_equal(error.code, KOLK_PQ_BROKEN);
        assert_non_null(strstr(error.text, "terminating connection"));
        kolk_resource_give_back(&db.pool, &borrow);
        borrow_or_fail(&db, &borrow);
    }
    PQfinish(admin);
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_resource_deinit(&db.pool);
    assert_int_equal(count_own("/proc/self/fd"), fds);
}

/* ---- Validation -------------------------------------------------------------------------------------------------- */

static int pid_of_a_borrow(kolk_pq *db, int64_t ms) {
    kolk_borrowed borrow;
    if (borrow_within(db, ms, &borrow) != KOLK_OK) fail_msg("borrow: %s", borrow.error.text);
    int pid = PQbackendPID(kolk_pq_conn(&borrow));
    kolk_resource_give_back(&db->pool, &borrow);
    return pid;
}

/* promise: "A connection that was idle ... keepalive only checks the socket", "Each connection ... parts of
 * conninfo" */
static void test_validation(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    char sql[64];
    PGconn *admin = connect_admin();

    /* First level: the pool notices that a server process has ended, and does not lend its connection, not even to a
     * borrow without waiting. */
    make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"), .pool = {.max = 1}});
    int pid = pid_of_a_borrow(&db, 120000);
    assert_int_equal(pid_of_a_borrow(&db, 0), pid);
    snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 120000)", pid);
    ask_number(admin, sql);
    assert_int_equal(borrow_within(&db, 0, &borrow), KOLK_FULL);
    assert_int_not_equal(pid_of_a_borrow(&db, 120000), pid);
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&db.pool, &stats);
    assert_int_equal(stats.invalid, 1);
    assert_int_equal(stats.unclean, 0);

    /* A connection stays good when the server sends messages that were not requested. */
    borrow_or_fail(&db, &borrow);
    number_of(&borrow, "LISTEN news");
    kolk_resource_give_back(&db.pool, &borrow);
    pid = pid_of_a_borrow(&db, 120000);
    ask_number(admin, "NOTIFY news");
    nap_ms(20);
    assert_int_equal(pid_of_a_borrow(&db, 120000), pid);

    /* Second level: only a query detects a stopped process; the first level does not. */
    kill(pid, SIGSTOP);
    assert_int_equal(pid_of_a_borrow(&db, 120000), pid);
    kill(pid, SIGCONT);
    kolk_resource_deinit(&db.pool);
    make_db(&db,
            &(kolk_pq_desc){
                .conninfo = conninfo_of(0, "postgres"), .pool = {.max = 1}, .ask_after_ms = 1, .patience_ms = 450});
    pid = pid_of_a_borrow(&db, 120000);
    kill(pid, SIGSTOP);
    nap_ms(5);
    int64_t begin = now_ms();
    assert_int_not_equal(pid_of_a_borrow(&db, 120000), pid);
    assert_true(now_ms() - begin >= 450); /* the query waited that long for an answer */
    kill(pid, SIGCONT);
    kolk_resource_deinit(&db.pool);

    /* keepalive also sends queries, even before 30 s have passed, but not if ask_after_ms is -1. */
    for (int never = 0; never < 2; never++) {
        make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"),
                                     .pool = {.name = "kept", .max = 1, .keepalive_ms = 1, .no_housekeeper = true},
                                     .ask_after_ms = -never});
        pid_of_a_borrow(&db, 120000);
        nap_ms(5);
        kolk_resource_tick(&db.pool, soon());
        assert_int_equal(ask_number(admin, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'kept' AND "
                                           "query = 'SELECT 1'"),
                         !never);
        kolk_resource_deinit(&db.pool);
    }
    PQfinish(admin);
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void test_keys(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"), .pool = {.max = 2}});
    const char *keys[] = {"", "dbname=template1", "options='-c search_path=ours'"};
    for (size_t i = 0; i < LENGTH_OF(keys); i++) {
        kolk_borrow_desc wish = {.key = keys[i], .deadline = soon()};
        if (kolk_resource_borrow(&db.pool, &wish, &borrow) != KOLK_OK) fail_msg("%s", borrow.error.text);
        assert_int_equal(number_of(&borrow, "SELECT (current_database() = 'template1')::int"), i == 1);
        assert_int_equal(number_of(&borrow, "SELECT (current_setting('search_path') = 'ours')::int"), i == 2);
        kolk_resource_give_back(&db.pool, &borrow);
    }
    kolk_borrow_desc wish = {.key = "nonsense", .deadline = soon()};
    assert_int_equal(kolk_resource_borrow(&db.pool, &wish, &borrow), KOLK_NOT_CREATED);
    assert_int_equal(borrow.error.code, KOLK_PQ_OTHER);
    assert_non_null(strstr(borrow.error.text, "nonsense"));
    kolk_resource_deinit(&db.pool);
}

/* ---- In trouble: the other ways are test_pq_faults.c ------------------------------------------------------------- */

static void test_terminated_connections(void **state) {
    skip_without_server();
    int fds = count_own("/proc/self/fd");
    open_bank(conninfo_of(0, "alice"), 5000, 0);
    await_transfers(50);
    terminate_some(does_a_part() ? 6 : 20, 10);
    await_recovery();
    close_bank();
    assert_int_equal(count_own("/proc/self/fd"), fds);
    assert_int_equal(count_own("/proc/self/task"), 1 + UNDER_TSAN); /* TSan has a thread of its own */
}

/* ---- The server shuts down (must run last) ----------------------------------------------------------------------- */

static void test_shutting_down(void **state) {
    skip_without_server();
    PGconn *admin = connect_admin(); /* the server's shutdown waits for this connection */
    kill(server.pid, SIGTERM);
    for (bool accepts = true; accepts; nap_ms(5)) {
        PGconn *other = PQconnectdb(conninfo_of(0, "postgres"));
        accepts = PQstatus(other) == CONNECTION_OK;
        PQfinish(other);
    }
    assert_refused(conninfo_of(0, "postgres"), KOLK_PQ_STARTING_UP, "57P03");
    PQfinish(admin);
}

int main(void) {
    begin_random_work(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_black_holes),
        cmocka_unit_test(test_give_back),
        cmocka_unit_test(test_prepared),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_validation),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_terminated_connections),
        cmocka_unit_test(test_shutting_down),
    };
    return cmocka_run_group_tests_name("pq", tests, make_server, remove_server);
}
