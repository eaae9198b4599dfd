/* pq.c: connections to PostgreSQL as resources. libpq's calls that wait (PQconnectdb, PQexec, PQcancel) know no
 * deadline. So all waiting is poll on the connection's socket, between calls that don't wait.
 *
 *     create     PQconnectStart, PQconnectPoll. libpq goes from host to host by itself when one refuses, but stays
 *                with one that does not answer. Such a one is taken out of the list, and all begins anew with the
 *                others.
 *     validate   the first level is one look: a server that ends a connection closes its socket, also when it is
 *                killed. A server that is stopped, or traffic that is dropped, is only seen by the second level, a
 *                query.
 *     reset      goes by the transaction's state as libpq knows it, which costs nothing.
 *     destroy    waits for a moment until the server has closed its end too. Otherwise the server would count a
 *                process that is about to end beside the one of the next connection.
 *
 * A connection that has failed, or whose state is unknown, is `broken`: reset then says no, and it is destroyed. While
 * it is good, nothing of an earlier query is unread.
 *
 * A cancel request goes by a connection of its own, and may arrive late. If it arrived after the query's end it would
 * hit the next one. So a connection is good again only when both have ended, the query and the cancel request.
 *
 * libpq tells the SQLSTATE of a refused connection only within its message, when it is verbose. So it is read from
 * there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif

#include <kolk/pq.h>
#include <libpq-fe.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef POLLRDHUP
#define POLLRDHUP 0 /* then the end of what the server says is seen as POLLIN */
#endif

#define MS              INT64_C(1000000)
#define PATIENCE_NS     (5000 * MS) /* for a query of our own */
#define CANCEL_NS       (1000 * MS) /* for a query to end that is cancelled */
#define CANCEL_PAUSE_NS (20 * MS)   /* until it is cancelled again; doubles */
#define FAREWELL_NS     (40 * MS)   /* for the server to close its end: a borrow may be waiting for it */
#define ASK_AFTER_MS    30000
#define PARAMETERS      64 /* for a connection; libpq knows about 40 */

/* One that was prepared. */
typedef struct pq_statement {
    char *name;
    uint64_t text; /* hash of it */
} pq_statement;

typedef struct pq_connection {
    PGconn *conn;
    const kolk_pq *db;
    int64_t used; /* when it was in use last, or answered */
    bool broken;  /* not to be lent again */
    pq_statement *statements;
    size_t count, room; /* of statements */
    PQnoticeReceiver notices;
    char last_words[200]; /* of the server, about the connection's end */
} pq_connection;

/* ---- Time -------------------------------------------------------------------------------------------------------- */

/* By the clock that kolk has for deadlines. */
static int64_t pq_now(void) {
    return kolk_deadline_after(1).ns - MS;
}

static kolk_deadline pq_after(int64_t ns) {
    return (kolk_deadline){pq_now() + ns};
}

/* Waits until one of the events is there, or an error. 0: none was until the deadline. */
static short wait_for(int fd, short events, kolk_deadline deadline) {
    if (fd < 0) return POLLNVAL;
    for (;;) {
        struct pollfd at = {.fd = fd, .events = events};
        int64_t left = deadline.ns == KOLK_NOW.ns ? 0 : (deadline.ns - pq_now() + MS - 1) / MS;
        int ms = left <= 0 ? 0 : left < INT_MAX ? (int)left : INT_MAX;
        int seen = poll(&at, 1, ms);
        if (seen > 0) return at.revents;
        if (seen == 0 && left <= ms) return 0;
        if (seen < 0 && errno != EINTR && errno != EAGAIN) return POLLERR;
    }
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* In one line, without the places in the server's source that a verbose message has. */
static void pq_say(kolk_error *error, kolk_pq_cause cause, const char *message) {
    static const char place[] = "LOCATION:";
    size_t length = 0;
    error->code = (int32_t)cause;
    for (const char *at = message; *at && length + 1 < sizeof error->text; at++) {
        if (strncmp(at, place, sizeof place - 1) == 0) at += strcspn(at, "\n");
        bool blank = strchr(" \t\n", *at) != NULL; /* or its end */
        if (!blank) error->text[length++] = *at;
        if (!*at) break;
        if (blank && length > 0 && error->text[length - 1] != ' ') error->text[length++] = ' ';
    }
    while (length > 0 && error->text[length - 1] == ' ') length--;
    error->text[length] = 0;
}

static kolk_pq_cause cause_of_state(const char *state) {
    if (strncmp(state, "28", 2) == 0) return KOLK_PQ_AUTHENTICATION;
    if (strncmp(state, "53300", 5) == 0) return KOLK_PQ_TOO_MANY;
    if (strncmp(state, "57P03", 5) == 0) return KOLK_PQ_STARTING_UP;
    if (strncmp(state, "57014", 5) == 0) return KOLK_PQ_TIMEOUT;
    return KOLK_PQ_OTHER;
}

/* Why could it not connect? With several hosts, what the last server said that said something. */
static kolk_pq_cause cause_of_refusal(PGconn *conn) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *state = NULL;
    for (const char *at = PQerrorMessage(conn); (at = strstr(at, ":  ")); at++)
        if (strspn(at + 3, digits) == 5 && at[8] == ':') state = at + 3; /* FATAL:  53300: sorry, ... */
    if (state) return cause_of_state(state);
    if (PQconnectionNeedsPassword(conn)) return KOLK_PQ_AUTHENTICATION;
    return PQparameterStatus(conn, "server_version") ? KOLK_PQ_OTHER : KOLK_PQ_REFUSED; /* the former: it let us in */
}

