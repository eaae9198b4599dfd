/* runs: not:clang wraps: stat */
/* The SQLite adapter, while the file, or a file beside it, is replaced, moved or deleted: a commit must not succeed if
 * it went to a file other than the one at the path. */
#include "../help/test.h"

#include "sqlite_test.h"

#include <sys/mount.h>

static char aside[80], link_name[80];

/* The event at the next call of stat: the file is replaced before it, or the link leads aside after it. */
enum { NOTHING, REPLACED_BEFORE, LED_ASIDE_AFTER };
static int change_at_stat;

int __real_stat(const char *name, struct stat *its);
int __wrap_stat(const char *name, struct stat *its);

static void lead_to(const char *file) {
    unlink(link_name);
    assert_int_equal(symlink(file, link_name), 0);
}

int __wrap_stat(const char *name, struct stat *its) {
    int when = change_at_stat;
    change_at_stat = NOTHING;
    if (when == REPLACED_BEFORE) assert_int_equal(rename(aside, path), 0);
    int result = __real_stat(name, its);
    if (when == LED_ASIDE_AFTER) lead_to(aside);
    return result;
}

/* Makes a database file with this many rows, and no files beside it. */
static void make_file(const char *name, int rows) {
    char sql[200];
    sqlite3 *db;
    snprintf(sql, sizeof sql,
             "create table t(n); with recursive r(n) as (select 1 union all select n + 1 from r where n < %d) insert "
             "into t select n from r",
             rows);
    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int begin_files(void **state) {
    if (begin_folder(state) != 0) return -1;
    snprintf(aside, sizeof aside, "%s/aside", folder);
    snprintf(link_name, sizeof link_name, "%s/link", folder);
    make_file(path, 1);
    make_file(aside, 10);
    return 0;
}

static int end_files(void **state) {
    unlink(aside);
    return end_folder(state);
}

static const char *beside(const char *suffix) {
    static char name[140];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return name;
}

static void remove_side_files(void) {
    assert_int_equal(unlink(beside("-wal")), 0);
    assert_int_equal(unlink(beside("-shm")), 0);
}

/* Replaces the file, as restoring a backup does. */
static void replace(void) {
    assert_int_equal(rename(aside, path), 0);
    remove_side_files();
}

/* Counts the rows in the file, as another program would. */
static int64_t rows_in_file(const char *name) {
    sqlite3 *db;
    sqlite3_stmt *count;
    assert_int_equal(sqlite3_open_v2(name, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "select count(*) from t", -1, &count, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    int64_t rows = sqlite3_column_int64(count, 0);
    sqlite3_finalize(count);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return rows;
}

/* Checks that a commit fails, and that its connection is not used again. */
static void assert_not_committed(kolk_sqlite_borrow *borrow) {
    assert_false(kolk_sqlite_exec(borrow, "commit"));
    assert_int_equal(borrow->error.code, SQLITE_READONLY_DBMOVED);
    assert_string_equal(borrow->error.text, "commit: the file was moved, deleted or replaced");
    assert_true(sqlite3_get_autocommit(borrow->db)); /* the transaction was rolled back */
    uint64_t unclean = stats_of(&store.writer).unclean;
    kolk_sqlite_give_back(borrow);
    EVENTUALLY(stats_of(&store.writer).unclean == unclean + 1);
}

/* ---- Replaced ---------------------------------------------------------------------------------------------------- */

/* A connection is checked even if it was just in use, whatever the default of validate_after_ms.
 * promise: "A connection ... continues with the old file", "max 0 means ... after 63 bytes" */
static void test_while_nothing_is_lent(void **state) {
    open_store();
    for (int n = 0; n < 3; n++) change("insert into t values (2)");
    assert_int_equal(read_number("select count(*) from t"), 4);
    replace();
    change("insert into t values (3)");
    assert_int_equal(rows_in_file(path), 11);
    assert_int_equal(read_number("select count(*) from t"), 11);
    EVENTUALLY(stats_of(&store.readers).invalid == 1);
    assert_int_equal(stats_of(&store.writer).invalid, 1);
    change("insert into t values (4)");
    assert_int_equal(stats_of(&store.writer).created, 2); /* not replaced again */
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(path), 12);
}

static void test_while_it_is_written(void **state) {
    open_store();
    kolk_sqlite_borrow borrow = writer(), reads = reader();
    run(&borrow, "insert into t values (2)");
    replace();
    assert_int_equal(number(&reads, "select count(*) from t"), 1); /* an earlier borrow can still read */
    kolk_sqlite_give_back(&reads);
    assert_not_committed(&borrow);
    assert_int_equal(rows_in_file(path), 10);
    change("insert into t values (3)");
    assert_int_equal(read_number("select count(*) from t"), 11);
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(path), 11);
}

/* SQLite's own functions return their own code for this failure. A later error is not mistaken for it. */
static void test_commits_of_all_kinds(void **state) {
    open_store();
    kolk_sqlite_borrow borrow = writer();
    run(&borrow, "insert into t values (2)");
    sqlite3_stmt *commit = kolk_sqlite_prepare(&borrow, "commit");
    replace();
    assert_int_equal(sqlite3_step(commit), SQLITE_CONSTRAINT);
    assert_int_equal(sqlite3_extended_errcode(borrow.db), SQLITE_CONSTRAINT_COMMITHOOK);
    assert_true(sqlite3_get_autocommit(borrow.db));
    assert_int_equal(sqlite3_exec(borrow.db, "insert into t values (3)", NULL, NULL, NULL), SQLITE_CONSTRAINT);
    assert_int_equal(sqlite3_exec(borrow.db, "savepoint s; insert into t values (4); release s", NULL, NULL, NULL),
                     SQLITE_CONSTRAINT);
    assert_false(kolk_sqlite_exec(&borrow, "selct"));
    assert_int_equal(borrow.error.code, SQLITE_ERROR);
    assert_string_equal(borrow.error.text, "selct: near \"selct\": syntax error");
    kolk_sqlite_give_back(&borrow);
    EVENTUALLY(stats_of(&store.writer).unclean == 1);
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(path), 10);
}

