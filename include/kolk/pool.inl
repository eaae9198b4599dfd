/* SPDX-License-Identifier: Zlib */
/* kolk/pool.inl: the fast paths of pool.h. With -DKOLK_EXTERN they are left out, and calls go to the library, where
 * each function is emitted once. This is for other languages, and for gcc's -fanalyzer.
 *
 * The functions that end in _sized take the stride as an argument. A typed pool's stride is its type's size, so typed.h
 * passes a constant, and the division below folds into a shift and a multiplication by constants. Those that end in _in
 * also take the arrays, which are constants too for a static pool. */
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

KOLK_FOLDED_INLINE_ uintptr_t kolk_pool_slot_in_(const unsigned char *slots, const void *object, size_t stride) {
    unsigned shift = KOLK_FOLDED_LOWEST_BIT_(stride);
    return kolk_exact_slot_((uintptr_t)object - (uintptr_t)slots, shift, kolk_inverse_(stride >> shift));
}

KOLK_FOLDED_INLINE_ uintptr_t kolk_pool_slot_sized_(const kolk_pool *pool, const void *object, size_t stride) {
    return kolk_pool_slot_in_(pool->slots, object, stride);
}

/* A slot's byte has KOLK_ALIVE_ while an object lives in it. The other 7 bits are the low ones of its generation. Tests
 * may have fewer generations than 2^7: then these are the highest of the 7 bits. */
#define KOLK_ALIVE_  128u
#define KOLK_LOWS_   ((KOLK_GENERATION_MAX & 127u) + 1) /* how many low parts of generations there are: 2^7 */
#define KOLK_A_LIFE_ (128u / KOLK_LOWS_)                /* a life, in the byte: 1 */
#define KOLK_ENDS_   ((signed char)((int)(KOLK_ALIVE_ + KOLK_A_LIFE_) - 256)) /* what the end of a life adds to it */

/* The bits of a group. */
#if KOLK_GROUP == 64
#define KOLK_ALL_              (~UINT64_C(0))
#define KOLK_LOWEST_OF_(group) KOLK_LOWEST_BIT_(group)
#else
#define KOLK_ALL_              ((UINT32_C(1) << KOLK_GROUP) - 1)
#define KOLK_LOWEST_OF_(group) ((unsigned)__builtin_ctz(group))
#endif

KOLK_INLINE_ bool kolk_pool_lives_(const kolk_pool *pool, uintptr_t index) {
    return pool->states[index] & KOLK_ALIVE_;
}

KOLK_INLINE_ uint32_t kolk_pool_generation_(const kolk_pool *pool, uintptr_t index) {
    return pool->high[index] * KOLK_LOWS_ + pool->states[index] % 128u / KOLK_A_LIFE_;
}

/* Is this the generation of the object that lives in the slot? Only pools with handles may ask. */
KOLK_INLINE_ bool kolk_pool_lives_as_(const uint8_t *states, const uint32_t *high, uintptr_t index,
                                      uint32_t generation) {
    return states[index] == (uint8_t)(KOLK_ALIVE_ | generation % KOLK_LOWS_ * KOLK_A_LIFE_) &&
           high[index] == generation / KOLK_LOWS_;
}

KOLK_FOLDED_INLINE_ void *kolk_pool_alloc_in_(kolk_pool *pool, unsigned char *slots, uint8_t *states, size_t stride) {
    kolk_slot_ *top = pool->top;
    if (KOLK_UNLIKELY_((uintptr_t)top <= (uintptr_t)pool->floor)) return kolk_pool_alloc_slow_(pool);
    pool->top = --top;
    size_t index = top->index;
    states[index] |= KOLK_ALIVE_;
    return slots + index * stride;
}

KOLK_INLINE_USES_(1) void *kolk_pool_alloc_sized_(kolk_pool *pool, size_t stride) {
    return kolk_pool_alloc_in_(pool, pool->slots, pool->states, stride);
}

