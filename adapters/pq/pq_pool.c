/* pq_pool.c: the functions of the resource pool.
 *
 *     create     connects, and gives up when the connection is no longer needed.
 *     validate   checks the socket, which a server closes when it ends a connection or is killed. A stopped server or
 *                dropped traffic is found only by the second level, a query, which waits.
 *     reset      reads the transaction's state from libpq, which costs nothing.
 *     destroy    waits a moment for the server to close its end too. Otherwise the server process, while it exits,
 *                would still count against the limit of connections when the next connection is made. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif

#include "pq_inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef POLLRDHUP
#define POLLRDHUP 0 /* then POLLIN reports the end of the stream */
#endif

#define FAREWELL_NS (40 * PQ_MS) /* for the server to close its end, while a borrow may be waiting */

/* ---- What is libpq's, in the process ----------------------------------------------------------------------------- */

/* The server sends a reason before it ends a connection. If no query is running, libpq treats it as a notice. */
static void hear_notice(void *argument, const PGresult *said) {
    pq_connection *connection = (pq_connection *)argument;
    const char *severity = PQresultErrorField(said, PG_DIAG_SEVERITY_NONLOCALIZED);
    bool ends = (severity && strcmp(severity, "FATAL") == 0) || kolk_pq_is_state_(said, "57P02");
    if (ends)
        snprintf(connection->last_words, sizeof connection->last_words, "%s", PQresultErrorMessage(said));
    else
        connection->receiver(NULL, said);
}

/* Undoes a borrower's libpq settings for notices and messages, because their arguments may be gone. */
static void restore_settings(pq_connection *connection) {
    PGconn *conn = connection->conn;
    PQsetNoticeReceiver(conn, hear_notice, connection);
    PQsetNoticeProcessor(conn, connection->processor, NULL);
    PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
    PQsetErrorContextVisibility(conn, PQSHOW_CONTEXT_ERRORS);
    PQuntrace(conn);
}

/* Drops the notifications that have been read. */
static void forget_notifies(PGconn *conn) {
    for (PGnotify *heard; (heard = PQnotifies(conn));) PQfreemem(heard);
}

/* Runs the program's SQL, if there is any, on a connection that is new, or new again. */
static bool set_up(pq_connection *connection, kolk_deadline deadline, kolk_error *error) {
    if (!connection->db->setup) return true;
    if (!kolk_pq_ask_(connection, connection->db->setup, deadline, error)) {
        bool goes_on = PQtransactionStatus(connection->conn) == PQTRANS_ACTIVE;
        if (goes_on && PQstatus(connection->conn) == CONNECTION_OK) connection->broken = false; /* destroy cancels it */
        return false;
    }
    if (PQtransactionStatus(connection->conn) == PQTRANS_IDLE) return true;
    kolk_pq_say_(error, KOLK_PQ_OTHER, "setup leaves a transaction or a COPY open");
    error->final = true;
    return false;
}

/* ---- Create and destroy ------------------------------------------------------------------------------------------ */

bool kolk_pq_create_(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    const kolk_pq *db = (const kolk_pq *)context;
    if (deadline.ns <= kolk_pq_now_()) {
        bool is_now = deadline.ns <= KOLK_NOW.ns;
        kolk_pq_say_(error, KOLK_PQ_TIMEOUT, is_now ? "to connect takes waiting" : "the deadline has passed before");
        return false;
    }
    pq_connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        kolk_pq_say_(error, KOLK_PQ_OTHER, "no memory");
        return false;
    }
    PGconn *conn = kolk_pq_connect_(db, key, deadline, error);
    if (!conn) {
        free(connection);
        return false;
    }
    *connection = (pq_connection){.conn = conn, .db = db};
    connection->receiver = PQsetNoticeReceiver(conn, hear_notice, connection);
    connection->processor = PQsetNoticeProcessor(conn, NULL, NULL); /* returns libpq's own; NULL changes nothing */
    if (!set_up(connection, deadline, error)) {
        kolk_pq_destroy_(context, connection);
        return false;
    }
    *resource = connection;
    return true;
}

