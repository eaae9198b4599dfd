/* pq_inside.h: what the files of this adapter share. pq.c has the essay. */
#ifndef KOLK_PQ_INSIDE_H
#define KOLK_PQ_INSIDE_H

#include <kolk/pq.h>
#include <libpq-fe.h>

#include <poll.h>

#define PQ_MS INT64_C(1000000)

/* A prepared statement. */
typedef struct pq_statement {
    char *name;
    uint64_t text; /* hash of its text */
    bool stale;    /* the server has it but can't run it any more */
} pq_statement;

typedef struct pq_connection {
    PGconn *conn;
    const kolk_pq *db;
    bool broken; /* must not be lent again */
    bool asked;  /* by the pool itself, which gives up when the answer is no longer needed */
    pq_statement *statements;
    size_t count, room;          /* of statements */
    PQnoticeReceiver receiver;   /* libpq's own */
    PQnoticeProcessor processor; /* libpq's own too */
    char last_words[200];        /* the server's reason for ending the connection */
} pq_connection;

typedef struct pq_request {
    const char *name; /* of a prepared statement; NULL: none */
    const char *sql;  /* NULL: it is prepared already */
    int n;
    const char *const *values;
} pq_request;

/* ---- Time: pq_query.c -------------------------------------------------------------------------------------------- */

/* The time now, by the clock of kolk's deadlines. */
int64_t kolk_pq_now_(void);
kolk_deadline kolk_pq_after_(int64_t ns);
kolk_deadline kolk_pq_sooner_(kolk_deadline one, kolk_deadline other);

/* Waits for one of the events or an error; returns 0 if none came before the deadline. */
short kolk_pq_wait_(int fd, short events, kolk_deadline deadline);

/* The same for one of the pool's callbacks; also returns 0 when the callback's work is no longer needed. */
short kolk_pq_wait_wanted_(int fd, short events, kolk_deadline deadline);

/* ---- Errors: pq_error.c ------------------------------------------------------------------------------------------ */

/* Stores the message in one line, without the source locations of a verbose message. */
void kolk_pq_say_(kolk_error *error, kolk_pq_cause cause, const char *message);

/* The same with the server's message about a failed request. */
void kolk_pq_say_result_(kolk_error *error, kolk_pq_cause cause, const PGresult *result);

kolk_pq_cause kolk_pq_cause_of_(const char *state);
bool kolk_pq_is_state_(const PGresult *result, const char *state);

/* ---- Connecting: pq_connect.c ------------------------------------------------------------------------------------ */

/* Returns NULL on failure, with the reason in *error. */
PGconn *kolk_pq_connect_(const kolk_pq *db, const char *key, kolk_deadline deadline, kolk_error *error);

/* Returns the value of an option of conninfo; NULL if it is not set. */
const char *kolk_pq_option_(const PQconninfoOption *options, const char *keyword);

/* Also wipes the password that the options may contain. */
void kolk_pq_free_options_(PQconninfoOption *options);

/* ---- The hosts that are tried: pq_hosts.c ------------------------------------------------------------------------ */

/* Lists with commas, allocated by malloc; NULL where libpq uses the default. */
typedef struct pq_hosts {
    char *names, *addresses, *ports;
    int count;
    int64_t patience; /* for each address; 0: an equal share of the time left */
} pq_hosts;

/* Finds the hosts that libpq got from conninfo or from the environment. */
void kolk_pq_find_hosts_(pq_hosts *hosts, PGconn *conn);
void kolk_pq_free_hosts_(pq_hosts *hosts);

/* Returns how many addresses there are to try. Resolves the current host's name to count its addresses. */
int kolk_pq_count_addresses_(const pq_hosts *hosts, PGconn *conn);

/* Removes the address that libpq is trying. Returns false if no other is left. */
bool kolk_pq_pass_over_(pq_hosts *hosts, PGconn *conn);

/* ---- Queries: pq_query.c ----------------------------------------------------------------------------------------- */

bool kolk_pq_is_copy_(const PGresult *result);
bool kolk_pq_is_good_(const PGresult *result);

/* Returns false if the query has not ended at the deadline. Otherwise it has ended, was not sent, or the connection is
 * broken. *result gets the answer as far as it was read. */
bool kolk_pq_run_(pq_connection *connection, const pq_request *request, kolk_deadline deadline, PGresult **result);

/* Runs a query for the pool itself. If it fails, the connection is broken; then returns false, with the reason in
 * *error. */
bool kolk_pq_ask_(pq_connection *connection, const char *sql, kolk_deadline deadline, kolk_error *error);

/* Cancels the running query; afterwards the connection is either good or broken. Returns true if the query has ended,
 * by the cancel request or by itself. */
bool kolk_pq_cancel_(pq_connection *connection, PGresult **result);

/* ---- Prepared statements: pq.c ----------------------------------------------------------------------------------- */

void kolk_pq_forget_statements_(pq_connection *connection);

/* ---- The pool's functions: pq_pool.c ----------------------------------------------------------------------------- */

bool kolk_pq_create_(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error);
void kolk_pq_destroy_(void *context, void *resource);
bool kolk_pq_validate_(void *context, void *resource, kolk_deadline deadline);
bool kolk_pq_reset_(void *context, void *resource);

#endif
