/* runs: not:wine wraps: pthread_sigmask */
/* A signal handler forks while its thread is forking, or is taking or releasing the process's lock. */
#include "../help/test.h"

#include "os/lock.h"

#ifndef __linux__
int main(void) {
    return 0;
}
#else
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned moment, moments; /* the signal comes at this moment; 0: never */
static volatile sig_atomic_t forked;

int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);

static void pass_moment(void) {
    if (++moments == moment) raise(SIGUSR1);
}

/* A fork blocks signals while it takes the lock, and while it releases it. */
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    pass_moment();
    int error = __real_pthread_sigmask(how, set, before);
    pass_moment();
    return error;
}

/* Forks a child that uses the lock and exits with 0. */
static void fork_once(void) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        kolk_lock_();
        kolk_unlock_();
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0) {}
    assert_int_equal(status, 0);
}

static void fork_in_handler(int number) {
    fork_once();
    forked = true;
}

static void test_fork_within_fork(void **state) {
    END_IF_IT_HANGS();
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = fork_in_handler}, NULL);
    for (unsigned n = 1; n <= 8; n++) {
        forked = false;
        moments = 0;
        moment = n;
        fork_once();
        assert_true(forked);
        moment = 0;
        kolk_lock_();
        kolk_unlock_();
    }
}

/* Both processes continue the interrupted operation. */
static void fork_and_go_on(int number) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) alarm(60);
    while (child > 0 && waitpid(child, &status, 0) < 0) {}
    forked = status == 0;
}

static void use_lock(void) {
    kolk_lock_();
    kolk_unlock_();
    if (kolk_lock_unless_forking_()) kolk_unlock_();
}

/* True if the child exits by itself with 0. Kills it after 20 s, because it may deadlock with signals blocked. */
static bool ends_well(pid_t child) {
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < 20000 && ended == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        ended = waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) kill(child, SIGKILL);
    return ended == child && status == 0;
}

/* Starts a process that stops before it uses the lock, to be single-stepped. */
static pid_t begin_stepped(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(0);
        raise(SIGSTOP);
        use_lock();
        raise(SIGCONT); /* ends the single-stepping */
        use_lock();
        _exit(forked ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) {
        print_message("left out: the system lets no process step through another here\n");
        skip();
    }
    return child;
}

/* Returns false if the process has used the lock already. */
static bool step(pid_t child) {
    int status;
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    return WSTOPSIG(status) == SIGTRAP;
}

/* Forks at each instruction that takes or releases the lock. */
static void test_fork_within_lock(void **state) {
    skip_if_emulated();
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = fork_and_go_on}, NULL);
    bool goes_on = true;
    int instructions = 0;
    forked = false;
    for (; goes_on; instructions++) {
        pid_t child = begin_stepped();
        for (int i = 0; i < instructions && goes_on; i++) goes_on = step(child);
        ptrace(PTRACE_DETACH, child, NULL, (void *)(intptr_t)(goes_on ? SIGUSR1 : SIGKILL));
        if (goes_on) assert_true(ends_well(child));
    }
    assert_in_range(instructions, 50, 5000);
}

static uint32_t taken;

static void *take_lock(void *unused) {
    kolk_lock_();
    __atomic_store_n(&taken, 1, __ATOMIC_RELAXED);
    kolk_unlock_();
    return unused;
}

/* After a fork by a signal handler, the interrupted thread still holds its lock. */
static void test_lock_stays(void **state) {
    END_IF_IT_HANGS();
    pthread_t other;
    fork_once(); /* the thread that took the lock has released it */
    kolk_lock_();
    pid_t child = fork();
    if (child == 0) _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(pthread_create(&other, NULL, take_lock, NULL), 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(__atomic_load_n(&taken, __ATOMIC_RELAXED), 0);
    kolk_unlock_();
    pthread_join(other, NULL);
    assert_int_equal(taken, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork_within_fork),
        cmocka_unit_test(test_fork_within_lock),
        cmocka_unit_test(test_lock_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
