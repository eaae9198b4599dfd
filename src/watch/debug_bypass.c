/* debug_bypass.c: objects that are malloc blocks, one for each life, for tools that watch malloc.
 *
 * The pool keeps its states and its order of reuse, but looks objects up here: by slot in objects[], by
 * pointer in lists that begin in heads[]. A dead object stays in its list until its slot is used again, so that a
 * double free is not mistaken for a foreign pointer.
 *
 * Another thread may fork at any moment. The order of the stores here ensures that in the child each list has an end,
 * and each slot is in at most one list. */
#include "../os/system.h"

#include "debug_inside.h"

#if KOLK_HOSTED

#include "../base/atomics.h"
#include "../os/memory.h"

#include <stdlib.h>

/* ---- The lists --------------------------------------------------------------------------------------------------- */

/* Returns the head of the object's list. The hash multiplies by the golden ratio (Knuth, The Art of Computer
 * Programming 3, 6.4). */
static uint32_t *head_of(const kolk_debug *debug, const void *object) {
    KOLK_ASSERT_(debug->desc.max_capacity > 0);
    uint64_t mixed = (uint64_t)((uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15);
    return &debug->heads[(mixed >> 32) % debug->desc.max_capacity];
}

/* If several slots have had this object, finds the latest one, because it is nearest to the head of the list. */
static uint32_t find_exact(const kolk_debug *debug, const void *object) {
    if (!object || debug->desc.max_capacity == 0) return NO_SLOT;
    uint32_t link = *head_of(debug, object);
    while (link && debug->objects[link - 1] != ~(uintptr_t)object) link = debug->lives[link - 1].next;
    return link ? link - 1 : NO_SLOT;
}

uint32_t kolk_debug_find_(const kolk_debug *debug, const void *pointer, uint32_t end, uint64_t *inside) {
    KOLK_ASSERT_(debug->objects);
    KOLK_ASSERT_(end <= debug->desc.max_capacity && (inside || end == 0));
    uint32_t exact = find_exact(debug, pointer);
    if (inside) *inside = 0;
    if (exact != NO_SLOT) return exact;
    for (uint32_t slot = 0; slot < end; slot++) {
        *inside = (uintptr_t)pointer - ~debug->objects[slot];
        bool may_be = debug->objects[slot] && *inside < debug->desc.object_size;
        if (may_be && find_exact(debug, kolk_debug_object_(debug, slot)) == slot) return slot;
    }
    return NO_SLOT;
}

/* In a fork's child the slot may be in no list, if another thread was giving it a new object at the moment of the
 * fork. */
static void unlink_object(kolk_debug *debug, uint32_t slot) {
    uint32_t *link = head_of(debug, kolk_debug_object_(debug, slot));
    while (*link && *link != slot + 1) link = &debug->lives[*link - 1].next;
    if (*link) kolk_store_(link, debug->lives[slot].next, KOLK_RELEASE_);
}

/* Due to the order of these stores, a fork's child finds either the list without the slot, or the slot with the whole
 * list behind it. */
static void link_object(kolk_debug *debug, uint32_t slot, const void *object) {
    KOLK_ASSERT_(object);
    uint32_t *head = head_of(debug, object);
    kolk_store_(&debug->objects[slot], ~(uintptr_t)object, KOLK_RELEASE_);
    kolk_store_(&debug->lives[slot].next, *head, KOLK_RELEASE_);
    kolk_store_(head, slot + 1, KOLK_RELEASE_);
}

/* ---- The blocks -------------------------------------------------------------------------------------------------- */

static void *malloc_block(const kolk_debug_desc_ *desc) {
#ifndef _WIN32 /* on Windows, over-aligned pools never use bypass */
    void *block = NULL;
    if (desc->object_align > KOLK_MALLOC_ALIGN_)
        return posix_memalign(&block, desc->object_align, desc->object_size) == 0 ? block : NULL;
#endif
    return malloc(desc->object_size);
}

static void free_block(void *block) {
    free(block);
}

void *kolk_debug_take_block_(kolk_debug *debug, uint32_t slot) {
    KOLK_ASSERT_(slot < debug->desc.max_capacity);
    bool renews = debug->objects[slot] != 0;
    if (renews && debug->desc.persistent) return kolk_debug_object_(debug, slot);
    void *object = malloc_block(&debug->desc);
    if (!object) return NULL;
    if (renews) unlink_object(debug, slot);
    link_object(debug, slot, object);
    return object;
}

void kolk_debug_give_block_(kolk_debug *debug, uint32_t slot, void *object) {
    if (debug->desc.persistent) return;
    KOLK_ASSERT_(object == kolk_debug_object_(debug, slot));
    free_block(object);
}

void kolk_debug_drop_blocks_(kolk_debug *debug, uint32_t from, uint32_t end) {
    if (!kolk_debug_has_(debug, KOLK_DEBUG_BYPASS) || !debug->desc.persistent) return;
    KOLK_ASSERT_(end <= debug->desc.max_capacity);
    for (uint32_t slot = from; slot < end; slot++) {
        if (!debug->objects[slot]) continue;
        unlink_object(debug, slot);
        free_block(kolk_debug_object_(debug, slot));
        debug->objects[slot] = 0;
    }
}

#endif
