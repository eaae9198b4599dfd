/* plain.h: for tests and fuzzers, without cmocka: a failure handler that takes notes, random numbers, and functions on
 * bytes. */
#ifndef TESTS_PLAIN_H
#define TESTS_PLAIN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <posix.h>
#else
#define aligned_free free /* of what aligned_alloc returned */
#endif

#include "kolk/kolk.h"

#define NO_SLOT UINT32_MAX

#define LENGTH_OF(array) (sizeof(array) / sizeof *(array))

/* ---- Failures: what the handler received ------------------------------------------------------------------------- */

/* A failure's strings live only during the call, so they are copied. */
typedef struct notes {
    unsigned count;
    kolk_failure last;
    char pool[64];
    char sentence[1100];
} notes;

static inline void take_note(const kolk_failure *failure, void *context) {
    notes *taken = (notes *)context;
    taken->count++;
    taken->last = *failure;
    snprintf(taken->pool, sizeof taken->pool, "%s", failure->pool);
    snprintf(taken->sentence, sizeof taken->sentence, "%s", failure->sentence);
}

/* From now on each failure is recorded, and the call that failed returns. */
static inline void begin_notes(notes *taken) {
    memset(taken, 0, sizeof *taken);
    kolk_set_failure_handler(take_note, taken);
}

/* Receives the text of kolk_stats_write, and counts its bytes in a size_t. */
static inline void count_bytes(const char *text, size_t length, void *bytes) {
    if (!text) abort();
    *(size_t *)bytes += length;
}

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

/* SplitMix (Steele, Lea, Flood, 2014). */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t random_below(uint64_t *state, uint32_t n) {
    return (uint32_t)(next_random(state) % n);
}

static inline void fill_random(uint64_t *state, void *bytes, size_t size) {
    unsigned char *at = (unsigned char *)bytes;
    for (size_t i = 0; i < size; i++) at[i] = (unsigned char)next_random(state);
}

/* Should long tests do only a part of their work? They do with KOLK_TEST_EFFORT=quick, as in `make test`. With `full`,
 * or if the variable is unset, they do all of it. */
static inline bool effort_is_quick(void) {
    const char *effort = getenv("KOLK_TEST_EFFORT");
    return effort && strcmp(effort, "quick") == 0;
}

/* Returns the number in the environment variable `name`. If that is unset, returns `otherwise`, but not more than the
 * variable NAME_AT_MOST: this limit shortens tests that do much, but must not lengthen tests that do little. */
static inline uint64_t number_from_environment(const char *name, uint64_t otherwise) {
    char at_most[64];
    snprintf(at_most, sizeof at_most, "%s_AT_MOST", name);
    const char *text = getenv(name), *limit = getenv(at_most);
    if (text && *text) return strtoull(text, NULL, 0);
    uint64_t most = limit && *limit ? strtoull(limit, NULL, 0) : UINT64_MAX;
    return otherwise < most ? otherwise : most;
}

/* Does the handle have another pool's tag? The bits that no index below max_capacity needs decide this. */
static inline bool has_foreign_tag(kolk_handle handle, uint32_t tag, uint32_t max_capacity) {
    uint64_t indices = 1;
    while (indices < max_capacity) indices *= 2;
    return handle.bits >> 32 != 0 && ((uint32_t)handle.bits ^ tag) >= indices;
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

static inline bool all_bytes_are(const void *bytes, size_t size, unsigned char value) {
    const unsigned char *at = (const unsigned char *)bytes;
    return size == 0 || (at[0] == value && memcmp(at, at + 1, size - 1) == 0); /* each byte equals the previous one */
}

/* Do the bytes have the pattern that the debug mode writes into dead objects? */
static inline bool has_dead_fill(const void *bytes, size_t size) {
    const uint32_t fill = 0x1deadb0b;
    const unsigned char *at = (const unsigned char *)bytes;
    if (size <= sizeof fill) return memcmp(at, &fill, size) == 0;
    return memcmp(at, &fill, sizeof fill) == 0 && memcmp(at, at + sizeof fill, size - sizeof fill) == 0;
}

static inline bool is_all_zero(const kolk_pool *pool) {
    return all_bytes_are(pool, sizeof *pool, 0);
}

/* Dirty memory to lend to a pool. It lies between canaries, and has only the least alignment that is allowed for the
 * objects. */
enum { CANARIES = 64 };

static inline size_t lent_at(size_t object_align) {
    if (object_align == 0) return 4096 + 16; /* the default alignment is at most 16 */
    return 4096 + (object_align > 8 ? object_align : 8);
}

static inline unsigned char *lend_memory(size_t size, size_t object_align, uint64_t *random) {
    size_t at = lent_at(object_align);
    unsigned char *block = (unsigned char *)aligned_alloc(4096, (at + size + CANARIES + 4095) / 4096 * 4096);
    if (!block) abort();
    memset(block + at - CANARIES, 0xca, size + 2 * CANARIES);
    fill_random(random, block + at, size);
    return block + at;
}

/* Frees lent memory. Returns true if nothing was written before or behind it. */
static inline bool take_memory_back(void *memory, size_t size, size_t object_align) {
    unsigned char *start = (unsigned char *)memory;
    bool whole = all_bytes_are(start - CANARIES, CANARIES, 0xca) && all_bytes_are(start + size, CANARIES, 0xca);
    aligned_free(start - lent_at(object_align));
    return whole;
}

/* Returns &object[bytes], hidden from the compiler's checks, for deliberate misuse. */
static inline void *moved(const void *object, ptrdiff_t bytes) {
    return (void *)((uintptr_t)object + (uintptr_t)bytes);
}

#endif
