/* glibc_support.h: stands in for glibc's support/ folder, so that glibc's tests of malloc compile without the rest of
 * glibc. For every header of glibc that these tests include, glibc.sh writes a file that includes this header instead.
 * The files test-driver.c and test-skeleton.c that it writes also define KOLK_MAIN; the tests include them last. */
#ifndef KOLK_TESTS_GLIBC_SUPPORT_H
#define KOLK_TESTS_GLIBC_SUPPORT_H

#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- What fails -------------------------------------------------------------------------------------------------- */

static int *failures; /* the number of failed checks, shared by the test and its children */

#define FAIL(...)                                                                                                      \
    (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n'),                                        \
     (void)__atomic_fetch_add(failures, 1, __ATOMIC_RELAXED))
#define FAIL_EXIT(status, ...) (FAIL(__VA_ARGS__), exit(status))
#define FAIL_EXIT1(...)        FAIL_EXIT(1, __VA_ARGS__)
#define FAIL_RET(...)          return (FAIL(__VA_ARGS__), 1)
#define FAIL_UNSUPPORTED(...)  FAIL_EXIT(77, __VA_ARGS__)
#define TEST_VERIFY(what)      ((what) ? (void)0 : FAIL("%s", #what))
#define TEST_VERIFY_EXIT(what) ((what) ? (void)0 : FAIL_EXIT1("%s", #what))
#define TEST_COMPARE(a, b)                                                                                             \
    ((a) == (b) ? (void)0 : FAIL("%s is %lld, %s is %lld", #a, (long long)(a), #b, (long long)(b)))
#define TEST_COMPARE_BLOB(a, a_size, b, b_size)                                                                        \
    TEST_VERIFY((a_size) == (b_size) && ((a_size) == 0 || memcmp(a, b, a_size) == 0))

/* ---- Warnings, of which none are asked for ----------------------------------------------------------------------- */

#define DIAG_PUSH_NEEDS_COMMENT
#define DIAG_POP_NEEDS_COMMENT
#define DIAG_IGNORE_NEEDS_COMMENT(version, option)
#define DIAG_IGNORE_Os_NEEDS_COMMENT(version, option)

#define MALLOC_ALIGNMENT    (2 * sizeof(size_t))
#define MALLOC_ALIGN_MASK   (MALLOC_ALIGNMENT - 1)
#define array_length(array) (sizeof(array) / sizeof((array)[0]))
#define DEFAULT_TIMEOUT     2 /* seconds; some tests run almost that long */

/* ---- Calls that end the test where they fail --------------------------------------------------------------------- */

static inline void *not_null(void *block) {
    TEST_VERIFY_EXIT(block);
    return block;
}

static inline int not_negative(int answer) {
    TEST_VERIFY_EXIT(answer >= 0);
    return answer;
}

static inline char *printed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define zero(call)                            TEST_VERIFY_EXIT((call) == 0)
#define xmalloc(size)                         not_null(malloc(size))
#define xcalloc(n, size)                      not_null(calloc(n, size))
#define xrealloc(block, size)                 not_null(realloc(block, size))
#define xstrdup(text)                         ((char *)not_null(strdup(text)))
#define xasprintf(...)                        printed(__VA_ARGS__)
#define xfork()                               not_negative(fork())
#define xopen(...)                            not_negative(open(__VA_ARGS__))
#define xwaitpid(...)                         not_negative(waitpid(__VA_ARGS__))
#define xsysconf(name)                        not_negative(sysconf(name))
#define xsignal(number, handler)              TEST_VERIFY_EXIT(signal(number, handler) != SIG_ERR)
#define xpthread_mutex_lock(mutex)            zero(pthread_mutex_lock(mutex))
#define xpthread_mutex_unlock(mutex)          zero(pthread_mutex_unlock(mutex))
#define xpthread_kill(thread, number)         zero(pthread_kill(thread, number))
#define xpthread_barrier_init(...)            zero(pthread_barrier_init(__VA_ARGS__))
#define xpthread_barrier_destroy(barrier)     zero(pthread_barrier_destroy(barrier))
#define xpthread_barrierattr_init(attributes) zero(pthread_barrierattr_init(attributes))
#define xpthread_barrierattr_destroy(it)      zero(pthread_barrierattr_destroy(it))
#define xpthread_barrierattr_setpshared(...)  zero(pthread_barrierattr_setpshared(__VA_ARGS__))
#define xmunmap(at, size)                     zero(munmap(at, size))

static inline char *printed(const char *format, ...) {
    char *text;
    va_list values;
    va_start(values, format);
    TEST_VERIFY_EXIT(vasprintf(&text, format, values) >= 0);
    va_end(values);
    return text;
}

static inline pthread_t xpthread_create(pthread_attr_t *attributes, void *(*run)(void *), void *context) {
    pthread_t thread;
    zero(pthread_create(&thread, attributes, run, context));
    return thread;
}

static inline void *xpthread_join(pthread_t thread) {
    void *result;
    zero(pthread_join(thread, &result));
    return result;
}

static inline int xpthread_barrier_wait(pthread_barrier_t *barrier) {
    int answer = pthread_barrier_wait(barrier);
    TEST_VERIFY_EXIT(answer == 0 || answer == PTHREAD_BARRIER_SERIAL_THREAD);
    return answer;
}

static inline void *xmmap(void *at, size_t size, int rights, int flags, int file) {
    void *start = mmap(at, size, rights, flags, file, 0);
    TEST_VERIFY_EXIT(start != MAP_FAILED);
    return start;
}

static inline void *support_shared_allocate(size_t size) {
    return xmmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
}

static inline void support_shared_free(void *shared) {
    (void)shared; /* freed when the process ends */
}

static inline void write_message(const char *text) {
    ssize_t written = write(STDOUT_FILENO, text, strlen(text));
    (void)written;
}

static inline int create_temp_file(const char *name, char **path) {
    char *pattern = printed("%s/%s.XXXXXX", getenv("TMPDIR"), name);
    int file = mkstemp(pattern);
    if (path) *path = pattern;
    return file;
}

#endif

/* ---- The program ------------------------------------------------------------------------------------------------- */

#ifdef KOLK_MAIN

/* Old tests define TEST_FUNCTION as do_test (); new ones define it as do_test, or not at all. */
static int run_test(void) {
#ifdef TEST_FUNCTION
    return _Generic((TEST_FUNCTION), int : TEST_FUNCTION, default : do_test());
#else
    return do_test();
#endif
}

int main(void) {
    failures = mmap(NULL, sizeof *failures, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (failures == MAP_FAILED) return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(60);
#ifdef TEST_RLIMIT_AS
    setrlimit(RLIMIT_AS, &(struct rlimit){TEST_RLIMIT_AS, TEST_RLIMIT_AS});
#endif
#ifdef EXPECTED_SIGNAL
    int status;
    pid_t child = fork();
    if (child == 0) _exit(run_test());
    waitpid(child, &status, 0);
    return !(WIFSIGNALED(status) && WTERMSIG(status) == EXPECTED_SIGNAL);
#else
    int result = run_test();
    return result ? result : *failures > 0;
#endif
}

#endif
