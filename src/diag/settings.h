/* settings.h: the settings of a pool's debug mode. */
#ifndef KOLK_SRC_SETTINGS_H
#define KOLK_SRC_SETTINGS_H

#include "kolk/base.h"

typedef struct kolk_settings {
    uint32_t flags;                  /* KOLK_DEBUG_ */
    uint32_t quarantine;             /* slots; 0 without the flag */
    uint32_t depth;                  /* N of sites=N: calls that reports name at each site; 0 without the flag */
    uint32_t sample;                 /* N of sample=N: of N blocks of a heap, one is guarded; 0: none is */
    uint32_t fail_every;             /* forced failures: each n-th alloc; or, if 0, */
    uint64_t fail_chance, fail_seed; /* by chance, in 2^-32 */
} kolk_settings;

#if KOLK_DIAGNOSTICS

/* The settings of a pool of this name: by the environment, or else by its own descriptor's text (may be NULL), and
 * because of tools and profilers. Reports what it does not understand. */
kolk_settings kolk_settings_of(const char *name, const char *own);

/* The same for a part of something larger, for which they were asked before: reports nothing. */
kolk_settings kolk_settings_of_part(const char *name, const char *own);

/* At exit: reports the globs of KOLK_DEBUG and KOLK_FAIL that no pool's name was like. Not in freestanding builds. */
void kolk_settings_report_unmet(void);

/* For a pool that is inside of another one: no settings, whatever the environment says. */
extern const char kolk_no_settings[];

/* Is the n-th call to fail? n is from 1. */
bool kolk_settings_fail(const kolk_settings *settings, size_t n);

#else

#define kolk_no_settings ""

static inline kolk_settings kolk_settings_of(const char *name, const char *own) {
    kolk_settings none = {0};
    (void)name, (void)own;
    return none;
}

static inline kolk_settings kolk_settings_of_part(const char *name, const char *own) {
    return kolk_settings_of(name, own);
}

static inline bool kolk_settings_fail(const kolk_settings *settings, size_t n) {
    (void)settings, (void)n;
    return false;
}

#endif

/* With any of these, handles of other pools are reported. The user asks for them, while tools and profilers turn the
 * other settings on by themselves. */
#define KOLK_DEBUG_STRICT                                                                                              \
    (KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES | KOLK_DEBUG_MOVE)

#endif
