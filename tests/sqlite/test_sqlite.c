/* runs: not:clang */
/* The SQLite adapter with one thread: a borrower's connection, what the borrow leaves behind, and errors. */
#include "sqlite_test.h"

#define TABLE "create table t(n integer);"

/* ---- What is lent ------------------------------------------------------------------------------------------------ */

static int copy_text(void *text, int columns, char **values, char **names) {
    snprintf((char *)text, 64, "%s", values[0]);
    return 0;
}

static void assert_value(const kolk_sqlite_borrow *borrow, const char *sql, const char *value) {
    char text[64] = "";
    assert_int_equal(sqlite3_exec(borrow->db, sql, copy_text, text, NULL), SQLITE_OK);
    assert_string_equal(text, value);
}

/* promise: "SQL that each new connection runs", "Lends the connection ... get SQLITE_BUSY", "KOLK_TIMEOUT with
 * SQLITE_BUSY ... another reason", "Runs all statements ... false, with the reason in borrow->error" */
static void test_a_writer_and_readers(void **state) {
    open_store_as(&(kolk_sqlite_desc){.setup = "pragma foreign_keys = on; pragma cache_size = 77", .pool.max = 2});
    change(TABLE "insert into t values (1)");
    kolk_sqlite_borrow writes = writer(), reads = reader(), another = reader(), more;
    assert_false(sqlite3_get_autocommit(writes.db));
    assert_value(&writes, "pragma journal_mode", "wal");
    assert_value(&writes, "pragma cache_size", "77");
    assert_value(&reads, "pragma cache_size", "77");
    assert_value(&reads, "pragma foreign_keys", "1");
    assert_int_equal(sqlite3_db_readonly(reads.db, "main"), 1);
    assert_false(kolk_sqlite_exec(&reads, "insert into t values (2)"));
    assert_int_equal(reads.error.code, SQLITE_READONLY);
    assert_string_equal(reads.error.text, "insert into t values (2): attempt to write a readonly database");

    run(&writes, "insert into t values (2)");
    assert_int_equal(number(&reads, "select count(*) from t"), 1);
    run(&writes, "commit");
    assert_int_equal(number(&another, "select count(*) from t"), 2);

    assert_refused(try_write(KOLK_NOW, &more), KOLK_FULL, &more, 0,
                   "1 of 1 in use (one by this thread itself), 0 being created, 0 waiting");
    assert_refused(try_read(after(1), &more), KOLK_TIMEOUT, &more, 0,
                   "2 of 2 in use (several by this thread itself), 0 being created, 0 waiting");
    kolk_sqlite_give_back(&writes);
    kolk_sqlite_give_back(&reads);
    kolk_sqlite_give_back(&another);
    assert_string_equal(stats_of(&store.writer).name, "test.writer");
    assert_string_equal(stats_of(&store.readers).name, "test.readers");
    kolk_sqlite_deinit(&store);
    assert_true(all_bytes_are(&store, sizeof store, 0));
    assert_int_equal(count_files(false), 1); /* no WAL file is left */
}

