/* kolk/sqlite.h: connections to one SQLite file. One thread at a time writes, any number read meanwhile (WAL). The file
 * may be used by other processes as well.
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
 * Cost      a reader that is at hand: that of the resource pool, 0.2 us. A write, which begins a transaction and ends
 *           it: 5 us, without what it waits for. A new connection: 30 us, and more where there are many tables.
 *           After half a second of idleness, a look whether the file is still the one that was opened (stat): it may
 *           be replaced while nothing is lent, together with its -wal and -shm.
 * Memory    SQLite's, and some 600 bytes a connection, which are SQLite's too (sqlite3_malloc).
 * Ownership the connection is the borrower's from read or write to give_back, with all of SQLite's functions; the
 *           statements of kolk_sqlite_prepare are the connection's. At give_back a transaction that is open is rolled
 *           back, statements that are left are finalized or reset: don't touch them any more, and close blobs before.
 *           What else was changed stays for the next borrower: PRAGMAs, temporary tables, attached files, functions.
 * Threads   any number may borrow at the same time. A borrow is one thread's at a time. SQLite must not have been
 *           compiled with SQLITE_THREADSAFE=0. Its functions are cancellation points: don't cancel threads in them.
 * Deadline  one of all that a borrow waits for: its turn, opening the file, and the locks of other processes, also in
 *           SQLite's own functions. Waiting for a lock is trying again after pauses of 0.1 to 25 ms, by a busy handler.
 *           A statement that computes for long is not ended: that is sqlite3_interrupt.
 * Errors    borrow.error: SQLite's extended code, what was to be done, and SQLite's words; the system's too, where a
 *           file can't be opened. After CORRUPT, NOTADB or IOERR a connection is destroyed at give_back, and the next
 *           borrower gets a new one. (It is seen if it was the last error, or that of a function below.)
 * Forks     a child borrows nothing, as kolk/resource.h says. It must not use the same file by SQLite at all if a
 *           connection was open when it was forked: SQLite remembers the locks of its process, and the child, which
 *           does not have them, believes that they are its own. So fork first, or exec.
 * Design    kolk/resource.h: two pools, since one writer and many readers are two limits; adapters/sqlite/sqlite.c.
 */
#ifndef KOLK_SQLITE_H
#define KOLK_SQLITE_H

#include <kolk/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3; /* <sqlite3.h> is for those who use SQLite's functions */
struct sqlite3_stmt;

typedef struct kolk_sqlite_desc {
    const char *path;  /* of the file, or a URI (file:...); outlives the pools. The first write makes it; until then
                        * reads give KOLK_NOT_CREATED. In memory or on a network there is no WAL, and so no writer */
    const char *setup; /* SQL that each new connection runs, also the readers'; outlives the pools. For example PRAGMA
                        * foreign_keys = on. NULL: nothing */

    /* Of the readers; max 0: 10. The writer's pool has the same settings, but its max is 1, and so is its min_idle at
     * most. The names are "NAME.readers" and "NAME.writer", cut off after 63 bytes; without a name neither has one. Its
     * functions and its context are ignored. */
    kolk_resource_pool_desc pool;
} kolk_sqlite_desc;

/* All zero is closed. Stays where it is from init to deinit. */
typedef struct kolk_sqlite {
    kolk_resource_pool readers, writer; /* for kolk/resource.h: close, evict, pause, stats, tick ... */
    const char *path, *setup;
    char names[2][64];
} kolk_sqlite;

/* A connection, as its borrower has it. It may be copied. All zero is none. */
typedef struct kolk_sqlite_borrow {
    struct sqlite3 *db; /* for SQLite's functions; NULL: none, or it was given back */
    kolk_error error;   /* why there is none, or why one of the functions below failed last */

    struct kolk_sqlite_connection *connection;
    kolk_resource_pool *pool;
    kolk_handle handle;
} kolk_sqlite_borrow;

/* Opens nothing yet. Anything but KOLK_OK leaves the struct all zero: KOLK_PATH_MISSING, or as
 * kolk_resource_pool_init. */
static inline kolk_status kolk_sqlite_init(kolk_sqlite *store, const kolk_sqlite_desc *desc);

/* Ends both pools: as kolk_resource_pool_deinit. The writer's connection is closed last, so that nothing is left of the
 * WAL. */
KOLK_API void kolk_sqlite_deinit(kolk_sqlite *store);

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

/* Lends a connection that can only read (SQLITE_OPEN_READONLY). In WAL mode it waits for no writer. `desc` and the
 * statuses are those of kolk_resource_borrow, but a key is ignored; NULL: 30 s. KOLK_TIMEOUT also where another process
 * had the file locked until the deadline. */
static inline kolk_status kolk_sqlite_read(kolk_sqlite *store, const kolk_borrow_desc *desc, kolk_sqlite_borrow *out);

