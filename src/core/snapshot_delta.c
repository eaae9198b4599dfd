/* snapshot_delta.c: what differs between two pieces of bytes, `base` and `now`.
 *
 *     | start | base's size | now's size | now's hash | operations | 0 to 7 zeros | checksum |
 *       24      8             8            8 bytes                                  8 bytes
 *
 * An operation is three numbers, kept, added and gone, and then `added` bytes: `kept` bytes of the base go on, these
 * bytes follow, and `gone` bytes of the base are left out. A number has 7 bits in each byte, the lowest first, and the
 * highest bit of a byte says that more follow. The operations use up both pieces, from the first byte to the last.
 *
 * Bytes are compared with those at the same distance from the start of a part (snapshot.h), so a pool with one slot
 * more does not differ in all that follows. Objects in the block of a pool are compared slot by slot, because a birth
 * or death moves all that follow it in the block. Other bytes are one part.
 *
 * To apply a delta needs no knowledge of parts. Each operation is checked against what is left of the base, of the
 * delta and of the result, so a forged delta can do no more than write other bytes. */
#include "snapshot.h"

#include "kolk/snapshot.h"

#include "../base/hash.h"
#include "tools.h"

#define DELTA_MAGIC  "kolkdiff"
#define DELTA_FORMAT 1u

typedef struct delta_header {
    kolk_snapshot_start_ start;
    uint64_t base_size, size, hash;
} delta_header;

_Static_assert(sizeof(delta_header) == 48, "the header is the same on every platform, without padding");

/* ---- Writing operations ------------------------------------------------------------------------------------------ */

typedef struct encoder {
    const unsigned char *base, *base_end, *now, *now_end; /* what is not compared yet */
    unsigned char *out, *end;                             /* the room that is left */
    uint64_t kept, added, gone;                           /* the next operation; the added bytes end at `now` */
    bool full;
} encoder;

static void put_delta_number(encoder *to, uint64_t number) {
    do {
        if (to->out == to->end) {
            to->full = true;
            return;
        }
        *to->out++ = (unsigned char)(number % 128 + (number >= 128 ? 128 : 0));
    } while ((number /= 128) > 0);
}

static void put_operation(encoder *to) {
    put_delta_number(to, to->kept);
    put_delta_number(to, to->added);
    put_delta_number(to, to->gone);
    if ((uint64_t)(to->end - to->out) < to->added) to->full = true;
    if (!to->full && to->added) {
        memcpy(to->out, to->now - to->added, (size_t)to->added);
        to->out += to->added;
    }
    to->kept = to->added = to->gone = 0;
}

static void keep_bytes(encoder *to, size_t n) {
    if (n && (to->added || to->gone)) put_operation(to);
    to->kept += n;
    to->base += n;
    to->now += n;
}

