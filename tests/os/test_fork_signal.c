/* A signal's handler forks while its thread is forking: at each of the moments when the fork takes the process's lock
 * or gives it back. */
// link: -Wl,--wrap=pthread_mutex_lock,--wrap=pthread_mutex_unlock
#include "../help/test.h"

#include "os/lock.h"

#ifdef _WIN32
int main(void) {
    return 0;
}
#else
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned moment, moments; /* the signal comes at this one of them; 0: at none */
static volatile sig_atomic_t forked;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

static void pass_moment(void) {
    if (++moments == moment) raise(SIGUSR1);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    pass_moment();
    int error = __real_pthread_mutex_lock(mutex);
    pass_moment();
    return error;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    pass_moment();
    int error = __real_pthread_mutex_unlock(mutex);
    pass_moment();
    return error;
}

/* A child that uses the lock, and ends well. */
static void fork_once(void) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        kolk_lock();
        kolk_unlock();
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0) {}
    assert_int_equal(status, 0);
}

static void fork_in_handler(int number) {
    (void)number;
    fork_once();
    forked = true;
}

static void test_fork_within_fork(void **state) {
    (void)state;
    END_IF_IT_HANGS();
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = fork_in_handler}, NULL);
    for (unsigned n = 1; n <= 4; n++) {
        forked = false;
        moments = 0;
        moment = n;
        fork_once();
        assert_true(forked);
        moment = 0;
        kolk_lock();
        kolk_unlock();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fork_within_fork)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
