/* wait.c: the clock, the locks, sleep, the environment. With memory.c, files.c and sites.c it knows the operating
 * system.
 *
 * A thread sleeps on a word of memory while that has an expected value. Linux has this as the futex (Franke, Russell,
 * Kirkwood, "Fuss, Futexes and Furwocks", 2002): the kernel compares and lies down under one lock, so that who changes
 * the word and then wakes finds everybody who still saw the old value. Elsewhere the lock is one of a few, chosen by
 * the word's address, with a condition variable; words that share one wake each other's sleepers, who then find nothing
 * new. */
#if defined(__linux__) || defined(__APPLE__) || defined(__unix__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clock_gettime, pthread_mutex_t under -std=c11 */
#endif
#endif
#include "kolk/base.h"

#include "wait.h"

#if __STDC_HOSTED__

#include "../core/atomics.h"

#include <stdlib.h>

#ifdef _WIN32
#include <windows.h>

static SRWLOCK lock = SRWLOCK_INIT;

void kolk_lock(void) {
    AcquireSRWLockExclusive(&lock);
}

void kolk_unlock(void) {
    ReleaseSRWLockExclusive(&lock);
}

int kolk_cancel_off(void) {
    return 0;
}

void kolk_cancel_restore(int before) {
    (void)before;
}

bool kolk_has_more_rights(void) {
    return false;
}

uint32_t kolk_forks(void) {
    return 0;
}

uint32_t kolk_thread(void) {
    return GetCurrentThreadId();
}

bool kolk_thread_is_gone(uint32_t thread) {
    HANDLE handle = OpenThread(SYNCHRONIZE, FALSE, thread);
    if (!handle) return GetLastError() == ERROR_INVALID_PARAMETER;
    bool gone = WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
    CloseHandle(handle);
    return gone;
}

bool kolk_thread_has_ended(uint32_t thread) {
    return kolk_thread_is_gone(thread);
}

bool kolk_key_make(uintptr_t *key, void(KOLK_AT_THREADS_END *end)(void *value)) {
    *key = FlsAlloc(end);
    return *key != FLS_OUT_OF_INDEXES;
}

void kolk_key_drop(uintptr_t key) {
    FlsFree((DWORD)key);
}

void *kolk_key_get(uintptr_t key) {
    return FlsGetValue((DWORD)key);
}

bool kolk_key_set(uintptr_t key, void *value) {
    return FlsSetValue((DWORD)key, value);
}
#else
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool is_forking; /* and has the lock, also in the handlers of others that run within ours */

void kolk_lock(void) {
    if (!is_forking) pthread_mutex_lock(&lock);
}

void kolk_unlock(void) {
    if (!is_forking) pthread_mutex_unlock(&lock);
}

