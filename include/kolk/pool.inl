/* SPDX-License-Identifier: Zlib */
/* kolk/pool.inl: the fast paths of pool.h. With -DKOLK_EXTERN they are left out, and calls go to the library, where
 * each function is emitted once. This is for other languages, and for gcc's -fanalyzer.
 *
 * The functions that end in _sized take the stride as an argument. A typed pool's stride is its type's size, so typed.h
 * passes a constant, and the division below folds into a shift and a multiplication by constants. */
#ifndef KOLK_POOL_INL
#define KOLK_POOL_INL

#include "base.inl"

#ifdef __cplusplus
extern "C" {
#endif
KOLK_BODIES_BEGIN_

KOLK_INLINE_ uintptr_t kolk_pool_slot_(const kolk_pool *pool, const void *object) {
    return kolk_exact_slot_((uintptr_t)object - (uintptr_t)pool->slots, pool->shift, pool->inverse);
}

KOLK_FOLDED_INLINE_ uintptr_t kolk_pool_slot_sized_(const kolk_pool *pool, const void *object, size_t stride) {
    unsigned shift = KOLK_FOLDED_LOWEST_BIT_(stride);
    return kolk_exact_slot_((uintptr_t)object - (uintptr_t)pool->slots, shift, kolk_inverse_(stride >> shift));
}

KOLK_INLINE_ bool kolk_pool_bit_(const uint64_t *words, uintptr_t index) {
    return words[index / 64] >> (index % 64) & 1;
}

KOLK_INLINE_ void *kolk_pool_alloc_sized_(kolk_pool *pool, size_t stride) {
    kolk_slot_ *top = pool->top;
    if (KOLK_UNLIKELY_((uintptr_t)top <= (uintptr_t)pool->floor)) return kolk_pool_alloc_slow_(pool);
    pool->top = --top;
    size_t index = top->index;
    pool->live[index / 64] |= UINT64_C(1) << (index % 64);
    return pool->slots + index * stride;
}

KOLK_INLINE_ void *kolk_pool_alloc(kolk_pool *pool) {
    return kolk_pool_alloc_sized_(pool, pool->stride);
}

/* The second half of a free: gives back a slot whose life has ended. */
KOLK_INLINE_ void kolk_pool_push_slot_(kolk_pool *pool, uintptr_t index) {
    kolk_slot_ *top = pool->top;
    top->index = (uint32_t)index;
    pool->top = top + 1;
}

/* Frees the object in slot `index`, if that is a slot below the bound; otherwise the slow path does, or reports it. If
 * this returns true, the caller still has to call kolk_pool_push_slot_: with it, kolk.hpp runs a destructor in
 * between. */
KOLK_FOLDED_INLINE_ bool kolk_pool_end_slot_(kolk_pool *pool, void *object, uintptr_t index, uint32_t bound) {
    if (KOLK_UNLIKELY_(index >= bound)) {
        kolk_pool_free_slow_(pool, object);
        return false;
    }
    uint64_t word = pool->live[index / 64];
    uint64_t bit = UINT64_C(1) << (index % 64);
#if KOLK_CHECKS
    if (KOLK_UNLIKELY_(!(word & bit))) {
        kolk_pool_free_slow_(pool, object);
        return false;
    }
#endif
    if (pool->generations) {
        uint32_t generation = (pool->generations[index] + 1) & KOLK_GENERATION_MAX;
        if (KOLK_UNLIKELY_(generation == 0)) {
            kolk_pool_free_slow_(pool, object);
            return false;
        }
        pool->generations[index] = generation;
    }
    pool->live[index / 64] = word ^ bit;
    return true;
}

KOLK_INLINE_ void kolk_pool_free_slot_(kolk_pool *pool, void *object, uintptr_t index) {
    if (kolk_pool_end_slot_(pool, object, index, pool->free_bound)) kolk_pool_push_slot_(pool, index);
}

KOLK_INLINE_ void kolk_pool_free(kolk_pool *pool, void *object) {
    kolk_pool_free_slot_(pool, object, kolk_pool_slot_(pool, object));
}

KOLK_FOLDED_INLINE_ void kolk_pool_free_sized_(kolk_pool *pool, void *object, size_t stride) {
    kolk_pool_free_slot_(pool, object, kolk_pool_slot_sized_(pool, object, stride));
}

KOLK_INLINE_ bool kolk_pool_is_live(const kolk_pool *pool, const void *object) {
    uintptr_t index = kolk_pool_slot_(pool, object);
    if (KOLK_UNLIKELY_(index >= pool->bound)) return kolk_pool_is_live_slow_(pool, object);
    return kolk_pool_bit_(pool->live, index);
}

KOLK_INLINE_ uint32_t kolk_pool_index(const kolk_pool *pool, const void *object) {
    uintptr_t index = kolk_pool_slot_(pool, object);
    if (KOLK_UNLIKELY_(index >= pool->bound || !kolk_pool_bit_(pool->live, index)))
        return kolk_pool_index_slow_(pool, object);
    return (uint32_t)index;
}

KOLK_INLINE_ void *kolk_pool_at(const kolk_pool *pool, uint32_t index) {
    if (KOLK_UNLIKELY_(index >= pool->bound)) return kolk_pool_at_slow_(pool, index);
    return kolk_pool_bit_(pool->live, index) ? pool->slots + (size_t)index * pool->stride : NULL;
}

KOLK_INLINE_ kolk_handle kolk_pool_handle_of(const kolk_pool *pool, const void *object) {
    uintptr_t index = kolk_pool_slot_(pool, object);
    if (KOLK_UNLIKELY_(index >= pool->bound || !pool->generations || !kolk_pool_bit_(pool->live, index)))
        return kolk_pool_handle_slow_(pool, object);
    return kolk_handle_make_(pool->generations[index], (uint32_t)index, pool->tag);
}

KOLK_INLINE_ void *kolk_pool_get_sized_(const kolk_pool *pool, kolk_handle handle, size_t stride) {
    size_t index = kolk_handle_index_(handle, pool->tag);
    if (index < pool->bound && pool->generations && pool->generations[index] == kolk_handle_generation_(handle) &&
        kolk_pool_bit_(pool->live, index))
        return pool->slots + index * stride;
    return kolk_pool_get_slow_(pool, handle);
}

KOLK_INLINE_ void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle) {
    return kolk_pool_get_sized_(pool, handle, pool->stride);
}

