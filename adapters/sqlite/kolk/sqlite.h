/* SPDX-License-Identifier: Zlib */
/* kolk/sqlite.h: connections to one SQLite file. One thread at a time writes, while any number of threads read (WAL).
 * Other processes may use the file as well.
 *
 *     #include <kolk/sqlite.h>
 *     #include <sqlite3.h>
 *     #include <stdio.h>
 *
 *     static kolk_sqlite visits;                                        // all zero
 *
 *     int main(void) {
 *         kolk_sqlite_desc desc = {.path = "visits.db", .pool = {.name = "visits", .max = 4}};
 *         if (kolk_sqlite_init(&visits, &desc) != KOLK_OK) return 1;
 *
 *         kolk_borrow_desc wish = {.deadline = kolk_deadline_after(1000), .who = "the guide"};
 *         kolk_sqlite_borrow borrow;                                    // any thread
 *         if (kolk_sqlite_write(&visits, &wish, &borrow) == KOLK_OK)
 *             kolk_sqlite_exec(&borrow, "create table if not exists visits(name);"
 *                                       "insert into visits values ('Ada');"
 *                                       "commit");
 *         kolk_sqlite_give_back(&borrow);                               // what is not committed is rolled back
 *         if (borrow.error.text[0]) return fprintf(stderr, "%s\n", borrow.error.text), 1;
 *
 *         if (kolk_sqlite_read(&visits, NULL, &borrow) == KOLK_OK) {    // waits for 30 s at most
 *             sqlite3_stmt *select = kolk_sqlite_prepare(&borrow, "select name from visits where name like ?");
 *             sqlite3_bind_text(select, 1, "A%", -1, SQLITE_STATIC);
 *             if (sqlite3_step(select) == SQLITE_ROW) printf("%s\n", sqlite3_column_text(select, 0)); // Ada
 *         }
 *         kolk_sqlite_give_back(&borrow);
 *         kolk_sqlite_deinit(&visits);
 *     }
 *
 * Cost      an idle reader costs a borrow of the resource pool, 0.2 us, and a check of the file (stat, 0.3 to 1 us). A
 *           write, which begins and ends a transaction, costs 5 us and four such checks, not counting waits. A new
 *           connection costs 30 us, and more if there are many tables.
 * Memory    SQLite's own, plus some 600 bytes per connection, also from sqlite3_malloc.
 * Ownership the connection belongs to the borrower from read or write to give_back, for use with all of SQLite's
 *           functions; the statements of kolk_sqlite_prepare belong to the connection. At give_back, an open
 *           transaction is rolled back, and remaining statements are finalized or reset: don't use them afterwards, and
 *           close blobs first. Hooks are removed (commit, rollback, update, authorizer, progress, trace), except
 *           sqlite3_wal_hook. Other changes stay for the next borrower, except with discard_all: PRAGMAs, temporary
 *           tables, attached files, functions.
 * Replacing the file may be moved, deleted or replaced at any time, by rename and together with its -wal and -shm: for
 *           example by a restored backup, or by a symbolic link that now points elsewhere. A connection is lent only
 *           while the path leads to its file; otherwise a new connection replaces it. A commit that begins after the
 *           change fails with SQLITE_READONLY_DBMOVED (in SQLite's own functions, with SQLITE_CONSTRAINT_COMMITHOOK),
 *           and the transaction is rolled back. The same holds if only the -wal or the -shm is gone. So no commit to a
 *           replaced file is reported as done. (A commit hook checks this. A borrower's own hook replaces it until
 *           give_back.) A borrower that is reading continues with the old file. Overwriting a file's bytes is not
 *           detected: don't copy over a file that is in use.
 * Threads   any number of threads may borrow at the same time. One thread at a time may use a borrow. SQLite must not
 *           have been compiled with SQLITE_THREADSAFE=0. SQLite's own functions are cancellation points: don't cancel
 *           threads in them. (The functions below are not.)
 * Deadline  the deadline covers all waits of a borrow: for its turn, for a new connection, and for locks of other
 *           processes, also in SQLite's own functions. A busy handler retries a lock after pauses of 0.1 to 25 ms. A
 *           new connection waits for locks until create_timeout_ms, and is tried again as long as a borrower waits for
 *           it. If the borrower's deadline passes first, the borrower gets the lock's error, and the connection serves
 *           a later borrower. close, deinit and evict don't wait for the connection. The deadline does not end a
 *           statement that computes for long: use sqlite3_interrupt for that.
 * Errors    borrow.error has SQLite's extended code, what was attempted, and SQLite's message, with the system's
 *           message if a file can't be opened. After CORRUPT, NOTADB or IOERR a connection is destroyed at give_back,
 *           and the next borrower gets a new one. (Only the last error, and errors of the functions below, are
 *           examined.)
 * Forks     a child can borrow nothing, as kolk/resource.h says. It must not use the same file through SQLite at all if
 *           a connection was open when it was forked: SQLite's record of locks is copied to the child, but the locks
 *           themselves are not. So fork first, or exec.
 * Design    kolk/resource.h; adapters/sqlite/sqlite.c. There are two pools, because one writer and many readers are two
 *           limits.
 */
