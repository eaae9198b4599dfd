/* debug_fill.c: writes red zones around objects and fills into objects, and checks that nothing has changed them.
 *
 *                |<------------------------ stride ------------------------>|
 *     ...........| red zone |        object        | red zone              | red zone | ...
 *                 fd fd fd ... cd cd cd cd ...      fd fd fd fd ...          with `guard`
 *                              0b db ea 1d 0b db ...  once it is dead        with `fill`
 *
 * A slot is `provable` if its red zones are written and, while it is dead, its fill. That is so from its first life
 * until its pages are released. Other slots are not checked. */
#include "debug_inside.h"

#if KOLK_HOSTED

#include "../base/atomics.h"
#include "../core/fail.h"
#include "../core/probes.h"

#include <string.h>

#define FREE_FILL  0x1deadb0bu
#define NEW_FILL   0xcdcdcdcdu
#define ZONE_FILL  0xfdfdfdfdu
#define MANY_BYTES 16u /* the most damaged bytes that a report prints */

/* Bytes that must repeat a pattern, beginning at the start of the stretch. */
typedef struct stretch {
    kolk_status rule; /* the rule that is broken if the bytes differ from the pattern */
    unsigned char *start;
    uint32_t size, pattern;
} stretch;

typedef struct damage {
    uint32_t first, last, count;
} damage;

/* A pattern of four bytes also repeats every eight, so eight bytes can be compared in one step. */
static uint64_t two_of(uint32_t pattern) {
    return (uint64_t)pattern << 32 | pattern;
}

static unsigned char byte_of(const stretch *part, uint32_t i) {
    return ((const unsigned char *)&part->pattern)[i % 4];
}

static void paint(const stretch *part) {
    uint64_t two = two_of(part->pattern);
    uint32_t i = 0;
    KOLK_PLAIN_WRITE_(part->start, part->size);
    for (; i + sizeof two <= part->size; i += sizeof two) memcpy(part->start + i, &two, sizeof two);
    for (; i < part->size; i++) part->start[i] = byte_of(part, i);
}

/* Returns a multiple of eight: all bytes before that index repeat the pattern. */
static uint32_t find_doubt(const stretch *part) {
    uint64_t two = two_of(part->pattern), found;
    for (uint32_t i = 0; i + sizeof two <= part->size; i += sizeof two) {
        memcpy(&found, part->start + i, sizeof found);
        if (found != two) return i;
    }
    return part->size & ~7u;
}

static damage find_damage(const stretch *part) {
    damage found = {0, 0, 0};
    for (uint32_t i = find_doubt(part); i < part->size; i++) {
        if (part->start[i] == byte_of(part, i)) continue;
        if (found.count++ == 0) found.first = i;
        found.last = i;
    }
    return found;
}

enum { FRONT, BACK, BODY, PARTS };

/* Finds the stretches of a slot that can be checked now. A stretch that cannot be checked has size 0. */
static void provable_stretches(const kolk_debug *debug, uint32_t slot, void *object, bool live, stretch parts[PARTS]) {
    const kolk_debug_desc_ *desc = &debug->desc;
    KOLK_ASSERT_(slot < desc->max_capacity);
    unsigned char *start = object;
    bool provable = debug->lives[slot].provable, filled = provable && !live && kolk_debug_has_(debug, KOLK_DEBUG_FILL);
    uint32_t front = provable ? desc->front : 0, back = provable ? desc->back : 0,
             body = filled ? desc->object_size : 0;
    parts[FRONT] = (stretch){KOLK_UNDERFLOW, start - front, front, ZONE_FILL};
    parts[BACK] = (stretch){KOLK_OVERFLOW, start + desc->object_size, back, ZONE_FILL};
    parts[BODY] = (stretch){KOLK_WRITE_AFTER_FREE, start, body, FREE_FILL};
}

