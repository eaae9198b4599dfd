/* kolk_test.h: what the tests of the core share: cmocka, a failure handler that takes notes, random numbers. Include it
 * first. */
#ifndef KOLK_TEST_H
#define KOLK_TEST_H

#define _GNU_SOURCE /* fork, MAP_ANONYMOUS ... under -std=c11 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kolk/kolk.h"

#define NO_SLOT UINT32_MAX

/* Under AddressSanitizer the long tests do a part of their work, as each step takes ten times as long. */
#if defined(__SANITIZE_ADDRESS__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW 1
#endif
#endif
#ifndef SLOW
#define SLOW 0
#endif

#define LENGTH_OF(array) (sizeof(array) / sizeof *(array))

/* ---- Failures: what the handler was told ------------------------------------------------------------------------- */

/* The failure's texts live for the call only, so they are copied. */
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

/* From now on failures are written down and the call that failed returns. */
static inline void begin_notes(notes *taken) {
    memset(taken, 0, sizeof *taken);
    kolk_set_failure_handler(take_note, taken);
}

/* A test's teardown: the next test starts with the handler that aborts, so that no failure goes unnoticed. */
static inline int abort_on_failure(void **state) {
    (void)state;
    kolk_set_failure_handler(NULL, NULL);
    return 0;
}

/* Exactly one failure since begin_notes, or since the last assert_noted, and all its fields. */
#define assert_noted(taken, rule_, pool_, object_, slot_, sentence_)                                                   \
    do {                                                                                                               \
        assert_int_equal((taken)->count, 1);                                                                           \
        assert_string_equal((taken)->sentence, sentence_);                                                             \
        assert_int_equal((taken)->last.rule, rule_);                                                                   \
        assert_string_equal((taken)->pool, pool_);                                                                     \
        assert_ptr_equal((taken)->last.object, object_);                                                               \
        assert_int_equal((taken)->last.slot, slot_);                                                                   \
        (taken)->count = 0;                                                                                            \
    } while (0)

#define assert_silent(taken) assert_int_equal((taken)->count, 0)

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

/* A number from the environment, or this one. */
static inline uint64_t number_from_environment(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

static inline bool all_bytes_are(const void *bytes, size_t size, unsigned char value) {
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++)
        if (at[i] != value) return false;
    return true;
}

static inline bool is_all_zero(const kolk_pool *pool) {
    return all_bytes_are(pool, sizeof *pool, 0);
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static inline void make_pool(kolk_pool *pool, const kolk_pool_desc *desc) {
    kolk_status status = kolk_pool_init(pool, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(kolk_pool_is_valid(pool));
}

/* For misuse: object[bytes] without the compiler's eyes on what is being done. */
static inline void *moved(const void *object, ptrdiff_t bytes) {
    return (void *)((uintptr_t)object + (uintptr_t)bytes);
}

#endif
