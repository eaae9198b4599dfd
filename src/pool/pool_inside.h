/* pool_inside.h: what the files of the core pool share. Each calls only those below it:
 *
 *     pool.c           the essay; alloc, deinit
 *     pool_alloc.c     alloc from pools with options                  pool_init.c   init
 *     pool_plain.c     ... and from those without                     pool_desc.c   the descriptor's rules and defaults
 *     pool_snapshot.c  the whole pool as a block of bytes
 *     pool_full.c      a full pool: its hooks, and eviction
 *     pool_free.c      free and clear
 *     pool_trim.c      memory goes back, and both ways by demand
 *     pool_memory.c    the block that a pool lives in; growth         pool_age.c    the order of births
 *     pool_order.c     the order of free slots                        pool_ask.c    questions and reports
 *     pool_valid.c     the predicate over all invariants */
#ifndef KOLK_SRC_POOL_INSIDE_H
#define KOLK_SRC_POOL_INSIDE_H

#undef KOLK_EXTERN /* the functions of pool.inl are emitted in pool.c, also in a program that is compiled with it */
#include "kolk/pool.h"

#include "../core/assert.h"
#include "../core/bits.h"
#include "../core/geometry.h"
#include "../diag/debug.h"
#include "../core/room.h"
#include "../diag/sizes.h"

/* NULL: off, as always without diagnostics, where the compiler leaves all of it out. */
static inline kolk_debug *pool_debug_of(const kolk_pool *pool) {
    return KOLK_DIAGNOSTICS ? pool->debug : NULL;
}

/* Do objects come from malloc? */
static inline bool pool_is_bypassed(const kolk_pool *pool) {
    return KOLK_DIAGNOSTICS && pool->objects != NULL;
}

static inline void *plain_slot_at(const kolk_pool *pool, uint64_t index) {
    KOLK_ASSERT(index < pool->desc.max_capacity);
    return pool->slots + (size_t)index * pool->stride;
}

/* The object in a slot; of a slot that was never handed out it means nothing if objects come from malloc. */
static inline void *pool_slot_at(const kolk_pool *pool, uint64_t index) {
    KOLK_ASSERT(index < pool->capacity);
    return pool_is_bypassed(pool) ? kolk_pool_bypassed(pool, (uintptr_t)index) : plain_slot_at(pool, index);
}

/* The slot of an object, or a number from fresh on. */
static inline uintptr_t pool_slot_of(const kolk_pool *pool, const void *object) {
    if (pool_is_bypassed(pool)) return kolk_debug_find(pool->debug, object);
    return kolk_pool_slot(pool, object);
}

/* Has this slot, or number that is no slot, a live object? */
static inline bool pool_is_alive(const kolk_pool *pool, uintptr_t slot) {
    return slot < pool->fresh && kolk_bits_get(pool->live, slot);
}

/* Are worn-out slots never used again? */
static inline bool is_strict(const kolk_pool *pool) {
    return pool->desc.generations == KOLK_GENERATIONS_STRICT;
}

static inline const char *pool_name_of(const kolk_pool *pool) {
    return pool->desc.name ? pool->desc.name : "";
}

static inline bool keeps_peak(const kolk_pool *pool) {
    return pool->peak != PEAK_IS_FRESH;
}

static inline uint32_t peak_of(const kolk_pool *pool) {
    return kolk_peak(pool->peak, pool->fresh);
}

/* How many of the last free slots need the slow path: those that belong to the headroom, or that are at the low-water
 * mark or one above it, as far as never-issued slots don't cover them; or those that would raise a peak that is
 * counted. */
static inline uint32_t watched_slots(const kolk_pool *pool) {
    uint64_t low = pool->desc.on_low ? (uint64_t)pool->desc.low_water + 1 : 0, spare = pool->capacity - pool->fresh;
    uint64_t kept = pool->desc.headroom > low ? pool->desc.headroom : low;
    uint32_t used = pool->fresh - pool->worn.count - pool->quarantined; /* alive, or free and next in turn */
    uint64_t slots = kept > spare ? kept - spare : 0, above = used > pool->peak ? used - pool->peak : 0;
    if (slots < above) slots = above;
    return slots < used ? (uint32_t)slots : used;
}

