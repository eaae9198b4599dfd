/* program.c: see program.h. */
#define _GNU_SOURCE
#include "program.h"
#include "../measure.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t running; /* 0: it has not started, or has ended */

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
static const int ignored[] = {SIGPIPE, SIGXFSZ}; /* the write fails instead, and the failure is reported */
enum { FORWARDED = sizeof forwarded / sizeof *forwarded, IGNORED = sizeof ignored / sizeof *ignored };
static struct sigaction before[FORWARDED + IGNORED];

/* Signals that are ignored while there is no program: after its end one, so that the trace becomes whole. The next one
 * is for this process. So nothing blocks for ever before the start or after the end, say a pipe that nobody reads. */
static volatile sig_atomic_t patience;

static void give_signals_back(void) {
    for (int i = 0; i < FORWARDED; i++) sigaction(forwarded[i], &before[i], NULL);
    for (int i = 0; i < IGNORED; i++) sigaction(ignored[i], &before[FORWARDED + i], NULL);
}

/* Signals from the kernel itself, such as those for Ctrl-C, already go to all foreground processes of the terminal. */
static void forward(int number, siginfo_t *info, void *context) {
    (void)context;
    int error = errno;
    if (running) {
        if (info->si_code <= 0) kill(running, number);
    } else if (patience > 0) {
        patience--;
    } else {
        give_signals_back();
        raise(number); /* it is blocked until this function returns */
    }
    errno = error;
}

void program_prepare(void) {
    struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction none = {.sa_handler = SIG_IGN};
    for (int i = 0; i < FORWARDED; i++) sigaction(forwarded[i], &action, &before[i]);
    for (int i = 0; i < IGNORED; i++) sigaction(ignored[i], &none, &before[FORWARDED + i]);
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static _Noreturn void become(char **arguments, int descriptor, int answer, const sigset_t *mask) {
    char setting[64];
    give_signals_back();
    sigprocmask(SIG_SETMASK, mask, NULL);
    snprintf(setting, sizeof setting, "%d:/proc/%d/fd/%d", (int)getpid(), (int)getppid(), descriptor);
    if (descriptor < 0 || setenv("KOLK_RECORD", setting, 1) == 0) execvp(arguments[0], arguments);
    int error = errno;
    ssize_t written = write(answer, &error, sizeof error);
    _exit(written < 0);
}

/* Returns the errno value from the pipe, or 0 if the pipe was closed, because then the program runs. */
static int take_answer(int answer) {
    int error = 0;
    ssize_t length;
    do length = read(answer, &error, sizeof error);
    while (length < 0 && errno == EINTR);
    return length == sizeof error ? error : 0;
}

int program_start(struct program *program, char **arguments, int descriptor) {
    int answer[2];
    sigset_t all, mask;
    if (pipe2(answer, O_CLOEXEC) != 0) return errno;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask); /* blocks signals until the child's id is known */
    program->begin_ns = cli_now();
    program->pid = fork();
    int error = program->pid < 0 ? errno : 0;
    if (!error) running = program->pid;
    if (program->pid == 0) become(arguments, descriptor, answer[1], &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(answer[1]);
    if (!error) error = take_answer(answer[0]);
    close(answer[0]);
    if (error && program->pid > 0) program_wait(program);
    return error;
}

/* Returns the processor time of the program, which has ended, but can still be asked. Its resource usage would include
 * the processes that it has waited for. Returns 0 if the system does not tell. */
static uint64_t ask_clock(pid_t pid) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static uint64_t nanoseconds(struct timeval time) {
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

void program_wait(struct program *program) {
    struct rusage usage = {0};
    siginfo_t unused;
    while (waitid(P_PID, (id_t)program->pid, &unused, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    program->wall_ns = cli_now() - program->begin_ns;
    program->processor_ns = ask_clock(program->pid);
    while (wait4(program->pid, &program->status, 0, &usage) < 0 && errno == EINTR) {}
    running = 0;
    patience = program->is_last;
    if (program->processor_ns == 0) program->processor_ns = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

int program_exit_code(const struct program *program) {
    return WIFSIGNALED(program->status) ? 128 + WTERMSIG(program->status) : WEXITSTATUS(program->status);
}
