/* SPDX-License-Identifier: Zlib */
/* kolk/pq.h: a resource pool of connections to PostgreSQL, which libpq makes.
 *
 *     #include <kolk/pq.h>
 *     #include <libpq-fe.h>
 *     #include <stdio.h>
 *
 *     static kolk_pq db;                                              // all zero
 *
 *     bool open_shop(void) {
 *         kolk_pq_desc desc = {.conninfo = "host=db1,db2 dbname=shop target_session_attrs=read-write",
 *                              .pool = {.name = "shop", .max = 8, .min_idle = 2}};
 *         return kolk_pq_init(&db, &desc) == KOLK_OK;                 // kolk_pq_deinit(&db) ends it
 *     }
 *
 *     void print_price(const char *of) {                              // in any thread
 *         kolk_deadline deadline = kolk_deadline_after(2000);
 *         kolk_borrow_desc wish = {.deadline = deadline};
 *         kolk_borrowed borrow;
 *         if (kolk_resource_borrow(&db.pool, &wish, &borrow) == KOLK_OK) {
 *             kolk_error error;
 *             PGresult *result = kolk_pq_exec(&borrow, "SELECT price FROM goods WHERE name = $1", 1, &of, deadline,
 *                                             &error);
 *             if (error.code) fprintf(stderr, "%s\n", error.text);
 *             else if (PQntuples(result) > 0) puts(PQgetvalue(result, 0, 0));
 *             PQclear(result);
 *         } else {
 *             fprintf(stderr, "%s\n", borrow.error.text);             // with error.code: one of kolk_pq_cause
 *         }
 *         kolk_resource_give_back(&db.pool, &borrow);                 // rolls back what was not committed
 *     }
 *
 * Everything in <kolk/resource.h> applies to db.pool: borrow, give_back, discard, evict, close, statistics.
 *
 * Cost      a borrow checks the connection's socket (poll, some 0.2 us); after a longer idle time it sends the server a
 *           query first (some 60 us on one machine). A give_back sends a query only to roll back an open transaction,
 *           or for discard_all. A connect takes 2 to 5 ms on one machine.
 * Memory    libpq allocates with malloc. The adapter adds some 300 bytes per connection, and 48 bytes and the name per
 *           prepared statement.
 * Ownership all texts of the descriptor, and its context, must outlive the pool, and the kolk_pq must stay where it is.
 *           The connection belongs to the borrower from borrow to give_back, but the borrower must not end it
 *           (PQfinish, PQreset, kolk_resource_detach). The borrower's settings of libpq (notice receiver and processor,
 *           verbosity, tracing) are undone at give_back; its event procedures stay. Results belong to the caller, who
 *           must PQclear them.
 * Threads   as for the resource pool. One thread at a time may use a borrow. When a query is cancelled, a new thread
 *           sends the cancel request. If the server does not answer, that thread outlives the call until
 *           tcp_user_timeout; it holds one descriptor, but nothing of the pool. A thread that is cancelled
 *           (pthread_cancel) within a call of this adapter ends after the call.
 * Deadlines hold even if servers don't answer. A borrow waits for a connection, but does not connect: another thread
 *           does so, within pool.create_timeout_ms, and a connection that is too late for one borrow serves the next.
 *           The pool waits for its own queries for at most patience_ms. Close, deinit and evict abort running connects
 *           immediately. Only the system's resolution of host names cannot be aborted, and deinit waits for it: set
 *           hostaddr if it may hang.
 * Errors    kolk_error.code is a kolk_pq_cause, and the text has the server's message with the SQLSTATE. A connection
 *           that has failed is not lent again. A server that refuses connections is tried again until the borrow's
 *           deadline; then the borrow returns KOLK_TIMEOUT with the server's message. Some errors are final, and give
 *           KOLK_NOT_CREATED as soon as no connection is left: a conninfo that can't be parsed; from a single host, a
 *           missing database; from a single host without a password function, KOLK_PQ_AUTHENTICATION. A later borrow
 *           tries again.
 * Forks     as for the resource pool: a child makes a pool of its own.
 * Design    the essay in adapters/pq/pq.c; docs/resource.md.
 */
#ifndef KOLK_PQ_H
#define KOLK_PQ_H

#include <kolk/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pg_conn;   /* libpq-fe.h's PGconn */
struct pg_result; /* libpq-fe.h's PGresult */

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