/* Shows the fast paths their bounds (I4); due when fresh, capacity, worn or the peak have changed. */
static inline void show_pool_bounds(kolk_pool *pool) {
    bool lifo = pool->desc.reuse == KOLK_REUSE_LIFO, easy = !pool_debug_of(pool) && !pool->ready;
    bool fresh_first = pool->desc.reuse == KOLK_REUSE_FIFO && pool->fresh < pool->capacity;
    kolk_slot *nothing = (kolk_slot *)UINTPTR_MAX, *floor = nothing;
    uint32_t watched = watched_slots(pool);
    if (easy && lifo) floor = watched ? pool->stack + watched : pool->stack; /* NULL without slots */
    pool->bound = pool_debug_of(pool) ? 0 : pool->fresh;
    pool->free_bound = lifo && !pool_debug_of(pool) && !pool->desc.reset ? pool->fresh : 0;
    pool->floor = pool->ages ? nothing : floor;
    pool->age_floor = pool->ages ? floor : nothing;
    pool->held_floor = easy && !lifo && !pool->ages && !fresh_first ? pool->worn.count + watched : UINT32_MAX;
}

static inline bool pool_has(const kolk_pool *pool, uint32_t debug_flags) {
    return KOLK_DIAGNOSTICS && (pool->debug_flags & debug_flags);
}

/* What a descriptor says of the room that the pool lives in. */
static inline kolk_room pool_room_of(const kolk_pool_desc *desc) {
    return (kolk_room){
        desc->object_align, desc->capacity, desc->max_capacity, desc->memory, desc->memory_size, NULL, 0, 0};
}

/* ---- pool_ask.c -------------------------------------------------------------------------------------------------- */

/* Reports what is wrong with a pointer that the caller wants to `verb`; if_dead is the rule broken by a free slot's. */
void kolk_pool_fail_object(const kolk_pool *pool, const void *object, const char *verb, kolk_status if_dead,
                           const void *site);

/* ... and what is wrong with a call. */
kolk_failure kolk_pool_failure(const kolk_pool *pool, kolk_status rule, uint32_t slot, const void *site);

/* Reports what is still alive, if the debug mode knows. */
void kolk_pool_list_leaks(const kolk_pool *pool);

/* The debug mode's proof of the zones and the fill of a slot; and of all slots. Reports what is damaged. */
void kolk_pool_verify(kolk_pool *pool, uint32_t index, const void *site);
void kolk_pool_verify_all(kolk_pool *pool, const void *site);

/* Is it the start of a live object of this pool, and not of its overflow pool? */
bool kolk_pool_holds(const kolk_pool *pool, const void *object);

/* Which of this pool and those that it overflows into has this live object; NULL: none. */
kolk_pool *kolk_pool_holder(const kolk_pool *pool, const void *object);

/* kolk_pool_get for a caller at `site`. */
void *kolk_pool_find(const kolk_pool *pool, kolk_handle handle, const void *site);

/* ---- pool_alloc.c ------------------------------------------------------------------------------------------------ */

/* An alloc that the fast paths have no slot for. */
void *kolk_pool_alloc_waiting(kolk_pool *pool, const void *site);

/* What the end of a pool means to hooks and the debug mode. */
void kolk_pool_end_options(kolk_pool *pool, const void *site);

/* ---- pool_free.c ------------------------------------------------------------------------------------------------- */

/* Frees an object if this pool, or one that it overflows into, has it. */
bool kolk_pool_free_overflow(kolk_pool *pool, void *object, const void *site);

/* Frees all that is alive. If the pool `ends`, also what reset hooks allocate: that ends with the free slots, as none
 * is added. */
void kolk_pool_clear_for(kolk_pool *pool, bool ends, const void *site);

/* ---- pool_full.c ------------------------------------------------------------------------------------------------- */

/* How an object is asked for. All 0 is the way of kolk_pool_alloc. */
typedef struct alloc_request {
    bool urgent;        /* from the headroom too */
    bool quiet;         /* no hook is asked */
    bool looked;        /* on_low has been asked */
    const double *cost; /* at the cost of a cheaper object, instead of asking on_full */
} alloc_request;