#ifndef KOLK_SQLITE_H
#define KOLK_SQLITE_H

#include <kolk/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3; /* include <sqlite3.h> to use SQLite's functions */
struct sqlite3_stmt;

typedef struct kolk_sqlite_desc {
    /* the file's path, or a URI (file:...); must outlive the pools. Use an absolute path if the program changes its
     * working directory. The first write makes the file. Until then, and for 10 ms longer (up to 5 s if many have
     * failed), reads return KOLK_NOT_CREATED, as all borrows do at once if there is a directory or a device at the
     * path. Databases in memory are refused in the same way, because each connection would have its own; a file in
     * /dev/shm is in memory too. On a network there is no WAL, and so no writer */
    const char *path KOLK_OR_0_;
    /* SQL that each new connection runs, including the readers'; must outlive the pools. For example PRAGMA
     * foreign_keys = on. NULL: nothing */
    const char *setup KOLK_OR_0_;

    /* Closes each connection at give_back, as kolk_sqlite_discard does, so that the next borrower inherits nothing:
     * PRAGMAs, temporary tables, attached files, functions. Each borrow then takes a new connection. The close of the
     * last one copies the WAL into the file, unless min_idle keeps a reader */
    bool discard_all KOLK_OR_0_;

    /* The descriptor of the readers' pool; max 0 means 10. Each connection is checked before every borrow, so
     * validate_after_ms has no effect. The writer's pool has the same settings, but its max is 1 and its min_idle at
     * most 1. The names are "NAME.readers" and "NAME.writer", cut off after 63 bytes; without a name, neither pool has
     * one. create, destroy, validate and reset are the adapter's: to set one is KOLK_SET_BY_ADAPTER. `log` gets the
     * context. */
    kolk_resource_pool_desc pool KOLK_OR_0_;
} kolk_sqlite_desc;

/* A zero-initialised store is closed. It must not move between init and deinit. */
typedef struct kolk_sqlite {
    kolk_resource_pool readers, writer; /* for kolk/resource.h: close, evict, pause, stats, tick ... */
    const char *path, *setup;
    void (*log)(void *context, const kolk_resource_event *event);
    void *context; /* for log */
    char names[2][64];
    uint32_t locked[2]; /* connections that are being made and wait for a lock: readers, writers */
    bool discard_all;
} kolk_sqlite;

/* A borrowed connection. It may be copied. If it is all zero, there is no connection. */
typedef struct kolk_sqlite_borrow {
    struct sqlite3 *db; /* for SQLite's functions; NULL: no connection, or given back */
    kolk_error error;   /* why there is no connection, or the last failure of the functions below */

    struct kolk_sqlite_connection *connection;
    kolk_resource_pool *pool;
    kolk_handle handle;
} kolk_sqlite_borrow;

/* Opens nothing yet. On failure leaves the struct all zero, and returns KOLK_PATH_MISSING, KOLK_SET_BY_ADAPTER
 * or a status of kolk_resource_init. */
static inline kolk_status kolk_sqlite_init(kolk_sqlite *store, const kolk_sqlite_desc *desc);

/* Ends both pools, as kolk_resource_deinit does. The writer's connection is closed last, so that nothing is left of the
 * WAL. */
KOLK_USES_(1) void kolk_sqlite_deinit(kolk_sqlite *store);

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

/* Lends a connection that can only read (SQLITE_OPEN_READONLY). In WAL mode it waits for no writer. `desc` and the
 * statuses are those of kolk_resource_borrow, but a key is ignored; if `desc` is NULL, the borrow waits for at most 30
 * s. If another process locks the file and there is no connection yet, the status is KOLK_TIMEOUT at the deadline, or
 * KOLK_FULL with KOLK_NOW, and the error's code is SQLITE_BUSY. KOLK_NOT_CREATED: a connection can't be made without a
 * change from outside. */
static inline kolk_status kolk_sqlite_read(kolk_sqlite *store, const kolk_borrow_desc *desc, kolk_sqlite_borrow *out);

/* Lends the connection that writes, with an open transaction (BEGIN IMMEDIATE). So all waiting is over, and later
 * statements do not get SQLITE_BUSY. Run COMMIT at the end. Run statements that can't be in a transaction, such as
 * VACUUM, after the COMMIT. The statuses are as above. KOLK_TIMEOUT with SQLITE_BUSY also means that another process
 * had the write lock until the deadline, even with KOLK_NOW. KOLK_NOT_CREATED also means that the transaction could not
 * begin for another reason. */
