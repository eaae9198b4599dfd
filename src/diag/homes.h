/* homes.h: pools that are not where they were initialised, initialised twice, or lost without a deinit. Nothing in
 * freestanding builds. */
#ifndef KOLK_SRC_HOMES_H
#define KOLK_SRC_HOMES_H

#include "kolk/base.h"

#include "registry.h"

#if KOLK_DIAGNOSTICS

/* Reports a pool that was not deinit'd before its struct was initialised again, if it is in debug mode. */
void kolk_homes_report_evicted(const kolk_noted *noted);

/* At exit: reports the pools whose storage has ended without a deinit. `all`: not only those in debug mode. */
void kolk_homes_report_lost(bool all);

/* Goes on after kolk_registry_is_home said no. */
bool kolk_homes_look(const void *pool, uint32_t number, const char *name, const void *site);

/* Is there a pool of this struct? It may have been moved, which is reported in debug mode, and is put right in the
 * registry. False: the struct is a copy of a pool that is deinit'd, or none. That is reported. */
static inline bool kolk_is_home(const void *pool, uint32_t number, const char *name, const void *site) {
    return kolk_registry_is_home(pool, number) || kolk_homes_look(pool, number, name, site);
}

#else

static inline bool kolk_is_home(const void *pool, uint32_t number, const char *name, const void *site) {
    (void)pool, (void)number, (void)name, (void)site;
    return true;
}

#endif
#endif
