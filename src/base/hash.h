/* hash.h: hashes of names, of bytes and of numbers, the same on every platform. */
#ifndef KOLK_SRC_HASH_H
#define KOLK_SRC_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a (Fowler, Noll, Vo, 1991). */
static inline uint32_t kolk_hash_(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name) hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash;
}

/* Continues the FNV-1a hash of earlier bytes with these bytes. Start with KOLK_HASH_OF_NONE_, the hash of an empty
 * text. */
#define KOLK_HASH_OF_NONE_ 2166136261u
static inline uint32_t kolk_hash_on_(uint32_t hash, const char *bytes, size_t size) {
    while (size--) hash = (hash ^ (unsigned char)*bytes++) * 16777619u;
    return hash;
}

/* The output function of SplitMix (Steele, Lea, Flood, 2014): consecutive numbers give unrelated results. */
static inline uint64_t kolk_mixed_(uint64_t number) {
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

/* Continues a 64-bit hash by one word. Each step is invertible, so any change within a single word changes the hash. */
static inline uint64_t kolk_hash_word_(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static inline uint64_t kolk_hash_load_(const unsigned char *bytes) {
    uint64_t word;
    return memcpy(&word, bytes, sizeof word), word;
}

/* Hashes bytes as words in the machine's byte order; the last word is filled up with zeros. Four hashes take every
 * fourth word each, because a processor can compute them at the same time. A change within a single word still changes
 * the result. */
static inline uint64_t kolk_hash_bytes_(const void *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes;
    uint64_t hash = size, a = 1, b = 2, c = 3, d = 4, last = 0;
    bool is_long = size >= 32;
    for (; size >= 32; at += 32, size -= 32) {
        a = kolk_hash_word_(a, kolk_hash_load_(at));
        b = kolk_hash_word_(b, kolk_hash_load_(at + 8));
        c = kolk_hash_word_(c, kolk_hash_load_(at + 16));
        d = kolk_hash_word_(d, kolk_hash_load_(at + 24));
    }
    if (is_long) hash = kolk_hash_word_(kolk_hash_word_(kolk_hash_word_(kolk_hash_word_(hash, a), b), c), d);
    for (; size >= 8; at += 8, size -= 8) hash = kolk_hash_word_(hash, kolk_hash_load_(at));
    if (size == 0) return hash;
    memcpy(&last, at, size);
    return kolk_hash_word_(hash, last);
}

#endif
