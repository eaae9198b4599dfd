/* forks.c: see forks.h. */
#include "system.h"

#include "kolk/base.h"

#include "forks.h"

#if KOLK_HOSTED

uint32_t kolk_fork_count_;
uint32_t *kolk_fork_mark_;

#if defined(_WIN32) || defined(__EMSCRIPTEN__)

void kolk_forks_notice_(void) {}
void kolk_forks_watch_(void) {}

bool kolk_forks_are_others_(void) {
    return false;
}

void kolk_forks_tell_(void (*mend)(void)) {
    (void)mend;
}

#else

#include "../base/assert.h"
#include "signals.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_MENDERS 2 /* lock.c and sleep.c */

/* The values of the mark. The system makes it UNSEEN in a copy. */
enum { UNSEEN, NOTICED = KOLK_FORKS_NOTICED_, BEING_NOTICED };

static uint32_t unseen; /* the mark if the system wipes no pages: it stays UNSEEN, so everybody asks for the number */
static pid_t counted_process; /* the number of the process that kolk_fork_count_ counts */
static void (*menders[MOST_MENDERS])(void);
static unsigned n_menders;

static void count_fork(void) {
    kolk_raw_store_(&counted_process, getpid(), KOLK_RELAXED_);
    kolk_raw_fetch_add_(&kolk_fork_count_, 1, KOLK_RELAXED_);
    for (unsigned n = 0; n < n_menders; n++) menders[n]();
}

static bool is_this_process(void) {
    return kolk_raw_load_(&counted_process, KOLK_RELAXED_) == getpid();
}

/* A signal that came in the middle would find the mark BEING_NOTICED for ever. */
void kolk_forks_notice_(void) {
    uint32_t *mark = kolk_fork_mark_, expected = UNSEEN;
    if (mark == &unseen && is_this_process()) return;
    sigset_t before = kolk_signals_off_();
    if (mark == &unseen) {
        count_fork();
    } else if (kolk_raw_compare_exchange_(mark, &expected, BEING_NOTICED, KOLK_ACQUIRE_, KOLK_ACQUIRE_)) {
        count_fork();
        kolk_raw_store_(mark, NOTICED, KOLK_RELEASE_); /* partner: kolk_forks_now_ */
    } else {
        while (kolk_raw_load_(mark, KOLK_ACQUIRE_) == BEING_NOTICED) sched_yield();
    }
    kolk_signals_restore_(before);
}

#if defined(MADV_WIPEONFORK) && !defined(KOLK_NO_FUTEX) /* a test defines it to be on another system (sleep.c) */
/* Returns a page that is wiped in copies, or NULL. Emulators that accept any advice obey none. */
static uint32_t *make_page(size_t size) {
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    if (madvise(page, size, -1) != 0 && madvise(page, size, MADV_WIPEONFORK) == 0) return (uint32_t *)page;
    munmap(page, size);
    return NULL;
}
#else
static uint32_t *make_page(size_t size) {
    (void)size;
    return NULL;
}
#endif

void kolk_forks_watch_(void) {
    if (kolk_raw_load_(&kolk_fork_mark_, KOLK_RELAXED_)) return;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *page = make_page(size), *none = NULL;
    kolk_raw_store_(&counted_process, getpid(), KOLK_RELAXED_);
    if (page) *page = NOTICED;
    bool is_first = kolk_raw_compare_exchange_(&kolk_fork_mark_, &none, page ? page : &unseen, KOLK_RELEASE_,
                                               KOLK_RELAXED_); /* partner: kolk_forks_now_ */
    if (page && !is_first) munmap(page, size);
}

bool kolk_forks_are_others_(void) {
    const uint32_t *mark = kolk_raw_load_(&kolk_fork_mark_, KOLK_ACQUIRE_);
    return !is_this_process() || (mark != &unseen && kolk_raw_load_(mark, KOLK_RELAXED_) != NOTICED);
}

void kolk_forks_tell_(void (*mend)(void)) {
    KOLK_ASSERT_(n_menders < MOST_MENDERS);
    menders[n_menders++] = mend;
}

/* The program's handlers that run before this one may have noticed the fork already. */
static void notice_in_child(void) {
    uint32_t *mark = kolk_fork_mark_;
    if (mark && *mark == NOTICED) return;
    count_fork();
    if (mark && mark != &unseen) kolk_raw_store_(mark, NOTICED, KOLK_RELEASE_); /* partner: kolk_forks_now_ */
}

__attribute__((constructor)) static void notice_forks(void) {
    pthread_atfork(NULL, NULL, notice_in_child);
}

#endif

#endif
