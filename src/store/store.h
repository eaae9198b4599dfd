/* store.h: slots of one size that many threads take and return, and objects whose lives begin and end there. A shared
 * pool is a store with threads that wait, deferred free, hooks and handles (src/shared). A class of a heap is a store
 * (src/heap).
 *
 *     slots      | 0 | 1 | 2 | ......... | fresh | ....... | usable | (reserved, not committed) |
 *     lives      32 or 8 bits a slot: how often a life began or ended there; odd while it lasts
 *     depot      the free slots that no thread has (depot.h)
 *     magazines  for each thread, a stack of free slots (magazine.h)
 *     sets       slots that the store's owner sets apart: freed later, not set up, resting
 *
 * The files, each of which calls only those below:
 *
 *     store.c                            free slots, lives, the end of threads
 *     store_ask.c                        reports, statistics, the invariants
 *     store_debug.c  store_block.c       the debug mode; the block of memory
 *     keeper.c  magazine.c  depot.c      threads, magazines and depots; no objects
 *
 * The life of one object. Its slot was never used. A thread whose magazine is empty takes it, together with all others
 * of one word, into its magazine. alloc pops it, and adds one to its life, which is odd now. Another thread frees the
 * object: it adds one to the life and pushes the slot on its own magazine. When that is full, its oldest half goes to
 * the depot, where the next thread finds the slot. So most calls touch one magazine only, and about every 32nd does one
 * to three atomic operations.
 *
 * The life of a slot also reveals a double free, is the generation in handles, and tells a walk which objects are
 * alive. Only the thread that has the slot changes it, so a plain load and store will do. But two threads may free one
 * object at the same moment. Outside of the fast paths, exactly one of these frees succeeds.
 *
 * Invariants (kolk_store_is_valid_, while no thread is at work):
 *     I1  fresh <= usable <= slots
 *     I2  each slot below fresh is alive, or in the depot, or in one magazine, or in one set of free slots, or in the
 *         debug mode's quarantine; no slot from fresh on is in any of these
 *     I3  a word that is not 0 has its bit in the summary
 *     I4  no magazine has more than `cache` entries, and cache has room for a word
 *     I5  red zones and fills are as the debug mode wrote them */
#ifndef KOLK_SRC_STORE_H
#define KOLK_SRC_STORE_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, even if the program defines it */
#include "../core/geometry.h"
#include "../diag/debug.h"
#include "../os/memory.h"
#include "magazine.h"
#include "keeper.h"

#define KOLK_STORE_SETS_ 6u

typedef struct kolk_slot_store_ kolk_slot_store_;

struct kolk_slot_store_ {
    unsigned char *slots;
    uint32_t *lives;      /* NULL: lives are in bytes: */
    uint8_t *short_lives; /* after 255 comes 2, as 0 means that the slot was never used */
    uintptr_t inverse;
    uint32_t stride, object_size;
    uint8_t shift, life_bytes; /* 4, or 1 */
    kolk_depot_ depot;
    const char *name; /* never NULL */

    /* The owner's part. The first n_free_sets of the sets have free slots. */
    kolk_slot_set_ sets[KOLK_STORE_SETS_];
    uint8_t n_sets, n_free_sets;
    uint32_t has_sets; /* the sets have memory */
    bool singly;       /* slots that were never used are taken one by one */
    bool sweeps;       /* a thread that holds the lock of growth may have free slots in hand */

    /* Called when the depot has no free slot, before never-used slots are taken: returns slots from elsewhere, as
     * kolk_depot_search_ does, or 0. May be NULL. */
    uint64_t (*more)(kolk_slot_store_ *store, uint32_t *word, bool only_one);
    /* Puts back a slot whose life could not begin. NULL: into the depot. */
    void (*put_back)(kolk_slot_store_ *store, uint32_t slot);

