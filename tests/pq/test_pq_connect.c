/* runs: long not:clang wraps: PQsetNoticeReceiver kolk_pq_now_ */
/* Connecting to hosts with several addresses, some of them silent; the adapter's defaults; passwords that change. */
#include "server.h"

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include "pq_inside.h"

/* ---- Names with two addresses ------------------------------------------------------------------------------------ */

static int resolved; /* how often two.test was resolved */

/* Replaces the C library's function, for libpq too, so that two.test has the addresses 127.0.0.2 and 127.0.0.1. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **all) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!name || strcmp(name, "two.test") != 0) return real(name, service, hints, all);
    resolved++;
    struct addrinfo *second = NULL;
    int failed = real("127.0.0.2", service, hints, all);
    if (!failed) failed = real("127.0.0.1", service, hints, &second);
    if (!failed) (*all)->ai_next = second;
    return failed;
}

static int silent = -1; /* a listener that never answers */

/* Listens on the server's port of 127.0.0.2, and never answers. */
static int listen_silently(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    inet_pton(AF_INET, "127.0.0.2", &at.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 100) == 0);
    return fd;
}

/* Counts the connections made there since the last count. */
static int count_knocks(int listener) {
    int count = 0;
    for (; poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 0) > 0; count++)
        close(accept(listener, NULL, NULL));
    return count;
}

int64_t __real_kolk_pq_now_(void);
int64_t __wrap_kolk_pq_now_(void);

static int64_t ahead; /* by how much the clock with which a connect computes times is fast */

int64_t __wrap_kolk_pq_now_(void) {
    return __real_kolk_pq_now_() + ahead;
}

static int64_t began; /* when the last attempt to connect began, in ms */

/* Calls kolk_pq_create_ directly, because a pool would set its own time-out. */
static pq_connection *connect_within(kolk_pq *db, const char *key, int64_t ms, kolk_error *error) {
    void *resource = NULL;
    *error = (kolk_error){0};
    began = now_ms();
    if (!kolk_pq_create_(db, key, kolk_deadline_after(ms), &resource, error)) {
        assert_null(resource);
        return NULL;
    }
    pq_connection *connection = (pq_connection *)resource;
    assert_int_equal(PQstatus(connection->conn), CONNECTION_OK);
    return connection;
}

/* Returns a connection, or NULL with the expected cause. A busy machine may need more than `ms`. Then tries again with
 * twice the time. */
static pq_connection *connect_in_time(kolk_pq *db, const char *key, int64_t ms, kolk_pq_cause cause,
                                      kolk_error *error) {
    pq_connection *connection;
    do {
        count_knocks(silent);
        connection = connect_within(db, key, ms, error);
        ms *= 2;
    } while (!connection && (error->code != (int32_t)cause || strcmp(error->text, HAD_PASSED) == 0) && ms < 120000);
    return connection;
}

static void connect_to_hosts(const char *hosts, int64_t ms, int64_t least) {
    char text[400];
    kolk_pq db;
    kolk_borrowed borrow = {0};
    kolk_error error = {0};
    snprintf(text, sizeof text, "%s user=postgres dbname=postgres", hosts);
    make_db(&db, &(kolk_pq_desc){.conninfo = text});
    borrow.resource = connect_in_time(&db, "", ms, 0, &error);
    if (!borrow.resource) fail_msg("%s: %s", hosts, error.text);
    assert_true(now_ms() - began >= least);
    assert_int_equal(number_of(&borrow, "SELECT inet_server_port()"), server.port);
    kolk_pq_destroy_(&db, borrow.resource);
    kolk_pq_deinit(&db);
}

