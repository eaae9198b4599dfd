/* SPDX-License-Identifier: Zlib */
/* kolk/shared.inl: the fast paths of shared.h. With -DKOLK_EXTERN they are left out, and calls go to the library, where
 * each function is emitted once.
 *
 * The functions that end in _sized take the stride as an argument: see pool.inl. Only the thread that holds a slot
 * changes the slot's life, and only the owner of a magazine moves its top. Other threads may read both at any moment.
 * So both are accessed by atomic loads and stores, which compile to plain instructions.
 *
 * A local that is all zero has no lives, so the first test sends it to the slow path. The same test catches a local of
 * a pool without handles, whose lives are bytes: its fast paths are in shared.c. */
#ifndef KOLK_SHARED_INL
#define KOLK_SHARED_INL

#include "base.inl"

#ifdef __cplusplus
extern "C" {
#endif
KOLK_BODIES_BEGIN_

KOLK_INLINE_ uint32_t *kolk_magazine_entry_(kolk_magazine_ *magazine, uint32_t n) {
    return (uint32_t *)(void *)(magazine + 1) + n;
}

KOLK_INLINE_USES_(1) void *kolk_shared_alloc_sized_(kolk_shared_local *local, size_t stride) {
    uint32_t *lives = local->lives;
    if (KOLK_UNLIKELY_(!lives)) return kolk_shared_alloc_short_(local);
    kolk_magazine_ *magazine = local->magazine;
    uint32_t top = magazine->top;
    if (KOLK_UNLIKELY_(top == 0)) return kolk_shared_alloc_slow_(local);
    KOLK_SET_(&magazine->top, --top);
    size_t index = *kolk_magazine_entry_(magazine, top);
    KOLK_SET_(&lives[index], KOLK_SEEN_(&lives[index]) + 1);
    return magazine->slots + index * stride;
}

KOLK_INLINE_ void *kolk_shared_alloc(kolk_shared_local *local) {
    return kolk_shared_alloc_sized_(local, local->lives ? local->magazine->stride : 0);
}

/* The two halves of an alloc: see kolk_shared_take_slow_. */
KOLK_INLINE_ void *kolk_shared_take_sized_(kolk_shared_local *local, size_t stride, uint32_t **life) {
    uint32_t *lives = local->lives;
    kolk_deadline now = {0}; /* KOLK_NOW is static, this function is not */
    *life = NULL;
    if (KOLK_UNLIKELY_(!lives)) return kolk_shared_take_slow_(local, now);
    kolk_magazine_ *magazine = local->magazine;
    uint32_t top = magazine->top;
    if (KOLK_UNLIKELY_(top == 0)) return kolk_shared_take_slow_(local, now);
    KOLK_SET_(&magazine->top, --top);
    size_t index = *kolk_magazine_entry_(magazine, top);
    *life = &lives[index];
    return magazine->slots + index * stride;
}

KOLK_INLINE_ void kolk_shared_begin_(kolk_shared_local *local, void *object, uint32_t *life) {
    if (KOLK_UNLIKELY_(!life))
        kolk_shared_begin_slow_(local, object);
    else
        KOLK_PUBLISH_(life, KOLK_SEEN_(life) + 1); /* partner: kolk_store_next_alive_ */
}

/* Frees the object in slot `index`, if that is a slot. */
KOLK_INLINE_ void kolk_shared_free_slot_(kolk_shared_local *local, void *object, uintptr_t index) {
    kolk_magazine_ *magazine = local->magazine;
    uint32_t top = magazine->top;
    if (KOLK_UNLIKELY_(index >= KOLK_SEEN_(&magazine->bound) || top == magazine->cache)) {
        kolk_shared_free_slow_(local, object);
        return;
    }
    uint32_t *lives = local->lives, life = KOLK_SEEN_(&lives[index]);
    if (KOLK_UNLIKELY_(!(life & 1))) {
        kolk_shared_free_slow_(local, object);
        return;
    }
    KOLK_SET_(&lives[index], life + 1);
    *kolk_magazine_entry_(magazine, top) = (uint32_t)index;
    KOLK_PUBLISH_(&magazine->top, top + 1); /* so that a fork's child finds all of it */
}

KOLK_INLINE_ void kolk_shared_free(kolk_shared_local *local, void *object) {
    if (KOLK_UNLIKELY_(!local->lives)) {
        kolk_shared_free_short_(local, object);
        return;
    }
    const kolk_magazine_ *magazine = local->magazine;
    uintptr_t offset = (uintptr_t)object - (uintptr_t)magazine->slots;
    kolk_shared_free_slot_(local, object, kolk_exact_slot_(offset, magazine->shift, magazine->inverse));
}

KOLK_FOLDED_INLINE_ void kolk_shared_free_sized_(kolk_shared_local *local, void *object, size_t stride) {
    if (KOLK_UNLIKELY_(!local->lives)) {
        kolk_shared_free_short_(local, object);
        return;
    }
    unsigned shift = KOLK_FOLDED_LOWEST_BIT_(stride);
    uintptr_t offset = (uintptr_t)object - (uintptr_t)local->magazine->slots;
    kolk_shared_free_slot_(local, object, kolk_exact_slot_(offset, shift, kolk_inverse_(stride >> shift)));
}

/* A generation is the number of a life, which is odd while it lasts. */
KOLK_INLINE_ void *kolk_shared_get_sized_(const kolk_shared *pool, kolk_handle handle, size_t stride) {
    uint32_t generation = (uint32_t)(handle.bits >> 32);
    size_t index = (uint32_t)handle.bits ^ pool->tag;
    if (index < KOLK_SEEN_(&pool->bound) && (generation & 1) && pool->lives &&
        KOLK_SEEN_(&pool->lives[index]) == generation)
        return pool->slots + index * stride;
    return kolk_shared_get_slow_(pool, handle);
}

KOLK_INLINE_ void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle) {
    return kolk_shared_get_sized_(pool, handle, pool->stride);
}

KOLK_BODIES_END_
#ifdef __cplusplus
}
#endif
#endif
