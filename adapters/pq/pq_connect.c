/* pq_connect.c: makes one connection, until a deadline. When an address refuses, libpq goes to the next one by itself,
 * but it stays with a silent one. So a silent address is removed from the list, and the connect starts again with the
 * others.
 *
 * An address may be silent for connect_timeout or, without that, for an equal share of the time left. The share depends
 * on the number of addresses. Names are resolved, to count the addresses, only if there is no answer for a first
 * moment. So normally only libpq resolves names. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strdup */
#endif

#include "pq_inside.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS      64            /* of a connection; libpq has about 40 */
#define PASSWORD_SIZE   8192          /* tokens of clouds have up to 3,000 characters */
#define FIRST_MOMENT_NS (100 * PQ_MS) /* or an eighth of the remaining time, if that is less */

/* ---- The parameters for libpq ------------------------------------------------------------------------------------ */

/* If a keyword has several values, libpq takes the last one. */
typedef struct pq_parameters {
    const char *keywords[PARAMETERS], *values[PARAMETERS];
    int count;
    PQconninfoOption *given, *above; /* parsed conninfo and key; NULL: libpq parses it */
    char *options;                   /* allocated by malloc */
    char password[PASSWORD_SIZE];
} pq_parameters;

static void add_parameter(pq_parameters *parameters, const char *keyword, const char *value) {
    if (!value || parameters->count == PARAMETERS - 1) return;
    parameters->keywords[parameters->count] = keyword;
    parameters->values[parameters->count++] = value;
}

const char *kolk_pq_option_(const PQconninfoOption *options, const char *keyword) {
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0) return options->val && *options->val ? options->val : NULL;
    return NULL;
}

/* Writes through volatile, as compilers drop a memset whose result is never read. */
static void wipe(char *text, size_t size) {
    for (volatile char *at = text; size > 0; size--) *at++ = 0;
}

void kolk_pq_free_options_(PQconninfoOption *options) {
    for (const PQconninfoOption *at = options; at && at->keyword; at++)
        if (at->val && strstr(at->keyword, "password")) wipe(at->val, strlen(at->val));
    PQconninfoFree(options);
}

static void free_parameters(pq_parameters *parameters) {
    kolk_pq_free_options_(parameters->given);
    kolk_pq_free_options_(parameters->above);
    free(parameters->options);
    wipe(parameters->password, sizeof parameters->password);
}

/* Is the text a conninfo, or the name of a database? Decides as libpq does. */
static bool is_conninfo(const char *text) {
    return strchr(text, '=') || strncmp(text, "postgres://", 11) == 0 || strncmp(text, "postgresql://", 13) == 0;
}

/* On failure returns false, with the reason in *error. */
static bool parse(const char *conninfo, PQconninfoOption **parts, kolk_error *error) {
    char *said = NULL;
    *parts = PQconninfoParse(conninfo, &said);
    if (!*parts) kolk_pq_say_(error, KOLK_PQ_OTHER, said ? said : "no memory");
    error->final = said != NULL;
    PQfreemem(said);
    return *parts != NULL;
}

/* With these defaults, a lost network path is noticed after a minute. conninfo's values come later, and so override
 * them. libpq reads a service's file itself, and any parameter overrides that file, so with a service no defaults are
 * added. */
static void add_defaults(pq_parameters *parameters, const kolk_pq *db) {
    if (!kolk_pq_option_(parameters->given, "service") && !kolk_pq_option_(parameters->above, "service") &&
        !getenv("PGSERVICE")) {
        add_parameter(parameters, "keepalives_idle", "30");
        add_parameter(parameters, "keepalives_interval", "10");
        add_parameter(parameters, "keepalives_count", "3");
        add_parameter(parameters, "tcp_user_timeout", "30000");
    }
    add_parameter(parameters, "fallback_application_name", db->name);
}

/* Makes this time-out the session's default at the server, which DISCARD ALL does not change. The options from the key
 * and from conninfo come after it, and so override it. Returns false if memory runs out. */