/* promise: "connect_timeout (in seconds) ... with target_session_attrs" */
static void test_silent_addresses(void **state) {
    skip_without_server();
    char text[300];
    int fds = count_own("/proc/self/fd"), p = server.port, closed = free_port();
    silent = listen_silently(p);

    /* If the first address of a name is silent, it gets half of the time. */
    snprintf(text, sizeof text, "host=two.test port=%d", p);
    connect_to_hosts(text, 800, 390);
    assert_int_equal(count_knocks(silent), 1); /* the silent address is not tried again */
    /* connect_timeout holds for each address. */
    kolk_error error;
    kolk_pq db;
    pq_connection *connection = NULL;
    snprintf(text, sizeof text, "host=two.test port=%d user=postgres dbname=postgres", p);
    make_db(&db, &(kolk_pq_desc){.conninfo = text});
    for (int seconds = 1; !connection; seconds *= 2) {
        char key[32];
        snprintf(key, sizeof key, "connect_timeout=%d", seconds);
        connection = connect_within(&db, key, 120000, &error);
        assert_true(now_ms() - began >= 990 * seconds);
    }
    kolk_pq_destroy_(&db, connection);
    kolk_pq_deinit(&db);
    /* Of several hosts, each is tried once, including silent ones that are given by address, however it is spelt. */
    snprintf(text, sizeof text,
             "host=two.test,two.test,one.test hostaddr=127.2,,127.0.0.1 port=%d,%d,%d "
             "target_session_attrs=read-write",
             p, p, closed);
    connect_to_hosts(text, 900, 290);
    snprintf(text, sizeof text, "host=127.0.0.1,two.test port=%d,%d target_session_attrs=prefer-standby", closed, p);
    connect_to_hosts(text, 900, 290);
    snprintf(text, sizeof text, "hostaddr=127.0.0.2,127.0.0.2,127.0.0.1 port=%d target_session_attrs=primary", p);
    if (!does_a_part()) connect_to_hosts(text, 900, 290);
    /* Of two hosts, the silent one is skipped, not the one that libpq tried before it. */
    snprintf(text, sizeof text,
             "host=two.test,two.test hostaddr=127.0.0.1,127.0.0.2 port=%d target_session_attrs=prefer-standby", p);
    connect_to_hosts(text, 800, 390);
    snprintf(text, sizeof text, "host=127.0.0.2,%s port=%d", server.folder, p);
    make_db(&db, &(kolk_pq_desc){.conninfo = text});
    connection = connect_in_time(&db, "user=postgres dbname=postgres", 800, 0, &error);
    assert_non_null(connection);
    assert_string_equal(PQhost(connection->conn), server.folder);
    kolk_pq_destroy_(&db, connection);
    kolk_pq_deinit(&db);

    /* If no host answers, the error names the last one that was tried. */
    close(silent);
    silent = listen_silently(closed);
    make_db(&db, &(kolk_pq_desc){.conninfo = "host=two.test user=postgres"});
    snprintf(text, sizeof text, "port=%d", closed);
    assert_null(connect_in_time(&db, text, 300, KOLK_PQ_REFUSED, &error)); /* the second address refuses */
    assert_int_equal(error.code, KOLK_PQ_REFUSED);
    assert_null(connect_in_time(&db, "host=127.0.0.2 port=1", 300, KOLK_PQ_REFUSED, &error));
    assert_int_equal(error.code, KOLK_PQ_REFUSED);
    snprintf(text, sizeof text, "host=two.test,two.test hostaddr=127.0.0.2,127.0.0.2 port=%d", closed);
    assert_null(connect_in_time(&db, text, 300, KOLK_PQ_TIMEOUT, &error));
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    snprintf(text, sizeof text, "no answer in time from two.test (127.0.0.2), port %d", closed);
    assert_string_equal(error.text, text);
    snprintf(text, sizeof text, "host=127.0.0.2 port=%d", closed);
    assert_null(connect_in_time(&db, text, 100, KOLK_PQ_TIMEOUT, &error));
    snprintf(text, sizeof text, "no answer in time from 127.0.0.2, port %d", closed);
    assert_string_equal(error.text, text);
    kolk_pq_deinit(&db);
    close(silent);
    silent = -1;

    /* A name is resolved once, by libpq, if the server answers in the first moment, which is long here. */
    snprintf(text, sizeof text, "host=two.test port=%d", p);
    resolved = 0;
    ahead = 60000 * PQ_MS;
    connect_to_hosts(text, 120000, 0);
    ahead = 0;
    assert_int_equal(resolved, 1);
    assert_int_equal(count_own("/proc/self/fd"), fds);
}

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void test_expired_deadline(void **state) {
    char text[100];
    kolk_pq db;
    kolk_error error = {0};
    void *resource = NULL;
    int port, listener = listen_somewhere(5, &port);
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=postgres", port);
    make_db(&db, &(kolk_pq_desc){.conninfo = text});
    kolk_deadline passed = {kolk_deadline_after(1).ns - 2000000};
    assert_false(kolk_pq_create_(&db, "", passed, &resource, &error));
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    assert_string_equal(error.text, "the deadline has passed before");
    assert_false(kolk_pq_create_(&db, "", KOLK_NOW, &resource, &error));
    assert_int_equal(error.code, KOLK_PQ_TIMEOUT);
    assert_int_equal(count_knocks(listener), 0);
    kolk_pq_deinit(&db);
    close(listener);
}

