/* runs: processes not:qemu not:wine */
/* KOLK_STATS_AT: statistics at signals and at intervals, in programs that live, end and fork. */
#include "../help/threads.h"

#include "../help/fakes.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char file[100], setting[120]; /* KOLK_STATS=text:FILE */

static int make_file(void **state) {
    char folder[] = "/tmp/kolk-XXXXXX";
    if (!mkdtemp(folder)) return -1;
    snprintf(file, sizeof file, "%s/stats", folder);
    snprintf(setting, sizeof setting, "text:%s", file);
    return 0;
}

static int remove_file(void **state) {
    unlink(file);
    *strrchr(file, '/') = 0;
    return rmdir(file);
}

/* ---- In the other program ---------------------------------------------------------------------------------------- */

/* A pool with some objects alive. KOLK_STATS_AT is the scenario's first word, the file its last. */
static kolk_pool pool;
static char at[100], path[100];

static void begin_pool(const char *argument) {
    END_IF_IT_HANGS();
    REQUIRE(sscanf(argument, "%99s %99s", at, path) == 2);
    setenv("KOLK_STATS_AT", at, 1);
    make_pool(&pool, &(kolk_pool_desc){.name = "it", .object_size = 16, .capacity = 64});
}

static uint32_t alive_in(const char *name) {
    char text[1000] = "", *row;
    FILE *stats = fopen(name, "r");
    if (!stats) return UINT32_MAX;
    text[fread(text, 1, sizeof text - 1, stats)] = 0;
    fclose(stats);
    REQUIRE(text[0] && text[strlen(text) - 1] == '\n'); /* it is whole */
    return (row = strstr(text, "\nit ")) ? (uint32_t)strtoul(row + strcspn(row, "0123456789") + 2, NULL, 10) : 0;
}

static void alloc_and_see(uint32_t alive) {
    while (kolk_pool_count(&pool) < alive) REQUIRE(kolk_pool_alloc(&pool));
}

static void play_usr1(const char *argument) {
    begin_pool(argument);
    for (uint32_t n = 1; n < 4; n++) {
        alloc_and_see(n);
        REQUIRE(kill(getpid(), SIGUSR1) == 0);
        EVENTUALLY(alive_in(path) == n);
    }
    unlink(path);
}

static void play_interval(const char *argument) {
    begin_pool(argument);
    for (uint32_t n = 1; n < 4; n++) {
        alloc_and_see(n);
        EVENTUALLY(alive_in(path) == n);
    }
    kolk_pool_deinit(&pool); /* it stays in the statistics */
    unlink(path);
    EVENTUALLY(alive_in(path) == 3);
}

/* ---- A log: KOLK_STATS=log:FILE ---- */

enum { LOGGERS = 3, LINES = 50 };

static void *log_lines(void *unused) {
    for (int n = 0; n < LINES; n++) REQUIRE(kolk_stats_now());
    return unused;
}

/* Threads add lines at the same time; the pools have names so long that a line does not fit into one write. */
static void play_log(const char *argument) {
    static kolk_pool more[40];
    begin_pool(argument);
    for (size_t n = 0; n < LENGTH_OF(more); n++)
        make_pool(&more[n], &(kolk_pool_desc){.name = "a long name", .object_size = n + 1, .capacity = 64});
    alloc_and_see(3);
    run_threads(LOGGERS, log_lines, NULL, 0);
    for (size_t n = 0; n < LENGTH_OF(more); n++) kolk_pool_deinit(&more[n]);
}

static void die_by_term(void) {
    kill(getpid(), SIGTERM);
    for (int i = 0; i < 30000; i++) nap();
    _exit(3);
}

static void play_die(const char *argument) {
    begin_pool(argument);
    alloc_and_see(5);
    die_by_term();
}

static volatile sig_atomic_t handled;

static void count_signal(int number) {
    handled += number == SIGTERM ? 1 : 100;
}

static void count_signal_and_info(int number, siginfo_t *info, void *context) {
    handled += number == SIGTERM && info->si_pid == getpid() && context ? 1 : 100;
}

