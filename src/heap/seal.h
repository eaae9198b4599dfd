/* seal.h: the bytes at the end of a watched block, by which writes beyond its ends show.
 *
 *     | asked bytes          | pattern .... | rest | seal |      the slack is all that was not asked for
 *     block                  block + asked           8 bytes     block + size
 *
 * The seal has the slack four times, and a number that only its address gives. So a block's end alone tells how long
 * the slack is and whether anything has changed it: no record is looked up, neither for the block's own end nor for
 * that of its neighbour before it. An overflow changes the pattern or the seal, and so does an underflow of the
 * neighbour behind it. */
#ifndef KOLK_SRC_HEAP_SEAL_H
#define KOLK_SRC_HEAP_SEAL_H

#include "../base/hash.h"

#include <stdbool.h>
#include <string.h>

#define KOLK_SEAL_         8u                           /* bytes */
#define KOLK_SEAL_PATTERN_ 40u                          /* the most bytes of a pattern */
#define KOLK_SEAL_FILL_    0xfd                         /* the bytes of a pattern */
#define KOLK_SEAL_SPREAD_  UINT64_C(0x0001000100010001) /* times the slack: the slack four times */

static inline size_t kolk_seal_pattern_of_(size_t slack) {
    return slack - KOLK_SEAL_ < KOLK_SEAL_PATTERN_ ? slack - KOLK_SEAL_ : KOLK_SEAL_PATTERN_;
}

/* Writes the pattern and the seal of a block, whose slack has 8 to 65,535 bytes. */
static inline void kolk_seal_(unsigned char *block, size_t size, size_t asked) {
    unsigned char *end = block + size;
    uint64_t seal = kolk_mixed_((uintptr_t)end) + (size - asked) * KOLK_SEAL_SPREAD_;
    memset(block + asked, KOLK_SEAL_FILL_, kolk_seal_pattern_of_(size - asked));
    memcpy(end - KOLK_SEAL_, &seal, KOLK_SEAL_);
}

/* The slack of the block that ends here; 0: the seal is not as it was written. */
static inline size_t kolk_seal_slack_(const unsigned char *end) {
    uint64_t seal;
    memcpy(&seal, end - KOLK_SEAL_, KOLK_SEAL_);
    seal -= kolk_mixed_((uintptr_t)end);
    uint64_t slack = seal & 0xffff;
    return seal == slack * KOLK_SEAL_SPREAD_ && slack >= KOLK_SEAL_ ? (size_t)slack : 0;
}

/* Do these bytes all have this value? */
static inline bool kolk_seal_repeats_(const unsigned char *bytes, size_t size, unsigned char value) {
    return size == 0 || (bytes[0] == value && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static inline bool kolk_seal_reads_as_0_(const unsigned char *bytes, size_t size) {
    uint64_t word, all = 0;
    if (size > 64) return kolk_seal_repeats_(bytes, size, 0);
    for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        all |= word;
    }
    while (size--) all |= *bytes++;
    return all == 0;
}

/* Are the pattern and the seal of the block that ends here as they were written? */
static inline bool kolk_seal_is_whole_(const unsigned char *end) {
    size_t slack = kolk_seal_slack_(end);
    return slack && kolk_seal_repeats_(end - slack, kolk_seal_pattern_of_(slack), KOLK_SEAL_FILL_);
}

/* Makes the pattern and the seal of the block that ends here zero, if there is a seal. */
static inline void kolk_seal_wipe_(unsigned char *end) {
    size_t slack = kolk_seal_slack_(end);
    if (!slack) return;
    memset(end - slack, 0, kolk_seal_pattern_of_(slack));
    memset(end - KOLK_SEAL_, 0, KOLK_SEAL_);
}

#endif
