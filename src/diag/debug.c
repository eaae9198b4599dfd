/* debug.c: the debug mode of one pool, in a block of its own beside the pool.
 *
 *                |<------------------------ stride ------------------------>|
 *     ...........| front zone |        object        | back zone            | front zone | ...
 *                 fd fd fd ... cd cd cd cd ...        fd fd fd fd ...          with `guard`
 *                              0b db ea 1d 0b db ...  once it is dead          with `fill`
 *
 * A slot is dressed once its zones are written and, while it is dead, its fill: from its first life on, until its pages
 * are given back. What is not dressed can't be verified.
 *
 * What is kept of a slot is memory of its own (no bit of a word that others have a part in), and what is counted for
 * all slots is counted atomically: so threads that hold different slots of a shared pool need no lock here. A report may
 * be about a slot that another thread has by now: for its sake the sites are atomics, which are of one life or another.
 *
 * With bypass the objects are malloc blocks, one a life. The pool keeps its bits, its generations and its order of
 * reuse, but looks objects up here: by slot in objects[], by pointer in lists that begin in heads[]. A dead object stays
 * in its list until its slot is used again, so that a double free is still told from a foreign pointer.
 *
 * A walk by pointers may go on from an object that is long dead: its slot has another block then, and its address may be
 * another slot's. The address alone does not tell where such a walk stands. So of the objects that a walk came to, the
 * last ones that were freed are remembered with their slots, and no other slot gets a block at such an address.
 *
 * Another thread may fork at any moment. Its child relies on the order of these stores: each list ends, a slot is in one
 * list or in none, and an address that is remembered has its slot. */
#include "../os/system.h"

#if __STDC_VERSION__ < 201112L
#error "kolk is C11: compile src/*/*.c with -std=c11 or a later one; the program that includes its headers may be C99"
#endif
#include "debug.h"

#include "../core/atomics.h"
#include "../core/fail.h"
#include "../core/hash.h"
#include "../os/memory.h"
#include "probes.h"

#include <string.h>

#if __STDC_HOSTED__
#include "../os/lock.h"

#include <stdlib.h>
#endif

#define FREE_FILL  0x1deadb0bu
#define NEW_FILL   0xcdcdcdcdu
#define ZONE_FILL  0xfdfdfdfdu
#define ZONE       16u
#define NO_SLOT    UINT32_MAX
#define MANY_BYTES 16u /* of damage in a sentence */
#define REMEMBERED 64u /* freed objects that a walk came to */

/* What is known of a slot and its last life. Of a slot map, whose objects change places, `dressed` is of the place. */
typedef struct life {
    uintptr_t alloc_site, free_site;
    size_t birth;  /* the n-th of the pool */
    uint32_t next; /* bypass: slot in the same list of heads[], + 1 */
    bool alive;    /* and not listed as a leak yet */
    bool dressed;
    bool walked; /* bypass: a walk came to the object; of its last life, once it is dead */
} life;

/* A freed object that a walk came to. */
typedef struct remembered {
    uintptr_t object; /* inverted; 0: none */
    uint32_t slot;
} remembered;

struct kolk_debug {
    kolk_debug_desc desc;
    kolk_profiler profiler;
    size_t births, asked; /* with 32 bits they begin anew after 2^32, which spoils one n-th failure */
    uint32_t first;       /* of the ring */
    life *lives;          /* by slot */
    uint32_t *ring;       /* slots in quarantine */
    uintptr_t *objects;   /* bypass only: by slot, inverted */
    uint32_t *heads;      /* ... max_capacity of them: slot + 1 */
    remembered memories[REMEMBERED];
    uint32_t oldest; /* of these */
    uint32_t lock;   /* of these, and of `walked` */
    size_t block_size;
};

static bool has(const kolk_debug *debug, uint32_t flag) {
    return debug->desc.settings.flags & flag;
}

/* Counts one more. Freestanding programs have one thread, and perhaps no such instruction. */
static size_t count_up(size_t *counter) {
    return __STDC_HOSTED__ ? kolk_fetch_add(counter, 1, KOLK_RELAXED) + 1 : ++*counter;
}