static void set_handler(void (*handler)(int)) {
    REQUIRE(sigaction(SIGTERM, &(struct sigaction){.sa_handler = handler}, NULL) == 0);
}

static void play_own_handlers(const char *argument) {
    struct sigaction with_info = {.sa_flags = SA_SIGINFO};
    with_info.sa_sigaction = count_signal_and_info;
    if (strstr(argument, "USR2"))
        REQUIRE(sigaction(SIGTERM, &with_info, NULL) == 0);
    else
        set_handler(count_signal);
    begin_pool(argument);
    for (uint32_t n = 1; n < 4; n++) {
        alloc_and_see(n);
        kill(getpid(), SIGTERM);
        EVENTUALLY(alive_in(path) == n);
        EVENTUALLY(handled == (int)n);
    }
    unlink(path);
}

static void play_later_handler(const char *argument) {
    begin_pool(argument);
    set_handler(count_signal);
    for (int n = 1; n < 4; n++) {
        kill(getpid(), SIGTERM);
        EVENTUALLY(handled == n);
    }
    REQUIRE(alive_in(path) == UINT32_MAX);
    alloc_and_see(9); /* the program ends as it likes, and what was asked for is written at exit */
}

static void play_ignored(const char *argument) {
    set_handler(SIG_IGN);
    begin_pool(argument);
    struct sigaction now;
    REQUIRE(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
}

static void play_children(const char *argument) {
    begin_pool(argument);
    alloc_and_see(2);
    for (int makes_pool = 0; makes_pool < 2; makes_pool++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            kolk_pool other;
            if (makes_pool) make_pool(&other, &(kolk_pool_desc){.name = "other", .object_size = 16, .capacity = 64});
            kill(getpid(), SIGUSR1);
            if (makes_pool) EVENTUALLY(alive_in(path) == 2);
            die_by_term();
        }
        REQUIRE(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        REQUIRE((alive_in(path) == 2) == makes_pool); /* a child without pools of its own has no thread that writes */
    }
    unlink(path);
    kill(getpid(), SIGUSR1);
    EVENTUALLY(alive_in(path) == 2);
}

static pid_t silent_fork(void) {
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Returns whether the child's alarm has ended it. */
static bool end_by(pid_t child, int signal) {
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return true;
    REQUIRE(signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return false;
}

/* Children of which pthread_atfork's handlers know nothing, at any moment of the writer's: they have no writer until
 * they make one, can end pools, exit, and die by signals. One shares the memory. A few may hang in libc, one of whose
 * own locks (of malloc, of its files) the writer had. */
static void play_silent_children(const char *argument) {
    kolk_pool other;
    begin_pool(argument);
    alloc_and_see(1);
    int hung = 0;
    for (int n = 0; n < 200; n++) {
        pid_t child = silent_fork();
        if (child == 0) {
            alarm(10);
            if (n % 4 == 0) make_pool(&other, &(kolk_pool_desc){.name = "other", .object_size = 16, .capacity = 64});
            if (n % 4 == 1) kolk_pool_deinit(&pool);
            if (n % 4 == 2) die_by_term();
            exit(0);
        }
        hung += end_by(child, n % 4 == 2 ? SIGTERM : 0);
    }
    REQUIRE(hung <= 4);
    alloc_and_see(2);
    EVENTUALLY(alive_in(path) == 2);
    pid_t child = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
    if (child == 0) {
        kill(getpid(), SIGTERM); /* this is not to end the parent */
        _exit(0);
    }
    REQUIRE(!end_by(child, SIGTERM));
    alloc_and_see(3);
    EVENTUALLY(alive_in(path) == 3);
}

/* ---- After kolk's end ---- */

static struct sigaction at_last;

static void compare_handler(void) {
    struct sigaction now;
    REQUIRE(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == at_last.sa_handler);
    REQUIRE(!((now.sa_flags ^ at_last.sa_flags) & SA_SIGINFO));
}

/* When the process ends, its handlers are those that it had before, or has set since. */
static void play_last_handler(const char *argument) {
    bool sets_later = strstr(argument, "exit");
    atexit(compare_handler); /* runs after kolk's */
    if (!sets_later) set_handler(count_signal);
    REQUIRE(sigaction(SIGTERM, NULL, &at_last) == 0);
    begin_pool(argument);
    if (!sets_later) return;
    set_handler(count_signal);
    REQUIRE(sigaction(SIGTERM, NULL, &at_last) == 0);
}

/* A handler that is to be called once; then the signal ends the process. In a child without a writer, too. */
static void play_handler_for_once(const char *argument) {
    REQUIRE(sigaction(SIGTERM, &(struct sigaction){.sa_handler = count_signal, .sa_flags = (int)SA_RESETHAND}, NULL) ==
            0);
    begin_pool(argument);
    pid_t child = strstr(argument, "exit") ? fork() : -1;
    if (child > 0) {
        end_by(child, SIGTERM);
        return;
    }
    raise(SIGTERM);
    REQUIRE(handled == 1);
    if (child < 0) EVENTUALLY(alive_in(path) == 0);
    for (int i = 0; i < 100; i++) nap(); /* the writer has seen the signal, and leaves the process alone */
    alloc_and_see(6);
    die_by_term();
}

static void play_end(const char *argument) {
    begin_pool(argument);
    alloc_and_see(4);
}

/* Signals at random, while the pool is used. */
static void play_storm(const char *argument) {
    void *objects[64];
    begin_pool(argument);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 64; i++) objects[i] = kolk_pool_alloc(&pool);
        kill(getpid(), round % 2 ? SIGUSR1 : SIGUSR2);
        for (int i = 0; i < 64; i++) kolk_pool_free(&pool, objects[i]);
    }
    alloc_and_see(1);
    kill(getpid(), SIGUSR1);
    EVENTUALLY(alive_in(path) == 1);
}

static int count_threads(void) {
    struct stat task;
    return stat("/proc/self/task", &task) == 0 ? (int)task.st_nlink - 2 : -1;
}

static void play_thread(const char *argument) {
    if (count_threads() < 0) return;
    int before = count_threads();
    begin_pool(argument);
    REQUIRE(count_threads() == before);
}

/* More pools end than have rows of their own; the others share one, also when statistics are written again. */
static void play_many_names(const char *argument) {
    char name[20], text[100000];
    begin_pool(argument);
    for (unsigned n = 0; n < 1500; n++) {
        kolk_pool other;
        snprintf(name, sizeof name, "n %u", n);
        make_pool(&other, &(kolk_pool_desc){.name = name, .object_size = 16, .capacity = 64});
        kolk_pool_deinit(&other);
        if (n == 1200) REQUIRE(kolk_stats_now());
    }
    REQUIRE(kolk_stats_now());
    FILE *stats = fopen(path, "r");
    REQUIRE(stats);
    text[fread(text, 1, sizeof text - 1, stats)] = 0;
    fclose(stats);
    REQUIRE(strstr(text, "\nn 999 ") && !strstr(text, "\nn 1000 ") && strstr(text, "\nit "));
    REQUIRE(strstr(text, "\n(other names)  pool x 500 "));
    REQUIRE(strstr(text, "\n(other names): pools that have ended, after the first ones; each number is their sum\n"));
}

/* ---- Here -------------------------------------------------------------------------------------------------------- */

static ending run_at(const char *name, const char *when) {
    char argument[300];
    snprintf(argument, sizeof argument, "%s %s", when, file);
    unlink(file);
    return run_scenario(name, setting, argument);
}

/* promise: base.h "writes them ... statistics are written" */
static void test_signals(void **state) {
    assert_ending(run_at("usr1", "USR1"), 0, "");
    assert_int_equal(alive_in(file), UINT32_MAX); /* not at exit */
    assert_ending(run_at("usr1", "exit,TERM,USR1,USR2"), 0, "");
    assert_int_equal(alive_in(file), 3);
    assert_ending(run_at("storm", "USR1,USR2"), 0, "");
}

static void test_intervals(void **state) {
    assert_ending(run_at("interval", "10ms"), 0, "");
    assert_ending(run_at("interval", "USR1,20ms,exit"), 0, "");
    assert_ending(run_at("end", "1h"), 0, "");
    assert_int_equal(alive_in(file), UINT32_MAX);
    assert_ending(run_at("end", "1h,exit"), 0, "");
    assert_int_equal(alive_in(file), 4);
    assert_ending(run_at("thread", "exit"), 0, "");
}

/* Each line is whole, and has the pools that exist: 41, and only one at exit. Lines are added to those of a run
 * before. */
static void test_log(void **state) {
    static char line[40000];
    char log[130], argument[220];
    unsigned lines = 0, last_ones = 0;
    double seconds;
    snprintf(log, sizeof log, "log:%s", file);
    snprintf(argument, sizeof argument, "exit %s", file);
    unlink(file);
    for (int run = 0; run < 2; run++) assert_ending(run_scenario("log", log, argument), 0, "");
    FILE *stats = fopen(file, "r");
    assert_non_null(stats);
    for (; fgets(line, sizeof line, stats); lines++) {
        unsigned pools = 0;
        assert_int_equal(sscanf(line, "{\"time\": %lf, \"pools\": [{\"name\": \"it\", \"kind\": \"pool\",", &seconds),
                         1);
        assert_true(seconds > 1.7e9); /* the system's clock may be set back at any time */
        assert_string_equal(line + strlen(line) - 4, "}]}\n");
        assert_non_null(strstr(line, "\"count\": 3, "));
        for (const char *name = line; (name = strstr(name, "{\"name\"")); name++) pools++;
        assert_true(pools == 41 || pools == 1);
        last_ones += pools == 1;
    }
    fclose(stats);
    assert_int_equal(lines, 2 * (LOGGERS * LINES + 1));
    assert_int_equal(last_ones, 2);
    assert_ending(run_scenario("end", "log:/nowhere/at/all", "exit /tmp"), 0,
                  "kolk: KOLK_STATS: \"/nowhere/at/all\" cannot be written\n");
    unlink(file);
}

static void test_the_end_by_a_signal(void **state) {
    ending ended = run_at("die", "TERM");
    assert_true(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGTERM);
    assert_string_equal(ended.text, "");
    assert_int_equal(alive_in(file), 5);
}

static void test_handlers_of_the_program(void **state) {
    assert_ending(run_at("own handlers", "TERM"), 0, "");
    assert_ending(run_at("own handlers", "TERM,USR2"), 0, "");
    assert_ending(run_at("later handler", "TERM,exit"), 0, "");
    assert_int_equal(alive_in(file), 9);
    assert_ending(run_at("ignored", "TERM"), 0, "");
    assert_ending(run_at("last handler", "TERM"), 0, "");
    assert_ending(run_at("last handler", "TERM,exit"), 0, "");
    assert_ending(run_at("handler for once", "TERM,exit"), 0, "");
    ending ended = run_at("handler for once", "TERM");
    assert_true(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGTERM);
    assert_int_equal(alive_in(file), 6);
}

/* promise: base.h "parent had only one thread besides kolk's own", "(vfork, or clone with CLONE_VM) must not call" */
static void test_children(void **state) {
    skip_if_emulated();
    if (SLOW) {
        print_message("left out: in a fork's child, a sanitizer's allocator may wait for the writer of the parent\n");
        skip();
    }
    assert_ending(run_at("children", "TERM,USR1"), 0, "");
    assert_ending(run_at("silent children", "TERM,10ms,exit"), 0, "");
}

#define NOT_UNDERSTOOD(text)                                                                                           \
    "kolk: KOLK_STATS_AT: \"" text "\" is not understood: exit, HUP, INT, QUIT, TERM, USR1, USR2, or one interval of " \
    "at least 10ms such as 500ms, 10s, 5m, with commas between them\n"

static void test_mistakes(void **state) {
    static const struct {
        const char *when, *said;
    } rows[] = {{"KILL", NOT_UNDERSTOOD("KILL")},
                {"exit,TER", NOT_UNDERSTOOD("exit,TER")},
                {"exit,,TERM", NOT_UNDERSTOOD("exit,,TERM")},
                {"exit,", NOT_UNDERSTOOD("exit,")},
                {"10", NOT_UNDERSTOOD("10")},
                {"s", NOT_UNDERSTOOD("s")},
                {"9ms", NOT_UNDERSTOOD("9ms")},
                {"-1s", NOT_UNDERSTOOD("-1s")},
                {"99999999999999999999s", NOT_UNDERSTOOD("99999999999999999999s")},
                {"1s,2s", NOT_UNDERSTOOD("1s,2s")}};
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        assert_ending(run_at("end", rows[i].when), 0, rows[i].said);
        assert_int_equal(alive_in(file), 4); /* as without the variable */
    }
    assert_ending(run_scenario("end", NULL, "USR1 nowhere"), 0,
                  "kolk: KOLK_STATS_AT: is set to \"USR1\", but KOLK_STATS, which says what to write, is not\n");
}

