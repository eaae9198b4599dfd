/* pq_query.c: requests with a deadline. libpq's blocking calls (PQexec, PQcancel) have none. So this file waits only by
 * poll on the connection's socket, between calls that don't block. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigfillset, with -std=c11 */
#endif

#include "pq_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANCEL_PAUSE_NS (20 * PQ_MS) /* before the next cancel request; doubles each time */
#define LAST_MOMENT_NS  (40 * PQ_MS) /* for the last cancel request when the pool ends */
#define DECRYPT_NS      (50 * PQ_MS) /* an encrypted connection is read again after this, even without an event */

/* ---- Time -------------------------------------------------------------------------------------------------------- */

int64_t kolk_pq_now_(void) {
    return kolk_deadline_after(1).ns - PQ_MS;
}

kolk_deadline kolk_pq_after_(int64_t ns) {
    int64_t now = kolk_pq_now_();
    return (kolk_deadline){ns < INT64_MAX - now ? now + ns : INT64_MAX};
}

kolk_deadline kolk_pq_sooner_(kolk_deadline one, kolk_deadline other) {
    return one.ns < other.ns ? one : other;
}

/* `interrupt` is a descriptor that ends the wait when it becomes readable; -1: none. */
static short wait_unless(int interrupt, int fd, short events, kolk_deadline deadline) {
    if (fd < 0) return POLLNVAL;
    for (;;) {
        struct pollfd at[] = {{.fd = fd, .events = events}, {.fd = interrupt, .events = POLLIN}};
        int64_t left = deadline.ns == KOLK_NOW.ns ? 0 : (deadline.ns - kolk_pq_now_() + PQ_MS - 1) / PQ_MS;
        int ms = left <= 0 ? 0 : left < INT_MAX ? (int)left : INT_MAX;
        int seen = poll(at, interrupt < 0 ? 1 : 2, ms);
        if (seen > 0) return at[1].revents ? 0 : at[0].revents;
        if (seen == 0 && left <= ms) return 0;
        if (seen < 0 && errno != EINTR && errno != EAGAIN) return POLLERR;
    }
}

short kolk_pq_wait_(int fd, short events, kolk_deadline deadline) {
    return wait_unless(-1, fd, events, deadline);
}

short kolk_pq_wait_wanted_(int fd, short events, kolk_deadline deadline) {
    return wait_unless(kolk_resource_interrupt_fd(), fd, events, deadline);
}

/* The same for a connection. Encrypted data comes in records. If a record does not fit into libpq's buffer, the rest
 * stays inside the TLS library, and the socket does not report it. So libpq reads before each wait, and also from time
 * to time, because more may arrive in between. */
