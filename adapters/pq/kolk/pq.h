/* kolk/pq.h: a resource pool of connections to PostgreSQL, made by libpq.
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
 *         kolk_borrow borrow;
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
 * All that <kolk/resource.h> says of a pool is true of db.pool: borrow, give_back, discard, evict, close, statistics.
 *
 * Cost      a borrow asks the system whether the connection still stands (poll, some 0.2 us); after longer idleness it
 *           asks the server (some 60 us on one machine). A give_back asks the server only to roll back an open
 *           transaction, and for discard_all. To connect takes 2 to 5 ms on one machine.
 * Memory    libpq's, by malloc, and some 300 bytes a connection, 40 and the name a prepared statement.
 * Ownership conninfo and the name outlive the pool, and the kolk_pq stays where it is. The connection is the borrower's
 *           from borrow to give_back, except that it may not end it (PQfinish, PQreset). Results are the caller's, to
 *           PQclear.
 * Threads   as the resource pool's; what has a borrow as its argument: one thread at a time a borrow. When a query is
 *           cancelled, a thread sends the cancel request. If nobody answers it, that thread outlives the call, up to
 *           what tcp_user_timeout in conninfo says, with one descriptor and nothing of the pool's.
 * Deadlines hold against servers that don't answer, while connecting too. What they don't hold against is the
 *           resolution of host names, which libpq leaves to the system: give hostaddr where that may hang.
 * Errors    kolk_error.code is a kolk_pq_cause, the text has the server's words. A connection that has failed is not
 *           lent again.
 * Forks     as the resource pool: a child makes a pool of its own.
 * Design    the essay in adapters/pq/pq.c; docs/resource.md.
 */
#ifndef KOLK_PQ_H
#define KOLK_PQ_H

#include <kolk/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pg_conn;   /* libpq-fe.h's PGconn */
struct pg_result; /* and its PGresult */

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

typedef struct kolk_pq_desc {
    /* As libpq has it: keywords and values, or a URI, with several hosts if you like. connect_timeout is for each host;
     * without it, each gets the same part of the time that is left. What does not answer in time is passed over. Set
     * keepalives and tcp_user_timeout here too. NULL: the environment's PGHOST ... */
    const char *conninfo;

    /* What the pool is like. Its functions and its context are set here: what they are given is ignored.
     * validate_after_ms 0 is -1 here: the connection is looked at before every borrow. A borrow's key, if it has one,
     * is conninfo that is put above conninfo: "dbname=tenant7". The name is shown by the server as application_name, if
     * conninfo has none. */
    kolk_resource_pool_desc pool;

    /* One that was not used for so long is asked a query before it is lent, for at most 5 s and half the time that the
     * borrow has left; the same for keepalive. 0: 30,000, or keepalive_ms where that is less; -1: never. Less
     * is KOLK_BAD_TIME. */
    int64_t ask_after_ms;

    /* DISCARD ALL at give_back: settings, temporary tables, LISTEN, advisory locks and prepared statements of a
     * borrower are gone for the next one. */
    bool discard_all;

    /* For PgBouncer in transaction mode, and the like: no statement gets a name, as the next one may meet another
     * server process. */
    bool no_prepared;
} kolk_pq_desc;

/* Why something failed: kolk_error.code. 0: it did not. */
typedef enum kolk_pq_cause {
    KOLK_PQ_OTHER = 1,      /* anything else, as an error in a query; the text tells */
    KOLK_PQ_REFUSED,        /* no server let it in: nothing listens, it hung up, there is no such host */
    KOLK_PQ_AUTHENTICATION, /* wrong or missing password, no such user, not allowed in (SQLSTATE 28...) */
    KOLK_PQ_TOO_MANY,       /* the server has no connection left (53300) */
    KOLK_PQ_STARTING_UP,    /* the server is starting up, recovering or shutting down (57P03) */
    KOLK_PQ_TIMEOUT,        /* the deadline passed before, or the query was cancelled */
    KOLK_PQ_BROKEN          /* the connection was lost. Whether the query had its effect is not known */
} kolk_pq_cause;

/* ---- Struct ------------------------------------------------------------------------------------------------------ */

/* All zero is a pool that is closed. */
typedef struct kolk_pq {
    kolk_resource_pool pool;
    const char *conninfo, *name;
    int64_t ask_after_ns;
    bool discard_all, no_prepared;
} kolk_pq;

/* Connects to nothing yet. Gives what kolk_resource_pool_init gives. */
KOLK_API kolk_status kolk_pq_init(kolk_pq *db, const kolk_pq_desc *desc);

static inline void kolk_pq_deinit(kolk_pq *db) {
    kolk_resource_pool_deinit(&db->pool);
}

/* ---- With a borrow ----------------------------------------------------------------------------------------------- */

/* For all that libpq can do. At give_back an open transaction is rolled back; a connection within COPY, within a
 * pipeline, or whose results were not all read is replaced by a new one. NULL: the borrow has nothing. */
KOLK_API struct pg_conn *kolk_pq_conn(const kolk_borrow *borrow);

/* Does what PQexecParams does, or without parameters PQexec, with text for parameters and results. A NULL in `values`
 * is the value NULL. The server's answer is returned; error->code is 0 if and only if it is a good one. NULL: there is
 * none.
 *
 * When the deadline passes, the query is cancelled, and the connection stays good; an open transaction has failed then.
 * If the server does not do that within 1 s, the call returns all the same, and give_back replaces the connection. A
 * query that ends at the last moment is returned as what it is. A deadline that has passed before: nothing is sent. */
KOLK_API struct pg_result *kolk_pq_exec(const kolk_borrow *borrow, const char *sql, int n, const char *const *values,
                                        kolk_deadline deadline, kolk_error *error);

/* The same by a prepared statement of this name, which is prepared before if this connection has not got it. It stays
 * with the connection, and is lost with it, or by discard_all. With no_prepared: kolk_pq_exec. */
KOLK_API struct pg_result *kolk_pq_exec_prepared(const kolk_borrow *borrow, const char *name, const char *sql, int n,
                                                 const char *const *values, kolk_deadline deadline, kolk_error *error);

/* Only prepares it, for your own PQsendQueryPrepared. False: it could not, this name has another text on this
 * connection, or no_prepared. */
KOLK_API bool kolk_pq_prepare(const kolk_borrow *borrow, const char *name, const char *sql, kolk_deadline deadline,
                              kolk_error *error);

#ifdef __cplusplus
}
#endif
#endif
