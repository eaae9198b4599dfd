/* runs: processes not:wine */
/* kolk_site_text on functions of this program, with the real addr2line, and with scripts in its place that print
 * arbitrary text. test_site_symbols.c tests symbols. */
#include "site_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#define SOMEBODY 65534 /* a user that is not root */

#define NOINLINE __attribute__((noinline))

/* ---- Functions of this program ----------------------------------------------------------------------------------- */

typedef struct call {
    const void *site;
    int line;
} call;

static call last_call;
static jmp_buf way_back;

static NOINLINE void note(int line) {
    last_call.site = __builtin_return_address(0);
    last_call.line = line;
}

__attribute__((noreturn)) static NOINLINE void note_and_leave(int line) {
    last_call.site = __builtin_return_address(0);
    last_call.line = line;
    longjmp(way_back, 1);
}

static inline __attribute__((always_inline)) void note_merged(void) {
    note(0);
    __asm__ volatile("");
}

/* The empty statement after a call keeps it from becoming a jump. */
static NOINLINE void fire(void) {
    note(__LINE__);
    __asm__ volatile("");
}

void fire_everything(void);
NOINLINE void fire_everything(void) {
    note(__LINE__);
    __asm__ volatile("");
}

static NOINLINE void leave(void) {
    note_and_leave(__LINE__);
}

static NOINLINE void fire_merged(void) {
    note_merged(), last_call.line = __LINE__;
}

/* ---- Tools ------------------------------------------------------------------------------------------------------- */

static const char *words(const void *site, bool lines) {
    static char text[1000];
    memset(text, 'x', sizeof text);
    assert_ptr_equal(kolk_site_text(site, lines, text, sizeof text), text);
    return text;
}

/* Returns NULL, or the reason why this program has no line numbers. */
static const char *no_lines(void) {
    char command[100];
    if (system("addr2line --version > /dev/null 2>&1") != 0) return "addr2line is missing";
    snprintf(command, sizeof command, "grep -q '[.]debug_line' /proc/%ld/exe", (long)getpid());
    return system(command) == 0 ? NULL : "the program has no debug information";
}

/* Expects "NAME+0xN", with or without the place of the last call. */
static void assert_words(const char *text, const char *name, bool place) {
    size_t length = strlen(name);
    char expected[100] = "";
    if (strncmp(text, name, length) != 0 || strncmp(text + length, "+0x", 3) != 0)
        fail_msg("%s is not of %s", text, name);
    if (place) snprintf(expected, sizeof expected, " (test_sites.c:%d)", last_call.line);
    size_t digits = strspn(text + length + 3, "0123456789abcdef");
    assert_true(digits > 0);
    assert_string_equal(text + length + 3 + digits, expected);
}

/* Returns the text after "fire+0xN" when addr2line is this script. */
static const char *place_by(const char *script) {
    fire();
    make_addr2line(script);
    const char *text = words(last_call.site, true);
    take_addr2line_back();
    assert_memory_equal(text, "fire+0x", 7);
    return text + 7 + strspn(text + 7, "0123456789abcdef");
}

/* ---- Tests: this program ----------------------------------------------------------------------------------------- */

/* Static and exported functions, and a call that is the last instruction of its function, so that the return address
 * may lie in the next one. promise: base.h "The file and line ... Returns `text`" */
static void test_functions_and_places(void **state) {
    for (int lines = 0; lines < 2; lines++) {
        if (lines && no_lines()) {
            print_message("skipped: %s\n", no_lines());
            skip();
        }
        fire();
        assert_words(words(last_call.site, lines), "fire", lines);
        fire_everything();
        assert_words(words(last_call.site, lines), "fire_everything", lines);
        if (setjmp(way_back) == 0) leave();
        assert_words(words(last_call.site, lines), "leave", lines);
    }
}

static void test_offset_is_that_of_the_return_address(void **state) {
    char expected[100];
    fire();
    uintptr_t offset = (uintptr_t)last_call.site - (uintptr_t)fire;
    snprintf(expected, sizeof expected, "fire+0x%" PRIxPTR, offset);
    assert_string_equal(words(last_call.site, false), expected);
}

/* Inlined functions are printed first. promise: base.h "The file and line ... Returns `text`" */
static void test_merged_functions(void **state) {
    if (no_lines()) {
        print_message("skipped: %s\n", no_lines());
        skip();
    }
    fire_merged();
    const char *text = words(last_call.site, true), *second = strstr(text, ") < ");
    assert_memory_equal(text, "note_merged (test_sites.c:", 26);
    assert_non_null(second);
    assert_words(second + 4, "fire_merged", true);
}