static bool add_statement_timeout(pq_parameters *parameters, int64_t ms) {
    const char *options = kolk_pq_option_(parameters->above, "options");
    if (!options) options = kolk_pq_option_(parameters->given, "options");
    if (!options) options = getenv("PGOPTIONS");
    if (!options) options = "";
    size_t size = strlen(options) + 64;
    parameters->options = malloc(size);
    if (!parameters->options) return false;
    snprintf(parameters->options, size, "-c statement_timeout=%lld %s", (long long)ms, options);
    add_parameter(parameters, "options", parameters->options);
    return true;
}

/* On failure returns false, with the reason in *error. */
static bool tell_all(pq_parameters *parameters, const kolk_pq *db, const char *key, kolk_error *error) {
    if (db->conninfo && is_conninfo(db->conninfo) && !parse(db->conninfo, &parameters->given, error)) return false;
    if (*key && !parse(key, &parameters->above, error)) return false;
    add_defaults(parameters, db);
    add_parameter(parameters, "dbname", db->conninfo); /* the first value of this keyword may be a conninfo */
    add_parameter(parameters, "application_name", db->application_name);
    for (const PQconninfoOption *at = parameters->above; at && at->keyword; at++)
        add_parameter(parameters, at->keyword, at->val);
    if (db->statement_timeout_ms > 0 && !add_statement_timeout(parameters, db->statement_timeout_ms)) {
        kolk_pq_say_(error, KOLK_PQ_OTHER, "no memory");
        return false;
    }
    if (!db->password) return true;
    if (!db->password(db->context, key, parameters->password, sizeof parameters->password)) {
        kolk_pq_say_(error, KOLK_PQ_AUTHENTICATION, "the password function has given none");
        return false;
    }
    parameters->password[sizeof parameters->password - 1] = 0;
    add_parameter(parameters, "password", parameters->password);
    return true;
}

/* ---- Why there is no connection ---------------------------------------------------------------------------------- */

/* Returns the SQLSTATE of a refused connection, which libpq gives only within a verbose message. With several hosts, it
 * is that of the last server that sent one; NULL: none did. */
static const char *state_of_refusal(PGconn *conn) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *state = NULL;
    for (const char *at = PQerrorMessage(conn); (at = strstr(at, ":  ")); at++)
        if (strspn(at + 3, digits) == 5 && at[8] == ':') state = at + 3; /* FATAL:  53300: sorry, ... */
    return state;
}

static kolk_pq_cause cause_of_refusal(PGconn *conn) {
    const char *state = state_of_refusal(conn);
    if (state) return kolk_pq_cause_of_(state);
    if (PQconnectionNeedsPassword(conn)) return KOLK_PQ_AUTHENTICATION;
    return PQparameterStatus(conn, "server_version") ? KOLK_PQ_OTHER : KOLK_PQ_REFUSED; /* it let us in */
}

/* Is it useless to try again? With several hosts, another one may answer next time. A password function may return a
 * different password next time. */
static bool is_final(const kolk_pq *db, bool alone, PGconn *conn) {
    const char *state = state_of_refusal(conn);
    if (!alone) return false;
    if (!state) return PQconnectionNeedsPassword(conn) && !db->password;
    if (strncmp(state, "28", 2) == 0) return !db->password;
    return strncmp(state, "3D000", 5) == 0; /* no such database */
}

static void say_no_answer(PGconn *conn, kolk_error *error) {
    const char *address = PQhostaddr(conn);
    bool has_two = *address && strcmp(address, PQhost(conn)) != 0;
    snprintf(error->text, sizeof error->text, "no answer in time from %.100s%s%.50s%s, port %.20s", PQhost(conn),
             has_two ? " (" : "", has_two ? address : "", has_two ? ")" : "", PQport(conn));
    error->code = KOLK_PQ_TIMEOUT;
}

/* ---- Connecting -------------------------------------------------------------------------------------------------- */

/* The address that libpq is trying, and how long it may wait there. */
typedef struct pq_place {
    const char *host; /* libpq's pointer, which differs for each item of the list, even if names are equal */
    char address[NI_MAXHOST];
    int64_t begin;
    kolk_deadline first_moment, limit; /* limit.ns 0: not known yet */
} pq_place;

