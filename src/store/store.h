/* store.h: slots of one size that many threads take and return, and the lives of the objects in them. A shared pool is
 * a store with waiting threads, deferred frees, hooks and handles added (src/shared). Each class of a heap is a store
 * (src/heap).
 *
 *     slots      | 0 | 1 | 2 | ......... | fresh | ....... | usable | (reserved, not committed) |
 *     lives      32 or 8 bits a slot: counts the beginnings and ends of lives; odd during a life
 *     depot      the free slots that no thread has (depot.h)
 *     magazines  for each thread, a stack of free slots (depot.h)
 *     sets       slots that the store's owner sets apart: to be freed later, not set up, or resting
 *
 * The files, each of which calls only those below:
 *
 *     store.c                            free slots, lives, the end of threads
 *     store_ask.c                        reports, statistics, the check of the invariants
 *     store_debug.c  store_block.c       the debug mode; the block of memory
 *     depot.c                            depots, magazines and threads; no objects
 *
 * The life of one object. At first its slot has never been used. A thread whose magazine is empty takes the slot, with
 * all others of the same word, into its magazine. alloc pops the slot and adds one to its life, which becomes odd.
 * Another thread frees the object: it adds one to the life and pushes the slot onto its own magazine. When this
 * magazine is full, its oldest half goes to the depot, where the next thread finds the slot. So most calls touch one
 * magazine only, and about every 32nd call does one to three atomic operations.
 *
 * The life of a slot also reveals a double free, serves as the generation in handles, and lets a walk find the live
 * objects. Only the thread that has the slot changes its life, so a plain load and store are enough. But two threads
 * may free the same object at the same moment. Outside the fast paths, exactly one of these frees succeeds.
 *
 * Invariants (kolk_store_is_valid_, while no thread is at work):
 *     I1  fresh <= usable <= slots
 *     I2  each slot below fresh is alive, or in the depot, or in one magazine, or in one set of free slots, or in the
 *         debug mode's quarantine; no slot from fresh on is in any of these
 *     I3  the summary bit of every word that is not 0 is set
 *     I4  no magazine has more than `cache` entries, and a magazine has room for the slots of a word
 *     I5  red zones and fills are as the debug mode wrote them
 *     I6  if slots are released, as many as that are in the last set of free slots */
#ifndef KOLK_SRC_STORE_H
#define KOLK_SRC_STORE_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, even if the program defines KOLK_EXTERN */
#include "../core/budget.h"
#include "../core/geometry.h"
#include "../core/watch.h"
#include "../os/memory.h"
#include "depot.h"

#define KOLK_STORE_SETS_ 6u

typedef struct kolk_slot_store_ kolk_slot_store_;

struct kolk_slot_store_ {
    unsigned char *slots;
    uint32_t *lives;      /* NULL: lives are bytes, in short_lives */
    uint8_t *short_lives; /* 255 is followed by 2, because 0 means that the slot was never used */
    uintptr_t inverse;
    uint32_t stride, object_size;
    uint8_t shift, life_bytes; /* 4, or 1 */
    kolk_depot_ depot;
    const char *name; /* never NULL */

    /* The owner's part. The first n_free_sets sets contain free slots; released ones are in the last of these. */
    kolk_slot_set_ sets[KOLK_STORE_SETS_];
    uint8_t n_sets, n_free_sets;
    uint32_t has_sets; /* the sets may have slots */
    bool sweeps;       /* a thread that holds the growth lock may also hold free slots */

    /* Called when the depot has no free slot, before never-used slots are taken. Returns slots from elsewhere, in the
     * same way as kolk_depot_search_, or 0. May be NULL. */
    uint64_t (*more)(kolk_slot_store_ *store, uint32_t *word, uint32_t most);
    /* Puts back a slot whose life could not begin; then never-used slots are taken one by one. If this is NULL, the
     * slot goes to the depot. */
    void (*put_back)(kolk_slot_store_ *store, uint32_t slot);

    /* store_block.c */
    unsigned char *block, *range; /* the slots are in the range; all other memory may be elsewhere */
    size_t block_size;
    void *owners; /* owners_size bytes in the block, for the owner */
    size_t owners_size;
    uint8_t memory;      /* a MEMORY_ constant */
    uint32_t lock;       /* the growth lock */
    uint32_t slack;      /* slots that do not count towards the capacity */
    uint32_t released;   /* slots that do not count towards it, because the system has their memory back */
    kolk_budget *budget; /* for the bytes of the slots; stores may share it; NULL: no limit */