#ifdef PTHREAD_CANCEL_DISABLE
int kolk_cancel_off(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void kolk_cancel_restore(int before) {
    int off;
    pthread_setcancelstate(before, &off);
}
#else /* Android */
int kolk_cancel_off(void) {
    return 0;
}

void kolk_cancel_restore(int before) {
    (void)before;
}
#endif

static uint32_t forks;

uint32_t kolk_forks(void) {
    return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

#ifdef __linux__
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

/* A thread's number is what the system called it at its first call, below a count of the forks until then. In a fork's child
 * the thread that forked keeps it, though the system calls it by the process's number there, and may give its old one to
 * another thread: the count keeps the two apart. */
#define NUMBER_BITS 22 /* the system's are less than 1 << 22 (PID_MAX_LIMIT) */
static _Thread_local uint32_t my_number;
static uint32_t forked; /* the thread that forked last */
static pid_t process;   /* since then; in one that _Fork or clone has made, still its parent */

uint32_t kolk_thread(void) {
    if (!my_number) my_number = kolk_forks() << NUMBER_BITS | (uint32_t)syscall(SYS_gettid);
    return my_number;
}

/* What the system calls a thread; 0, which it calls none, if it did not come along through the last fork. */
static uint32_t number_of(uint32_t thread) {
    if (thread == forked) return (uint32_t)process;
    uint32_t here = kolk_forks() << NUMBER_BITS;
    return thread >> NUMBER_BITS == here >> NUMBER_BITS ? thread - here : 0;
}

/* Nothing is, in a process that was made behind our back. */
static bool is_known(uint32_t thread) {
    return thread && getpid() == process;
}

bool kolk_thread_is_gone(uint32_t thread) {
    if (!is_known(thread)) return false;
    int before = errno;
    uint32_t number = number_of(thread);
    bool gone = !number || (syscall(SYS_tgkill, process, number, 0) != 0 && errno == ESRCH);
    errno = before;
    return gone;
}

#define EXITING   4u /* of the flags, since Linux 2.4: it will not come back from the system */
#define FLAGS_ARE 7  /* words behind the last parenthesis: proc(5) */

static bool is_exiting(uint32_t number) {
    char name[40], text[400];
    snprintf(name, sizeof name, "/proc/self/task/%u/stat", number);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[length > 0 ? length : 0] = 0;
    const char *at = strrchr(text, ')');
    for (int n = 0; at && n < FLAGS_ARE; n++) at = strchr(at + 1, ' ');
    return at && (strtoul(at, NULL, 10) & EXITING);
}

/* In this order: a thread that /proc did not know any more is one that the system does not know. */
bool kolk_thread_has_ended(uint32_t thread) {
    int before = errno, cancel = kolk_cancel_off();
    bool exiting = is_known(thread) && is_exiting(number_of(thread));
    kolk_cancel_restore(cancel);
    errno = before;
    return exiting || kolk_thread_is_gone(thread);
}

static void remember_process(void) {
    forked = my_number;
    process = getpid();
}
#else
uint32_t kolk_thread(void) {
    return 0;
}

bool kolk_thread_is_gone(uint32_t thread) {
    (void)thread;
    return false;
}

bool kolk_thread_has_ended(uint32_t thread) {
    return kolk_thread_is_gone(thread);
}

static void remember_process(void) {}
#endif

static void begin_fork(void) {
    kolk_lock();
    is_forking = true;
}

static void end_fork(void) {
    is_forking = false;
    kolk_unlock();
}

static void go_on_in_child(void) {
    remember_process();
    forks++;
    end_fork();
}

/* Before main: there is no moment when the lock is used and a fork does not know of it. */
__attribute__((constructor)) static void let_forks_wait(void) {
    remember_process();
    pthread_atfork(begin_fork, end_fork, go_on_in_child);
}

bool kolk_key_make(uintptr_t *key, void (*end)(void *value)) {
    pthread_key_t made;
    if (pthread_key_create(&made, end) != 0) return false;
    *key = (uintptr_t)made;
    return true;
}

void kolk_key_drop(uintptr_t key) {
    pthread_key_delete((pthread_key_t)key);
}

void *kolk_key_get(uintptr_t key) {
    return pthread_getspecific((pthread_key_t)key);
}

bool kolk_key_set(uintptr_t key, void *value) {
    return pthread_setspecific((pthread_key_t)key, value) == 0;
}

bool kolk_has_more_rights(void) {
#ifdef __linux__
    return getauxval(AT_SECURE);
#else
    return getuid() != geteuid() || getgid() != getegid();
#endif
}
#endif

const char *kolk_environment(const char *name) {
    return kolk_has_more_rights() ? NULL : getenv(name);
}

kolk_deadline kolk_deadline_after(int64_t milliseconds) {
    if (milliseconds <= 0) return KOLK_NOW;
    int64_t now = kolk_now_ns();
    if (milliseconds > (INT64_MAX - now) / 1000000) return KOLK_FOREVER;
    return (kolk_deadline){now + milliseconds * 1000000};
}

/* ---- The clock and sleep; a scheduled test has its own, in tests/help/schedule.h --------------------------------- */

#ifndef KOLK_SCHEDULED

#ifdef _WIN32
int64_t kolk_now_ns(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return count.QuadPart / frequency.QuadPart * 1000000000 +
           count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}
#else
int64_t kolk_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
#endif

#if defined(__linux__) && !defined(KOLK_NO_FUTEX) /* a test defines it, to try the other way on Linux */
#include <limits.h>
#include <sys/syscall.h>

/* As in <linux/futex.h>, which is not on the path of every C library's compiler: musl's brings no headers of the kernel. */
#define FUTEX_WAKE             1
#define FUTEX_WAIT_BITSET      9
#define FUTEX_PRIVATE_FLAG     128
#define FUTEX_BITSET_MATCH_ANY 0xffffffffu

/* A deadline that is too far for the system is slept for in parts. */
bool kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    int64_t ns = deadline.ns > 0 ? deadline.ns : 0, seconds = ns / 1000000000;
    const struct {
        long seconds, nanoseconds; /* what SYS_futex takes, even where time_t is longer */
    } end = {(long)(seconds < LONG_MAX ? seconds : LONG_MAX), (long)(ns % 1000000000)};
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                          deadline.ns == KOLK_FOREVER.ns ? NULL : &end, NULL, FUTEX_BITSET_MATCH_ANY);
    return result == 0 || errno != ETIMEDOUT || kolk_now_ns() < deadline.ns;
}

