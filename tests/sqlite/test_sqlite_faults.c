/* runs: not:clang wraps: nanosleep */
/* The SQLite adapter in trouble: other processes that hold the file's locks or die while holding them, files that are
 * not databases or are truncated, a full disk, and a fork. */
#include "../help/test.h"

#include "../help/child.h"
#include "../help/threads.h"
#include "sqlite_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mount.h>
#include <sys/resource.h>

typedef kolk_status borrow_function(kolk_deadline deadline, kolk_sqlite_borrow *out);

/* ---- Locks of others --------------------------------------------------------------------------------------------- */

/* Checks borrows while the file is locked. A borrow must not end before its deadline. A new connection begins to wait
 * at some time; with KOLK_NOW, no borrower waits for it. */
static void assert_locked(borrow_function *borrow, const char *sentence, kolk_status at_once) {
    kolk_sqlite_borrow got;
    EVENTUALLY(borrow(after(10), &got) == KOLK_TIMEOUT && got.error.code == SQLITE_BUSY);
    int64_t begin = now_ms();
    assert_refused(borrow(after(100), &got), KOLK_TIMEOUT, &got, SQLITE_BUSY, sentence);
    assert_true(now_ms() - begin >= 99);
    assert_refused(borrow(KOLK_NOW, &got), at_once, &got, SQLITE_BUSY, sentence);
}

static _Thread_local unsigned sleeps; /* how often this thread slept */
static _Thread_local int64_t slept;   /* for how many nanoseconds, together */
static const other *ends_lock;        /* the next sleep makes this process commit */
static const pthread_t *is_cancelled; /* the next sleep first cancels this thread */

int __real_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);

int __wrap_nanosleep(const struct timespec *pause, struct timespec *left) {
    sleeps++;
    slept += (int64_t)pause->tv_sec * 1000000000 + pause->tv_nsec;
    if (is_cancelled) pthread_cancel(*is_cancelled);
    is_cancelled = NULL;
    if (ends_lock) tell_other(ends_lock, "commit");
    ends_lock = NULL;
    return __real_nanosleep(pause, left);
}

