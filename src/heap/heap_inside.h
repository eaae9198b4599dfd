/* heap_inside.h: declarations that the files of the heap have in common, floor by floor, lowest first. heap.c lists the
 * floors. */
#ifndef KOLK_SRC_HEAP_INSIDE_H
#define KOLK_SRC_HEAP_INSIDE_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, even if the program defines it */
#include "kolk/heap.h"

#include "../base/atomics.h"
#include "../core/watch.h"
#include "../os/key.h"
#include "../os/thread.h"
#include "../store/store.h"
#include "ended.h"
#include "fixed.h"
#include "guarded.h"
#include "heap_sizes.h"
#include "large.h"
#include "nursery.h"

/* The sets of a class's store: see heap_rest.c. */
enum { RESTING, EDGE, GONE, CLASS_SETS };

/* One class: a store of blocks of one size. The first alloc of that size makes the store. */
typedef struct kolk_heap_tray_ {
    kolk_slot_store_ store;
    uint32_t is_made; /* the store is complete */
    uint32_t number;  /* number in the registry; 0: not registered */
    uint32_t size;    /* bytes of a block */
    uint32_t capacity, max_capacity;
    uint32_t kept;  /* the memory of this many slots comes from an ended heap, with its contents (ended.h) */
    uint32_t cache; /* entries of a magazine */
    kolk_heap_when_full when_full;
    const char *name;
    char own_name[32];     /* used if the user gives no name */
    uint64_t asked, given; /* bytes requested and handed out by allocs off the fast path */
} kolk_heap_tray_;

/* One thread's record in one heap. A class that the thread has not used yet has a magazine that can hold no slot,
 * so no free takes the fast path. */
typedef struct kolk_heap_thread_ {
    kolk_keeper_ keeper;
    uintptr_t unused;                                 /* where the next magazine goes, behind this struct */
    uint32_t turns;                                   /* how often it has left the fast path */
    uint64_t flushed;                                 /* the heap's `swept` when it last emptied its magazines */
    uint64_t random;                                  /* state of the random numbers; 0: not seeded yet */
    int64_t until;                                    /* allocs before the next guarded block */
    bool is_turn;                                     /* the next alloc gets the guarded block */
    struct kolk_heap_thread_ *next_free;              /* the next in the list of records that no thread has */
    kolk_magazine_ *magazines[KOLK_HEAP_CLASSES + 1]; /* the last is for sizes without a class */
    kolk_magazine_ *by_size[KOLK_SMALL_SIZES_];       /* the same ones: n is for blocks of up to 16 * n bytes */
} kolk_heap_thread_;

/* A function to be called before the heap's blocks end. */
typedef struct kolk_heap_end_record_ {
    struct kolk_heap_end_record_ *before; /* the one that was added before it */
    void (*function)(void *context);
    void *context;
} kolk_heap_end_record_;

/* What each heap has from its init on. It lies in a leaf of its own. */
typedef struct kolk_heap_root_ {
    kolk_heap *heap;
    uint32_t number;                  /* in the registry; 0: not registered */
    struct kolk_heap_inside_ *inside; /* the heap's */
    const char *name, *debug;         /* copies */
    bool (*on_full)(kolk_heap *heap, size_t bytes, void *context);
    void *context;
    kolk_budget own;     /* has the limit; its parent is that of the outer heap, or the program's */
    kolk_budget *budget; /* &own; NULL: neither the heap nor a parent has a limit or a budget */
    uint64_t failed;     /* allocs that returned NULL */
    uint32_t growing;    /* held while the heap gets its classes */
    uint32_t lock;       /* protects `child`, its children's neighbours, and all that follows except the nursery */
    uint32_t in_hook;    /* the thread that is inside on_full, or a function to be called at the end; 0: none */
    bool serves_malloc;
    uint8_t shift; /* of malloc's heap: the class_shift to try first; 0: the system is asked when there are classes */
    struct kolk_heap_root_ *parent;        /* NULL: none */
    struct kolk_heap_root_ *child;         /* the newest; NULL: none */
    struct kolk_heap_root_ *older, *newer; /* its neighbours among its parent's children */
    kolk_heap_end_record_ *ends;           /* the newest; NULL: none */
    uint32_t ends_leaf;                    /* the newest leaf that has such records; 0: they fit into the heap's own */
    kolk_nursery_ nursery;
} kolk_heap_root_;

