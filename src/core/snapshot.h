/* snapshot.h: what the blocks of all snapshots have in common.
 *
 *     | start | ...... | links | ...... | objects | 0 to 7 zeros | checksum |
 *       24 bytes         4 a slot                                  8 bytes
 *
 * Numbers are in the machine's byte order, and may lie at any address. The links store orders of slots as one chain: a
 * link is the next slot + 1, and 0 ends the chain.
 *
 * A chain, unlike an array of slots, can be checked without extra memory: a walk that reaches the end after n links has
 * met n different slots, because meeting a slot twice would send the walk round for ever.
 *
 * The checksum is kolk_hash_bytes_ of all bytes before it. */
#ifndef KOLK_SRC_SNAPSHOT_H
#define KOLK_SRC_SNAPSHOT_H

#include "block.h"
#include "../base/bits.h"

#include <string.h>

/* The start of the header of each kind of block. */
typedef struct kolk_snapshot_start_ {
    char magic[8];
    uint32_t byte_order, format;
    uint64_t size; /* bytes of the block */
} kolk_snapshot_start_;

_Static_assert(sizeof(kolk_snapshot_start_) == 24, "the start is the same on every platform, without padding");

/* `magic` has 8 characters. */
kolk_snapshot_start_ kolk_snapshot_start_of_(const char *magic, uint32_t format, uint64_t size);

/* Completes a block of this size: writes zeros from `padding` to the checksum, and the checksum. Returns the size. */
size_t kolk_snapshot_seal_(unsigned char *bytes, uint64_t padding, uint64_t size);

/* Checks the start, the size and the checksum of a block that begins with a header of `header_size` bytes. After
 * KOLK_OK the block is larger than the header, and its size is a multiple of 8. */
kolk_status kolk_snapshot_prove_(const unsigned char *bytes, size_t size, const char *magic, uint32_t format,
                                 size_t header_size);

/* Are the bytes from `padding` to the checksum 0? */
bool kolk_snapshot_is_padded_(const unsigned char *bytes, uint64_t padding, uint64_t size);

/* ---- The parts of a block ---------------------------------------------------------------------------------------- */

#define POOL_MAGIC  "kolkpool"
#define POOL_FORMAT 1u
#define MAP_MAGIC   "kolkslot"
#define MAP_FORMAT  1u

/* Of a pool: src/pool/pool_snapshot.c. */
typedef struct kolk_pool_header_ {
    kolk_snapshot_start_ start;
    uint32_t object_size, tag;
    uint8_t reuse, generations, ages, none;
    uint32_t capacity, fresh, live, worn, quarantined, aged;
    uint32_t first; /* the start of the chain: slot + 1 */
} kolk_pool_header_;

/* Of a slot map: src/slotmap/slotmap_snapshot.c. */
typedef struct kolk_map_header_ {
    kolk_snapshot_start_ start;
    uint32_t object_size, tag;
    uint32_t fresh, count, worn;
    uint32_t first; /* the start of the chain: slot + 1 */
} kolk_map_header_;

_Static_assert(sizeof(kolk_pool_header_) == 64 && sizeof(kolk_map_header_) == 48,
               "the headers are the same on every platform, without padding");

/* The offsets of the parts from the start of the block. A slot map has no bits that say which slots are alive. */
typedef struct kolk_parts_ {
    uint64_t live, generations, links, objects, padding, size;
} kolk_parts_;

/* Does the header contradict itself? */
static inline bool kolk_pool_header_is_possible_(const kolk_pool_header_ *head) {
    if (head->fresh > head->capacity || head->live > head->fresh || head->none) return false;
    if ((uint64_t)head->worn + head->quarantined > head->fresh - head->live) return false;
    return head->aged <= (head->ages ? head->live : 0);
}

/* The positions in the chain of a pool at which its parts begin. */
typedef struct kolk_stretches_ {
    uint32_t worn, quarantined, aged, end;
} kolk_stretches_;