static void test_it_comes_back(void **state) {
    open_store();
    kolk_sqlite_borrow borrow = writer();
    run(&borrow, "insert into t values (2)");
    assert_int_equal(rename(path, beside("-away")), 0);
    assert_false(kolk_sqlite_exec(&borrow, "commit"));
    assert_int_equal(borrow.error.code, SQLITE_READONLY_DBMOVED);
    char away[140];
    snprintf(away, sizeof away, "%s", beside("-away"));
    assert_int_equal(rename(away, path), 0);
    run(&borrow, "insert into t values (2)");
    kolk_sqlite_give_back(&borrow);
    assert_int_equal(stats_of(&store.writer).unclean, 0);
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(path), 2);
}

/* A borrower's own commit hook replaces ours, but not for the next borrower. */
static int agree(void *context) {
    ++*(int *)context;
    return 0;
}

static void test_a_hook_of_the_borrower(void **state) {
    int called = 0;
    open_store();
    kolk_sqlite_borrow borrow = writer();
    sqlite3_commit_hook(borrow.db, agree, &called);
    run(&borrow, "insert into t values (2); commit");
    assert_int_equal(called, 1);
    kolk_sqlite_give_back(&borrow);
    borrow = writer();
    replace();
    assert_not_committed(&borrow);
    assert_int_equal(called, 1);
    assert_int_equal(stats_of(&store.writer).created, 1);
    kolk_sqlite_deinit(&store);
}

/* ---- Deleted ----------------------------------------------------------------------------------------------------- */