static void test_without_addr2line(void **state) {
    fire();
    make_addr2line(NULL);
    const char *text = words(last_call.site, true);
    take_addr2line_back();
    assert_words(text, "fire", false);
}

static void test_sizes(void **state) {
    char whole[200], text[200];
    fire();
    kolk_site_text(last_call.site, false, whole, sizeof whole);
    assert_null(kolk_site_text(last_call.site, false, NULL, 0));
    for (size_t size = 0; size < strlen(whole) + 3; size++) {
        memset(text, 'x', sizeof text);
        assert_ptr_equal(kolk_site_text(last_call.site, false, text, size), text);
        assert_true(all_bytes_are(text + size, sizeof text - size, 'x'));
        if (size == 0) continue;
        assert_int_equal(strlen(text), size - 1 < strlen(whole) ? size - 1 : strlen(whole));
        assert_memory_equal(text, whole, strlen(text));
    }
}

static void test_garbage(void **state) {
    assert_string_equal(words(NULL, true), "");
    assert_string_equal(words((void *)1, true), "0x1");
    assert_string_equal(words((void *)0xfff, true), "0xfff");
    int local;
    char expected[40];
    snprintf(expected, sizeof expected, "0x%" PRIxPTR, (uintptr_t)&local);
    assert_string_equal(words(&local, true), expected);
    snprintf(expected, sizeof expected, "0x%" PRIxPTR, UINTPTR_MAX);
    assert_string_equal(words((void *)UINTPTR_MAX, true), expected);
    assert_non_null(strstr(words(&last_call, false), "test_sites+0x")); /* not code */
}

static void test_vdso(void **state) {
    uintptr_t vdso = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    if (!vdso) {
        print_message("skipped: the system gives no vdso\n");
        skip();
    }
    const char *text = words((void *)(vdso + 0x40), true);
    if (strncmp(text, "0x", 2) != 0)
        assert_string_equal(text + strcspn(text, "+"), "+0x40"); /* a C library may hide it */
}

static const void *site_in_libc;

static int compare(const void *a, const void *b) {
    site_in_libc = __builtin_return_address(0);
    return *(const int *)a - *(const int *)b;
}

/* A static function of a stripped library: the module's name is enough. */
static void test_library(void **state) {
    int numbers[] = {3, 1, 2};
    qsort(numbers, LENGTH_OF(numbers), sizeof *numbers, compare);
    const char *text = words(site_in_libc, true);
    assert_null(strchr(text, '/'));
    assert_int_not_equal(strncmp(text, "0x", 2), 0);
    if (!strstr(text, "+0x") && !strstr(text, ".c:")) fail_msg("%s", text);
}

/* ---- Tests: addr2line -------------------------------------------------------------------------------------------- */

static void test_answers_of_addr2line(void **state) {
    static const struct {
        const char *script, *place;
    } answers[] = {
        {"echo /usr/src/game/weapons.c:41", " (weapons.c:41)"},
        {"echo weapons.c:41", " (weapons.c:41)"},
        {"echo '../a b/weapons.c:41 (discriminator 2)'", " (weapons.c:41)"},
        {"printf '/g/weap'; sleep 0.01; printf 'ons.c:4'; sleep 0.01; echo 1", " (weapons.c:41)"},
        {"echo weapons.c:41; echo 0x2; echo more; echo than.c:1", " (weapons.c:41)"},
        {"echo /g/weapons.c:41; exit 1", " (weapons.c:41)"},
        {"echo /usr/include/kolk/pool.inl:59", ""},
        {"echo '??:0'", ""},
        {"echo '??:?'", ""},
        {"echo /g/weapons.c:?", ""},
        {"echo /g/weapons.c:0", ""},
        {"echo /g/weapons.c:", ""},
        {"echo /g/weapons.c", ""},
        {"echo /g/:41", ""},
        {"echo", ""},
        {"true", ""},
        {"kill -9 $$", ""},
        {"printf /g/weapons.c:41; kill -9 $$", ""}, /* may be part of line 410 */
        {"printf '%0300d.c:41\\n' 0", ""},          /* too long to be kept */
        {"head -c 300000 /dev/zero | tr '\\0' x; echo :41", ""},
        {"echo /g/weapons.c:41; echo no such file >&2", " (weapons.c:41)"},
    };
    for (size_t i = 0; i < LENGTH_OF(answers); i++) {
        char script[200];
        snprintf(script, sizeof script, "#!/bin/sh\necho 0x1; echo fire; %s\n", answers[i].script);
        assert_string_equal(place_by(script), answers[i].place);
    }
    assert_string_equal(place_by("no program"), "");
}

