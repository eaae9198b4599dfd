/* runs: long not:clang */
/* Encrypted connections with answers in records that are larger than libpq's reads. tls_proxy.py, which needs Python,
 * runs in front of the server; openssl makes its certificate. */
#include "server.h"

static struct {
    pid_t pid;
    int input, port;
} tls;

static bool start_tls_proxy(void) {
    char command[600], port[16], certificate[100], key[100], line[16] = "";
    snprintf(certificate, sizeof certificate, "%s/proxy.crt", server.folder);
    snprintf(key, sizeof key, "%s/proxy.key", server.folder);
    snprintf(port, sizeof port, "%d", server.port);
    snprintf(command, sizeof command,
             "command -v python3 > /dev/null && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
             "-keyout '%s' -out '%s' 2> '%s/openssl.log'",
             key, certificate, server.folder);
    if (system(command) != 0) return false;
    int in[2], out[2];
    REQUIRE(pipe(in) == 0 && pipe(out) == 0);
    fflush(NULL);
    tls.pid = fork();
    REQUIRE(tls.pid >= 0);
    if (tls.pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int i = 0; i < 2; i++) {
            close(in[i]);
            close(out[i]);
        }
        execlp("python3", "python3", "tests/pq/tls_proxy.py", port, certificate, key, (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    tls.input = in[1];
    REQUIRE(read(out[0], line, sizeof line - 1) > 0);
    close(out[0]);
    tls.port = (int)strtol(line, NULL, 10);
    return true;
}

/* The test's teardown. */
static int stop_tls_proxy(void **state) {
    if (tls.pid == 0) return 0;
    close(tls.input);
    REQUIRE(waitpid(tls.pid, NULL, 0) == tls.pid);
    return 0;
}

/* Answers of about one record, each longer than the last by a row of 31 bytes, and answers of several records all
 * arrive. Some slightly exceed libpq's buffer, so that a rest stays inside the TLS library. If that rest is not read,
 * nothing arrives until the deadline. promise: "with parameters ... query succeeded" */
static void test_large_records(void **state) {
    skip_without_server();
    if (!start_tls_proxy()) {
        print_message("left out: there is no python3, or no openssl\n");
        skip();
    }
    char text[200], sql[200];
    kolk_pq db;
    kolk_borrowed borrow;
    kolk_error error;
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=require", tls.port);
    make_db(&db, &(kolk_pq_desc){.conninfo = text, .pool = {.name = "tls", .max = 1}});
    borrow_or_fail(&db, &borrow);
    assert_true(PQsslInUse(kolk_pq_conn(&borrow)));
    for (int rows = 520, most = does_a_part() ? 535 : 1300; rows < most; rows += rows < 535 ? 1 : 5) {
        snprintf(sql, sizeof sql, "SELECT repeat('x', 20) FROM generate_series(1, %d)", rows);
        PGresult *result = kolk_pq_exec(&borrow, sql, 0, NULL, soon(), &error);
        if (error.code) fail_msg("%d rows: %s", rows, error.text);
        assert_int_equal(PQntuples(result), rows);
        assert_int_equal(PQgetlength(result, rows - 1, 0), 20);
        PQclear(result);
    }
    assert_int_equal(number_of(&borrow, "SELECT 12, repeat('x', 1000000)"), 12);

    /* Also works for a cancelled query, and for a query that takes longer than the pauses between two reads. */
    PQclear(kolk_pq_exec(&borrow, "SELECT pg_sleep(600)", 0, NULL, kolk_deadline_after(70), &error));
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    assert_int_equal(number_of(&borrow, "SELECT 13, pg_sleep(0.2)"), 13);
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&db.pool, &stats);
    assert_int_equal(stats.created, 1);
    kolk_pq_deinit(&db);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_large_records, stop_tls_proxy)};
    return cmocka_run_group_tests_name("pq_tls", tests, make_server, remove_server);
}