static void *write_now(void *unused) {
    for (int i = 0; i < 20; i++) REQUIRE(kolk_stats_now());
    return NULL;
}

/* From several threads; the last table has all. */
static void play_now(const char *argument) {
    begin_pool(argument);
    REQUIRE(alive_in(path) == UINT32_MAX);
    for (uint32_t n = 1; n < 4; n++) {
        alloc_and_see(n);
        REQUIRE(kolk_stats_now() && alive_in(path) == n);
    }
    run_threads(3, write_now, NULL, 0);
    alloc_and_see(10);
    REQUIRE(kolk_stats_now() && alive_in(path) == 10);
    unlink(path);
}

static void play_now_in_vain(const char *argument) {
    begin_pool(argument);
    REQUIRE(!kolk_stats_now() && !kolk_stats_now());
}

static void test_at_once(void **state) {
    assert_ending(run_at("now", "USR1"), 0, "");
    assert_ending(run_at("many names", "USR1"), 0, "");
    assert_ending(run_scenario("now in vain", "", "USR1 -"), 0,
                  "kolk: KOLK_STATS_AT: is set to \"USR1\", but KOLK_STATS, which says what to write, is not\n");
    assert_ending(run_scenario("now in vain", "text:/nowhere/at/all", "USR1 -"), 0,
                  "kolk: KOLK_STATS: \"/nowhere/at/all\" cannot be written\n");
}

