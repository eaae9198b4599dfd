/* The end of the process on Windows. It calls the functions for threads' ends, in the thread that calls exit, after it
 * has stopped all other threads. These functions must then read no pool: the locks that the other threads held stay
 * taken, and the structs of pools may be gone. A mistake makes this program hang or crash. */
#include <kolk/kolk.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap_inside.h"
#include "os/lock.h"
#include "shared/shared_inside.h"

static kolk_heap heap;
static kolk_shared shared;
static uint32_t are_locked;

static void *lock_both(void *context) {
    kolk_lock_word_(&heap.inside->keepers.lock);
    kolk_lock_word_(&shared.inside->keepers.lock);
    kolk_store_(&are_locked, 1, KOLK_RELEASE_);
    for (;;) kolk_load_(&are_locked, KOLK_RELAXED_);
    return context;
}

int main(void) {
    pthread_t thread;
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = "heap"}) != KOLK_OK) return 1;
    if (kolk_shared_init(&shared, &(kolk_shared_desc){.object_size = 8, .capacity = 1000}) != KOLK_OK) return 2;
    while (!heap.inside) /* the first blocks may come from a nursery */
        if (!kolk_heap_alloc(&heap, 100)) return 3;
    if (!kolk_shared_alloc(kolk_shared_local_of_thread(&shared))) return 3;
    if (pthread_create(&thread, NULL, lock_both, NULL) != 0) return 4;
    while (!kolk_load_(&are_locked, KOLK_ACQUIRE_)) {}
    memset(&heap, 0x55, sizeof heap);
    memset(&shared, 0x55, sizeof shared);
    puts("the end");
    return 0;
}