    /* store_debug.c */
    kolk_debug *debug;  /* NULL: off */
    uintptr_t *objects; /* malloc-backed: inverted pointers to the malloc blocks, by slot; NULL: objects are in slots */
    uint32_t quarantined, debug_lock;
    uint8_t debug_flags; /* KOLK_DEBUG_ flags */
};

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

static inline uint32_t kolk_store_usable_(const kolk_slot_store_ *store) {
    return kolk_depot_usable_(&store->depot);
}

/* The number of objects that have memory. */
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

/* The number of sets that may have slots. */
static inline unsigned kolk_store_sets_(const kolk_slot_store_ *store) {
    return kolk_load_(&store->has_sets, KOLK_ACQUIRE_) ? store->n_sets : 0; /* partner: kolk_heap_sweep_ */
}

/* The number of sets of free slots that may have slots. */
static inline unsigned kolk_store_free_sets_(const kolk_slot_store_ *store) {
    return kolk_store_sets_(store) ? store->n_free_sets : 0;
}

/* ---- store_block.c ----------------------------------------------------------------------------------------------- */

typedef struct kolk_store_desc_ {
    const char *name; /* never NULL; outlives the store */
    size_t object_size, object_align;
    uint32_t capacity; /* slots that are committed from the start */
    uint32_t slots;    /* the most slots that the store may have; below UINT32_MAX */
    uint32_t slack;    /* how many of these do not count towards the capacity */
    uint32_t cache;    /* entries in a magazine; 0: magazines keep no slots */
    bool has_handles;  /* lives have 32 bits */
    bool slow_free;    /* no free takes the fast path */
    bool persistent;   /* contents survive from one life to the next, so the debug mode does not fill them */
    uint8_t n_sets, n_free_sets;
    size_t owners_size;
    kolk_keepers_ *keepers; /* NULL: set later */
    /* Address space for the whole store; it ends at a page boundary. If it is NULL, the block contains the slots
     * too. */
    unsigned char *range;
    size_t range_size;
    uint32_t colour; /* of a store in a range: by this many bytes, its metadata begin later in their page */
    kolk_budget *budget;
} kolk_store_desc_;

/* Returns how many slots fit into a range together with n_sets sets. */
uint32_t kolk_store_slots_of_range_(uint64_t range_size, uint64_t stride, uint32_t cache, unsigned n_sets);

/* Initialises a zeroed store. On failure the store holds no memory. The struct may be copied as long as no thread uses
 * it. */
kolk_status kolk_store_begin_(kolk_slot_store_ *store, const kolk_store_desc_ *desc, const kolk_settings_ *settings);

/* For a store in a range, which ends: makes all records of slots read as 0, as those of a new store do. */
void kolk_store_wipe_records_(const kolk_slot_store_ *store);

/* Releases the block, unless it is in a range, which belongs to the store's owner. Call kolk_store_end_lives_ first. */
void kolk_store_end_block_(const kolk_slot_store_ *store);

/* The store's account with its budget: the bytes of all usable slots except released ones. Only the functions below
 * change it, each together with the memory that it stands for. */
uint64_t kolk_store_account_(const kolk_slot_store_ *store);

/* Commits memory for up to `wish` slots behind the first `now`, as far as budget and system have it. Returns for how
 * many. Call it with the growth lock held. */
uint32_t kolk_store_gain_(const kolk_slot_store_ *store, uint32_t now, uint32_t wish);

/* Returns the whole pages of adjacent free slots, which only the calling thread has, to the system. Returns their
 * bytes, as kolk_memory_discard_ does, and leaves in *from and *end those slots that lie in these pages entirely. */
size_t kolk_store_discard_(const kolk_slot_store_ *store, uint32_t *from, uint32_t *end, bool counts);

/* From now on, n slots that kolk_store_discard_ has left do not count. */
void kolk_store_uncount_(kolk_slot_store_ *store, uint32_t n);

/* Counts up to n of them again, before they are used. Returns how many: those for which the budget has the bytes. */
uint32_t kolk_store_recount_(kolk_slot_store_ *store, uint32_t n);

