/* tools.c: checks on the tools that `kolk doctor` starts, and on the tools that watch it. */
#define _GNU_SOURCE /* pipe2, realpath */
#include "../measure.h"
#include "doctor.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kolk/kolk.h>

/* ---- Starting a tool --------------------------------------------------------------------------------------------- */

struct answer {
    bool found, done; /* it is on the PATH; it exited with code 0 */
    char text[4096];  /* the beginning of its stdout and stderr */
};

enum { NO_PROGRAM = 127 }; /* exit code of a child that did not find the program */

static void become(const char *const *words, int out) {
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    unsetenv("LD_PRELOAD"); /* libraries preloaded into this program are not meant for the tool */
    setenv("LC_ALL", "C", true);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(NO_PROGRAM);
}

/* Waits for the tool. The only time limit is that of the check. */
static void ask(struct answer *answer, const char *const *words) {
    int ends[2], status = 0;
    *answer = (struct answer){.found = false};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    pid_t child = cli_fork();
    if (child == 0) become(words, ends[1]);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got = 1; got > 0 && length < sizeof answer->text - 1;) {
        got = read(ends[0], answer->text + length, sizeof answer->text - 1 - length);
        if (got > 0) length += (size_t)got;
    }
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child) return;
    answer->done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    answer->found = length > 0 || !WIFEXITED(status) || WEXITSTATUS(status) != NO_PROGRAM;
}

bool doctor_tool_runs(const char *tool, const char *argument) {
    struct answer answer;
    ask(&answer, (const char *const[]){tool, argument, NULL});
    return answer.done;
}

/* ---- Valgrind ---------------------------------------------------------------------------------------------------- */

static void look_at_valgrind(doctor_finding *finding) {
    struct answer answer;
    ask(&answer, (const char *const[]){"valgrind", "-q", "true", NULL});
    if (!answer.found)
        doctor_find(finding, DOCTOR_NO, "install valgrind, to find uninitialised reads and leaks of pooled objects");
    else if (!answer.done)
        doctor_find(finding, DOCTOR_NO, "it is here, but does not run programs: %.300s", answer.text);
    else if (!(kolk_features() & KOLK_HAS_VALGRIND))
        doctor_find(finding, DOCTOR_PARTLY, "it runs; kolk was built without its headers: set KOLK_BYPASS=1 under it");
    else
        doctor_find(finding, DOCTOR_YES, "it runs, and kolk notices: objects come from malloc then, one by one");
}

/* ---- gdb --------------------------------------------------------------------------------------------------------- */

/* Finds the libkolk.so that was built or installed with this program. */
static bool find_library(char path[PATH_MAX]) {
    static const char *const places[] = {"libkolk.so.[0-9]", "../lib*/libkolk.so.[0-9]", "../lib*/*/libkolk.so.[0-9]"};
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash || here < 0) return false;
    slash[1] = '\0';
    if (chdir(path) != 0) return false;
    bool found = false;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
        glob_t matches;
        found = glob(places[i], 0, NULL, &matches) == 0 && realpath(matches.gl_pathv[0], path);
        globfree(&matches);
    }
    return fchdir(here) == 0 && found; /* restored, because the PATH may contain relative folders */
}

static void look_at_gdb(doctor_finding *finding) {
    struct answer answer;
    char library[PATH_MAX];
    bool has_library = find_library(library);
    ask(&answer, (const char *const[]){"gdb", "-batch", "-iex", "set debuginfod enabled off", "-ex",
                                       "python print('Py' + 'thon')", "-ex", "info pretty-printer .* kolk",
                                       has_library ? library : NULL, NULL});
    if (!answer.found)
        doctor_find(finding, DOCTOR_NO, "install gdb, to print pools and handles");
    else if (!strstr(answer.text, "Python\n"))
        doctor_find(finding, DOCTOR_NO, "it is here, but runs no Python, in which the printers are: %.300s",
                    answer.text);
    else if (!has_library)
        doctor_find(finding, DOCTOR_PARTLY,
                    "it runs; the printers are in libkolk.so, which is not beside this program");
    else if (strstr(answer.text, "\n  kolk\n"))
        doctor_find(finding, DOCTOR_YES, "it prints pools and handles, as %s tells it", library);
    else if (strstr(answer.text, "auto-loading has been declined"))
        doctor_find(finding, DOCTOR_PARTLY,
                    "it does not load the printers of pools before ~/.gdbinit says: add-auto-load-safe-path %s",
                    library);
    else
        doctor_find(finding, DOCTOR_PARTLY, "it runs, and finds no printers in %s: is that stripped?", library);
}

/* ---- Probes ------------------------------------------------------------------------------------------------------ */

static void look_at_probes(doctor_finding *finding) {
    bool perf = doctor_tool_runs("perf", "--version"), bpftrace = doctor_tool_runs("bpftrace", "--version");
    const char *tools = perf && bpftrace ? "perf and bpftrace run" : perf ? "perf runs" : "bpftrace runs";
    if (!(kolk_features() & KOLK_HAS_PROBES))
        doctor_find(finding, DOCTOR_NO, "kolk was built without: install systemtap-sdt-dev, and build it again");
    else if (!perf && !bpftrace)
        doctor_find(finding, DOCTOR_PARTLY, "kolk has them; to see them, install linux-perf or bpftrace");
    else
        doctor_find(finding, DOCTOR_YES, "kolk:alloc, free, full, grow, stale_handle; %s", tools);
}

/* ---- Tools that watch this run ----------------------------------------------------------------------------------- */

/* These are NULL where the program was not built with the sanitizer. */
#define WEAK __attribute__((weak))
extern WEAK void __asan_init(void);
extern WEAK void __lsan_do_leak_check(void);
extern WEAK void __msan_init(void);

const char *doctor_watcher(void) {
    kolk_pool pool;
    kolk_stats stats;
    unsetenv("KOLK_BYPASS");
    kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = 64, .capacity = 4});
    kolk_pool_stats(&pool, &stats);
    kolk_pool_deinit(&pool);
    if (!(stats.debug & KOLK_DEBUG_BYPASS)) return NULL;
    return __asan_init            ? "AddressSanitizer"
           : __msan_init          ? "MemorySanitizer"
           : __lsan_do_leak_check ? "LeakSanitizer"
                                  : "memcheck";
}

static void look_at_watcher(doctor_finding *finding) {
    const char *tool = doctor_watcher();
    if (tool)
        doctor_find(finding, DOCTOR_YES, "by %s, which sees each object by itself", tool);
    else
        doctor_find(finding, DOCTOR_NO, "by neither AddressSanitizer, LeakSanitizer, MemorySanitizer nor memcheck");
}

static const doctor_check tools_checks[] = {
    {"valgrind", look_at_valgrind},
    {"gdb", look_at_gdb},
    {"probes", look_at_probes},
    {"watched now", look_at_watcher},
    {0},
};

const doctor_group doctor_tools = {.name = "tools", .title = "Tools", .checks = tools_checks};
