/* server.h: starts a PostgreSQL server of the test program's own, in its own folder (tools/postgres.sh). If PostgreSQL
 * is not installed, the tests are skipped. */
#ifndef TESTS_PQ_SERVER_H
#define TESTS_PQ_SERVER_H

#include "../help/test.h"

#include "../help/threads.h"

#include <kolk/pq.h>
#include <libpq-fe.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    bool installed;
    char folder[64];
    char socket[160]; /* conninfo */
    int port;         /* on 127.0.0.1 */
    pid_t pid;
} server;

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static inline int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline void nap_ms(int64_t ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* The deadline of calls that must succeed, even on a slow and busy machine. */
static inline kolk_deadline soon(void) {
    return kolk_deadline_after(120000);
}

/* ---- Sockets, descriptors, threads ------------------------------------------------------------------------------- */

/* Returns a socket that listens on a free port of 127.0.0.1. */
static inline int listen_somewhere(int backlog, int *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 && listen(fd, backlog) == 0);
    REQUIRE(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* Returns a port on which nobody listens. */
static inline int free_port(void) {
    int port;
    close(listen_somewhere(1, &port));
    return port;
}

static inline int connect_to(int port) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) return fd;
    close(fd);
    return -1;
}

/* Counts this process's entries of /proc/self/fd, or of /proc/self/task. */
static inline int count_own(const char *folder) {
    DIR *list = opendir(folder);
    int count = 0;
    REQUIRE(list);
    for (const struct dirent *at; (at = readdir(list));) count += at->d_name[0] != '.';
    closedir(list);
    return count;
}

/* ---- The server -------------------------------------------------------------------------------------------------- */

/* Connects as the superuser; waits for the server for at most two minutes. */
static inline PGconn *connect_admin(void) {
    int64_t begin = now_ms();
    for (;;) {
        PGconn *conn = PQconnectdb(server.socket);
        if (PQstatus(conn) == CONNECTION_OK) return conn;
        if (now_ms() - begin > 120000) fprintf(stderr, "%s\n", PQerrorMessage(conn));
        REQUIRE(now_ms() - begin <= 120000);
        PQfinish(conn);
        nap_ms(10);
    }
}

/* Returns the number that a query returns, or 0 if it returns no row. */
static inline int64_t ask_number(PGconn *conn, const char *sql) {
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) == PGRES_FATAL_ERROR) fprintf(stderr, "%s: %s\n", sql, PQresultErrorMessage(result));
    REQUIRE(PQresultStatus(result) != PGRES_FATAL_ERROR);
    int64_t number = PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    PQclear(result);
    return number;
}

/* The same on a new connection of the superuser's. */
static inline int64_t ask_admin(const char *sql) {
    PGconn *conn = connect_admin();
    int64_t number = ask_number(conn, sql);
    PQfinish(conn);
    return number;
}

static inline void begin_server(void) {
    char port[16];
    fflush(NULL);
    server.pid = fork();
    REQUIRE(server.pid >= 0);
    if (server.pid == 0) {
        snprintf(port, sizeof port, "%d", server.port);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execl("tools/postgres.sh", "postgres.sh", "run", server.folder, "-c", "listen_addresses=127.0.0.1", "-p", port,
              "-c", "max_connections=30", (char *)NULL);
        _exit(127);
    }
}

static inline void end_server(int signal) {
    if (server.pid > 0) {
        kill(server.pid, signal);
        REQUIRE(waitpid(server.pid, NULL, 0) == server.pid);
    }
    server.pid = 0;
}

/* The group's setup. */
static inline int make_server(void **state) {
    char command[128];
    const char *temporary = getenv("TMPDIR");
    snprintf(server.folder, sizeof server.folder, "%.40s/kolk-pq.XXXXXX", temporary ? temporary : "/tmp");
    REQUIRE(mkdtemp(server.folder));
    snprintf(command, sizeof command, "tools/postgres.sh make %s", server.folder);
    int status = system(command);
    server.installed = status == 0;
    REQUIRE(server.installed || (WIFEXITED(status) && WEXITSTATUS(status) == 77));
    server.port = free_port();
    snprintf(server.socket, sizeof server.socket,
             "host=%s port=%d user=postgres dbname=postgres options='-c client_min_messages=error'", server.folder,
             server.port);
    if (!server.installed) return 0;
    begin_server();
    PQfinish(connect_admin());
    return 0;
}

/* The group's teardown. */
static inline int remove_server(void **state) {
    char command[128];
    end_server(SIGQUIT);
    REQUIRE(waitpid(-1, NULL, 0) == -1 && errno == ECHILD); /* no child is left */
    snprintf(command, sizeof command, "rm -rf '%s'", server.folder);
    return system(command);
}

static inline void skip_without_server(void) {
    if (!server.installed) skip();
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

/* Returns a conninfo for the socket (port 0), or for 127.0.0.1 and this port. It stays valid until the program ends. */
static inline const char *conninfo_of(int port, const char *user) {
    static char texts[64][200];
    static int count;
    char *text = texts[count++ % 64];
    if (port)
        snprintf(
            text, sizeof *texts,
            "host=127.0.0.1 port=%d user=%s password=secret dbname=postgres options='-c client_min_messages=error'",
            port, user);
    else
        snprintf(text, sizeof *texts, "host=%s port=%d user=%s dbname=postgres options='-c client_min_messages=error'",
                 server.folder, server.port, user);
    return text;
}

/* Unless the descriptor sets patience_ms, the pool waits for the server for as long as a busy machine may need. */
static inline void make_db(kolk_pq *db, const kolk_pq_desc *given) {
    kolk_pq_desc desc = *given;
    if (desc.patience_ms == 0) desc.patience_ms = 120000;
    kolk_status status = kolk_pq_init(db, &desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
}

static inline kolk_status borrow_within(kolk_pq *db, int64_t ms, kolk_borrowed *borrow) {
    return kolk_resource_borrow(&db->pool, &(kolk_borrow_desc){.deadline = kolk_deadline_after(ms)}, borrow);
}

static inline void borrow_or_fail(kolk_pq *db, kolk_borrowed *borrow) {
    if (borrow_within(db, 120000, borrow) != KOLK_OK) fail_msg("borrow: %s", borrow->error.text);
}

/* Runs a query, which must return a number. */
static inline int64_t number_of(const kolk_borrowed *borrow, const char *sql) {
    kolk_error error;
    PGresult *result = kolk_pq_exec(borrow, sql, 0, NULL, soon(), &error);
    if (error.code) fail_msg("%s: %s", sql, error.text);
    int64_t number = PQntuples(result) > 0 ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    PQclear(result);
    return number;
}

#define HAD_PASSED "the deadline has passed before" /* the text of the error, if nothing was sent */

/* Runs a query whose deadline passes after it was sent, which a busy machine may not manage in the first 20 ms. */
static inline PGresult *exec_too_long(const kolk_borrowed *borrow, const char *sql, kolk_error *error) {
    PGresult *result;
    int64_t ms = 20;
    do {
        result = kolk_pq_exec(borrow, sql, 0, NULL, kolk_deadline_after(ms), error);
        ms *= 2;
    } while (strcmp(error->text, HAD_PASSED) == 0);
    return result;
}

#endif
