/* runs: slow not:clang */
/* The SQLite adapter under load: threads of several processes move money between accounts and write each move into a
 * ledger, while other threads read and processes are killed. The sum of the accounts is constant, and each account
 * agrees with the ledger. */
#include "../help/test.h"

#include "../help/threads.h"
#include "sqlite_test.h"

enum { ACCOUNTS = 10, MONEY = 1000, WRITERS = 8, READERS = 4 };

#define SCHEMA                                                                                                         \
    "create table accounts(id integer primary key, money integer);"                                                    \
    "create table ledger(id integer primary key, giver, taker, amount integer);"                                       \
    "with recursive r(n) as (select 0 union all select n + 1 from r where n < 9) "                                     \
    "insert into accounts select n, 1000 from r"

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

typedef struct job {
    worker worker;
    uint64_t random;
    uint32_t moves; /* how many to make */
    uint32_t done;
} job;

static bool over;

static void bind_and_run(kolk_sqlite_borrow *borrow, const char *sql, const int64_t *values, int n) {
    sqlite3_stmt *statement = kolk_sqlite_prepare(borrow, sql);
    for (int i = 0; i < n; i++) must(sqlite3_bind_int64(statement, i + 1, values[i]) == SQLITE_OK, sql, borrow);
    int result = sqlite3_step(statement);
    if (result != SQLITE_DONE) fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(borrow->db));
    REQUIRE(result == SQLITE_DONE);
}

/* Moves money. Some borrows are given back in the middle of a transaction, which then has no effect. */
static void *move_money(void *argument) {
    job *its = (job *)argument;
    while (its->done < its->moves) {
        int64_t giver = random_below(&its->random, ACCOUNTS), taker = random_below(&its->random, ACCOUNTS);
        int64_t amount = random_below(&its->random, 100);
        bool gives_up = random_below(&its->random, 8) == 0;
        kolk_sqlite_borrow borrow = writer();
        bind_and_run(&borrow, "update accounts set money = money - ? where id = ?", (int64_t[]){amount, giver}, 2);
        if (!gives_up) {
            bind_and_run(&borrow, "update accounts set money = money + ? where id = ?", (int64_t[]){amount, taker}, 2);
            bind_and_run(&borrow, "insert into ledger(giver, taker, amount) values (?, ?, ?)",
                         (int64_t[]){giver, taker, amount}, 3);
            run(&borrow, "commit");
            its->done++;
        }
        kolk_sqlite_give_back(&borrow);
    }
    return NULL;
}

static void check_accounts(kolk_sqlite_borrow *borrow) {
    REQUIRE(number(borrow, "select sum(money) from accounts") == ACCOUNTS * MONEY);
    REQUIRE(number(borrow, "select count(*) from accounts where money != 1000"
                           " - (select coalesce(sum(amount), 0) from ledger where giver = accounts.id)"
                           " + (select coalesce(sum(amount), 0) from ledger where taker = accounts.id)") == 0);
}

/* Reads in one transaction, because otherwise the second query could see a later state than the first. */
static void *look_at_money(void *argument) {
    job *its = (job *)argument;
    int64_t moves = 0;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        kolk_sqlite_borrow borrow = reader();
        run(&borrow, "begin");
        check_accounts(&borrow);
        int64_t now = number(&borrow, "select count(*) from ledger");
        REQUIRE(now >= moves);
        moves = now;
        kolk_sqlite_give_back(&borrow);
        its->done++;
        nap();
    }
    return NULL;
}

/* Runs writers and readers; returns how often the readers have checked. */
static uint32_t work(uint32_t moves, unsigned readers) {
    static job writing[WRITERS], reading[READERS];
    uint32_t looks = 0;
    memset(writing, 0, sizeof writing);
    memset(reading, 0, sizeof reading);
    over = false;
    for (unsigned i = 0; i < WRITERS; i++) {
        writing[i].random = next_random(&seed);
        writing[i].moves = moves;
        start_job(&writing[i], move_money, false);
    }
    for (unsigned i = 0; i < readers; i++) start_job(&reading[i], look_at_money, false);
    for (unsigned i = 0; i < WRITERS; i++) join_job(&writing[i]);
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < readers; i++) {
        join_job(&reading[i]);
        looks += reading[i].done;
    }
    return looks;
}

