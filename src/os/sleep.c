/* sleep.c: see sleep.h.
 *
 * On Linux, sleeping on a word of memory is what a futex does (Franke, Russell, Kirkwood, "Fuss, Futexes and Furwocks",
 * 2002): the kernel compares and sleeps atomically, so a thread that changes the word and then wakes its sleepers
 * reaches every thread that still saw the old value.
 *
 * On other systems, a few beds do the same. A bed is a lock with a condition variable, its bell; a word's address
 * selects the bed for the threads that sleep on it. Words that share a bed wake each other's sleepers, which then find
 * their word unchanged.
 *
 * Scheduled tests replace kolk_wait_ and kolk_wake_ (tests/help/schedule.h). */
#include "system.h"

#include "kolk/base.h"

#include "sleep.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <sched.h>
#endif

void kolk_yield_(void) {
    kolk_pause_(); /* a scheduled test may switch threads here */
#ifdef _WIN32
    SwitchToThread();
#else
    sched_yield();
#endif
}

#ifdef KOLK_SCHEDULED
#elif defined(__linux__) && !defined(KOLK_NO_FUTEX) /* a test defines KOLK_NO_FUTEX to try the beds on Linux */
#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The values from <linux/futex.h>, which musl-gcc does not find because it has no kernel headers. */
#define FUTEX_WAKE             1
#define FUTEX_WAIT_BITSET      9
#define FUTEX_PRIVATE_FLAG     128
#define FUTEX_BITSET_MATCH_ANY 0xffffffffu

/* A deadline beyond the range of the system's types takes several sleeps. */
static bool sleep_on(uint32_t *word, uint32_t expected, kolk_deadline deadline, int whose) {
    KOLK_ASSERT_((uintptr_t)word % sizeof *word == 0);
    int64_t ns = deadline.ns > 0 ? deadline.ns : 0, seconds = ns / 1000000000;
    const struct {
        long seconds, nanoseconds; /* the types that SYS_futex takes, even where time_t is longer */
    } end = {(long)(seconds < LONG_MAX ? seconds : LONG_MAX), (long)(ns % 1000000000)};
    int before = errno;
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | whose, expected,
                          deadline.ns == KOLK_FOREVER.ns ? NULL : &end, NULL, FUTEX_BITSET_MATCH_ANY);
    bool timed_out = result != 0 && errno == ETIMEDOUT;
    errno = before;
    return !timed_out || kolk_now_ns_() < deadline.ns;
}

static void wake_on(uint32_t *word, uint32_t n, int whose) {
    syscall(SYS_futex, word, FUTEX_WAKE | whose, n < INT_MAX ? (int)n : INT_MAX, NULL, NULL, 0);
}

bool kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    return sleep_on(word, expected, deadline, FUTEX_PRIVATE_FLAG);
}

void kolk_wake_(uint32_t *word, uint32_t n) {
    wake_on(word, n, FUTEX_PRIVATE_FLAG);
}

bool kolk_wait_between_(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    return sleep_on(word, expected, deadline, 0);
}

void kolk_wake_between_(uint32_t *word, uint32_t n) {
    wake_on(word, n, 0);
}
#else
#include "cancel.h"
#include "clock.h"
#include "forks.h"

/* The longest single sleep: a deadline may lie beyond the range of the system's types. */
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
#include <pthread.h>
#include <time.h>

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
    bool has_bell; /* `bell` is initialised; a thread may have slept here */
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

#ifdef __APPLE__ /* bells there use the wall clock, which can be set back, but also accept a relative time */
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
    struct timespec end = timespec_of(kolk_now_ns_() + ns);
    pthread_cond_timedwait(&mine->bell, &mine->lock, &end);
}
#endif

/* The threads that slept in a bed or held its lock do not exist in a fork's child. */
static void renew_beds(void) {
    static const bed unused = BED;
    for (size_t i = 0; i < sizeof beds / sizeof *beds; i++) beds[i] = unused;
}

__attribute__((constructor)) static void renew_beds_in_forks(void) {
    kolk_forks_tell_(renew_beds);
}
#endif

/* Sleeps until the bell rings, for `ns` at most, perhaps less. Returns immediately if the system cannot make a bell. */
static void sleep_in(bed *mine, int64_t ns) {
    KOLK_ASSERT_(ns > 0);
    if (!mine->has_bell) mine->has_bell = make_bell(&mine->bell);
    int cancel = kolk_cancel_off_();
    if (mine->has_bell) listen_for(mine, ns < LONGEST_SLEEP ? ns : LONGEST_SLEEP);
    kolk_cancel_restore_(cancel);
}

bool kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    bed *mine = bed_of(word);
    lock_bed(mine);
    bool as_expected = kolk_raw_load_(word, KOLK_SEQ_CST_) == expected;
    int64_t left = deadline.ns > 0 ? deadline.ns - kolk_now_ns_() : 0;
    if (as_expected && left > 0) sleep_in(mine, left);
    unlock_bed(mine);
    return !as_expected || kolk_now_ns_() < deadline.ns;
}

void kolk_wake_(uint32_t *word, uint32_t n) {
    (void)n; /* other words may share the bell, so wake all sleepers */
    bed *mine = bed_of(word);
    lock_bed(mine);
    if (mine->has_bell) ring(mine);
    unlock_bed(mine);
}
#endif

#endif
