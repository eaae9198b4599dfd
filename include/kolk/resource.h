/* kolk/resource.h: things that are expensive to make and last long: connections, decoders, contexts of threads. The
 * pool makes them by your functions, lends each to one borrower at a time, and replaces those that have died.
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
 *         if (kolk_resource_pool_init(&logs, &desc) != KOLK_OK) return 1;
 *         kolk_borrow borrow;
 *         kolk_status status = kolk_resource_borrow(&logs, NULL, &borrow);     // any thread; waits for 30 s at most
 *         if (status != KOLK_OK) return fprintf(stderr, "%s: %s\n", kolk_status_text(status), borrow.error.text), 1;
 *         fputs("hello", borrow.resource);
 *         printf("%ld bytes\n", ftell(borrow.resource));              // 5 bytes
 *         kolk_resource_give_back(&logs, &borrow);
 *         kolk_resource_pool_deinit(&logs);
 *     }
 *
 * Cost      borrow and give_back of a resource that is at hand: O(1), a lock for a moment and a look at the clock each.
 *           A key other than "" is looked up by its hash. With waiters of several keys, and for what the housekeeper
 *           does, O(resources) or O(waiters).
 * Memory    pages of the system: some 160 bytes a resource, 300 a key in use, and 8 KiB of times. Never malloc.
 * Ownership what create made is the pool's, until destroy. The borrower has it alone, from borrow to give_back or
 *           discard, which another thread may call too.
 * Threads   any number may call anything at the same time, except init and deinit. Your functions are called outside of
 *           every lock, by the thread that borrows or gives back, or by the housekeeper; they may be slow, may use any
 *           other pool, and must return. A borrow of the same pool in them gets KOLK_IN_HOOK where it would have to
 *           wait: better not. One housekeeper thread, of the whole process, serves all pools but those with
 *           no_housekeeper. It ends with the last of them.
 * Fairness  first come, first served: what comes back goes to the thread that has waited longest, and a newcomer does
 *           not overtake it. If that thread waits for another key, and may create, what came back is destroyed to make
 *           room for it.
 * Errors    a status for each way in which a borrow ends; borrow.error tells the reason in words. A borrow that is
 *           given back twice, or to another pool, is a bug, which is reported to the failure handler.
 * Forks     a child has nothing to do with its parent's resources: borrow, close and resize give KOLK_FORKED, fd -1,
 *           and all other calls do nothing, but that deinit frees the pool's memory, and stats tells how it was at the
 *           fork. kolk_stats_write and KOLK_STATS leave it out. The child makes pools of its own.
 * Design    the essay in src/resource/resource.c; docs/resource.md. Not in freestanding builds.
 */
#ifndef KOLK_RESOURCE_H
#define KOLK_RESOURCE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* Why something could not be done: your code's number, 0 for none of its own, and a sentence. */
typedef struct kolk_error {
    int32_t code;
    char text[252];
} kolk_error;

/* All but create may be 0. Of times, 0 means the default; -1 turns the thing off, where nothing else is said. Another
 * negative one is KOLK_BAD_TIME. */
typedef struct kolk_resource_pool_desc {
    const char *name; /* for statistics, reports and KOLK_FAIL; outlives the pool */
    void *context;    /* for the functions */

    /* Makes a resource, if it can until the deadline, which is that of the borrow or of the tick. With KOLK_NOW it may
     * not wait: what can't be made without waiting is not made. False: it could not, and *error, which is empty before,
     * says why. True with *resource NULL is a failure too, and the error says so. The key is "" where none is given. */
    bool (*create)(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error);

    /* Ends a resource. NULL: there is nothing to do. */
    void (*destroy)(void *context, void *resource);

    /* Is the resource still good? Called before it is lent, unless it was made for this borrow or was in use within
     * the last validate_after_ms, and for keepalive. False: it is destroyed, and the borrower gets another. With
     * KOLK_NOW it may look, but not wait. NULL: it always is. */
    bool (*validate)(void *context, void *resource, kolk_deadline deadline);

    /* Cleans a resource that comes back for the next borrower. False: it is destroyed. NULL: nothing to do. */
    bool (*reset)(void *context, void *resource);

    uint32_t max;          /* resources that there are at a time, of all keys, those being made or destroyed included.
                            * At most 65,536. 0: 10 */
    uint32_t min_idle;     /* how many of the key "" the housekeeper keeps ready. At most max */
    uint32_t max_creating; /* creates at a time, so that a server that comes up is not overrun. 0: 2 */

    int64_t idle_timeout_ms;   /* an idle one is destroyed, as long as min_idle are left. 0: 600,000 */
    int64_t max_lifetime_ms;   /* up to a tenth less by chance, so that not all end at once. What is in use ends when it
                                * comes back. 0: 1,800,000 */
    int64_t keepalive_ms;      /* an idle one is validated so often. 0: off */
    int64_t validate_after_ms; /* 0: 500; -1: before every borrow */
    int64_t leak_after_ms; /* a borrow that lasts longer is reported as KOLK_LEAK, once; if it comes back, once more,
                                * with the count 0. 0: off. A report has the system's number of the borrower's thread,
                                * and its name: also of a thread that has ended, as it was at its first borrow, if this
                                * or `sites` is on */

    /* Which idle one is lent. KOLK_REUSE_LIFO: the one that came back last, so that a surplus gets old and ends.
     * KOLK_REUSE_FIFO: the one that has been idle longest, so that all are used. */
    kolk_reuse reuse;

    /* No thread: what the housekeeper does is done by your calls of kolk_resource_tick. */
    bool no_housekeeper;

    const char *debug; /* settings, of which a resource pool has `sites`: reports then have lines, and that of a second
                        * give_back says who has the resource by now, or who had it */
} kolk_resource_pool_desc;

