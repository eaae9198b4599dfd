/* sqlite.c: two resource pools over one SQLite file.
 *
 * The writer's pool has one connection, so that threads of this process queue for it in order. SQLite's busy handler,
 * which keeps no order, is needed only for locks of other processes. The readers' connections are read-only: in WAL
 * mode they wait for nobody.
 *
 * A connection has the deadline of its borrow or, while it is being made, that of its creation. SQLite calls the busy
 * handler to decide whether to try again, and our handler refuses when the deadline has passed. The creation of a
 * connection may wait longer than its borrower. So each pool counts the creations that wait for a lock, and the
 * borrower's error mentions the lock. In some places SQLite does not call the handler, for fear of a deadlock. One such
 * place is the change to WAL, where `run_patiently` retries instead. Another is a transaction that has read and then
 * wants to write; therefore a writer is lent with BEGIN IMMEDIATE.
 *
 * At give_back everything that belongs to the borrow ends: first the statements, because they may hold the transaction
 * open, and then the transaction. SQLite's own list has all statements; those in `kept` are only reset. A connection is
 * destroyed if its last error, or an error of its statements, means that the file or the access to it is broken. A
 * borrower's callbacks are removed, since their contexts may be gone.
 *
 * In WAL mode SQLite does not notice that somebody has moved, deleted or replaced the file: it continues to use the
 * file that it has open. So a connection remembers its file (device and inode), and before each borrow checks that the
 * path still leads to it. A writer checks again when it commits, by a commit hook, also for the WAL and its index.
 * SQLITE_FCNTL_HAS_MOVED does not suffice: it compares no devices, does not follow a symbolic link that has changed,
 * and knows nothing of the WAL.
 *
 * Invariants: an idle connection has no transaction, no statement outside `kept`, and no running statement; the used
 * elements of `kept` come first. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep, stat */

#include "kolk/sqlite.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FIRST_PAUSE_NS 100000
#define PAUSE_DOUBLES  8

typedef struct kept_statement {
    sqlite3_stmt *statement;
    uint64_t used; /* the borrow that used it last */
} kept_statement;

/* A file's identity when it was opened. */
typedef struct file_place {
    const char *path;
    bool known; /* false: stat can't see it, because it is in another VFS */
    dev_t device;
    ino_t inode;
} file_place;

struct kolk_sqlite_connection {
    sqlite3 *db;
    kolk_deadline deadline;
    uint64_t borrows;
    bool writes;
    bool broken;               /* the file, or the access to it */
    bool moved;                /* a commit was refused, because one of the next three files is not in its place */
    file_place file, wal, shm; /* the last two: for a writer only */
    char *shm_name;
    uint32_t *locked; /* during creation: its pool's count of creations that wait for a lock */
    bool is_locked;   /* it is counted in *locked */
    kept_statement kept[KOLK_SQLITE_KEPT];
};

typedef struct kolk_sqlite_connection connection;

/* No function of kolk may be a cancellation point, but file functions, and so SQLite's, are. The pool does the same
 * around its callbacks. */