static inline kolk_stretches_ kolk_stretches_of_(const kolk_pool_header_ *head) {
    kolk_stretches_ from;
    uint32_t withheld = head->worn + head->quarantined;
    KOLK_ASSERT_(withheld <= head->fresh - head->live);
    from.aged = head->reuse == KOLK_REUSE_LOWEST ? withheld : head->fresh - head->live;
    from.worn = from.aged - withheld;
    from.quarantined = from.worn + head->worn;
    from.end = from.aged + head->aged;
    return from;
}

static inline kolk_parts_ kolk_pool_parts_(const kolk_pool_header_ *head) {
    kolk_parts_ at = {.live = sizeof *head};
    at.generations = at.live + kolk_bits_words_(head->fresh) * 8;
    at.links = at.generations + (head->generations == KOLK_GENERATIONS_NONE ? 0 : (uint64_t)head->fresh * 4);
    at.objects = at.links + (kolk_stretches_of_(head).end ? (uint64_t)head->fresh * 4 : 0);
    at.padding = at.objects + (uint64_t)head->live * head->object_size;
    at.size = round_up(at.padding, 8) + 8;
    return at;
}

static inline kolk_parts_ kolk_map_parts_(const kolk_map_header_ *head) {
    kolk_parts_ at = {.live = sizeof *head, .generations = sizeof *head};
    at.links = at.generations + (uint64_t)head->fresh * 4;
    at.objects = at.links + (uint64_t)head->fresh * 4;
    at.padding = at.objects + (uint64_t)head->count * head->object_size;
    at.size = round_up(at.padding, 8) + 8;
    return at;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static inline uint32_t kolk_snapshot_load32_(const unsigned char *at) {
    uint32_t number;
    return memcpy(&number, at, sizeof number), number;
}

static inline uint64_t kolk_snapshot_load64_(const unsigned char *at) {
    uint64_t number;
    return memcpy(&number, at, sizeof number), number;
}

static inline void kolk_snapshot_store32_(unsigned char *at, uint32_t number) {
    memcpy(at, &number, sizeof number);
}

static inline void kolk_snapshot_store64_(unsigned char *at, uint64_t number) {
    memcpy(at, &number, sizeof number);
}

/* ---- The chain --------------------------------------------------------------------------------------------------- */

/* A chain that grows: `end` is where the next link goes. */
typedef struct kolk_chain_ {
    unsigned char *links, *end;
} kolk_chain_;

static inline void kolk_chain_append_(kolk_chain_ *to, uint32_t slot) {
    kolk_snapshot_store32_(to->end, slot + 1);
    to->end = to->links + (size_t)slot * 4;
}

/* The link of a slot: the next slot + 1, or 0. */
static inline uint32_t kolk_chain_link_(const unsigned char *links, uint64_t slot) {
    return kolk_snapshot_load32_(links + (size_t)slot * 4);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* How a restore makes an object from its saved bytes. If convert is NULL, it copies them. */
typedef struct kolk_conversion_ {
    void (*convert)(void *object, const void *saved, size_t saved_size, void *context);
    void *context;
} kolk_conversion_;

/* Can saved objects of this size be converted? No product of such a size and a number of slots wraps. */
static inline bool kolk_conversion_is_possible_(uint32_t saved_size) {
    return saved_size > 0 && saved_size <= INT32_MAX;
}

static inline void kolk_conversion_make_(const kolk_conversion_ *by, void *object, size_t size,
                                         const unsigned char *saved, size_t saved_size) {
    memset(object, 0, size);
    by->convert(object, saved, saved_size, by->context);
}

/* Copies n objects, `stride` bytes apart, into the block, where they lie side by side, or back from there. Returns the
 * end of the objects in the block. */
unsigned char *kolk_snapshot_save_(unsigned char *bytes, const unsigned char *objects, size_t stride, size_t size,
                                   uint32_t n);
const unsigned char *kolk_snapshot_load_(const unsigned char *bytes, unsigned char *objects, size_t stride, size_t size,
                                         uint32_t n);

#endif
