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
    unsigned shift = (unsigned)__builtin_ctzll((unsigned long long)stride);
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

/* Frees the object in slot `index`, if that is a slot. */
KOLK_INLINE_ void kolk_pool_free_slot_(kolk_pool *pool, void *object, uintptr_t index) {
    if (KOLK_UNLIKELY_(index >= pool->free_bound)) {
        kolk_pool_free_slow_(pool, object);
        return;
    }
    uint64_t word = pool->live[index / 64];
    uint64_t bit = UINT64_C(1) << (index % 64);
#if KOLK_CHECKS
    if (KOLK_UNLIKELY_(!(word & bit))) {
        kolk_pool_free_slow_(pool, object);
        return;
    }
#endif
    if (pool->generations) {
        uint32_t generation = (pool->generations[index] + 1) & KOLK_GENERATION_MAX;
        if (KOLK_UNLIKELY_(generation == 0)) {
            kolk_pool_free_slow_(pool, object);
            return;
        }
        pool->generations[index] = generation;
    }
    pool->live[index / 64] = word ^ bit;
    kolk_slot_ *top = pool->top;
    top->index = (uint32_t)index;
    pool->top = top + 1;
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

KOLK_INLINE_ kolk_cursor kolk_pool_each(const kolk_pool *pool) {
    kolk_cursor cursor = {pool->live, pool->live, pool->slots, 0, pool->stride, pool->fresh > 0, NULL, 0};
    if (KOLK_UNLIKELY_(pool->objects != NULL)) {
        cursor.bypassed = pool;
    } else if (cursor.more) {
        cursor.pending = *cursor.word;
        cursor.last += (pool->fresh - 1) / 64;
    }
    return cursor;
}

/* Returns the object of a slot in a bypassed pool, whose objects come from malloc. */
KOLK_INLINE_ void *kolk_pool_bypassed_(const kolk_pool *pool, uintptr_t index) {
    return (void *)~pool->objects[index];
}

/* Inline, because a call in a loop would keep floating-point sums out of registers. */
KOLK_INLINE_ void *kolk_cursor_bypassed_(kolk_cursor *cursor) {
    const kolk_pool *pool = cursor->bypassed;
    while (cursor->from < pool->fresh) {
        uint32_t index = cursor->from++;
        if (kolk_pool_bit_(pool->live, index)) return kolk_pool_bypassed_(pool, index);
    }
    return NULL;
}

/* Each step reads the word again, since the loop's body may have freed the object. The word must not be masked into
 * `pending`, because each step would then wait for the body's stores. */
KOLK_INLINE_ void *kolk_cursor_next(kolk_cursor *cursor) {
    for (;;) {
        uint64_t pending = cursor->pending;
        while (KOLK_UNLIKELY_(pending == 0)) {
            if (cursor->word == cursor->last) {
                if (KOLK_UNLIKELY_(cursor->bypassed != NULL)) return kolk_cursor_bypassed_(cursor);
                return NULL;
            }
            pending = *++cursor->word;
            cursor->base += 64 * cursor->stride;
        }
        cursor->pending = pending & (pending - 1);
        unsigned bit = (unsigned)__builtin_ctzll(pending);
        if (KOLK_UNLIKELY_(!(*cursor->word >> bit & 1))) continue;
        unsigned char *object = cursor->base + bit * cursor->stride;
        if (!object) __builtin_unreachable(); /* so that the loop needs no test for NULL */
        return object;
    }
}

/* Adding a run's lowest bit carries to the first bit behind the run. There is no such bit if the run reaches the end of
 * the word, and then it may continue in the next one. So the two ends are found at the same time, and the next call
 * waits less for this one. */
KOLK_INLINE_ void *kolk_pool_next_run(const kolk_pool *pool, uint32_t *index, uint32_t *length) {
    uint64_t base = *index, end = base + *length, word = 0;
    if (end > pool->fresh) end = pool->fresh;
    while (base < end && (word = pool->live[base / 64] & (~UINT64_C(0) << base % 64)) == 0) base = (base | 63) + 1;
    base &= ~UINT64_C(63);
    uint64_t behind = word + (word & (~word + 1)), first = base + (word ? (unsigned)__builtin_ctzll(word) : 64);
    uint64_t stop = base + (behind ? (unsigned)__builtin_ctzll(behind) : 65);
    if (KOLK_UNLIKELY_(stop > end || stop > base + 64 || pool->debug_flags)) {
        if (first >= end) {
            *length = 0;
            return NULL;
        }
        stop = first + kolk_pool_length_of_run_(pool, (uint32_t)first, (uint32_t)end);
    }
    uint32_t start = (uint32_t)first;
    *index = start;
    *length = (uint32_t)(stop - first);
    if (KOLK_UNLIKELY_(pool->objects != NULL)) return kolk_pool_bypassed_(pool, start);
    return pool->slots + (size_t)start * pool->stride;
}

KOLK_BODIES_END_
#ifdef __cplusplus
}
#endif
#endif