void kolk_wake(uint32_t *word, uint32_t n) {
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n < INT_MAX ? (int)n : INT_MAX, NULL, NULL, 0);
}
#else

/* Nobody sleeps longer than this at a time: a deadline may be further than the system's types reach. */
#define LONGEST_SLEEP INT64_C(1000000000)

#ifdef _WIN32
typedef SRWLOCK bed_lock;
typedef CONDITION_VARIABLE bed_bell;
#define BED                                                                                                            \
    { .lock = SRWLOCK_INIT, .bell = CONDITION_VARIABLE_INIT, .has_bell = true }
#define lock_bed(bed)   AcquireSRWLockExclusive(&(bed)->lock)
#define unlock_bed(bed) ReleaseSRWLockExclusive(&(bed)->lock)
#define ring(bed)       WakeAllConditionVariable(&(bed)->bell)
#else
typedef pthread_mutex_t bed_lock;
typedef pthread_cond_t bed_bell;
#define BED                                                                                                            \
    { .lock = PTHREAD_MUTEX_INITIALIZER }
#define lock_bed(bed)   pthread_mutex_lock(&(bed)->lock)
#define unlock_bed(bed) pthread_mutex_unlock(&(bed)->lock)
#define ring(bed)       pthread_cond_broadcast(&(bed)->bell)
#endif

typedef struct bed {
    bed_lock lock;
    bed_bell bell;
    bool has_bell; /* one that goes by the monotonic clock; somebody may have slept here */
} bed;

static bed beds[] = {BED, BED, BED, BED, BED, BED, BED, BED};

static bed *bed_of(const uint32_t *word) {
    return &beds[((uintptr_t)word >> 6) % (sizeof beds / sizeof *beds)];
}

#ifdef _WIN32
static bool make_bell(bed_bell *bell) {
    (void)bell;
    return true;
}

static void listen_for(bed *mine, int64_t ns) {
    SleepConditionVariableSRW(&mine->bell, &mine->lock, (DWORD)((ns + 999999) / 1000000), 0);
}
#else
static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

#ifdef __APPLE__ /* knows no clock for it but that of the day, which can be set back; but time from now on */
static bool make_bell(bed_bell *bell) {
    return pthread_cond_init(bell, NULL) == 0;
}

static void listen_for(bed *mine, int64_t ns) {
    struct timespec time = timespec_of(ns);
    pthread_cond_timedwait_relative_np(&mine->bell, &mine->lock, &time);
}
#else
static bool make_bell(bed_bell *bell) {
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0) return false; /* GCOVR_EXCL_BR_LINE: glibc's never fail */
    bool made = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 && pthread_cond_init(bell, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    return made;
}

static void listen_for(bed *mine, int64_t ns) {
    struct timespec end = timespec_of(kolk_now_ns() + ns);
    pthread_cond_timedwait(&mine->bell, &mine->lock, &end);
}
#endif