typedef struct kolk_pq_desc {
    /* In libpq's format: keywords and values, or a URI, possibly with several hosts. connect_timeout (in seconds)
     * applies to each address; without it, each address gets an equal share of what is left of pool.create_timeout_ms.
     * An address that is silent for this long is skipped, and the next address or host is tried, also with
     * target_session_attrs. NULL: the environment's PGHOST ...
     *
     * A lost network path is noticed after a minute: keepalives_idle is 30, keepalives_interval is 10, keepalives_count
     * is 3 and tcp_user_timeout is 30000, unless conninfo or the key sets them, or names a service. */
    const char *conninfo KOLK_OR_0_;

    /* SQL that each new connection runs before it is lent, such as "SET search_path = shop; SET lock_timeout = 500";
     * with discard_all also after each DISCARD ALL. If it fails, or leaves a transaction open, the connect fails; an
     * error of the SQL itself (SQLSTATE 42... and 22...) is final. Behind PgBouncer in transaction mode, use ALTER
     * ROLE instead. NULL: nothing */
    const char *setup KOLK_OR_0_;

    /* The resource pool's descriptor. create, destroy, validate, reset and validate_after_ms are the adapter's: to
     * set one is KOLK_SET_BY_ADAPTER. `log` gets the context. Each connection is checked before it is lent, without
     * waiting, whatever `look` is; ask_after_ms adds a query. A borrow's key, if it has one, is a conninfo that
     * overrides parts of conninfo: "dbname=tenant7". */
    kolk_resource_pool_desc pool KOLK_OR_0_;

    /* The name that the server shows (pg_stat_activity). NULL: the name in conninfo, or else the pool's name. */
    const char *application_name KOLK_OR_0_;

    /* For passwords that change. Each connect calls this function in the thread that connects, as the pool's `create`
     * is called; several threads may call it at the same time. It writes the password for this key, at most `size`
     * bytes (8,192) including the final 0. The bytes are wiped after the connect; libpq keeps its own copy as long as
     * the connection lives. If the function returns false, there is no password and the connect fails
     * (KOLK_PQ_AUTHENTICATION). Its password overrides one in conninfo. NULL: conninfo's password is used, or libpq's
     * password file. */
    bool (*password)(void *context, const char *key, char *out, size_t size) KOLK_OR_0_;
    void *context KOLK_OR_0_; /* passed to `password` */

    /* The server itself ends each query that takes longer (57014, KOLK_PQ_TIMEOUT), even if this program is gone. The
     * time is sent at connect in `options`, before the options from the key and from conninfo, which override it
     * (options in a service's file are then ignored). PgBouncer refuses or drops it: set the time in PgBouncer, or by
     * ALTER ROLE. 0: the server's own setting. A negative time, or one above 2^31 - 1, is KOLK_BAD_TIME. */
    int64_t statement_timeout_ms KOLK_OR_0_;

    /* The time limit for the pool's own requests to the server: ROLLBACK, DISCARD ALL and setup at give_back,
     * together; the query after an idle time; and a cancel request, for a query whose deadline has passed or whose
     * connection is discarded midway. So give_back may block for this long, and a query may return this much after
     * its deadline. (With pool.no_housekeeper, a discard, and every give_back that destroys the connection, take 40
     * ms more, so that the server can close its end.) A connection that does not answer in time is replaced. 0:
     * 1,000. A negative time is KOLK_BAD_TIME. */
    int64_t patience_ms KOLK_OR_0_;

    /* A connection that was idle for this long must answer a query within patience_ms before it is lent; every idle
     * connection must also do so once every pool.keepalive_ms. While one has not answered, others are queried, and a
     * new one is made if the pool may have more: the borrow gets the first good connection. A borrow with KOLK_NOW only
     * checks the socket. 0: 30,000; -1: never sends a query, and keepalive only checks the socket. A smaller value is
     * KOLK_BAD_TIME. */
    int64_t ask_after_ms KOLK_OR_0_;

    /* Runs DISCARD ALL at give_back: it removes a borrower's settings, temporary tables, LISTEN, advisory locks and
     * prepared statements. Without discard_all, the next borrower inherits them. Received notifications are dropped at
     * give_back in any case. */
    bool discard_all KOLK_OR_0_;

    /* For PgBouncer in transaction mode, and the like: statements get no names, because the next one may run in another
     * server process. */
    bool no_prepared KOLK_OR_0_;
} kolk_pq_desc;

