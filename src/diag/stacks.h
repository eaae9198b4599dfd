/* stacks.h: sites with their callers, as the debug mode keeps them for each object. */
#ifndef KOLK_SRC_STACKS_H
#define KOLK_SRC_STACKS_H

#include "kolk/base.h"

/* A kept site: its address, or a pointer to its stored stack. 0 means none. */
typedef uintptr_t kolk_kept_site_;

#if KOLK_DIAGNOSTICS

/* Keeps the calling thread's stack, so that `depth` calls can be named later. Any thread may call it at any time. */
kolk_kept_site_ kolk_site_keep_(const void *site, uint32_t depth);

const void *kolk_site_address_(kolk_kept_site_ kept);

/* Returns the addresses from the innermost on, then NULL; they live as long as the process. Returns NULL if only the
 * site's address was kept. */
const void *const *kolk_site_stack_(kolk_kept_site_ kept);

#else

static inline kolk_kept_site_ kolk_site_keep_(const void *site, uint32_t depth) {
    (void)depth;
    return (kolk_kept_site_)site;
}

static inline const void *kolk_site_address_(kolk_kept_site_ kept) {
    return (const void *)kept;
}

static inline const void *const *kolk_site_stack_(kolk_kept_site_ kept) {
    (void)kept;
    return NULL;
}

#endif

#endif
