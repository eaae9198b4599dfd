/* SPDX-License-Identifier: Zlib */
/* kolk/resource.h: a pool of things that are expensive to make and long-lived: connections, decoders, thread contexts.
 * The pool creates them with your functions, lends each to one borrower at a time, and replaces dead ones.
 *
 *     #include <kolk/kolk.h>
 *     #include <stdio.h>
 *
 *     static bool open_log(void *context, const char *key, kolk_deadline deadline, void **file, kolk_error *error) {
 *         (void)context, (void)key, (void)deadline;
 *         *file = tmpfile();                                          // slow in earnest: connect, log in ...
 *         if (!*file) snprintf(error->text, sizeof error->text, "no temporary file");
 *         return *file != NULL;
 *     }
 *
 *     static void close_log(void *context, void *file) {
 *         (void)context;
 *         fclose(file);
 *     }
 *
 *     static kolk_resource_pool logs;                                 // all zero
 *
 *     int main(void) {
 *         kolk_resource_pool_desc desc = {.name = "logs", .create = open_log, .destroy = close_log, .max = 4};
 *         if (kolk_resource_init(&logs, &desc) != KOLK_OK) return 1;
 *         kolk_borrowed borrow;
 *         kolk_status status = kolk_resource_borrow(&logs, NULL, &borrow);     // any thread; waits for 30 s at most
 *         if (status != KOLK_OK) return fprintf(stderr, "%s: %s\n", kolk_status_text(status), borrow.error.text), 1;
 *         fputs("hello", borrow.resource);
 *         printf("%ld bytes\n", ftell(borrow.resource));              // 5 bytes
 *         kolk_resource_give_back(&logs, &borrow);
 *         kolk_resource_deinit(&logs);
 *     }
 *
 * Cost      borrow, give_back, the hand-over to a waiter and statistics are O(1), also when borrow returns KOLK_FULL,
 *           regardless of the number of resources, waiters and keys; each takes a lock for a moment and reads the
 *           clock. (Only a borrow that waits after it has tried again passes the waiters that came later, one by one.)
 *           A key other than "" is looked up by its hash. Another thread validates an idle resource, or creates
 *           a new one: this hand-over takes some 50 us on one machine, in addition to the time of your function. evict,
 *           evict_if, resize, resume, close and is_valid are O(resources and keys).
 * Memory    pages of the system: some 200 bytes per resource, 700 per key in use, and 8 KiB for statistics of times.
 *           Never malloc.
 * Ownership a resource belongs to the pool, from create to destroy, or to detach. The borrower alone may use it, from
 *           borrow to give_back, discard or detach, which another thread may call too.
 * Threads   any number of threads may call any function at the same time, except init and deinit. Makers are threads
 *           that kolk starts for all pools of the process. They create resources, validate idle ones, keep them alive,
 *           and destroy them. There is one maker for each piece of work in progress, and one that waits for work; all
 *           of them end with the last pool. So a borrow waits no longer than its deadline, discard and evict wait for
 *           no peer, and give_back waits only for your reset. A function that hangs delays its own key; after 100 ms
 *           other calls may run concurrently with it. Signals are blocked in makers. Your functions are called without
 *           any lock held; they may be slow, may use any other pool, and must return. pthread_cancel has no effect
 *           before they return. They should not borrow from the same pool: if such a borrow would have to wait, it
 *           returns KOLK_IN_HOOK. (These functions include `log` and `wants`. `log` does not receive its own borrows.)
 *           If the system has no thread left, and in pools with no_housekeeper, the borrower itself creates, validates
 *           and destroys.
 * Fairness  within a key, a resource that comes back, or is new, goes to the borrow that waits and came first. Nobody
 *           overtakes a borrow that waits: as soon as it waits, no borrow that came later gets a resource before it. (A
 *           borrow whose resource proves dead keeps its turn.) A borrow that finds no resource waits at once if
 *           `strict_order` is set, if the pool is paused, if a resource could be created or validated for it, or if the
 *           key's last borrow took 5 us or longer. Otherwise it first tries again, up to nine times in about a
 *           millisecond, in which others may overtake it: to fall asleep and wake up takes a thread longer than others
 *           use the resource. Keys take turns: if the key that has waited longest has no room for a resource, a
 *           resource of another key that comes back is destroyed to make room.
 * Errors    the status of a borrow states how it ended; borrow.error has the reason in words. To give a borrow back
 *           twice, or to another pool, is a bug, which is reported to the failure handler.
 * Forks     a child cannot use its parent's resources: borrow, close and resize return KOLK_FORKED, and fd returns -1.
 *           deinit only frees the pool's memory, stats reports the state at the fork, and all other calls do nothing.
 *           kolk_stats_write and KOLK_STATS leave the pool out. The child makes its own pools.
 * Design    the essay in src/resource/resource.c; docs/resource.md. Not in freestanding builds.
 */