/* Only the first of several failures in a row is reported. */
static void test_a_file_that_cannot_be_written(void **state) {
    assert_ending(run_scenario("storm until told", "text:/nowhere/at/all", "10ms nowhere"), 0,
                  "kolk: KOLK_STATS: \"/nowhere/at/all\" cannot be written\n");
}

static void play_storm_until_told(const char *argument) {
    begin_pool(argument);
    for (int i = 0; i < 1000; i++) nap();
}

int main(int argc, char **argv) {
    END_IF_IT_HANGS();
    static const scenario scenarios[] = {{"usr1", play_usr1},
                                         {"now", play_now},
                                         {"log", play_log},
                                         {"now in vain", play_now_in_vain},
                                         {"interval", play_interval},
                                         {"die", play_die},
                                         {"own handlers", play_own_handlers},
                                         {"later handler", play_later_handler},
                                         {"ignored", play_ignored},
                                         {"children", play_children},
                                         {"silent children", play_silent_children},
                                         {"last handler", play_last_handler},
                                         {"handler for once", play_handler_for_once},
                                         {"end", play_end},
                                         {"many names", play_many_names},
                                         {"storm", play_storm},
                                         {"storm until told", play_storm_until_told},
                                         {"thread", play_thread}};
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_the_end_by_a_signal),
        cmocka_unit_test(test_handlers_of_the_program),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_a_file_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