KOLK_INLINE_ uint32_t kolk_pool_count(const kolk_pool *pool) {
    return pool->fresh - (uint32_t)(pool->top - pool->stack) - pool->held;
}

KOLK_INLINE_ uint32_t kolk_pool_available(const kolk_pool *pool) {
    return pool->capacity - kolk_pool_count(pool) -
           (pool->desc.generations == KOLK_GENERATIONS_STRICT ? pool->worn.count : 0);
}

/* The slots behind `fresh` need no mask, because their bits are 0. */
KOLK_FOLDED_INLINE_ kolk_cursor kolk_pool_each_in(const kolk_pool *pool, uint32_t first, uint32_t n) {
    uint32_t end = n < UINT32_MAX - first ? first + n : UINT32_MAX;
    kolk_cursor cursor = {pool->live, pool->live, pool->slots, 0, 0, pool->stride, n > 0 && first < pool->fresh,
                          NULL,       first,      end};
    if (KOLK_UNLIKELY_(pool->debug_flags & (KOLK_DEBUG_GUARD | KOLK_DEBUG_BYPASS))) {
        cursor.apart = pool;
    } else if (cursor.more) {
        size_t begin = first / 64, last = end / 64;
        cursor.word += begin;
        cursor.base += begin * 64 * pool->stride;
        cursor.pending = *cursor.word & (~UINT64_C(0) << first % 64);
        if (end >= pool->fresh) {
            last = (pool->fresh - 1) / 64;
        } else if (begin == last) {
            cursor.pending &= ~(~UINT64_C(0) << end % 64);
        } else {
            cursor.tail = ~(~UINT64_C(0) << end % 64);
            last--;
        }
        cursor.last += last;
    }
    return cursor;
}

