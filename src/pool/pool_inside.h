/* pool_inside.h: declarations that the files of the core pool share. Each file calls only files that are listed below
 * it:
 *
 *     pool.c           the essay; alloc, renew, deinit
 *     pool_listed.c    FIFO and LOWEST on devices                      pool_watched.c  a pointer to the options' code
 *     pool_options.c   pools with options: their init, alloc, end
 *     pool_rebind.c    new hooks for an existing pool
 *     pool_snapshot.c  the whole pool as a block of bytes
 *     pool_full.c      a full pool: its hooks, and eviction             pool_pin.c    pins
 *     pool_free.c      free, clear, and the first half of a renewal
 *     pool_trim.c      releases memory; grows and releases by demand
 *     pool_make.c      descriptor and init                             pool_age.c    the order of births
 *     pool_memory.c    the pool's block of memory; growth              pool_rank.c   the order of costs
 *     pool_order.c     the order of free slots                         pool_ask.c    look-ups and reports
 *     pool_valid.c     the check of all invariants */
#ifndef KOLK_SRC_POOL_INSIDE_H
#define KOLK_SRC_POOL_INSIDE_H

#undef KOLK_EXTERN /* pool.c emits the functions of pool.inl, even if the program defines KOLK_EXTERN */
#include "kolk/pool.h"

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../base/bits.h"
#include "../core/geometry.h"
#include "../core/hooks.h"
#include "../core/block.h"
#include "../core/begin.h"

/* The pool's debug mode; NULL if it is off. */
static inline kolk_debug *pool_debug_of(const kolk_pool *pool) {
    return kolk_debug_of_(pool->debug);
}

/* Do objects come from malloc? */
static inline bool pool_is_bypassed(const kolk_pool *pool) {
    return KOLK_WATCHED_ && pool->objects != NULL;
}

static inline void *plain_slot_at(const kolk_pool *pool, uint64_t index) {
    KOLK_ASSERT_(index < pool->max_capacity);
    return pool->slots + (size_t)index * pool->stride;
}

/* The address of a slot's object. If objects come from malloc, the address of a slot that was never handed out is
 * meaningless. */
static inline void *pool_slot_at(const kolk_pool *pool, uint64_t index) {
    KOLK_ASSERT_(index < pool->capacity);
    return pool_is_bypassed(pool) ? kolk_pool_bypassed_(pool, (uintptr_t)index) : plain_slot_at(pool, index);
}