#ifndef KOLK_RESOURCE_H
#define KOLK_RESOURCE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* Why a function failed: a number of your own (0: none), and a sentence. */
typedef struct kolk_error {
    int32_t code;
    char text[251];
    bool final; /* set by create if retries are useless until a person acts: for example, a wrong password */
} kolk_error;

/* The events that `log` receives. */
typedef enum kolk_resource_event_kind {
    KOLK_RESOURCE_SLOW_BORROW,   /* a borrow succeeded after `ns` */
    KOLK_RESOURCE_BORROW_FAILED, /* a borrow failed after `ns`, with `error` and a `status` other than KOLK_FULL */
    KOLK_RESOURCE_CREATE_FAILED  /* a create failed, with `error` */
} kolk_resource_event_kind;

typedef struct kolk_resource_event {
    kolk_resource_event_kind kind;
    const char *pool; /* the pool's name, or "" */
    const char *key;
    const char *who; /* `who` of the borrow, or "" */
    kolk_status status;
    int64_t ns;
    const kolk_error *error; /* empty for a slow borrow. All pointers are valid until log returns */
} kolk_resource_event;

/* All members but create may be 0. For every time, 0 selects the default, and -1 turns the feature off unless stated
 * otherwise. Any other negative time is KOLK_BAD_TIME. */
