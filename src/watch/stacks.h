/* stacks.h: sites with their callers, as the debug mode keeps them for each object. */
#ifndef KOLK_SRC_STACKS_H
#define KOLK_SRC_STACKS_H

#include "../core/watch.h"

/* Keeps the calling thread's stack, so that `depth` calls can be named later. Any thread may call it at any time. */
kolk_kept_site_ kolk_stack_keep_(const void *site, uint32_t depth);

/* Returns the addresses from the innermost on, then NULL; they live as long as the process. Returns NULL if only the
 * site's address was kept. */
const void *const *kolk_stack_kept_(kolk_kept_site_ kept);

#endif