    /* store_block.c */
    unsigned char *block, *range; /* the slots are in the range; all other memory may be elsewhere */
    size_t block_size;
    void *owners; /* owners_size bytes in the block, for the owner */
    size_t owners_size;
    uint8_t memory;   /* MEMORY_ */
    uint32_t colour;  /* bytes before the lives, so that those of several stores do not all begin at a page */
    uint32_t lock;    /* the lock of growth */
    uint32_t slack;   /* slots that do not count as capacity */
    uint64_t *budget; /* bytes that it may still take, shared with other stores; NULL: no limit */

    /* store_debug.c */
    kolk_debug *debug;  /* NULL: off */
    uintptr_t *objects; /* malloc-backed: inverted pointers to malloc's blocks, by slot; NULL: objects are in slots */
    uint32_t quarantined, debug_lock;
    uint8_t debug_flags; /* KOLK_DEBUG_ */
};

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

static inline uint32_t kolk_store_usable_(const kolk_slot_store_ *store) {
    return kolk_depot_usable_(&store->depot);
}

/* How many objects have memory. */
static inline uint32_t kolk_store_capacity_(const kolk_slot_store_ *store) {
    uint32_t slots = kolk_store_usable_(store);
    return slots > store->slack ? slots - store->slack : 0;
}

static inline uint32_t kolk_store_fresh_(const kolk_slot_store_ *store) {
    return kolk_load_(&store->depot.fresh, KOLK_RELAXED_);
}

static inline void *kolk_store_plain_object_(const kolk_slot_store_ *store, uintptr_t slot) {
    return store->slots + slot * store->stride;
}

static inline uint32_t kolk_store_life_(const kolk_slot_store_ *store, uintptr_t slot) {
    return store->lives ? kolk_load_(&store->lives[slot], KOLK_RELAXED_)
                        : kolk_load_(&store->short_lives[slot], KOLK_RELAXED_);
}

static inline bool kolk_store_is_alive_(const kolk_slot_store_ *store, uintptr_t slot) {
    return slot < kolk_store_usable_(store) && (kolk_store_life_(store, slot) & 1);
}

static inline void kolk_store_set_stride_(kolk_slot_store_ *store, uint32_t stride) {
    store->stride = stride;
    kolk_set_divisor_(stride, &store->shift, &store->inverse);
}

/* The number of sets that have memory. */
static inline unsigned kolk_store_sets_(const kolk_slot_store_ *store) {
    return kolk_load_(&store->has_sets, KOLK_ACQUIRE_) ? store->n_sets : 0; /* partner: kolk_store_commit_sets_ */
}

/* The number of sets that have memory and free slots. */
static inline unsigned kolk_store_free_sets_(const kolk_slot_store_ *store) {
    return kolk_store_sets_(store) ? store->n_free_sets : 0;
}

/* ---- store_block.c ----------------------------------------------------------------------------------------------- */

typedef struct kolk_store_desc_ {
    const char *name; /* never NULL; outlives the store */
    size_t object_size, object_align;
    uint32_t capacity; /* slots that are committed from the start */
    uint32_t slots;    /* the most that it may have; below UINT32_MAX */
    uint32_t slack;    /* how many of these do not count as capacity */
    uint32_t cache;    /* entries of a magazine; 0: magazines keep no slots */
    bool has_handles;  /* lives of 32 bits */
    bool slow_free;    /* no free takes the fast path */
    bool persistent;   /* contents survive from life to life: the debug mode does not fill them */
    bool singly;
    uint8_t n_sets, n_free_sets;
    size_t owners_size;
    kolk_keepers_ *keepers; /* NULL: set later */
    /* Address space for the whole store, which ends where a page ends. NULL: the block has the slots too. */
    unsigned char *range;
    size_t range_size;
    uint32_t colour;
    uint64_t *budget;
} kolk_store_desc_;

/* How many slots, with n_sets sets, fit into a range. */
uint32_t kolk_store_slots_of_range_(uint64_t range_size, uint64_t stride, uint32_t cache, unsigned n_sets);

/* Fills in a zeroed store. On failure it holds no memory. The struct may be copied until a thread uses it. */
kolk_status kolk_store_begin_(kolk_slot_store_ *store, const kolk_store_desc_ *desc, const kolk_settings_ *settings);