KOLK_INLINE_ kolk_cursor kolk_pool_each(const kolk_pool *pool) {
    return kolk_pool_each_in(pool, 0, UINT32_MAX);
}

/* Returns the object of a slot in a bypassed pool, whose objects come from malloc. */
KOLK_INLINE_ void *kolk_pool_bypassed_(const kolk_pool *pool, uintptr_t index) {
    return (void *)~pool->objects[index];
}

/* Inline, because a call in a loop would keep floating-point sums out of registers. */
KOLK_INLINE_ void *kolk_cursor_apart_(kolk_cursor *cursor) {
    const kolk_pool *pool = cursor->apart;
    while (cursor->from < cursor->end && cursor->from < pool->fresh) {
        uint32_t index = cursor->from++;
        if (kolk_pool_bit_(pool->live, index))
            return pool->objects ? kolk_pool_bypassed_(pool, index) : pool->slots + (size_t)index * pool->stride;
    }
    return NULL;
}

/* Returns `pending` of the next word in which it is not 0, or 0 at the end. */
KOLK_INLINE_ uint64_t kolk_cursor_pending_(kolk_cursor *cursor) {
    uint64_t pending = cursor->pending;
    while (KOLK_UNLIKELY_(pending == 0)) {
        if (cursor->word != cursor->last) {
            pending = *++cursor->word;
        } else if (cursor->tail) {
            pending = *++cursor->word & cursor->tail;
            cursor->last = cursor->word;
            cursor->tail = 0;
        } else {
            return 0;
        }
        cursor->base += 64 * cursor->stride;
    }
    return pending;
}

/* Each step reads the word again, since the loop's body may have freed the object. The word must not be masked into
 * `pending`, because each step would then wait for the body's stores. */
KOLK_INLINE_ void *kolk_cursor_next(kolk_cursor *cursor) {
    uint64_t pending;
    while ((pending = kolk_cursor_pending_(cursor)) != 0) {
        cursor->pending = pending & (pending - 1);
        unsigned bit = KOLK_LOWEST_BIT_(pending);
        if (KOLK_UNLIKELY_(!(*cursor->word >> bit & 1))) continue;
        unsigned char *object = cursor->base + bit * cursor->stride;
        if (!object) KOLK_UNREACHABLE_(); /* so that the loop needs no test for NULL */
        return object;
    }
    return KOLK_UNLIKELY_(cursor->apart != NULL) ? kolk_cursor_apart_(cursor) : NULL;
}

/* Adding a run's lowest bit carries to the first bit behind the run. So one addition removes the whole run from
 * `pending`, which is all that the next call waits for. If the loop's body has freed one of the run's objects, looks
 * again. */
KOLK_INLINE_ void *kolk_cursor_next_run(kolk_cursor *cursor, uint32_t *length) {
    uint64_t pending;
    while ((pending = kolk_cursor_pending_(cursor)) != 0) {
        uint64_t behind = pending + (pending & (~pending + 1)), word = *cursor->word;
        cursor->pending = pending & behind;
        if (KOLK_UNLIKELY_((pending ^ cursor->pending) & ~word)) {
            cursor->pending = pending & word;
            continue;
        }
        unsigned first = KOLK_LOWEST_BIT_(pending), end = behind ? KOLK_LOWEST_BIT_(behind) : 64;
        *length = end - first;
        unsigned char *objects = cursor->base + first * cursor->stride;
        if (!objects || *length == 0) KOLK_UNREACHABLE_(); /* so that the loops need no tests */
        return objects;
    }
    void *object = KOLK_UNLIKELY_(cursor->apart != NULL) ? kolk_cursor_apart_(cursor) : NULL;
    *length = object != NULL;
    return object;
}

KOLK_BODIES_END_
#ifdef __cplusplus
}
#endif
#endif