/* The slot of an object, or a number not below fresh if it has none. */
static inline uintptr_t pool_slot_of(const kolk_pool *pool, const void *object) {
    if (pool_is_bypassed(pool)) return kolk_watch_->find(pool->debug, object, 0, NULL);
    return kolk_pool_slot_(pool, object);
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

/* Does this slot have a live object? False for a number that is not a slot. */
static inline bool pool_is_alive(const kolk_pool *pool, uintptr_t slot) {
    return slot < pool->fresh && kolk_pool_lives_(pool, slot);
}

static inline void set_alive(kolk_pool *pool, uintptr_t slot) {
    KOLK_ASSERT_(slot < pool->fresh);
    pool->states[slot] |= KOLK_ALIVE_;
}

static inline void set_dead(kolk_pool *pool, uintptr_t slot) {
    KOLK_ASSERT_(slot < pool->fresh);
    pool->states[slot] &= (uint8_t)~KOLK_ALIVE_;
}

/* Writes the high part only where it differs, so that pages of the system stay untouched. */
static inline void set_high(kolk_pool *pool, uintptr_t slot, uint32_t high) {
    if (pool->high[slot] != high) pool->high[slot] = high;
}

static inline void set_generation(kolk_pool *pool, uintptr_t slot, uint32_t generation) {
    KOLK_ASSERT_(pool->high && slot < pool->fresh);
    pool->states[slot] = (uint8_t)((pool->states[slot] & KOLK_ALIVE_) | generation % KOLK_LOWS_ * KOLK_A_LIFE_);
    set_high(pool, slot, generation / KOLK_LOWS_);
}

/* Ends a life, and its generation if there are handles. Returns true if the slot is worn out: the caller must enter it
 * into their list. */
static inline bool end_life(kolk_pool *pool, uintptr_t slot) {
    KOLK_ASSERT_(pool_is_alive(pool, slot));
    if (kolk_add_overflows_(&pool->states[slot], KOLK_ENDS_)) return false;
    pool->states[slot] = 0; /* the low part has ended */
    return pool->high && pool->high[slot]++ == KOLK_GENERATION_MAX / KOLK_LOWS_;
}

/* Is the slot's generation used up? Only until the slot enters the list of worn-out slots. */
static inline bool is_just_worn(const kolk_pool *pool, uintptr_t slot) {
    return pool->high && pool->high[slot] > KOLK_GENERATION_MAX / KOLK_LOWS_;
}

/* The slot that wore out after this worn-out one. */
static inline uint32_t next_worn(const kolk_pool *pool, uint32_t slot) {
    return pool->high[slot];
}

/* Returns the first slot in [from, end) that is alive, or the first that is not, or `end` if there is none.
 * (pool_order.c) */
uint64_t kolk_pool_next_(const kolk_pool *pool, bool alive, uint64_t from, uint64_t end);

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* In a slot's pins: its object was freed since it was pinned. Then the slot is dead, and until the last unpin in none
 * of the places of I3. */
#define KEPT (UINT32_C(1) << 31)

static inline bool is_pinned(const kolk_pool *pool, uintptr_t slot) {
    KOLK_ASSERT_(slot < pool->fresh);
    return pool->pinned && pool->pins[slot];
}

static inline bool is_kept(const kolk_pool *pool, uintptr_t slot) {
    KOLK_ASSERT_(slot < pool->fresh);
    return pool->pinned && pool->pins[slot] & KEPT;
}

/* Are worn-out slots never used again? */
static inline bool is_strict(const kolk_pool *pool) {
    return pool->generations == KOLK_GENERATIONS_STRICT;
}

static inline const char *pool_name_of(const kolk_pool *pool) {
    return pool->name ? pool->name : "";
}

static inline bool keeps_peak(const kolk_pool *pool) {
    return pool->peak != PEAK_IS_FRESH;
}

static inline uint32_t peak_of(const kolk_pool *pool) {
    return kolk_peak_(pool->peak, pool->fresh);
}

/* The capacity by which never-issued slots are handed out. It is that of the saved pool after a restore, so that a FIFO
 * pool that has grown since then uses its slots in the same order as it did then. */
static inline uint32_t open_capacity(const kolk_pool *pool) {
    KOLK_ASSERT_(pool->held_back <= pool->capacity - pool->fresh);
    return pool->capacity - pool->held_back;
}

/* Does alloc take a never-issued slot before those that are free again? */
static inline bool is_fresh_first(const kolk_pool *pool) {
    return pool->reuse == KOLK_REUSE_FIFO && pool->fresh < open_capacity(pool);
}

/* The number of free slots below fresh that do not count towards the budget. They are the last ones to be used. */
static inline uint32_t uncounted_slots(const kolk_pool *pool) {
    return KOLK_HOSTED && pool->fresh > pool->counted ? pool->fresh - pool->counted : 0;
}

/* Enclose the call of a hook (hooks.h). Entering returns what leaving needs. */
static inline uint8_t enter_pool_hook(kolk_pool *pool, uint8_t hook) {
    KOLK_ASSERT_(hook < HOOK_LOOKS);
    uint8_t before = pool->in_hook;
    if (hook > before) pool->in_hook = hook;
    return before;
}

static inline void leave_pool_hook(kolk_pool *pool, uint8_t before) {
    pool->in_hook = before;
}

/* The same for hooks that may only look. The bounds are those that kolk_pool_show_all_bounds_ would set; nothing
 * changes until the end, so they need not be computed again. */
typedef struct pool_look {
    kolk_slot_ *floor, *order_floor;
    uint32_t bound, free_bound, aside_floor;
    uint8_t before;
} pool_look;

static inline pool_look begin_pool_look(kolk_pool *pool) {
    pool_look look = {.floor = pool->floor,
                      .order_floor = pool->order_floor,
                      .bound = pool->bound,
                      .free_bound = pool->free_bound,
                      .aside_floor = pool->aside_floor,
                      .before = pool->in_hook};
    pool->in_hook = HOOK_LOOKS;
    pool->floor = pool->order_floor = (kolk_slot_ *)UINTPTR_MAX;
    pool->aside_floor = UINT32_MAX;
    pool->bound = pool->free_bound = 0;
    return look;
}

static inline void end_pool_look(kolk_pool *pool, const pool_look *look) {
    pool->in_hook = look->before;
    pool->floor = look->floor;
    pool->order_floor = look->order_floor;
    pool->bound = look->bound;
    pool->free_bound = look->free_bound;
    pool->aside_floor = look->aside_floor;
}

static inline bool pool_has(const kolk_pool *pool, uint32_t debug_flags) {
    return KOLK_WATCHED_ && (pool->debug_flags & debug_flags);
}

/* The ABI of which the program says that it has it: KOLK_ABI if it is that of the library's pools. */
static inline uint32_t pool_abi(uint32_t given) {
    return given == KOLK_POOL_ABI_ ? KOLK_ABI : 0;
}

/* The fields of a descriptor that concern memory. */
static inline kolk_block_ pool_block_of(const kolk_pool_desc *desc) {
    return (kolk_block_){
        desc->object_align, desc->capacity, desc->max_capacity, desc->memory, desc->memory_size, NULL, 0, 0};
}

/* ---- Code for options -------------------------------------------------------------------------------------------- */

/* Checks the descriptor and replaces zeros with defaults. `type_size` and `type_align` are the same as in
 * kolk_pool_init_abi_. */
typedef kolk_status kolk_pool_resolver_(kolk_pool_desc *desc, size_t type_size, size_t type_align);

/* The functions that a pool calls for its options. `options` of a pool without any is NULL: pool.c allocates then, and
 * the linker drops the code of options that no pool of the program has. Where a member is NULL, a pool with these
 * options does what one without options does. */
typedef struct kolk_pool_options_ {
    kolk_pool_resolver_ *resolve;                              /* at init */
    void (*take)(kolk_pool *pool, const kolk_pool_desc *desc); /* kolk_pool_take_hooks_, then */
    void *(*alloc)(kolk_pool *pool, const void *site);         /* the slow path; never NULL */
    void (*enter)(kolk_pool *pool, uint32_t slot);             /* enters a slot whose life begins into the orders */
    void *(*issue)(kolk_pool *pool, uint32_t index, const void *site);      /* kolk_pool_issue_ */
    void (*show_bounds)(kolk_pool *pool);                                   /* kolk_pool_show_all_bounds_ */
    void (*bar)(const kolk_pool *pool, const char *verb, const void *site); /* kolk_pool_bar_ */
    bool (*end)(kolk_pool *pool, const void *site);                         /* begins deinit; false: there is none */
    bool (*free_rest)(kolk_pool *pool, void *object, const void *site);     /* kolk_pool_free_rest_ */
} kolk_pool_options_;

/* Those of pools with options: without ages and ranks, and with them; and which of them is for this pool
 * (pool_options.c). */
extern const kolk_pool_options_ kolk_pool_all_options_[2];
const kolk_pool_options_ *kolk_pool_options_of_(const kolk_pool *pool);

/* Those of pools in debug mode: a pointer to the same, or NULL in a program without diagnostics (pool_watched.c). */
#if KOLK_WATCHED_ || defined(__CPPCHECK__) /* which sees a NULL at each use */
extern const kolk_pool_options_ *const kolk_pool_watched_options_;
#else
static const kolk_pool_options_ *const kolk_pool_watched_options_ = NULL;
#endif

/* ---- pool_ask.c -------------------------------------------------------------------------------------------------- */

/* Reports why the caller cannot `verb` this pointer. `if_dead` is the rule that is broken if the pointer is to the
 * start of a free slot. */
void kolk_pool_fail_object_(const kolk_pool *pool, const void *object, const char *verb, kolk_status if_dead,
                            const void *site);

/* Reports that the hook that runs must not make a call. */
void kolk_pool_bar_(const kolk_pool *pool, const char *verb, const void *site);

/* Builds a failure for a report about a call. */
kolk_failure kolk_pool_failure_(const kolk_pool *pool, kolk_status rule, uint32_t slot, const void *site);

/* Check the red zones and the fill of one slot, or of all slots, and report damage. */
void kolk_pool_verify_(kolk_pool *pool, uint32_t index, const void *site);
void kolk_pool_verify_all_(kolk_pool *pool, const void *site);

/* Does the pointer point to the start of a live object of this pool itself, not of an overflow pool? */
bool kolk_pool_holds_(const kolk_pool *pool, const void *object);

/* Does kolk_pool_get for a caller at `site`. */
void *kolk_pool_find_(const kolk_pool *pool, kolk_handle handle, const void *site);

/* ---- pool_options.c ---------------------------------------------------------------------------------------------- */

/* Begins a life in a slot that is currently in no place. Returns the object. If its setup or malloc fails, frees the
 * slot and returns NULL. */
void *kolk_pool_issue_(kolk_pool *pool, uint32_t index, const void *site);

/* Takes the hooks of a descriptor, and what else belongs to a full pool. */
void kolk_pool_take_hooks_(kolk_pool *pool, const kolk_pool_desc *desc);

/* Applies the rules for hooks and what belongs to them to a descriptor whose other members are resolved. */
kolk_status kolk_pool_resolve_hooks_(kolk_pool_desc *desc);

/* ---- pool_free.c ------------------------------------------------------------------------------------------------- */

/* Ends the life of an object of this pool itself, so that the caller can begin the next one in its slot. Meanwhile the
 * slot is in none of the places of I3. Returns the slot, or KOLK_NO_SLOT_ if it is worn out or the failure handler has
 * freed the object. */
uint32_t kolk_pool_end_for_next_(kolk_pool *pool, void *object, const void *site);

/* Frees an object that one of the overflow pools has, or this pool itself, if its bounds send the free here. Otherwise
 * returns false. */
bool kolk_pool_free_rest_(kolk_pool *pool, void *object, const void *site);

/* An overflow pool releases its memory when its last object is freed through another pool. */
void kolk_pool_release_rest_(kolk_pool *overflow);

/* Completes the free of an object at its last unpin. */
void kolk_pool_free_kept_(kolk_pool *pool, uint32_t index, const void *site);

/* Frees all live objects. If the pool `ends`, also frees objects that reset hooks allocate meanwhile. This ends when
 * the free slots run out, because none are added. */
void kolk_pool_clear_for_(kolk_pool *pool, bool ends, const void *site);

/* ---- pool_full.c ------------------------------------------------------------------------------------------------- */

/* The kind of an alloc. All zero means kolk_pool_alloc. */
typedef struct alloc_request {
    bool urgent;        /* may use the headroom */
    bool quiet;         /* calls no hook */
    bool looked;        /* on_low was already called */
    const double *cost; /* evicts an object that costs less than this, instead of calling on_full */
} alloc_request;

/* The permissions of an alloc. */
typedef struct alloc_grant {
    bool urgent;  /* may use the headroom: it is urgent, or an object was freed for it */
    bool fails;   /* a forced failure: must fail until room is made */
    bool again;   /* may try once more, because room may have been made */
    bool ended;   /* on_full has ended the pool */
    void *object; /* of the alloc, if it was made of an evicted one; otherwise NULL */
} alloc_grant;

/* Calls on_low before an alloc of n slots that would leave fewer than low_water. */
void kolk_pool_look_at_low_water_(kolk_pool *pool, uint32_t n);

/* Tries to make room for an alloc that has found no slot. Returns the alloc's new permissions. */
alloc_grant kolk_pool_make_room_(kolk_pool *pool, alloc_request how, alloc_grant has, const void *site);

/* ---- pool_trim.c ------------------------------------------------------------------------------------------------- */

/* Ends the set-up of the slots in [from, end). */
void kolk_pool_tear_down_(kolk_pool *pool, uint64_t from, uint64_t end);

/* ---- pool_make.c ------------------------------------------------------------------------------------------------- */

/* Applies the rules that do not depend on options. */
kolk_pool_resolver_ kolk_pool_resolve_;

/* Initialises a pool with these options, or with all of them if it has a debug mode. */
kolk_status kolk_pool_begin_(kolk_pool *pool, const kolk_pool_desc *given, size_t type_size, size_t type_align,
                             size_t pool_size, uint32_t abi, const kolk_pool_options_ *options);

/* ---- pool_memory.c ----------------------------------------------------------------------------------------------- */

/* Returns the size of the block of a pool with this many slots, with each region rounded up to `unit`. `desc` is a
 * kolk_pool_desc. This is a callback of block.h. */
uint64_t kolk_pool_bytes_(const void *desc, uint32_t capacity, uint64_t unit);

/* Allocates the memory of a pool, with the debug settings that it can have, and sets the fields that describe the
 * memory. The pool must be all zero before the call, and is all zero again on failure. Reports nothing. */
kolk_status kolk_pool_make_(kolk_pool *pool, const kolk_pool_desc *desc, const kolk_settings_ *settings);

/* Releases the pool's memory and sets the pool to zero. */
void kolk_pool_unmake_(kolk_pool *pool);

/* Grows to at least `needed` slots, and to twice the old capacity if possible. If some slots below the capacity do not
 * count towards the budget, only lets at least the first `needed` count, and more if possible. */
bool kolk_pool_grow_(kolk_pool *pool, uint64_t needed);

/* The number of bytes committed for the pool's capacity. */
uint64_t kolk_pool_committed_(const kolk_pool *pool);

/* Is a hook running that must not make this call? If so, reports that. `most` is the last hook that may make it. */
static inline bool kolk_pool_is_barred_(const kolk_pool *pool, uint8_t most, const char *verb, const void *site) {
    if (!KOLK_UNLIKELY_(pool->in_hook > most)) return false;
    if (pool->options && pool->options->bar) pool->options->bar(pool, verb, site);
    return true;
}

#endif