typedef struct kolk_resource_pool_desc {
    const char *name KOLK_OR_0_; /* for statistics, reports and KOLK_FAIL; copied */
    void *context KOLK_OR_0_;    /* passed to your functions */

    /* Makes a resource. The deadline is create_timeout_ms from now, or that of the tick or borrow that calls it. With
     * KOLK_NOW it must not wait, and fails if it would have to. On failure it returns false, with the reason in *error,
     * which is empty before the call. While a borrower waits, create is called again after a pause (up to 10 ms at
     * first, doubling up to 5 s, times a random number). But if error->final is set and the key has no resource, all
     * waiters of the key get KOLK_NOT_CREATED. To return true with *resource NULL is a failure too; the pool then sets
     * the error. The key is "" if the borrow gives none. */
    bool (*create)(void *context, const char *key, kolk_deadline deadline, void **resource,
                   kolk_error *error) KOLK_OR_0_;

    /* Destroys a resource. May be NULL. */
    void (*destroy)(void *context, void *resource) KOLK_OR_0_;

    /* Is the resource still good? Called for keepalive, and before a resource is lent that was not created, used or
     * validated within the last validate_after_ms. The deadline is create_timeout_ms from now. If it returns false, the
     * resource is destroyed, and the borrower gets another one. If validate hangs, the borrower need not wait for it:
     * after 100 ms another resource is created or validated. With the deadline KOLK_NOW it must not wait; this is the
     * deadline for a borrow with KOLK_NOW, and before every borrow if `look` is set. NULL: every resource is good. */
    bool (*validate)(void *context, void *resource, kolk_deadline deadline) KOLK_OR_0_;

    /* Cleans a resource that comes back, for the next borrower. If it returns false, the resource is destroyed. May be
     * NULL. */
    bool (*reset)(void *context, void *resource) KOLK_OR_0_;

    /* The most resources at a time, for all keys together, including those being created or destroyed. At most 65,536.
     * 0: 10 */
    uint32_t max KOLK_OR_0_;
    uint32_t min_idle KOLK_OR_0_; /* resources of the key "" that are kept ready. At most max */

    /* The most creates at a time, so that a restarting server is not overrun. It limits each key, and all keys
     * together, but creates that take longer than 100 ms are not counted. The same limit applies to calls of validate
     * and destroy. 0: 2 */
    uint32_t max_creating KOLK_OR_0_;

    int64_t idle_timeout_ms KOLK_OR_0_; /* idle resources are destroyed after this, down to min_idle. 0: 600,000 */
    /* Resources are destroyed after this time, minus a random part of up to a tenth, so that they do not all end
     * together. Resources in use are destroyed when they come back. 0: 1,800,000 */
    int64_t max_lifetime_ms KOLK_OR_0_;
    int64_t keepalive_ms KOLK_OR_0_;      /* the interval for validating idle resources. 0: off */
    int64_t validate_after_ms KOLK_OR_0_; /* see validate. 0: 500; -1: before every borrow */
    /* A borrow that lasts longer is reported once as KOLK_LEAK, and once more, with the count 0, if it comes back. 0:
     * off. The report has the system's number and the name of the borrower's thread. If this setting or `sites` is on,
     * this is the name that the thread had at its first borrow, and it is known even if the thread has ended. */
    int64_t leak_after_ms KOLK_OR_0_;

    /* A borrow that has to wait, while its thread already has a resource of the pool, is reported as KOLK_NESTED before
     * it waits, once per pool: threads that do so can wait for each other until their deadlines. The report names both
     * borrows. It costs a borrow that waits a look at the newest 100 borrows in use, and the others nothing. */
    bool warn_nested KOLK_OR_0_;

    /* A borrow that finds no resource waits at once, also if borrows are brief: see Fairness. Under load, each brief
     * borrow then costs a sleep and a wake. */
    bool strict_order KOLK_OR_0_;

    /* The time limit of create and validate, unless the deadline is a borrower's or a tick's. 0: 10,000; -1: no
     * limit */
    int64_t create_timeout_ms KOLK_OR_0_;

    /* Which idle resource is lent. KOLK_REUSE_LIFO: the one that came back last, so that surplus resources reach
     * idle_timeout_ms. KOLK_REUSE_FIFO: the one that has been idle longest, so that all resources are used. */
    kolk_reuse reuse KOLK_OR_0_;

    /* The borrower calls validate with KOLK_NOW before every borrow, to notice without waiting that, for example, a
     * socket was closed. */
    bool look KOLK_OR_0_;

    /* The pool has no threads. borrow creates and validates, with its own deadline; give_back destroys; your calls of
     * kolk_resource_tick do the rest. A create that fails is not tried again: the borrow returns KOLK_NOT_CREATED. */
    bool no_housekeeper KOLK_OR_0_;

    /* Receives events, without any lock held, in the thread in which they happen. May be NULL. */
    void (*log)(void *context, const kolk_resource_event *event) KOLK_OR_0_;
    int64_t slow_borrow_ms KOLK_OR_0_; /* `log` receives borrows that wait this long. 0: 1,000; -1: none */

    /* Settings (base.h); a resource pool has only `sites`. Reports then name the calls in the code, and the report of a
     * second give_back names the present or last borrower. */
    const char *debug KOLK_OR_0_;
} kolk_resource_pool_desc;

/* ---- Struct ------------------------------------------------------------------------------------------------------ */

/* A zero-initialised pool is closed. The struct holds only a pointer and a number, and may be moved; of several copies,
 * only one may be deinit'd. If a pool is initialised again without a deinit, no call reaches the first pool any more,
 * and nothing reports this: it keeps its resources, and makers work for it, until the program ends. If it has a name,
 * statistics list both. */
typedef struct kolk_resource_pool {
    struct kolk_resource_inside_ *inside;
    uint32_t number; /* number in the registry; 0: not registered */
} kolk_resource_pool;

/* The borrower's record of a borrow. It may be copied. A record that is all zero has no borrow. */
typedef struct kolk_borrowed {
    void *resource;      /* NULL: the borrow failed, or was given back */
    kolk_handle handle;  /* the handle of this borrow, which reveals a second give_back */
    kolk_error error;    /* why the borrow failed */
    uint32_t generation; /* the resource's: see kolk_resource_evict_generation; 0: the borrow failed */
} kolk_borrowed;

