/* database.c: an SQLite database under load. Writes a thousand rows in transactions, some of which are not committed,
 * and reads them back. CMake defines whether SQLite is available. */
#define _POSIX_C_SOURCE 200809L
#include "services.h"

#if KOLK_SOAK_SQLITE
#include <kolk/sqlite.h>
#include <sqlite3.h>

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 1000 };

struct soak_database {
    kolk_sqlite store;
    char folder[200], path[256];
    int64_t marks[ROWS];
    uint64_t lent;
};

static bool failed(struct soak_problem *problem, const char *what, const kolk_sqlite_borrow *borrow) {
    return soak_wrong(problem, SOAK_WHOLE, "soak.database: %s: %s", what, borrow->error.text);
}

static bool fill(struct soak_database *database, struct soak_problem *problem) {
    kolk_sqlite_borrow borrow;
    char sql[256];
    snprintf(sql, sizeof sql,
             "CREATE TABLE rows(id INTEGER PRIMARY KEY, mark INTEGER); WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL "
             "SELECT i + 1 FROM n WHERE i < %d) INSERT INTO rows SELECT i, 0 FROM n; COMMIT",
             ROWS - 1);
    bool done = kolk_sqlite_write(&database->store, NULL, &borrow) == KOLK_OK && kolk_sqlite_exec(&borrow, sql);
    if (!done) failed(problem, "cannot be made", &borrow);
    kolk_sqlite_give_back(&borrow);
    database->lent++;
    return done;
}

struct soak_database *soak_database_begin(struct soak_problem *problem) {
    struct soak_database *database = calloc(1, sizeof *database);
    const char *folder = getenv("TMPDIR");
    if (!database) {
        soak_wrong(problem, SOAK_SYSTEM, "there is no memory");
        return NULL;
    }
    snprintf(database->folder, sizeof database->folder, "%s/kolk-soak.XXXXXX", folder && *folder ? folder : "/tmp");
    if (!mkdtemp(database->folder)) {
        soak_wrong(problem, SOAK_SYSTEM, "%s: cannot be made for the database", database->folder);
        free(database);
        return NULL;
    }
    snprintf(database->path, sizeof database->path, "%s/rows.db", database->folder);
    kolk_sqlite_desc desc = {.path = database->path, /* the file is not needed after a crash */
                             .setup = "PRAGMA synchronous = off",
                             .pool = {.name = "soak.database", .max = 2, .no_housekeeper = true}};
    kolk_status status = kolk_sqlite_init(&database->store, &desc);
    if (status != KOLK_OK) soak_wrong(problem, SOAK_SYSTEM, "soak.database: %s", kolk_status_text(status));
    if (status == KOLK_OK && fill(database, problem)) return database;
    soak_database_end(database);
    return NULL;
}

static void write_row(struct soak_database *database, struct soak_random *random, struct soak_problem *problem) {
    uint32_t row = soak_below(random, ROWS);
    int64_t mark = soak_below(random, UINT64_C(1) << 32);
    bool commit = soak_below(random, 8) != 0;
    kolk_sqlite_borrow borrow;
    bool done = kolk_sqlite_write(&database->store, NULL, &borrow) == KOLK_OK;
    if (done) {
        sqlite3_stmt *update = kolk_sqlite_prepare(&borrow, "UPDATE rows SET mark = ? WHERE id = ?");
        sqlite3_bind_int64(update, 1, mark);
        sqlite3_bind_int(update, 2, (int)row);
        done = sqlite3_step(update) == SQLITE_DONE && (!commit || kolk_sqlite_exec(&borrow, "COMMIT"));
    }
    if (!done) failed(problem, "a row cannot be written", &borrow);
    kolk_sqlite_give_back(&borrow); /* rolls back uncommitted changes */
    if (done && commit) database->marks[row] = mark;
    database->lent++;
}

static void read_row(struct soak_database *database, struct soak_random *random, struct soak_problem *problem) {
    uint32_t row = soak_below(random, ROWS);
    kolk_sqlite_borrow borrow;
    bool done = kolk_sqlite_read(&database->store, NULL, &borrow) == KOLK_OK, same = false;
    if (done) {
        sqlite3_stmt *select = kolk_sqlite_prepare(&borrow, "SELECT mark FROM rows WHERE id = ?");
        sqlite3_bind_int(select, 1, (int)row);
        done = sqlite3_step(select) == SQLITE_ROW;
        same = done && sqlite3_column_int64(select, 0) == database->marks[row];
    }
    if (!done) failed(problem, "a row cannot be read", &borrow);
    if (done && !same)
        soak_wrong(problem, SOAK_WHOLE, "soak.database: row %u does not hold what was committed last", row);
    kolk_sqlite_give_back(&borrow);
    database->lent++;
}

void soak_database_turn(struct soak_database *database, struct soak_random *random, struct soak_problem *problem) {
    if (soak_below(random, 4) == 0)
        write_row(database, random, problem);
    else
        read_row(database, random, problem);
}

bool soak_database_check(struct soak_database *database, struct soak_problem *problem) {
    kolk_resource_pool_stats readers, writer;
    kolk_resource_stats(&database->store.readers, &readers);
    kolk_resource_stats(&database->store.writer, &writer);
    bool valid = kolk_resource_is_valid(&database->store.readers) && kolk_resource_is_valid(&database->store.writer);
    if (!valid) soak_wrong(problem, SOAK_VALID, "soak.database: its is_valid says no");
    if (readers.borrows + writer.borrows != database->lent)
        soak_wrong(problem, SOAK_COUNTS, "soak.database: counts %" PRIu64 " borrows, and the load %" PRIu64,
                   readers.borrows + writer.borrows, database->lent);
    return !problem->text[0];
}

void soak_database_end(struct soak_database *database) {
    static const char *const files[] = {"", "-wal", "-shm"};
    if (!database) return;
    if (database->store.path) kolk_sqlite_deinit(&database->store);
    for (size_t n = 0; n < sizeof files / sizeof *files; n++) {
        char path[280];
        snprintf(path, sizeof path, "%s%s", database->path, files[n]);
        unlink(path);
    }
    rmdir(database->folder);
    free(database);
}

#else

struct soak_database *soak_database_begin(struct soak_problem *problem) {
    (void)problem;
    return NULL;
}

void soak_database_turn(struct soak_database *database, struct soak_random *random, struct soak_problem *problem) {
    (void)database, (void)random, (void)problem;
}

bool soak_database_check(struct soak_database *database, struct soak_problem *problem) {
    (void)database, (void)problem;
    return true;
}

void soak_database_end(struct soak_database *database) {
    (void)database;
}

#endif
