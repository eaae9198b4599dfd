/* debug.h: what the debug mode keeps beside a pool: red zones and fills and their proof, sites, the quarantine, and
 * objects that are malloc blocks (bypass). It knows slots, objects and bytes, but no kind of pool. */
#ifndef KOLK_SRC_DEBUG_H
#define KOLK_SRC_DEBUG_H

#include "kolk/base.h"

#include "settings.h"

/* Where a function of the library was called from. The function must be KOLK_NOINLINE: merged into its caller, as link
 * time optimisation does, it would give the caller's caller. */
#ifndef __EMSCRIPTEN__ /* where it asks for an option of the linker, and gives nothing that could be put into words */
#define SITE __builtin_extract_return_addr(__builtin_return_address(0))
#else
#define SITE NULL
#endif

/* ---- The debug mode of one pool -------------------------------------------------------------------------------------
 *
 * Several threads may call at the same time, of one pool:
 *
 *     each thread for   prepare (not with bypass), verify, is_intact, begin_life, end_life, wipe. A slot changes hands
 *     its own slots     only as the pool's objects do: the thread that gives it away releases, the one that takes it
 *                       acquires.
 *     any thread        sites, of any slot; fails; objects, quarantine (constants).
 *     one, under the    with bypass prepare, find, search, walked and walk, whose lists are those of all slots: what
 *     pool's lock       find says is true for as long as the lock is held. Always ring and ring_advance.
 *     one, under the    commit. Other threads may go on meanwhile, in slots that were committed before.
 *     lock of growing
 *     one, while no     begin, end, forget, unissue, leaks.
 *     other runs
 *
 * Failure handlers and profilers are called by verify, begin_life, wipe and leaks: by none that needs the lock. */

typedef struct kolk_debug kolk_debug;

/* What a pool tells its debug mode about itself. */
typedef struct kolk_debug_desc {
    const char *name;
    const char *noun; /* of what is verified: "slot" */
    kolk_settings settings;
    uint32_t object_size, object_align;
    uint32_t front, back; /* bytes of the red zones; 0 without guard */
    uint32_t max_capacity;
    bool persistent; /* contents survive from life to life: nothing may be filled, and a malloc block is kept */
} kolk_debug_desc;

#if KOLK_DIAGNOSTICS

/* Leaves out what objects that never move cannot have, and fills in the red zones. With these, the stride is
 * front + object_size + back. */
void kolk_debug_settle(kolk_debug_desc *desc);

/* NULL: no memory. It has room for no slot yet. */
kolk_debug *kolk_debug_begin(const kolk_debug_desc *desc);

/* Due after the end of all lives. Frees the malloc blocks of persistent contents too, of the slots below `end`. */
void kolk_debug_end(kolk_debug *debug, uint32_t end);

bool kolk_debug_commit(kolk_debug *debug, uint32_t capacity);

/* Bypass: the objects by slot, inverted (0 where there never was one). NULL without bypass. */
uintptr_t *kolk_debug_objects(const kolk_debug *debug);

/* The slot of such an object, or UINT32_MAX. A dead object is still known until malloc uses its place again. */
uintptr_t kolk_debug_find(const kolk_debug *debug, const void *object);

/* For sentences about pointers that are no objects: the slot that these bytes are in, and how far behind its object's
 * start. Looks at all slots below `end`. UINT32_MAX: they are in none. */
uint32_t kolk_debug_search(const kolk_debug *debug, uint32_t end, const void *pointer, uint64_t *inside);

/* ---- Walks by pointers, with bypass ---------------------------------------------------------------------------------
 *
 * A walk that stands at an object may go on from there when the object is long free and malloc has used its address
 * again. So `next` says to which objects it has come. Of these, the last that were freed are known: as many of them as
 * the header of the pool says. */

/* The slot that an object is in, or was in when a walk came to it. Of an object that no walk came to: as find. */
uintptr_t kolk_debug_walked(const kolk_debug *debug, const void *object);

/* A walk has come to the object of this slot. It is `dead` if another thread has ended its life since. */
void kolk_debug_walk(kolk_debug *debug, uint32_t slot, bool dead);

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

/* Fills in the sites of a failure. If another thread has taken the slot meanwhile, they may be those of its new
 * life. */
void kolk_debug_sites(const kolk_debug *debug, uint32_t slot, kolk_failure *failure);

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

/* Are the red zones of a slot as they were left, and, if the slot is dead, the fill? */
bool kolk_debug_is_intact(const kolk_debug *debug, uint32_t slot, const void *object, bool live);

/* The same, with a report of each damage. It is repaired before the handler is called. `failure` has the pool's part of
 * the report. */
void kolk_debug_verify(const kolk_debug *debug, uint32_t slot, void *object, bool live, kolk_failure failure);

/* Prepares a slot for the life that is to begin at this object: writes red zones and fill. Returns the object. With
 * bypass that is another one, a malloc block; NULL: malloc has none. */
void *kolk_debug_prepare(kolk_debug *debug, uint32_t slot, void *object);

/* A life has begun. */
void kolk_debug_begin_life(kolk_debug *debug, uint32_t slot, const void *object, const void *site);

/* A life has ended: its object was freed by `site` and is no leak any more, but may still be read. */
void kolk_debug_end_life(kolk_debug *debug, uint32_t slot, const void *site);

/* The object of an ended life is read no more: it is filled, or its block freed, and profilers hear of it. Due once
 * after each end_life, before the slot may live again: at once, or later where the free is deferred. */
void kolk_debug_wipe(kolk_debug *debug, uint32_t slot, void *object);

/* Is this alloc to fail, whatever the pool has? */
bool kolk_debug_fails(kolk_debug *debug);

/* The contents of these slots are lost: nothing is known of their red zones and fills until their next life. */
void kolk_debug_forget(kolk_debug *debug, uint32_t from, uint32_t end);

/* These dead slots count as never handed out from now on. That includes forget, and frees the blocks that were kept. */
void kolk_debug_unissue(kolk_debug *debug, uint32_t from, uint32_t end);

/* One report for each site of alloc among the lives in slots below `end`, that of the oldest object first. Only with
 * `sites`, and once. */
void kolk_debug_leaks(kolk_debug *debug, uint32_t end, kolk_failure failure);

/* ---- Quarantine: a ring of the slots that were freed last -------------------------------------------------------- */

uint32_t kolk_debug_quarantine(const kolk_debug *debug);  /* how many may wait */
uint32_t *kolk_debug_ring(kolk_debug *debug, uint32_t n); /* the n-th of those that wait, the oldest first */
void kolk_debug_ring_advance(kolk_debug *debug);          /* the oldest leaves */

#else
#include "debug_none.h"
#endif
#endif