/* The name of a heap that is not on the caller's memory; "" if it has none. A rebind may change it at any time. */
static inline const char *kolk_heap_name_(const kolk_heap *heap) {
    const char *name = heap->root ? kolk_raw_load_(&heap->root->name, KOLK_RELAXED_) : NULL;
    return name ? name : "";
}

/* Enclose the call of a hook of this heap. Entering returns what leaving needs. If several threads are inside hooks,
 * one of them is known; a thread that is not known may be taken for one that is outside, but never the other way round.
 */
static inline uint32_t kolk_heap_enter_hook_(kolk_heap_root_ *root) {
    uint32_t before = kolk_load_(&root->in_hook, KOLK_RELAXED_);
    kolk_store_(&root->in_hook, kolk_thread_(), KOLK_RELAXED_);
    return before;
}

static inline void kolk_heap_leave_hook_(kolk_heap_root_ *root, uint32_t before) {
    uint32_t me = kolk_thread_();
    if (before != me) (void)kolk_compare_exchange_(&root->in_hook, &me, 0, KOLK_RELAXED_, KOLK_RELAXED_);
}

/* What a heap has once it needs classes or large blocks. */
typedef struct kolk_heap_inside_ kolk_heap_inside_;

struct kolk_heap_inside_ {
    kolk_heap_root_ *root;
    uint64_t id;          /* the heap's */
    uint32_t n_classes;   /* the heap's */
    unsigned char *space; /* the address space of all classes; heap->base is its start. NULL: malloc's heap has none */
    size_t space_size;
    int64_t kept_since;  /* of a space that an ended heap had: see ended.h */
    size_t thread_size;  /* bytes of a kolk_heap_thread_ and all of its magazines */
    uint32_t lock;       /* held while a class is made */
    uint32_t forks;      /* kolk_forks_ at init, or when the slots of threads lost in a fork were reclaimed */
    uint64_t swept;      /* kolk_now_ns_ of the last sweep */
    int64_t growth_rest; /* ns after a sweep in which a class that grows causes no other */
    uint64_t trimmed;    /* kolk_heap_trim_for_room_: how often slots had come back to depots by then */
    uint32_t sweeping;   /* lock */
    kolk_keepers_ keepers;
    kolk_heap_thread_ *free_threads; /* records that no thread has; the keepers' lock protects this and the next two */
    uint32_t records;                /* the number of all records */
    uint32_t enough_records;         /* with this many, search for a dead thread's record before making another */
    kolk_large_ large;
    uint32_t sample; /* N of sample=N: about one alloc in N gets a guarded block; 0: none */
    kolk_guarded_ guarded;
    uint32_t sizes[KOLK_HEAP_CLASSES + 1]; /* bytes of a block in each class, then UINT32_MAX */
    kolk_heap_tray_ trays[KOLK_HEAP_CLASSES];
};

/* ---- heap_class.c: sizes ----------------------------------------------------------------------------------------- */

/* Fills in the tables of a heap that has kolk's own classes. */
void kolk_heap_set_own_tables_(kolk_heap *heap);

/* Fills in the trays' sizes, capacities and names; if the descriptor has classes, also the heap's tables. */
kolk_status kolk_heap_set_classes_(kolk_heap *heap, kolk_heap_inside_ *inside, const kolk_heap_desc *desc);

/* The class for blocks of this size; n_classes if all classes are too small. The heap must not be all zero. */
static inline uint32_t kolk_heap_class_for_(const kolk_heap *heap, size_t size) {
    uint32_t n = kolk_heap_first_class_(heap, size);
    while (size > KOLK_HEAP_BY_SIZE_ && heap->inside->sizes[n] < size && n < heap->n_classes) n++;
    return n;
}

/* The same for blocks that are aligned to a power of two. */
uint32_t kolk_heap_class_aligned_(const kolk_heap *heap, size_t align, size_t size);

/* The class whose address space contains this block; n_classes or more: none does. */
static inline uintptr_t kolk_heap_class_at_(const kolk_heap *heap, const void *block) {
    return ((uintptr_t)block - kolk_raw_load_(&heap->base, KOLK_RELAXED_)) >>
           kolk_raw_load_(&heap->class_shift, KOLK_RELAXED_);
}