/* ---- What is set by the adapter ---------------------------------------------------------------------------------- */

static int option_of_socket(PGconn *conn, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    assert_int_equal(getsockopt(PQsocket(conn), IPPROTO_TCP, option, &value, &size), 0);
    return value;
}

/* promise: "30000, unless conninfo or the key sets them" */
static void test_keepalives(void **state) {
    skip_without_server();
    static const struct {
        const char *more, *key;
        int idle, interval, count, user;
    } rows[] = {{"", "", 30, 10, 3, 30000},
                {"keepalives_idle=77 tcp_user_timeout=1234", "", 77, 10, 3, 1234},
                {"", "keepalives_interval=5 keepalives_count=4", 30, 5, 4, 30000},
                {"", "service=ours", 55, 0, 0, 0}, /* 0: the system's value */
                {"tcp_user_timeout=0", "", 30, 10, 3, 0}};
    char file[128];
    snprintf(file, sizeof file, "%s/services", server.folder);
    FILE *services = fopen(file, "w");
    assert_non_null(services);
    fputs("[ours]\nkeepalives_idle=55\n", services);
    fclose(services);
    setenv("PGSERVICEFILE", file, 1);
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        char text[300];
        kolk_pq db;
        kolk_error error;
        snprintf(text, sizeof text, "%s %s", conninfo_of(server.port, "postgres"), rows[i].more);
        make_db(&db, &(kolk_pq_desc){.conninfo = text});
        pq_connection *connection = connect_within(&db, rows[i].key, 120000, &error);
        if (!connection) fail_msg("%zu: %s", i, error.text);
        PGconn *conn = connection->conn;
        assert_int_equal(option_of_socket(conn, TCP_KEEPIDLE), rows[i].idle);
        if (rows[i].interval) assert_int_equal(option_of_socket(conn, TCP_KEEPINTVL), rows[i].interval);
        if (rows[i].count) assert_int_equal(option_of_socket(conn, TCP_KEEPCNT), rows[i].count);
        assert_int_equal(option_of_socket(conn, TCP_USER_TIMEOUT), rows[i].user);
        kolk_pq_destroy_(&db, connection);
        kolk_pq_deinit(&db);
    }
    unsetenv("PGSERVICEFILE");
}

static void assert_text(const kolk_borrowed *borrow, const char *sql, const char *expected) {
    kolk_error error;
    PGresult *result = kolk_pq_exec(borrow, sql, 0, NULL, soon(), &error);
    if (error.code) fail_msg("%s: %s", sql, error.text);
    assert_string_equal(PQgetvalue(result, 0, 0), expected);
    PQclear(result);
}

/* promise: "The name that the server ... pool's name", "The server ... 1, is KOLK_BAD_TIME" */
static void test_session(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    make_db(&db, &(kolk_pq_desc){.conninfo = conninfo_of(0, "postgres"),
                                 .pool = {.name = "pool", .max = 2},
                                 .application_name = "shop",
                                 .statement_timeout_ms = 700000,
                                 .discard_all = true});
    borrow_or_fail(&db, &borrow);
    assert_text(&borrow, "SET statement_timeout = 0; SHOW statement_timeout", "0");
    kolk_resource_give_back(&db.pool, &borrow);
    borrow_or_fail(&db, &borrow); /* the setting survives DISCARD ALL */
    assert_text(&borrow, "SHOW statement_timeout", "700s");
    assert_text(&borrow, "SHOW client_min_messages", "error"); /* set by the conninfo's options */
    assert_text(&borrow, "SHOW application_name", "shop");
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_borrow_desc wish = {.key = "application_name=key options='-c statement_timeout=800s'", .deadline = soon()};
    assert_int_equal(kolk_resource_borrow(&db.pool, &wish, &borrow), KOLK_OK);
    assert_text(&borrow, "SHOW statement_timeout", "800s");
    assert_text(&borrow, "SHOW application_name", "key");
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_pq_deinit(&db);

    char text[200];
    setenv("PGOPTIONS", "-c search_path=theirs", 1);
    snprintf(text, sizeof text, "host=%s port=%d user=postgres dbname=postgres", server.folder, server.port);
    for (int i = 0; i < 2; i++) {
        make_db(&db, &(kolk_pq_desc){.conninfo = text, .statement_timeout_ms = i * 900000});
        borrow_or_fail(&db, &borrow);
        assert_text(&borrow, "SHOW search_path", "theirs");
        assert_text(&borrow, "SHOW statement_timeout", i ? "15min" : "0");
        kolk_resource_give_back(&db.pool, &borrow);
        kolk_pq_deinit(&db);
    }
    unsetenv("PGOPTIONS");
}