/* The server says why it ends a connection, and if no query is running, libpq takes that for a notice. */
static void hear_notice(void *argument, const PGresult *said) {
    pq_connection *connection = (pq_connection *)argument;
    const char *severity = PQresultErrorField(said, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *state = PQresultErrorField(said, PG_DIAG_SQLSTATE);
    bool ends = (severity && strcmp(severity, "FATAL") == 0) || (state && strcmp(state, "57P02") == 0);
    if (ends)
        snprintf(connection->last_words, sizeof connection->last_words, "%s", PQresultErrorMessage(said));
    else
        connection->notices(NULL, said);
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

/* For libpq; of two values for one keyword it takes the last. */
typedef struct pq_parameters {
    const char *keywords[PARAMETERS], *values[PARAMETERS];
    int count;
} pq_parameters;

static void add_parameter(pq_parameters *parameters, const char *keyword, const char *value) {
    if (!value || parameters->count == PARAMETERS - 1) return;
    parameters->keywords[parameters->count] = keyword;
    parameters->values[parameters->count++] = value;
}

static const char *option_of(const PQconninfoOption *options, const char *keyword) {
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0) return options->val && *options->val ? options->val : NULL;
    return NULL;
}

/* The hosts that are tried: lists with commas, by malloc, NULL where libpq takes the default. */
typedef struct pq_hosts {
    char *names, *addresses, *ports;
    int count;
    int64_t patience; /* with each of them; 0: all that is left, in equal parts */
} pq_hosts;

static void free_hosts(pq_hosts *hosts) {
    free(hosts->names);
    free(hosts->addresses);
    free(hosts->ports);
    *hosts = (pq_hosts){0};
}

static char *copy_of(const char *text) {
    return text ? strdup(text) : NULL;
}

static int count_items(const char *list) {
    int count = list != NULL;
    for (; list && *list; list++) count += *list == ',';
    return count;
}

/* Where the item begins, or NULL. */
static char *item_of(char *list, int index) {
    for (; list && index > 0; index--) {
        list = strchr(list, ',');
        if (list) list++;
    }
    return list;
}

static bool item_is(char *list, int index, const char *text) {
    const char *item = item_of(list, index);
    size_t length = item ? strcspn(item, ",") : 0;
    return length > 0 && strlen(text) == length && strncmp(item, text, length) == 0;
}

static void remove_item(char *list, int index) {
    char *item = item_of(list, index);
    if (!item) return;
    char *next = strchr(item, ',');
    if (next)
        memmove(item, next + 1, strlen(next));
    else if (item > list)
        item[-1] = 0;
}

/* All that libpq has been told, by conninfo or by its environment. */
static void find_hosts(pq_hosts *hosts, PGconn *conn) {
    PQconninfoOption *options = PQconninfo(conn);
    hosts->names = copy_of(option_of(options, "host"));
    hosts->addresses = copy_of(option_of(options, "hostaddr"));
    hosts->ports = copy_of(option_of(options, "port"));
    hosts->count = count_items(hosts->addresses ? hosts->addresses : hosts->names);
    const char *seconds = option_of(options, "connect_timeout");
    int64_t patience = seconds ? strtol(seconds, NULL, 10) : 0;
    hosts->patience = patience > 0 && patience < INT_MAX ? patience * 1000 * MS : 0;
    PQconninfoFree(options);
}

/* Takes out the one at which libpq is. False: no other is left. */
static bool pass_over(pq_hosts *hosts, PGconn *conn) {
    if (hosts->count < 2) return false;
    int index = 0;
    for (; index < hosts->count - 1; index++) {
        bool same_host = item_is(hosts->names, index, PQhost(conn)) || item_is(hosts->addresses, index, PQhost(conn));
        bool same_port = count_items(hosts->ports) < 2 || item_is(hosts->ports, index, PQport(conn));
        if (same_host && same_port) break;
    }
    remove_item(hosts->names, index);
    remove_item(hosts->addresses, index);
    if (count_items(hosts->ports) > 1) remove_item(hosts->ports, index);
    hosts->count--;
    return true;
}

static kolk_deadline deadline_of_host(const pq_hosts *hosts, kolk_deadline deadline) {
    int64_t now = pq_now(), others = hosts->count > 1 ? hosts->count : 1, part = (deadline.ns - now) / others;
    if (hosts->patience) part = hosts->patience;
    if (part < deadline.ns - now) deadline.ns = now + part;
    return deadline;
}

/* PGRES_POLLING_OK or _FAILED; PGRES_POLLING_ACTIVE: a host has not answered in time. */
static PostgresPollingStatusType poll_connect(PGconn *conn, const pq_hosts *hosts, kolk_deadline deadline) {
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    const char *host = NULL;
    kolk_deadline limit = deadline;
    while (next == PGRES_POLLING_WRITING || next == PGRES_POLLING_READING) {
        if (host != PQhost(conn)) { /* another string, even for the same name twice */
            host = PQhost(conn);
            limit = deadline_of_host(hosts, deadline);
        }
        if (!wait_for(PQsocket(conn), next == PGRES_POLLING_READING ? POLLIN : POLLOUT, limit))
            return PGRES_POLLING_ACTIVE;
        next = PQconnectPoll(conn);
    }
    return next;
}

static void say_no_answer(PGconn *conn, kolk_error *error) {
    snprintf(error->text, sizeof error->text, "no answer in time from %.120s, port %.20s", PQhost(conn), PQport(conn));
    error->code = KOLK_PQ_TIMEOUT;
}

/* NULL: it could not, and *error says why. */
static PGconn *pq_connect(const pq_parameters *given, kolk_deadline deadline, kolk_error *error) {
    pq_hosts hosts = {0};
    for (bool again = true, known = false; again; known = true) {
        pq_parameters parameters = *given;
        add_parameter(&parameters, "host", hosts.names);
        add_parameter(&parameters, "hostaddr", hosts.addresses);
        add_parameter(&parameters, "port", hosts.ports);
        PGconn *conn = PQconnectStartParams(parameters.keywords, parameters.values, 1);
        PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
        if (conn && !known) find_hosts(&hosts, conn);
        PostgresPollingStatusType end = PGRES_POLLING_FAILED;
        if (PQstatus(conn) != CONNECTION_BAD) end = poll_connect(conn, &hosts, deadline);
        if (end == PGRES_POLLING_OK) {
            PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
            free_hosts(&hosts);
            return conn;
        }
        again = end == PGRES_POLLING_ACTIVE && pq_now() < deadline.ns;
        if (end == PGRES_POLLING_ACTIVE) {
            say_no_answer(conn, error);
            again = pass_over(&hosts, conn) && again;
        } else {
            pq_say(error, cause_of_refusal(conn), PQerrorMessage(conn));
        }
        PQfinish(conn);
    }
    free_hosts(&hosts);
    return NULL;
}

/* ---- Prepared statements ----------------------------------------------------------------------------------------- */

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

/* Without memory it is not known, and the next one to prepare it hears that it is there already. */
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

static void forget_statements(pq_connection *connection) {
    while (connection->count > 0) forget_statement(connection, connection->statements);
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

typedef struct pq_request {
    const char *name; /* of a prepared statement; NULL: none */
    const char *sql;  /* NULL: it is prepared already */
    int n;
    const char *const *values;
} pq_request;

static bool send_request(PGconn *conn, const pq_request *request) {
    if (request->name && request->sql) return PQsendPrepare(conn, request->name, request->sql, 0, NULL);
    if (request->name) return PQsendQueryPrepared(conn, request->name, request->n, request->values, NULL, NULL, 0);
    if (request->n == 0) return PQsendQuery(conn, request->sql);
    return PQsendQueryParams(conn, request->sql, request->n, NULL, request->values, NULL, NULL, 0);
}

static bool is_copy(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

static bool is_good(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY || is_copy(result);
}

/* Sends what is left to send, and reads until the query has ended. The last result replaces *result. False: not until
 * the deadline, or the connection is broken. */
static bool read_results(pq_connection *connection, kolk_deadline deadline, PGresult **result) {
    PGconn *conn = connection->conn;
    for (;;) {
        for (int unsent; (unsent = PQflush(conn)) > 0 || PQisBusy(conn);) {
            short seen = wait_for(PQsocket(conn), unsent > 0 ? POLLIN | POLLOUT : POLLIN, deadline);
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
        if (is_copy(next) || connection->broken) return !connection->broken;
    }
}

/* False: it has not ended at the deadline. Otherwise it has, or was not sent, or the connection is broken. *result:
 * what was read of the answer. */
static bool run_request(pq_connection *connection, const pq_request *request, kolk_deadline deadline,
                        PGresult **result) {
    PGconn *conn = connection->conn;
    bool sent = PQsetnonblocking(conn, 1) == 0 && send_request(conn, request);
    if (sent && !read_results(connection, deadline, result)) return connection->broken;
    if (PQsetnonblocking(conn, 0) != 0 || PQstatus(conn) != CONNECTION_OK) connection->broken = true;
    return true;
}

/* A query of our own. False: the connection is no good. */
static bool pq_ask(pq_connection *connection, const char *sql, kolk_deadline deadline) {
    PGresult *result = NULL;
    bool ended = run_request(connection, &(pq_request){.sql = sql}, deadline, &result);
    if (!ended || !is_good(result)) connection->broken = true;
    PQclear(result);
    return !connection->broken;
}

/* ---- Cancelling -------------------------------------------------------------------------------------------------- */

typedef struct pq_cancel {
    PGcancel *cancel;
    int end; /* of a pipe; it is closed when the request has ended */
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

/* With all signals blocked: SIGPIPE is its own, and the others are the program's. */
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

/* PQcancel waits for its connection, and knows no deadline: so a thread does it. Returns the other end of its pipe, or
 * -1: nothing was sent. */
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

/* Sends a cancel request. False: it has not ended until the deadline. */
static bool cancel_once(PGconn *conn, kolk_deadline deadline) {
    int end = start_cancel(conn);
    if (end < 0) return false;
    bool ended = wait_for(end, POLLIN, deadline) != 0;
    close(end);
    return ended;
}

/* Ends the query that is running. The connection is good afterwards, or broken. True: the query has ended, by this or
 * by itself. A request that arrives before the server has begun the query has no effect: so there may be several. */
static bool cancel_query(pq_connection *connection, PGresult **result) {
    kolk_deadline deadline = pq_after(CANCEL_NS);
    bool sent = true, ended = false;
    for (int64_t pause = CANCEL_PAUSE_NS; sent && !ended && pq_now() < deadline.ns; pause *= 2) {
        sent = cancel_once(connection->conn, deadline);
        kolk_deadline limit = pq_after(pause);
        ended = read_results(connection, limit.ns < deadline.ns ? limit : deadline, result);
        if (connection->broken || is_copy(*result)) break;
    }
    ended = ended && !is_copy(*result);
    if (!sent || !ended || PQsetnonblocking(connection->conn, 0) != 0) connection->broken = true;
    return ended;
}

/* ---- The pool's functions ---------------------------------------------------------------------------------------- */

static bool pq_create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    const kolk_pq *db = (const kolk_pq *)context;
    pq_parameters parameters = {0};
    PQconninfoOption *above = NULL;
    char *said = NULL;
    if (deadline.ns <= KOLK_NOW.ns) {
        pq_say(error, KOLK_PQ_TIMEOUT, "to connect takes waiting");
        return false;
    }
    add_parameter(&parameters, "fallback_application_name", db->name);
    add_parameter(&parameters, "dbname", db->conninfo); /* the first of this keyword may be conninfo */
    if (*key && !(above = PQconninfoParse(key, &said))) {
        pq_say(error, KOLK_PQ_OTHER, said ? said : "no memory");
        PQfreemem(said);
        return false;
    }
    for (const PQconninfoOption *at = above; at && at->keyword; at++) add_parameter(&parameters, at->keyword, at->val);
    pq_connection *connection = calloc(1, sizeof *connection);
    PGconn *conn = connection ? pq_connect(&parameters, deadline, error) : NULL;
    PQconninfoFree(above);
    if (!conn) {
        free(connection);
        return false;
    }
    *connection = (pq_connection){.conn = conn, .db = db, .used = pq_now()};
    connection->notices = PQsetNoticeReceiver(conn, hear_notice, connection);
    *resource = connection;
    return true;
}

/* Reads until the server closes its end too. */
static void part(int fd) {
    char rest[4096];
    kolk_deadline deadline = pq_after(FAREWELL_NS);
    while (wait_for(fd, POLLIN, deadline) && recv(fd, rest, sizeof rest, 0) > 0) {}
}

static void pq_destroy(void *context, void *resource) {
    pq_connection *connection = (pq_connection *)resource;
    bool parts = !connection->broken;
    (void)context;
    if (parts && PQtransactionStatus(connection->conn) == PQTRANS_ACTIVE) {
        PGresult *result = NULL;
        PQsetnonblocking(connection->conn, 1);
        cancel_query(connection, &result); /* the server would go on with it */
        PQclear(result);
    }
    int fd = fcntl(PQsocket(connection->conn), F_DUPFD_CLOEXEC, 0);
    if (connection->broken && fd >= 0) shutdown(fd, SHUT_WR); /* so that PQfinish does not wait to send */
    PQfinish(connection->conn);
    if (parts && fd >= 0) part(fd);
    if (fd >= 0) close(fd);
    forget_statements(connection);
    free(connection->statements);
    free(connection);
}

static bool pq_validate(void *context, void *resource, kolk_deadline deadline) {
    pq_connection *connection = (pq_connection *)resource;
    const kolk_pq *db = (const kolk_pq *)context;
    short seen = wait_for(PQsocket(connection->conn), POLLIN | POLLRDHUP, KOLK_NOW);
    if (seen & ~POLLIN) {
        connection->broken = true;
        return false;
    }
    int64_t now = pq_now();
    if (!seen && now - connection->used < db->ask_after_ns) return true;
    if (deadline.ns <= KOLK_NOW.ns) return !seen;
    /* Also where the server has said something unasked: a notice, or its last words. */
    int64_t half = (deadline.ns - now) / 2;
    if (!pq_ask(connection, "SELECT 1", (kolk_deadline){now + (half < PATIENCE_NS ? half : PATIENCE_NS)})) return false;
    connection->used = pq_now();
    return true;
}

static bool pq_reset(void *context, void *resource) {
    pq_connection *connection = (pq_connection *)resource;
    const kolk_pq *db = (const kolk_pq *)context;
    PGconn *conn = connection->conn;
    if (connection->broken || PQstatus(conn) != CONNECTION_OK || PQpipelineStatus(conn) != PQ_PIPELINE_OFF)
        return false;
    PGTransactionStatusType state = PQtransactionStatus(conn);
    bool open = state == PQTRANS_INTRANS || state == PQTRANS_INERROR;
    if (!open && state != PQTRANS_IDLE) return false;
    if (open && !pq_ask(connection, "ROLLBACK", pq_after(PATIENCE_NS))) return false;
    if (db->discard_all) {
        if (!pq_ask(connection, "DISCARD ALL", pq_after(PATIENCE_NS))) return false;
        forget_statements(connection);
    }
    connection->used = pq_now();
    return PQsetnonblocking(conn, 0) == 0;
}

/* ---- Init -------------------------------------------------------------------------------------------------------- */

kolk_status kolk_pq_init(kolk_pq *db, const kolk_pq_desc *desc) {
    *db = (kolk_pq){0};
    if (!desc) return KOLK_NO_DESCRIPTOR;
    if (desc->ask_after_ms < -1) return KOLK_BAD_TIME;
    kolk_resource_pool_desc pool = desc->pool;
    int64_t ask_after = desc->ask_after_ms;
    if (ask_after == 0) ask_after = ASK_AFTER_MS;
    if (desc->ask_after_ms == 0 && pool.keepalive_ms > 0 && pool.keepalive_ms < ask_after)
        ask_after = pool.keepalive_ms;
    *db = (kolk_pq){.conninfo = desc->conninfo,
                    .name = pool.name,
                    .ask_after_ns = ask_after < 0 || ask_after > INT64_MAX / MS ? INT64_MAX : ask_after * MS,
                    .discard_all = desc->discard_all,
                    .no_prepared = desc->no_prepared};
    pool.context = db;
    pool.create = pq_create;
    pool.destroy = pq_destroy;
    pool.validate = pq_validate;
    pool.reset = pq_reset;
    if (pool.validate_after_ms == 0) pool.validate_after_ms = -1;
    return kolk_resource_pool_init(&db->pool, &pool);
}

/* ---- With a borrow ----------------------------------------------------------------------------------------------- */

PGconn *kolk_pq_conn(const kolk_borrow *borrow) {
    const pq_connection *connection = (const pq_connection *)borrow->resource;
    return connection ? connection->conn : NULL;
}

/* What came of a request, as an error or none. */
static void judge(pq_connection *connection, const pq_request *request, const PGresult *result, bool answered,
                  kolk_error *error) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *words = result ? PQresultErrorMessage(result) : PQerrorMessage(connection->conn);
    if (*connection->last_words) words = connection->last_words;
    if (!answered)
        pq_say(error, KOLK_PQ_BROKEN, words);
    else if (!is_good(result))
        pq_say(error, state ? cause_of_state(state) : KOLK_PQ_OTHER, words);
    if (error->code && !*error->text) pq_say(error, (kolk_pq_cause)error->code, "the connection was lost");
    pq_statement *statement = request->name ? find_statement(connection, request->name) : NULL;
    if (statement && state && strcmp(state, "26000") == 0) forget_statement(connection, statement); /* it is gone */
    const char *tag = result ? PQcmdStatus((PGresult *)(uintptr_t)result) : "";
    if (strcmp(tag, "DISCARD ALL") == 0 || strcmp(tag, "DEALLOCATE ALL") == 0) forget_statements(connection);
}

static PGresult *execute(const kolk_borrow *borrow, const pq_request *request, kolk_deadline deadline,
                         kolk_error *error) {
    pq_connection *connection = (pq_connection *)borrow->resource;
    *error = (kolk_error){0};
    if (!connection || connection->broken) {
        pq_say(error, KOLK_PQ_BROKEN, connection ? "the connection is broken" : "the borrow has no connection");
        return NULL;
    }
    if (pq_now() >= deadline.ns) {
        pq_say(error, KOLK_PQ_TIMEOUT, "the deadline has passed before");
        return NULL;
    }
    PGresult *result = NULL;
    bool in_time = run_request(connection, request, deadline, &result);
    if (in_time || cancel_query(connection, &result))
        judge(connection, request, result, !in_time || !connection->broken, error);
    else
        pq_say(error, KOLK_PQ_TIMEOUT, "the deadline has passed, and the query was not cancelled in time");
    return result;
}

PGresult *kolk_pq_exec(const kolk_borrow *borrow, const char *sql, int n, const char *const *values,
                       kolk_deadline deadline, kolk_error *error) {
    return execute(borrow, &(pq_request){.sql = sql, .n = n, .values = values}, deadline, error);
}

bool kolk_pq_prepare(const kolk_borrow *borrow, const char *name, const char *sql, kolk_deadline deadline,
                     kolk_error *error) {
    pq_connection *connection = (pq_connection *)borrow->resource;
    const pq_statement *known = connection ? find_statement(connection, name) : NULL;
    *error = (kolk_error){0};
    if (connection && connection->db->no_prepared)
        pq_say(error, KOLK_PQ_OTHER, "there are no prepared statements: the pool has no_prepared");
    else if (known && known->text != hash_of(sql))
        pq_say(error, KOLK_PQ_OTHER, "a statement of this name, with another text, is prepared already");
    else if (!known)
        PQclear(execute(borrow, &(pq_request){.name = name, .sql = sql}, deadline, error));
    if (error->code == 0 && !known) note_statement(connection, name, sql);
    return error->code == 0;
}

PGresult *kolk_pq_exec_prepared(const kolk_borrow *borrow, const char *name, const char *sql, int n,
                                const char *const *values, kolk_deadline deadline, kolk_error *error) {
    const pq_connection *connection = (const pq_connection *)borrow->resource;
    if (connection && connection->db->no_prepared) return kolk_pq_exec(borrow, sql, n, values, deadline, error);
    if (!kolk_pq_prepare(borrow, name, sql, deadline, error)) return NULL;
    return execute(borrow, &(pq_request){.name = name, .n = n, .values = values}, deadline, error);
}