/* What may load a tool, or is for kolk, is not for addr2line. */
static void test_environment_of_addr2line(void **state) {
    setenv("KOLK_STATS", "1", 1);
    setenv("LD_PRELOAD", "/nowhere/none.so", 1);
    const char *place = place_by("#!/bin/sh\n[ -z \"$LD_PRELOAD$KOLK_STATS\" ] && echo 0x1 && echo fire && "
                                 "echo clean.c:1\n");
    unsetenv("LD_PRELOAD");
    unsetenv("KOLK_STATS");
    assert_string_equal(place, " (clean.c:1)");

    fire();
    char **all = environ;
    environ = NULL; /* searches the system's default folders, or finds nothing */
    const char *text = words(last_call.site, true);
    environ = all;
    text = strstr(text, "fire+0x");
    assert_non_null(text);
}

/* Sets this PATH. The working directory contains an addr2line, and its folder "bin" another. */
static void assert_place_by_path(const char *path, const char *expected) {
    char before[4096];
    const char *now = getenv("PATH");
    snprintf(before, sizeof before, "%s", now ? now : "");
    fire();
    setenv("PATH", path, 1);
    const char *text = words(last_call.site, true);
    setenv("PATH", before, 1);
    assert_memory_equal(text, "fire+0x", 7);
    assert_string_equal(text + 7 + strspn(text + 7, "0123456789abcdef"), expected);
}

/* Only absolute folders count, because a relative one might contain anybody's file of that name.
 * promise: base.h "runs the first ... file capabilities" */
static void test_folders_of_path(void **state) {
    static const char *const relative[] = {"", ":", "::", ".", "bin", "./bin", "bin:", ":bin", "../.", "nowhere:bin"};
    static const char script[] = "#!/bin/sh\necho 0x1; echo fire; echo relative.c:1\n",
                      other[] = "#!/bin/sh\necho 0x1; echo fire; echo absolute.c:1\n";
    char path[500], absolute[200];
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mkdir("bin", 0700), 0);
    assert_int_equal(mkdir("last", 0700), 0);
    assert_int_equal(mkdir("last/addr2line", 0700), 0); /* a folder, not a program */
    write_file("addr2line", script, strlen(script), 0700);
    write_file("bin/addr2line", script, strlen(script), 0700);
    for (size_t i = 0; i < LENGTH_OF(relative); i++) assert_place_by_path(relative[i], "");
    write_file("bin/addr2line", other, strlen(other), 0700);
    snprintf(absolute, sizeof absolute, "%s", in_folder("bin"));
    for (size_t i = 0; i < LENGTH_OF(relative); i++) {
        snprintf(path, sizeof path, "%s:/nowhere:%s:%s", relative[i], in_folder("last"), absolute);
        assert_place_by_path(path, " (absolute.c:1)");
    }
    chmod("bin/addr2line", 0600);
    assert_place_by_path(absolute, "");
    char *longest = (char *)malloc(10000);
    memset(longest, '/', 10000);
    snprintf(longest + 9000, 1000, ":%s", absolute);
    chmod("bin/addr2line", 0700);
    assert_place_by_path(longest, " (absolute.c:1)");
    free(longest);
    unlink("addr2line");
    unlink("bin/addr2line");
    rmdir("bin");
    rmdir("last/addr2line");
    rmdir("last");
    assert_int_equal(fchdir(here), 0);
    close(here);
}

/* With the argument "site" this program prints whether it has more rights than its user, and a site. */
static int say_site(void) {
    char text[200];
    fire();
    printf("%d %s\n", getuid() != geteuid(), kolk_site_text(last_call.site, true, text, sizeof text));
    fflush(stdout);
    _exit(0); /* LeakSanitizer cannot inspect such a program */
}