/* Causes of failures, in kolk_error.code; 0 means no failure. */
typedef enum kolk_pq_cause {
    KOLK_PQ_OTHER = 1,      /* anything else, such as an error in a query; see the text */
    KOLK_PQ_REFUSED,        /* not accepted: nothing listens, the server hung up, or there is no such host */
    KOLK_PQ_AUTHENTICATION, /* wrong or missing password, no such user, or not allowed in (SQLSTATE 28...) */
    KOLK_PQ_TOO_MANY,       /* the server has no connection left (53300) */
    KOLK_PQ_STARTING_UP,    /* the server is starting up, recovering or shutting down (57P03) */
    KOLK_PQ_TIMEOUT,        /* the deadline passed, or the query was cancelled (57014) */
    KOLK_PQ_BROKEN          /* the connection was lost. It is unknown whether the query had its effect */
} kolk_pq_cause;

/* ---- Struct ------------------------------------------------------------------------------------------------------ */

/* A zero-initialised pool is closed. */
typedef struct kolk_pq {
    kolk_resource_pool pool;
    const char *conninfo, *name, *application_name, *setup;
    bool (*password)(void *context, const char *key, char *out, size_t size);
    void *context; /* for password */
    void (*log)(void *context, const kolk_resource_event *event);
    void *log_context;
    int64_t patience_ns, statement_timeout_ms;
    bool asks, discard_all, no_prepared;
} kolk_pq;

/* Does not connect yet. Returns the status of kolk_resource_init, KOLK_BAD_TIME or KOLK_SET_BY_ADAPTER. The
 * descriptor is not needed afterwards. */
KOLK_API_ kolk_status kolk_pq_init(kolk_pq *db, const kolk_pq_desc *desc);

static inline void kolk_pq_deinit(kolk_pq *db) {
    kolk_resource_deinit(&db->pool);
}

/* Does the database answer? Useful for a load balancer, or at the start of a program that needs the database. Borrows a
 * connection of the key "", waits for a new one if none is idle, sends a query, and gives the connection back. If the
 * connection turns out to be broken, it tries one other connection. On failure, returns false with the cause in
 * error->code. Like a borrow, it waits until the deadline for its turn, and for a server that refuses connections; if
 * no attempt has failed by then, the cause is KOLK_PQ_TIMEOUT. Costs a borrow and a round trip. Any thread may call
 * it. */
KOLK_USES_(1) bool kolk_pq_check(kolk_pq *db, kolk_deadline deadline, kolk_error *error);

/* ---- With a borrow ----------------------------------------------------------------------------------------------- */

/* The connection, for all functions of libpq. At give_back an open transaction is rolled back. A connection in the
 * middle of a COPY or a pipeline, or with unread results, is replaced by a new one. Returns NULL if the borrow has no
 * connection. */
KOLK_API_ struct pg_conn *kolk_pq_conn(const kolk_borrowed *borrow);

/* Works like PQexecParams (without parameters, like PQexec), with parameters and results as text. A NULL in `values` is
 * SQL's NULL. Returns the server's answer, which the caller must PQclear, or NULL if there is no answer; error->code is
 * 0 if and only if the query succeeded.
 *
 * When the deadline passes, the query is cancelled, and the connection stays good, but an open transaction has failed.
 * If the server does not cancel the query within patience_ms, the call returns anyway, and give_back replaces the
 * connection; the same holds for COPY. If the query ends just in time, its answer is returned. If the deadline had
 * passed before the call, nothing is sent. */
KOLK_API_ struct pg_result *kolk_pq_exec(const kolk_borrowed *borrow, const char *sql, int n, const char *const *values,
                                         kolk_deadline deadline, kolk_error *error);

/* The same with a prepared statement of this name, which is prepared first if this connection does not have it yet. The
 * statement stays until the connection ends, or until discard_all. If it can't be prepared, returns the server's answer
 * to the attempt, with the SQLSTATE in PQresultErrorField. With no_prepared or the name "", works like kolk_pq_exec.
 * The first use takes some 60 us more.
 *
 * A statement that the server has lost (26000, after DEALLOCATE) or can't run any more (0A000, after ALTER TABLE: the
 * result would have other columns) is prepared again and run once more. Within a transaction, which the error has
 * ended, the error is returned, and the next use prepares the statement again. */
KOLK_API_ struct pg_result *kolk_pq_exec_prepared(const kolk_borrowed *borrow, const char *name, const char *sql, int n,
                                                  const char *const *values, kolk_deadline deadline, kolk_error *error);

/* Only prepares the statement, for your own PQsendQueryPrepared. Returns false if preparing failed, if this name has
 * another text on this connection, if the name is "", or with no_prepared. */
KOLK_API_ bool kolk_pq_prepare(const kolk_borrowed *borrow, const char *name, const char *sql, kolk_deadline deadline,
                               kolk_error *error);

#ifdef __cplusplus
}
#endif
#endif
