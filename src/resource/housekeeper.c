/* housekeeper.c: see housekeeper.h.
 *
 * The thread sleeps until the first of its chores is due, or until `calls` changes. Its lock is held for moments, never
 * while it works: the chore says that it is being done, so that it is not taken away meanwhile. One that was told to
 * end may still be at work when the next one is started. A fork's child has no housekeeper and no chores; it begins
 * anew. */
#include "kolk/base.h"

#include "housekeeper.h"

#if KOLK_HOSTED

#include "../core/atomics.h"
#include "../os/clock.h"
#include "../os/lock.h"
#include "../os/sleep.h"
#include "../os/worker.h"

static struct {
    uint32_t lock;
    uint32_t forks;
    kolk_chore *first;
    uint32_t calls;  /* it sleeps while this stays the same */
    uint32_t looks;  /* how often it has finished a chore; removers sleep on this */
    uintptr_t ended; /* how many housekeepers were told to end */
    bool runs;
    uintptr_t worker;
} housekeeper;

static void lock_housekeeper(void) {
    kolk_lock_word(&housekeeper.lock);
    if (housekeeper.forks == kolk_forks()) return;
    housekeeper.forks = kolk_forks();
    housekeeper.first = NULL;
    housekeeper.runs = false;
}

void kolk_housekeeper_call(void) {
    kolk_fetch_add(&housekeeper.calls, 1, KOLK_RELEASE); /* partner: the load with acquire in keep_house */
    kolk_wake(&housekeeper.calls, UINT32_MAX);           /* one that was told to end may sleep beside its successor */
}

/* The chore that is due first, and when: under the lock. */
static kolk_chore *first_due(int64_t *when) {
    kolk_chore *first = NULL;
    *when = KOLK_FOREVER.ns;
    for (kolk_chore *chore = housekeeper.first; chore; chore = chore->next) {
        int64_t due = kolk_load(&chore->due, KOLK_RELAXED);
        if (due >= *when) continue;
        *when = due;
        first = chore;
    }
    return first;
}

static void do_chore(kolk_chore *chore) {
    chore->is_being_done = true;
    kolk_unlock_word(&housekeeper.lock);
    chore->work(chore);
    kolk_lock_word(&housekeeper.lock);
    chore->is_being_done = false;
    kolk_store(&housekeeper.looks, housekeeper.looks + 1, KOLK_RELAXED); /* removers look again under the lock */
    kolk_wake(&housekeeper.looks, UINT32_MAX);
}

/* `before`: as many housekeepers were told to end before this one. */
static KOLK_WORK keep_house(void *before) {
    kolk_lock_word(&housekeeper.lock);
    while (housekeeper.ended == (uintptr_t)before) {
        uint32_t calls = kolk_load(&housekeeper.calls, KOLK_ACQUIRE); /* partner: kolk_housekeeper_call */
        int64_t when;
        kolk_chore *chore = first_due(&when);
        if (chore && when <= kolk_now_ns()) {
            do_chore(chore);
            continue;
        }
        kolk_unlock_word(&housekeeper.lock);
        kolk_wait(&housekeeper.calls, calls, (kolk_deadline){when});
        kolk_lock_word(&housekeeper.lock);
    }
    kolk_unlock_word(&housekeeper.lock);
    return 0;
}

bool kolk_housekeeper_add(kolk_chore *chore) {
    lock_housekeeper();
    chore->next = housekeeper.first;
    housekeeper.first = chore;
    if (!housekeeper.runs)
        housekeeper.runs = kolk_worker_start(&housekeeper.worker, keep_house, (void *)housekeeper.ended);
    bool runs = housekeeper.runs;
    if (!runs) housekeeper.first = chore->next;
    kolk_unlock_word(&housekeeper.lock);
    if (runs) kolk_housekeeper_call();
    return runs;
}

void kolk_housekeeper_remove(kolk_chore *chore) {
    lock_housekeeper();
    kolk_chore **link = &housekeeper.first;
    while (*link && *link != chore) link = &(*link)->next;
    if (*link) *link = chore->next;
    while (chore->is_being_done) {
        uint32_t looks = housekeeper.looks;
        kolk_unlock_word(&housekeeper.lock);
        kolk_wait(&housekeeper.looks, looks, KOLK_FOREVER);
        kolk_lock_word(&housekeeper.lock);
    }
    bool ends = housekeeper.runs && !housekeeper.first;
    uintptr_t worker = housekeeper.worker;
    if (ends) {
        housekeeper.runs = false;
        housekeeper.ended++;
    }
    kolk_unlock_word(&housekeeper.lock);
    if (!ends) return;
    kolk_housekeeper_call();
    kolk_worker_join(worker);
}

#endif