static int cancel_off(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void cancel_restore(int before) {
    int off;
    pthread_setcancelstate(before, &off);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* The low byte of an extended code is the primary code. */
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
    bool is_file_error = primary(code) == SQLITE_CANTOPEN || primary(code) == SQLITE_IOERR;
    int number = is_file_error ? sqlite3_system_errno(db) : 0; /* SQLite keeps it for these codes only */
    const char *words = db ? sqlite3_errmsg(db) : sqlite3_errstr(code);
    error->code = code;
    snprintf(error->text, sizeof error->text, "%.100s: %.100s%s%.40s", what, words, number ? ": " : "",
             number ? strerror(number) : "");
}

/* Is it useless to open the file again? Not if it is locked or being replaced, or if memory, descriptors or disk space
 * are short, because that passes. A system error comes with SQLITE_CANTOPEN and SQLITE_IOERR only. */
static bool is_final(int code, int system_error) {
    switch (primary(code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
        return false;
    case SQLITE_IOERR:
        return system_error == EISDIR;
    case SQLITE_READONLY:
        return code == SQLITE_READONLY || code == SQLITE_READONLY_DIRECTORY;
    case SQLITE_CANTOPEN:
        return system_error == ENOENT || system_error == ENOTDIR || system_error == EACCES || system_error == EPERM ||
               system_error == EISDIR || system_error == ENAMETOOLONG || system_error == ELOOP || system_error == EROFS;
    default:
        return true;
    }
}

/* ---- Waiting for locks ------------------------------------------------------------------------------------------- */

static void set_locked(connection *its, bool locked) {
    if (its->locked && its->is_locked != locked) __atomic_fetch_add(its->locked, locked ? 1u : -1u, __ATOMIC_RELAXED);
    its->is_locked = locked;
}

/* SQLite's busy handler. Sleeps for a random part of a growing pause; returns 0 if the deadline has passed. */
static int wait_for_lock(void *context, int tries) {
    connection *its = (connection *)context;
    struct timespec now;
    set_locked(its, true);
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (its->deadline.ns <= now_ns || kolk_resource_is_interrupted()) return 0;
    int64_t left = its->deadline.ns - now_ns;
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
    sqlite3_busy_handler(its->db, wait_for_lock, its); /* a PRAGMA busy_timeout may have replaced it */
}

/* Retries SQL that may be run again as a whole. */
static int run_patiently(connection *its, const char *sql, int (*each)(void *, int, char **, char **), void *context) {
    for (int tries = 0;; tries++) {
        int result = sqlite3_exec(its->db, sql, each, context, NULL);
        if (primary(result) != SQLITE_BUSY || !wait_for_lock(its, tries)) return result;
    }
}

/* Copies the first column of a row, up to 15 characters. */
static int copy_word(void *word, int columns, char **values, char **names) {
    (void)names;
    snprintf((char *)word, 16, "%s", columns > 0 && values[0] ? values[0] : "");
    return 0;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static file_place look_at(const char *path) {
    struct stat its;
    if (!path || stat(path, &its) != 0) return (file_place){.path = path};
    return (file_place){path, true, its.st_dev, its.st_ino};
}

static bool is_same(const file_place *one, const file_place *other) {
    return one->known == other->known && one->device == other->device && one->inode == other->inode;
}

static bool is_still_there(const file_place *its) {
    if (!its->known) return true;
    file_place now = look_at(its->path);
    return is_same(its, &now);
}

static void say_moved(kolk_error *error, const char *what) {
    error->code = SQLITE_READONLY_DBMOVED;
    snprintf(error->text, sizeof error->text, "%.160s: the file was moved, deleted or replaced", what);
}

/* Finds the files beside a writer's. The WAL always exists, and so does its index, unless that is in this process's
 * memory. */
static bool find_side_files(connection *its, const char *name, kolk_error *error) {
    char locking[16] = "";
    its->shm_name = sqlite3_mprintf("%s-shm", name);
    if (!its->shm_name) {
        say_sqlite_error(error, NULL, name);
        return false;
    }
    its->wal = look_at(sqlite3_filename_wal(name));
    its->shm = look_at(its->shm_name);
    if (its->wal.known && its->shm.known) return true;
    int result = sqlite3_exec(its->db, "pragma locking_mode", copy_word, locking, NULL);
    if (result == SQLITE_OK && its->wal.known && strcmp(locking, "exclusive") == 0) return true;
    say_moved(error, name); /* while other connections of this process use the old files */
    return false;
}

/* Records the identities of the files of a connection that has just read. If a file is not in its place, returns false,
 * with the reason in *error. SQLite resolves symbolic links and the working directory, and uses the resulting name. */
static bool find_places(connection *its, const char *path, kolk_error *error) {
    const char *name = sqlite3_db_filename(its->db, "main");
    bool is_uri = strncmp(path, "file:", 5) == 0;
    file_place opened = look_at(name);
    int moved = 0;
    its->file = look_at(is_uri ? name : path);
    sqlite3_file_control(its->db, NULL, SQLITE_FCNTL_HAS_MOVED, &moved);
    if (moved || !is_same(&its->file, &opened)) {
        say_moved(error, path);
        return false;
    }
    return !its->writes || !opened.known || find_side_files(its, name, error);
}

/* SQLite's commit hook: a result other than 0 makes it roll back. */
static int refuse_if_moved(void *context) {
    connection *its = (connection *)context;
    its->moved = !is_still_there(&its->file) || !is_still_there(&its->wal) || !is_still_there(&its->shm);
    return its->moved;
}

/* Removes a borrower's callbacks, and restores ours, which the borrower may have replaced. */
static void set_callbacks(connection *its) {
    sqlite3_set_authorizer(its->db, NULL, NULL);
    sqlite3_progress_handler(its->db, 0, NULL, NULL);
    sqlite3_trace_v2(its->db, 0, NULL, NULL);
    sqlite3_commit_hook(its->db, its->writes ? refuse_if_moved : NULL, its);
    sqlite3_rollback_hook(its->db, NULL, NULL);
    sqlite3_update_hook(its->db, NULL, NULL);
}

/* ---- What can be a database -------------------------------------------------------------------------------------- */

/* Returns false, with the reason in *error, if there is something else than a file at the path. SQLite would report a
 * disk error for a directory, read an empty database from a device, and wait for ever at a pipe. */
static bool may_be_database(const char *path, kolk_error *error) {
    struct stat its;
    if (!path || stat(path, &its) != 0 || S_ISREG(its.st_mode)) return true;
    bool is_folder = S_ISDIR(its.st_mode);
    error->code = is_folder ? SQLITE_CANTOPEN_ISDIR : SQLITE_CANTOPEN;
    error->final = true;
    snprintf(error->text, sizeof error->text, "%.160s: %s: %s", path, sqlite3_errstr(SQLITE_CANTOPEN),
             is_folder ? strerror(EISDIR) : "Not a regular file");
    return false;
}

static void say_in_memory(kolk_error *error, const char *path) {
    snprintf(error->text, sizeof error->text,
             "%.80s: each connection would have its own database in memory, without a WAL. "
             "Use a file; in /dev/shm, it is in memory too",
             path);
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/* Also closes a connection that failed to open; db is NULL if memory ran out. */
static void close_connection(void *context, void *resource) {
    connection *its = (connection *)resource;
    (void)context;
    for (sqlite3_stmt *left; its->db && (left = sqlite3_next_stmt(its->db, NULL));) sqlite3_finalize(left);
    sqlite3_close_v2(its->db);
    sqlite3_free(its->shm_name);
    sqlite3_free(its);
}

static bool wants_wal(connection *its, char mode[16]) {
    return run_patiently(its, "pragma journal_mode = wal", copy_word, mode) == SQLITE_OK;
}

/* On failure returns false, with the reason in *error. The last step reads the file, so that SQLite opens it and the
 * files beside it. */
static bool set_up(connection *its, const kolk_sqlite *store, kolk_error *error) {
    char mode[16] = "wal";
    const char *name = sqlite3_db_filename(its->db, "main"); /* of an URI, its path */
    if (!name || !*name) {
        say_in_memory(error, store->path);
        return false;
    }
    if (!may_be_database(name, error)) return false;
    bool done = (!store->setup || run_patiently(its, store->setup, NULL, NULL) == SQLITE_OK) &&
                (!its->writes || wants_wal(its, mode)) &&
                run_patiently(its, "pragma schema_version", NULL, NULL) == SQLITE_OK;
    if (!done)
        say_sqlite_error(error, its->db, store->path);
    else if (strcmp(mode, "memory") == 0)
        say_in_memory(error, store->path);
    else if (strcmp(mode, "wal") != 0)
        snprintf(error->text, sizeof error->text, "%.100s: the journal mode is %s, and WAL is not possible",
                 store->path, mode);
    else if (find_places(its, store->path, error))
        return true;
    return false;
}

static bool open_connection(kolk_sqlite *store, bool writes, kolk_deadline deadline, void **resource,
                            kolk_error *error) {
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    if (!may_be_database(store->path, error)) return false;
    connection *its = sqlite3_malloc(sizeof *its);
    if (!its) {
        say_sqlite_error(error, NULL, store->path);
        return false;
    }
    *its = (connection){.writes = writes, .locked = &store->locked[writes]};
    bool opened = sqlite3_open_v2(store->path, &its->db, flags, NULL) == SQLITE_OK;
    if (opened) {
        set_deadline(its, deadline);
        opened = set_up(its, store, error);
        set_callbacks(its);
        set_locked(its, false);
        its->locked = NULL;
    } else {
        say_sqlite_error(error, its->db, store->path);
    }
    if (!opened && !error->final) error->final = is_final(error->code, sqlite3_system_errno(its->db));
    if (opened)
        *resource = its;
    else
        close_connection(NULL, its);
    return opened;
}

static bool open_reader(void *store, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key;
    return open_connection((kolk_sqlite *)store, false, deadline, resource, error);
}

/* If a file was moved or deleted, evicts the readers, which may still use it, so that the next attempt succeeds. */
static bool open_writer(void *store, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)key;
    bool opened = open_connection((kolk_sqlite *)store, true, deadline, resource, error);
    if (!opened && error->code == SQLITE_READONLY_DBMOVED) kolk_resource_evict(&((kolk_sqlite *)store)->readers);
    return opened;
}

/* Checks the file without waiting, whatever the deadline is. */
static bool validate_connection(void *context, void *resource, kolk_deadline deadline) {
    (void)context, (void)deadline;
    return is_still_there(&((const connection *)resource)->file);
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
            note_result(its, sqlite3_reset(each)); /* returns the error of the last step */
            sqlite3_clear_bindings(each);
        } else {
            note_result(its, sqlite3_finalize(each));
        }
    }
}

static bool clean_connection(void *context, void *resource) {
    connection *its = (connection *)resource;
    kolk_sqlite *store = (kolk_sqlite *)context;
    set_callbacks(its); /* first, because the calls below would call a borrower's callbacks */
    note_result(its, sqlite3_extended_errcode(its->db));
    end_statements(its);
    if (!sqlite3_get_autocommit(its->db)) note_result(its, sqlite3_exec(its->db, "rollback", NULL, NULL, NULL));
    if (its->moved) kolk_resource_evict(&store->readers); /* which have the same files */
    return !its->broken && !its->moved && sqlite3_get_autocommit(its->db) && !store->discard_all;
}

/* ---- The store --------------------------------------------------------------------------------------------------- */

/* The pools' context is the store, but the user's function gets the user's. */
static void relay_event(void *context, const kolk_resource_event *event) {
    const kolk_sqlite *store = (const kolk_sqlite *)context;
    store->log(store->context, event);
}

static const char *make_name(char *text, size_t size, const char *name, const char *side) {
    if (!name) return NULL;
    snprintf(text, size, "%s.%s", name, side);
    return text;
}

kolk_status kolk_sqlite_begin_(kolk_sqlite *store, const kolk_sqlite_desc *desc, size_t store_size, uint32_t abi) {
    memset(store, 0, store_size);
    if (store_size != sizeof *store || abi != KOLK_ABI) return KOLK_WRONG_ABI;
    if (!desc) return KOLK_NO_DESCRIPTOR;
    if (!desc->path) return KOLK_PATH_MISSING;
    kolk_resource_pool_desc pool = desc->pool;
    if (pool.create || pool.destroy || pool.validate || pool.reset) return KOLK_SET_BY_ADAPTER;
    store->path = desc->path;
    store->setup = desc->setup;
    store->discard_all = desc->discard_all;
    store->log = pool.log;
    store->context = pool.context;
    pool.context = store;
    pool.log = pool.log ? relay_event : NULL;
    pool.create = open_reader;
    pool.destroy = close_connection;
    pool.validate = validate_connection;
    pool.reset = clean_connection;
    pool.look = true;
    if (pool.validate_after_ms == 0) pool.validate_after_ms = INT64_MAX; /* the check is enough */
    pool.name = make_name(store->names[0], sizeof store->names[0], desc->pool.name, "readers");
    kolk_status status = kolk_resource_init(&store->readers, &pool);
    pool.create = open_writer;
    pool.name = make_name(store->names[1], sizeof store->names[1], desc->pool.name, "writer");
    pool.max = 1;
    if (pool.min_idle > 1) pool.min_idle = 1;
    if (status == KOLK_OK) status = kolk_resource_init(&store->writer, &pool);
    if (status != KOLK_OK) kolk_sqlite_deinit(store);
    return status;
}

void kolk_sqlite_deinit(kolk_sqlite *store) {
    kolk_resource_deinit(&store->readers);
    kolk_resource_deinit(&store->writer);
    memset(store, 0, sizeof *store);
}

/* ---- Borrows ----------------------------------------------------------------------------------------------------- */

/* Ends a failed borrow, and keeps its error. */
static kolk_status refuse_to_lend(kolk_sqlite_borrow *borrow) {
    bool is_late = primary(borrow->error.code) == SQLITE_BUSY;
    if (is_late)
        kolk_sqlite_give_back(borrow);
    else
        kolk_sqlite_discard(borrow);
    borrow->handle = (kolk_handle){0};
    return is_late ? KOLK_TIMEOUT : KOLK_NOT_CREATED;
}

/* Explains why the pool has lent no connection: perhaps a creation is waiting for a lock. That creation continues, and
 * the pool does not know about the lock. */
static kolk_status explain_none(kolk_sqlite *store, const kolk_resource_pool *pool, kolk_status status,
                                kolk_error *error) {
    bool is_late = status == KOLK_TIMEOUT || status == KOLK_FULL;
    if (is_late && __atomic_load_n(&store->locked[pool == &store->writer], __ATOMIC_RELAXED)) {
        kolk_error said = *error;
        error->code = SQLITE_BUSY;
        snprintf(error->text, sizeof error->text, "%.100s: %s; %.120s", store->path, sqlite3_errstr(SQLITE_BUSY),
                 said.text);
    }
    return status == KOLK_NOT_CREATED && primary(error->code) == SQLITE_BUSY ? KOLK_TIMEOUT : status;
}

static bool begin_transaction(connection *its) {
    int cancel = cancel_off(), result = run_patiently(its, "begin immediate", NULL, NULL);
    cancel_restore(cancel);
    return result == SQLITE_OK;
}

kolk_status kolk_sqlite_lend_(kolk_sqlite *store, kolk_resource_pool *pool, kolk_status status,
                              const kolk_borrowed *borrowed, kolk_deadline deadline, kolk_sqlite_borrow *out) {
    *out = (kolk_sqlite_borrow){.connection = borrowed->resource, .pool = pool, .handle = borrowed->handle};
    if (status != KOLK_OK) {
        out->error = borrowed->error;
        return explain_none(store, pool, status, &out->error);
    }
    connection *its = out->connection;
    out->db = its->db;
    its->borrows++;
    set_deadline(its, deadline);
    if (!its->writes || begin_transaction(its)) return KOLK_OK;
    say_sqlite_error(&out->error, its->db, "begin immediate");
    return refuse_to_lend(out);
}

void kolk_sqlite_until(kolk_sqlite_borrow *borrow, kolk_deadline deadline) {
    set_deadline(borrow->connection, deadline);
}

static bool is_fine(kolk_sqlite_borrow *borrow, int result, const char *sql) {
    if (result == SQLITE_OK) return true;
    note_result(borrow->connection, result);
    if (borrow->connection->moved && sqlite3_extended_errcode(borrow->db) == SQLITE_CONSTRAINT_COMMITHOOK)
        say_moved(&borrow->error, sql);
    else
        say_sqlite_error(&borrow->error, borrow->db, sql);
    return false;
}

bool kolk_sqlite_exec(kolk_sqlite_borrow *borrow, const char *sql) {
    int cancel = cancel_off();
    bool done = is_fine(borrow, sqlite3_exec(borrow->db, sql, NULL, NULL, NULL), sql);
    cancel_restore(cancel);
    return done;
}

/* ---- Prepared statements ----------------------------------------------------------------------------------------- */

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\r\n")] == 0;
}

/* SQLite stores the text up to the statement's end. */
static bool is_of_text(sqlite3_stmt *statement, const char *sql) {
    const char *text = sqlite3_sql(statement);
    size_t length = strlen(text);
    return strncmp(text, sql, length) == 0 && is_blank(sql + length);
}

/* Returns the place where this text is kept, or else an empty place, or else the place of the statement that has been
 * unused for longest. Statements that this borrower has used stay, because it may still hold them. Returns NULL if
 * there is no such place. */
static kept_statement *find_place(connection *its, const char *sql) {
    kept_statement *place = NULL;
    for (kept_statement *each = its->kept; each < its->kept + KOLK_SQLITE_KEPT; each++) {
        if (!each->statement || is_of_text(each->statement, sql)) return each;
        if (each->used != its->borrows && (!place || each->used < place->used)) place = each;
    }
    return place;
}

/* Returns NULL on failure, with the reason in borrow->error. */
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
    int cancel = cancel_off();
    sqlite3_stmt *statement = prepare_anew(borrow, sql);
    cancel_restore(cancel);
    if (!statement || !place) return statement;
    *place = (kept_statement){statement, its->borrows}; /* the replaced statement ends with the borrow */
    return statement;
}
