/* trim.h: the request to give memory back, which kolk_trim_all makes. */
#ifndef KOLK_SRC_TRIM_H
#define KOLK_SRC_TRIM_H

#include "../base/atomics.h"

/* How often kolk_trim_all was called. A pool that ticks compares it with the number at its last tick. */
extern uint32_t kolk_trims_;

static inline uint32_t kolk_trims_now_(void) {
    return KOLK_HOSTED ? kolk_load_(&kolk_trims_, KOLK_RELAXED_) : 0; /* without an OS there is no kolk_trim_all */
}

/* The function that trims all heaps, a size_t (*)(void); 0 until there is a heap. A pointer, because this file must not
 * need heaps. */
extern uintptr_t kolk_trim_heaps_;

#endif
