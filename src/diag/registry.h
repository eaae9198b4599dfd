/* registry.h: the list of all pools of the process. Freestanding builds have none. Every function may be called by
 * several threads at a time. */
#ifndef KOLK_SRC_REGISTRY_H
#define KOLK_SRC_REGISTRY_H

#include "kolk/base.h"

/* What may be asked of a pool in the list, by kind of pool. */
typedef struct kolk_kind {
    /* Called under the process's lock, perhaps while another thread uses the pool. A name that is "" now, and was not
     * when the pool was added: it is nothing of this process, and is left out. */
    void (*stats)(const void *pool, kolk_stats *out);
    /* Reports what is still alive. Called at exit, before statistics are written, without the lock. NULL: nothing to
     * say. */
    void (*at_exit)(const void *pool);
    /* A scene begins: the pool counts its peak anew, if it counts one, and makes room for this many slots (0: its room
     * stays as it is). Called without the lock. NULL: the kind takes no part in sizes and scenes (sizes.h). */
    kolk_status (*enter)(void *pool, uint32_t capacity);
} kolk_kind;

#if KOLK_DIAGNOSTICS

#include "records.h"

/* ---- For pools --------------------------------------------------------------------------------------------------- */

/* Lists a pool, which is complete, and writes its number (from 1) to *mark, a field of the pool; 0 if there is no
 * memory for it. Reports nothing. The registry never writes to a pool again, and takes a pool whose *mark has changed
 * for gone. So a pool that was not deinit'd before its storage died does no harm, as long as nobody asks for statistics
 * and its kind has no at_exit. */
void kolk_registry_add(const void *pool, uint32_t *mark, const kolk_kind *kind);

/* The same for a pool that malloc may need now: it is not listed, and *mark stays 0, while another thread forks. */
void kolk_registry_try_add(const void *pool, uint32_t *mark, const kolk_kind *kind);

/* Takes a pool off the list, before anything else of it ends. 0 does nothing. */
void kolk_registry_remove(uint32_t number);

/* ---- For those who ask about all pools --------------------------------------------------------------------------- */

/* Copies the statistics of all pools that are there and have a name, in no particular order. */
void kolk_registry_collect(kolk_records *out);

/* A pool of the list. All zero: before the first. */
typedef struct kolk_listed {
    const void *pool;
    const kolk_kind *kind;
    const char *name; /* the pool's; "" if it has none */
    uint32_t number;
} kolk_listed;

/* Goes on to the next pool that is there and that `wants` says yes to; false if there is no other. No lock is held
 * between two calls: pools may come and go meanwhile. `wants` is called under the lock, perhaps for pools that are
 * gone, and must not look at the pool itself. */
bool kolk_registry_next(kolk_listed *at, bool (*wants)(const kolk_listed *at));

/* Keeps the last statistics of a pool that has a name. `born` is the scene in which the pool was listed, "" for none.
 * Called under the lock. */
typedef void kolk_keep(const kolk_stats *last, const kolk_kind *kind, const char *born);

/* From now on, calls `keep` for each pool that is taken off the list. */
void kolk_registry_keep(kolk_keep *keep);

/* Calls it now for all pools that are there. The caller holds the lock. */
void kolk_registry_keep_all(void);

/* Pools that are listed from now on are born in this scene; its name lives as long as the process. The caller holds the
 * lock. */
void kolk_registry_enter(const char *scene);

#else

static inline void kolk_registry_add(const void *pool, uint32_t *mark, const kolk_kind *kind) {
    (void)pool, (void)kind;
    *mark = 0;
}

static inline void kolk_registry_try_add(const void *pool, uint32_t *mark, const kolk_kind *kind) {
    kolk_registry_add(pool, mark, kind);
}

static inline void kolk_registry_remove(uint32_t number) {
    (void)number;
}

#endif
#endif
