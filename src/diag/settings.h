/* settings.h: the settings of a pool's debug mode. */
#ifndef KOLK_SRC_SETTINGS_H
#define KOLK_SRC_SETTINGS_H

#include "kolk/base.h"

typedef struct kolk_settings_ {
    uint32_t flags;                  /* KOLK_DEBUG_ */
    uint32_t quarantine;             /* slots; 0 without the flag */
    uint32_t depth;                  /* N of sites=N: calls that reports name at each site; 0 without the flag */
    uint32_t sample;                 /* N of sample=N: one of N blocks of a heap is guarded; 0 means none */
    uint32_t fail_every;             /* each n-th alloc is forced to fail; if 0, allocs fail by chance */
    uint64_t fail_chance, fail_seed; /* the chance, in 2^-32 */
    bool environment_has; /* KOLK_DEBUG or KOLK_FAIL is set, perhaps for other pools or for a class of this heap */
} kolk_settings_;

#if KOLK_DIAGNOSTICS

/* Returns the settings of a pool of this name: from the environment, or else from its descriptor's text `own` (may be
 * NULL); tools and profilers turn on further settings. Reports mistakes. */
kolk_settings_ kolk_settings_of_(const char *name, const char *own);

/* The same for a class of a heap. Mistakes were already reported for the heap, so nothing is reported here. */
kolk_settings_ kolk_settings_of_part_(const char *name, const char *own);

/* At exit, reports the globs of KOLK_DEBUG and KOLK_FAIL that no pool's name matched. Not in freestanding builds. */
void kolk_settings_report_unmet_(void);

/* The text `own` for a pool inside another pool. It means no settings, whatever the environment contains. */
extern const char kolk_no_settings_[];

/* Should the n-th call fail? n counts from 1. */
bool kolk_settings_fail_(const kolk_settings_ *settings, size_t n);

#else

#define kolk_no_settings_ ""

static inline kolk_settings_ kolk_settings_of_(const char *name, const char *own) {
    kolk_settings_ none = {0};
    (void)name, (void)own;
    return none;
}

static inline kolk_settings_ kolk_settings_of_part_(const char *name, const char *own) {
    return kolk_settings_of_(name, own);
}

static inline bool kolk_settings_fail_(const kolk_settings_ *settings, size_t n) {
    (void)settings, (void)n;
    return false;
}

#endif

/* With any of these flags, handles of other pools are reported. Only the user sets these flags; tools and profilers may
 * turn on the others. */
#define KOLK_DEBUG_STRICT_                                                                                             \
    (KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES | KOLK_DEBUG_MOVE)

#endif
