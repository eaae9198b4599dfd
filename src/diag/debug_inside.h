/* debug_inside.h: what the files of the debug mode share. debug.c has the essay, the block, lives and leaks,
 * debug_fill.c the red zones and fills, debug_bypass.c the objects from malloc, debug_walk.c the walks over these: each
 * calls only those behind it. */
#ifndef KOLK_SRC_DEBUG_INSIDE_H
#define KOLK_SRC_DEBUG_INSIDE_H

#include "../core/assert.h"
#include "debug.h"
#include "stacks.h"

#define NO_SLOT    UINT32_MAX
#define REMEMBERED 64u /* freed objects that a walk came to; pool.h, shared.h and docs/debugging.md say this number */

/* What is known of a slot and its last life. In a slot map, whose objects change places, `provable` is of the place. */
typedef struct life {
    kolk_kept_site alloc_site, free_site;
    size_t birth;  /* the n-th of the pool */
    uint32_t next; /* bypass: slot in the same list of heads[], + 1 */
    bool alive;    /* and not listed as a leak yet */
    bool provable;
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

static inline bool kolk_debug_has(const kolk_debug *debug, uint32_t flag) {
    return debug->desc.settings.flags & flag;
}

/* Bypass: the object of a slot that has one. */
static inline void *kolk_debug_object(const kolk_debug *debug, uint32_t slot) {
    KOLK_ASSERT(debug->objects[slot]);
    return (void *)~debug->objects[slot];
}

/* ---- debug_walk.c ------------------------------------------------------------------------------------------------ */

/* The slot that this freed object was in, or NO_SLOT: no walk came to it, or too many others were freed since. */
uint32_t kolk_debug_recall(const kolk_debug *debug, const void *object);

/* The object of this slot is about to be freed. */
void kolk_debug_leave_walks(kolk_debug *debug, uint32_t slot, const void *object);

/* ---- debug_bypass.c ---------------------------------------------------------------------------------------------- */

/* A block for this slot's next life: its own if it has kept one. NULL: malloc has none. */
void *kolk_debug_take_block(kolk_debug *debug, uint32_t slot);

/* The object's life is over, and it is read no more. */
void kolk_debug_give_block(kolk_debug *debug, uint32_t slot, void *object);

/* Frees the blocks that were kept for these dead slots, and forgets them. */
void kolk_debug_drop_blocks(kolk_debug *debug, uint32_t from, uint32_t end);

#endif
