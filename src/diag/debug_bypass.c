/* debug_bypass.c: objects that are malloc blocks, one a life, for tools that watch malloc.
 *
 * The pool keeps its bits, its generations and its order of reuse, but looks objects up here: by slot in objects[], by
 * pointer in lists that begin in heads[]. A dead object stays in its list until its slot is used again, so that a
 * double free is still told from a foreign pointer.
 *
 * Another thread may fork at any moment. Its child relies on the order of the stores here: each list has an end, and a
 * slot is in one list or in none. */
#include "../os/system.h"

#include "debug_inside.h"

#if KOLK_DIAGNOSTICS

#include "../core/atomics.h"

#include <stdlib.h>

/* ---- The lists --------------------------------------------------------------------------------------------------- */

/* The start of the list that the object is in. The hash is a product with the golden ratio (Knuth, The Art of Computer
 * Programming 3, 6.4). */
static uint32_t *head_of(const kolk_debug *debug, const void *object) {
    KOLK_ASSERT(debug->desc.max_capacity > 0);
    uint64_t mixed = (uint64_t)((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &debug->heads[(mixed >> 32) % debug->desc.max_capacity];
}

uintptr_t *kolk_debug_objects(const kolk_debug *debug) {
    return debug->objects;
}

/* Of several slots that had it, the last one is at the head of the list. */
uintptr_t kolk_debug_find(const kolk_debug *debug, const void *object) {
    if (!object || debug->desc.max_capacity == 0) return NO_SLOT;
    uint32_t link = *head_of(debug, object);
    while (link && debug->objects[link - 1] != ~(uintptr_t)object) link = debug->lives[link - 1].next;
    return link ? link - 1 : NO_SLOT;
}

uintptr_t kolk_debug_walked(const kolk_debug *debug, const void *object) {
    uint32_t slot = kolk_debug_recall(debug, object);
    return slot != NO_SLOT ? slot : kolk_debug_find(debug, object);
}

uint32_t kolk_debug_search(const kolk_debug *debug, uint32_t end, const void *pointer, uint64_t *inside) {
    KOLK_ASSERT(debug->objects);
    KOLK_ASSERT(end <= debug->desc.max_capacity);
    uintptr_t exact = kolk_debug_find(debug, pointer);
    *inside = 0;
    if (exact != NO_SLOT) return (uint32_t)exact;
    for (uint32_t slot = 0; slot < end; slot++) {
        *inside = (uintptr_t)pointer - ~debug->objects[slot];
        bool may_be = debug->objects[slot] && *inside < debug->desc.object_size;
        if (may_be && kolk_debug_find(debug, kolk_debug_object(debug, slot)) == slot) return slot;
    }
    return NO_SLOT;
}

/* In a fork's child, a slot that another thread was just renewing may be in no list. */
static void unlink_object(kolk_debug *debug, uint32_t slot) {
    uint32_t *link = head_of(debug, kolk_debug_object(debug, slot));
    while (*link && *link != slot + 1) link = &debug->lives[*link - 1].next;
    if (*link) kolk_store(link, debug->lives[slot].next, KOLK_RELEASE);
}

/* The order of these stores lets a fork's child find the list without the slot, or all of it behind the slot. */
static void link_object(kolk_debug *debug, uint32_t slot, const void *object) {
    KOLK_ASSERT(object);
    uint32_t *head = head_of(debug, object);
    kolk_store(&debug->objects[slot], ~(uintptr_t)object, KOLK_RELEASE);
    kolk_store(&debug->lives[slot].next, *head, KOLK_RELEASE);
    kolk_store(head, slot + 1, KOLK_RELEASE);
}

/* ---- The blocks -------------------------------------------------------------------------------------------------- */

static void *malloc_block(const kolk_debug_desc *desc) {
#ifndef _WIN32 /* over-aligned pools are never bypassed there */
    void *block = NULL;
    if (desc->object_align > _Alignof(max_align_t))
        return posix_memalign(&block, desc->object_align, desc->object_size) == 0 ? block : NULL;
#endif
    return malloc(desc->object_size);
}

static void free_block(void *block) {
    free(block);
}

/* Holds blocks at addresses that are remembered for other slots until malloc gives one that is not. */
static void *malloc_block_for(const kolk_debug *debug, uint32_t slot) {
    void *held[REMEMBERED], *block;
    uint32_t other;
    unsigned n = 0;
    while ((block = malloc_block(&debug->desc)) && (other = kolk_debug_recall(debug, block)) != NO_SLOT &&
           other != slot && n < REMEMBERED)
        held[n++] = block;
    while (n > 0) free_block(held[--n]);
    return block;
}

void *kolk_debug_take_block(kolk_debug *debug, uint32_t slot) {
    KOLK_ASSERT(slot < debug->desc.max_capacity);
    bool renews = debug->objects[slot] != 0;
    if (renews && debug->desc.persistent) return kolk_debug_object(debug, slot);
    void *object = malloc_block_for(debug, slot);
    if (!object) return NULL;
    if (renews) unlink_object(debug, slot);
    debug->lives[slot].walked = false;
    link_object(debug, slot, object);
    return object;
}

void kolk_debug_give_block(kolk_debug *debug, uint32_t slot, void *object) {
    if (debug->desc.persistent) return;
    KOLK_ASSERT(object == kolk_debug_object(debug, slot));
    kolk_debug_leave_walks(debug, slot, object);
    free_block(object);
}

void kolk_debug_drop_blocks(kolk_debug *debug, uint32_t from, uint32_t end) {
    if (!kolk_debug_has(debug, KOLK_DEBUG_BYPASS) || !debug->desc.persistent) return;
    KOLK_ASSERT(end <= debug->desc.max_capacity);
    for (uint32_t slot = from; slot < end; slot++) {
        if (!debug->objects[slot]) continue;
        unlink_object(debug, slot);
        free_block(kolk_debug_object(debug, slot));
        debug->objects[slot] = 0;
    }
}

#endif
