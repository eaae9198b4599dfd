/* debug.h: the debug mode of a pool: red zones, fills and their checks, sites, the quarantine, and objects that are
 * malloc blocks (bypass). It deals with slots, objects and bytes, and does not depend on the kind of pool. What these
 * functions do, and which threads may call them, is stated at the events of the same names (core/watch.h). */
#ifndef KOLK_SRC_DEBUG_H
#define KOLK_SRC_DEBUG_H

#include "../core/watch.h"
#include "places.h"

/* Is a profiler set (kolk_set_profiler), which pools that are initialised now must call? */
bool kolk_debug_has_profiler_(void);

void kolk_debug_settle_(kolk_debug_desc_ *desc);
kolk_debug *kolk_debug_lay_out_(const kolk_debug_desc_ *desc);
bool kolk_debug_commit_(kolk_debug *debug, uint32_t capacity);
void kolk_debug_unmake_(kolk_debug *debug, uint32_t end);

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

void *kolk_debug_prepare_(kolk_debug *debug, uint32_t slot, void *object);
void kolk_debug_begin_life_(kolk_debug *debug, uint32_t slot, const void *object, const void *site);
void kolk_debug_end_life_(kolk_debug *debug, uint32_t slot, const void *site);
void kolk_debug_wipe_(kolk_debug *debug, uint32_t slot, void *object);
void kolk_debug_fill_(const kolk_debug *debug, void *object);
bool kolk_debug_is_intact_(const kolk_debug *debug, uint32_t slot, const void *object, bool live);
void kolk_debug_verify_(const kolk_debug *debug, uint32_t slot, void *object, bool live, kolk_failure failure);
void kolk_debug_lose_(kolk_debug *debug, uint32_t from, uint32_t end, bool unissued);
uint32_t kolk_debug_find_(const kolk_debug *debug, const void *pointer, uint32_t end, uint64_t *inside);

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

void kolk_debug_sites_(const kolk_debug *debug, uint32_t slot, kolk_failure *failure);
const char *kolk_debug_holders_(const kolk_debug *debug, uint32_t end, char *text, size_t size);
void kolk_debug_leaks_(kolk_debug *debug, uint32_t end);

/* Counts the objects that are alive in slots below `end` by the place where they were allocated, with the setting
 * `sites`. `debug` may be NULL. O(end). While other threads use the pool, an object may be missing, or be counted at
 * the place of its slot's previous object. */
void kolk_debug_places_(const kolk_debug *debug, uint32_t end, kolk_place_counts_ *counts);

#endif
