/* A library that contains kolk, with heaps and a shared pool that live as long as it is loaded. */
#include <kolk/kolk.h>
#include <stdlib.h>

#define HEAPS 20u /* more than a thread's near heaps */

static kolk_heap heaps[HEAPS];
static kolk_shared shared;

void use_pools(unsigned n);

__attribute__((constructor)) static void begin(void) {
    if (kolk_shared_init(&shared, &(kolk_shared_desc){.object_size = 8, .capacity = 1000}) != KOLK_OK) abort();
    for (unsigned n = 0; n < HEAPS; n++)
        if (kolk_heap_init(&heaps[n], &(kolk_heap_desc){.name = "inside", .limit = 1 << 24}) != KOLK_OK) abort();
}

__attribute__((destructor)) static void end(void) {
    for (unsigned n = 0; n < HEAPS; n++) kolk_heap_deinit(&heaps[n]);
    kolk_shared_deinit(&shared);
}

void use_pools(unsigned n) {
    kolk_shared_local *local = kolk_shared_local_of_thread(&shared);
    void *object = local ? kolk_shared_alloc(local) : NULL;
    if (!object) abort();
    kolk_shared_free(local, object);
    for (unsigned i = 0; i < n && i < HEAPS; i++) {
        void *block = kolk_heap_alloc(&heaps[i], 100);
        if (!block) abort();
        kolk_heap_free(&heaps[i], block);
    }
}