/* Reads until the server closes its end too. It does not wait when the pool is closed, because then no new connection
 * follows. */
static void part(int fd) {
    char rest[4096];
    kolk_deadline deadline = kolk_pq_after_(FAREWELL_NS);
    while (kolk_pq_wait_wanted_(fd, POLLIN, deadline) && recv(fd, rest, sizeof rest, 0) > 0) {}
}

void kolk_pq_destroy_(void *context, void *resource) {
    pq_connection *connection = (pq_connection *)resource;
    (void)context;
    restore_settings(connection); /* PQfinish may emit notices too */
    if (!connection->broken && PQtransactionStatus(connection->conn) == PQTRANS_ACTIVE) {
        PGresult *result = NULL;
        PQsetnonblocking(connection->conn, 1);
        kolk_pq_cancel_(connection, &result); /* otherwise the server would continue the query */
        PQclear(result);
    }
    int fd = fcntl(PQsocket(connection->conn), F_DUPFD_CLOEXEC, 0);
    if (connection->broken && fd >= 0) shutdown(fd, SHUT_WR); /* so that PQfinish does not wait to send */
    PQfinish(connection->conn);
    if (!connection->broken && fd >= 0) part(fd);
    if (fd >= 0) close(fd);
    kolk_pq_forget_statements_(connection);
    free(connection->statements);
    free(connection);
}

/* ---- Validate ---------------------------------------------------------------------------------------------------- */

/* Checks without waiting. Also reads messages that the server sent unasked: notices, or its reason for ending the
 * connection. */
static bool looks_good(pq_connection *connection) {
    PGconn *conn = connection->conn;
    short seen = kolk_pq_wait_(PQsocket(conn), POLLIN | POLLRDHUP, KOLK_NOW);
    if (!seen) return true;
    if (seen & ~POLLIN || !PQconsumeInput(conn)) return false;
    forget_notifies(conn);
    return PQstatus(conn) == CONNECTION_OK && !*connection->last_words;
}

bool kolk_pq_validate_(void *context, void *resource, kolk_deadline deadline) {
    pq_connection *connection = (pq_connection *)resource;
    const kolk_pq *db = (const kolk_pq *)context;
    if (!looks_good(connection)) {
        connection->broken = true;
        return false;
    }
    if (deadline.ns <= KOLK_NOW.ns || !db->asks) return true;
    kolk_deadline patience = kolk_pq_after_(db->patience_ns);
    kolk_error unused;
    if (!kolk_pq_ask_(connection, "SELECT 1", kolk_pq_sooner_(patience, deadline), &unused)) return false;
    forget_notifies(connection->conn);
    return true;
}

/* ---- Reset ------------------------------------------------------------------------------------------------------- */

bool kolk_pq_reset_(void *context, void *resource) {
    pq_connection *connection = (pq_connection *)resource;
    const kolk_pq *db = (const kolk_pq *)context;
    PGconn *conn = connection->conn;
    restore_settings(connection);
    if (connection->broken || PQstatus(conn) != CONNECTION_OK || PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        return false;
    PGTransactionStatusType state = PQtransactionStatus(conn);
    bool open = state == PQTRANS_INTRANS || state == PQTRANS_INERROR;
    if (!open && state != PQTRANS_IDLE) return false;
    kolk_deadline deadline = kolk_pq_after_(db->patience_ns);
    kolk_error unused;
    if (open && !kolk_pq_ask_(connection, "ROLLBACK", deadline, &unused)) return false;
    if (db->discard_all) {
        if (!kolk_pq_ask_(connection, "DISCARD ALL", deadline, &unused)) return false;
        kolk_pq_forget_statements_(connection);
        if (!set_up(connection, deadline, &unused)) return false;
    }
    forget_notifies(conn);
    return PQsetnonblocking(conn, 0) == 0;
}