/* Releases the block, but not a range, which belongs to its owner. Call kolk_store_end_lives_ before. */
void kolk_store_end_block_(const kolk_slot_store_ *store);

/* Commits the memory of the first `slots` slots, of which the first `before` have theirs already. */
bool kolk_store_commit_(const kolk_slot_store_ *store, uint32_t before, uint32_t slots);

/* Commits the sets, which the store uses from now on. False: there is no memory. */
bool kolk_store_commit_sets_(kolk_slot_store_ *store);

/* Bytes that are committed. */
uint64_t kolk_store_committed_(const kolk_slot_store_ *store);

/* ---- store_debug.c ----------------------------------------------------------------------------------------------- */

kolk_failure kolk_store_failure_(const kolk_slot_store_ *store, kolk_status rule, uint32_t slot, const void *site);

/* The lock of the data that slots share in debug mode: see the table in debug.h. */
void kolk_store_lock_debug_(const kolk_slot_store_ *store);
void kolk_store_unlock_debug_(const kolk_slot_store_ *store);

/* For a malloc-backed store: do the same as kolk_store_slot_of_, kolk_store_object_ and kolk_debug_search_. */
uintptr_t kolk_store_find_bypassed_(const kolk_slot_store_ *store, const void *object);
void *kolk_store_bypassed_at_(const kolk_slot_store_ *store, uintptr_t slot);
uint32_t kolk_store_search_bypassed_(const kolk_slot_store_ *store, const void *pointer, uint64_t *inside);

static inline uintptr_t kolk_store_slot_of_(const kolk_slot_store_ *store, const void *object) {
    if (KOLK_UNLIKELY_(store->objects)) return kolk_store_find_bypassed_(store, object);
    return kolk_exact_slot_((uintptr_t)object - (uintptr_t)store->slots, store->shift, store->inverse);
}

static inline void *kolk_store_object_(const kolk_slot_store_ *store, uintptr_t slot) {
    return KOLK_UNLIKELY_(store->objects) ? kolk_store_bypassed_at_(store, slot)
                                          : kolk_store_plain_object_(store, slot);
}

/* Returns the settings that the store can have. Its sizes are set before; red zones change its stride. */
kolk_debug_desc_ kolk_store_debug_desc_(kolk_slot_store_ *store, const kolk_settings_ *settings, size_t align,
                                        bool persistent);

/* False if there is no memory. */
bool kolk_store_begin_debug_(kolk_slot_store_ *store, const kolk_debug_desc_ *desc);

/* Verifies a slot's red zones and fill, and prepares it for a life. Returns its object, or NULL if malloc fails. */
void *kolk_store_prepare_debug_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t slot, const void *site);

/* Verifies a slot's red zones, and its fill if it should have one, and reports damage. */
void kolk_store_verify_(const kolk_slot_store_ *store, uint32_t slot, bool filled, const void *site);

/* Are all red zones and fills undamaged? */
bool kolk_store_is_intact_(const kolk_slot_store_ *store);

/* For the end of a store in debug mode: reports damage and live objects. It changes nothing, since the handler may
 * longjmp. */
void kolk_store_prove_all_(const kolk_slot_store_ *store, const void *site);

/* Poisons an object whose life has ended and that no thread reads any more, and puts its slot into the quarantine or
 * the depot. */
void kolk_store_put_poisoned_(kolk_slot_store_ *store, uint32_t slot);

/* Takes the oldest slot out of the quarantine, as one bit of *word; 0: there is none. */
uint64_t kolk_store_take_quarantined_(kolk_slot_store_ *store, uint32_t *word);

/* Reports live objects, if the store has sites. */
void kolk_store_report_leaks_(const kolk_slot_store_ *store);

/* ---- store_ask.c ------------------------------------------------------------------------------------------------- */

/* Reports what is wrong with this pointer: `if_dead`, if it is the start of a free slot. */
void kolk_store_fail_object_(const kolk_slot_store_ *store, const void *object, const char *verb, kolk_status if_dead,
                             const void *site);

/* Returns the first live object from *slot on, and sets *slot; NULL: there is none below `end`. */
void *kolk_store_next_alive_(const kolk_slot_store_ *store, uint32_t *slot, uint32_t end);