/* The size in bytes of the first sixteenth of a class's address space. The first slot starts somewhere in it. */
static inline uint64_t kolk_heap_colours_(unsigned class_shift) {
    return UINT64_C(1) << (class_shift - 4);
}

/* Gets that many addresses for the classes: those of an ended heap, or new ones. */
bool kolk_heap_take_space_(kolk_heap_inside_ *inside, size_t size);

/* At the heap's end, keeps the classes' space for another heap, if it may be kept. False: it is still the heap's. */
bool kolk_heap_keep_space_(const kolk_heap_inside_ *inside);

/* Returns the store of a class, and makes it first if necessary. NULL: there is no memory for it. */
kolk_slot_store_ *kolk_heap_make_class_(kolk_heap *heap, uint32_t n);

/* If the class has not been made, releases the pages of an ended heap there. Returns their bytes, as
 * kolk_memory_discard_ does. */
size_t kolk_heap_discard_kept_(kolk_heap_inside_ *inside, uint32_t n, bool counts);

/* Registers a class unless it is already registered. An earlier attempt may have failed because another thread was
 * forking. */
void kolk_heap_list_class_(kolk_heap_tray_ *tray);

/* Gives a class a copy of another name, unless it is NULL. No thread may use the heap. */
void kolk_heap_rename_class_(kolk_heap_tray_ *tray, const char *name);

/* How many blocks of a class fit into a range of addresses. */
uint32_t kolk_heap_fits_(const kolk_heap_tray_ *tray, uint64_t range_size, uint64_t stride);

/* The store of this block's class; NULL: it belongs to no class that was ever used. */
kolk_slot_store_ *kolk_heap_store_of_(const kolk_heap *heap, const void *block);

/* ---- heap_list.c: the process's heaps ---------------------------------------------------------------------------- */

/* A heap that a thread has used, and the thread's record there. An empty near entry points to a record without
 * slots. */
typedef struct kolk_near_heap_ {
    uint64_t id;
    kolk_heap_thread_ *thread;
} kolk_near_heap_;

#define KOLK_NEAR_HEAPS_ 8u
#define KOLK_FIRST_HEAP_ 1u /* the place of the first heap of the process */

extern KOLK_NEAR_THREAD_LOCAL_ kolk_near_heap_ kolk_near_heaps_[KOLK_NEAR_HEAPS_];
extern kolk_heap_thread_ kolk_no_heap_thread_;
extern kolk_magazine_ kolk_no_magazine_;

static inline kolk_heap_thread_ *kolk_heap_near_(const kolk_heap *heap) {
    const kolk_near_heap_ *near_heap = &kolk_near_heaps_[kolk_raw_load_(&heap->place, KOLK_RELAXED_)];
    return KOLK_UNLIKELY_(near_heap->id != kolk_raw_load_(&heap->id, KOLK_RELAXED_)) ? &kolk_no_heap_thread_
                                                                                     : near_heap->thread;
}

/* Sets a heap's id and place. From now on, threads that called kolk_heaps_await_end_ call `leave` when they end. False:
 * there is no memory, or no key; the heap is unchanged. */
bool kolk_heaps_add_(kolk_heap *heap, kolk_heap_inside_ *inside, void(KOLK_AT_THREADS_END_ *leave)(void *unused));
void kolk_heaps_remove_(uint64_t id);

/* The calling thread's entry for a listed heap. If the entry has another id, the thread has not used the heap yet.
 * NULL: there is no memory for it. */
kolk_near_heap_ *kolk_heaps_entry_(uint64_t id);

/* Makes the calling thread, which has an entry, call `leave` when it ends. */
void kolk_heaps_await_end_(void);

/* Removes the calling thread's entries. Calls `leave` for each of its heaps that has not ended; no heap can end
 * meanwhile. */
void kolk_heaps_leave_(void (*leave)(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread));

/* Calls `visit` for each heap with classes, with the calling thread's record in it, or NULL. No heap can end meanwhile.
 * Returns the sum of the results. */
size_t kolk_heaps_each_(size_t (*visit)(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread));

/* ---- heap_thread.c: threads -------------------------------------------------------------------------------------- */

/* The size in bytes of a thread's record with a magazine of each class. */
size_t kolk_heap_thread_size_(const kolk_heap *heap, const kolk_heap_inside_ *inside);

/* The calling thread's record in this heap, which must not be all zero. NULL: there is no memory for the record. */
kolk_heap_thread_ *kolk_heap_thread_of_(kolk_heap *heap);

