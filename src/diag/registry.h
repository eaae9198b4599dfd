/* registry.h: all pools of the process, for statistics and for what is to be said at exit. Freestanding builds have
 * none. Every function may be called by several threads at a time.
 *
 * A failure handler may leave an init by longjmp or throw, and the caller then takes the init for one that failed. So
 * every init has this order, in which nothing is there yet when something is reported:
 *
 *     1  the struct becomes all zero
 *     2  settings are read, and what is wrong with them   kolk_registry_start; then, if this kind of pool has them,
 *        is reported; the descriptor is checked           kolk_settings_of, kolk_sizes_ask, kolk_sizes_settle
 *     3  memory is made, the struct is filled in
 *     4  the pool is listed                               kolk_registry_add
 *
 * From step 3 on, nothing is reported. */
#ifndef KOLK_SRC_REGISTRY_H
#define KOLK_SRC_REGISTRY_H

#include "kolk/base.h"

/* What the registry asks of a kind of pool. */
typedef struct kolk_kind {
    /* Called under the lock, perhaps while another thread uses the pool. */
    void (*stats)(const void *pool, kolk_stats *out);
    /* NULL, or reports what is still alive; called at exit, before statistics are written, without the lock. */
    void (*at_exit)(const void *pool);
    /* NULL: it takes no part in sizes and scenes (sizes.h). Or a scene begins: it counts its peak anew if that is
     * counted, and has room for so many slots (0: as it is). Without the lock. */
    kolk_status (*enter)(void *pool, uint32_t capacity);
} kolk_kind;

#if __STDC_HOSTED__

#include "records.h"

/* Reads the environment, if that has not been done, and reports what is wrong with KOLK_STATS. Threads that call it
 * while KOLK_SIZES=FILE is read wait for that; forks do not. */
void kolk_registry_start(void);

/* Lists a pool, which is complete, and writes its number (from 1) to *mark, a field of the pool; 0 if there is no memory
 * for it. Reports nothing. The registry itself never writes to a pool again, and takes one whose *mark has changed for
 * gone. A pool that was not deinit'd before its storage died does no harm as long as nobody asks for statistics and its
 * kind has no at_exit. */
void kolk_registry_add(const void *pool, uint32_t *mark, const kolk_kind *kind);

/* Takes a pool off the list, before anything else of it ends; its last statistics are kept for KOLK_STATS. 0 does
 * nothing. */
void kolk_registry_remove(uint32_t number);

/* Copies the statistics of all pools that are there and have a name, in no particular order. */
void kolk_registry_collect(kolk_records *out);

#else

static inline void kolk_registry_start(void) {}

static inline void kolk_registry_add(const void *pool, uint32_t *mark, const kolk_kind *kind) {
    (void)pool, (void)kind;
    *mark = 0;
}

static inline void kolk_registry_remove(uint32_t number) {
    (void)number;
}

#endif
#endif
