/* SPDX-License-Identifier: Zlib */
/* kolk/budget.h: budgets, and one call that gives memory back.
 *
 *     static kolk_budget level = {.limit = 64 << 20, .mark = 48 << 20, .on_mark = wake_cleaner};
 *     ...
 *     bullets_init(&bullets, &(kolk_pool_desc){.capacity = 1000, .max_capacity = 500000, .budget = &level});
 *     kolk_heap_init(&texts, &(kolk_heap_desc){.budget = &level});
 *     printf("%llu bytes\n", (unsigned long long)kolk_budget_used(&level));
 *     ...
 *     kolk_trim_all();          // when the system runs short of memory: see examples/pressure.c
 *
 * Facts:
 *
 * Meaning   A budget is the number of bytes that several pools, slot maps, shared pools and heaps may take together.
 *           What counts is the memory of their slots and blocks, used or free, from the time when it may be touched
 *           until the pool is deinitialised. kolk's own records do not count, and neither does memory that you provide.
 * Released  Memory that is released to the system no longer counts, until it is needed again: in a heap, memory of free
 *           blocks, by a trim or because it was not used for a second; in a slot map, what kolk_slotmap_trim releases;
 *           in a pool, what kolk_pool_trim releases behind the last slot that is alive, worn out or in quarantine.
 *           Other memory that a pool releases goes on counting: between live objects, by ticks without a kolk_trim_all,
 *           and in a pool with a headroom. With KOLK_REUSE_FIFO, which uses all slots in turn, only slots that were
 *           never used cease to count. Shared pools release nothing. The capacity stays as it is, but slots that do not
 *           count are used last, and only if the budget has bytes for them; a reserve makes them count at once.
 * Full      A pool whose budget has nothing left is full, as if max_capacity were reached: it evicts, calls its on_full
 *           or returns NULL. An init whose capacity the budget does not have returns KOLK_OVER_BUDGET (that of a heap
 *           KOLK_NO_MEMORY, as for its limit).
 * Cost      Nothing for an alloc or free. Growth, and the use of released memory, takes bytes by one atomic operation
 *           for each budget from this one up to the outermost parent. While a pool grows by itself, it takes at most a
 *           sixteenth of what is left at a time, so that one pool cannot take everything for slots that it may never
 *           use.
 * Threads   Pools of different threads may have the same budget. Bytes that are given back wake nobody.
 * Owner     The struct is yours. Any copy of it is another budget, so never copy one that is in use. It must outlive
 *           its pools, which keep it until their deinit. Freestanding builds have no budgets: `.budget` has no effect.
 */
#ifndef KOLK_BUDGET_H
#define KOLK_BUDGET_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means the default. Set the members before the first pool has the budget, and never change them afterwards,
 * except by kolk_budget_set_limit. */
typedef struct kolk_budget {
    uint64_t limit KOLK_OR_0_; /* bytes; 0: no limit, the budget only counts */
    uint64_t mark KOLK_OR_0_;  /* bytes; 0: on_mark is never called */

    /* Called each time the bytes rise above `mark`, by the thread that needs them, in the middle of an alloc, reserve
     * or init. It must return, and must not call kolk, except kolk_budget_used: set a flag, post a semaphore or write
     * to a pipe. Should the growth fail in the end, the bytes are below the mark again. */
    void (*on_mark)(struct kolk_budget *budget, void *context) KOLK_OR_0_;
    void *context KOLK_OR_0_;

    /* The bytes count towards this other budget too, and both must have them. NULL: none. */
    struct kolk_budget *parent KOLK_OR_0_;

    KOLK_ALIGNAS(8) uint64_t used_ KOLK_OR_0_; /* call kolk_budget_used instead */
} kolk_budget;

#if KOLK_HOSTED

/* The bytes that are taken now. Several threads may call it at any time. */
KOLK_API_ uint64_t kolk_budget_used(const kolk_budget *budget);

/* Changes the limit, at any time and in any thread; 0: no limit. If more bytes are taken than the new limit allows,
 * nothing is taken away: pools keep their slots and use them, but get no new memory until the bytes are below the limit
 * again, by deinits and trims. A growth in another thread that has begun before may still succeed. A higher limit
 * counts at the next growth; it wakes nobody. The mark stays where it is, and on_mark is not called. O(1) */
KOLK_USES_(1) void kolk_budget_set_limit(kolk_budget *budget, uint64_t limit);

/* Gives back to the system what can be given back, in all of the process. Heaps give their unused memory back now, as
 * by kolk_heap_trim. A kolk_pool belongs to the threads that use it; so a pool for which kolk_pool_tick is called is
 * trimmed by its next tick. Other pools and slot maps need kolk_pool_trim and kolk_slotmap_trim. Shared pools, queues
 * and resource pools keep their memory. Any thread may call it at any time, but not a hook of kolk's. O(slots of all
 * heaps). Returns how many of the bytes given back by now had been backed by memory. */
KOLK_API_ size_t kolk_trim_all(void);

#endif

#ifdef __cplusplus
}
#endif
#endif
