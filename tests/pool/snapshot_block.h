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

/* Continues a checksum by every step-th word from `from` to `end`. */
static inline uint64_t sum_of(block of, uint64_t sum, size_t from, size_t end, size_t step) {
    for (uint64_t word; from < end; from += step * 8) {
        memcpy(&word, of.bytes + from, sizeof word);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

/* Recomputes the checksum: four sums of every fourth word, and the sum of these and of the words that are left. */
static inline void seal(block forged) {
    size_t end = forged.size - 8, fours = end / 32 * 32;
    uint64_t sum = end, lanes[4];
    for (size_t lane = 0; lane < 4; lane++) lanes[lane] = sum_of(forged, lane + 1, lane * 8, fours, 4);
    if (fours) sum = sum_of((block){(unsigned char *)lanes, sizeof lanes}, sum, 0, sizeof lanes, 1);
    sum = sum_of(forged, sum, fours, end, 1);
    memcpy(forged.bytes + end, &sum, sizeof sum);
}

/* Restores a forged block, which it must first seal. Returns true if the block is accepted. */
typedef bool try_block(void *context, block forged);

/* Tries every value of every byte before the checksum, one byte at a time. Returns how many blocks are accepted. */
static inline unsigned forge_bytes(block original, try_block *try_one, void *context) {
    unsigned accepted = 0;
    block forged = copy_of(original);
    for (size_t at = 0; at < forged.size - 8; at++) {
        for (unsigned value = 0; value < 256; value++) {
            forged.bytes[at] = (unsigned char)value;
            accepted += try_one(context, forged);
        }
        forged.bytes[at] = original.bytes[at];
    }
    free(forged.bytes);
    return accepted;
}

/* Tries pairs of numbers: one anywhere behind the magic, the other from object_size to `end`. */
static inline void forge_numbers(block original, size_t end, try_block *try_one, void *context) {
    static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 64, 65, 1u << 31, UINT32_MAX - 1, UINT32_MAX};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    block forged = copy_of(original);
    for (size_t a = BYTE_ORDER_AT; a < forged.size - 8; a += 4) {
        for (size_t b = OBJECT_SIZE_AT; b < end; b += 4) {
            for (size_t n = 0; n < NUMBERS * NUMBERS; n++) {
                put_number(forged, a, numbers[n % NUMBERS]);
                put_number(forged, b, numbers[n / NUMBERS]);
                try_one(context, forged);
                memcpy(forged.bytes, original.bytes, forged.size);
            }
        }
    }
    free(forged.bytes);
}

/* May a forged block be refused with this status? */
static inline bool is_refusal(kolk_status status) {
    return status == KOLK_FORGED_SNAPSHOT || status == KOLK_OTHER_POOL || status == KOLK_ABOVE_MAX ||
           status == KOLK_NOT_A_SNAPSHOT || status == KOLK_OTHER_BYTE_ORDER || status == KOLK_OTHER_VERSION ||
           status == KOLK_DAMAGED_SNAPSHOT;
}

#endif