KOLK_INLINE_ void *kolk_pool_alloc(kolk_pool *pool) {
    return kolk_pool_alloc_sized_(pool, pool->stride);
}

/* The second half of a free: gives back a slot whose life has ended. */
KOLK_INLINE_ void kolk_pool_push_slot_(kolk_pool *pool, uintptr_t index) {
    kolk_slot_ *top = pool->top;
    top->index = (kolk_index_)index;
    pool->top = top + 1;
}

/* Adds a negative number to a signed byte. Returns true if the sum overflows. Compilers make several instructions of
 * this, and x86 has one. ThreadSanitizer does not see what assembly writes.
 * NOLINTNEXTLINE(readability-non-const-parameter): it is written */
KOLK_FOLDED_INLINE_ bool kolk_add_overflows_(uint8_t *byte, signed char n) {
#if defined(__GCC_ASM_FLAG_OUTPUTS__) && (defined(__x86_64__) || defined(__i386__)) && !KOLK_TSAN_
    bool overflows;
    __asm__("add{b %2, %1| byte ptr %1, %2}" : "=@cco"(overflows), "+m"(*byte) : "qi"(n));
    return overflows;
#else
    int sum = (signed char)*byte + n;
    *byte = (uint8_t)sum;
    return sum < -128;
#endif
}

/* Ends the life in a slot: clears the flag, and adds 1 to the low part of the generation. Modulo 256 this is the
 * addition of a negative number, and overflows if and only if the byte, as a signed number, is below -KOLK_A_LIFE_.
 * Otherwise no object lives in the slot, or the low part ends with this life: then does nothing and returns false. */
KOLK_FOLDED_INLINE_ bool kolk_pool_end_life_(uint8_t *state) {
    bool ended = kolk_add_overflows_(state, KOLK_ENDS_);
    if (KOLK_UNLIKELY_(!ended)) *state = (uint8_t)(*state - KOLK_ENDS_);
    return ended;
}

/* Frees the object in slot `index`, if that is a slot below the bound; otherwise the slow path does, or reports it. If
 * this returns true, the caller still has to call kolk_pool_push_slot_: with it, kolk.hpp runs a destructor in
 * between. */
KOLK_FOLDED_INLINE_ bool kolk_pool_end_slot_(kolk_pool *pool, uint8_t *states, void *object, uintptr_t index,
                                             uint32_t bound) {
    if (KOLK_UNLIKELY_(index >= bound || !kolk_pool_end_life_(&states[index]))) {
        kolk_pool_free_slow_(pool, object);
        return false;
    }
    return true;
}

KOLK_FOLDED_INLINE_ void kolk_pool_free_slot_(kolk_pool *pool, uint8_t *states, void *object, uintptr_t index) {
    if (kolk_pool_end_slot_(pool, states, object, index, pool->free_bound)) kolk_pool_push_slot_(pool, index);
}

KOLK_INLINE_ void kolk_pool_free(kolk_pool *pool, void *object) {
    kolk_pool_free_slot_(pool, pool->states, object, kolk_pool_slot_(pool, object));
}

KOLK_FOLDED_INLINE_ void kolk_pool_free_in_(kolk_pool *pool, const unsigned char *slots, uint8_t *states, void *object,
                                            size_t stride) {
    kolk_pool_free_slot_(pool, states, object, kolk_pool_slot_in_(slots, object, stride));
}

KOLK_FOLDED_INLINE_ void kolk_pool_free_sized_(kolk_pool *pool, void *object, size_t stride) {
    kolk_pool_free_in_(pool, pool->slots, pool->states, object, stride);
}

/* Adding to the byte of a live slot ends a generation and begins the next one. Returns false, and does nothing, if no
 * object lives there, or if the low part of its generation ends with this life. */
