/* SPDX-License-Identifier: Zlib */
/* kolk/bytemap.inl: the fast paths of bytemap.h. With -DKOLK_EXTERN they are left out, and calls go to the library,
 * where each function is emitted once.
 *
 * `new` and `delete` compare with `bound`. In an attached pool, `bound` is 0 to send them to the slow path, because the
 * cursor may be the owner's, or the arrays may be read-only. */
#ifndef KOLK_BYTEMAP_INL
#define KOLK_BYTEMAP_INL

#include "base.inl"

#ifdef __cplusplus
extern "C" {
#endif
KOLK_BODIES_BEGIN_

/* The slot behind the cursor is usually free. The slow path records a new peak. */
KOLK_INLINE_ void *kolk_bytemap_new(kolk_bytemap *pool) {
    uint32_t index = (uint32_t)pool->first_free + 1;
    if (KOLK_UNLIKELY_(index >= pool->bound || pool->used == pool->peak)) return kolk_bytemap_new_slow_(pool);
    uint32_t byte = pool->byte_map[index];
    if (KOLK_UNLIKELY_(!(byte & KOLK_BYTEMAP_FREE))) return kolk_bytemap_new_slow_(pool);
    pool->byte_map[index] = (uint8_t)((byte + 1) & ~KOLK_BYTEMAP_FREE);
    pool->first_free = (int32_t)index;
    pool->used++;
    return pool->object_list + index * pool->object_size;
}

KOLK_INLINE_ void kolk_bytemap_delete(kolk_bytemap *pool, void *object) {
    uintptr_t offset = (uintptr_t)object - (uintptr_t)pool->object_list;
    uintptr_t index = kolk_exact_slot_(offset, pool->shift, pool->inverse);
    if (KOLK_UNLIKELY_(index >= pool->bound || (pool->byte_map[index] & KOLK_BYTEMAP_FREE))) {
        kolk_bytemap_delete_slow_(pool, object);
        return;
    }
    pool->byte_map[index] |= KOLK_BYTEMAP_FREE;
    pool->used--;
    if ((int32_t)index < pool->first_free) pool->first_free = (int32_t)index;
}

/* A negative handle's index is 2^23 or more, so it is above every count. */
KOLK_INLINE_ void *kolk_bytemap_get_at(const kolk_bytemap *pool, int32_t handle) {
    uint32_t index = (uint32_t)handle >> 8, byte = (uint32_t)handle & 0xff;
    if (index >= (uint32_t)pool->count || (byte & KOLK_BYTEMAP_FREE) || pool->byte_map[index] != byte) return NULL;
    return pool->object_list + index * pool->object_size;
}

KOLK_INLINE_ void *kolk_bytemap_get_slot(const kolk_bytemap *pool, int32_t index) {
    uint32_t slot = (uint32_t)index;
    if (slot >= (uint32_t)pool->count || (pool->byte_map[slot] & KOLK_BYTEMAP_FREE)) return NULL;
    return pool->object_list + slot * pool->object_size;
}

KOLK_BODIES_END_
#ifdef __cplusplus
}
#endif
#endif
