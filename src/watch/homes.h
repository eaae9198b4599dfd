/* homes.h: finds pools that are not where they were initialised, that were initialised twice, or that were lost without
 * a deinit. Does nothing in freestanding builds. */
#ifndef KOLK_SRC_HOMES_H
#define KOLK_SRC_HOMES_H

#include "kolk/base.h"

#include "registry.h"

/* Reports a pool that was not deinit'd before its struct was initialised again, if it is in debug mode. */
void kolk_homes_report_evicted_(const kolk_noted_ *noted);

/* At exit: reports the pools whose storage was freed or went out of scope without a deinit: those in debug mode, or
 * with `all`, every one. */
void kolk_homes_report_lost_(bool all);

/* When the library that contains kolk is unloaded: reports the pools in debug mode that are not deinit'd. Nobody can
 * deinit them any more: another copy of kolk in the process does not know them. */
void kolk_homes_report_unloaded_(void);

/* Does this struct belong to a living pool, or to one that is not in the registry? If the pool was moved, the registry
 * is corrected, and debug mode reports the move. Returns false, and reports it, if the struct was never initialised
 * (its number and name may be garbage), is a copy of a pool that was deinitialised, or belongs to another copy of
 * kolk. */
bool kolk_homes_check_(const void *pool, uint32_t number, const char *name, const void *site);

#endif