static inline kolk_status kolk_sqlite_write(kolk_sqlite *store, const kolk_borrow_desc *desc, kolk_sqlite_borrow *out);

/* Ends a borrow. Does nothing with a borrow that is all zero or that failed. Sets db to NULL; a second call is
 * reported. */
static inline void kolk_sqlite_give_back(kolk_sqlite_borrow *borrow);

/* The same, but also closes the connection. */
static inline void kolk_sqlite_discard(kolk_sqlite_borrow *borrow);

/* ---- With a borrow, which must have a connection ----------------------------------------------------------------- */

/* Changes the deadline for SQLite's waits for locks, which at first is the borrow's. */
KOLK_USES_(1) void kolk_sqlite_until(kolk_sqlite_borrow *borrow, kolk_deadline deadline);

/* Runs all statements of `sql`, and ignores their rows. If a statement fails, returns false, with the reason in
 * borrow->error. */
KOLK_USES_(1) bool kolk_sqlite_exec(kolk_sqlite_borrow *borrow, const char *sql);

/* Returns the single statement of `sql`, ready to be bound and stepped. The connection keeps the KOLK_SQLITE_KEPT
 * statements used last, for borrowers who prepare the same text. Don't finalize it. If one borrower prepares a text
 * twice, it gets the same statement, reset. On failure returns NULL, with the reason in borrow->error; SQLite's
 * functions return SQLITE_MISUSE for NULL. */
#define KOLK_SQLITE_KEPT 32
KOLK_USES_(1) struct sqlite3_stmt *kolk_sqlite_prepare(kolk_sqlite_borrow *borrow, const char *sql);

/* ---- Inside: inline, so that the sites of borrows (debug setting `sites`) are the callers' ----------------------- */

KOLK_API_ kolk_status kolk_sqlite_begin_(kolk_sqlite *store, const kolk_sqlite_desc *desc, size_t store_size,
                                         uint32_t abi);
KOLK_API_ kolk_status kolk_sqlite_lend_(kolk_sqlite *store, kolk_resource_pool *pool, kolk_status status,
                                        const kolk_borrowed *borrowed, kolk_deadline deadline, kolk_sqlite_borrow *out);

KOLK_BODIES_BEGIN_

static inline kolk_status kolk_sqlite_init(kolk_sqlite *store, const kolk_sqlite_desc *desc) {
    return kolk_sqlite_begin_(store, desc, sizeof *store, KOLK_ABI);
}

static KOLK_ALWAYS_INLINE_ kolk_status kolk_sqlite_borrow_from_(kolk_sqlite *store, kolk_resource_pool *pool,
                                                                const kolk_borrow_desc *desc, kolk_sqlite_borrow *out) {
    kolk_borrow_desc asked = {NULL, KOLK_NOW, NULL};
    kolk_borrowed borrowed;
    asked.deadline = desc ? desc->deadline : kolk_deadline_after(30000);
    asked.who = desc ? desc->who : NULL;
    kolk_status status = kolk_resource_borrow(pool, &asked, &borrowed);
    return kolk_sqlite_lend_(store, pool, status, &borrowed, asked.deadline, out);
}

static KOLK_ALWAYS_INLINE_ kolk_status kolk_sqlite_read(kolk_sqlite *store, const kolk_borrow_desc *desc,
                                                        kolk_sqlite_borrow *out) {
    return kolk_sqlite_borrow_from_(store, &store->readers, desc, out);
}

static KOLK_ALWAYS_INLINE_ kolk_status kolk_sqlite_write(kolk_sqlite *store, const kolk_borrow_desc *desc,
                                                         kolk_sqlite_borrow *out) {
    return kolk_sqlite_borrow_from_(store, &store->writer, desc, out);
}

/* Moves the resource pool's borrow out of `borrow`, without its error. */
static KOLK_ALWAYS_INLINE_ void kolk_sqlite_part_with_(kolk_sqlite_borrow *borrow, kolk_borrowed *lent) {
    lent->resource = borrow->connection;
    lent->handle = borrow->handle;
    borrow->db = NULL;
    borrow->connection = NULL;
}

static KOLK_ALWAYS_INLINE_ void kolk_sqlite_give_back(kolk_sqlite_borrow *borrow) {
    kolk_borrowed lent;
    kolk_sqlite_part_with_(borrow, &lent);
    if (borrow->pool) kolk_resource_give_back(borrow->pool, &lent);
}

static KOLK_ALWAYS_INLINE_ void kolk_sqlite_discard(kolk_sqlite_borrow *borrow) {
    kolk_borrowed lent;
    kolk_sqlite_part_with_(borrow, &lent);
    if (borrow->pool) kolk_resource_discard(borrow->pool, &lent);
}

KOLK_BODIES_END_

#ifdef __cplusplus
}
#endif
#endif