/* A borrower's request. If it is all zero, there is no key and no waiting. */
typedef struct kolk_borrow_desc {
    const char *key KOLK_OR_0_;        /* resources of one key are alike: a host, a tenant. Up to 255 bytes; NULL: "" */
    kolk_deadline deadline KOLK_OR_0_; /* the borrow waits until then. 0 is KOLK_NOW */
    const char *who KOLK_OR_0_;        /* for reports; must outlive the borrow. NULL: the thread's name */
} kolk_borrow_desc;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Initialises a pool. It creates no resources; makers do, or the first borrow does. If the status is not KOLK_OK (the
 * descriptor breaks a rule, KOLK_NO_MEMORY or KOLK_NO_THREAD), the pool is left all zero. init ignores the struct's
 * previous contents: initialising a live pool again leaks it with its resources, its memory and its makers' work. */
KOLK_FOLDED_INLINE_ kolk_status kolk_resource_init(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc);

/* Ends a pool and leaves it all zero. If the pool is not closed yet, it is first closed with KOLK_NOW. A resource that
 * is still lent then belongs to its borrower: giving it back is a bug, which is reported. No other thread may be inside
 * a call. To call deinit in one of the pool's own functions is a bug of the caller (KOLK_IN_HOOK), and does nothing. It
 * returns when none of these functions is running any more, so it waits for a create that does not give up. (Without a
 * deinit, resources that are lent when the program exits are reported only with `sites`.) */
KOLK_USES_(1) void kolk_resource_deinit(kolk_resource_pool *pool);

/* For hot reload: replaces your functions, the context and the name, while other threads may use the pool. Resources
 * and borrows stay; the new functions must be able to handle what the old ones have made. It returns when no old
 * function is running any more, so it waits for a create that does not give up. Each function must be NULL if and only
 * if it was NULL at the init, and the other members must be as they were at the init (`debug` is ignored). Otherwise
 * changes nothing and returns KOLK_LAYOUT_CHANGED, or what init returns. In one of the pool's own functions it returns
 * KOLK_IN_HOOK. KOLK_CLOSED: the pool is all zero. */
KOLK_FOLDED_INLINE_ kolk_status kolk_resource_rebind(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc);

/* Ends borrowing: every borrow that is waiting or is called later returns KOLK_CLOSED. Idle resources are destroyed
 * now, and lent ones when they come back; close waits for both until the deadline. It interrupts your functions
 * (kolk_resource_interrupt_fd). KOLK_OK: no resource is left. KOLK_TIMEOUT: some are still being created or destroyed,
 * or are lent. Each lent one is reported as a KOLK_LEAK that names its borrower, if it was not reported before. In one
 * of the pool's own functions, only KOLK_NOW is possible: another deadline returns KOLK_IN_HOOK, and does nothing. In a
 * thread that has borrowed from the pool, call it only with KOLK_NOW. */
KOLK_USES_(1) kolk_status kolk_resource_close(kolk_resource_pool *pool, kolk_deadline deadline);

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

/* Lends a resource: an idle one, or else the first one that comes back or is created. If a borrow ends before the
 * resource that is being created for it is ready, the resource goes to the next waiter, or becomes idle.
 *
 *     KOLK_OK             the caller alone may use out->resource, until it gives it back
 *     KOLK_FULL           no resource is ready, or the pool is paused; only with the deadline KOLK_NOW, which never
 *                         waits. If there is room, one is being created for the next borrow
 *     KOLK_TIMEOUT        no resource was ready until the deadline; the error states how many are in use, who has had
 *                         one longest, and why the last create of the key failed, with its code
 *     KOLK_NOT_CREATED    create failed with error->final, and the key has no resource that could come back; out->error
 *                         is create's error. With no_housekeeper: create failed
 *     KOLK_CLOSED         close was called
 *     KOLK_IN_HOOK        the borrow is in one of the pool's own functions, and would have to wait
 *     KOLK_FORKED         the pool belongs to the parent process
 *     KOLK_KEY_TOO_LONG, KOLK_NO_MEMORY
 *
 * If the status is not KOLK_OK, out->resource is NULL, and out->error has a sentence. If desc is NULL, there is no key,
 * and the borrow waits for at most 30 s. */