/* Puts the calling thread's free slots into the depots. */
void kolk_heap_flush_(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread);

/* The thread's magazine of class n, whose store must already be made. */
kolk_magazine_ *kolk_heap_magazine_(kolk_heap_thread_ *thread, const kolk_heap *heap, uint32_t n);

/* In a fork's child, the first call puts the slots of threads that the child does not have into the depots. True: this
 * call did so, and an alloc may succeed now. */
bool kolk_heap_reclaim_after_fork_(kolk_heap_inside_ *inside);

/* Adds a heap to the process's heaps, until kolk_heaps_remove_. Threads that end return their slots to it. */
bool kolk_heap_list_(kolk_heap *heap, kolk_heap_inside_ *inside);
void kolk_heap_end_threads_(kolk_heap_inside_ *inside);

/* ---- heap_ask.c -------------------------------------------------------------------------------------------------- */

/* For a heap of another process, which is read into copies: reads what the store of a tray points to. Statistics that
 * cannot be read stay as they are. */
typedef struct kolk_heap_reader_ {
    void (*read)(const struct kolk_heap_reader_ *reader, const kolk_heap_tray_ *tray, kolk_stats *out);
    struct kolk_remote_ *remote;
    const kolk_heap_inside_ *here, *there;
    bool *failed;
} kolk_heap_reader_;

/* Copies the name of the heap with this number. Returns false if none has it. Call it with the process's lock held. */
static inline bool kolk_heap_name_of_(uint32_t number, char name[KOLK_NAME_ROOM_]) {
    return kolk_watch_ && kolk_watch_->name_of(number, name);
}

/* The statistics of a heap. `reader` is NULL for a heap of this process. */
void kolk_heap_sum_up_(const kolk_heap *heap, const kolk_heap_reader_ *reader, kolk_stats *out);

/* For the registry: the debug mode of the n-th class (kolk_kind_). */
kolk_debug *kolk_heap_part_(const void *given, uint32_t n, uint32_t *end, bool *more);

/* Reports what is wrong with a pointer that is not a live block. */
void kolk_heap_refuse_(const kolk_heap *heap, const void *block, const char *verb, const void *site);

/* Usable bytes of a live block; 0: it is not a live block. */
size_t kolk_heap_size_of_(const kolk_heap *heap, const void *block);

/* ---- heap_guarded.c ---------------------------------------------------------------------------------------------- */

/* Returns a guarded block, if it is the calling thread's turn. NULL: the thread gets an ordinary block. */
void *kolk_heap_sample_(kolk_heap *heap, size_t align, size_t size, const void *site);

/* Counts an alloc off the fast path. The magazine had `before` slots, and now has `now`. */
static inline void kolk_heap_count_alloc_(kolk_heap_thread_ *thread, uint32_t before, uint32_t now) {
    thread->until -= 1 + (int64_t)now - before;
}

/* Counts a free in a heap that samples. The magazine had `before` slots. */
void kolk_heap_count_free_(const kolk_heap_inside_ *inside, kolk_heap_thread_ *thread, kolk_slot_store_ *store,
                           kolk_magazine_ *magazine, uint32_t before);

/* Reports what is wrong with failure.object. False: it does not point into the last block of a guarded slot. */
bool kolk_heap_refuse_guarded_(const kolk_heap_inside_ *inside, kolk_failure failure, const char *verb);

/* ---- heap_rest.c, heap_trim.c: memory goes back to the system ---------------------------------------------------- */

/* For a class's store: takes resting or gone slots, and puts the other slots of their word into the depot. */
uint64_t kolk_heap_rouse_(kolk_slot_store_ *store, uint32_t *word, uint32_t most);

/* Releases the whole pages of free slots that no thread has taken since the last sweep. Returns their bytes, as
 * kolk_memory_discard_ does. Call it at any time, but from one thread at a time. Slots in magazines stay there. */
size_t kolk_heap_sweep_(kolk_heap_tray_ *tray, bool counts);

/* For a thread that has left the fast path anyway: sweeps now and then, or if a class has grown, provided that the last
 * sweep was long enough ago. */
void kolk_heap_decay_(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread, bool has_grown);

