/* sqlite.c: two resource pools over one SQLite file.
 *
 * The writers' pool has one connection, so that the threads of this process wait for each other in its order, and not
 * in SQLite's busy handler, which serves nobody in order. Only other processes are left for that. The readers'
 * connections are read-only: in WAL mode they wait for nobody.
 *
 * A connection has the deadline of its borrow. The busy handler is SQLite's question whether to try once more. The
 * answer is no when that deadline has passed. In some places SQLite does not ask, as it fears a deadlock. Changing to
 * WAL is one: there `run_patiently` asks in its place. A transaction that has read and then wants to write is another,
 * which is why a writer is lent with BEGIN IMMEDIATE.
 *
 * At give_back everything that belongs to the borrow ends: the statements first, as they may hold the transaction open,
 * then the transaction. SQLite's own list says which statements there are; those in `kept` are only reset. A connection
 * whose last error, or the error of any of its statements, says that the file or the way to it is broken, is destroyed.
 *
 * Invariants: a connection that is idle has no transaction, no statement that is not in `kept`, and none that runs;
 * kept[i] without a statement has none behind it. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep */

#include "kolk/sqlite.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIRST_PAUSE_NS 100000
#define PAUSE_DOUBLES  8

typedef struct kept_statement {
    sqlite3_stmt *statement;
    uint64_t used; /* by which borrow last */
} kept_statement;

struct kolk_sqlite_connection {
    sqlite3 *db;
    kolk_deadline deadline;
    uint64_t borrows;
    bool writes;
    bool broken; /* the file, or the way to it */
    kept_statement kept[KOLK_SQLITE_KEPT];
};

typedef struct kolk_sqlite_connection connection;

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* The lower byte of an extended code is the code. */
static int primary(int code) {
    return code & 0xff;
}

static void note_result(connection *its, int code) {
    switch (primary(code)) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_IOERR:
        its->broken = true;
        break;
    default:
        break;
    }
}

static void say_sqlite_error(kolk_error *error, sqlite3 *db, const char *what) {
    int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
    int number =
        primary(code) == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0; /* of others, SQLite does not keep it */
    const char *words = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    error->code = code;
    snprintf(error->text, sizeof error->text, "%.100s: %.100s%s%.40s", what, words, number ? ": " : "",
             number ? strerror(number) : "");
}

/* ---- Waiting for locks ------------------------------------------------------------------------------------------- */

/* SQLite's busy handler. Sleeps for a random part of a pause that gets longer; 0: the deadline has passed. */
static int wait_for_lock(void *context, int tries) {
    const connection *its = (const connection *)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = its->deadline.ns - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    if (left <= 0) return 0;
    uint32_t random;
    sqlite3_randomness(sizeof random, &random);
    int64_t pause = (int64_t)FIRST_PAUSE_NS << (tries < PAUSE_DOUBLES ? tries : PAUSE_DOUBLES);
    pause -= random % (pause / 2);
    if (pause > left) pause = left;
    nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
    return 1;
}

static void set_deadline(connection *its, kolk_deadline deadline) {
    its->deadline = deadline;
    sqlite3_busy_handler(its->db, wait_for_lock, its); /* a PRAGMA busy_timeout has replaced it */
}