static void check_file(void) {
    kolk_sqlite_borrow borrow = reader();
    check_accounts(&borrow);
    sqlite3_stmt *check = kolk_sqlite_prepare(&borrow, "pragma integrity_check");
    assert_int_equal(sqlite3_step(check), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(check, 0), "ok");
    kolk_sqlite_give_back(&borrow);
}

static uint32_t moves_of_each(void) {
    return (uint32_t)(operations / WRITERS);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

/* promise: "One thread at a time writes ... file as well", "any number of threads may ... below are not" */
static void test_threads(void **state) {
    open_store_as(&(kolk_sqlite_desc){.pool.max = 3}); /* fewer connections than readers */
    change(SCHEMA);
    uint32_t looks = work(moves_of_each(), READERS);
    assert_true(looks > 0);
    assert_int_equal(read_number("select count(*) from ledger"), WRITERS * moves_of_each());
    check_file();
    kolk_resource_pool_stats writers = stats_of(&store.writer), readers = stats_of(&store.readers);
    assert_int_equal(writers.peak, 1);
    assert_int_equal(writers.created, 1); /* never replaced */
    assert_true(readers.peak <= 3);
    assert_int_equal(readers.created, readers.idle);
    assert_int_equal(writers.timeouts + writers.failed + readers.timeouts + readers.failed, 0);
    kolk_sqlite_deinit(&store);
    assert_int_equal(count_files(false), 1);
}

static pid_t start_process(uint32_t moves) {
    seed++;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child) return child;
    END_IF_IT_HANGS();
    signal(SIGABRT, SIG_DFL); /* instead of cmocka's handler */
    open_store();
    work(moves, 1);
    kolk_sqlite_deinit(&store);
    _exit(0);
}

static void make_file(void) {
    open_store();
    change(SCHEMA);
    kolk_sqlite_deinit(&store); /* children may not use the file while their parent has it open */
}

static void end_process(pid_t child, int signal_) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (signal_ && WIFSIGNALED(status)) assert_int_equal(WTERMSIG(status), signal_);
    if (!signal_) assert_int_equal(status, 0);
}

static void test_processes(void **state) {
    enum { PROCESSES = 3 };
    pid_t children[PROCESSES];
    uint32_t moves = moves_of_each() / PROCESSES;
    make_file();
    for (unsigned i = 0; i < PROCESSES; i++) children[i] = start_process(moves);
    for (unsigned i = 0; i < PROCESSES; i++) end_process(children[i], 0);
    open_store();
    assert_int_equal(read_number("select count(*) from ledger"), PROCESSES * WRITERS * moves);
    check_file();
    kolk_sqlite_deinit(&store);
}

/* One process after another is killed at a random moment, while a further one goes on. Each starts with what the last
 * one left. promise: "One thread at a time writes ... file as well" */
static void test_processes_are_killed(void **state) {
    make_file();
    pid_t survivor = start_process(moves_of_each() / 2);
    for (unsigned round = 0; round < (does_a_part() ? 5 : 50); round++) {
        pid_t victim = start_process(UINT32_MAX);
        nanosleep(&(struct timespec){.tv_nsec = 5000000 + (long)random_below(&seed, 20000000)}, NULL);
        assert_int_equal(kill(victim, SIGKILL), 0);
        end_process(victim, SIGKILL);
    }
    end_process(survivor, 0);
    open_store();
    assert_true(read_number("select count(*) from ledger") >= WRITERS * (moves_of_each() / 2));
    check_file();
    kolk_sqlite_deinit(&store);
}

int main(void) {
    begin_random_work(does_a_part() ? 800 : 20000);
    const struct CMUnitTest tests[] = {
        TEST(test_threads),
        TEST(test_processes),
        TEST(test_processes_are_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
