/* housekeeper.c: one thread of the process, which looks after all resource pools that have no tick of their own. It is
 * started for the first and ends with the last.
 *
 * It sleeps until the earliest look_at of its pools, or until `calls` changes. Its own lock is held for moments, never
 * while it looks after a pool: `busy` says which one that is, so that a pool is not taken away meanwhile. A fork's
 * child has no housekeeper and no pools; it begins anew. */
#include "resource_inside.h"

#if __STDC_HOSTED__

#include "../os/clock.h"
#include "../os/lock.h"
#include "../os/worker.h"

#define LONGEST_UPKEEP_NS INT64_C(10000000000)

static struct {
    uint32_t lock;
    uint32_t forks;
    kolk_resource_inside *first;
    const kolk_resource_inside *busy;
    uint32_t calls;  /* it sleeps while this stays the same */
    uint32_t looks;  /* how often it has finished with a pool; removers sleep on this */
    uintptr_t ended; /* how many housekeepers were told to end */
    bool runs;
    uintptr_t worker;
} housekeeper;

static void lock_housekeeper(void) {
    kolk_lock_word(&housekeeper.lock);
    if (housekeeper.forks == kolk_forks()) return;
    housekeeper.forks = kolk_forks();
    housekeeper.first = NULL;
    housekeeper.busy = NULL;
    housekeeper.runs = false;
}

static void call_housekeeper(void) {
    kolk_fetch_add(&housekeeper.calls, 1, KOLK_RELEASE); /* partner: the load with acquire in keep_house */
    kolk_wake(&housekeeper.calls, UINT32_MAX);           /* one that was told to end may sleep beside its successor */
}

/* The pool that is to be looked after first, and when: under the lock. */
static kolk_resource_inside *first_due(int64_t *when) {
    kolk_resource_inside *due = NULL;
    *when = KOLK_FOREVER.ns;
    for (kolk_resource_inside *pool = housekeeper.first; pool; pool = pool->next) {
        int64_t look_at = kolk_load(&pool->look_at, KOLK_RELAXED);
        if (look_at >= *when) continue;
        *when = look_at;
        due = pool;
    }
    return due;
}

static void look_after(kolk_resource_inside *pool, int64_t now) {
    housekeeper.busy = pool;
    kolk_unlock_word(&housekeeper.lock);
    kolk_resource_upkeep(pool, (kolk_deadline){now + LONGEST_UPKEEP_NS});
    kolk_lock_word(&housekeeper.lock);
    housekeeper.busy = NULL;
    kolk_store(&housekeeper.looks, housekeeper.looks + 1, KOLK_RELAXED); /* removers look again under the lock */
    kolk_wake(&housekeeper.looks, UINT32_MAX);
}

/* `before`: as many housekeepers were told to end before this one. */
static KOLK_WORK keep_house(void *before) {
    kolk_lock_word(&housekeeper.lock);
    while (housekeeper.ended == (uintptr_t)before) {
        uint32_t calls = kolk_load(&housekeeper.calls, KOLK_ACQUIRE); /* partner: call_housekeeper */
        int64_t when, now = kolk_now_ns();
        kolk_resource_inside *pool = first_due(&when);
        if (pool && when <= now) {
            look_after(pool, now);
            continue;
        }
        kolk_unlock_word(&housekeeper.lock);
        kolk_wait(&housekeeper.calls, calls, (kolk_deadline){when});
        kolk_lock_word(&housekeeper.lock);
    }
    kolk_unlock_word(&housekeeper.lock);
    return 0;
}

bool kolk_housekeeper_add(kolk_resource_inside *pool) {
    lock_housekeeper();
    pool->next = housekeeper.first;
    housekeeper.first = pool;
    if (!housekeeper.runs)
        housekeeper.runs = kolk_worker_start(&housekeeper.worker, keep_house, (void *)housekeeper.ended);
    bool runs = housekeeper.runs;
    if (!runs) housekeeper.first = pool->next;
    kolk_unlock_word(&housekeeper.lock);
    if (runs) call_housekeeper();
    return runs;
}

void kolk_housekeeper_remove(kolk_resource_inside *pool) {
    lock_housekeeper();
    kolk_resource_inside **link = &housekeeper.first;
    while (*link && *link != pool) link = &(*link)->next;
    if (*link) *link = pool->next;
    while (housekeeper.busy == pool) {
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
    call_housekeeper();
    kolk_worker_join(worker);
}

void kolk_housekeeper_call(kolk_resource_inside *pool) {
    pool->called = true;
    kolk_store(&pool->look_at, 0, KOLK_RELAXED);
    if (!pool->desc.no_housekeeper) call_housekeeper();
}

#endif
