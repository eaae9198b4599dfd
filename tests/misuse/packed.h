/* packed.h: misuse.h for mistakes that only exist with slot maps. */
#ifndef KOLK_TESTS_MISUSE_PACKED_H
#define KOLK_TESTS_MISUSE_PACKED_H

#define PACKED 1
#include "misuse.h"

static inline unsigned char *add(pool *map, kolk_handle *out) {
    stage("add");
    unsigned char *object = kolk_slotmap_add(map, out);
    __asm__ volatile("" : "+r"(object));
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

/* Adds an object and initialises it. */
static inline unsigned char *add_written(pool *map, kolk_handle *out) {
    unsigned char *object = add(map, out);
    write_bytes(object, SIZE);
    return object;
}

static inline unsigned char *find(const pool *map, kolk_handle handle) {
    unsigned char *object = kolk_slotmap_get(map, handle);
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

#endif
