/* debug.h: what the debug mode keeps for a pool beside it: the settings in force, zones and fills and their proof, sites,
 * the quarantine, and objects that are served from malloc. It knows slots, objects and bytes, and no kind of pool. */
#ifndef KOLK_SRC_DEBUG_H
#define KOLK_SRC_DEBUG_H

#include "kolk/base.h"

/* Where a function of the library was called from. */
#if defined(__GNUC__)
#define SITE __builtin_extract_return_addr(__builtin_return_address(0))
#else
#define SITE NULL
#endif

/* Keeps what is rare from costing registers where it is called; compiles what is hot once for each caller. */
#if defined(__GNUC__)
#define KOLK_APART  __attribute__((noinline))
#define KOLK_WITHIN inline __attribute__((always_inline))
#else
#define KOLK_APART
#define KOLK_WITHIN inline
#endif

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

typedef struct kolk_settings {
    uint32_t flags;                  /* KOLK_DEBUG_ */
    uint32_t quarantine;             /* slots; 0 without the flag */
    uint32_t fail_every;             /* forced failures: each n-th alloc; or, if 0, */
    uint64_t fail_chance, fail_seed; /* by chance, in 2^-32 */
} kolk_settings;

/* What a pool of this name is to have: by the environment, or else by its own descriptor's text (may be NULL), and
 * because of tools and profilers. Reports what it does not understand. */
kolk_settings kolk_settings_of(const char *name, const char *own);

bool kolk_profiler_is_set(void);

/* With any of these, handles of other pools are reported: they were asked for, as tools and profilers were not. */
#define KOLK_DEBUG_STRICT                                                                                              \
    (KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES | KOLK_DEBUG_MOVE)

/* ---- The debug mode of one pool ----------------------------------------------------------------------------------
 *
 * What several threads may call at the same time, of one pool:
 *
 *     each for slots    dress (not with bypass), verify, is_intact, begin_life, end_life, wipe. A slot changes hands
 *     of its own        only as the pool's objects do: who gives it away releases, who takes it acquires.
 *     all               sites, of any slot; fails; objects, quarantine (constants).
 *     one, under the    with bypass dress, find, search, walked and walk, whose lists are those of all slots: what
 *     pool's lock       find says is true for as long as the lock is held. Always ring and ring_advance.
 *     one, under the    commit. Others may go on meanwhile, in slots that were committed before.
 *     lock of growing
 *     one, and nobody   begin, end, forget, unissue, leaks.
 *     does anything
 *
 * Failure handlers and profilers are called by verify, begin_life, wipe and leaks: by none that needs the lock. */

typedef struct kolk_debug kolk_debug;

/* What a pool tells its debug mode about itself. */
typedef struct kolk_debug_desc {
    const char *name;
    const char *noun; /* of what is verified: "slot" */
    kolk_settings settings;
    uint32_t object_size, object_align;
    uint32_t front, back; /* of the zones; 0 without guard */
    uint32_t max_capacity;
    bool persistent; /* contents survive from life to life: nothing may be filled, and a malloc block is kept */
} kolk_debug_desc;

/* Leaves out what objects that never move cannot have, and fills in the zones; front + object_size + back is the stride
 * with these. */
void kolk_debug_settle(kolk_debug_desc *desc);

/* NULL: no memory. It has room for no slot yet. */
kolk_debug *kolk_debug_begin(const kolk_debug_desc *desc);

/* After the end of all lives. Frees the malloc blocks of persistent contents too, of the slots below `end`. */
void kolk_debug_end(kolk_debug *debug, uint32_t end);

bool kolk_debug_commit(kolk_debug *debug, uint32_t capacity);

/* Bypass: the objects by slot, inverted (0 where there never was one), or NULL without bypass. */
uintptr_t *kolk_debug_objects(const kolk_debug *debug);

/* The slot of such an object, or UINT32_MAX. A dead one is still known until malloc uses its place again. */
uintptr_t kolk_debug_find(const kolk_debug *debug, const void *object);

/* The slot that these bytes are in, and how far from its object's start: for words about pointers that are no objects.
 * Looks at all slots below `end`; UINT32_MAX if there is none. */
uint32_t kolk_debug_search(const kolk_debug *debug, uint32_t end, const void *pointer, uint64_t *inside);

/* ---- Walks by pointers, with bypass ---------------------------------------------------------------------------------
 *
 * A walk that stands at an object may go on from there when that is long free and malloc has used its address again. So
 * `next` says to which objects it has come. Of these, the last 64 that were freed are known. */

/* The slot that an object is in, or was when a walk came to it; of another object as find. */
uintptr_t kolk_debug_walked(const kolk_debug *debug, const void *object);

/* A walk has come to the object of this slot, which is `dead` if another thread has ended its life since. */
void kolk_debug_walk(kolk_debug *debug, uint32_t slot, bool dead);

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

/* Fills the sites of a failure in. Those of a slot that another thread has taken meanwhile may be its new life's. */
void kolk_debug_sites(const kolk_debug *debug, uint32_t slot, kolk_failure *failure);

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

/* Are the zones of a slot as they were left, and the fill, if the slot is dead? */
bool kolk_debug_is_intact(const kolk_debug *debug, uint32_t slot, const void *object, bool live);

/* The same with a report of what is not, which is put right before the handler is called. `failure` has the pool's part
 * of the report. */
void kolk_debug_verify(const kolk_debug *debug, uint32_t slot, void *object, bool live, kolk_failure failure);

/* Zones and fill for the life that is to begin in a slot, at this object; for bypass, at the one returned: NULL if malloc
 * has none. */
void *kolk_debug_dress(kolk_debug *debug, uint32_t slot, void *object);

/* A life has begun; it has ended: its object was freed by `site`, and is no leak any more, but may still be read. */
void kolk_debug_begin_life(kolk_debug *debug, uint32_t slot, const void *object, const void *site);
void kolk_debug_end_life(kolk_debug *debug, uint32_t slot, const void *site);

/* Nobody reads the object of an ended life any more: it is filled, or its block freed, and profilers hear of it. Due
 * once after each end_life, before the slot may live again: at once, or, where the free is deferred, later. */
void kolk_debug_wipe(kolk_debug *debug, uint32_t slot, void *object);

/* Is this alloc to fail, whatever the pool has? */
bool kolk_debug_fails(kolk_debug *debug);

/* The contents of these slots are lost: nothing is known of their zones and fills until their next life. */
void kolk_debug_forget(kolk_debug *debug, uint32_t from, uint32_t end);

/* These dead slots count as never handed out from now on: the same, and blocks that were kept for them are freed. */
void kolk_debug_unissue(kolk_debug *debug, uint32_t from, uint32_t end);

/* One report for each site of alloc among the lives in slots below `end`, that of the oldest object first; with `sites`
 * only. Once. */
void kolk_debug_leaks(kolk_debug *debug, uint32_t end, kolk_failure failure);

/* ---- Quarantine: a ring of the slots that were freed last --------------------------------------------------------- */

uint32_t kolk_debug_quarantine(const kolk_debug *debug);  /* how many may wait */
uint32_t *kolk_debug_ring(kolk_debug *debug, uint32_t n); /* the n-th of those that wait, the oldest first */
void kolk_debug_ring_advance(kolk_debug *debug);          /* the oldest leaves */

#endif