/* What an alloc may do. */
typedef struct alloc_grant {
    bool urgent; /* take from the headroom: it takes the place of what was freed for it */
    bool fails;  /* nothing, until room was made: a forced failure */
    bool again;  /* try once more: somebody was asked for room */
} alloc_grant;

/* Calls on_low when an alloc of n is about to take the first of the last slots. */
void kolk_pool_look_at_low_water(kolk_pool *pool, uint32_t n, const void *site);

/* Asks for room for an alloc that has found no slot; gives what the alloc may do then. */
alloc_grant kolk_pool_make_room(kolk_pool *pool, alloc_request how, alloc_grant has, const void *site);

/* ---- pool_trim.c ------------------------------------------------------------------------------------------------- */

/* Ends the set-up of these slots. */
void kolk_pool_tear_down(kolk_pool *pool, uint64_t from, uint64_t end);

/* ---- pool_desc.c ------------------------------------------------------------------------------------------------- */

/* Checks the descriptor and fills in its defaults. type_size and type_align as in kolk_pool_init_type. */
typedef kolk_status kolk_pool_resolver(kolk_pool_desc *desc, size_t type_size, size_t type_align);
kolk_pool_resolver kolk_pool_resolve;

/* The same for a descriptor that asks for no option. */
kolk_pool_resolver kolk_pool_resolve_plain;

/* ---- pool_init.c ------------------------------------------------------------------------------------------------- */

/* The init of a pool, by the rules of `resolve`. */
kolk_status kolk_pool_begin(kolk_pool *pool, const kolk_pool_desc *given, size_t type_size, size_t type_align,
                            size_t pool_size, uint32_t abi, kolk_pool_resolver *resolve);

/* ---- pool_memory.c ----------------------------------------------------------------------------------------------- */

/* Bytes of the block of a pool with this many slots, each region rounded up to `unit`; desc is a kolk_pool_desc
 * (room.h). */
uint64_t kolk_pool_bytes(const void *desc, uint32_t capacity, uint64_t unit);

/* Makes the memory of such a pool, with what it can have of the debug mode's settings: the pool, all zero before, has
 * its shape and its places then, or is all zero as before. Reports nothing. */
kolk_status kolk_pool_make(kolk_pool *pool, const kolk_pool_desc *desc, const kolk_settings *settings);

/* Gives that memory back; the pool is all zero then. */
void kolk_pool_unmake(kolk_pool *pool);

/* Lets this many slots be used, as far as the pool commits memory step by step. */
bool kolk_pool_commit(const kolk_pool *pool, uint32_t capacity);

/* Room for `needed` slots at least, twice what there was if possible. */
bool kolk_pool_grow(kolk_pool *pool, uint64_t needed);

/* Bytes that capacity slots have been committed. */
uint64_t kolk_pool_committed(const kolk_pool *pool);

/* ---- Options, which are linked only where a pool has some: pool_plain.c ----------------------------------------- */

/* What pools with options need; the last two are NULL where no pool has any. */
typedef struct kolk_pool_option_table {
    void *(*alloc)(kolk_pool *pool, const void *site);
    void (*show_bounds)(kolk_pool *pool);
    void (*end)(kolk_pool *pool, const void *site);
    bool (*free_overflow)(kolk_pool *pool, void *object, const void *site);
} kolk_pool_option_table;

#define POOL_OPTIONS                                                                                                   \
    { kolk_pool_alloc_waiting, show_pool_bounds, kolk_pool_end_options, kolk_pool_free_overflow }

#if KOLK_DIAGNOSTICS
static const kolk_pool_option_table kolk_pool_options = POOL_OPTIONS; /* the compiler calls them directly */
#define POOL_OPTION(name) (kolk_pool_options.name)
#else
extern kolk_pool_option_table kolk_pool_options; /* pool_plain.c; pool_alloc.c enters them */
#define POOL_OPTION(name) __atomic_load_n(&kolk_pool_options.name, __ATOMIC_RELAXED)
#endif

#endif
