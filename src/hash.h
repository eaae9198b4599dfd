/* hash.h: a hash of a name, the same on every platform. */
#ifndef KOLK_SRC_HASH_H
#define KOLK_SRC_HASH_H

#include <stdint.h>

/* FNV-1a (Fowler, Noll, Vo, 1991). */
static inline uint32_t kolk_hash(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name) hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash;
}

#endif