/* Gives the whole account back, at the store's end. */
void kolk_store_close_account_(kolk_slot_store_ *store);

/* The number of committed bytes. */
uint64_t kolk_store_committed_(const kolk_slot_store_ *store);

/* ---- store_debug.c ----------------------------------------------------------------------------------------------- */

kolk_failure kolk_store_failure_(const kolk_slot_store_ *store, kolk_status rule, uint32_t slot, const void *site);

/* Lock and unlock the data that slots share in debug mode; see the table in debug.h. */
void kolk_store_lock_debug_(const kolk_slot_store_ *store);
void kolk_store_unlock_debug_(const kolk_slot_store_ *store);

/* For a malloc-backed store: do the same as kolk_store_slot_of_ and kolk_store_object_; and search for a pointer, for a
 * report. */
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

/* Returns the debug settings that the store can have. Its sizes must be set first; red zones change its stride. */
kolk_debug_desc_ kolk_store_debug_desc_(kolk_slot_store_ *store, const kolk_settings_ *settings, size_t align,
                                        bool persistent);

/* Returns false if there is no memory. */
bool kolk_store_begin_debug_(kolk_slot_store_ *store, const kolk_debug_desc_ *desc);

/* Verifies a slot's red zones and fill, and prepares it for a life. Returns its object, or NULL if malloc fails. */
void *kolk_store_prepare_debug_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t slot, const void *site);

/* Verifies a slot's red zones and, if `filled`, its fill. Reports damage. */
void kolk_store_verify_(const kolk_slot_store_ *store, uint32_t slot, bool filled, const void *site);

/* Are all red zones and fills undamaged? */
bool kolk_store_is_intact_(const kolk_slot_store_ *store);

/* At the end of a store in debug mode, reports damage. Changes nothing, because the failure handler may longjmp. */
void kolk_store_prove_all_(const kolk_slot_store_ *store, const void *site);

/* Poisons an object whose life has ended and that no thread reads any more. Puts its slot into the quarantine or the
 * depot. */
void kolk_store_put_poisoned_(kolk_slot_store_ *store, uint32_t slot);

/* Takes the oldest slot out of the quarantine. Returns its bit, and sets *word to the index of the word that contains
 * it; returns 0 if there is none. */
uint64_t kolk_store_take_quarantined_(kolk_slot_store_ *store, uint32_t *word);

/* Reports live objects, if the store keeps sites. */
void kolk_store_report_leaks_(const kolk_slot_store_ *store);

/* ---- store_ask.c ------------------------------------------------------------------------------------------------- */

/* Reports what is wrong with this pointer. `if_dead` is the rule that is broken if the pointer is to the start of a
 * free slot. */
void kolk_store_fail_object_(const kolk_slot_store_ *store, const void *object, const char *verb, kolk_status if_dead,
                             const void *site);

/* Returns the first live object from *slot on, and sets *slot to the object's slot. Returns NULL if there is none below
 * `end`. */
void *kolk_store_next_alive_(const kolk_slot_store_ *store, uint32_t *slot, uint32_t end);

/* The number of live objects: exact while no thread is at work, otherwise approximate. */
uint32_t kolk_store_count_(const kolk_slot_store_ *store);

void kolk_store_stats_(const kolk_slot_store_ *store, const char *kind, kolk_stats *out);

/* The parts of these two: the slots below fresh without an object that are in sets and in quarantine; what is in
 * magazines; and the statistics that follow from them and the store's own members, without its pointers. */
typedef struct kolk_magazines_sum_ {
    uint64_t free, failed; /* slots, allocs */
} kolk_magazines_sum_;

uint64_t kolk_store_free_in_sets_(const kolk_slot_store_ *store);
void kolk_magazine_sum_up_(const kolk_magazine_ *magazine, kolk_magazines_sum_ *sum);
void kolk_store_sum_up_(const kolk_slot_store_ *store, uint64_t in_sets, kolk_magazines_sum_ in_magazines,
                        const char *kind, kolk_stats *out);

bool kolk_store_is_valid_(const kolk_slot_store_ *store);

/* ---- store.c ----------------------------------------------------------------------------------------------------- */