/* For what may be run again as a whole. */
static int run_patiently(connection *its, const char *sql, int (*each)(void *, int, char **, char **), void *context) {
    for (int tries = 0;; tries++) {
        int result = sqlite3_exec(its->db, sql, each, context, NULL);
        if (primary(result) != SQLITE_BUSY || !wait_for_lock(its, tries)) return result;
    }
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/* Of one that could not be opened too, for want of memory even without a `db`. */
static void close_connection(void *context, void *resource) {
    connection *its = (connection *)resource;
    (void)context;
    for (sqlite3_stmt *left; its->db && (left = sqlite3_next_stmt(its->db, NULL));) sqlite3_finalize(left);
    sqlite3_close_v2(its->db);
    sqlite3_free(its);
}

static int copy_word(void *word, int columns, char **values, char **names) {
    (void)names;
    snprintf((char *)word, 16, "%s", columns > 0 && values[0] ? values[0] : "");
    return 0;
}

/* False: *error says why. */
static bool set_up(connection *its, const kolk_sqlite *store, kolk_error *error) {
    char mode[16] = "";
    const char *first = its->writes ? "pragma journal_mode = wal" : "pragma schema_version"; /* both read the file */
    bool done = (!store->setup || run_patiently(its, store->setup, NULL, NULL) == SQLITE_OK) &&
                run_patiently(its, first, copy_word, mode) == SQLITE_OK;
    if (!done)
        say_sqlite_error(error, its->db, store->path);
    else if (its->writes && strcmp(mode, "wal") != 0)
        snprintf(error->text, sizeof error->text, "%.100s: the journal mode is %s, and WAL is not possible",
                 store->path, mode);
    else
        return true;
    return false;
}

static bool open_connection(const kolk_sqlite *store, bool writes, kolk_deadline deadline, void **resource,
                            kolk_error *error) {
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    connection *its = sqlite3_malloc(sizeof *its);
    if (!its) {
        say_sqlite_error(error, NULL, store->path);
        return false;
    }
    *its = (connection){.writes = writes};
    bool opened = sqlite3_open_v2(store->path, &its->db, flags, NULL) == SQLITE_OK;
    if (opened) {
        set_deadline(its, deadline);
        opened = set_up(its, store, error);
    } else {
        say_sqlite_error(error, its->db, store->path);
    }
    if (opened)
        *resource = its;
    else
        close_connection(NULL, its);
    return opened;
}

static bool open_reader(void *store, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key;
    return open_connection((const kolk_sqlite *)store, false, deadline, resource, error);
}

static bool open_writer(void *store, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key;
    return open_connection((const kolk_sqlite *)store, true, deadline, resource, error);
}

/* Is the file still what the path leads to? */
static bool is_in_its_place(void *context, void *resource, kolk_deadline deadline) {
    const connection *its = (const connection *)resource;
    int moved = 0;
    (void)context, (void)deadline;
    sqlite3_file_control(its->db, NULL, SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved;
}

/* ---- Cleaning ---------------------------------------------------------------------------------------------------- */

static bool is_kept(const connection *its, const sqlite3_stmt *statement) {
    for (size_t i = 0; i < KOLK_SQLITE_KEPT && its->kept[i].statement; i++)
        if (its->kept[i].statement == statement) return true;
    return false;
}

static void end_statements(connection *its) {
    for (sqlite3_stmt *each = sqlite3_next_stmt(its->db, NULL), *next; each; each = next) {
        next = sqlite3_next_stmt(its->db, each);
        if (is_kept(its, each)) {
            note_result(its, sqlite3_reset(each)); /* gives the error of the last step */
            sqlite3_clear_bindings(each);
        } else {
            note_result(its, sqlite3_finalize(each));
        }
    }
}

static bool clean_connection(void *context, void *resource) {
    connection *its = (connection *)resource;
    (void)context;
    note_result(its, sqlite3_extended_errcode(its->db));
    end_statements(its);
    if (!sqlite3_get_autocommit(its->db)) note_result(its, sqlite3_exec(its->db, "rollback", NULL, NULL, NULL));
    return !its->broken && sqlite3_get_autocommit(its->db);
}

/* ---- The store --------------------------------------------------------------------------------------------------- */

static const char *make_name(char *text, size_t size, const char *name, const char *side) {
    if (!name) return NULL;
    snprintf(text, size, "%s.%s", name, side);
    return text;
}

kolk_status kolk_sqlite_begin(kolk_sqlite *store, const kolk_sqlite_desc *desc, size_t store_size, uint32_t abi) {
    memset(store, 0, store_size);
    if (store_size != sizeof *store || abi != KOLK_ABI) return KOLK_WRONG_ABI;
    if (!desc) return KOLK_NO_DESCRIPTOR;
    if (!desc->path) return KOLK_PATH_MISSING;
    store->path = desc->path;
    store->setup = desc->setup;
    kolk_resource_pool_desc pool = desc->pool;
    pool.context = store;
    pool.create = open_reader;
    pool.destroy = close_connection;
    pool.validate = is_in_its_place;
    pool.reset = clean_connection;
    pool.name = make_name(store->names[0], sizeof store->names[0], desc->pool.name, "readers");
    kolk_status status = kolk_resource_pool_init(&store->readers, &pool);
    pool.create = open_writer;
    pool.name = make_name(store->names[1], sizeof store->names[1], desc->pool.name, "writer");
    pool.max = 1;
    if (pool.min_idle > 1) pool.min_idle = 1;
    if (status == KOLK_OK) status = kolk_resource_pool_init(&store->writer, &pool);
    if (status != KOLK_OK) kolk_sqlite_deinit(store);
    return status;
}

void kolk_sqlite_deinit(kolk_sqlite *store) {
    kolk_resource_pool_deinit(&store->readers);
    kolk_resource_pool_deinit(&store->writer);
    memset(store, 0, sizeof *store);
}

/* ---- Borrows ----------------------------------------------------------------------------------------------------- */

/* Ends a borrow that came to nothing; the error stays. */
static kolk_status refuse_to_lend(kolk_sqlite_borrow *borrow) {
    bool is_late = primary(borrow->error.code) == SQLITE_BUSY;
    if (is_late)
        kolk_sqlite_give_back(borrow);
    else
        kolk_sqlite_discard(borrow);
    borrow->handle = (kolk_handle){0};
    return is_late ? KOLK_TIMEOUT : KOLK_NOT_CREATED;
}

kolk_status kolk_sqlite_lend(kolk_resource_pool *pool, kolk_status status, const kolk_borrow *borrowed,
                             kolk_deadline deadline, kolk_sqlite_borrow *out) {
    *out = (kolk_sqlite_borrow){.connection = borrowed->resource, .pool = pool, .handle = borrowed->handle};
    if (status != KOLK_OK) {
        out->error = borrowed->error;
        bool is_late = status == KOLK_NOT_CREATED && primary(out->error.code) == SQLITE_BUSY;
        return is_late ? KOLK_TIMEOUT : status;
    }
    connection *its = out->connection;
    out->db = its->db;
    its->borrows++;
    set_deadline(its, deadline);
    if (!its->writes || run_patiently(its, "begin immediate", NULL, NULL) == SQLITE_OK) return KOLK_OK;
    say_sqlite_error(&out->error, its->db, "begin immediate");
    return refuse_to_lend(out);
}

void kolk_sqlite_until(kolk_sqlite_borrow *borrow, kolk_deadline deadline) {
    set_deadline(borrow->connection, deadline);
}

static bool is_fine(kolk_sqlite_borrow *borrow, int result, const char *sql) {
    if (result == SQLITE_OK) return true;
    note_result(borrow->connection, result);
    say_sqlite_error(&borrow->error, borrow->db, sql);
    return false;
}

bool kolk_sqlite_exec(kolk_sqlite_borrow *borrow, const char *sql) {
    return is_fine(borrow, sqlite3_exec(borrow->db, sql, NULL, NULL, NULL), sql);
}

/* ---- Prepared statements ----------------------------------------------------------------------------------------- */

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\r\n")] == 0;
}

/* SQLite has the text up to the statement's end. */
static bool is_of_text(sqlite3_stmt *statement, const char *sql) {
    const char *text = sqlite3_sql(statement);
    size_t length = strlen(text);
    return strncmp(text, sql, length) == 0 && is_blank(sql + length);
}

/* Where this text is kept; or else a place for it: an empty one, or that of the statement that was used longest ago.
 * What this borrower has used may still be in its hands, and stays. NULL: there is no place. */
static kept_statement *find_place(connection *its, const char *sql) {
    kept_statement *place = NULL;
    for (kept_statement *each = its->kept; each < its->kept + KOLK_SQLITE_KEPT; each++) {
        if (!each->statement || is_of_text(each->statement, sql)) return each;
        if (each->used != its->borrows && (!place || each->used < place->used)) place = each;
    }
    return place;
}

/* NULL: borrow->error says why. */
static sqlite3_stmt *prepare_anew(kolk_sqlite_borrow *borrow, const char *sql) {
    sqlite3_stmt *statement = NULL;
    const char *tail = "";
    int result = sqlite3_prepare_v3(borrow->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, &tail);
    if (!is_fine(borrow, result, sql)) return NULL;
    if (statement && is_blank(tail)) return statement;
    sqlite3_finalize(statement);
    borrow->error.code = SQLITE_MISUSE;
    snprintf(borrow->error.text, sizeof borrow->error.text, "%.200s: not one statement", sql);
    return NULL;
}

sqlite3_stmt *kolk_sqlite_prepare(kolk_sqlite_borrow *borrow, const char *sql) {
    connection *its = borrow->connection;
    kept_statement *place = find_place(its, sql);
    if (place && place->statement && is_of_text(place->statement, sql)) {
        note_result(its, sqlite3_reset(place->statement));
        place->used = its->borrows;
        return place->statement;
    }
    sqlite3_stmt *statement = prepare_anew(borrow, sql);
    if (!statement || !place) return statement;
    *place = (kept_statement){statement, its->borrows}; /* what was there is left, and so ends with the borrow */
    return statement;
}