/* Lends the connection that writes, with a transaction that is begun (BEGIN IMMEDIATE). So all waiting is over: what
 * follows does not get SQLITE_BUSY. Run COMMIT at the end. What can't be in a transaction, such as VACUUM, goes behind
 * it. The statuses are as above; KOLK_NOT_CREATED also where the transaction could not begin. */
static inline kolk_status kolk_sqlite_write(kolk_sqlite *store, const kolk_borrow_desc *desc, kolk_sqlite_borrow *out);

/* Ends a borrow. Does nothing with one that is all zero or that failed. Sets db to NULL; a second call is reported. */
static inline void kolk_sqlite_give_back(kolk_sqlite_borrow *borrow);

/* The same, and the connection is closed. */
static inline void kolk_sqlite_discard(kolk_sqlite_borrow *borrow);

/* ---- With a borrow, which must have a connection ----------------------------------------------------------------- */

/* From now on SQLite waits for locks until another deadline than that of the borrow. */
KOLK_API void kolk_sqlite_until(kolk_sqlite_borrow *borrow, kolk_deadline deadline);

/* Runs all statements of `sql`, without their rows. False: one could not be run; borrow->error says why. */
KOLK_API bool kolk_sqlite_exec(kolk_sqlite_borrow *borrow, const char *sql);

/* The one statement of `sql`, ready to be bound and stepped. The connection keeps it for the next borrower who asks for
 * the same text: KOLK_SQLITE_KEPT of them, those used last. Don't finalize it. Asked for twice by one borrower, it is
 * the same statement, and is reset. NULL: it could not be prepared; borrow->error says why, and SQLite's functions
 * give SQLITE_MISUSE for it. */
#define KOLK_SQLITE_KEPT 32
KOLK_API struct sqlite3_stmt *kolk_sqlite_prepare(kolk_sqlite_borrow *borrow, const char *sql);

/* ---- Inside: inline, so that the sites of borrows (debug setting `sites`) are the callers' ----------------------- */

KOLK_API kolk_status kolk_sqlite_begin(kolk_sqlite *store, const kolk_sqlite_desc *desc, size_t store_size,
                                       uint32_t abi);
KOLK_API kolk_status kolk_sqlite_lend(kolk_resource_pool *pool, kolk_status status, const kolk_borrow *borrowed,
                                      kolk_deadline deadline, kolk_sqlite_borrow *out);

KOLK_BODIES_BEGIN_

static inline kolk_status kolk_sqlite_init(kolk_sqlite *store, const kolk_sqlite_desc *desc) {
    return kolk_sqlite_begin(store, desc, sizeof *store, KOLK_ABI);
}

static KOLK_ALWAYS_INLINE kolk_status kolk_sqlite_borrow_from(kolk_resource_pool *pool, const kolk_borrow_desc *desc,
                                                              kolk_sqlite_borrow *out) {
    kolk_borrow_desc asked = {NULL, KOLK_NOW, NULL};
    kolk_borrow borrowed;
    asked.deadline = desc ? desc->deadline : kolk_deadline_after(30000);
    asked.who = desc ? desc->who : NULL;
    kolk_status status = kolk_resource_borrow(pool, &asked, &borrowed);
    return kolk_sqlite_lend(pool, status, &borrowed, asked.deadline, out);
}

static KOLK_ALWAYS_INLINE kolk_status kolk_sqlite_read(kolk_sqlite *store, const kolk_borrow_desc *desc,
                                                       kolk_sqlite_borrow *out) {
    return kolk_sqlite_borrow_from(&store->readers, desc, out);
}

static KOLK_ALWAYS_INLINE kolk_status kolk_sqlite_write(kolk_sqlite *store, const kolk_borrow_desc *desc,
                                                        kolk_sqlite_borrow *out) {
    return kolk_sqlite_borrow_from(&store->writer, desc, out);
}

/* What the resource pool has lent, without its error; `borrow` has no connection any more. */
static KOLK_ALWAYS_INLINE void kolk_sqlite_part_with(kolk_sqlite_borrow *borrow, kolk_borrow *lent) {
    lent->resource = borrow->connection;
    lent->handle = borrow->handle;
    borrow->db = NULL;
    borrow->connection = NULL;
}

static KOLK_ALWAYS_INLINE void kolk_sqlite_give_back(kolk_sqlite_borrow *borrow) {
    kolk_borrow lent;
    kolk_sqlite_part_with(borrow, &lent);
    if (borrow->pool) kolk_resource_give_back(borrow->pool, &lent);
}

static KOLK_ALWAYS_INLINE void kolk_sqlite_discard(kolk_sqlite_borrow *borrow) {
    kolk_borrow lent;
    kolk_sqlite_part_with(borrow, &lent);
    if (borrow->pool) kolk_resource_discard(borrow->pool, &lent);
}

KOLK_BODIES_END_

#ifdef __cplusplus
}
#endif
#endif
