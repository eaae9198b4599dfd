/* pq.c: connections to PostgreSQL as resources.
 *
 *     pq.c           init, and what is done with a borrow
 *     pq_pool.c      the functions of the pool: create, validate, reset, destroy
 *     pq_connect.c   connecting, with the hosts of pq_hosts.c
 *     pq_query.c     a request and its answer; cancelling
 *     pq_error.c     errors in words
 *
 * libpq's calls that wait (PQconnectdb, PQexec, PQcancel) take no deadline. So this adapter waits only by poll on the
 * connection's socket, between calls that don't wait.
 *
 * A connection that has failed, or whose state is unknown, is `broken`: reset then refuses it, and it is destroyed. A
 * good connection has no unread results of earlier queries.
 *
 * A cancel request uses a separate connection, and may arrive late. If it arrived after the query's end, it would
 * cancel the next query. So a connection is good again only when both the query and the cancel request have ended.
 *
 * poll and the like are cancellation points. A thread that ended there would leave the connection in the middle of an
 * answer. So the functions in this file turn cancellation off; the pool does so around its callbacks. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "pq_inside.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_AFTER_MS 30000
#define PATIENCE_MS  1000

/* ---- Init -------------------------------------------------------------------------------------------------------- */

/* The pool's context is the kolk_pq, but the user's function gets the user's. */
static void relay_event(void *context, const kolk_resource_event *event) {
    const kolk_pq *db = (const kolk_pq *)context;
    db->log(db->log_context, event);
}

static int64_t ns_of(int64_t ms) {
    return ms < 0 || ms > INT64_MAX / PQ_MS ? INT64_MAX : ms * PQ_MS;
}

kolk_status kolk_pq_init(kolk_pq *db, const kolk_pq_desc *desc) {
    *db = (kolk_pq){0};
    if (!desc) return KOLK_NO_DESCRIPTOR;
    if (desc->ask_after_ms < -1 || desc->patience_ms < 0) return KOLK_BAD_TIME;
    if (desc->statement_timeout_ms < 0 || desc->statement_timeout_ms > INT_MAX) return KOLK_BAD_TIME;
    kolk_resource_pool_desc pool = desc->pool;
    if (pool.create || pool.destroy || pool.validate || pool.reset || pool.validate_after_ms)
        return KOLK_SET_BY_ADAPTER;
    *db = (kolk_pq){.conninfo = desc->conninfo,
                    .name = pool.name,
                    .application_name = desc->application_name,
                    .setup = desc->setup,
                    .password = desc->password,
                    .context = desc->context,
                    .log = pool.log,
                    .log_context = pool.context,
                    .patience_ns = ns_of(desc->patience_ms ? desc->patience_ms : PATIENCE_MS),
                    .statement_timeout_ms = desc->statement_timeout_ms,
                    .asks = desc->ask_after_ms >= 0,
                    .discard_all = desc->discard_all,
                    .no_prepared = desc->no_prepared};
    pool.context = db;
    pool.log = pool.log ? relay_event : NULL;
    pool.create = kolk_pq_create_;
    pool.destroy = kolk_pq_destroy_;
    pool.validate = kolk_pq_validate_;
    pool.reset = kolk_pq_reset_;
    pool.look = true;
    pool.validate_after_ms = desc->ask_after_ms < 0 ? INT64_MAX
                             : desc->ask_after_ms   ? desc->ask_after_ms
                                                    : ASK_AFTER_MS;
    return kolk_resource_init(&db->pool, &pool);
}

/* ---- Prepared statements: a program has some dozens, so an array is enough --------------------------------------- */

/* FNV-1a (Fowler, Noll, Vo, 1991). */
static uint64_t hash_of(const char *text) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static pq_statement *find_statement(const pq_connection *connection, const char *name) {
    for (size_t i = 0; i < connection->count; i++)
        if (strcmp(connection->statements[i].name, name) == 0) return &connection->statements[i];
    return NULL;
}

static bool statement_is(const pq_statement *statement, const char *sql) {
    return statement->text == hash_of(sql);
}

/* If memory runs out, the statement is not recorded, and preparing it again fails at the server as a duplicate. */
static void note_statement(pq_connection *connection, const char *name, const char *sql) {
    if (connection->count == connection->room) {
        size_t room = connection->room * 2 + 8;
        pq_statement *more = realloc(connection->statements, room * sizeof *more);
        if (!more) return;
        connection->statements = more;
        connection->room = room;
    }
    char *copy = strdup(name);
    if (copy) connection->statements[connection->count++] = (pq_statement){.name = copy, .text = hash_of(sql)};
}

static void forget_statement(pq_connection *connection, pq_statement *statement) {
    free(statement->name);
    *statement = connection->statements[--connection->count];
}