/* promise: "A zero-initialised store is closed", "Opens nothing ... left of the WAL" */
static void test_descriptors(void **state) {
    kolk_sqlite_borrow borrow = {.db = NULL};
    kolk_sqlite_desc desc = {.path = path, .pool = {.max = 2, .min_idle = 3}};
    kolk_sqlite_give_back(&borrow);
    kolk_sqlite_discard(&borrow);
    memset(&store, 1, sizeof store);
    assert_int_equal(kolk_sqlite_init(&store, NULL), KOLK_NO_DESCRIPTOR);
    assert_int_equal(kolk_sqlite_begin_(&store, &desc, sizeof store, KOLK_ABI + 1), KOLK_WRONG_ABI);
    assert_int_equal(kolk_sqlite_init(&store, &desc), KOLK_BAD_MIN_IDLE);
    assert_true(all_bytes_are(&store, sizeof store, 0));
    assert_int_equal(try_read(SOON, &borrow), KOLK_CLOSED);
    kolk_sqlite_deinit(&store);

    /* The writer's pool has the same settings, within its limit of 1. */
    desc.pool = (kolk_resource_pool_desc){.max = 4, .min_idle = 2, .no_housekeeper = true};
    assert_int_equal(kolk_sqlite_init(&store, &desc), KOLK_OK);
    kolk_resource_tick(&store.writer, SOON);
    kolk_resource_tick(&store.readers, SOON);
    assert_int_equal(stats_of(&store.writer).idle, 1);
    assert_int_equal(stats_of(&store.readers).idle, 2);
    assert_string_equal(stats_of(&store.readers).name, "");
    kolk_sqlite_deinit(&store);

    desc.pool.name = "a name of sixty-three bytes, which are the most that each pool has";
    assert_int_equal(kolk_sqlite_init(&store, &desc), KOLK_OK);
    assert_int_equal(strlen(stats_of(&store.writer).name), 63);
    assert_memory_equal(stats_of(&store.writer).name, desc.pool.name, 63);
    kolk_sqlite_deinit(&store);
    desc.path = NULL;
    memset(&store, 1, sizeof store);
    assert_int_equal(kolk_sqlite_init(&store, &desc), KOLK_PATH_MISSING);
    assert_true(all_bytes_are(&store, sizeof store, 0));
}

static void test_given_back_twice(void **state) {
    notes taken;
    open_store();
    change(TABLE);
    kolk_sqlite_borrow borrow = writer(), copy = borrow;
    kolk_sqlite_give_back(&borrow);
    assert_null(borrow.db);
    begin_notes(&taken);
    kolk_sqlite_give_back(&borrow);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_DOUBLE_FREE);
    assert_string_equal(taken.pool, "test.writer");
    borrow = writer(); /* another borrow has the connection now */
    kolk_sqlite_discard(&copy);
    assert_int_equal(taken.count, 2);
    assert_int_equal(stats_of(&store.writer).in_use, 1);
    kolk_sqlite_discard(&borrow);
    assert_int_equal(taken.count, 2);
    EVENTUALLY(stats_of(&store.writer).discarded == 1);
    kolk_sqlite_deinit(&store);
}

/* The report names the borrower, not the adapter, which calls kolk_resource_borrow. */
static void test_the_borrower_is_named(void **state) {
    notes taken;
    kolk_sqlite_borrow borrow;
    open_store_as(&(kolk_sqlite_desc){.pool.debug = "sites"});
    kolk_borrow_desc desc = {.deadline = SOON, .who = "the painter", .key = "ignored"};
    assert_int_equal(kolk_sqlite_write(&store, NULL, &borrow), KOLK_OK);
    kolk_sqlite_give_back(&borrow);
    assert_int_equal(kolk_sqlite_write(&store, &desc, &borrow), KOLK_OK);
    assert_int_equal(stats_of(&store.writer).created, 1);
    begin_notes(&taken);
    assert_int_equal(kolk_resource_close(&store.writer, KOLK_NOW), KOLK_TIMEOUT);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_non_null(strstr(taken.sentence, "borrowed by the painter "));
    assert_in_range((uintptr_t)taken.last.alloc_site, (uintptr_t)test_the_borrower_is_named,
                    (uintptr_t)test_the_borrower_is_named + 10000);
    kolk_sqlite_give_back(&borrow); /* its connection is destroyed, because the pool is closed */
    assert_int_equal(taken.count, 2);
    assert_non_null(strstr(taken.sentence, "is given back now"));
    assert_int_equal(try_write(SOON, &borrow), KOLK_CLOSED);
    kolk_sqlite_deinit(&store);
}

/* ---- What is left of a borrow ------------------------------------------------------------------------------------ */

