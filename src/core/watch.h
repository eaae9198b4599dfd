/* watch.h: how the members tell what happens to those who watch them. src/watch lies above the members and implements
 * these events: the registry, statistics, sizes, the debug mode, the names of sites. The members know nothing else of
 * it.
 *
 *     kolk_pool ... kolk_heap    --- kolk_watch_->born(...) --->    src/watch/watch.c: a table of functions
 *
 * kolk_watch_ is NULL in a program without diagnostics: one of its files says so (KOLK_WITHOUT_DIAGNOSTICS in base.h),
 * and the linker then leaves src/watch out. Without an operating system, or in a library that was compiled with
 * KOLK_NO_DIAGNOSTICS, it is a constant: the compiler drops the calls, too. */
#ifndef KOLK_SRC_WATCH_H
#define KOLK_SRC_WATCH_H

#include "kolk/base.h"

#if KOLK_HOSTED && !defined(KOLK_NO_DIAGNOSTICS)
#define KOLK_WATCHED_ 1
#else
#define KOLK_WATCHED_ 0
#endif

/* The address that a function of the library was called from. The function must be KOLK_NOINLINE_: if link-time
 * optimisation merged it into its caller, this would be an address in the caller's caller. */
#ifndef __EMSCRIPTEN__ /* there it needs a linker option, and its result cannot be named */
#define SITE KOLK_RETURN_ADDRESS_()
#else
#define SITE NULL
#endif

/* A kept site: its address, or a pointer to its stored stack. 0 means none. */
typedef uintptr_t kolk_kept_site_;

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

typedef struct kolk_settings_ {
    uint32_t flags;                  /* KOLK_DEBUG_ */
    uint32_t quarantine;             /* slots; 0 without the flag */
    uint32_t depth;                  /* N of sites=N: calls that reports name at each site; 0 without the flag */
    uint32_t sample;                 /* N of sample=N: one of N blocks of a heap is guarded; 0 means none */
    uint32_t fail_every;             /* each n-th alloc is forced to fail; if 0, allocs fail by chance */
    uint64_t fail_chance, fail_seed; /* the chance, in 2^-32 */
    bool environment_has; /* KOLK_DEBUG or KOLK_FAIL is set, perhaps for other pools or for a class of this heap */
} kolk_settings_;

/* With any of these flags, handles of other pools are reported. Only the user sets these flags; tools and profilers may
 * turn on the others. */
#define KOLK_DEBUG_STRICT_                                                                                             \
    (KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES | KOLK_DEBUG_MOVE)

/* The text `own` for a pool inside another pool. It means no settings, whatever the environment contains. */
extern const char kolk_no_settings_[];

/* ---- The debug mode of one pool -------------------------------------------------------------------------------------
 *
 * For one pool, several threads may call its events at the same time:
 *
 *     each thread for   prepare (not with bypass), verify, is_intact, born, dies, wiped. A slot changes hands only as
 *     its own slots     the pool's objects do: the thread that gives it away releases, the one that takes it acquires.
 *     any thread        sites of any slot; fails; objects, the quarantine's size (constants).
 *     one, under the    with bypass: prepare and find, whose lists span all slots. The result of find is valid while
 *     pool's lock       the lock is held. With or without bypass: the quarantine.
 *     one, under the    committed. Meanwhile other threads may use slots that were committed before.
 *     lock of growth
 *     one, while no     laid_out, unmade, lost, leaks.
 *     other thread runs
 *
 * Only verify, born, wiped and leaks call failure handlers and profilers. None of these four needs the lock. */

/* A pool's description for its debug mode. */
typedef struct kolk_debug_desc_ {
    const char *name;
    const char *noun; /* the word for a place in reports: "slot" */
    kolk_settings_ settings;
    uint32_t object_size, object_align;
    uint32_t front, back; /* bytes of the red zones; 0 without guard */
    uint32_t max_capacity;
    bool persistent; /* contents survive from life to life: no fills, and each slot keeps its malloc block */
} kolk_debug_desc_;