/* Makes an empty magazine in this memory. The keeper must belong to the calling thread, or not be listed yet. */
kolk_magazine_ *kolk_store_add_magazine_(kolk_slot_store_ *store, kolk_keeper_ *keeper, void *memory);

/* Takes the free slots of one word, or `most` of them. The search begins at *word; words that the processor used last
 * come first (depot.h). Returns the slots' bits, and sets *word to the index of the word that contains them. Returns 0
 * if, at some moment during the call, there was no free slot. */
uint64_t kolk_store_supply_(kolk_slot_store_ *store, uint32_t *word, uint32_t most);

/* Takes a free slot for the thread of this magazine, and may fill the magazine with others. Returns KOLK_NO_SLOT_ if,
 * at some moment during the call, the depot was empty. */
uint32_t kolk_store_take_(kolk_slot_store_ *store, kolk_magazine_ *magazine);

/* Returns the object of a slot that only the calling thread has, ready for its life to begin. Returns NULL if the
 * object should come from malloc but malloc fails. */
static inline void *kolk_store_prepare_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t slot,
                                        const void *site) {
    return store->debug ? kolk_store_prepare_debug_(store, magazine, slot, site)
                        : kolk_store_plain_object_(store, slot);
}

void kolk_store_begin_life_(kolk_slot_store_ *store, uint32_t slot, const void *object, const void *site);

/* Ends the life of an object that `site` frees, and returns its slot. If it is not a live object, or another thread was
 * first, reports that and returns KOLK_NO_SLOT_. */
uint32_t kolk_store_end_life_(const kolk_slot_store_ *store, const void *object, const void *site);

/* At the end of a store in debug mode, ends the remaining lives and the debug mode. */
void kolk_store_end_lives_(kolk_slot_store_ *store, const void *site);

/* Makes room in the magazine for n more slots. If it cannot hold that many, empties it. Returns true if the depot is
  * uncached; then the magazine must stay empty. A free does this before it ends the life, so that a fork's child loses
  * no more than a magazine has. */
bool kolk_store_make_room_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t n);

/* Puts a slot whose life has ended into the depot if `uncached`, otherwise into the magazine, which must have room. */
static inline void kolk_store_put_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t slot, bool uncached) {
    if (store->debug)
        kolk_store_put_poisoned_(store, slot);
    else if (uncached)
        kolk_depot_put_(&store->depot, slot);
    else
        kolk_magazine_push_(magazine, slot);
}

/* Allocates an object for the thread of this magazine. If there is none, counts a failed alloc and returns NULL. */
void *kolk_store_alloc_(kolk_slot_store_ *store, kolk_magazine_ *magazine, const void *site);
void *kolk_store_fail_alloc_(kolk_slot_store_ *store, kolk_magazine_ *magazine);

/* Frees an object. `magazine` is NULL if the thread has none. */
void kolk_store_free_(kolk_slot_store_ *store, kolk_magazine_ *magazine, void *object, const void *site);

/* Ends all lives at once, and puts all slots that were ever used into the depot, also those of its free sets. No other
 * thread may use the store meanwhile. In debug mode, frees the objects one by one. */
void kolk_store_reset_(kolk_slot_store_ *store, const void *site);

/* For stores without debug mode and hooks. Allocates up to n objects: the magazine's slots, and then the depot's, whole
 * words at a time. What is left of the last word goes into the magazine. Returns how many. If these are fewer than n,
 * then at some moment during the call the depot was empty; nothing is counted as failed. */
uint32_t kolk_store_alloc_n_(kolk_slot_store_ *store, kolk_magazine_ *magazine, void **objects, uint32_t n);

/* Also for such stores. Frees the first objects of an array, and skips NULL. Returns how many entries it has dealt
 * with, all n or those before one that is no live object or needs kolk_store_free_. Of more objects than a magazine
 * holds, it keeps the last ones, and puts the others into the depot without filling the magazine. */
uint32_t kolk_store_free_n_(kolk_slot_store_ *store, kolk_magazine_ *magazine, void *const *objects, uint32_t n);

/* Both put all slots of the magazine into the depot. The magazine's own thread calls flush; if that thread has ended,
 * another thread calls reclaim. */
void kolk_store_flush_(kolk_slot_store_ *store, kolk_magazine_ *magazine);
void kolk_store_reclaim_(kolk_slot_store_ *store, kolk_magazine_ *magazine);

#endif
