/* debug.c: the debug mode of one pool, in a block separate from the pool's: lives, sites, leaks, and the quarantine.
 * debug_inside.h names the other files of the debug mode.
 *
 *     the block   | kolk_debug | ring | heads | objects | lives ........ (committed as the pool grows) |
 *
 * Each slot's record is memory of its own, never a bit in a word that several slots share. Counters for all slots are
 * atomic. So threads that hold different slots of a shared pool need no lock here. A report may read the sites of a
 * slot that another thread has just taken. So the sites are atomics: each value read belongs either to the old life or
 * to the new one. */
#include "debug_inside.h"

#if KOLK_HOSTED

#include "../base/atomics.h"
#include "../core/fail.h"
#include "../base/hash.h"
#include "../os/memory.h"
#include "../core/probes.h"

#define ZONE 16u /* the smallest size of a red zone in bytes */

static kolk_profiler set_profiler;

void kolk_set_profiler(const kolk_profiler *profiler) {
    set_profiler = profiler ? *profiler : (kolk_profiler){NULL, NULL, NULL};
}

bool kolk_debug_has_profiler_(void) {
    return set_profiler.alloc || set_profiler.free;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the counter is written */
static size_t count_up(size_t *counter) {
    return kolk_fetch_add_(counter, 1, KOLK_RELAXED_) + 1;
}

/* ---- The block --------------------------------------------------------------------------------------------------- */

void kolk_debug_settle_(kolk_debug_desc_ *desc) {
    uint32_t *flags = &desc->settings.flags, align = desc->object_align;
    *flags &= ~(uint32_t)KOLK_DEBUG_MOVE;
#ifdef _WIN32 /* Windows has no function that frees blocks of any alignment */
    if (align > KOLK_MALLOC_ALIGN_) *flags &= ~(uint32_t)KOLK_DEBUG_BYPASS;
#endif
    if (*flags & KOLK_DEBUG_BYPASS) *flags &= KOLK_DEBUG_BYPASS | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_FAIL;
    if (desc->persistent) *flags &= ~(uint32_t)KOLK_DEBUG_FILL;
    if (!(*flags & KOLK_DEBUG_GUARD)) return;
    uint32_t back = desc->object_size + ZONE;
    desc->front = align > ZONE ? align : ZONE;
    desc->back = ZONE + (align - back % align) % align;
}

static size_t aligned_to_16(size_t size) {
    return (size + 15) / 16 * 16;
}

kolk_debug *kolk_debug_lay_out_(const kolk_debug_desc_ *desc) {
    size_t slots = desc->max_capacity;
    size_t quarantine = desc->settings.flags & KOLK_DEBUG_QUARANTINE ? desc->settings.quarantine : 0;
    if (quarantine > slots) quarantine = slots;
    size_t bypassed = desc->settings.flags & KOLK_DEBUG_BYPASS ? slots : 0;
    if (slots > PTRDIFF_MAX / (2 * sizeof(life))) return NULL;

    /* All parts except the lives come first, because they are committed now. */
    size_t ring_at = aligned_to_16(sizeof(kolk_debug)),
           heads_at = aligned_to_16(ring_at + quarantine * sizeof(uint32_t));
    size_t objects_at = aligned_to_16(heads_at + bypassed * sizeof(uint32_t));
    size_t lives_at = aligned_to_16(objects_at + bypassed * sizeof(uintptr_t));
    size_t size = lives_at + slots * sizeof(life);
    KOLK_ASSERT_(lives_at <= size);
    unsigned char *block = kolk_memory_take_(size, lives_at);
    if (!block) return NULL;
    kolk_debug *debug = (kolk_debug *)(void *)block;
    debug->desc = *desc;
    debug->desc.settings.quarantine = (uint32_t)quarantine;
    if (kolk_debug_has_(debug, KOLK_DEBUG_TRACE)) debug->profiler = set_profiler;
    debug->ring = (uint32_t *)(void *)(block + ring_at);
    debug->heads = (uint32_t *)(void *)(block + heads_at);
    debug->objects = bypassed ? (uintptr_t *)(void *)(block + objects_at) : NULL;
    debug->lives = (life *)(void *)(block + lives_at);
    debug->block_size = size;
    return debug;
}

bool kolk_debug_commit_(kolk_debug *debug, uint32_t capacity) {
    KOLK_ASSERT_(capacity <= debug->desc.max_capacity);
    return capacity == 0 || kolk_memory_commit_(debug->lives, capacity * sizeof(life));
}

void kolk_debug_unmake_(kolk_debug *debug, uint32_t end) {
    kolk_debug_drop_blocks_(debug, 0, end);
    kolk_memory_release_(debug, debug->block_size);
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

void kolk_debug_sites_(const kolk_debug *debug, uint32_t slot, kolk_failure *failure) {
    failure->sites = kolk_debug_has_(debug, KOLK_DEBUG_SITES);
    failure->depth = debug->desc.settings.depth;
    if (slot == NO_SLOT || !failure->sites) return;
    KOLK_ASSERT_(slot < debug->desc.max_capacity);
    kolk_kept_site_ alloc = kolk_load_(&debug->lives[slot].alloc_site, KOLK_RELAXED_);
    kolk_kept_site_ free = kolk_load_(&debug->lives[slot].free_site, KOLK_RELAXED_);
    failure->alloc_site = kolk_site_address_(alloc);
    failure->alloc_stack = kolk_site_stack_(alloc);
    failure->free_site = kolk_site_address_(free);
    failure->free_stack = kolk_site_stack_(free);
}

static kolk_kept_site_ keep_site(const kolk_debug *debug, const void *site) {
    return kolk_site_keep_(site, kolk_debug_has_(debug, KOLK_DEBUG_SITES) ? debug->desc.settings.depth : 0);
}

void kolk_debug_begin_life_(kolk_debug *debug, uint32_t slot, const void *object, const void *site) {
    const kolk_debug_desc_ *desc = &debug->desc;
    KOLK_ASSERT_(slot < desc->max_capacity);
    life *now = &debug->lives[slot];
    kolk_store_(&now->alloc_site, keep_site(debug, site), KOLK_RELAXED_);
    kolk_store_(&now->free_site, 0, KOLK_RELAXED_);
    now->birth = count_up(&debug->births);
    KOLK_PLAIN_WRITE_(&now->alive, sizeof now->alive);
    kolk_raw_store_(&now->alive, true, KOLK_RELAXED_);
    PROBE3(alloc, desc->name, object, desc->object_size);
    if (debug->profiler.alloc) debug->profiler.alloc(desc->name, object, desc->object_size, debug->profiler.context);
}

void kolk_debug_end_life_(kolk_debug *debug, uint32_t slot, const void *site) {
    KOLK_ASSERT_(slot < debug->desc.max_capacity);
    kolk_store_(&debug->lives[slot].free_site, keep_site(debug, site), KOLK_RELAXED_);
    KOLK_PLAIN_WRITE_(&debug->lives[slot].alive, sizeof(bool));
    kolk_raw_store_(&debug->lives[slot].alive, false, KOLK_RELAXED_);
}

void kolk_debug_lose_(kolk_debug *debug, uint32_t from, uint32_t end, bool unissued) {
    KOLK_ASSERT_(end <= debug->desc.max_capacity);
    for (uint32_t slot = from; slot < end; slot++) {
        life *now = &debug->lives[slot];
        now->provable = false;
        if (unissued) now->alive = false;
        if (unissued) now->alloc_site = now->free_site = 0;
    }
    if (unissued) kolk_debug_drop_blocks_(debug, from, end);
}

/* Returns the slot of the oldest life that has not ended and is not yet reported; `end` if there is none. */
static uint32_t oldest_life(const kolk_debug *debug, uint32_t end) {
    uint32_t found = end;
    size_t age = 0; /* the number of births since, which is correct even if their counter has wrapped */
    for (uint32_t slot = 0; slot < end; slot++) {
        const life *now = &debug->lives[slot];
        if (!now->alive || (found != end && debug->births - now->birth <= age)) continue;
        age = debug->births - now->birth;
        found = slot;
    }
    return found;
}

/* Do both sites look the same in a report? Reports show only the first `named` addresses of a stack. */
static bool is_same_site(kolk_kept_site_ a, kolk_kept_site_ b, size_t named) {
    const void *const *one = kolk_site_stack_(a), *const *other = kolk_site_stack_(b);
    if (a == b || !one || !other) return a == b;
    for (size_t n = 0; n < named; n++) {
        if (one[n] != other[n]) return false;
        if (!one[n]) return true;
    }
    return true;
}

/* Marks the lives that were allocated at this site as reported. Returns their number. */
static uint32_t take_leaks(kolk_debug *debug, uint32_t end, kolk_kept_site_ site, size_t named) {
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < end; slot++) {
        life *now = &debug->lives[slot];
        if (!now->alive || !is_same_site(now->alloc_site, site, named)) continue;
        now->alive = false;
        count++;
    }
    return count;
}

void kolk_debug_leaks_(kolk_debug *debug, uint32_t end) {
    KOLK_ASSERT_(end <= debug->desc.max_capacity);
    if (!kolk_debug_has_(debug, KOLK_DEBUG_SITES)) return;
    kolk_failure failure = {.rule = KOLK_LEAK, .pool = debug->desc.name, .slot = NO_SLOT};
    kolk_debug_sites_(debug, NO_SLOT, &failure);
    for (uint32_t first; (first = oldest_life(debug, end)) < end;) {
        char words[KOLK_SITE_WORDS_];
        kolk_kept_site_ site = debug->lives[first].alloc_site;
        const void *address = kolk_site_address_(site), *alone[] = {address, NULL};
        const void *const *stack = kolk_site_stack_(site);
        size_t named = kolk_stack_text(stack ? stack : alone, debug->desc.settings.depth, true, words, sizeof words);
        uint32_t count = take_leaks(debug, end, site, named);
        failure.slot = first;
        failure.count = count;
        failure.alloc_site = address;
        failure.alloc_stack = stack;
        const char *by = *words ? "; allocated by " : "";
        if (count == 1)
            kolk_fail_(failure, "1 object is still alive, in slot %u%s%s", (uint64_t)first, by, words);
        else
            kolk_fail_(failure, "%u objects are still alive, the oldest in slot %u%s%s", (uint64_t)count,
                       (uint64_t)first, by, words);
    }
}

void kolk_debug_places_(const kolk_debug *debug, uint32_t end, kolk_place_counts_ *counts) {
    if (!debug || !kolk_debug_has_(debug, KOLK_DEBUG_SITES)) return;
    KOLK_ASSERT_(end <= debug->desc.max_capacity);
    for (uint32_t slot = 0; slot < end; slot++)
        if (kolk_raw_load_(&debug->lives[slot].alive, KOLK_RELAXED_))
            kolk_places_count_(counts, kolk_load_(&debug->lives[slot].alloc_site, KOLK_RELAXED_),
                               debug->desc.settings.depth);
}

const char *kolk_debug_holders_(const kolk_debug *debug, uint32_t end, char *text, size_t size) {
    kolk_place_counts_ counts = {0};
    kolk_places_ places;
    kolk_debug_places_(debug, end, &counts);
    return kolk_places_end_(&counts, &places) ? kolk_places_text_(&places, text, size) : NULL;
}

#endif
