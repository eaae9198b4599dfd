/* shared.h: misuse.h for shared pools, by one local, or by another thread's. These programs are on kolk only: what
 * malloc says to such mistakes is what it says in the first table. */
#ifndef KOLK_TESTS_MISUSE_SHARED_H
#define KOLK_TESTS_MISUSE_SHARED_H

#define _POSIX_C_SOURCE 200809L /* barriers */
#include "misuse.h"

#include <kolk/shared.h>

#include <pthread.h>

typedef struct team {
    kolk_shared pool;
    kolk_local local;
} team;

static inline void open_desc(team *items, kolk_shared_desc desc) {
    desc.object_size = SIZE;
    desc.capacity = 100;
    if (kolk_shared_init(&items->pool, &desc) != KOLK_OK) exit(1);
    if (kolk_local_init(&items->local, &items->pool) != KOLK_OK) exit(1);
}

static inline void open_shared(team *items, const char *name) {
    open_desc(items, (kolk_shared_desc){.name = name});
}

static inline void close_shared(team *items) {
    stage("deinit");
    kolk_local_deinit(&items->local);
    kolk_shared_deinit(&items->pool);
}

static inline unsigned char *take_shared(team *items) {
    stage("alloc");
    unsigned char *object = kolk_local_alloc(&items->local);
    __asm__ volatile("" : "+r"(object));
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

static inline void free_by(kolk_local *local, void *object) {
    stage("free");
    __asm__ volatile("" : "+r"(object));
    kolk_local_free(local, object);
}

static inline void give_shared(team *items, void *object) {
    free_by(&items->local, object);
}

static inline void find_shared(const team *items, kolk_handle handle) {
    if (!kolk_shared_get(&items->pool, handle)) fputs("answer: NULL\n", stderr);
}

#endif