/* ---- Profiler ---------------------------------------------------------------------------------------------------- */

static kolk_profiler set_profiler;

void kolk_set_profiler(const kolk_profiler *profiler) {
    set_profiler = profiler ? *profiler : (kolk_profiler){NULL, NULL, NULL};
}

bool kolk_profiler_is_set(void) {
    return set_profiler.alloc || set_profiler.free;
}

/* ---- The block --------------------------------------------------------------------------------------------------- */

void kolk_debug_settle(kolk_debug_desc *desc) {
    uint32_t *flags = &desc->settings.flags, align = desc->object_align;
    *flags &= ~(uint32_t)KOLK_DEBUG_MOVE;
#ifdef _WIN32 /* no one function frees blocks of any alignment */
    if (align > _Alignof(max_align_t)) *flags &= ~(uint32_t)KOLK_DEBUG_BYPASS;
#endif
    if (*flags & KOLK_DEBUG_BYPASS) *flags &= KOLK_DEBUG_BYPASS | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_FAIL;
    if (desc->persistent) *flags &= ~(uint32_t)KOLK_DEBUG_FILL;
    if (!(*flags & KOLK_DEBUG_GUARD)) return;
    uint32_t back = desc->object_size + ZONE;
    desc->front = align > ZONE ? align : ZONE;
    desc->back = ZONE + (align - back % align) % align;
}

static size_t aligned(size_t size) {
    return (size + 15) / 16 * 16;
}

kolk_debug *kolk_debug_begin(const kolk_debug_desc *desc) {
    size_t slots = desc->max_capacity;
    size_t waiting = desc->settings.flags & KOLK_DEBUG_QUARANTINE ? desc->settings.quarantine : 0;
    if (waiting > slots) waiting = slots;
    size_t bypassed = desc->settings.flags & KOLK_DEBUG_BYPASS ? slots : 0;
    if (slots > PTRDIFF_MAX / (2 * sizeof(life))) return NULL;

    /* What has to be there at once comes first: all but the lives. */
    size_t ring_at = aligned(sizeof(kolk_debug)), heads_at = aligned(ring_at + waiting * sizeof(uint32_t));
    size_t objects_at = aligned(heads_at + bypassed * sizeof(uint32_t));
    size_t lives_at = aligned(objects_at + bypassed * sizeof(uintptr_t));
    size_t size = lives_at + slots * sizeof(life);
    unsigned char *block = kolk_memory_take(size, lives_at);
    if (!block) return NULL;
    kolk_debug *debug = (kolk_debug *)(void *)block;
    debug->desc = *desc;
    debug->desc.settings.quarantine = (uint32_t)waiting;
    if (has(debug, KOLK_DEBUG_TRACE)) debug->profiler = set_profiler;
    debug->ring = (uint32_t *)(void *)(block + ring_at);
    debug->heads = (uint32_t *)(void *)(block + heads_at);
    debug->objects = bypassed ? (uintptr_t *)(void *)(block + objects_at) : NULL;
    debug->lives = (life *)(void *)(block + lives_at);
    debug->block_size = size;
    return debug;
}

bool kolk_debug_commit(kolk_debug *debug, uint32_t capacity) {
    return capacity == 0 || kolk_memory_commit(debug->lives, capacity * sizeof(life));
}

void kolk_debug_sites(const kolk_debug *debug, uint32_t slot, kolk_failure *failure) {
    failure->sites = has(debug, KOLK_DEBUG_SITES);
    if (slot == NO_SLOT || !failure->sites) return;
    failure->alloc_site = (const void *)kolk_load(&debug->lives[slot].alloc_site, KOLK_RELAXED);
    failure->free_site = (const void *)kolk_load(&debug->lives[slot].free_site, KOLK_RELAXED);
}

/* ---- Bypass: objects from malloc ---------------------------------------------------------------------------------- */