/* promise: "At give_back ... stay for the next borrower", "Does nothing ... closes the connection" */
static void test_what_is_left_ends(void **state) {
    open_store_as(&(kolk_sqlite_desc){.pool.max = 1});
    change(TABLE "insert into t values (1), (2), (3)");
    kolk_sqlite_borrow borrow = writer();
    sqlite3_stmt *left, *kept = kolk_sqlite_prepare(&borrow, "select n from t where n > ?");
    sqlite3 *db = borrow.db;
    run(&borrow, "insert into t values (4); savepoint s; insert into t values (5)");
    assert_int_equal(sqlite3_prepare_v2(db, "select n from t", -1, &left, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(left), SQLITE_ROW);
    sqlite3_bind_int(kept, 1, 2);
    assert_int_equal(sqlite3_step(kept), SQLITE_ROW);
    kolk_sqlite_give_back(&borrow);

    borrow = writer();
    assert_ptr_equal(borrow.db, db); /* the same connection */
    assert_ptr_equal(sqlite3_next_stmt(db, NULL), kept);
    assert_null(sqlite3_next_stmt(db, kept));
    assert_false(sqlite3_stmt_busy(kept));
    assert_ptr_equal(kolk_sqlite_prepare(&borrow, "select n from t where n > ?"), kept);
    assert_int_equal(sqlite3_step(kept), SQLITE_DONE); /* the parameter is unbound, and no n > null */
    assert_int_equal(number(&borrow, "select count(*) from t"), 3);
    kolk_sqlite_give_back(&borrow);

    /* A reader with a running statement would keep the WAL from starting again. */
    borrow = reader();
    run(&borrow, "begin; select n from t");
    assert_int_equal(sqlite3_step(kolk_sqlite_prepare(&borrow, "select n from t")), SQLITE_ROW);
    kolk_sqlite_give_back(&borrow);
    borrow = writer();
    run(&borrow, "commit; pragma wal_checkpoint(truncate)");
    char wal[140];
    struct stat its;
    snprintf(wal, sizeof wal, "%s-wal", path);
    assert_int_equal(stat(wal, &its), 0);
    assert_int_equal(its.st_size, 0);
    kolk_sqlite_discard(&borrow); /* while it keeps a statement */
    kolk_sqlite_deinit(&store);
}

/* With discard_all, no connection is lent twice, and the files stay in order.
 * promise: "Closes each ... takes a new connection" */
static void test_nothing_is_left(void **state) {
    for (int discards = 0; discards < 2; discards++) {
        open_store_as(&(kolk_sqlite_desc){.discard_all = discards == 1, .pool.max = 1});
        for (int n = 0; n < 3; n++) {
            kolk_sqlite_borrow borrow = writer();
            if (n == 0) run(&borrow, "drop table if exists t; " TABLE);
            run(&borrow, "insert into t values (1); commit; pragma cache_size = 77");
            kolk_sqlite_give_back(&borrow);
            borrow = reader();
            assert_int_equal(number(&borrow, "select count(*) from t"), n + 1);
            if (n == 0) run(&borrow, "attach ':memory:' as more; create temp table mine(n)");
            assert_int_equal(number(&borrow, "select count(*) from temp.sqlite_master"), n == 0 || !discards);
            assert_int_equal(number(&borrow, "select count(*) from pragma_database_list where name = 'more'"),
                             n == 0 || !discards);
            kolk_sqlite_give_back(&borrow);
        }
        assert_int_equal(stats_of(&store.writer).created, discards ? 3 : 1);
        assert_int_equal(stats_of(&store.readers).created, discards ? 3 : 1);
        kolk_sqlite_deinit(&store);
    }
}

static unsigned calls_back;

static int count_call(void *unused) {
    calls_back++;
    return unused != NULL; /* 0 lets a commit or a query go on */
}

static void note_rollback(void *unused) {
    count_call(unused);
}

static void note_update(void *unused, int what, char const *database, char const *table, sqlite3_int64 row) {
    count_call(unused);
}

static int note_trace(unsigned what, void *unused, void *one, void *two) {
    return count_call(unused);
}

static int note_access(void *unused, int what, const char *one, const char *two, const char *three, const char *four) {
    return count_call(unused);
}

/* Callbacks end with the borrow, because their context may be gone afterwards. */
static void test_callbacks_end(void **state) {
    open_store();
    change(TABLE);
    for (int which = 0; which < 6; which++) {
        kolk_sqlite_borrow borrow = writer();
        if (which == 0) sqlite3_commit_hook(borrow.db, count_call, NULL);
        if (which == 1) sqlite3_rollback_hook(borrow.db, note_rollback, NULL);
        if (which == 2) sqlite3_update_hook(borrow.db, note_update, NULL);
        if (which == 3) sqlite3_progress_handler(borrow.db, 1, count_call, NULL);
        if (which == 4) sqlite3_trace_v2(borrow.db, SQLITE_TRACE_STMT, note_trace, NULL);
        if (which == 5) sqlite3_set_authorizer(borrow.db, note_access, NULL);
        calls_back = 0;
        run(&borrow, "insert into t values (1); commit; begin; insert into t values (1); rollback; begin; select 1");
        assert_true(calls_back > 0);
        calls_back = 0;
        kolk_sqlite_give_back(&borrow); /* rolls back */
        change("insert into t values (1)");
        borrow = writer();
        run(&borrow, "insert into t values (2)");
        kolk_sqlite_give_back(&borrow);
        assert_int_equal(calls_back, 0);
    }
    assert_int_equal(stats_of(&store.writer).created, 1);
    kolk_sqlite_deinit(&store);
}

/* Runs the statements of these numbers in order, in one borrow. */
static void use_statements(int from, int below, int but) {
    kolk_sqlite_borrow borrow = reader();
    for (int n = from; n < below; n++) {
        char text[64];
        snprintf(text, sizeof text, "select %d; \n", n);
        if (n != but) assert_int_equal(number(&borrow, text), n);
    }
    kolk_sqlite_give_back(&borrow);
}

/* Checks that the connection keeps exactly these statements. */
static void assert_kept(int below, int but, int and) {
    bool kept[KOLK_SQLITE_KEPT + 3] = {false};
    kolk_sqlite_borrow borrow = reader();
    for (sqlite3_stmt *each = NULL; (each = sqlite3_next_stmt(borrow.db, each));) {
        int n = -1;
        assert_int_equal(sscanf(sqlite3_sql(each), "select %d", &n), 1);
        assert_in_range(n, 0, KOLK_SQLITE_KEPT + 2);
        assert_false(kept[n]);
        kept[n] = true;
    }
    kolk_sqlite_give_back(&borrow);
    for (int n = 0; n < KOLK_SQLITE_KEPT + 3; n++)
        if (kept[n] != ((n < below && n != but) || n == and)) fail_msg("statement %d", n);
}

/* promise: "Returns the single ... NULL, with the reason in borrow->error" */
static void test_statements_are_kept(void **state) {
    enum { MORE = KOLK_SQLITE_KEPT + 2 };
    sqlite3_stmt *all[MORE];
    open_store_as(&(kolk_sqlite_desc){.pool.max = 1});
    change(TABLE);
    kolk_sqlite_borrow borrow = reader();
    for (int n = 0; n < MORE; n++) {
        char text[64];
        snprintf(text, sizeof text, "select %d;", n);
        all[n] = kolk_sqlite_prepare(&borrow, text);
    }
    for (int n = 0; n < MORE; n++) { /* none is dropped during the borrow */
        assert_int_equal(sqlite3_step(all[n]), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(all[n], 0), n);
    }
    assert_ptr_equal(kolk_sqlite_prepare(&borrow, "select 0;"), all[0]);
    assert_false(sqlite3_stmt_busy(all[0]));
    kolk_sqlite_give_back(&borrow);
    assert_kept(KOLK_SQLITE_KEPT, -1, -1);

    /* A new statement replaces the one unused for longest. A statement that can't be prepared replaces none. */
    use_statements(0, KOLK_SQLITE_KEPT, 3);
    use_statements(3, 4, -1);
    use_statements(0, KOLK_SQLITE_KEPT, 7);
    borrow = reader();
    assert_null(kolk_sqlite_prepare(&borrow, "select n from nowhere"));
    assert_string_equal(borrow.error.text, "select n from nowhere: no such table: nowhere");
    assert_int_equal(borrow.error.code, SQLITE_ERROR);
    kolk_sqlite_give_back(&borrow);
    assert_kept(KOLK_SQLITE_KEPT, -1, -1);
    use_statements(MORE, MORE + 1, -1);
    assert_kept(KOLK_SQLITE_KEPT, 7, MORE);
    kolk_sqlite_deinit(&store);
}

static void test_one_statement(void **state) {
    static const char *const wrong[] = {"", " \n", "select 1; select 2", "-- nothing"};
    open_store();
    change(TABLE);
    kolk_sqlite_borrow borrow = reader();
    for (size_t n = 0; n < LENGTH_OF(wrong); n++) {
        char text[64];
        snprintf(text, sizeof text, "%s: not one statement", wrong[n]);
        assert_null(kolk_sqlite_prepare(&borrow, wrong[n]));
        assert_string_equal(borrow.error.text, text);
        assert_int_equal(borrow.error.code, SQLITE_MISUSE);
        assert_int_equal(sqlite3_bind_int(NULL, 1, 1), SQLITE_MISUSE); /* so checking step's result is enough */
        assert_int_equal(sqlite3_step(NULL), SQLITE_MISUSE);
        assert_null(sqlite3_column_text(NULL, 0));
    }
    assert_null(sqlite3_next_stmt(borrow.db, NULL));
    sqlite3_stmt *statement = kolk_sqlite_prepare(&borrow, "select 1");
    assert_ptr_not_equal(kolk_sqlite_prepare(&borrow, "select 1;"), statement);
    assert_ptr_not_equal(kolk_sqlite_prepare(&borrow, "select 11"), statement);
    assert_ptr_equal(kolk_sqlite_prepare(&borrow, "select 1 \t\r\n"), statement);
    kolk_sqlite_give_back(&borrow);
    kolk_sqlite_deinit(&store);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static sqlite3_mem_methods real;
static int allocations_left;

static void *allocate_or_fail(int size) {
    return allocations_left-- > 0 ? real.xMalloc(size) : NULL;
}

static void *reallocate_or_fail(void *block, int size) {
    return allocations_left-- > 0 ? real.xRealloc(block, size) : NULL;
}

static bool use_the_store(void) {
    kolk_sqlite_borrow borrow;
    bool done = try_write(SOON, &borrow) == KOLK_OK &&
                kolk_sqlite_exec(&borrow, "create table if not exists t(n); insert into t values (1); commit");
    if (!done) assert_int_equal(borrow.error.code & 0xff, SQLITE_NOMEM);
    if (!done) assert_non_null(strstr(borrow.error.text, "out of memory"));
    kolk_sqlite_give_back(&borrow);
    if (!done) return false;
    done = try_read(SOON, &borrow) == KOLK_OK && kolk_sqlite_prepare(&borrow, "select n from t");
    if (!done) assert_int_equal(borrow.error.code & 0xff, SQLITE_NOMEM);
    kolk_sqlite_give_back(&borrow);
    return done;
}

/* Whichever allocation fails, the borrower gets an error, and nothing leaks. Runs without makers, as SQLite's memory
 * functions are replaced. promise: "Runs all statements ... false, with the reason in borrow->error" */
static void test_no_memory(void **state) {
    sqlite3_shutdown();
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real), SQLITE_OK);
    sqlite3_mem_methods ours = real;
    ours.xMalloc = allocate_or_fail;
    ours.xRealloc = reallocate_or_fail;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &ours), SQLITE_OK);
    bool done = false;
    unsigned failed = 0;
    for (int n = 0; !done; n++, failed += !done) {
        allocations_left = INT32_MAX;
        assert_int_equal(sqlite3_initialize(), SQLITE_OK);
        open_store_as(&(kolk_sqlite_desc){.pool.no_housekeeper = true});
        allocations_left = n;
        done = use_the_store();
        allocations_left = INT32_MAX;
        assert_true(use_the_store());
        kolk_sqlite_deinit(&store);
        assert_int_equal(sqlite3_memory_used(), 0);
    }
    assert_true(failed > 100);
    sqlite3_shutdown();
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &real), SQLITE_OK);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_a_writer_and_readers),  TEST(test_descriptors),       TEST(test_given_back_twice),
        TEST(test_the_borrower_is_named), TEST(test_what_is_left_ends), TEST(test_callbacks_end),
        TEST(test_statements_are_kept),   TEST(test_one_statement),     TEST(test_no_memory),
        TEST(test_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