KOLK_USES_(1)
kolk_status kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc, kolk_borrowed *out);

/* Ends a borrow. Does nothing with a borrow that is all zero or that failed. Sets the record's resource to NULL, but
 * keeps its handle. So a second call is reported as KOLK_DOUBLE_FREE, even if another borrower has the resource by
 * then. A borrow from another pool is reported as KOLK_WRONG_POOL. */
KOLK_USES_(1) void kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrowed *borrow);

/* Ends a borrow whose resource has turned out to be bad. Works like give_back, but destroys the resource. */
KOLK_USES_(1) void kolk_resource_discard(kolk_resource_pool *pool, kolk_borrowed *borrow);

/* Ends a borrow, takes its resource out of the pool, and returns it: from now on it is the caller's, as after a deinit.
 * None of the pool's functions is called for it, it does not count towards max, and the pool may create another one.
 * Returns NULL where give_back does nothing or reports a bug. */
KOLK_USES_(1) void *kolk_resource_detach(kolk_resource_pool *pool, kolk_borrowed *borrow);

/* For event loops: returns a file descriptor (eventfd) to poll after a borrow with KOLK_NOW has returned KOLK_FULL. It
 * becomes readable when the same borrow may succeed, or when the pool is closed, and stays readable until a borrow
 * returns KOLK_FULL again. Several loops may poll it, each for its own keys. When a key for which a borrow returned
 * KOLK_FULL has changed, the descriptor stays readable until that key is borrowed again, for at most half a second;
 * after that it becomes readable again from time to time. If a loop borrows several times in a row, that many resources
 * are created at the same time, up to max_creating. After a failed create, the next borrow of that key with KOLK_NOW
 * that finds no resource returns KOLK_NOT_CREATED, once. With no_housekeeper, from the first call of this function on,
 * borrows with KOLK_NOW don't create resources: kolk_resource_tick does it for them. The descriptor belongs to the
 * pool; don't read from it. Returns -1 if the system has no descriptor left, or is not Linux. */
KOLK_USES_(1) int kolk_resource_fd(kolk_resource_pool *pool);

/* ---- Steering ---------------------------------------------------------------------------------------------------- */

/* Replaces all present resources, for example after a failover or a change of credentials. Idle ones are destroyed now,
 * others when they come back. A running create is interrupted (kolk_resource_interrupt_fd). If it makes a resource
 * nevertheless, that resource is destroyed, and its borrower gets another one. */
KOLK_USES_(1) void kolk_resource_evict(kolk_resource_pool *pool);

/* The same, but only once for all borrowers that notice the same trouble. It evicts, and returns true, only if the
 * resource of this generation (borrow.generation) was created since the last evict. Otherwise the present resources are
 * newer than the trouble, or there is none: after a borrow that failed. */
KOLK_USES_(1) bool kolk_resource_evict_generation(kolk_resource_pool *pool, uint32_t generation);

/* The same for each resource for which `wants` returns true; returns how many. `wants` is called once per resource,
 * without any lock held, but not for resources that are being created. If in_use is true, it may compare the pointer
 * `resource`, but not access the resource. */
KOLK_USES_(1)
uint32_t kolk_resource_evict_if(kolk_resource_pool *pool,
                                bool (*wants)(const char *key, const void *resource, bool in_use, void *context),
                                void *context);

/* Between pause and resume borrows wait, as if all resources were in use. Lent resources may come back. */
KOLK_USES_(1) void kolk_resource_pause(kolk_resource_pool *pool);
KOLK_USES_(1) void kolk_resource_resume(kolk_resource_pool *pool);

/* Changes max. Surplus resources are destroyed: idle ones now, others when they come back. Returns KOLK_BAD_MAX if max
 * is 0 or more than KOLK_RESOURCE_MOST, KOLK_BAD_MIN_IDLE if it is less than min_idle, or KOLK_NO_MEMORY. */
#define KOLK_RESOURCE_MOST 65536u
KOLK_USES_(1) kolk_status kolk_resource_resize(kolk_resource_pool *pool, uint32_t max);