static void test_deleted(void **state) {
    kolk_sqlite_borrow borrow;
    open_store();
    change("insert into t values (2)");
    assert_int_equal(read_number("select count(*) from t"), 2);
    borrow = writer();
    run(&borrow, "insert into t values (3)");
    assert_int_equal(unlink(path), 0);
    remove_side_files();
    assert_not_committed(&borrow);
    assert_refused(try_read(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_CANTOPEN,
                   "%s: unable to open database file: No such file or directory");
    borrow = writer(); /* creates a new file */
    assert_false(kolk_sqlite_exec(&borrow, "insert into t values (4)"));
    assert_non_null(strstr(borrow.error.text, "no such table: t"));
    kolk_sqlite_give_back(&borrow);
    kolk_sqlite_deinit(&store);
}

/* Deletes each of the files beside the database, one at a time. */
static void test_a_side_file(void **state) {
    static const char *const suffixes[] = {"-wal", "-shm"};
    open_store();
    for (size_t n = 0; n < LENGTH_OF(suffixes); n++) {
        kolk_sqlite_borrow borrow = writer();
        run(&borrow, "insert into t values (2)");
        assert_int_equal(unlink(beside(suffixes[n])), 0);
        assert_not_committed(&borrow);
        change("insert into t values (3)");
        assert_int_equal(rows_in_file(path), (int64_t)n + 2);
    }
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(path), 3);
}

static void write_and_compare(void) {
    change("insert into t values (3)");
    assert_int_equal(read_number("select count(*) from t"), rows_in_file(path));
}

/* Borrows until a creation has failed because the file was moved; at its deadline the borrower gets that as its
 * error. */
static void assert_no_writer(void) {
    kolk_sqlite_borrow borrow;
    do assert_int_equal(try_write(after(30), &borrow), KOLK_TIMEOUT);
    while (borrow.error.code == 0); /* no attempt has failed so far */
    assert_int_equal(borrow.error.code, SQLITE_READONLY_DBMOVED);
    assert_non_null(strstr(borrow.error.text, "the file was moved, deleted or replaced"));
}

/* Readers use the deleted index, and a new writer of this process would share it with them. So idle readers are
 * destroyed immediately, and no writer is created before the last reader is gone. */
static void test_side_files_that_readers_have(void **state) {
    enum { IDLE, IDLE_AND_DISCARDED, LENT, ALL };
    open_store();
    for (int how = IDLE; how < ALL; how++) {
        kolk_sqlite_borrow borrow, reads;
        write_and_compare();
        reads = reader();
        assert_true(number(&reads, "select count(*) from t") > 0);
        if (how != LENT) kolk_sqlite_give_back(&reads);
        borrow = writer();
        remove_side_files();
        if (how == IDLE_AND_DISCARDED)
            kolk_sqlite_discard(&borrow);
        else
            assert_not_committed(&borrow);
        if (how == LENT) {
            assert_no_writer();
            kolk_sqlite_give_back(&reads);
        }
        write_and_compare();
    }
    kolk_sqlite_deinit(&store);
}

/* ---- Ways to the file -------------------------------------------------------------------------------------------- */

static void open_by_link(void) {
    kolk_sqlite_desc desc = {.path = link_name, .setup = "pragma synchronous = off"};
    lead_to(path);
    assert_int_equal(kolk_sqlite_init(&store, &desc), KOLK_OK);
}

/* Only the link changes: the file itself stays where it is. promise: "A connection ... continues with the old file" */
static void test_a_symbolic_link(void **state) {
    open_by_link();
    change("insert into t values (2)");
    assert_int_equal(read_number("select count(*) from t"), 2);
    kolk_sqlite_borrow borrow = writer();
    run(&borrow, "insert into t values (3)");
    lead_to(aside);
    assert_not_committed(&borrow);
    assert_int_equal(read_number("select count(*) from t"), 10);
    change("insert into t values (3)");
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(path), 2);
    assert_int_equal(rows_in_file(aside), 11);
}