/* No sleep is longer than the time left. */
static void test_no_sleep_past_the_deadline(void **state) {
    kolk_sqlite_borrow borrow;
    other its = begin_other();
    open_store();
    change("create table t(n)");
    tell_other(&its, "begin immediate");
    for (int n = 0; n < 5; n++) {
        slept = 0;
        assert_int_equal(try_write(after(40), &borrow), KOLK_TIMEOUT);
        assert_in_range(slept, 0, 41000000);
    }
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

/* A reader begins no transaction that would wait for a lock, but its statements wait, until its own deadline.
 * promise: "the deadline covers ... wait for the connection", "Changes the deadline for SQLite's waits" */
static void test_a_reader_has_its_own_deadline(void **state) {
    other its = begin_other();
    tell_other(&its, "create table t(n); insert into t values (1)");
    open_store_as(&(kolk_sqlite_desc){.pool.max = 1});
    kolk_sqlite_borrow borrow = reader();
    kolk_sqlite_until(&borrow, KOLK_NOW);
    kolk_sqlite_give_back(&borrow);
    tell_other(&its, "begin exclusive");
    borrow = reader();
    ends_lock = &its;
    assert_int_equal(number(&borrow, "select count(*) from t"), 1);
    assert_null(ends_lock);
    kolk_sqlite_give_back(&borrow);

    tell_other(&its, "begin exclusive");
    assert_int_equal(try_read(KOLK_NOW, &borrow), KOLK_OK); /* the previous borrow's deadline was later */
    sleeps = 0;
    assert_false(kolk_sqlite_exec(&borrow, "select count(*) from t"));
    assert_int_equal(borrow.error.code, SQLITE_BUSY);
    assert_int_equal(sleeps, 0);
    kolk_sqlite_give_back(&borrow);
    assert_int_equal(stats_of(&store.readers).created, 1);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

/* Whatever the last error was, an open transaction is rolled back, and the connection stays good. */
static void test_a_transaction_that_was_locked_out(void **state) {
    other its = begin_other();
    open_store();
    change("create table t(n); insert into t values (1)");
    kolk_sqlite_borrow borrow = writer();
    run(&borrow, "commit; begin; select * from t");
    assert_int_equal(number(&borrow, "select count(*) from t"), 1);
    tell_other(&its, "insert into t values (2)");
    assert_false(kolk_sqlite_exec(&borrow, "insert into t values (3)"));
    assert_int_equal(borrow.error.code, SQLITE_BUSY_SNAPSHOT);
    assert_false(sqlite3_get_autocommit(borrow.db));
    kolk_sqlite_give_back(&borrow);
    tell_other(&its, "insert into t values (4)");
    borrow = writer();
    assert_int_equal(number(&borrow, "select sum(n) from t"), 7);
    kolk_sqlite_give_back(&borrow);
    assert_int_equal(stats_of(&store.writer).created, 1);
    assert_int_equal(stats_of(&store.writer).unclean, 0);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

static void tell_uncancelled(const other *its, const char *sql) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    tell_other(its, sql);
    pthread_setcancelstate(before, &before);
}

static void *wait_though_cancelled(void *argument) {
    const other *its = (const other *)argument;
    kolk_sqlite_borrow borrow;
    char attach[200];
    snprintf(attach, sizeof attach, "commit; attach '%s/aside' as aside; create table aside.t(n)", folder);
    pthread_t self = pthread_self();
    is_cancelled = &self; /* happens while the connection is made */
    ends_lock = its;
    REQUIRE(try_write(SOON, &borrow) == KOLK_OK);
    REQUIRE(!is_cancelled && !ends_lock);
    run(&borrow, "insert into t values (2); commit");
    sqlite3_stmt *count = kolk_sqlite_prepare(&borrow, "select count(*) from t");
    REQUIRE(count);
    tell_uncancelled(its, "begin immediate");
    ends_lock = its;
    run(&borrow, "begin immediate; insert into t values (3); commit");
    kolk_sqlite_give_back(&borrow);
    tell_uncancelled(its, "begin immediate");
    ends_lock = its;
    REQUIRE(try_write(SOON, &borrow) == KOLK_OK);
    run(&borrow, "insert into t values (4)");
    kolk_sqlite_give_back(&borrow);
    REQUIRE(try_read(SOON, &borrow) == KOLK_OK);
    REQUIRE(kolk_sqlite_prepare(&borrow, "select count(*) from a_table_199")); /* reads the schema */
    kolk_sqlite_give_back(&borrow);
    REQUIRE(try_write(SOON, &borrow) == KOLK_OK);
    run(&borrow, attach); /* gives the rollback a journal to close */
    run(&borrow, "begin; insert into aside.t values (1)");
    kolk_sqlite_give_back(&borrow);
    REQUIRE(try_write(SOON, &borrow) == KOLK_OK);
    kolk_sqlite_discard(&borrow);
    pthread_testcancel();
    return NULL;
}

/* A cancelled thread ends only outside kolk's functions, and leaks neither a lock nor an entry of the pool. */
static void test_a_cancelled_thread(void **state) {
    other its = begin_other();
    pthread_t thread;
    void *result = NULL;
    tell_other(&its, "create table t(n); insert into t values (1)");
    for (int n = 0; n < 200; n++) {
        char sql[40];
        snprintf(sql, sizeof sql, "create table a_table_%d(n)", n);
        tell_other(&its, sql);
    }
    open_store_as(&(kolk_sqlite_desc){.setup = "select 1"}); /* unlike a PRAGMA, it reads no schema */
    tell_other(&its, "begin immediate");
    assert_int_equal(pthread_create(&thread, NULL, wait_though_cancelled, &its), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    kolk_resource_pool_stats stats = stats_of(&store.writer);
    assert_int_equal(stats.in_use + stats.creating + stats.idle, 0);
    assert_int_equal(stats_of(&store.readers).in_use, 0);
    change("insert into t values (5)");
    assert_int_equal(read_number("select count(*) from t"), 4);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

static void test_another_process_writes(void **state) {
    other its = begin_other();
    open_store();
    change("create table t(n); insert into t values (1)");
    tell_other(&its, "begin immediate; insert into t values (2)");
    assert_locked(try_write, "begin immediate: database is locked", KOLK_TIMEOUT);
    assert_int_equal(read_number("select count(*) from t"), 1); /* readers do not wait */
    assert_int_equal(stats_of(&store.writer).created, 1);       /* the connection stayed good */

    /* Outside the transaction of a write, SQLite's own functions wait too. */
    tell_other(&its, "commit");
    kolk_sqlite_borrow borrow = writer();
    run(&borrow, "commit; pragma busy_timeout = 60000"); /* replaces our handler until the next borrow */
    tell_other(&its, "begin immediate; insert into t values (3)");
    kolk_sqlite_until(&borrow, after(50));
    int64_t begin = now_ms();
    assert_false(kolk_sqlite_exec(&borrow, "insert into t values (4)"));
    assert_true(now_ms() - begin >= 49);
    assert_int_equal(borrow.error.code, SQLITE_BUSY);
    assert_string_equal(borrow.error.text, "insert into t values (4): database is locked");
    kolk_sqlite_until(&borrow, SOON);
    send_other(&its, "commit");
    run(&borrow, "insert into t values (4); pragma busy_timeout = 0");
    kolk_sqlite_give_back(&borrow);
    assert_int_equal(read_number("select count(*) from t"), 4);
    send_other(&its, "begin immediate; insert into t values (5); with recursive r(n) as (select 1 union all select n + "
                     "1 from r where n < 300000) select count(*) from r; commit");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    change("insert into t values (6)");
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

/* Ends the writer's create that waits for the lock, which would otherwise get the lock before the other process
 * does. */
static void end_waiting_writer(void) {
    uint64_t failures = stats_of(&store.writer).create_failures;
    kolk_resource_evict(&store.writer);
    EVENTUALLY(stats_of(&store.writer).create_failures == failures + 1);
}

/* The file is not in WAL mode yet: readers can be locked out, and changing the mode needs exclusive use. The creation
 * goes on waiting, even when no borrower waits any more. promise: "Lends a connection ... change from outside" */
static void test_another_process_without_wal(void **state) {
    other its = begin_other();
    /* Its last commit may meet a connection that is being made. Without a timeout, its lock would stay for ever. */
    tell_other(&its, "pragma busy_timeout = 60000; create table t(n); insert into t values (1)");
    open_store_as(&(kolk_sqlite_desc){.pool = {.max = 1, .create_timeout_ms = 3600000}});
    tell_other(&its, "begin exclusive");
    assert_locked(try_read, "%s: database is locked; ", KOLK_FULL);
    assert_locked(try_write, "%s: database is locked; ", KOLK_FULL);
    end_waiting_writer();
    tell_other(&its, "commit; begin; select * from t");
    assert_int_equal(read_number("select count(*) from t"), 1);
    assert_locked(try_write, "%s: database is locked; ", KOLK_FULL);
    end_waiting_writer();
    tell_other(&its, "commit; begin immediate");
    assert_locked(try_write, "%s: database is locked; ", KOLK_FULL); /* here SQLite does not call the busy handler */
    send_other(&its, "with recursive r(n) as (select 1 union all select n + 1 from r where n < 300000) select count(*) "
                     "from r; commit");
    change("insert into t values (2)");
    assert_int_equal(read_number("select count(*) from t"), 2); /* by the existing reader */
    assert_int_equal(stats_of(&store.readers).created, 1);
    assert_int_equal(stats_of(&store.readers).create_failures, 0);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

/* A lock lasts longer than a creation's time limit: the creation is repeated as long as a borrower waits. */
static void test_a_lock_that_lasts(void **state) {
    kolk_sqlite_borrow borrow;
    other its = begin_other();
    tell_other(&its, "create table t(n); begin exclusive");
    open_store_as(&(kolk_sqlite_desc){.pool.create_timeout_ms = 5});
    EVENTUALLY(try_read(after(30), &borrow) == KOLK_TIMEOUT && stats_of(&store.readers).create_failures > 2);
    assert_int_equal(borrow.error.code, SQLITE_BUSY);
    assert_non_null(strstr(borrow.error.text, "database is locked"));
    tell_other(&its, "commit");
    assert_int_equal(read_number("select count(*) from t"), 0);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

/* Ending the pools does not wait for the lock. promise: "the deadline covers ... wait for the connection" */
static void test_an_end_while_it_is_locked(void **state) {
    kolk_sqlite_borrow borrow;
    other its = begin_other();
    tell_other(&its, "create table t(n); begin exclusive");
    open_store_as(&(kolk_sqlite_desc){.pool = {.create_timeout_ms = -1, .min_idle = 1, .max = 1}});
    EVENTUALLY(try_read(KOLK_NOW, &borrow) == KOLK_FULL && borrow.error.code == SQLITE_BUSY);
    EVENTUALLY(try_write(KOLK_NOW, &borrow) == KOLK_FULL && borrow.error.code == SQLITE_BUSY);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

static void *kill_it(void *process) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    kill(((const other *)process)->child, SIGKILL);
    return NULL;
}

static void test_killed_with_the_lock(void **state) {
    other its = begin_other();
    pthread_t killer;
    open_store();
    change("create table t(n); insert into t values (1)");
    tell_other(&its, "begin immediate; insert into t values (2)");
    assert_int_equal(pthread_create(&killer, NULL, kill_it, &its), 0);
    change("insert into t values (3)"); /* waits until the other process is dead */
    assert_int_equal(pthread_join(killer, NULL), 0);
    assert_int_equal(read_number("select sum(n) from t"), 4);
    end_other(&its, SIGKILL);
    kolk_sqlite_deinit(&store);
}

/* The user's SQL meets a lock for which SQLite does not call the busy handler. */
static void test_a_setup_that_waits(void **state) {
    other its = begin_other();
    tell_other(&its, "create table t(n)");
    open_store_as(&(kolk_sqlite_desc){.setup = "pragma synchronous = off; pragma journal_mode = wal"});
    tell_other(&its, "begin immediate");
    ends_lock = &its;
    change("insert into t values (1)");
    assert_null(ends_lock);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

/* ---- Files that are none ----------------------------------------------------------------------------------------- */

/* promise: "borrow.error has SQLite's ... gets a new one", "The first write ... WAL, and so no writer" */
static void test_no_file(void **state) {
    kolk_sqlite_borrow borrow;
    open_store();
    assert_refused(try_read(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_CANTOPEN,
                   "%s: unable to open database file: No such file or directory");
    change("create table t(n)");
    EVENTUALLY(kolk_sqlite_read(&store, NULL, &borrow) == KOLK_OK); /* after a pause without attempts */
    assert_int_equal(number(&borrow, "select count(*) from t"), 0);
    kolk_sqlite_give_back(&borrow);
    kolk_sqlite_deinit(&store);

    kolk_sqlite_desc desc = {.path = "/tmp/no such folder/test.db"};
    assert_int_equal(kolk_sqlite_init(&store, &desc), KOLK_OK);
    assert_refused(try_write(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_CANTOPEN,
                   "/tmp/no such folder/test.db: unable to open database file: No such file or directory");
    kolk_sqlite_deinit(&store);
    open_store_as(&(kolk_sqlite_desc){.setup = "pragma cache_size = 7; selct 1"});
    assert_refused(try_write(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_ERROR,
                   "%s: near \"selct\": syntax error");
    kolk_sqlite_deinit(&store);
}

/* Checks that readers and the writer are refused at once, with this code and sentence. */
static void assert_no_database(const char *at, int code, const char *sentence) {
    kolk_sqlite_borrow borrow;
    char text[300];
    snprintf(text, sizeof text, "%s: %s", at, sentence);
    assert_int_equal(kolk_sqlite_init(&store, &(kolk_sqlite_desc){.path = at}), KOLK_OK);
    assert_refused(try_read(SOON, &borrow), KOLK_NOT_CREATED, &borrow, code, text);
    assert_refused(try_write(SOON, &borrow), KOLK_NOT_CREATED, &borrow, code, text);
    kolk_sqlite_deinit(&store);
}

/* SQLite itself reports a disk error for a directory, and waits for ever at a pipe. */
static void test_other_kinds_of_files(void **state) {
    static const char a_directory[] = "unable to open database file: Is a directory";
    static const char no_file[] = "unable to open database file: Not a regular file";
    assert_no_database(folder, SQLITE_CANTOPEN_ISDIR, a_directory);
    assert_no_database("/dev/null", SQLITE_CANTOPEN, no_file);
    assert_no_database("/dev/zero", SQLITE_CANTOPEN, no_file);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_no_database(path, SQLITE_CANTOPEN, no_file);
    kolk_sqlite_borrow borrow;
    assert_int_equal(kolk_sqlite_init(&store, &(kolk_sqlite_desc){.path = "file:/tmp"}), KOLK_OK);
    assert_refused(try_read(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_IOERR_READ,
                   "file:/tmp: disk I/O error: Is a directory");
    kolk_sqlite_deinit(&store);
    assert_int_equal(kolk_sqlite_init(&store, &(kolk_sqlite_desc){.path = "file:/dev/zero"}), KOLK_OK);
    assert_refused(try_read(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_CANTOPEN,
                   "/dev/zero: unable to open database file: Not a regular file");
    kolk_sqlite_deinit(&store);
}

static void test_in_memory(void **state) {
    static const char *const all[] = {":memory:", "", "file::memory:", "file:shared?mode=memory&cache=shared"};
    for (size_t n = 0; n < LENGTH_OF(all); n++)
        assert_no_database(all[n], 0,
                           "each connection would have its own database in memory, without a WAL. Use a file; in "
                           "/dev/shm, it is in memory too");
}

static void test_garbage(void **state) {
    kolk_sqlite_borrow borrow;
    char bytes[8192];
    memset(bytes, 'x', sizeof bytes);
    write_file(bytes, sizeof bytes);
    open_store();
    assert_refused(try_read(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_NOTADB, "%s: file is not a database");
    assert_refused(try_write(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_NOTADB, "%s: file is not a database");
    kolk_sqlite_deinit(&store);
}

#define MANY_ROWS                                                                                                      \
    "create table t(n, text); with recursive r(n) as (select 1 union all select n + 1 from r where n < 500) insert "   \
    "into t select n, hex(randomblob(100)) from r"

/* Returns the size of the file. */
static long make_file_of_many_rows(void) {
    struct stat its;
    open_store();
    change(MANY_ROWS);
    kolk_sqlite_deinit(&store);
    assert_int_equal(stat(path, &its), 0);
    return (long)its.st_size;
}

static void test_a_file_that_is_cut_off(void **state) {
    static const char words[] = "%s: database disk image is malformed";
    kolk_sqlite_borrow borrow;
    long size = make_file_of_many_rows();
    open_store();
    assert_int_equal(read_number("select count(*) from t"), 500);
    assert_int_equal(truncate(path, size / 8192 * 4096), 0);
    borrow = reader(); /* a connection from before the truncation */
    assert_false(kolk_sqlite_exec(&borrow, "select sum(length(text)) from t"));
    assert_int_equal(borrow.error.code & 0xff, SQLITE_CORRUPT);
    kolk_sqlite_give_back(&borrow);
    EVENTUALLY(stats_of(&store.readers).unclean == 1);
    assert_int_equal(try_read(SOON, &borrow), KOLK_NOT_CREATED);
    assert_int_equal(borrow.error.code & 0xff, SQLITE_CORRUPT);
    assert_refused(try_write(SOON, &borrow), KOLK_NOT_CREATED, &borrow, SQLITE_CORRUPT, words);
    kolk_sqlite_deinit(&store);
}

static void make_damaged_file(void) {
    long size = make_file_of_many_rows(), page = size / 8192 * 4096;
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, page, SEEK_SET), 0);
    for (int n = 0; n < 3 * 4096; n++) assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
}

/* However a borrower learns of the damage, the next one gets another connection. */
static void test_a_damaged_file(void **state) {
    enum {
        A_STEP,
        AN_EXEC,
        AN_EXEC_OF_SQLITE,
        A_STATEMENT_OF_ITS_OWN,
        A_KEPT_STATEMENT,
        A_STATEMENT_PREPARED_AGAIN,
        WAYS
    };
    static const char sum[] = "select sum(length(text)) from t";
    make_damaged_file();
    open_store();

    kolk_sqlite_borrow borrow;
    for (int way = A_STEP; way < WAYS; way++) {
        sqlite3_stmt *sums = NULL;
        borrow = reader();
        if (way == AN_EXEC) {
            assert_false(kolk_sqlite_exec(&borrow, sum));
            assert_int_equal(borrow.error.code & 0xff, SQLITE_CORRUPT);
            assert_string_equal(borrow.error.text, "select sum(length(text)) from t: database disk image is malformed");
        } else if (way == AN_EXEC_OF_SQLITE) {
            assert_int_equal(sqlite3_exec(borrow.db, sum, NULL, NULL, NULL), SQLITE_CORRUPT);
        } else if (way == A_STATEMENT_OF_ITS_OWN) {
            assert_int_equal(sqlite3_prepare_v2(borrow.db, sum, -1, &sums, NULL), SQLITE_OK);
        } else {
            sums = kolk_sqlite_prepare(&borrow, sum);
        }
        if (sums) assert_int_equal(sqlite3_step(sums), SQLITE_CORRUPT);
        if (way == A_STATEMENT_PREPARED_AGAIN) kolk_sqlite_prepare(&borrow, sum);
        bool is_last = way == A_STEP || way == AN_EXEC_OF_SQLITE; /* the connection's last error; else that is none */
        if (!is_last) assert_true(kolk_sqlite_exec(&borrow, "select 1"));
        kolk_sqlite_give_back(&borrow);
        EVENTUALLY(stats_of(&store.readers).unclean == (uint64_t)way + 1);
    }

    borrow = reader(); /* an error in the SQL is not an error of the file */
    assert_false(kolk_sqlite_exec(&borrow, "selct"));
    kolk_sqlite_give_back(&borrow);
    assert_int_equal(read_number("select 1"), 1);
    kolk_resource_pool_stats stats = stats_of(&store.readers);
    assert_int_equal(stats.unclean, 6);
    assert_int_equal(stats.created, 7);

    borrow = writer();
    assert_false(kolk_sqlite_exec(&borrow, "delete from t where n > 0"));
    assert_int_equal(borrow.error.code & 0xff, SQLITE_CORRUPT);
    kolk_sqlite_give_back(&borrow);
    EVENTUALLY(stats_of(&store.writer).unclean == 1);
    kolk_sqlite_deinit(&store);
}

/* ---- A full disk ------------------------------------------------------------------------------------------------- */

/* Writes rows until the disk is full; then some space is freed. The file must have exactly the rows whose commit
 * succeeded. */
static void fill_the_disk(void (*make_room)(void), int code, const char *words) {
    kolk_sqlite_borrow borrow;
    int64_t rows = 0;
    for (bool done = true; done && rows < 100000; rows += done) {
        must(try_write(SOON, &borrow) == KOLK_OK, "write", &borrow);
        done = kolk_sqlite_exec(&borrow, "insert into t values (hex(randomblob(5000)))") &&
               kolk_sqlite_exec(&borrow, "commit");
        kolk_sqlite_give_back(&borrow);
    }
    if ((borrow.error.code & 0xff) != code || !strstr(borrow.error.text, words))
        fail_msg("it says %d: %s", borrow.error.code, borrow.error.text);
    assert_true(rows > 0);
    assert_int_equal(read_number("select count(*) from t"), rows);
    EVENTUALLY(stats_of(&store.writer).unclean == (code == SQLITE_IOERR));
    make_room();
    change("insert into t values (hex(randomblob(5000)))");
    assert_int_equal(read_number("select count(*) from t"), rows + 1);
    borrow = reader();
    sqlite3_stmt *check = kolk_sqlite_prepare(&borrow, "pragma integrity_check");
    assert_int_equal(sqlite3_step(check), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(check, 0), "ok");
    kolk_sqlite_give_back(&borrow);
    kolk_sqlite_deinit(&store);
}

static void set_largest_file(rlim_t size) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void lift_limit(void) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    set_largest_file(limit.rlim_max);
}

static void test_files_are_limited(void **state) {
    signal(SIGXFSZ, SIG_IGN);
    open_store();
    change("create table t(text)");
    set_largest_file(300000);
    fill_the_disk(lift_limit, SQLITE_IOERR, "disk I/O error");
    signal(SIGXFSZ, SIG_DFL);
}

static int end_disk(void **state) {
    umount2(folder, MNT_DETACH); /* left by a test that failed */
    return end_folder(state);
}

static char filler[80];

static void remove_filler(void) {
    assert_int_equal(unlink(filler), 0);
}

static void test_a_full_disk(void **state) {
    if (mount("tmpfs", folder, "tmpfs", 0, "size=1m") != 0) {
        print_message("left out: a full disk, as no tmpfs can be mounted here\n");
        skip();
    }
    snprintf(filler, sizeof filler, "%s/filler", folder);
    int fd = open(filler, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(posix_fallocate(fd, 0, 500000), 0);
    close(fd);
    open_store();
    change("create table t(text)");
    fill_the_disk(remove_filler, SQLITE_FULL, "database or disk is full");
    assert_int_equal(umount(folder), 0);
}

/* ---- A fork ------------------------------------------------------------------------------------------------------ */

static kolk_sqlite_borrow lent;

static void live_in_child(void) {
    kolk_sqlite_borrow borrow;
    if (try_read(SOON, &borrow) != KOLK_FORKED || borrow.db) _exit(1);
    if (try_write(SOON, &borrow) != KOLK_FORKED || !borrow.error.text[0]) _exit(2);
    kolk_sqlite_give_back(&lent);
    kolk_sqlite_deinit(&store);
    if (try_read(SOON, &borrow) != KOLK_CLOSED) _exit(3);
}

/* promise: "can borrow nothing, as kolk/resource.h says" */
static void test_fork(void **state) {
    char said[200];
    other its = begin_other();
    open_store();
    change("create table t(n)");
    lent = writer();
    run(&lent, "insert into t values (1)");
    assert_int_equal(run_apart(live_in_child, said, sizeof said), 0);
    assert_string_equal(said, "");
    send_other(&its, "begin immediate"); /* the file is still locked */
    char done = 0;
    assert_int_equal(read(its.from, &done, 1), 1);
    assert_int_equal(done, 'n');
    run(&lent, "insert into t values (2); commit");
    kolk_sqlite_give_back(&lent);
    assert_int_equal(read_number("select count(*) from t"), 2);
    kolk_sqlite_deinit(&store);
    end_other(&its, 0);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_no_sleep_past_the_deadline),
        TEST(test_a_reader_has_its_own_deadline),
        TEST(test_a_transaction_that_was_locked_out),
        TEST(test_a_cancelled_thread),
        TEST(test_another_process_writes),
        TEST(test_another_process_without_wal),
        TEST(test_a_lock_that_lasts),
        TEST(test_an_end_while_it_is_locked),
        TEST(test_a_setup_that_waits),
        TEST(test_killed_with_the_lock),
        TEST(test_no_file),
        TEST(test_other_kinds_of_files),
        TEST(test_in_memory),
        TEST(test_garbage),
        TEST(test_a_file_that_is_cut_off),
        TEST(test_a_damaged_file),
        TEST(test_files_are_limited),
        cmocka_unit_test_setup_teardown(test_a_full_disk, begin_folder, end_disk),
        TEST(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