/* Those who slept or had a lock when the process forked are not in its child. */
static void renew_beds(void) {
    static const bed unused = BED;
    for (size_t i = 0; i < sizeof beds / sizeof *beds; i++) beds[i] = unused;
}

__attribute__((constructor)) static void renew_beds_in_forks(void) {
    pthread_atfork(NULL, NULL, renew_beds);
}
#endif

/* Until the bell rings, or for so long, or shorter: not at all, if the system has no bell to give. */
static void sleep_in(bed *mine, int64_t ns) {
    if (!mine->has_bell) mine->has_bell = make_bell(&mine->bell);
    int cancel = kolk_cancel_off();
    if (mine->has_bell) listen_for(mine, ns < LONGEST_SLEEP ? ns : LONGEST_SLEEP);
    kolk_cancel_restore(cancel);
}

bool kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    bed *mine = bed_of(word);
    lock_bed(mine);
    bool as_expected = __atomic_load_n(word, __ATOMIC_SEQ_CST) == expected;
    int64_t left = deadline.ns - kolk_now_ns();
    if (as_expected && left > 0) sleep_in(mine, left);
    unlock_bed(mine);
    return !as_expected || kolk_now_ns() < deadline.ns;
}

void kolk_wake(uint32_t *word, uint32_t n) {
    (void)n; /* others may share the bell: all look */
    bed *mine = bed_of(word);
    lock_bed(mine);
    if (mine->has_bell) ring(mine);
    unlock_bed(mine);
}
#endif

#endif

void kolk_yield(void) {
    kolk_pause(); /* where a scheduled test may let another thread go on */
#ifdef _WIN32
    SwitchToThread();
#else
    sched_yield();
#endif
}

/* ---- A lock of one word: 0 free, 1 taken, 2 taken and somebody may sleep (Drepper, Futexes Are Tricky, 2011) -----------
 * The bits above say in which fork's process: whoever had it in another one is not here to give it back. */

#ifndef KOLK_SCHEDULED
#define SPINS 100
#else
#define SPINS 1 /* so that scheduled tests come to sleep */
#endif

static bool is_free(uint32_t word, uint32_t here) {
    return word == 0 || (word & ~UINT32_C(3)) != here;
}

void kolk_lock_word(uint32_t *word) {
    uint32_t here = kolk_forks() << 2, expected = 0;
    for (int i = 0; i < SPINS; i++) { /* it is held for moments */
        if (kolk_compare_exchange(word, &expected, here | 1, KOLK_ACQUIRE, KOLK_RELAXED)) return;
        if (is_free(expected, here)) continue;
        expected = 0;
        kolk_pause();
    }
    while (!is_free(kolk_exchange(word, here | 2, KOLK_ACQUIRE), here)) kolk_wait(word, here | 2, KOLK_FOREVER);
}

void kolk_unlock_word(uint32_t *word) {
    if (kolk_exchange(word, 0, KOLK_RELEASE) & 2) kolk_wake(word, 1);
}

/* ---- Events that poll sees -------------------------------------------------------------------------------------------- */

#ifdef __linux__
#include <sys/eventfd.h>

int kolk_event_open(void) {
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void kolk_event_set(int fd) {
    int cancel = kolk_cancel_off();
    while (eventfd_write(fd, 1) != 0 && errno == EINTR) {} /* it can't be full: it is reset before it is set again */
    kolk_cancel_restore(cancel);
}

void kolk_event_reset(int fd) {
    eventfd_t value;
    int cancel = kolk_cancel_off();
    while (eventfd_read(fd, &value) != 0 && errno == EINTR) {}
    kolk_cancel_restore(cancel);
}

void kolk_event_close(int fd) {
    int cancel = kolk_cancel_off();
    close(fd);
    kolk_cancel_restore(cancel);
}
#else
int kolk_event_open(void) {
    return -1;
}

void kolk_event_set(int fd) {
    (void)fd;
}

void kolk_event_reset(int fd) {
    (void)fd;
}

void kolk_event_close(int fd) {
    (void)fd;
}
#endif

#else

typedef int kolk_wait_is_empty_here; /* a translation unit may not be */

#endif
