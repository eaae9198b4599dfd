/* registry.h: the list of all pools of the process. Freestanding builds have none. Every function may be called by
 * several threads at a time. */
#ifndef KOLK_SRC_REGISTRY_H
#define KOLK_SRC_REGISTRY_H

#include "kolk/base.h"

/* What may be asked of a pool in the list, by kind of pool. */
typedef struct kolk_kind {
    /* Called under the process's lock, perhaps while another thread uses the pool; `pool` is a copy of its struct where
     * `facts` is there. A name that is "" now, and was not when the pool was added: it is nothing of this process, and
     * is left out. */
    void (*stats)(const void *pool, kolk_stats *out);
    /* Reports what is still alive. Called at exit, before statistics are written, without the lock; with a copy, as
     * stats. NULL: nothing to say. */
    void (*at_exit)(const void *pool);
    /* A scene begins: the pool counts its peak anew, if it counts one, and makes room for this many slots (0: its room
     * stays as it is). Called without the lock. NULL: the kind takes no part in sizes and scenes (sizes.h). */
    kolk_status (*enter)(void *pool, uint32_t capacity);
    /* A hash of what never changes in the struct from the init to the deinit, its number included. It reads only the
     * struct, or a copy, of `size` bytes. 0: it can't be a pool, and what else is in it may not be followed or counted
     * up to. NULL: the struct is in memory of the library, which lives as long as it is listed; all others are in
     * storage of the user, which may end at any time. */
    uintptr_t (*facts)(const void *pool);
    size_t size;
} kolk_kind;

#define KOLK_LARGEST_STRUCT 2048u /* of all kinds with `facts` */

/* For `facts`: a hash of these words. */
#define KOLK_FACTS(...)                                                                                                \
    kolk_facts((const uintptr_t[]){__VA_ARGS__}, sizeof((const uintptr_t[]){__VA_ARGS__}) / sizeof(uintptr_t))

static inline uintptr_t kolk_facts(const uintptr_t *words, size_t n) {
    uintptr_t hash = 0;
    while (n--) hash = (hash ^ *words++) * (uintptr_t)UINT64_C(0x9e3779b97f4a7c15) + 1;
    return hash;
}

#if KOLK_DIAGNOSTICS

#include "records.h"

/* ---- For pools --------------------------------------------------------------------------------------------------- */

/* Lists a pool, which is complete, and writes its number (not 0) to *number, a field of the pool; 0 if there is no
 * memory for it. Reports nothing. The registry never writes to a pool again. A pool whose storage has ended without a
 * deinit does no harm: it is looked at by kolk_peek, and is taken for a pool only if its facts are what they were. */
void kolk_registry_add(const void *pool, uint32_t *number, const kolk_kind *kind);

/* The same for a pool that malloc may need now: it is not listed, and *number stays 0, while another thread forks. */
void kolk_registry_try_add(const void *pool, uint32_t *number, const kolk_kind *kind);

/* Takes a pool off the list, before anything else of it ends. A number that no pool has does nothing. */
void kolk_registry_remove(uint32_t number);

/* What the registry knows of a pool without looking at it. */
typedef struct kolk_noted {
    char name[36];  /* cut to this size */
    uint32_t debug; /* KOLK_DEBUG_ flags */
    uint32_t count; /* objects alive, if its struct was as it should be; else UINT32_MAX */
} kolk_noted;

/* For an init, before it writes anything: takes a pool off the list that has the same place, if there is one. It was
 * not deinit'd. */
bool kolk_registry_evict(const void *pool, kolk_noted *noted);

/* Is the pool of this number the one that was listed, and where it was then? O(1), without a lock. 0: yes. */
bool kolk_registry_is_home(const void *pool, uint32_t number);

/* Of a pool that is not: true if it was moved or copied; it is listed in the new place from now on. False: no pool of
 * this number is there any more, or this is none. */
bool kolk_registry_rehome(const void *pool, uint32_t number, kolk_noted *noted);

/* ---- For those who ask about all pools --------------------------------------------------------------------------- */

/* Copies the statistics of all pools that are there and have a name, in no particular order. */
void kolk_registry_collect(kolk_records *out);

/* A pool of the list. All zero: before the first. */
typedef struct kolk_listed {
    const void *pool;
    const kolk_kind *kind;
    const char *name; /* the pool's, cut to kolk_noted's size; "" if it has none */
    uint32_t place;
} kolk_listed;

/* Goes on to the next pool that is there and that `wants` says yes to; false if there is no other. No lock is held
 * between two calls: pools may come and go meanwhile. `wants` is called under the lock, perhaps for pools that are
 * gone, and must not look at the pool itself. */
bool kolk_registry_next(kolk_listed *at, bool (*wants)(const kolk_listed *at));

/* Calls its at_exit. */
void kolk_registry_say_goodbye(const kolk_listed *at);

/* A pool's name that is or was in the list, cut to kolk_noted's size; "" for none. Each place has the name of its last
 * pool. False: there are no more places. */
bool kolk_registry_name(uint32_t place, char name[sizeof((kolk_noted *)0)->name]);

/* The KOLK_DEBUG_ flags of all pools that ever were. */
uint32_t kolk_registry_debug(void);

/* Goes on to the next pool whose storage has ended without a deinit, and takes it off the list. */
bool kolk_registry_next_lost(uint32_t *place, kolk_noted *noted);

/* Keeps the last statistics of a pool that has a name. `born` is the scene in which the pool was listed, "" for none.
 * Called under the lock. */
typedef void kolk_keep(const kolk_stats *last, const kolk_kind *kind, const char *born, kolk_record_of of);

/* From now on, calls `keep` for each pool that is taken off the list. */
void kolk_registry_keep(kolk_keep *keep);

/* Calls it now for all pools that are there. The caller holds the lock. */
void kolk_registry_keep_all(void);

/* Pools that are listed from now on are born in this scene; its name lives as long as the process. The caller holds the
 * lock. */
void kolk_registry_enter(const char *scene);

#else

static inline void kolk_registry_add(const void *pool, uint32_t *number, const kolk_kind *kind) {
    (void)pool, (void)kind;
    *number = 0;
}

static inline void kolk_registry_try_add(const void *pool, uint32_t *number, const kolk_kind *kind) {
    kolk_registry_add(pool, number, kind);
}

static inline void kolk_registry_remove(uint32_t number) {
    (void)number;
}

#endif
#endif