void kolk_pq_forget_statements_(pq_connection *connection) {
    while (connection->count > 0) forget_statement(connection, connection->statements);
}

/* ---- Executing --------------------------------------------------------------------------------------------------- */

PGconn *kolk_pq_conn(const kolk_borrowed *borrow) {
    const pq_connection *connection = (const pq_connection *)borrow->resource;
    return connection ? connection->conn : NULL;
}

/* The server raises this error in one function only. Its message may be in any language. */
static bool is_stale(const PGresult *result) {
    const char *where = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
    return kolk_pq_is_state_(result, "0A000") && where && strcmp(where, "RevalidateCachedQuery") == 0;
}

/* Records what the answer means for the connection's prepared statements. */
static void note_answer(pq_connection *connection, const pq_request *request, const PGresult *result) {
    pq_statement *statement = request->name ? find_statement(connection, request->name) : NULL;
    if (statement && kolk_pq_is_state_(result, "26000")) forget_statement(connection, statement); /* it is gone */
    if (statement && is_stale(result)) statement->stale = true;
    const char *tag = result ? PQcmdStatus((PGresult *)(uintptr_t)result) : "";
    if (strcmp(tag, "DISCARD ALL") == 0 || strcmp(tag, "DEALLOCATE ALL") == 0) kolk_pq_forget_statements_(connection);
}

/* Sets *error according to the outcome of a request. */
static void judge(pq_connection *connection, const PGresult *result, bool answered, kolk_error *error) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool good = kolk_pq_is_good_(result);
    if (answered && good) return;
    kolk_pq_cause cause = state ? kolk_pq_cause_of_(state) : KOLK_PQ_OTHER;
    if (!answered) cause = KOLK_PQ_BROKEN;
    if (*connection->last_words)
        kolk_pq_say_(error, cause, connection->last_words);
    else if (result && !good)
        kolk_pq_say_result_(error, cause, result);
    else
        kolk_pq_say_(error, cause, PQerrorMessage(connection->conn));
    if (!*error->text) kolk_pq_say_(error, cause, "the connection was lost");
}

static PGresult *execute(const kolk_borrowed *borrow, const pq_request *request, kolk_deadline deadline,
                         kolk_error *error) {
    pq_connection *connection = (pq_connection *)borrow->resource;
    *error = (kolk_error){0};
    if (!connection || connection->broken) {
        kolk_pq_say_(error, KOLK_PQ_BROKEN, connection ? "the connection is broken" : "the borrow has no connection");
        return NULL;
    }
    if (kolk_pq_now_() >= deadline.ns) {
        kolk_pq_say_(error, KOLK_PQ_TIMEOUT, "the deadline has passed before");
        return NULL;
    }
    PGresult *result = NULL;
    bool in_time = kolk_pq_run_(connection, request, deadline, &result);
    if (in_time || kolk_pq_cancel_(connection, &result)) {
        judge(connection, result, !in_time || !connection->broken, error);
        note_answer(connection, request, result);
    } else {
        kolk_pq_say_(error, KOLK_PQ_TIMEOUT, "the deadline has passed, and the query was not cancelled in time");
    }
    return result;
}

/* ---- Preparing --------------------------------------------------------------------------------------------------- */

/* Deallocates a stale statement, so that its name can be used again. Returns NULL without an error on success,
 * otherwise the server's answer. */
static PGresult *deallocate(const kolk_borrowed *borrow, pq_statement *statement, kolk_deadline deadline,
                            kolk_error *error) {
    pq_connection *connection = (pq_connection *)borrow->resource;
    char *name = PQescapeIdentifier(connection->conn, statement->name, strlen(statement->name));
    size_t size = name ? strlen(name) + sizeof "DEALLOCATE " : 0;
    char *sql = name ? malloc(size) : NULL;
    PGresult *result = NULL;
    if (sql) {
        snprintf(sql, size, "DEALLOCATE %s", name);
        result = execute(borrow, &(pq_request){.sql = sql}, deadline, error);
    } else {
        kolk_pq_say_(error, KOLK_PQ_OTHER, "no memory, or not a name");
    }
    PQfreemem(name);
    free(sql);
    bool was_gone = kolk_pq_is_state_(result, "26000");
    if (error->code && !was_gone) return result;
    forget_statement(connection, statement);
    if (was_gone && PQtransactionStatus(connection->conn) != PQTRANS_IDLE) return result; /* it has failed */
    PQclear(result);
    *error = (kolk_error){0};
    return NULL;
}