/* Mixed with the golden ratio (Knuth, The Art of Computer Programming 3, 6.4). */
static uint32_t *head_of(const kolk_debug *debug, const void *object) {
    uint64_t mixed = (uint64_t)((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &debug->heads[(mixed >> 32) % debug->desc.max_capacity];
}

uintptr_t *kolk_debug_objects(const kolk_debug *debug) {
    return debug->objects;
}

/* The slot that had it last is at the head. */
uintptr_t kolk_debug_find(const kolk_debug *debug, const void *object) {
    if (!object || debug->desc.max_capacity == 0) return NO_SLOT;
    uint32_t link = *head_of(debug, object);
    while (link && debug->objects[link - 1] != ~(uintptr_t)object) link = debug->lives[link - 1].next;
    return link ? link - 1 : NO_SLOT;
}

uint32_t kolk_debug_search(const kolk_debug *debug, uint32_t end, const void *pointer, uint64_t *inside) {
    uintptr_t exact = kolk_debug_find(debug, pointer);
    *inside = 0;
    if (exact != NO_SLOT) return (uint32_t)exact;
    for (uint32_t slot = 0; slot < end; slot++) {
        *inside = (uintptr_t)pointer - ~debug->objects[slot];
        bool may_be = debug->objects[slot] && *inside < debug->desc.object_size;
        if (may_be && kolk_debug_find(debug, (void *)~debug->objects[slot]) == slot) return slot;
    }
    return NO_SLOT;
}

/* In a fork's child a slot that another thread was just renewing may be in no list. */
static void unlink_object(kolk_debug *debug, uint32_t slot) {
    uint32_t *link = head_of(debug, (void *)~debug->objects[slot]);
    while (*link && *link != slot + 1) link = &debug->lives[*link - 1].next;
    if (*link) kolk_store(link, debug->lives[slot].next, KOLK_RELEASE);
}

/* In this order, so that a fork's child finds the list without the slot, or all of it behind the slot. */
static void link_object(kolk_debug *debug, uint32_t slot, const void *object) {
    uint32_t *head = head_of(debug, object);
    kolk_store(&debug->objects[slot], ~(uintptr_t)object, KOLK_RELEASE);
    kolk_store(&debug->lives[slot].next, *head, KOLK_RELEASE);
    kolk_store(head, slot + 1, KOLK_RELEASE);
}

/* ---- Bypass: walks by pointers ---------------------------------------------------------------------------------- */

static void lock_memories(const kolk_debug *debug) {
#if __STDC_HOSTED__
    kolk_lock_word((uint32_t *)(uintptr_t)&debug->lock);
#else
    (void)debug;
#endif
}

static void unlock_memories(const kolk_debug *debug) {
#if __STDC_HOSTED__
    kolk_unlock_word((uint32_t *)(uintptr_t)&debug->lock);
#else
    (void)debug;
#endif
}

/* The slot that this freed object was in, or NO_SLOT. */
static uint32_t recall(const kolk_debug *debug, const void *object) {
    uint32_t slot = NO_SLOT;
    lock_memories(debug);
    for (unsigned n = 0; n < REMEMBERED; n++)
        if (debug->memories[n].object && debug->memories[n].object == ~(uintptr_t)object)
            slot = debug->memories[n].slot;
    unlock_memories(debug);
    return slot;
}

/* Once for each object, as the youngest. In this order: see above. */
static void remember(kolk_debug *debug, uint32_t slot, const void *object) {
    remembered *youngest = &debug->memories[debug->oldest];
    for (remembered *each = debug->memories; each < debug->memories + REMEMBERED; each++)
        if (each->object == ~(uintptr_t)object) kolk_store(&each->object, 0, KOLK_RELEASE);
    kolk_store(&youngest->object, 0, KOLK_RELEASE);
    kolk_store(&youngest->slot, slot, KOLK_RELEASE);
    kolk_store(&youngest->object, ~(uintptr_t)object, KOLK_RELEASE);
    debug->oldest = (debug->oldest + 1) % REMEMBERED;
}

uintptr_t kolk_debug_walked(const kolk_debug *debug, const void *object) {
    uint32_t slot = recall(debug, object);
    return slot != NO_SLOT ? slot : kolk_debug_find(debug, object);
}

void kolk_debug_walk(kolk_debug *debug, uint32_t slot, bool dead) {
    lock_memories(debug);
    debug->lives[slot].walked = true;
    if (dead) remember(debug, slot, (const void *)~debug->objects[slot]);
    unlock_memories(debug);
}

/* Before malloc can give its address to another slot. */
static void leave_walks(kolk_debug *debug, uint32_t slot, const void *object) {
    lock_memories(debug);
    if (debug->lives[slot].walked) remember(debug, slot, object);
    unlock_memories(debug);
}

/* ---- Bypass: blocks --------------------------------------------------------------------------------------------- */

#if __STDC_HOSTED__
static void *take_block(const kolk_debug_desc *desc) {
#ifndef _WIN32 /* over-aligned pools are never bypassed there */
    void *block = NULL;
    if (desc->object_align > _Alignof(max_align_t))
        return posix_memalign(&block, desc->object_align, desc->object_size) == 0 ? block : NULL;
#endif
    return malloc(desc->object_size);
}

static void give_block(void *block) {
    free(block);
}
#else
static void *take_block(const kolk_debug_desc *desc) {
    (void)desc;
    return NULL;
}

static void give_block(void *block) {
    (void)block;
}
#endif

/* Blocks at addresses that are remembered for other slots are held until malloc gives one that is not. */
static void *take_block_for(const kolk_debug *debug, uint32_t slot) {
    void *held[REMEMBERED], *block;
    uint32_t other;
    unsigned n = 0;
    while ((block = take_block(&debug->desc)) && (other = recall(debug, block)) != NO_SLOT && other != slot &&
           n < REMEMBERED)
        held[n++] = block;
    while (n > 0) give_block(held[--n]);
    return block;
}

/* A block for this slot's next life: its own if it has kept one. */
static void *renew_block(kolk_debug *debug, uint32_t slot) {
    bool renews = debug->objects[slot] != 0;
    if (renews && debug->desc.persistent) return (void *)~debug->objects[slot];
    void *object = take_block_for(debug, slot);
    if (!object) return NULL;
    if (renews) unlink_object(debug, slot);
    debug->lives[slot].walked = false;
    link_object(debug, slot, object);
    return object;
}

void kolk_debug_end(kolk_debug *debug, uint32_t end) {
    bool holds = has(debug, KOLK_DEBUG_BYPASS) && debug->desc.persistent;
    for (uint32_t slot = 0; holds && slot < end; slot++)
        if (debug->objects[slot]) give_block((void *)~debug->objects[slot]);
    kolk_memory_release(debug, debug->block_size);
}

/* ---- Zones and fills ----------------------------------------------------------------------------------------------- */

/* Bytes that have to be equal to a pattern, which begins anew with each stretch. */
typedef struct stretch {
    kolk_status rule; /* that is broken if they are not */
    unsigned char *start;
    uint32_t size, pattern;
} stretch;

typedef struct damage {
    uint32_t first, last, count;
} damage;

static void paint(const stretch *part) {
    KOLK_PLAIN_WRITE(part->start, part->size);
    for (uint32_t i = 0; i < part->size; i++) part->start[i] = ((const unsigned char *)&part->pattern)[i % 4];
}

static damage look_at(const stretch *part) {
    damage found = {0, 0, 0};
    for (uint32_t i = 0; i < part->size; i++) {
        if (part->start[i] == ((const unsigned char *)&part->pattern)[i % 4]) continue;
        if (found.count++ == 0) found.first = i;
        found.last = i;
    }
    return found;
}

enum { FRONT, BACK, BODY, PARTS };

/* What can be proved of a slot now; sizes of 0 where there is nothing. */
static void parts_of(const kolk_debug *debug, uint32_t slot, void *object, bool live, stretch parts[PARTS]) {
    const kolk_debug_desc *desc = &debug->desc;
    unsigned char *start = object;
    bool dressed = debug->lives[slot].dressed, filled = dressed && !live && has(debug, KOLK_DEBUG_FILL);
    uint32_t front = dressed ? desc->front : 0, back = dressed ? desc->back : 0, body = filled ? desc->object_size : 0;
    parts[FRONT] = (stretch){KOLK_UNDERFLOW, start - front, front, ZONE_FILL};
    parts[BACK] = (stretch){KOLK_OVERFLOW, start + desc->object_size, back, ZONE_FILL};
    parts[BODY] = (stretch){KOLK_WRITE_AFTER_FREE, start, body, FREE_FILL};
}

bool kolk_debug_is_intact(const kolk_debug *debug, uint32_t slot, const void *object, bool live) {
    stretch parts[PARTS];
    if (has(debug, KOLK_DEBUG_BYPASS)) return true;
    parts_of(debug, slot, (void *)(uintptr_t)object, live, parts);
    for (unsigned n = 0; n < PARTS; n++)
        if (look_at(&parts[n]).count) return false;
    return true;
}

/* "2a 00 00 00": the bytes from the first to the last that changed. */
static void put_bytes(char *text, const unsigned char *bytes, uint32_t count) {
    static const char digits[] = "0123456789abcdef";
    for (uint32_t i = 0; i < count && i < MANY_BYTES; i++) {
        if (i) *text++ = ' ';
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    memcpy(text, count > MANY_BYTES ? " ..." : "", count > MANY_BYTES ? 5 : 1);
}

static void report(const kolk_debug *debug, const stretch *part, damage found, kolk_failure failure) {
    char bytes[3 * MANY_BYTES + 5];
    uint64_t slot = failure.slot, at = found.first;
    put_bytes(bytes, part->start + found.first, found.last - found.first + 1);
    paint(part);
    failure.rule = part->rule;
    failure.count = found.count;
    if (part->rule == KOLK_UNDERFLOW) at = part->size - found.first;
    failure.offset = (uint32_t)at;
    const char *noun = debug->desc.noun, *plural = at == 1 ? "" : "s";
    if (part->rule == KOLK_UNDERFLOW)
        kolk_fail(failure, "underflow of %s %u: %s written %u byte%s before its start", noun, slot, bytes, at, plural);
    else if (part->rule == KOLK_OVERFLOW)
        kolk_fail(failure, "overflow of %s %u: %s written %u byte%s behind its end", noun, slot, bytes, at, plural);
    else
        kolk_fail(failure, "write after free to %s %u: %s written at byte %u of it", noun, slot, bytes, at);
}

void kolk_debug_verify(const kolk_debug *debug, uint32_t slot, void *object, bool live, kolk_failure failure) {
    stretch parts[PARTS];
    if (has(debug, KOLK_DEBUG_BYPASS)) return;
    parts_of(debug, slot, object, live, parts);
    failure.object = object;
    for (unsigned n = 0; n < PARTS; n++) {
        damage found = look_at(&parts[n]);
        if (found.count) report(debug, &parts[n], found, failure);
    }
}

/* ---- Lives -------------------------------------------------------------------------------------------------------- */

void *kolk_debug_dress(kolk_debug *debug, uint32_t slot, void *object) {
    if (has(debug, KOLK_DEBUG_BYPASS)) return renew_block(debug, slot);
    stretch parts[PARTS];
    KOLK_PLAIN_WRITE(&debug->lives[slot].dressed, sizeof(bool));
    debug->lives[slot].dressed = true;
    parts_of(debug, slot, object, true, parts);
    paint(&parts[FRONT]);
    paint(&parts[BACK]);
    if (has(debug, KOLK_DEBUG_FILL)) paint(&(stretch){KOLK_OK, object, debug->desc.object_size, NEW_FILL});
    return object;
}

void kolk_debug_begin_life(kolk_debug *debug, uint32_t slot, const void *object, const void *site) {
    const kolk_debug_desc *desc = &debug->desc;
    life *now = &debug->lives[slot];
    kolk_store(&now->alloc_site, (uintptr_t)site, KOLK_RELAXED);
    kolk_store(&now->free_site, 0, KOLK_RELAXED);
    now->birth = count_up(&debug->births);
    KOLK_PLAIN_WRITE(&now->alive, sizeof now->alive);
    now->alive = true;
    PROBE3(alloc, desc->name, object, desc->object_size);
    if (debug->profiler.alloc) debug->profiler.alloc(desc->name, object, desc->object_size, debug->profiler.context);
}

void kolk_debug_end_life(kolk_debug *debug, uint32_t slot, const void *site) {
    kolk_store(&debug->lives[slot].free_site, (uintptr_t)site, KOLK_RELAXED);
    KOLK_PLAIN_WRITE(&debug->lives[slot].alive, sizeof(bool));
    debug->lives[slot].alive = false;
}

void kolk_debug_wipe(kolk_debug *debug, uint32_t slot, void *object) {
    PROBE2(free, debug->desc.name, object);
    if (debug->profiler.free) debug->profiler.free(debug->desc.name, object, debug->profiler.context);
    if (has(debug, KOLK_DEBUG_FILL)) paint(&(stretch){KOLK_OK, object, debug->desc.object_size, FREE_FILL});
    if (!has(debug, KOLK_DEBUG_BYPASS) || debug->desc.persistent) return;
    leave_walks(debug, slot, object);
    give_block(object);
}

bool kolk_debug_fails(kolk_debug *debug) {
    const kolk_settings *settings = &debug->desc.settings;
    if (!has(debug, KOLK_DEBUG_FAIL)) return false;
    size_t asked = count_up(&debug->asked);
    if (settings->fail_every) return asked % settings->fail_every == 0;
    return kolk_mixed(kolk_mixed(settings->fail_seed) + asked) >> 32 < settings->fail_chance;
}

void kolk_debug_forget(kolk_debug *debug, uint32_t from, uint32_t end) {
    for (uint32_t slot = from; slot < end; slot++) debug->lives[slot].dressed = false;
}

void kolk_debug_unissue(kolk_debug *debug, uint32_t from, uint32_t end) {
    kolk_debug_forget(debug, from, end);
    bool gives = has(debug, KOLK_DEBUG_BYPASS) && debug->desc.persistent;
    for (uint32_t slot = from; gives && slot < end; slot++) {
        if (!debug->objects[slot]) continue;
        unlink_object(debug, slot);
        give_block((void *)~debug->objects[slot]);
        debug->objects[slot] = 0;
    }
}

/* The slot whose life has not ended, is not listed yet, and is the oldest of these; `end` if there is none. */
static uint32_t oldest(const kolk_debug *debug, uint32_t end) {
    uint32_t found = end;
    size_t age = 0; /* births since, which is right even if they began anew meanwhile */
    for (uint32_t slot = 0; slot < end; slot++) {
        const life *now = &debug->lives[slot];
        if (!now->alive || (found != end && debug->births - now->birth <= age)) continue;
        age = debug->births - now->birth;
        found = slot;
    }
    return found;
}

void kolk_debug_leaks(kolk_debug *debug, uint32_t end, kolk_failure failure) {
    if (!has(debug, KOLK_DEBUG_SITES)) return;
    for (uint32_t first; (first = oldest(debug, end)) < end;) {
        uintptr_t site = debug->lives[first].alloc_site;
        uint32_t count = 0;
        for (uint32_t slot = 0; slot < end; slot++) {
            if (!debug->lives[slot].alive || debug->lives[slot].alloc_site != site) continue;
            debug->lives[slot].alive = false;
            count++;
        }
        failure.slot = first;
        failure.count = count;
        failure.alloc_site = (const void *)site;
        if (count == 1)
            kolk_fail(failure, "1 object is still alive, in slot %u", (uint64_t)first);
        else
            kolk_fail(failure, "%u objects are still alive, the oldest in slot %u", (uint64_t)count, (uint64_t)first);
    }
}

/* ---- Quarantine --------------------------------------------------------------------------------------------------- */

uint32_t kolk_debug_quarantine(const kolk_debug *debug) {
    return debug->desc.settings.quarantine;
}

uint32_t *kolk_debug_ring(kolk_debug *debug, uint32_t n) {
    uint64_t at = (uint64_t)debug->first + n, size = debug->desc.settings.quarantine;
    return &debug->ring[at < size ? at : at - size];
}

void kolk_debug_ring_advance(kolk_debug *debug) {
    KOLK_PLAIN_WRITE(&debug->first, sizeof debug->first);
    debug->first = debug->first + 1 < debug->desc.settings.quarantine ? debug->first + 1 : 0;
}