bool kolk_debug_is_intact_(const kolk_debug *debug, uint32_t slot, const void *object, bool live) {
    stretch parts[PARTS];
    if (kolk_debug_has_(debug, KOLK_DEBUG_BYPASS)) return true;
    provable_stretches(debug, slot, (void *)(uintptr_t)object, live, parts);
    for (unsigned n = 0; n < PARTS; n++)
        if (find_damage(&parts[n]).count) return false;
    return true;
}

/* Writes the bytes from the first changed byte to the last, such as "2a 00 00 00". */
static void spell_bytes(char *text, const unsigned char *bytes, uint32_t count) {
    static const char digits[] = "0123456789abcdef";
    for (uint32_t i = 0; i < count && i < MANY_BYTES; i++) {
        if (i) *text++ = ' ';
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    memcpy(text, count > MANY_BYTES ? " ..." : "", count > MANY_BYTES ? 5 : 1);
}

static void report_damage(const kolk_debug *debug, const stretch *part, damage found, kolk_failure failure) {
    char bytes[3 * MANY_BYTES + 5];
    KOLK_ASSERT_(found.count > 0);
    KOLK_ASSERT_(found.first <= found.last && found.last < part->size);
    uint64_t slot = failure.slot, at = found.first;
    spell_bytes(bytes, part->start + found.first, found.last - found.first + 1);
    paint(part);
    failure.rule = part->rule;
    failure.count = found.count;
    if (part->rule == KOLK_UNDERFLOW) at = part->size - found.first;
    failure.offset = (uint32_t)at;
    const char *noun = debug->desc.noun, *plural = at == 1 ? "" : "s";
    if (part->rule == KOLK_UNDERFLOW)
        kolk_fail_(failure, "underflow of %s %u: %s written %u byte%s before its start", noun, slot, bytes, at, plural);
    else if (part->rule == KOLK_OVERFLOW)
        kolk_fail_(failure, "overflow of %s %u: %s written %u byte%s behind its end", noun, slot, bytes, at, plural);
    else
        kolk_fail_(failure, "write after free to %s %u: %s written at byte %u of it", noun, slot, bytes, at);
}

void kolk_debug_verify_(const kolk_debug *debug, uint32_t slot, void *object, bool live, kolk_failure failure) {
    stretch parts[PARTS];
    if (kolk_debug_has_(debug, KOLK_DEBUG_BYPASS)) return;
    provable_stretches(debug, slot, object, live, parts);
    failure.object = object;
    for (unsigned n = 0; n < PARTS; n++) {
        damage found = find_damage(&parts[n]);
        if (found.count) report_damage(debug, &parts[n], found, failure);
    }
}

void *kolk_debug_prepare_(kolk_debug *debug, uint32_t slot, void *object) {
    if (kolk_debug_has_(debug, KOLK_DEBUG_BYPASS)) return kolk_debug_take_block_(debug, slot);
    stretch parts[PARTS];
    KOLK_PLAIN_WRITE_(&debug->lives[slot].provable, sizeof(bool));
    debug->lives[slot].provable = true;
    provable_stretches(debug, slot, object, true, parts);
    paint(&parts[FRONT]);
    paint(&parts[BACK]);
    if (kolk_debug_has_(debug, KOLK_DEBUG_FILL)) paint(&(stretch){KOLK_OK, object, debug->desc.object_size, NEW_FILL});
    return object;
}

void kolk_debug_fill_(const kolk_debug *debug, void *object) {
    if (kolk_debug_has_(debug, KOLK_DEBUG_FILL)) paint(&(stretch){KOLK_OK, object, debug->desc.object_size, FREE_FILL});
}

void kolk_debug_wipe_(kolk_debug *debug, uint32_t slot, void *object) {
    PROBE2(free, debug->desc.name, object);
    if (debug->profiler.free) debug->profiler.free(debug->desc.name, object, debug->profiler.context);
    kolk_debug_fill_(debug, object);
    if (kolk_debug_has_(debug, KOLK_DEBUG_BYPASS)) kolk_debug_give_block_(debug, slot, object);
}

#endif
