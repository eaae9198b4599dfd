/* debug.h: the debug mode of a pool: red zones, fills and their checks, sites, the quarantine, and objects that are
 * malloc blocks (bypass). It deals with slots, objects and bytes, and does not depend on the kind of pool. */
#ifndef KOLK_SRC_DEBUG_H
#define KOLK_SRC_DEBUG_H

#include "kolk/base.h"

#include "places.h"
#include "settings.h"

/* The address that a function of the library was called from. The function must be KOLK_NOINLINE_: if link-time
 * optimisation merged it into its caller, this would be an address in the caller's caller. */
#ifndef __EMSCRIPTEN__ /* there it needs a linker option, and its result cannot be named */
#define SITE KOLK_RETURN_ADDRESS_()
#else
#define SITE NULL
#endif

/* ---- The debug mode of one pool -------------------------------------------------------------------------------------
 *
 * For one pool, several threads may call these at the same time:
 *
 *     each thread for   prepare (not with bypass), verify, is_intact, begin_life, end_life, wipe. A slot changes hands
 *     its own slots     only as the pool's objects do: the thread that gives it away releases, the one that takes it
 *                       acquires.
 *     any thread        sites of any slot; places; fails; objects, quarantine (constants).
 *     one, under the    with bypass: prepare, find and search, whose lists span all slots. The result of find is
 *     pool's lock       valid while the lock is held. With or without bypass: ring and ring_advance.
 *     one, under the    commit. Meanwhile other threads may use slots that were committed before.
 *     lock of growth
 *     one, while no     begin, end, forget, unissue, leaks.
 *     other thread runs
 *
 * Only verify, begin_life, wipe and leaks call failure handlers and profilers. None of these four needs the lock. */

typedef struct kolk_debug kolk_debug;

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

#if KOLK_DIAGNOSTICS

/* Clears the settings that do not apply to objects which never move, and sets the sizes of the red zones. The stride is
 * then front + object_size + back. */
void kolk_debug_settle_(kolk_debug_desc_ *desc);

/* Returns NULL if there is no memory. kolk_debug_commit_ must follow before any slot is used. */
kolk_debug *kolk_debug_begin_(const kolk_debug_desc_ *desc);

/* Replaces the name, which is never NULL. */
void kolk_debug_rename_(kolk_debug *debug, const char *name);

/* Must be called after all lives have ended. Also frees the malloc blocks that slots below `end` have kept for
 * persistent contents. */
void kolk_debug_end_(kolk_debug *debug, uint32_t end);

bool kolk_debug_commit_(kolk_debug *debug, uint32_t capacity);

/* With bypass, returns an array that has, for each slot, the address of its object with inverted bits, or 0 if the slot
 * never had an object. Returns NULL without bypass. */
uintptr_t *kolk_debug_objects_(const kolk_debug *debug);

/* With bypass, returns the slot of an object, or UINT32_MAX. A dead object is found until its slot is used again. */
uintptr_t kolk_debug_find_(const kolk_debug *debug, const void *object);

/* For reports about pointers that are not objects: returns the slot below `end` whose object contains `pointer`, or
 * UINT32_MAX. *inside becomes the distance from the object's start. Searches all slots. */
uint32_t kolk_debug_search_(const kolk_debug *debug, uint32_t end, const void *pointer, uint64_t *inside);

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

/* Sets the sites of a failure. If another thread has taken the slot meanwhile, they may belong to its new life. */
void kolk_debug_sites_(const kolk_debug *debug, uint32_t slot, kolk_failure *failure);

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

/* Are the red zones of a slot unchanged, and, if the slot is dead, its fill? */
bool kolk_debug_is_intact_(const kolk_debug *debug, uint32_t slot, const void *object, bool live);

/* The same, but reports all damage, and repairs it before the handler is called. `failure` contains the pool's part of
 * the report. */
void kolk_debug_verify_(const kolk_debug *debug, uint32_t slot, void *object, bool live, kolk_failure failure);

/* Prepares a slot for a new life at this object: writes red zones and fill. Returns the object; with bypass returns a
 * malloc block instead, or NULL if malloc fails. */
void *kolk_debug_prepare_(kolk_debug *debug, uint32_t slot, void *object);

/* Records that a life has begun. */
void kolk_debug_begin_life_(kolk_debug *debug, uint32_t slot, const void *object, const void *site);

/* Records that a life has ended: `site` freed its object, which is not a leak any more but may still be read. */
void kolk_debug_end_life_(kolk_debug *debug, uint32_t slot, const void *site);

/* Fills the object of an ended life, or frees its malloc block, and calls the profiler. From here on nobody may read
 * the object. Must be called once after each end_life and before the slot's next life: immediately, or later if the
 * free is deferred. */
void kolk_debug_wipe_(kolk_debug *debug, uint32_t slot, void *object);

/* Should this alloc fail, even though the pool has free slots? */
bool kolk_debug_fails_(kolk_debug *debug);

/* Records that the contents of these slots are lost: their red zones and fills are not checked until their next
 * life. */
void kolk_debug_forget_(kolk_debug *debug, uint32_t from, uint32_t end);

/* Records that from now on these dead slots count as never handed out. Does what kolk_debug_forget_ does, and also
 * frees the blocks that the slots have kept. */
void kolk_debug_unissue_(kolk_debug *debug, uint32_t from, uint32_t end);

/* Reports the objects that are alive in slots below `end`: one report for each alloc site, beginning with that of the
 * oldest object. Does so only with the setting `sites`, and reports each object only once. */
void kolk_debug_leaks_(kolk_debug *debug, uint32_t end, kolk_failure failure);

/* Counts the objects that are alive in slots below `end` by the place where they were allocated, with the setting
 * `sites`. O(end). While other threads use the pool, an object may be missing, or be counted at the place of its slot's
 * previous object. */
void kolk_debug_places_(const kolk_debug *debug, uint32_t end, kolk_place_counts_ *counts);

/* ---- Quarantine: a ring of the slots that were freed last -------------------------------------------------------- */

uint32_t kolk_debug_quarantine_(const kolk_debug *debug);  /* the most slots that may wait */
uint32_t *kolk_debug_ring_(kolk_debug *debug, uint32_t n); /* the n-th quarantined slot, from the oldest on */
void kolk_debug_ring_advance_(kolk_debug *debug);          /* drops the oldest */

#else
#include "debug_none.h"
#endif
#endif