/* The path changes right after SQLite has opened the file. promise: "A connection ... continues with the old file" */
static void test_while_a_connection_is_made(void **state) {
    for (int when = LED_ASIDE_AFTER; when != NOTHING; when--) {
        kolk_sqlite_borrow borrow;
        open_by_link();
        change_at_stat = when;
        while (try_write(SOON, &borrow) != KOLK_OK) assert_int_equal(borrow.error.code, SQLITE_READONLY_DBMOVED);
        assert_int_equal(change_at_stat, NOTHING);
        run(&borrow, "insert into t values (2); commit");
        kolk_sqlite_give_back(&borrow);
        kolk_sqlite_deinit(&store);
        assert_int_equal(rows_in_file(link_name), when == LED_ASIDE_AFTER ? 11 : 12);
    }
}

static void mount_at(char *name, size_t size, const char *last) {
    snprintf(name, size, "%s/%s", folder, last);
    assert_int_equal(mkdir(name, 0700), 0);
    if (mount("tmpfs", name, "tmpfs", 0, "size=1m") != 0) {
        print_message("left out: two file systems, as no tmpfs can be mounted here\n");
        rmdir(name);
        skip();
    }
    size_t length = strlen(name);
    snprintf(name + length, size - length, "/file");
    make_file(name, 1);
}

static void unmount(const char *last) {
    char name[80];
    snprintf(name, sizeof name, "%s/%s", folder, last);
    umount2(name, MNT_DETACH);
    rmdir(name);
}

static int end_mounts(void **state) {
    unmount("one");
    unmount("two");
    return end_files(state);
}

/* An inode number alone does not identify a file. promise: "A connection ... continues with the old file" */
static void test_another_file_system(void **state) {
    char one[100], two[100];
    struct stat first, second;
    mount_at(one, sizeof one, "one");
    mount_at(two, sizeof two, "two");
    assert_int_equal(stat(one, &first) | stat(two, &second), 0);
    if (first.st_ino != second.st_ino) skip(); /* older kernels number the inodes of all file systems together */
    open_by_link();
    lead_to(one);
    change("insert into t values (2)");
    lead_to(two);
    change("insert into t values (2)");
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(one), 2);
    assert_int_equal(rows_in_file(two), 2);
}

static void test_a_uri(void **state) {
    char uri[160];
    snprintf(uri, sizeof uri, "file:%s?cache=private", path);
    kolk_sqlite_desc desc = {.path = uri, .setup = "pragma synchronous = off"};
    assert_int_equal(kolk_sqlite_init(&store, &desc), KOLK_OK);
    change("insert into t values (2)");
    change("insert into t values (2)");
    assert_int_equal(stats_of(&store.writer).created, 1);
    replace();
    change("insert into t values (3)");
    kolk_sqlite_borrow borrow = writer();
    assert_int_equal(unlink(path), 0);
    assert_not_committed(&borrow);
    kolk_sqlite_deinit(&store);
}

/* If SQLite keeps its index in memory, the index file need not exist. */
static void test_one_process_alone(void **state) {
    open_store_as(&(kolk_sqlite_desc){.setup = "pragma locking_mode = exclusive; pragma synchronous = off"});
    change("insert into t values (2)");
    change("insert into t values (3)");
    assert_int_equal(stats_of(&store.writer).created, 1);
    assert_int_equal(access(beside("-shm"), F_OK), -1);
    kolk_sqlite_deinit(&store);
    assert_int_equal(rows_in_file(path), 3);
}

#define MOVED(name) cmocka_unit_test_setup_teardown(name, begin_files, end_files)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        MOVED(test_while_nothing_is_lent),
        MOVED(test_while_it_is_written),
        MOVED(test_commits_of_all_kinds),
        MOVED(test_it_comes_back),
        MOVED(test_a_hook_of_the_borrower),
        MOVED(test_deleted),
        MOVED(test_a_side_file),
        MOVED(test_side_files_that_readers_have),
        MOVED(test_a_symbolic_link),
        MOVED(test_while_a_connection_is_made),
        cmocka_unit_test_setup_teardown(test_another_file_system, begin_files, end_mounts),
        MOVED(test_a_uri),
        MOVED(test_one_process_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