/* ---- Passwords --------------------------------------------------------------------------------------------------- */

static struct {
    const char *next; /* NULL: there is no password */
    char key[32];
    const char *out;
    size_t size;
    bool looks, seen;
} vault;

/* Returns true if the text is at this place, which may have been freed. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address", "thread")))
#endif
static bool
is_there(const volatile char *at, const char *text) {
    for (; *text; at++, text++)
        if (*at != *text) return false;
    return true;
}

/* Called right after the adapter has connected, when it sets its notice receiver. */
PQnoticeReceiver __real_PQsetNoticeReceiver(PGconn *conn, PQnoticeReceiver receiver, void *argument);
PQnoticeReceiver __wrap_PQsetNoticeReceiver(PGconn *conn, PQnoticeReceiver receiver, void *argument);
PQnoticeReceiver __wrap_PQsetNoticeReceiver(PGconn *conn, PQnoticeReceiver receiver, void *argument) {
    if (vault.looks) vault.seen = is_there(vault.out, vault.next);
    return __real_PQsetNoticeReceiver(conn, receiver, argument);
}

static bool open_vault(void *context, const char *key, char *out, size_t size) {
    assert_ptr_equal(context, &vault);
    snprintf(vault.key, sizeof vault.key, "%s", key);
    vault.out = out;
    vault.size = size;
    vault.looks = true;
    if (!vault.next) return false;
    snprintf(out, size, "%s", vault.next);
    return true;
}

/* promise: "It writes the password ... one in conninfo" */
static void test_password(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_error error;
    char text[200];
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=alice dbname=postgres password=old", server.port);
    make_db(&db, &(kolk_pq_desc){.conninfo = text, .password = open_vault, .context = &vault});
    vault.next = "wrong";
    assert_null(connect_within(&db, "", 120000, &error));
    assert_int_equal(error.code, KOLK_PQ_AUTHENTICATION);
    vault.seen = true;
    vault.next = "secret"; /* called at each connect */
    pq_connection *connection = connect_within(&db, "password=older", 120000, &error);
    if (!connection) fail_msg("%s", error.text);
    assert_false(vault.seen); /* the password was wiped */
    assert_string_equal(vault.key, "password=older");
    assert_int_equal(vault.size, 8192);
    vault.looks = false;
    kolk_pq_destroy_(&db, connection);
    vault.next = NULL;
    assert_null(connect_within(&db, "", 120000, &error));
    assert_int_equal(error.code, KOLK_PQ_AUTHENTICATION);
    vault.looks = false;
    kolk_pq_deinit(&db);
}

static int password_calls; /* atomic */

static bool find_password(void *context, const char *key, char *out, size_t size) {
    bool is_first = __atomic_fetch_add(&password_calls, 1, __ATOMIC_RELAXED) == 0;
    snprintf(out, size, "%s", is_first ? "wrong" : "secret");
    return true;
}

/* A refused password is not final if the next call may return another one. */
static void test_next_password(void **state) {
    skip_without_server();
    kolk_pq db;
    kolk_borrowed borrow;
    char text[200];
    snprintf(text, sizeof text, "host=127.0.0.1 port=%d user=alice dbname=postgres", server.port);
    make_db(&db, &(kolk_pq_desc){.conninfo = text, .pool.max = 1, .password = find_password});
    borrow_or_fail(&db, &borrow);
    assert_int_equal(password_calls, 2);
    kolk_resource_give_back(&db.pool, &borrow);
    kolk_pq_deinit(&db);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent_addresses), cmocka_unit_test(test_expired_deadline),
        cmocka_unit_test(test_keepalives),       cmocka_unit_test(test_session),
        cmocka_unit_test(test_password),         cmocka_unit_test(test_next_password),
    };
    return cmocka_run_group_tests_name("pq_connect", tests, make_server, remove_server);
}