static void follow(pq_place *place, PGconn *conn, kolk_deadline deadline) {
    if (place->host == PQhost(conn) && strcmp(place->address, PQhostaddr(conn)) == 0) return;
    place->host = PQhost(conn);
    place->begin = kolk_pq_now_();
    place->limit.ns = 0;
    snprintf(place->address, sizeof place->address, "%s", PQhostaddr(conn));
    int64_t eighth = (deadline.ns - place->begin) / 8;
    place->first_moment.ns = place->begin + (eighth < FIRST_MOMENT_NS ? eighth : FIRST_MOMENT_NS);
}

/* Returns false if the address has not answered in time, or if the connection is no longer needed. */
static bool wait_at(pq_place *place, const pq_hosts *hosts, PGconn *conn, short events, kolk_deadline deadline) {
    follow(place, conn, deadline);
    if (kolk_pq_wait_wanted_(PQsocket(conn), events, place->first_moment)) return true;
    if (kolk_resource_is_interrupted()) return false; /* before names are resolved */
    if (place->limit.ns == 0) {
        int64_t part = hosts->patience;
        if (!part) part = (deadline.ns - place->begin) / kolk_pq_count_addresses_(hosts, conn);
        place->limit = kolk_pq_sooner_((kolk_deadline){place->begin + part}, deadline);
    }
    return kolk_pq_wait_wanted_(PQsocket(conn), events, place->limit);
}

/* Returns PGRES_POLLING_OK or _FAILED; or _ACTIVE, if an address has not answered in time or the connection is no
 * longer needed. */
static PostgresPollingStatusType poll_connect(PGconn *conn, const pq_hosts *hosts, kolk_deadline deadline) {
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    pq_place place = {0};
    while (next == PGRES_POLLING_WRITING || next == PGRES_POLLING_READING) {
        if (!wait_at(&place, hosts, conn, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline))
            return PGRES_POLLING_ACTIVE;
        next = PQconnectPoll(conn);
    }
    return next;
}

static PGconn *connect_to_one(const kolk_pq *db, const pq_parameters *given, kolk_deadline deadline,
                              kolk_error *error) {
    pq_hosts hosts = {0};
    bool alone = true; /* the only host that was given */
    for (bool again = true, known = false; again; known = true) {
        pq_parameters parameters = {.count = given->count};
        memcpy(parameters.keywords, given->keywords, sizeof parameters.keywords);
        memcpy(parameters.values, given->values, sizeof parameters.values);
        add_parameter(&parameters, "host", hosts.names);
        add_parameter(&parameters, "hostaddr", hosts.addresses);
        add_parameter(&parameters, "port", hosts.ports);
        PGconn *conn = PQconnectStartParams(parameters.keywords, parameters.values, 1);
        PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
        if (conn && !known) {
            kolk_pq_find_hosts_(&hosts, conn);
            alone = hosts.count <= 1;
        }
        PostgresPollingStatusType end = PGRES_POLLING_FAILED;
        if (PQstatus(conn) != CONNECTION_BAD) end = poll_connect(conn, &hosts, deadline);
        if (end == PGRES_POLLING_OK) {
            PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
            kolk_pq_free_hosts_(&hosts);
            return conn;
        }
        again = false;
        if (end == PGRES_POLLING_ACTIVE && kolk_resource_is_interrupted()) {
            kolk_pq_say_(error, KOLK_PQ_OTHER, "given up, as it was wanted no more");
        } else if (end == PGRES_POLLING_ACTIVE) {
            say_no_answer(conn, error);
            again = kolk_pq_now_() < deadline.ns && kolk_pq_pass_over_(&hosts, conn);
        } else {
            kolk_pq_say_(error, cause_of_refusal(conn), PQerrorMessage(conn));
            error->final = is_final(db, alone, conn);
        }
        PQfinish(conn);
    }
    kolk_pq_free_hosts_(&hosts);
    return NULL;
}

PGconn *kolk_pq_connect_(const kolk_pq *db, const char *key, kolk_deadline deadline, kolk_error *error) {
    pq_parameters parameters = {0};
    PGconn *conn = NULL;
    if (tell_all(&parameters, db, key, error)) conn = connect_to_one(db, &parameters, deadline, error);
    free_parameters(&parameters);
    return conn;
}