/* A pool reads desc, objects and the quarantine's ring. */
typedef struct kolk_debug {
    kolk_debug_desc_ desc;
    kolk_profiler profiler;
    size_t births, asked; /* 32-bit counters wrap at 2^32, which misplaces one n-th failure */
    uintptr_t *objects;   /* bypass: each slot's object, as an address with inverted bits; 0: it never had one */
    uint32_t *ring;       /* the slots in quarantine (quarantine.h) */
    uint32_t first;       /* the index of the ring's oldest slot */
    struct life *lives;   /* by slot */
    uint32_t *heads;      /* bypass only: the first slot of each of max_capacity lists, plus 1 */
    size_t block_size;
} kolk_debug;

/* ---- Kinds ------------------------------------------------------------------------------------------------------- */

typedef enum kolk_kind_id_ {
    KOLK_KIND_POOL_ = 1,
    KOLK_KIND_SLOTMAP_,
    KOLK_KIND_BYTEMAP_,
    KOLK_KIND_QUEUE_,
    KOLK_KIND_SHARED_,
    KOLK_KIND_RESOURCE_,
    KOLK_KIND_HEAP_,
    KOLK_KIND_HEAP_CLASS_,
    KOLK_KIND_TRAY_,
    KOLK_KIND_IPC_,
    KOLK_KINDS_
} kolk_kind_id_;

struct kolk_ipc_holder;

/* What each kind of pool tells of its pools. */
typedef struct kolk_kind_ {
    /* Returns statistics. Called under the process's lock, perhaps while another thread uses the pool. `pool` is a copy
     * of the struct if `facts` is not NULL. If `stats` sets the name to "" for a pool that was added with a name, the
     * pool is not part of this process and is left out. */
    void (*stats)(const void *pool, kolk_stats *out);
    /* Hashes the members that never change from init to deinit, except by a rebind, including the number. It reads
     * only the `size` bytes of the struct or of a copy. It returns 0 if the struct cannot be a pool; then no pointer
     * or count in it may be trusted. NULL for a kind whose struct is in the library's memory and exists as long as it
     * is listed. All other structs are in the user's storage, which may end at any time. */
    uintptr_t (*facts)(const void *pool);
    size_t size;
    /* Begins a scene: the pool restarts the count of its peak if `measured`, and grows to `capacity` slots (0: it stays
     * as it is). Called without the lock. NULL if sizes and scenes do not apply to the kind. */
    kolk_status (*enter)(void *pool, uint32_t capacity, bool measured);
    /* Returns the pool's debug mode, NULL if it is off; the slots below *end were handed out. NULL for kinds without a
     * debug mode. */
    kolk_debug *(*debug)(const void *pool, uint32_t *end);
    /* The same for the n-th part of a pool whose parts are listed, too; *more becomes false behind the last one. NULL
     * for kinds without parts. */
    kolk_debug *(*part)(const void *pool, uint32_t n, uint32_t *end, bool *more);
    /* For a kind whose objects are borrowed, in place of `debug`: reports those that are, with the setting `sites`; and
     * calls `note` for each, with the site of its borrow. Both may be NULL. */
    void (*leaks)(const void *pool);
    void (*borrowed)(const void *pool, void (*note)(void *to, kolk_kept_site_ site, uint32_t depth), void *to);
    /* For a kind whose objects belong to processes: kolk_ipc_holders. NULL for the others. */
    uint32_t (*holders)(const void *pool, struct kolk_ipc_holder *holders, uint32_t n);
    /* The kind's extra statistics (records.h). NULL if there are none, as for all kinds with `facts`. */
    const struct kolk_extra_ *extra;
    uint32_t id;     /* a KOLK_KIND_ constant, for readers of other processes */
    uint32_t layout; /* a number that changes with the other structs that such a reader reads */
} kolk_kind_;

/* For `facts`: a hash of these words. */
#define KOLK_FACTS_(...)                                                                                               \
    kolk_facts_((const uintptr_t[]){__VA_ARGS__}, sizeof((const uintptr_t[]){__VA_ARGS__}) / sizeof(uintptr_t))

