/* A program that allocates in a sandbox: after its first malloc it starts a seccomp filter, which allows only the
 * system calls of docs/malloc.md. On any other system call it prints the call's number and exits with 1. If the system
 * has no sandboxes, it exits with 77.
 * Usage: sandbox alone|threads|locked
 *     alone      one thread; time passes, so that unused memory goes back to the system
 *     threads    the same, also in threads that start and end; the system calls for threads are allowed too
 *     locked     no filter: all memory is locked, now and later */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_rseq
#define SYS_rseq SYS_write
#endif

/* ---- Time -------------------------------------------------------------------------------------------------------- */

/* clock_gettime below replaces libc's, for the library too: each reading is half a second later than the last. */
static long looks;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's parameters have other names */
int clock_gettime(clockid_t which, struct timespec *now) {
    (void)which;
    long halves = __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
    *now = (struct timespec){1000 + halves / 2, halves % 2 * 500000000};
    return 0;
}

/* ---- The filter -------------------------------------------------------------------------------------------------- */

static void say_which(int number, siginfo_t *info, void *context) {
    char text[] = "system call 0000\n";
    (void)number, (void)context;
    for (int n = info->si_syscall, at = 15; at >= 12; at--, n /= 10) text[at] = (char)('0' + n % 10);
    if (write(2, text, sizeof text - 1) < 0) _exit(2);
    _exit(1);
}

/* The system calls that malloc, printf and the end of a process make. */
static const int known[] = {SYS_mmap,  SYS_munmap, SYS_mprotect, SYS_mremap,     SYS_madvise,
                            SYS_futex, SYS_gettid, SYS_write,    SYS_exit_group, SYS_rt_sigreturn};

/* Further system calls that the start and the end of threads take: malloc makes the last three, libc the others. */
static const int known_of_threads[] = {SYS_clone3, SYS_clone,  SYS_rseq,   SYS_set_robust_list, SYS_rt_sigprocmask,
                                       SYS_exit,   SYS_getpid, SYS_tgkill, SYS_sched_yield};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static struct sock_filter filter[2 + 2 * (COUNT(known) + COUNT(known_of_threads))];
static unsigned short steps;

static void add_step(struct sock_filter step) {
    filter[steps++] = step;
}

static void let_through(const int *calls, size_t n) {
    for (size_t i = 0; i < n; i++) {
        add_step((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1));
        add_step((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
}

static void enter_sandbox(int with_threads) {
    add_step((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    let_through(known, COUNT(known));
    if (with_threads) let_through(known_of_threads, COUNT(known_of_threads));
    add_step((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
    struct sock_fprog program = {steps, filter};
    struct sigaction action = {.sa_sigaction = say_which, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        puts("there are no sandboxes here");
        exit(77);
    }
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

#define BLOCKS 1000

static void check(int holds, const char *what) {
    if (holds) return;
    puts(what);
    fflush(stdout);
    _exit(3);
}

/* Allocates blocks of many sizes by several functions, resizes some, and frees them all. */
static void work_once(void **blocks, unsigned round) {
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = i * 40 + (i % 50 == round % 50 ? 400000 : 0);
        if (i % 4 == 0) blocks[i] = calloc(1, size + 1);
        if (i % 4 == 1) blocks[i] = memalign(64, size);
        if (i % 4 > 1) blocks[i] = malloc(size);
        check(blocks[i] != NULL, "NULL");
        memset(blocks[i], 1, size < 100 ? size : 100);
    }
    for (size_t i = 0; i < BLOCKS; i += 3) {
        blocks[i] = realloc(blocks[i], (i * 7919 + round) % 900000 + 1);
        check(blocks[i] != NULL, "NULL");
    }
    for (size_t i = 0; i < BLOCKS; i++) free(blocks[i]);
}

static void *work(void *rounds) {
    void **blocks = malloc(BLOCKS * sizeof *blocks);
    check(blocks != NULL, "NULL");
    for (unsigned round = 0; round < (uintptr_t)rounds; round++) work_once(blocks, round);
    malloc_trim(0);
    free(blocks);
    return NULL;
}

static void in_threads(int rounds, int many) {
    pthread_t threads[4];
    for (int round = 0; round < rounds; round++) {
        for (int n = 0; n < many; n++)
            check(pthread_create(&threads[n], NULL, work, (void *)(uintptr_t)2) == 0, "no thread");
        for (int n = 0; n < many; n++) pthread_join(threads[n], NULL);
    }
}

static void *do_nothing(void *unused) {
    return unused;
}

/* Makes the calls that libc makes once for threads. They must come before the filter. */
static void start_a_thread(void) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, do_nothing, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

/* Returns the process's resident memory in megabytes. */
static long resident(void) {
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) exit(4);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) >> 20;
}

static int locked(void) {
    free(malloc(100));
    long before = resident();
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        printf("mlockall: %s\n", strerror(errno)); /* there is a limit, or it is not allowed */
        return 77;
    }
    for (size_t size = 1; size < 300000; size = size * 5 / 4 + 1) check(malloc(size) != NULL, "NULL");
    long more = resident() - before;
    if (more < 100) return puts("done"), 0;
    printf("%ld MB more are resident\n", more);
    return 1;
}

int main(int argc, char **argv) {
    static char buffer[4096];
    int with_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
    if (argc > 1 && strcmp(argv[1], "locked") == 0) return locked();
    void *volatile first = malloc(100); /* the only call before the filter; volatile, so that it is not left out */
    free(first);
    if (with_threads) start_a_thread();
    enter_sandbox(with_threads);
    long before = looks;
    work((void *)(uintptr_t)20);
    if (with_threads) in_threads(5, 4);
    if (getenv("LD_PRELOAD") && looks < before + 20) return puts("the clock was not looked at"), 1;
    puts("done");
    return 0;
}