/* Returns NULL without an error if the statement is prepared. */
static PGresult *prepare(const kolk_borrowed *borrow, const char *name, const char *sql, kolk_deadline deadline,
                         kolk_error *error) {
    pq_connection *connection = (pq_connection *)borrow->resource;
    pq_statement *known = connection ? find_statement(connection, name) : NULL;
    *error = (kolk_error){0};
    if (known && !known->stale) {
        if (!statement_is(known, sql))
            kolk_pq_say_(error, KOLK_PQ_OTHER, "a statement of this name, with another text, is prepared already");
        return NULL;
    }
    PGresult *result = known ? deallocate(borrow, known, deadline, error) : NULL;
    if (error->code) return result;
    result = execute(borrow, &(pq_request){.name = name, .sql = sql}, deadline, error);
    if (error->code) return result;
    PQclear(result);
    note_statement(connection, name, sql);
    return NULL;
}

/* Is the statement prepared but no longer runnable, and does nothing prevent preparing it again? */
static bool is_worth_another(const kolk_borrowed *borrow, const PGresult *result) {
    const pq_connection *connection = (const pq_connection *)borrow->resource;
    bool lost = kolk_pq_is_state_(result, "26000") || is_stale(result);
    return lost && !connection->broken && PQtransactionStatus(connection->conn) == PQTRANS_IDLE;
}

static PGresult *execute_prepared(const kolk_borrowed *borrow, const pq_request *request, kolk_deadline deadline,
                                  kolk_error *error) {
    pq_request run = *request;
    run.sql = NULL;
    for (bool again = true;; again = false) {
        PGresult *result = prepare(borrow, request->name, request->sql, deadline, error);
        if (error->code) return result;
        result = execute(borrow, &run, deadline, error);
        if (!again || !is_worth_another(borrow, result)) return result;
        PQclear(result);
    }
}

/* ---- With a borrow ----------------------------------------------------------------------------------------------- */

static int cancellation_off(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void cancellation_as(int before) {
    pthread_setcancelstate(before, &before);
}

PGresult *kolk_pq_exec(const kolk_borrowed *borrow, const char *sql, int n, const char *const *values,
                       kolk_deadline deadline, kolk_error *error) {
    int before = cancellation_off();
    PGresult *result = execute(borrow, &(pq_request){.sql = sql, .n = n, .values = values}, deadline, error);
    cancellation_as(before);
    return result;
}

bool kolk_pq_prepare(const kolk_borrowed *borrow, const char *name, const char *sql, kolk_deadline deadline,
                     kolk_error *error) {
    const pq_connection *connection = (const pq_connection *)borrow->resource;
    int before = cancellation_off();
    *error = (kolk_error){0};
    if (connection && connection->db->no_prepared)
        kolk_pq_say_(error, KOLK_PQ_OTHER, "there are no prepared statements: the pool has no_prepared");
    else if (!*name)
        kolk_pq_say_(error, KOLK_PQ_OTHER, "a prepared statement needs a name");
    else
        PQclear(prepare(borrow, name, sql, deadline, error));
    cancellation_as(before);
    return error->code == 0;
}

PGresult *kolk_pq_exec_prepared(const kolk_borrowed *borrow, const char *name, const char *sql, int n,
                                const char *const *values, kolk_deadline deadline, kolk_error *error) {
    const pq_connection *connection = (const pq_connection *)borrow->resource;
    bool unnamed = !*name || (connection && connection->db->no_prepared);
    if (unnamed) return kolk_pq_exec(borrow, sql, n, values, deadline, error);
    int before = cancellation_off();
    pq_request request = {.name = name, .sql = sql, .n = n, .values = values};
    PGresult *result = execute_prepared(borrow, &request, deadline, error);
    cancellation_as(before);
    return result;
}

/* ---- Health ------------------------------------------------------------------------------------------------------ */

static bool check_once(kolk_pq *db, kolk_deadline deadline, kolk_error *error) {
    kolk_borrowed borrow = {0};
    kolk_status status = kolk_resource_borrow(&db->pool, &(kolk_borrow_desc){.deadline = deadline}, &borrow);
    if (status == KOLK_OK) {
        PQclear(kolk_pq_exec(&borrow, "SELECT 1", 0, NULL, deadline, error));
        kolk_resource_give_back(&db->pool, &borrow);
        return error->code == 0;
    }
    *error = borrow.error;
    bool late = status == KOLK_TIMEOUT || status == KOLK_FULL;
    if (!error->code) error->code = late ? KOLK_PQ_TIMEOUT : KOLK_PQ_OTHER;
    return false;
}

bool kolk_pq_check(kolk_pq *db, kolk_deadline deadline, kolk_error *error) {
    if (check_once(db, deadline, error)) return true;
    return error->code == KOLK_PQ_BROKEN && check_once(db, deadline, error);
}