static inline uintptr_t kolk_facts_(const uintptr_t *words, size_t n) {
    uintptr_t hash = 0;
    while (n--) hash = (hash ^ *words++) * (uintptr_t)UINT64_C(0x9e3779b97f4a7c15) + 1;
    return hash;
}

#define KOLK_NAME_ROOM_ 36 /* bytes for a pool's name in the registry, which is cut to this size */

/* ---- Events ------------------------------------------------------------------------------------------------------ */

typedef struct kolk_events_ {
    /* -- the life of a pool: begin.h calls these -- */

    /* An init begins: sets the struct to zero. If a pool at this address was not deinit'd, forgets and reports it. At
     * the first call, reads the environment. */
    void (*begins)(void *pool, size_t size);

    /* Returns a copy of the name that lives as long as the process. */
    const char *(*named)(const char *name);

    /* Returns the settings of a pool of this name: from the environment, or else from its descriptor's text `own` (may
     * be NULL); tools and profilers turn on further settings. Reports mistakes if `loud`; one of them is to give a
     * pool by name the setting sample, which only a heap has. */
    kolk_settings_ (*settings)(const char *name, const char *own, bool loud, bool is_heap);

    /* Returns the capacity that KOLK_SIZES has for a pool of this name, or 0; reports that the pool keeps its own. */
    uint32_t (*wanted)(const char *name);
    void (*refused)(const char *name, uint32_t capacity, const char *why);

    /* May pools have other capacities than their descriptors? With `measured`: must they count their peaks, starting
     * again in each scene? */
    bool (*sizes)(bool measured);

    /* The complete pool is added to the registry, which writes its number to *number, a field of the pool: not 0, or 0
     * if there is no memory. `tries`: malloc may need this pool now, so it is not added while another thread forks. */
    void (*listed)(const void *pool, uint32_t *number, const kolk_kind_ *kind, bool tries);

    /* The pool ends, or has the facts and the name of another descriptor. Nothing happens if no pool has this
     * number. */
    void (*ended)(uint32_t number);
    void (*renamed)(uint32_t number, const char *name, kolk_debug *debug);

    /* Does this struct belong to a living pool, or to one that is not in the registry? If the pool was moved, the
     * registry is corrected, and debug mode reports the move. Returns false, and reports it, if the struct was never
     * initialised (its number and name may be garbage), is a copy of a pool that was deinitialised, or belongs to
     * another copy of kolk. */
    bool (*is_home)(const void *pool, uint32_t number, const char *name, const void *site);

    /* Copies the name of the pool with this number. Returns false if none has it. The caller holds the process's
     * lock. */
    bool (*name_of)(uint32_t number, char name[KOLK_NAME_ROOM_]);

    /* -- failures: fail.c calls these -- */

    /* kolk_stack_text; and the addresses of the calling thread's stack from `site` on, then NULL: `room` in all. */
    size_t (*words)(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);
    void (*walk)(const void *site, const void **frames, size_t room);

    /* Keeps the calling thread's stack, so that `depth` calls can be named later; and what it has kept: addresses from
     * the innermost on, then NULL. NULL: only the site's address was kept. Any thread may call both at any time. */
    kolk_kept_site_ (*keep)(const void *site, uint32_t depth);
    const void *const *(*kept)(kolk_kept_site_ site);

    /* -- the debug mode: called for pools with settings -- */

    /* Clears the settings that do not apply to objects which never move, and sets the sizes of the red zones. The
     * stride is then front + object_size + back. */
    void (*settled)(kolk_debug_desc_ *desc);

    /* Returns NULL if there is no memory. `committed` must follow before any slot is used. */
    kolk_debug *(*laid_out)(const kolk_debug_desc_ *desc);
    bool (*committed)(kolk_debug *debug, uint32_t capacity);

    /* Must be called after all lives have ended. Also frees the malloc blocks that slots below `end` have kept for
     * persistent contents. */
    void (*unmade)(kolk_debug *debug, uint32_t end);

    /* Should the next alloc fail, even though the pool has free slots? `asked` counts the calls. */
    bool (*fails)(const kolk_settings_ *settings, size_t *asked);

    /* Prepares a slot for a new life at this object: writes red zones and fill. Returns the object; with bypass returns
     * a malloc block instead, or NULL if malloc fails. */
    void *(*prepare)(kolk_debug *debug, uint32_t slot, void *object);

    /* A life begins; a life ends: `site` frees its object, which is not a leak any more but may still be read. */
    void (*born)(kolk_debug *debug, uint32_t slot, const void *object, const void *site);
    void (*dies)(kolk_debug *debug, uint32_t slot, const void *site);

    /* From here on nobody may read the object of an ended life: it is filled, or its malloc block freed. Must be called
     * once after each `dies` and before the slot's next life: immediately, or later if the free is deferred. */
    void (*wiped)(kolk_debug *debug, uint32_t slot, void *object);

    /* Fills the object of an ended life, which is not wiped yet. */
    void (*filled)(const kolk_debug *debug, void *object);

    /* Are the red zones of a slot unchanged and, if the slot is dead, its fill? The other one reports all damage, and
     * repairs it before the handler is called. `failure` contains the pool's part of the report. */
    bool (*is_intact)(const kolk_debug *debug, uint32_t slot, const void *object, bool live);
    void (*verify)(const kolk_debug *debug, uint32_t slot, void *object, bool live, kolk_failure failure);

    /* The contents of these slots are lost: their red zones and fills are not checked until their next life. If they
     * count as never handed out from now on, they have no sites, and the blocks that they have kept are freed. */
    void (*lost)(kolk_debug *debug, uint32_t from, uint32_t end, bool unissued);

    /* With bypass: returns the slot of an object, or UINT32_MAX. A dead object is found until its slot is used again.
     * For reports about other pointers, searches the slots below `end` for the object that contains the pointer, and
     * sets *inside to the distance from its start; NULL if `end` is 0. */
    uint32_t (*find)(const kolk_debug *debug, const void *pointer, uint32_t end, uint64_t *inside);

    /* Sets the sites of a failure. If another thread has taken the slot meanwhile, they may belong to its new life. */
    void (*sites)(const kolk_debug *debug, uint32_t slot, kolk_failure *failure);

    /* Writes the three places where most of the objects that are alive in slots below `end` were allocated: "97 from
     * fire (gun.c:31), 20 from ...". Returns the text, or NULL if no place is known. */
    const char *(*holders)(const kolk_debug *debug, uint32_t end, char *text, size_t size);

    /* Reports the objects that are alive in slots below `end`: one report for each alloc site, beginning with that of
     * the oldest object. Does so only with the setting `sites`, and reports each object only once. */
    void (*leaks)(kolk_debug *debug, uint32_t end);
} kolk_events_;

#if KOLK_WATCHED_ || defined(__CPPCHECK__) /* which sees a NULL at each use */
extern const kolk_events_ *const kolk_watch_;
#else
static const kolk_events_ *const kolk_watch_ = NULL;
#endif

/* A pool's debug mode; NULL if it is off. */
static inline kolk_debug *kolk_debug_of_(kolk_debug *debug) {
    return KOLK_WATCHED_ ? debug : NULL;
}

/* Leaves only the settings that apply to objects which never move, and sets the sizes of their red zones. */
static inline void kolk_settle_(kolk_debug_desc_ *desc) {
    if (!KOLK_WATCHED_) desc->settings.flags = 0;
    if (desc->settings.flags) kolk_watch_->settled(desc);
}

/* Must the next alloc of a pool in debug mode fail? */
static inline bool kolk_debug_fails_(kolk_debug *debug) {
    return (debug->desc.settings.flags & KOLK_DEBUG_FAIL) && kolk_watch_->fails(&debug->desc.settings, &debug->asked);
}

#endif