/* The number of live objects: exact while no thread is at work, otherwise nearly. */
uint32_t kolk_store_count_(const kolk_slot_store_ *store);

void kolk_store_stats_(const kolk_slot_store_ *store, const char *kind, kolk_stats *out);
bool kolk_store_is_valid_(const kolk_slot_store_ *store);

/* ---- store.c ----------------------------------------------------------------------------------------------------- */

/* Bytes of a magazine of this store. */
static inline size_t kolk_store_magazine_size_(const kolk_slot_store_ *store) {
    return sizeof(kolk_magazine_) + store->depot.cache * sizeof(uint32_t);
}

/* Makes an empty magazine in this memory. The keeper belongs to the calling thread, or is not listed yet. */
kolk_magazine_ *kolk_store_add_magazine_(kolk_slot_store_ *store, kolk_keeper_ *keeper, void *memory);

/* Takes the free slots of one word, or just one slot: returns their bits, and the word in *word, where the search
 * begins. 0: at one moment of the call there was no free slot. */
uint64_t kolk_store_supply_(kolk_slot_store_ *store, uint32_t *word, bool only_one);

/* Takes a free slot for the thread of this magazine, and may fill the magazine with others. KOLK_NO_SLOT_: at one
 * moment of the call the depot was empty. */
uint32_t kolk_store_take_(kolk_slot_store_ *store, kolk_magazine_ *magazine);

/* Puts back a slot whose life could not begin. */
static inline void kolk_store_put_back_(kolk_slot_store_ *store, uint32_t slot) {
    if (store->put_back)
        store->put_back(store, slot);
    else
        kolk_depot_put_(&store->depot, slot);
}

/* Returns the object of a slot that only the calling thread has, so that its life may begin. NULL: the object should
 * come from malloc, which fails. */
static inline void *kolk_store_prepare_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t slot,
                                        const void *site) {
    return store->debug ? kolk_store_prepare_debug_(store, magazine, slot, site)
                        : kolk_store_plain_object_(store, slot);
}

void kolk_store_begin_life_(kolk_slot_store_ *store, uint32_t slot, const void *object, const void *site);

/* Ends the life of an object that `site` frees, and returns its slot. If it is no live object, or another thread was
 * first, reports that and returns KOLK_NO_SLOT_. */
uint32_t kolk_store_end_life_(const kolk_slot_store_ *store, const void *object, const void *site);

/* For the end of a store in debug mode: ends the lives that are left, and the debug mode. */
void kolk_store_end_lives_(kolk_slot_store_ *store, const void *site);

/* Makes room in the magazine for one more slot. True: the depot is uncached, so the magazine must stay empty. */
bool kolk_store_make_room_(kolk_slot_store_ *store, kolk_magazine_ *magazine);

/* Puts a slot whose life has ended into the magazine, which has room, or, if `uncached`, into the depot. */
static inline void kolk_store_put_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t slot, bool uncached) {
    if (store->debug)
        kolk_store_put_poisoned_(store, slot);
    else if (uncached)
        kolk_depot_put_(&store->depot, slot);
    else
        kolk_magazine_push_(magazine, slot);
}

/* Allocates an object for the thread of this magazine. NULL: there is none; this counts as a failed alloc. */
void *kolk_store_alloc_(kolk_slot_store_ *store, kolk_magazine_ *magazine, const void *site);
void *kolk_store_fail_alloc_(kolk_slot_store_ *store, kolk_magazine_ *magazine);

/* Frees an object. `magazine` is NULL if the thread has none. */
void kolk_store_free_(kolk_slot_store_ *store, kolk_magazine_ *magazine, void *object, const void *site);

/* Both put all slots of the magazine into the depot. Its own thread calls flush; if that has ended, another calls
 * reclaim. */
void kolk_store_flush_(kolk_slot_store_ *store, kolk_magazine_ *magazine);
void kolk_store_reclaim_(kolk_slot_store_ *store, kolk_magazine_ *magazine);

#endif
