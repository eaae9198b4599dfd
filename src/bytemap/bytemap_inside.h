/* bytemap_inside.h: declarations that the files of the byte map share. bytemap.c has the essay. */
#ifndef KOLK_SRC_BYTEMAP_INSIDE_H
#define KOLK_SRC_BYTEMAP_INSIDE_H

#undef KOLK_EXTERN /* bytemap.c emits the functions of bytemap.inl, even if the program defines KOLK_EXTERN */
#include "kolk/bytemap.h"

#include "../base/assert.h"
#include "../core/watch.h"

static inline bool is_free_byte(uint8_t byte) {
    return byte & KOLK_BYTEMAP_FREE;
}

static inline void *bytemap_slot_at(const kolk_bytemap *pool, uint32_t index) {
    KOLK_ASSERT_(index < (uint32_t)pool->count);
    return pool->object_list + index * pool->object_size;
}

/* The pool's debug mode; NULL if it is off. */
static inline kolk_debug *bytemap_debug_of(const kolk_bytemap *pool) {
    return kolk_debug_of_(pool->debug);
}

/* ---- bytemap_debug.c -------------------------------------------------------------------------------------------- */

/* The pool's part of a failure. `slot` may be KOLK_NO_SLOT_. */
kolk_failure kolk_bytemap_failure_(const kolk_bytemap *pool, kolk_status rule, uint32_t slot, const void *site);

/* Allocates the debug mode that the settings request, if any, for a pool whose arrays are described. Returns false if
 * there is no memory. */
bool kolk_bytemap_begin_debug_(kolk_bytemap *pool, kolk_settings_ settings);

/* Does the debug mode know what is in this slot? If not, the game has used the slot by itself. */
static inline bool kolk_bytemap_knows_(const kolk_bytemap *pool, uint32_t index) {
    return pool->known[index] == pool->byte_map[index];
}

/* Must be called before the bytes of these slots change, or their lives are reported: forgets what the game has
 * changed, and verifies the fills of the free slots. */
void kolk_bytemap_verify_(kolk_bytemap *pool, uint32_t from, uint32_t end, const void *site);

/* A life has begun in this slot, whose byte is written; the slots' lives end, before their bytes are written. */
void kolk_bytemap_born_(kolk_bytemap *pool, uint32_t index, const void *site);
void kolk_bytemap_dies_(kolk_bytemap *pool, uint32_t from, uint32_t end, const void *site);

/* Follows set_byte, before the byte is written. */
void kolk_bytemap_note_byte_(kolk_bytemap *pool, uint32_t index, uint8_t byte, const void *site);

#endif
