/* measure.c: see measure.h. */
#define _POSIX_C_SOURCE 200809L
#include "measure.h"
#include "print.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <time.h>
#include <unistd.h>

uint64_t cli_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double cli_quantile(double *values, size_t count, double part) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, compare);
    double place = part * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count) return values[count - 1];
    return values[below] + (place - (double)below) * (values[below + 1] - values[below]);
}

enum { ROUNDS_LEAST = 9, ROUNDS_MOST = 501 };

size_t cli_rounds(const cli_context *cli, struct cli_side *sides, size_t count, uint64_t time) {
    double *times = malloc(count * ROUNDS_MOST * sizeof *times);
    uint64_t start = cli_now();
    bool done = times != NULL;
    size_t round = 0;
    for (; done && (round <= ROUNDS_LEAST || (round <= ROUNDS_MOST && cli_now() - start < time)); round++) {
        cli_progress(cli, "measuring", cli_now() - start, time);
        for (size_t i = 0; done && i < count; i++) {
            uint64_t before = cli_now();
            done = sides[i].run(sides[i].what);
            if (round > 0) times[i * ROUNDS_MOST + round - 1] = (double)(cli_now() - before);
        }
    }
    for (size_t i = 0; done && i < count; i++) sides[i].ns = cli_quantile(times + i * ROUNDS_MOST, round - 1, 0.5);
    free(times);
    return done ? round - 1 : 0;
}

/* The kernel's counters for a process (statm, VmHWM) lag behind by up to 64 pages per thread, and count newly touched
 * code. smaps_rollup walks the page tables and separates data from code. The file is read without stdio, so that
 * reading it allocates no memory. */
uint64_t cli_resident(void) {
    char text[2048];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char *line = strstr(text, "\nAnonymous:");
    return line ? (uint64_t)strtoull(line + strlen("\nAnonymous:"), NULL, 10) * 1024 : 0;
}

int cli_fork(void) {
    pid_t parent = getpid(), child = fork();
    if (child != 0) return child;
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(CLI_FAILED); /* it has ended already */
    return 0;
}

/* Moves `size` bytes through a pipe; returns false if the pipe ends early. */
static bool move_bytes(int pipe, bool out, void *data, size_t size) {
    for (size_t done = 0; done < size;) {
        char *at = (char *)data + done;
        ssize_t moved = out ? write(pipe, at, size - done) : read(pipe, at, size - done);
        if (moved <= 0) return false;
        done += (size_t)moved;
    }
    return true;
}

static bool complain(const char *what, const char *why) {
    cli_fail(CLI_FAILED, "%s%s", what, why);
    return false;
}

bool cli_isolated_begin(struct cli_isolation *isolation, void (*work)(const void *input, void *result),
                        const void *input, const void *result, size_t size) {
    void *brought = malloc(size);
    int ends[2];
    if (!brought) return complain("there is no memory", "");
    if (pipe(ends) != 0) {
        free(brought);
        return complain("the system gives no pipe", "");
    }
    pid_t child = cli_fork();
    if (child == 0) {
        close(ends[0]);
        memcpy(brought, result, size);
        work(input, brought);
        _exit(!move_bytes(ends[1], true, brought, size)); /* not exit: stdio's buffers are the parent's to flush */
    }
    close(ends[1]);
    free(brought);
    *isolation = (struct cli_isolation){child, ends[0]};
    if (child > 0) return true;
    close(ends[0]);
    return complain("the system gives no child process", "");
}

bool cli_isolated_end(const struct cli_isolation *isolation, void *result, size_t size) {
    void *brought = malloc(size);
    bool all = brought && move_bytes(isolation->pipe, false, brought, size);
    close(isolation->pipe);
    int status = 0;
    waitpid(isolation->pid, &status, 0);
    if (all) memcpy(result, brought, size);
    free(brought);
    if (!brought) return complain("there is no memory", "");
    if (WIFSIGNALED(status)) return complain("a child process was ended: ", strsignal(WTERMSIG(status)));
    return all || complain("a child process ended too early", "");
}

bool cli_isolated(void (*work)(const void *input, void *result), const void *input, void *result, size_t size) {
    struct cli_isolation isolation;
    return cli_isolated_begin(&isolation, work, input, result, size) && cli_isolated_end(&isolation, result, size);
}