static void change_bytes(encoder *to, size_t gone, size_t added) {
    to->gone += gone;
    to->added += added;
    to->base += gone;
    to->now += added;
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

static size_t count_equal(const unsigned char *a, const unsigned char *b, size_t n) {
    size_t i = 0;
    while (n - i >= 8 && kolk_snapshot_load64_(a + i) == kolk_snapshot_load64_(b + i)) i += 8;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

/* Counts the bytes up to the last one that differs before 8 bytes that do not: an operation costs about as much. */
static size_t count_different(const unsigned char *a, const unsigned char *b, size_t n) {
    size_t i = 0;
    while (n - i >= 8 && kolk_snapshot_load64_(a + i) != kolk_snapshot_load64_(b + i)) i += 8;
    if (n - i < 8) i = n;
    while (i > 0 && a[i - 1] == b[i - 1]) i--;
    return i;
}

/* Compares the next bytes of both, which belong together from the first on. */
static void compare_bytes(encoder *to, uint64_t base_size, uint64_t now_size) {
    size_t gone = (size_t)base_size, added = (size_t)now_size, both = gone < added ? gone : added;
    gone -= both;
    added -= both;
    while (both > 0) {
        size_t equal = count_equal(to->base, to->now, both);
        keep_bytes(to, equal);
        size_t different = count_different(to->base, to->now, both - equal);
        change_bytes(to, different, different);
        both -= equal + different;
    }
    change_bytes(to, gone, added);
}

/* What a block says of itself. The bits of a slot map have no words. */
typedef struct block_shape {
    kolk_parts_ at;
    const unsigned char *live;
    uint64_t words;
    uint32_t object_size;
} block_shape;

/* Is this the start of such a block? Only its limits need to be right, as nothing else is read by them. */
static bool has_block_start(const unsigned char *bytes, size_t left, size_t header_size, const char *magic,
                            uint32_t format) {
    kolk_snapshot_start_ start, right;
    if (left < header_size) return false;
    memcpy(&start, bytes, sizeof start);
    right = kolk_snapshot_start_of_(magic, format, start.size);
    return memcmp(&start, &right, sizeof start) == 0;
}

static bool is_pool_shape(const unsigned char *bytes, size_t left, block_shape *is) {
    kolk_pool_header_ head;
    uint64_t live = 0;
    if (!has_block_start(bytes, left, sizeof head, POOL_MAGIC, POOL_FORMAT)) return false;
    memcpy(&head, bytes, sizeof head);
    if (!kolk_pool_header_is_possible_(&head)) return false;
    *is = (block_shape){kolk_pool_parts_(&head), bytes + sizeof head, kolk_bits_words_(head.fresh), head.object_size};
    if (is->at.size > left) return false;
    for (uint64_t i = 0; i < is->words; i++) live += kolk_bits_count_(kolk_snapshot_load64_(is->live + i * 8));
    return live == head.live;
}

static bool is_map_shape(const unsigned char *bytes, size_t left, block_shape *is) {
    kolk_map_header_ head;
    if (!has_block_start(bytes, left, sizeof head, MAP_MAGIC, MAP_FORMAT)) return false;
    memcpy(&head, bytes, sizeof head);
    *is = (block_shape){kolk_map_parts_(&head), bytes + sizeof head, 0, head.object_size};
    return is->at.size <= left;
}

static bool is_shape(const unsigned char *bytes, const unsigned char *end, block_shape *is) {
    size_t left = (size_t)(end - bytes);
    return is_pool_shape(bytes, left, is) || is_map_shape(bytes, left, is);
}

static uint64_t live_word(const block_shape *of, uint64_t i) {
    return i < of->words ? kolk_snapshot_load64_(of->live + i * 8) : 0;
}

/* Compares the objects of pools. Objects of the same slots lie beside each other in both blocks. */
static void compare_slots(encoder *to, const block_shape *base, const block_shape *now) {
    uint64_t size = base->object_size, same = 0;
    for (uint64_t i = 0; i < base->words || i < now->words; i++) {
        uint64_t then = live_word(base, i), live = live_word(now, i), either = then | live;
        if (then == live) {
            same += kolk_bits_count_(live);
            continue;
        }
        compare_bytes(to, same * size, same * size);
        same = 0;
        for (; either; either &= either - 1) {
            uint64_t bit = either & ~(either - 1);
            compare_bytes(to, then & bit ? size : 0, live & bit ? size : 0);
        }
    }
    compare_bytes(to, same * size, same * size);
}

/* Compares the blocks of pools or slot maps that both begin with. Returns false if they begin with something else. */
static bool compare_blocks(encoder *to) {
    block_shape base, now;
    if (!is_shape(to->base, to->base_end, &base) || !is_shape(to->now, to->now_end, &now)) return false;
    if (base.at.live != now.at.live || base.object_size != now.object_size) return false;
    const unsigned char *from = to->base;
    compare_bytes(to, base.at.live, now.at.live);
    compare_bytes(to, base.at.generations - base.at.live, now.at.generations - now.at.live);
    compare_bytes(to, base.at.links - base.at.generations, now.at.links - now.at.generations);
    compare_bytes(to, base.at.objects - base.at.links, now.at.objects - now.at.links);
    if (base.words || now.words)
        compare_slots(to, &base, &now);
    else
        compare_bytes(to, base.at.padding - base.at.objects, now.at.padding - now.at.objects);
    KOLK_ASSERT_(to->base == from + base.at.padding);
    compare_bytes(to, base.at.size - base.at.padding, now.at.size - now.at.padding);
    return true;
}

/* An address to which 0 may be added. */
static const unsigned char *bytes_or_none(const void *bytes) {
    static const unsigned char none;
    return bytes ? (const unsigned char *)bytes : &none;
}

size_t kolk_snapshot_delta(const void *base, size_t base_size, const void *now, size_t now_size, void *delta,
                           size_t room) {
    delta_header head = {.base_size = base_size, .size = now_size, .hash = kolk_hash_bytes_(now, now_size)};
    const size_t whole = room / 8 * 8; /* with the zeros */
    if (whole < sizeof head + 8) return 0;
    unsigned char *bytes = delta;
    const unsigned char *then = bytes_or_none(base), *is = bytes_or_none(now);
    const encoder all = {then, then + base_size, is, is + now_size, bytes + sizeof head, bytes + whole - 8, 0, 0, 0,
                         false};
    encoder to = all;
    while (compare_blocks(&to)) {}
    compare_bytes(&to, (uint64_t)(to.base_end - to.base), (uint64_t)(to.now_end - to.now));
    put_operation(&to);
    if (to.full) { /* all bytes at once have the least overhead */
        to = all;
        change_bytes(&to, base_size, now_size);
        put_operation(&to);
    }
    if (to.full) return 0;
    uint64_t padding = (uint64_t)(to.out - bytes), size = round_up(padding, 8) + 8;
    head.start = kolk_snapshot_start_of_(DELTA_MAGIC, DELTA_FORMAT, size);
    memcpy(bytes, &head, sizeof head);
    return kolk_snapshot_seal_(bytes, padding, size);
}

/* ---- Applying ---------------------------------------------------------------------------------------------------- */

static bool take_delta_number(const unsigned char **at, const unsigned char *end, uint64_t *number) {
    *number = 0;
    for (unsigned shift = 0; *at < end && shift < 63; shift += 7) {
        unsigned char byte = *(*at)++;
        *number |= (uint64_t)(byte % 128) << shift;
        if (byte < 128) return true;
    }
    return false;
}

/* Copies n of the bytes that are left to the end of `out`. Returns false if there are fewer, or too little room. */
static bool take_some(const unsigned char **from, uint64_t *left, unsigned char **out, uint64_t *room, uint64_t n) {
    if (n > *left || n > *room) return false;
    if (n == 0) return true;
    memcpy(*out, *from, (size_t)n);
    *from += n;
    *out += n;
    *left -= n;
    *room -= n;
    return true;
}

/* Carries out the operations up to the zeros before the checksum. */
static bool carry_out(const delta_header *head, const unsigned char *base, const unsigned char *delta,
                      const unsigned char *end, unsigned char *out) {
    uint64_t base_left = head->base_size, room = head->size, kept, added, gone;
    do {
        if (!take_delta_number(&delta, end, &kept) || !take_delta_number(&delta, end, &added) ||
            !take_delta_number(&delta, end, &gone))
            return false;
        uint64_t delta_left = (uint64_t)(end - delta);
        if (!take_some(&base, &base_left, &out, &room, kept)) return false;
        if (!take_some(&delta, &delta_left, &out, &room, added) || gone > base_left) return false;
        base += gone;
        base_left -= gone;
    } while (room || base_left);
    if (end - delta >= 8) return false;
    while (delta < end)
        if (*delta++ != 0) return false;
    return true;
}

kolk_status kolk_snapshot_apply(const void *base, size_t base_size, const void *delta, size_t delta_size, void *block,
                                size_t *size) {
    delta_header head;
    const unsigned char *bytes = delta;
    kolk_status status = kolk_snapshot_prove_(bytes, delta_size, DELTA_MAGIC, DELTA_FORMAT, sizeof head);
    if (status != KOLK_OK) return status;
    memcpy(&head, bytes, sizeof head);
    if (head.base_size != base_size) return KOLK_OTHER_BASE;
    if (head.size > (uint64_t)base_size + delta_size) return KOLK_FORGED_SNAPSHOT; /* each byte is from one of them */
    size_t room = *size;
    *size = (size_t)head.size;
    if (room < head.size) return KOLK_NO_ROOM;
    if (!carry_out(&head, bytes_or_none(base), bytes + sizeof head, bytes + delta_size - 8, block))
        return KOLK_FORGED_SNAPSHOT;
    kolk_tools_copied_(block, (size_t)head.size);
    return kolk_hash_bytes_(block, (size_t)head.size) == head.hash ? KOLK_OK : KOLK_OTHER_BASE;
}
