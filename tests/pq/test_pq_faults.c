/* runs: longest not:asan not:clang */
/* Runs the bank of bank.h through every trouble that a server or a network can cause, one after another. */
#include "bank.h"
#include "proxy.h"

/* The number of the process's descriptors before each test. */
static int fds_before;

static void begin_trouble(const char *conninfo, int64_t query_ms, int64_t pause_ms) {
    open_bank(conninfo, query_ms, pause_ms);
    await_transfers(50);
}

static void end_trouble(void) {
    await_recovery();
    close_bank();
}

/* Checks for leaked descriptors and threads. An unanswered cancel request may go on for a moment after its connection
 * has ended. */
static void check_what_is_left(void) {
    EVENTUALLY(count_own("/proc/self/fd") <= fds_before && count_own("/proc/self/task") <= 1 + UNDER_TSAN);
}

/* ---- The server -------------------------------------------------------------------------------------------------- */

static void terminate_backends(void) {
    begin_trouble(conninfo_of(0, "alice"), 5000, 0);
    terminate_some(does_a_part() ? 30 : 100, 10);
    end_trouble();
}

/* Kills a server process. The server then ends all others too, and recovers. */
static void kill_a_backend(void) {
    begin_trouble(conninfo_of(server.port, "alice"), 5000, 0);
    for (int i = 0; i < 3; i++) {
        int pid;
        if (bank_processes(&pid, 1) == 1) kill(pid, SIGKILL);
        nap_ms(100);
        PQfinish(connect_admin());
    }
    end_trouble();
}

static void restart(int signal) {
    begin_trouble(conninfo_of(server.port, "alice"), 5000, 0);
    for (int i = 0; i < 2; i++) {
        end_server(signal);
        nap_ms(200);
        begin_server();
        PQfinish(connect_admin());
        await_transfers(20);
    }
    end_trouble();
}

static void restart_fast(void) {
    restart(SIGINT);
}

static void restart_immediate(void) {
    restart(SIGQUIT);
}

/* Kills the server. Its processes end by themselves; until then it can't be started again. */
static void kill_the_server(void) {
    begin_trouble(conninfo_of(0, "alice"), 5000, 0);
    end_server(SIGKILL);
    nap_ms(500);
    for (PGconn *conn = NULL;; PQfinish(conn)) {
        begin_server();
        nap_ms(200);
        conn = PQconnectdb(server.socket);
        for (; PQstatus(conn) != CONNECTION_OK && waitpid(server.pid, NULL, WNOHANG) == 0; PQreset(conn)) nap_ms(20);
        if (PQstatus(conn) != CONNECTION_OK) continue;
        PQfinish(conn);
        break;
    }
    end_trouble();
}

/* Stops the whole server for a second. With a limit of two minutes per query, no caller notices; with 300 ms, queries
 * are cancelled, but late. */
static void stop_for_a_second(int64_t query_ms) {
    int pids[CONNECTIONS];
    begin_trouble(conninfo_of(0, "alice"), query_ms, 0);
    size_t count = bank_processes(pids, CONNECTIONS);
    kill(server.pid, SIGSTOP);
    for (size_t i = 0; i < count; i++) kill(pids[i], SIGSTOP);
    nap_ms(1000);
    for (size_t i = 0; i < count; i++) kill(pids[i], SIGCONT);
    kill(server.pid, SIGCONT);
    end_trouble();
}

static void stop_unnoticed(void) {
    stop_for_a_second(120000);
    assert_int_equal(bank.query_errors, 0);
}

static void stop_noticed(void) {
    stop_for_a_second(300);
}

/* The server refuses every new connection. A limit of the role does it at once. Other clients that take all connections
 * would have to win a race with the bank for each of them. */
static void too_many(void) {
    begin_trouble(conninfo_of(0, "alice"), 5000, 0);
    ask_admin("ALTER ROLE alice CONNECTION LIMIT 0");
    terminate_some(20, 20);
    await_cause(KOLK_PQ_TOO_MANY);
    ask_admin("ALTER ROLE alice CONNECTION LIMIT -1");
    end_trouble();
}

/* The server ends idle sessions, and the tellers rest for longer than its limit. */
static void idle_sessions_end(void) {
    kolk_resource_pool_stats stats = {0};
    begin_trouble(conninfo_of(0, "alice"), 5000, 60);
    ask_admin("ALTER ROLE alice SET idle_session_timeout = '30ms'");
    kolk_resource_evict(&bank.db.pool);
    for (; stats.invalid < 50; nap_ms(1)) kolk_resource_stats(&bank.db.pool, &stats);
    ask_admin("ALTER ROLE alice RESET idle_session_timeout");
    kolk_resource_evict(&bank.db.pool);
    end_trouble();
}

static void wrong_password(void) {
    begin_trouble(conninfo_of(server.port, "alice"), 5000, 0);
    ask_admin("ALTER ROLE alice PASSWORD 'another'");
    terminate_some(20, 20);
    await_cause(KOLK_PQ_AUTHENTICATION);
    ask_admin("ALTER ROLE alice PASSWORD 'secret'");
    end_trouble();
}

/* ---- The network ------------------------------------------------------------------------------------------------- */

static const char *through_the_proxy(void) {
    static char conninfo[300];
    start_proxy();
    snprintf(conninfo, sizeof conninfo, "%s connect_timeout=5", conninfo_of(proxy.port, "alice"));
    return conninfo;
}

static void lost_traffic(void) {
    begin_trouble(through_the_proxy(), 300, 0);
    set_proxy(LOSE);
    nap_ms(2500);
    set_proxy(PASS_ON);
    end_trouble();
    stop_proxy();
}

static void reset_connections(void) {
    begin_trouble(through_the_proxy(), 5000, 0);
    for (int i = 0; i < 5; i++) {
        set_proxy(RESET);
        nap_ms(50);
        set_proxy(PASS_ON);
        nap_ms(100);
    }
    end_trouble();
    stop_proxy();
}

static void slow_connect(void) {
    begin_trouble(through_the_proxy(), 5000, 0);
    set_proxy(DELAY);
    terminate_some(40, 20);
    set_proxy(PASS_ON);
    end_trouble();
    stop_proxy();
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

typedef struct trouble {
    void (*make)(void);
} trouble;

static void run_trouble(void **state) {
    const trouble *me = (const trouble *)*state;
    skip_without_server();
    fds_before = count_own("/proc/self/fd");
    me->make();
    check_what_is_left();
}

#define TROUBLE(name)                                                                                                  \
    {                                                                                                                  \
#name, run_trouble, NULL, NULL, &(trouble) {                                                                   \
            name                                                                                                       \
        }                                                                                                              \
    }

int main(void) {
    begin_random_work(0);
    const struct CMUnitTest tests[] = {
        TROUBLE(terminate_backends), TROUBLE(kill_a_backend),    TROUBLE(restart_fast), TROUBLE(restart_immediate),
        TROUBLE(kill_the_server),    TROUBLE(stop_unnoticed),    TROUBLE(stop_noticed), TROUBLE(too_many),
        TROUBLE(wrong_password),     TROUBLE(idle_sessions_end), TROUBLE(lost_traffic), TROUBLE(reset_connections),
        TROUBLE(slow_connect),
    };
    return cmocka_run_group_tests_name("pq_faults", tests, make_server, remove_server);
}