/* Does the makers' work for this pool once: destroys resources that are too old or idle for too long, validates for
 * keepalive, creates resources up to min_idle (after a failed create only after the pause that create has), and reports
 * leaks. It begins no step after the deadline, which is also passed to create and validate; with KOLK_NOW it does one
 * step. To call it in one of the pool's own functions is a bug of the caller (KOLK_IN_HOOK), and does nothing. */
KOLK_USES_(1) void kolk_resource_tick(kolk_resource_pool *pool, kolk_deadline deadline);

/* ---- Within your functions --------------------------------------------------------------------------------------- */

/* For create, validate and destroy functions that wait: returns a file descriptor to poll in addition to their own. It
 * becomes readable when the result of the call is no longer wanted, because the pool was closed, or because an evict
 * came during a create. The function may then give up: create and validate return false, and destroy releases the
 * resource without waiting for its peer. So close, deinit and evict need not wait for a peer. The descriptor belongs to
 * kolk; don't read from it, and get it anew in each call. Returns -1 if the caller is not one of kolk's threads, or if
 * the system has no descriptor left. */
KOLK_API_ int kolk_resource_interrupt_fd(void);

/* Returns whether that descriptor is readable, for functions that don't poll. */
KOLK_API_ bool kolk_resource_is_interrupted(void);

/* ---- Other functions --------------------------------------------------------------------------------------------- */

/* Statistics of the times of one kind. Percentiles are exact to one eighth. at_most[n] counts the times below 2^17,
 * 2^19, ... 2^35 ns (131 us to 34 s). */
#define KOLK_TIME_BOUNDS 10
typedef struct kolk_times {
    uint64_t count, sum_ns, max_ns;
    uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
    uint64_t at_most[KOLK_TIME_BOUNDS];
} kolk_times;

typedef struct kolk_resource_pool_stats {
    const char *name;
    uint32_t max, in_use, idle, creating, waiting; /* now; `creating` excludes evicted creates that have not given up
                                                    * yet */
    uint32_t peak;                                 /* the most in use at a time */
    uint64_t borrows, full, timeouts, failed;      /* borrows that returned KOLK_OK, KOLK_FULL, KOLK_TIMEOUT, or another
                                                    * status */
    uint64_t created, create_failures;
    uint64_t discarded; /* this and the next seven count destroyed resources: by discard, */
    uint64_t invalid;   /* because validate returned false, */
    uint64_t unclean;   /* because reset returned false, */
    uint64_t expired;   /* by max_lifetime_ms, */
    uint64_t unused;    /* by idle_timeout_ms, */
    uint64_t evicted;   /* by evict or resize, */
    uint64_t replaced;  /* to make room for another key, */
    uint64_t closed;    /* by close */
    uint64_t detached;  /* resources that kolk_resource_detach has taken out of the pool */
    uint64_t leaks;     /* borrows that were reported as KOLK_LEAK */
    uint64_t waits;     /* borrows that had to wait, not those that found a resource when they tried again */
    kolk_times wait, use, create;
} kolk_resource_pool_stats;

KOLK_API_ void kolk_resource_stats(const kolk_resource_pool *pool, kolk_resource_pool_stats *out);

/* Checks every invariant of src/resource/resource.c, for tests. */
KOLK_API_ bool kolk_resource_is_valid(const kolk_resource_pool *pool);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

KOLK_HOSTED_("resource pools")
kolk_status kolk_resource_init_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc, size_t pool_size,
                                    uint32_t abi);

KOLK_API_ kolk_status kolk_resource_rebind_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc,
                                                size_t pool_size, uint32_t abi);

KOLK_NAMED_(kolk_resource_desc_named_, kolk_resource_pool_desc)

KOLK_FOLDED_INLINE_ kolk_status kolk_resource_init(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc) {
    return kolk_resource_init_abi_(pool, desc, sizeof *pool, KOLK_ABI);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_resource_rebind(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc) {
    return kolk_resource_rebind_abi_(pool, desc, sizeof *pool, KOLK_ABI);
}

#ifdef __cplusplus
}
#endif
#endif
