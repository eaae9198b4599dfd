/* packed.h: misuse.h for slot maps. These programs are on kolk only: malloc has no such thing. */
#ifndef KOLK_TESTS_MISUSE_PACKED_H
#define KOLK_TESTS_MISUSE_PACKED_H

#include "misuse.h"

#include <kolk/slotmap.h>

static inline void open_map(kolk_slotmap *map, const char *name) {
    kolk_slotmap_desc desc = {.name = name, .object_size = SIZE, .capacity = 100};
    if (kolk_slotmap_init(map, &desc) != KOLK_OK) exit(1);
}

static inline void close_map(kolk_slotmap *map) {
    stage("deinit");
    kolk_slotmap_deinit(map);
}

static inline unsigned char *add(kolk_slotmap *map, kolk_handle *out) {
    stage("add");
    unsigned char *object = kolk_slotmap_add(map, out);
    __asm__ volatile("" : "+r"(object));
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

/* One that is initialised. */
static inline unsigned char *add_written(kolk_slotmap *map, kolk_handle *out) {
    unsigned char *object = add(map, out);
    write_bytes(object, SIZE);
    return object;
}

static inline void take_out(kolk_slotmap *map, kolk_handle handle) {
    stage("remove");
    if (!kolk_slotmap_remove(map, handle)) fputs("answer: false\n", stderr);
}

static inline unsigned char *find(const kolk_slotmap *map, kolk_handle handle) {
    unsigned char *object = kolk_slotmap_get(map, handle);
    if (!object) fputs("answer: NULL\n", stderr);
    return object;
}

#endif