/* Runs a copy of this program with these permissions, as a user whose addr2line is a script. */
static void ask_copy(mode_t mode, char *said, size_t size) {
    char path[200], *arguments[] = {path, (char[]){"site"}, NULL};
    int ends[2], from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
    snprintf(path, sizeof path, "%s", in_folder("copy"));
    to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(from >= 0 && to >= 0);
    char some[4096];
    for (ssize_t bytes; (bytes = read(from, some, sizeof some)) > 0;)
        assert_int_equal(write(to, some, (size_t)bytes), bytes);
    assert_int_equal(fchmod(to, mode), 0);
    close(from);
    close(to);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    make_addr2line("#!/bin/sh\necho 0x1; echo fire; echo theirs.c:1\n");
    assert_int_equal(chmod(in_folder("addr2line"), 0755), 0);
    assert_int_equal(chmod(in_folder("llvm-addr2line"), 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        if (setgid(SOMEBODY) == 0 && setuid(SOMEBODY) == 0) execv(path, arguments);
        _exit(1);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t bytes; (bytes = read(ends[0], said + length, size - 1 - length)) > 0;) length += (size_t)bytes;
    said[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    take_addr2line_back();
    unlink(path);
}

/* A program with more rights than its user does not lend them to the user's addr2line. */
static void test_program_with_more_rights(void **state) {
    char said[300];
    skip_if_emulated();
    if (getuid() != 0) {
        print_message("skipped: only root can make such a program\n");
        skip();
    }
    assert_int_equal(chmod(folder, 0755), 0);
    ask_copy(0755, said, sizeof said);
    if (*said != '0') {
        print_message("skipped: nobody else can run a program from here: %s\n", said);
        skip();
    }
    assert_non_null(strstr(said, " fire+0x"));
    assert_non_null(strstr(said, " (theirs.c:1)\n"));
    ask_copy(04755, said, sizeof said);
    if (*said == '0') {
        print_message("skipped: set-user-ID means nothing here\n");
        skip();
    }
    assert_non_null(strstr(said, "1 fire+0x"));
    assert_null(strchr(said, '('));
}

static void on_alarm(int number) {}

/* First, signals interrupt every wait for addr2line's answer and for its end; then the program ignores SIGCHLD. Neither
 * leaves a child behind. */
static void test_signals(void **state) {
    static const char slow[] = "#!/bin/sh\nsleep 0.03\necho 0x1; echo fire; echo slow.c:1\nexec >&-\nsleep 0.03\n";
    struct sigaction alarm_action = {.sa_handler = on_alarm}, old;
    assert_int_equal(sigaction(SIGALRM, &alarm_action, &old), 0);
    struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    const char *place = place_by(slow);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    assert_string_equal(place, " (slow.c:1)");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);

    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    place = place_by(slow);
    signal(SIGCHLD, before);
    assert_string_equal(place, " (slow.c:1)");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- Tests: shortages -------------------------------------------------------------------------------------------- */

static void test_no_files_left(void **state) {
    struct rlimit all, few;
    int next = open("/dev/null", O_RDONLY);
    close(next);
    fire();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    few = all;
    few.rlim_cur = (rlim_t)next + 1; /* one descriptor for the module, none for the pipe */
    setrlimit(RLIMIT_NOFILE, &few);
    assert_words(words(last_call.site, true), "fire", false);
    few.rlim_cur = (rlim_t)next;
    setrlimit(RLIMIT_NOFILE, &few);
    const char *text = words(last_call.site, true);
    setrlimit(RLIMIT_NOFILE, &all);
    assert_words(text, "test_sites", false);
}

/* Descriptors 0, 1 and 2 are closed in every combination, so that the pipe gets some of them. */
static void test_closed_standard_files(void **state) {
    for (int i = 0; i < 8; i++) {
        int kept[3];
        for (int k = 0; k < 3; k++) kept[k] = fcntl(k, F_DUPFD_CLOEXEC, 10);
        for (int k = 0; k < 3; k++)
            if (i & 1 << k) close(k);
        char place[100];
        snprintf(place, sizeof place, "%s", place_by("#!/bin/sh\necho 0x1; echo fire; echo file.c:1\n"));
        for (int k = 0; k < 3; k++) dup2(kept[k], k), close(kept[k]);
        assert_string_equal(place, " (file.c:1)");
    }
}

static void *ask_often(void *context) {
    const char *expected = (const char *)context;
    for (int i = 0; i < 10; i++) {
        char text[200];
        if (strcmp(kolk_site_text(last_call.site, true, text, sizeof text), expected) != 0) return context;
    }
    return NULL;
}

static void test_threads(void **state) {
    fire();
    char expected[200];
    kolk_site_text(last_call.site, true, expected, sizeof expected);
    pthread_t threads[3];
    for (size_t i = 0; i < LENGTH_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, expected), 0);
    for (size_t i = 0; i < LENGTH_OF(threads); i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "site") == 0) return say_site();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_and_places),
        cmocka_unit_test(test_offset_is_that_of_the_return_address),
        cmocka_unit_test(test_merged_functions),
        cmocka_unit_test(test_without_addr2line),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_vdso),
        cmocka_unit_test(test_library),
        cmocka_unit_test(test_answers_of_addr2line),
        cmocka_unit_test(test_environment_of_addr2line),
        cmocka_unit_test(test_folders_of_path),
        cmocka_unit_test(test_program_with_more_rights),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_no_files_left),
        cmocka_unit_test(test_closed_standard_files),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
