/* trim.c: see trim.h. */
#include "kolk/budget.h"

#include "trim.h"

uint32_t kolk_trims_;
uintptr_t kolk_trim_heaps_;

#if KOLK_HOSTED

size_t kolk_trim_all(void) {
    kolk_fetch_add_(&kolk_trims_, 1, KOLK_RELAXED_);
    size_t (*trim)(void) = (size_t(*)(void))kolk_raw_load_(&kolk_trim_heaps_, KOLK_RELAXED_);
    return trim ? trim() : 0;
}

#endif