/* For an alloc of this size that has failed: if it was a limit that refused it, releases free memory of the heap,
 * provided that so much was freed since the last time that this is worth it. So on average it costs O(1) for each free.
 * True: it has released some. */
bool kolk_heap_trim_for_room_(kolk_heap *heap, size_t size);

/* Does the work of kolk_heap_trim. Without `counts`, it returns the bytes of all pages, whether backed by memory or
 * not. */
size_t kolk_heap_trim_now_(kolk_heap *heap, bool counts);

/* Does the work of kolk_trim_all for all heaps. */
size_t kolk_heap_trim_all_(void);

/* ---- heap.c, heap_resize.c: by the caller at `site` -------------------------------------------------------------- */

/* After a whole try of an alloc or realloc has failed: makes room in the next way that may help; on_full is the last
 * one. True: make a whole try again, and call this again if that fails too. *ways is 0 at first. */
bool kolk_heap_make_room_(kolk_heap *heap, size_t size, uint32_t *ways);

/* The slow paths of heap_fast.h. For a heap that is all zero, alloc returns NULL. */
void *kolk_heap_alloc_slow_(kolk_heap *heap, size_t align, size_t size, const void *site);
void kolk_heap_free_slow_(kolk_heap *heap, void *block, const void *site);

void *kolk_heap_alloc_at_(kolk_heap *heap, size_t size, const void *site);
void *kolk_heap_realloc_at_(kolk_heap *heap, void *block, size_t size, const void *site);
void kolk_heap_free_at_(kolk_heap *heap, void *block, const void *site);

/* Is this block one of the first of its size in malloc's heap, which are watched? */
static inline bool kolk_heap_watches_(const kolk_heap *heap, size_t size) {
    return size <= KOLK_HEAP_LARGEST && heap->root && kolk_nursery_watches_(&heap->root->nursery, size);
}

/* Returns such a block, and reports damage to others. A block that is too large for the nursery lies between two pages
 * that nobody may touch, and its own pages are inaccessible after its free. NULL: there is no memory for it. */
void *kolk_heap_alloc_watched_(kolk_heap *heap, size_t size, const void *site);

#define KOLK_HEAP_SPARSE_ 16384u /* in blocks from this size on, it is worth avoiding writes to pages that read as 0 */

/* Makes a newly allocated block read as 0, and returns the block, which may be NULL. The second function is for blocks
 * that come from kolk_heap_alloc_slow_. */
void *kolk_heap_zero_(const kolk_heap *heap, void *block, size_t size);
void *kolk_heap_zero_slow_(const kolk_heap *heap, void *block, size_t size);

/* ---- heap_root.c ------------------------------------------------------------------------------------------------- */

/* Makes the root of a heap that is all zero otherwise, among its parent's children. NULL: there is no memory. */
kolk_heap_root_ *kolk_heap_make_root_(kolk_heap *heap, const kolk_heap_desc *desc);

/* Takes the root off its parent's children, if it has a parent. Before the heap ends, because a fork's child could find
 * it half ended among them. */
void kolk_heap_leave_parent_(kolk_heap_root_ *root);

/* A walk over the roots of all heaps; NULL begins it, and NULL ends it. Other threads may end these heaps meanwhile.
 * O(leaves). */
const kolk_heap_root_ *kolk_heap_next_root_(const kolk_heap_root_ *root);

/* Takes the newest function of kolk_heap_on_end; false: there is none. */
bool kolk_heap_take_end_(kolk_heap_root_ *root, kolk_heap_end_record_ *out);

/* Returns the memory of the root and its nursery, and what the heap has taken of its parents' limits. */
void kolk_heap_end_root_(kolk_heap_root_ *root);

/* ---- heap_memory.c ----------------------------------------------------------------------------------------------- */

/* The heap's classes and large blocks. NULL: it has needed none so far. */
static inline kolk_heap_inside_ *kolk_heap_grown_(const kolk_heap *heap) {
    return kolk_raw_load_(&heap->inside, KOLK_ACQUIRE_); /* partner: kolk_heap_grow_ */
}

/* The same, but makes them if there are none. NULL: there is no memory. */
kolk_heap_inside_ *kolk_heap_grow_(kolk_heap *heap);

/* kolk_heap_init for a heap that serves malloc: its blocks never come from malloc, not even under tools. */
kolk_status kolk_heap_init_for_malloc_(kolk_heap *heap, const kolk_heap_desc *desc);

#endif