/* ---- Struct ------------------------------------------------------------------------------------------------------ */

/* All zero is a pool that is closed. It is a pointer, and may be moved; of several copies, one may be deinit'd.
 * Initialised again without a deinit, the first pool lives on: statistics list both. */
typedef struct kolk_resource_pool {
    struct kolk_resource_inside *inside;
} kolk_resource_pool;

/* A borrow, as the borrower has it. It may be copied. All zero is none. */
typedef struct kolk_borrow {
    void *resource;     /* NULL: none, or it was given back */
    kolk_handle handle; /* of this borrow: a second give_back is seen by it */
    kolk_error error;   /* why there is none */
} kolk_borrow;

/* What a borrower asks for. All zero: no key, and no waiting. */
typedef struct kolk_borrow_desc {
    const char *key;        /* resources of one key are alike: a host, a tenant. Up to 255 bytes; NULL: "" */
    kolk_deadline deadline; /* of all that the borrow does: waiting, validating, creating. Left out it is KOLK_NOW */
    const char *who;        /* for reports; outlives the borrow. NULL: the thread's name says it */
} kolk_borrow_desc;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Makes no resource: the housekeeper, or the first borrow, does. Anything but KOLK_OK leaves the pool all zero: a
 * broken rule of the descriptor, KOLK_NO_MEMORY, or KOLK_NO_THREAD. What the struct was before is not looked at: the
 * init of a pool that is there loses it, with its resources, its memory and the housekeeper's work for it, for good. */
static inline kolk_status kolk_resource_pool_init(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc);

/* Ends a pool: close with KOLK_NOW, if it is not closed yet. What is still lent then is its borrower's from now on: to
 * give it back is a reported bug. Leaves the pool all zero. No thread may be within a call. Not in one of the pool's
 * own functions. (What is lent when the program exits, without a deinit, is reported with `sites` only.) */
KOLK_API void kolk_resource_pool_deinit(kolk_resource_pool *pool);

/* No more borrows: those who wait, now or later, get KOLK_CLOSED. Destroys what is idle, waits for the rest until the
 * deadline, and destroys each that comes back. KOLK_OK: nothing is left. KOLK_TIMEOUT: some are still lent, and each of
 * them that was not reported before is reported as a KOLK_LEAK that names its borrower. They are destroyed when they
 * come back. In one of the pool's own functions, and by a thread that holds one itself, only with KOLK_NOW. */
KOLK_API kolk_status kolk_resource_pool_close(kolk_resource_pool *pool, kolk_deadline deadline);

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

/* Lends a resource: an idle one, a new one, or, if max of them are in use, the next that comes back.
 *
 *     KOLK_OK             out->resource is the caller's alone, until it gives it back
 *     KOLK_FULL           all are in use, or none is ready (kolk_resource_fd), or the pool is paused; only with the
 *                         deadline KOLK_NOW, which never waits for one
 *     KOLK_TIMEOUT        none came until the deadline; the error says how many are in use, who has had one longest,
 *                         and which create failed last
 *     KOLK_NOT_CREATED    create could not; the error is what it said
 *     KOLK_CLOSED         close was called
 *     KOLK_IN_HOOK        one of the pool's own functions would wait for itself
 *     KOLK_FORKED         the pool is the parent's
 *     KOLK_KEY_TOO_LONG, KOLK_NO_MEMORY
 *
 * Anything but KOLK_OK: out->resource is NULL, and out->error has a sentence. desc NULL: no key, 30 s. */
KOLK_API kolk_status kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc, kolk_borrow *out);

/* Ends a borrow. Does nothing with one that is all zero or that failed. Sets its resource to NULL, but leaves the
 * handle, so that a second call is seen, also when somebody else has the resource already: KOLK_DOUBLE_FREE, or
 * KOLK_WRONG_POOL where the borrow is of another pool. */
KOLK_API void kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrow *borrow);

/* The same, and the resource is destroyed, because the borrower has seen that it is no good. */
KOLK_API void kolk_resource_discard(kolk_resource_pool *pool, kolk_borrow *borrow);

