/* registry.h: the list of all pools of the process. Freestanding builds have none. Several threads may call any of
 * these functions at the same time. */
#ifndef KOLK_SRC_REGISTRY_H
#define KOLK_SRC_REGISTRY_H

#include "records.h"

extern const kolk_kind_ kolk_pool_kind_, kolk_slotmap_kind_, kolk_bytemap_kind_, kolk_queue_kind_, kolk_shared_kind_,
    kolk_resource_kind_, kolk_heap_kind_, kolk_heap_class_kind_, kolk_tray_kind_, kolk_ipc_kind_;

/* What readers of other processes find in a process's memory. Its layout belongs to its version. */
#define KOLK_BEACON_MAGIC_   "kolk\xf0\x9f\x8f\x8a" /* and eight more bytes, which are 0 */
#define KOLK_BEACON_VERSION_ 1u

typedef struct kolk_beacon_ {
    char magic[16];
    const struct kolk_beacon_ *self; /* tells it from copies of it */
    uint32_t version, abi;           /* KOLK_ABI */
    char library[16];                /* KOLK_VERSION */
    const void *entries, *used;      /* where the registry has the pointer to its entries, and their number (4 bytes) */
    uint32_t entry_size, pool_at, kind_at, facts_at, name_at; /* of an entry, and offsets in it */
} kolk_beacon_;

#define KOLK_LARGEST_STRUCT_ 2048u /* bytes, over all kinds with `facts` */

/* ---- For one pool ------------------------------------------------------------------------------------------------ */

/* Adds a complete pool to the list and writes its number, which is not 0, to *number, a field of the pool. Writes 0 if
 * there is no memory. Reports nothing. The registry never writes to a pool again. A pool whose storage is gone without
 * a deinit does no harm: its struct is read by kolk_peek_, and ignored if its facts have changed. With `tries`, does
 * nothing while another thread forks: malloc may need this pool now. */
void kolk_registry_add_(const void *pool, uint32_t *number, const kolk_kind_ *kind, bool tries);

/* Takes a pool off the list. A deinit calls this first. Does nothing if no pool has this number. */
void kolk_registry_remove_(uint32_t number);

/* Notes a pool's new name, and the facts of its struct, which a rebind has changed. `debug` is its debug mode or NULL.
 * Does nothing if no pool has this number. */
void kolk_registry_rename_(uint32_t number, const char *name, kolk_debug *debug);

/* Facts about a pool that the registry keeps, so it need not read the pool for them. */
typedef struct kolk_noted_ {
    char name[KOLK_NAME_ROOM_];
    uint32_t debug; /* KOLK_DEBUG_ flags */
    uint32_t count; /* live objects; UINT32_MAX if the struct was damaged or gone */
} kolk_noted_;

/* For an init, before it writes anything: if a pool at the same address is still listed, takes it off the list and
 * returns true. That pool was not deinitialised. */
bool kolk_registry_evict_(const void *pool, kolk_noted_ *noted);

/* Is the pool with this number listed at this address? Returns true for number 0. O(1), without a lock. */
bool kolk_registry_is_home_(const void *pool, uint32_t number);

/* For a pool that is not home: if it was moved or copied, sets its address in the list to the new one and returns true.
 * Returns false if no pool with this number exists any more, or if the struct is not a pool. */
bool kolk_registry_rehome_(const void *pool, uint32_t number, kolk_noted_ *noted);

/* ---- For functions that ask about all pools ---------------------------------------------------------------------- */

/* Copies the statistics of all existing pools that have a name, in no particular order. */
void kolk_registry_collect_(kolk_records_ *out);

/* A position in the list. A zero-initialised position is before the first pool. */
typedef struct kolk_listed_ {
    const void *pool;
    const kolk_kind_ *kind;
    const char *name; /* the pool's, cut to KOLK_NAME_ROOM_; "" if it has none */
    uint32_t debug;   /* KOLK_DEBUG_ flags */
    uint32_t place;
} kolk_listed_;

/* Advances to the next existing pool that `wants` accepts; returns false if there is none. No lock is held between two
 * calls, so pools may come and go meanwhile. `wants` is called under the lock, perhaps for pools that no longer exist,
 * and must not read the pool itself. */
bool kolk_registry_next_(kolk_listed_ *at, bool (*wants)(const kolk_listed_ *at));

/* Calls the kind's `leaks`. */
void kolk_registry_report_leaks_(const kolk_listed_ *at);

/* Copies the name of the last pool at a place of the list, "" if it has none. Returns false beyond the last place. */
bool kolk_registry_name_(uint32_t place, char name[KOLK_NAME_ROOM_]);

/* Copies the name of the pool with this number, "" if it has none. Returns false if no listed pool has this number. The
 * caller holds the lock. */
bool kolk_registry_name_of_(uint32_t number, char name[KOLK_NAME_ROOM_]);

/* The KOLK_DEBUG_ flags of all pools that ever existed. */
uint32_t kolk_registry_debug_(void);

/* Advances to the next pool whose storage is gone without a deinit, and takes it off the list. */
bool kolk_registry_next_lost_(uint32_t *place, kolk_noted_ *noted);

/* Keeps the latest statistics of a pool that has a name. `born` is the scene in which the pool was listed, "" for none.
 * Called under the lock. */
typedef void kolk_keep_(const kolk_record_ *last, const kolk_kind_ *kind, const char *born, kolk_record_of_ of);

/* If no pool is listed, releases the list's memory; the next pool begins a new list. No other thread may be in a
 * call. */
void kolk_registry_end_(void);

/* From now on, calls `keep` for each pool that is taken off the list. */
void kolk_registry_keep_(kolk_keep_ *keep);

/* Calls `keep` now for all existing pools. The caller holds the lock. */
void kolk_registry_keep_all_(void);

/* Pools that are added from now on are born in this scene. Its name must live as long as the process. The caller holds
 * the lock. */
void kolk_registry_enter_(const char *scene);

/* ---- names.c ----------------------------------------------------------------------------------------------------- */

/* Returns a copy of the name that lives as long as the process. Equal names have the same copy. Takes the process's
 * lock for a name that has no copy yet. Returns the name itself if it is NULL, or if it has no copy and another thread
 * is forking, or all copies together would exceed NAMES_BYTES (names.c). */
const char *kolk_names_keep_(const char *name);

/* ---- homes.c: pools that were moved, initialised twice, or lost without a deinit. Not in freestanding builds ----- */

/* Reports a pool that was not deinit'd before its struct was initialised again, if it is in debug mode. */
void kolk_homes_report_evicted_(const kolk_noted_ *noted);

/* At exit: reports the pools whose storage was freed or went out of scope without a deinit: those in debug mode, or
 * with `all`, every one. */
void kolk_homes_report_lost_(bool all);

/* When the library that contains kolk is unloaded: reports the pools in debug mode that are not deinit'd. Nobody can
 * deinit them any more: another copy of kolk in the process does not know them. */
void kolk_homes_report_unloaded_(void);

/* Does this struct belong to a living pool, or to one that is not in the registry? If the pool was moved, the registry
 * is corrected, and debug mode reports the move. Returns false, and reports it, if the struct was never initialised
 * (its number and name may be garbage), is a copy of a pool that was deinitialised, or belongs to another copy of
 * kolk. */
bool kolk_homes_check_(const void *pool, uint32_t number, const char *name, const void *site);

#endif