static short wait_for_answer(const pq_connection *connection, short events, kolk_deadline deadline) {
    PGconn *conn = connection->conn;
    int interrupt = connection->asked ? kolk_resource_interrupt_fd() : -1;
    if (!PQsslInUse(conn) && !PQgssEncInUse(conn)) return wait_unless(interrupt, PQsocket(conn), events, deadline);
    if (!PQconsumeInput(conn) || !PQisBusy(conn)) return POLLIN;
    kolk_deadline sooner = kolk_pq_sooner_(kolk_pq_after_(DECRYPT_NS), deadline);
    short seen = wait_unless(interrupt, PQsocket(conn), events, sooner);
    if (seen || kolk_pq_now_() >= deadline.ns) return seen;
    return interrupt >= 0 && kolk_resource_is_interrupted() ? 0 : POLLIN;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static bool send_request(PGconn *conn, const pq_request *request) {
    if (request->name && request->sql) return PQsendPrepare(conn, request->name, request->sql, 0, NULL);
    if (request->name) return PQsendQueryPrepared(conn, request->name, request->n, request->values, NULL, NULL, 0);
    if (request->n == 0) return PQsendQuery(conn, request->sql);
    return PQsendQueryParams(conn, request->sql, request->n, NULL, request->values, NULL, NULL, 0);
}

bool kolk_pq_is_copy_(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

bool kolk_pq_is_good_(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY ||
           kolk_pq_is_copy_(result);
}

/* Sends the rest of the request, and reads until the query has ended. The last result replaces *result. Returns false
 * if the query has not ended at the deadline, or if the connection is broken. */
static bool read_results(pq_connection *connection, kolk_deadline deadline, PGresult **result) {
    PGconn *conn = connection->conn;
    for (;;) {
        for (int unsent; (unsent = PQflush(conn)) > 0 || PQisBusy(conn);) {
            short seen = wait_for_answer(connection, unsent > 0 ? POLLIN | POLLOUT : POLLIN, deadline);
            if (!seen) return false;
            if (!(seen & ~POLLOUT) || PQconsumeInput(conn)) continue;
            connection->broken = true;
            return false;
        }
        PGresult *next = PQgetResult(conn);
        connection->broken |= PQstatus(conn) == CONNECTION_BAD;
        if (!next) return !connection->broken;
        PQclear(*result);
        *result = next;
        if (kolk_pq_is_copy_(next) || connection->broken) return !connection->broken;
    }
}

bool kolk_pq_run_(pq_connection *connection, const pq_request *request, kolk_deadline deadline, PGresult **result) {
    PGconn *conn = connection->conn;
    bool sent = PQsetnonblocking(conn, 1) == 0 && send_request(conn, request);
    if (sent && !read_results(connection, deadline, result)) return connection->broken;
    if (PQsetnonblocking(conn, 0) != 0 || PQstatus(conn) != CONNECTION_OK) connection->broken = true;
    return true;
}

bool kolk_pq_ask_(pq_connection *connection, const char *sql, kolk_deadline deadline, kolk_error *error) {
    PGresult *result = NULL;
    connection->asked = true;
    bool ended = kolk_pq_run_(connection, &(pq_request){.sql = sql}, deadline, &result);
    connection->asked = false;
    if (!ended || !kolk_pq_is_good_(result)) connection->broken = true;
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (state)
        kolk_pq_say_result_(error, kolk_pq_cause_of_(state), result);
    else if (!ended)
        kolk_pq_say_(error, KOLK_PQ_TIMEOUT, "the server has not answered in time");
    else if (connection->broken)
        kolk_pq_say_(error, KOLK_PQ_BROKEN,
                     *connection->last_words ? connection->last_words : PQerrorMessage(connection->conn));
    error->final = state && (strncmp(state, "42", 2) == 0 || strncmp(state, "22", 2) == 0);
    PQclear(result);
    return !connection->broken;
}

/* ---- Cancelling -------------------------------------------------------------------------------------------------- */

typedef struct pq_cancel {
    PGcancel *cancel;
    int end; /* of a pipe; closed when the request has ended */
} pq_cancel;

static void *send_cancel(void *argument) {
    pq_cancel *job = (pq_cancel *)argument;
    char said[256];
    PQcancel(job->cancel, said, sizeof said);
    PQfreeCancel(job->cancel);
    close(job->end);
    free(job);
    return NULL;
}

/* Starts a thread with all signals blocked, because its SIGPIPE must not end the program, and other signals are for the
 * program's own threads. */
static bool start_detached(void *(*work)(void *), void *argument) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, work, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_detach(thread);
    return started;
}

/* PQcancel blocks without a deadline, so a separate thread calls it. Returns the other end of that thread's pipe, or -1
 * if nothing was sent. */
static int start_cancel(PGconn *conn) {
    int ends[2];
    pq_cancel *job = malloc(sizeof *job);
    if (!job || pipe(ends) != 0) {
        free(job);
        return -1;
    }
    for (int i = 0; i < 2; i++) fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    *job = (pq_cancel){.cancel = PQgetCancel(conn), .end = ends[1]};
    if (job->cancel && start_detached(send_cancel, job)) return ends[0];
    PQfreeCancel(job->cancel);
    free(job);
    close(ends[0]);
    close(ends[1]);
    return -1;
}

/* Sends a cancel request. Returns false if the request has not ended at the deadline, or within a moment if the pool is
 * ending; a server that answers has received it by then. */
static bool cancel_once(PGconn *conn, kolk_deadline deadline) {
    int end = start_cancel(conn);
    if (end < 0) return false;
    bool ended = kolk_pq_wait_wanted_(end, POLLIN, deadline) != 0;
    kolk_deadline moment = kolk_pq_sooner_(kolk_pq_after_(LAST_MOMENT_NS), deadline);
    if (!ended && kolk_resource_is_interrupted()) ended = kolk_pq_wait_(end, POLLIN, moment) != 0;
    close(end);
    return ended;
}

/* A request that arrives before the server has begun the query has no effect, so several may be needed. Within COPY the
 * connection counts as broken, because a request may still be on its way. */
bool kolk_pq_cancel_(pq_connection *connection, PGresult **result) {
    kolk_deadline deadline = kolk_pq_after_(connection->db->patience_ns);
    bool sent = true, ended = false;
    connection->asked = true;
    for (int64_t pause = CANCEL_PAUSE_NS; sent && !ended && kolk_pq_now_() < deadline.ns; pause *= 2) {
        sent = cancel_once(connection->conn, deadline);
        ended = read_results(connection, kolk_pq_sooner_(kolk_pq_after_(pause), deadline), result);
        if (connection->broken || kolk_resource_is_interrupted()) break;
    }
    connection->asked = false;
    ended = ended && !kolk_pq_is_copy_(*result);
    if (!sent || !ended || PQsetnonblocking(connection->conn, 0) != 0) connection->broken = true;
    return ended;
}