KOLK_FOLDED_INLINE_ bool kolk_pool_begin_next_(kolk_pool *pool, uintptr_t index) {
    signed char state = (signed char)pool->states[index]; /* as in kolk_pool_end_life_ */
    if (KOLK_UNLIKELY_(state >= -(int)KOLK_A_LIFE_)) return false;
    pool->states[index] = (uint8_t)(state + (int)KOLK_A_LIFE_);
    return true;
}

/* A floor at the end of memory may mean an order that the object must enter anew; free_bound rules out all else that a
 * renewal has to do. */
KOLK_FOLDED_INLINE_ void *kolk_pool_renew_slot_(kolk_pool *pool, void *object, uintptr_t index) {
    if (KOLK_UNLIKELY_(index >= pool->free_bound || (uintptr_t)pool->floor == UINTPTR_MAX))
        return kolk_pool_renew_slow_(pool, object);
    return kolk_pool_begin_next_(pool, index) ? object : kolk_pool_renew_slow_(pool, object);
}

KOLK_INLINE_ void *kolk_pool_renew(kolk_pool *pool, void *object) {
    return kolk_pool_renew_slot_(pool, object, kolk_pool_slot_(pool, object));
}

KOLK_FOLDED_INLINE_ void *kolk_pool_renew_sized_(kolk_pool *pool, void *object, size_t stride) {
    return kolk_pool_renew_slot_(pool, object, kolk_pool_slot_sized_(pool, object, stride));
}

KOLK_INLINE_ bool kolk_pool_is_live(const kolk_pool *pool, const void *object) {
    uintptr_t index = kolk_pool_slot_(pool, object);
    if (KOLK_UNLIKELY_(index >= pool->bound)) return kolk_pool_is_live_slow_(pool, object);
    return kolk_pool_lives_(pool, index);
}

KOLK_INLINE_ uint32_t kolk_pool_index(const kolk_pool *pool, const void *object) {
    uintptr_t index = kolk_pool_slot_(pool, object);
    if (KOLK_UNLIKELY_(index >= pool->bound || !kolk_pool_lives_(pool, index)))
        return kolk_pool_index_slow_(pool, object);
    return (uint32_t)index;
}

KOLK_INLINE_ void *kolk_pool_at(const kolk_pool *pool, uint32_t index) {
    if (KOLK_UNLIKELY_(index >= pool->bound)) return kolk_pool_at_slow_(pool, index);
    return kolk_pool_lives_(pool, index) ? pool->slots + (size_t)index * pool->stride : NULL;
}

KOLK_INLINE_ kolk_handle kolk_pool_handle_of(const kolk_pool *pool, const void *object) {
    uintptr_t index = kolk_pool_slot_(pool, object);
    if (KOLK_UNLIKELY_(index >= pool->bound || !pool->high || !kolk_pool_lives_(pool, index)))
        return kolk_pool_handle_slow_(pool, object);
    return kolk_handle_make_(kolk_pool_generation_(pool, index), (uint32_t)index, pool->tag);
}

KOLK_FOLDED_INLINE_ void *kolk_pool_get_in_(const kolk_pool *pool, unsigned char *slots, const uint8_t *states,
                                            const uint32_t *high, kolk_handle handle, size_t stride) {
    size_t index = kolk_handle_index_(handle, pool->tag);
    if (index < pool->bound && high && kolk_pool_lives_as_(states, high, index, kolk_handle_generation_(handle)))
        return slots + index * stride;
    return kolk_pool_get_slow_(pool, handle);
}

KOLK_INLINE_ void *kolk_pool_get_sized_(const kolk_pool *pool, kolk_handle handle, size_t stride) {
    return kolk_pool_get_in_(pool, pool->slots, pool->states, pool->high, handle, stride);
}

KOLK_INLINE_ void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle) {
    return kolk_pool_get_sized_(pool, handle, pool->stride);
}

KOLK_INLINE_ uint32_t kolk_pool_count(const kolk_pool *pool) {
    return pool->fresh - (uint32_t)(pool->top - pool->stack) - pool->aside;
}

