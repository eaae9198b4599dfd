/* snapshot_block.h: blocks for tests and fuzzers of snapshots, and the offsets of the numbers in them, repeated here
 * from src/pool/pool_snapshot.c. Include test.h or plain.h first. */
#ifndef TESTS_SNAPSHOT_BLOCK_H
#define TESTS_SNAPSHOT_BLOCK_H

typedef struct block {
    unsigned char *bytes;
    size_t size;
} block;

/* Offsets in the header. */
enum {
    BYTE_ORDER_AT = 8,
    FORMAT_AT = 12,
    SIZE_AT = 16,
    OBJECT_SIZE_AT = 24,
    TAG_AT = 28,
    REUSE_AT = 32, /* a byte, followed by one byte each for generations and ages, and a 0 */
    CAPACITY_AT = 36,
    FRESH_AT = 40,
    LIVE_AT = 44,
    WORN_AT = 48,
    QUARANTINED_AT = 52,
    AGED_AT = 56,
    FIRST_AT = 60,
    HEADER = 64
};

/* An allocation of exactly this size, so that AddressSanitizer detects accesses beyond it. */
static inline block new_block(size_t size) {
    block made = {(unsigned char *)malloc(size ? size : 1), size};
    if (!made.bytes) abort();
    return made;
}

static inline block copy_of(block other) {
    block made = new_block(other.size);
    memcpy(made.bytes, other.bytes, other.size);
    return made;
}

static inline block take_snapshot(const kolk_pool *pool) {
    block made = new_block(kolk_pool_snapshot_size(pool));
    memset(made.bytes, 0xa5, made.size); /* makes unwritten bytes visible */
    if (made.size == 0 || kolk_pool_snapshot(pool, made.bytes, made.size) != made.size) abort();
    return made;
}

static inline bool equals(block a, block b) {
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static inline uint32_t number_in(block of, size_t at) {
    uint32_t number;
    memcpy(&number, of.bytes + at, sizeof number);
    return number;
}

static inline void put_number(block into, size_t at, uint32_t number) {
    memcpy(into.bytes + at, &number, sizeof number);
}

/* Recomputes the checksum. */
static inline void seal(block forged) {
    uint64_t sum = forged.size - 8, word;
    for (size_t i = 0; i < forged.size - 8; i += 8) {
        memcpy(&word, forged.bytes + i, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    memcpy(forged.bytes + forged.size - 8, &sum, sizeof sum);
}

#endif