/* For event loops: a file descriptor (eventfd) to poll after a borrow with KOLK_NOW has given KOLK_FULL. It becomes
 * readable when the same borrow may succeed, or the pool is closed. It stays readable until a borrow gives KOLK_FULL
 * again. From the first call on, borrows with KOLK_NOW don't create: the housekeeper does it for them, or
 * kolk_resource_tick. If that fails, the next borrow with KOLK_NOW that finds nothing gives KOLK_NOT_CREATED, once, of
 * whatever key it is: the failure is the pool's. The descriptor belongs to the pool; don't read it. -1: the system has
 * none to give, or is not Linux. */
KOLK_API int kolk_resource_fd(kolk_resource_pool *pool);

/* ---- Steering ---------------------------------------------------------------------------------------------------- */

/* Replaces all resources that are there now: after a failover, or new credentials. What is idle ends at once, what is
 * in use when it comes back, what is being made when it is ready. */
KOLK_API void kolk_resource_pool_evict(kolk_resource_pool *pool);

/* The same with those that `wants` says true to. It is called once for each, outside of the lock. `resource` of one
 * that is in use may be compared, but not looked into. What is being made is not asked for. Returns how many. */
KOLK_API uint32_t kolk_resource_pool_evict_if(kolk_resource_pool *pool,
                                              bool (*wants)(const char *key, const void *resource, bool in_use,
                                                            void *context),
                                              void *context);

/* Between these, borrows wait, as if all were in use. What is lent may come back. */
KOLK_API void kolk_resource_pool_pause(kolk_resource_pool *pool);
KOLK_API void kolk_resource_pool_resume(kolk_resource_pool *pool);

/* Changes max. Idle ones that are too many end at once, others when they come back. KOLK_BAD_MAX: 0, or more than
 * KOLK_RESOURCES_AT_MOST; KOLK_BAD_MIN_IDLE: less than min_idle; KOLK_NO_MEMORY. */
#define KOLK_RESOURCES_AT_MOST 65536u
KOLK_API kolk_status kolk_resource_pool_resize(kolk_resource_pool *pool, uint32_t max);

/* What the housekeeper does, once, for this pool: ends what is too old or idle for too long, validates for keepalive,
 * makes resources up to min_idle (after a failed create not before a pause of 10 ms to 5 s), reports leaks. Begins
 * nothing after the deadline, which is also that of create and validate; KOLK_NOW: one thing. */
KOLK_API void kolk_resource_tick(kolk_resource_pool *pool, kolk_deadline deadline);

/* ---- Others ------------------------------------------------------------------------------------------------------ */

/* Times of one kind. Percentiles are right to an eighth. at_most counts those below 2^17 ns, 2^19 ... 2^35 ns (131 us
 * to 34 s). */
#define KOLK_TIME_BOUNDS 10
typedef struct kolk_times {
    uint64_t count, sum_ns, max_ns;
    uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
    uint64_t at_most[KOLK_TIME_BOUNDS];
} kolk_times;

typedef struct kolk_resource_stats {
    const char *name;
    uint32_t max, in_use, idle, creating, waiting; /* now */
    uint32_t peak;                                 /* most in use at a time */
    uint64_t borrows, full, timeouts, failed;      /* borrows that gave KOLK_OK, _FULL, _TIMEOUT; _NOT_CREATED, _CLOSED,
                                                    * _IN_HOOK or _NO_MEMORY */
    uint64_t created, create_failures;
    uint64_t discarded; /* this and the next seven: destroyed by discard, */
    uint64_t invalid;   /* because validate said no, */
    uint64_t unclean;   /* because reset said no, */
    uint64_t expired;   /* by max_lifetime_ms, */
    uint64_t unused;    /* by idle_timeout_ms, */
    uint64_t evicted;   /* by evict or resize, */
    uint64_t replaced;  /* to make room for another key, */
    uint64_t closed;    /* by close */
    uint64_t leaks;     /* borrows that were reported */
    kolk_times wait, use, create;
} kolk_resource_stats;

KOLK_API void kolk_resource_pool_stats(const kolk_resource_pool *pool, kolk_resource_stats *out);

/* Checks every invariant of src/resource/resource.c, for tests. */
KOLK_API bool kolk_resource_pool_is_valid(const kolk_resource_pool *pool);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

KOLK_API kolk_status kolk_resource_pool_begin(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc,
                                              size_t pool_size, uint32_t abi);

/* For typed pools: the descriptor, or, if it has no name, a copy that has the type's. */
static inline const kolk_resource_pool_desc *
kolk_resource_desc_named(const kolk_resource_pool_desc *desc, const char *name, kolk_resource_pool_desc *named) {
    if (!desc || desc->name) return desc;
    *named = *desc;
    named->name = name;
    return named;
}

static inline kolk_status kolk_resource_pool_init(kolk_resource_pool *pool, const kolk_resource_pool_desc *desc) {
    return kolk_resource_pool_begin(pool, desc, sizeof *pool, KOLK_ABI);
}

#ifdef __cplusplus
}
#endif
#endif