KOLK_INLINE_ uint32_t kolk_pool_available(const kolk_pool *pool) {
    return pool->capacity - kolk_pool_count(pool) -
           (pool->generations == KOLK_GENERATIONS_STRICT ? pool->worn.count : 0);
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

/* A bit for each slot of a group, set if an object lives there. Without an instruction for that, a multiplication moves
 * the highest bits of 8 or 4 bytes to the top. */
KOLK_FOLDED_INLINE_ kolk_group_ kolk_pool_mask_(const uint8_t *states) {
#if defined(KOLK_HIGH_BITS_) && KOLK_GROUP == 64
    return KOLK_HIGH_BITS_(states) | (uint64_t)KOLK_HIGH_BITS_(states + 16) << 16 |
           (uint64_t)KOLK_HIGH_BITS_(states + 32) << 32 | (uint64_t)KOLK_HIGH_BITS_(states + 48) << 48;
#elif KOLK_GROUP == 64 && UINTPTR_MAX > UINT32_MAX
    uint64_t mask = 0;
    unsigned n; /* outside the loop for gnu89 */
    for (n = 0; n < KOLK_GROUP; n += 8) {
        const uint8_t *at = states + n;
        uint64_t bytes = at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
                         (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
        mask |= ((bytes >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56) << n;
    }
    return mask;
#else
    kolk_group_ mask = 0;
    unsigned n; /* outside the loop for gnu89 */
    for (n = 0; n < KOLK_GROUP; n += 4) {
        const uint8_t *at = states + n;
        uint32_t bytes = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        kolk_group_ four = (bytes >> 7 & 0x01010101u) * 0x10204080u >> 28;
        mask |= four << n;
    }
    return mask;
#endif
}

/* The bytes from `fresh` to the end of their group may have any value: `tail` has no bits for them. */
KOLK_FOLDED_INLINE_ kolk_cursor kolk_pool_each_in(const kolk_pool *pool, uint32_t first, uint32_t n) {
    uint32_t end = n < UINT32_MAX - first ? first + n : UINT32_MAX;
    kolk_cursor cursor = {pool->states, pool->states, pool->slots, pool->slots, 0,  0, 0,
                          pool->stride, false,        NULL,        first,       end};
    cursor.more = n > 0 && first < pool->fresh;
    if (KOLK_UNLIKELY_(pool->debug_flags & (KOLK_DEBUG_GUARD | KOLK_DEBUG_BYPASS))) {
        cursor.apart = pool;
    } else if (cursor.more) {
        if (end > pool->fresh) end = pool->fresh;
        size_t begin = first / KOLK_GROUP * KOLK_GROUP, last = (end - 1) / KOLK_GROUP * KOLK_GROUP;
        cursor.states += begin;
        cursor.last += last;
        cursor.next += begin * pool->stride;
        cursor.tail = KOLK_ALL_ >> (KOLK_GROUP - 1 - (end - 1) % KOLK_GROUP);
        if (first % KOLK_GROUP) { /* enters the first group, from its middle on */
            cursor.pending = kolk_pool_mask_(cursor.states) & (KOLK_ALL_ << first % KOLK_GROUP);
            if (begin == last) {
                cursor.pending &= cursor.tail;
                cursor.tail = 0;
                cursor.last += KOLK_GROUP;
            }
            cursor.base = cursor.next;
            cursor.next += KOLK_GROUP * cursor.stride;
            cursor.states += KOLK_GROUP;
        }
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

KOLK_LOOP_INLINE_ void *kolk_cursor_apart_(kolk_cursor *cursor) {
    const kolk_pool *pool = cursor->apart;
    while (cursor->from < cursor->end && cursor->from < pool->fresh) {
        uint32_t index = cursor->from++;
        if (kolk_pool_lives_(pool, index))
            return pool->objects ? kolk_pool_bypassed_(pool, index) : pool->slots + (size_t)index * pool->stride;
    }
    return NULL;
}

/* Goes to the next group in which there is something to visit. Returns false at the end. */
KOLK_LOOP_INLINE_ bool kolk_cursor_enter_(kolk_cursor *cursor) {
    kolk_group_ pending;
    do {
        kolk_group_ visited = KOLK_ALL_;
        if (KOLK_UNLIKELY_(cursor->states == cursor->last)) {
            visited = cursor->tail;
            if (!visited) return false;
            cursor->tail = 0;
            cursor->last += KOLK_GROUP;
        }
        pending = kolk_pool_mask_(cursor->states) & visited;
        cursor->states += KOLK_GROUP;
        cursor->base = cursor->next;
        cursor->next += KOLK_GROUP * cursor->stride;
    } while (pending == 0);
    if (pending == KOLK_ALL_)
        cursor->left = (size_t)-KOLK_GROUP;
    else
        cursor->pending = pending;
    return true;
}

/* Each step reads the slot's byte again, since the loop's body may have freed the object. The steps in a full group are
 * linear: they need not look for the next bit. That a group ends is said to be unlikely, so that what is needed then
 * takes no registers away. */
KOLK_LOOP_INLINE_ void *kolk_cursor_next(kolk_cursor *cursor) {
    unsigned char *object;
    for (;;) {
        kolk_group_ pending = cursor->pending;
        if (pending) {
            unsigned bit = KOLK_LOWEST_OF_(pending);
            cursor->pending = pending & (pending - 1);
            if (KOLK_UNLIKELY_(!((cursor->states - KOLK_GROUP)[bit] & KOLK_ALIVE_))) continue;
            object = cursor->base + bit * cursor->stride;
            break;
        }
        if (!KOLK_UNLIKELY_(cursor->left == 0)) {
            object = cursor->base;
            cursor->base += cursor->stride;
            if (KOLK_UNLIKELY_(!(cursor->states[(ptrdiff_t)cursor->left++] & KOLK_ALIVE_))) continue;
            break;
        }
        if (!kolk_cursor_enter_(cursor))
            return KOLK_UNLIKELY_(cursor->apart != NULL) ? kolk_cursor_apart_(cursor) : NULL;
    }
    if (!object) KOLK_UNREACHABLE_(); /* so that the loop needs no test for NULL */
    return object;
}

KOLK_LOOP_INLINE_ void *kolk_cursor_next_run(kolk_cursor *cursor, uint32_t *length) {
    if (!cursor->pending && !cursor->left && kolk_cursor_enter_(cursor) && cursor->left) {
        unsigned char *objects = cursor->base;
        cursor->left = 0;
        *length = KOLK_GROUP;
        if (!objects) KOLK_UNREACHABLE_();
        return objects;
    }
    void *object = kolk_cursor_next(cursor);
    *length = object != NULL;
    return object;
}

/* Is the slot `at` - 1 one that the walk has not visited yet? ages[0].born is 0. */
KOLK_INLINE_ bool kolk_age_is_due_(const kolk_age_cursor *cursor, uint32_t at) {
    const kolk_pool *pool = cursor->pool;
    return at <= pool->fresh && pool->ages[at].born > cursor->born && pool->ages[at].born <= cursor->last;
}

KOLK_INLINE_ void *kolk_age_cursor_next(kolk_age_cursor *cursor) {
    const kolk_pool *pool = cursor->pool;
    uint32_t at = cursor->next;
    if (KOLK_UNLIKELY_(at == 0 || at > pool->bound || !kolk_age_is_due_(cursor, at) ||
                       !(pool->states[at - 1] & KOLK_ALIVE_)))
        return kolk_age_cursor_next_slow_(cursor);
    cursor->at = at;
    cursor->born = pool->ages[at].born;
    cursor->next = pool->ages[at].newer;
    return pool->slots + (size_t)(at - 1) * pool->stride;
}

KOLK_BODIES_END_
#ifdef __cplusplus
}
#endif
#endif
