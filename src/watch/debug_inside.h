/* debug_inside.h: declarations that the files of the debug mode share. debug.c has the essay, the block, lives and
 * leaks; debug_fill.c has the red zones and fills; debug_bypass.c has the objects from malloc. Each calls only files
 * that come later in this list. */
#ifndef KOLK_SRC_DEBUG_INSIDE_H
#define KOLK_SRC_DEBUG_INSIDE_H

#include "../base/assert.h"
#include "debug.h"
#include "../core/fail.h"

#define NO_SLOT UINT32_MAX

/* The record of a slot and its last life. In a slot map, whose objects change places, `provable` refers to the
 * place. */
typedef struct life {
    kolk_kept_site_ alloc_site, free_site;
    size_t birth;  /* this is the pool's n-th life */
    uint32_t next; /* bypass: the next slot in the same list of heads[], plus 1; 0 ends the list */
    bool alive;    /* alive, and not yet reported as a leak; atomic */
    bool provable;
} life;

static inline bool kolk_debug_has_(const kolk_debug *debug, uint32_t flag) {
    return debug->desc.settings.flags & flag;
}

/* With bypass, the object of a slot that has one. */
static inline void *kolk_debug_object_(const kolk_debug *debug, uint32_t slot) {
    KOLK_ASSERT_(debug->objects[slot]);
    return (void *)~debug->objects[slot];
}

/* ---- debug_bypass.c ---------------------------------------------------------------------------------------------- */

/* Returns a block for this slot's next life: the one that it has kept, or else a new one; NULL if malloc fails. */
void *kolk_debug_take_block_(kolk_debug *debug, uint32_t slot);

/* Frees the block of an object whose life is over and that nobody reads any more. */
void kolk_debug_give_block_(kolk_debug *debug, uint32_t slot, void *object);

/* Frees the blocks that were kept for these dead slots, and forgets them. */
void kolk_debug_drop_blocks_(kolk_debug *debug, uint32_t from, uint32_t end);

#endif
