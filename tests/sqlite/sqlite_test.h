/* sqlite_test.h: shared by the tests of the SQLite adapter: a folder for each test, a store in it, and other processes
 * that use the same file. Include test.h first. */
#ifndef TESTS_SQLITE_TEST_H
#define TESTS_SQLITE_TEST_H

#include "../help/threads.h"

#include <dirent.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kolk/sqlite.h"

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static char folder[64], path[128];

static inline int begin_folder(void **state) {
    snprintf(folder, sizeof folder, "/tmp/kolk-sqlite.XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/test.db", folder);
    return 0;
}

static inline unsigned count_files(bool removes) {
    unsigned count = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    for (const struct dirent *each; (each = readdir(all));) {
        char file[400];
        if (each->d_name[0] == '.') continue;
        count++;
        snprintf(file, sizeof file, "%s/%s", folder, each->d_name);
        if (removes) unlink(file);
    }
    closedir(all);
    return count;
}

static inline int end_folder(void **state) {
    count_files(true);
    if (rmdir(folder) != 0) return -1;
    return abort_on_failure(state);
}

static inline void write_file(const char *bytes, size_t size) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* ---- The store --------------------------------------------------------------------------------------------------- */

static kolk_sqlite store;

static inline kolk_deadline after(int64_t ms) {
    return kolk_deadline_after(ms);
}

#define SOON after(120000) /* long enough even on a slow and busy machine */

/* Opens the store without synchronous writes, because the tests need not survive a power failure. */
static inline void open_store_as(const kolk_sqlite_desc *given) {
    kolk_sqlite_desc desc = *given;
    desc.path = path;
    if (!desc.setup) desc.setup = "pragma synchronous = off";
    if (!desc.pool.name) desc.pool.name = "test";
    kolk_status status = kolk_sqlite_init(&store, &desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
}

static inline void open_store(void) {
    open_store_as(&(kolk_sqlite_desc){.path = NULL});
}

/* Can be called in any thread. */
static inline void must(bool done, const char *what, const kolk_sqlite_borrow *borrow) {
    if (done) return;
    fprintf(stderr, "%s: %s\n", what, borrow->error.text);
    abort();
}

static inline kolk_status try_write(kolk_deadline deadline, kolk_sqlite_borrow *out) {
    return kolk_sqlite_write(&store, &(kolk_borrow_desc){.deadline = deadline}, out);
}

static inline kolk_status try_read(kolk_deadline deadline, kolk_sqlite_borrow *out) {
    return kolk_sqlite_read(&store, &(kolk_borrow_desc){.deadline = deadline}, out);
}

static inline kolk_sqlite_borrow writer(void) {
    kolk_sqlite_borrow borrow;
    must(try_write(SOON, &borrow) == KOLK_OK, "write", &borrow);
    return borrow;
}

static inline kolk_sqlite_borrow reader(void) {
    kolk_sqlite_borrow borrow;
    must(try_read(SOON, &borrow) == KOLK_OK, "read", &borrow);
    return borrow;
}

static inline void run(kolk_sqlite_borrow *borrow, const char *sql) {
    must(kolk_sqlite_exec(borrow, sql), "exec", borrow);
}

static inline void change(const char *sql) {
    kolk_sqlite_borrow borrow = writer();
    run(&borrow, sql);
    run(&borrow, "commit");
    kolk_sqlite_give_back(&borrow);
}

static inline int64_t number(kolk_sqlite_borrow *borrow, const char *sql) {
    sqlite3_stmt *statement = kolk_sqlite_prepare(borrow, sql);
    must(sqlite3_step(statement) == SQLITE_ROW, sql, borrow);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return value;
}

static inline int64_t read_number(const char *sql) {
    kolk_sqlite_borrow borrow = reader();
    int64_t value = number(&borrow, sql);
    kolk_sqlite_give_back(&borrow);
    return value;
}

static inline kolk_resource_pool_stats stats_of(const kolk_resource_pool *pool) {
    kolk_resource_pool_stats stats;
    assert_true(kolk_resource_is_valid(pool));
    kolk_resource_stats(pool, &stats);
    return stats;
}

/* Checks that a borrow failed with this status and code, and that its error begins with this sentence; a duration may
 * follow. */
static inline void assert_refused(kolk_status got, kolk_status status, kolk_sqlite_borrow *borrow, int code,
                                  const char *format) {
    char text[300];
    snprintf(text, sizeof text, format, path);
    assert_int_equal(got, status);
    assert_null(borrow->db);
    assert_int_equal(borrow->error.code, code);
    if (strncmp(borrow->error.text, text, strlen(text)) != 0) assert_string_equal(borrow->error.text, text);
    kolk_sqlite_give_back(borrow); /* does nothing */
}

/* ---- Another process --------------------------------------------------------------------------------------------- */

typedef struct other {
    pid_t child;
    int to, from;
} other;

/* Runs each line of SQL that it receives, and replies with a byte that states success or failure. */
static inline void serve_lines(int from, int to) {
    sqlite3 *db = NULL;
    FILE *lines = fdopen(from, "r");
    char line[500];
    if (sqlite3_open(path, &db) != SQLITE_OK) _exit(1);
    while (lines && fgets(line, sizeof line, lines)) {
        char done = sqlite3_exec(db, line, NULL, NULL, NULL) == SQLITE_OK ? 'y' : 'n';
        if (write(to, &done, 1) != 1) break;
    }
    _exit(0);
}

/* Forks before the store is opened, as SQLite's connections must not be carried across a fork. */
static inline other begin_other(void) {
    int to[2], from[2];
    assert_int_equal(pipe(to) | pipe(from), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(to[1]);
        close(from[0]);
        serve_lines(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    return (other){child, to[1], from[0]};
}

static inline void send_other(const other *its, const char *sql) {
    assert_int_equal(dprintf(its->to, "%s\n", sql), (int)strlen(sql) + 1);
}

static inline void tell_other(const other *its, const char *sql) {
    char done = 0;
    send_other(its, sql);
    assert_int_equal(read(its->from, &done, 1), 1);
    assert_int_equal(done, 'y');
}

static inline void end_other(const other *its, int signal_) {
    if (signal_) kill(its->child, signal_);
    close(its->to);
    close(its->from);
    int status;
    assert_int_equal(waitpid(its->child, &status, 0), its->child);
    assert_int_equal(signal_ ? WTERMSIG(status) : WEXITSTATUS(status), signal_);
}

static inline int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_folder, end_folder)

#endif
