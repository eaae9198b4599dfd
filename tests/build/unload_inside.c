/* A library that contains kolk, with heaps that live as long as it is loaded. */
#include <kolk/kolk.h>
#include <stdlib.h>

#define HEAPS 20u /* more than a thread's near heaps */

static kolk_heap heaps[HEAPS];

void use_heaps(unsigned n);

__attribute__((constructor)) static void begin(void) {
    for (unsigned n = 0; n < HEAPS; n++)
        if (kolk_heap_init(&heaps[n], &(kolk_heap_desc){.name = "inside", .limit = 1 << 24}) != KOLK_OK) abort();
}

__attribute__((destructor)) static void end(void) {
    for (unsigned n = 0; n < HEAPS; n++) kolk_heap_deinit(&heaps[n]);
}

void use_heaps(unsigned n) {
    for (unsigned i = 0; i < n && i < HEAPS; i++) {
        void *block = kolk_heap_alloc(&heaps[i], 100);
        if (!block) abort();
        kolk_heap_free(&heaps[i], block);
    }
}
