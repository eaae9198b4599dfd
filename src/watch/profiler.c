/* profiler.c: see profiler.h. */
#include "profiler.h"

static kolk_profiler set_profiler;

void kolk_set_profiler(const kolk_profiler *profiler) {
    set_profiler = profiler ? *profiler : (kolk_profiler){NULL, NULL, NULL};
}

bool kolk_profiler_is_set_(void) {
    return set_profiler.alloc || set_profiler.free;
}

kolk_profiler kolk_profiler_now_(void) {
    return set_profiler;
}
