/* pool.c: the core pool.
 *
 *     slots        | 0 | 1 | 2 | ......... | fresh | ........ | capacity | (reserved, not committed) | max_capacity |
 *     live         1 bit a slot    the truth about every slot
 *     generations  32 bits a slot  of the life that is or comes next; ends in every handle
 *     stack        32 bits a slot  LIFO: indices of free slots; FIFO: the same array as a ring; LOWEST has holes
 *                                  instead: 1 bit a free slot, with levels of summary bits above (bits.h)
 *
 * Nothing of this is inside a slot, so a stray write through a dangling pointer cannot corrupt the pool, alloc touches
 * no cold object, and the free order of a million slots needs no set-up: `fresh` separates the slots that were once
 * handed out from those that never were, and only ever advances. It gives an init that touches nothing, metadata that
 * is written for the first time as it passes (the caller's memory may be dirty), the peak, and a tight bound for
 * pointers.
 *
 * The fast paths (pool.inl) have a branch for one option, generations or none, and for no other. They read three
 * bounds, and a pool whose option needs more than they do is shown bounds that always lead here:
 *     floor       alloc takes from the stack while top != floor
 *     free_bound  free pushes what lies below it
 *     bound       get, is_live, index, at know what lies below it
 * LIFO is shown the truth (stack, fresh, fresh); FIFO, LOWEST and pools with setup, reset or teardown (top, 0, fresh).
 *
 * Invariants (kolk_pool_is_valid):
 *     I1  count == fresh - (top - stack) - held is the number of live bits; peak >= count
 *     I2  a live bit is set only below fresh; fresh <= capacity <= max_capacity
 *     I3  each free slot below fresh is in exactly one place: the stack, the ring, the holes, or the worn-out list;
 *         held counts the last three
 *     I4  the bounds are as said above
 *     I5  a live slot's generation is at least 1
 *     I6  a summary bit is set if and only if the word below it is not 0
 *     I7  with setup or teardown, a live slot is ready
 * All time bounds are those of pool.h. Two things come from elsewhere: exact division (pool.inl) and the advancing mark
 * instead of a free list linked at creation (PostgreSQL, slab.c, 2017 on). */
#undef KOLK_EXTERN /* the functions of pool.inl are emitted here, also in a program that is compiled with it */
#include "kolk/pool.h"

#include "bits.h"
#include "fail.h"
#include "memory.h"

#include <string.h>

#define NO_SLOT    UINT32_MAX
#define MAX_ALIGN  4096u
#define MAX_LEVELS 6u /* 64^6 > 2^32 */
#define FEW_PAGES  4u

_Static_assert(sizeof(void *) != 8 || offsetof(kolk_pool, shift) == 64, "the fast paths read 64 bytes and the shift");
_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_pool) == 272 && sizeof(kolk_pool_desc) == 112),
               "the layout has changed: raise KOLK_ABI");

/* Emit each function of pool.inl once. */
extern inline uintptr_t kolk_inverse(uintptr_t odd);
extern inline uintptr_t kolk_exact_slot(uintptr_t offset, unsigned shift, uintptr_t inverse);
extern inline uintptr_t kolk_pool_slot(const kolk_pool *pool, const void *object);
extern inline uintptr_t kolk_pool_slot_sized(const kolk_pool *pool, const void *object, size_t stride);
extern inline bool kolk_pool_bit(const uint64_t *words, uintptr_t index);
extern inline void *kolk_pool_alloc_sized(kolk_pool *pool, size_t stride);
extern inline void *kolk_pool_alloc(kolk_pool *pool);
extern inline void kolk_pool_free_slot(kolk_pool *pool, void *object, uintptr_t index);
extern inline void kolk_pool_free(kolk_pool *pool, void *object);
extern inline void kolk_pool_free_sized(kolk_pool *pool, void *object, size_t stride);
extern inline bool kolk_pool_is_live(const kolk_pool *pool, const void *object);
extern inline uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);
extern inline void *kolk_pool_at(const kolk_pool *pool, uint32_t index);
extern inline kolk_handle kolk_pool_handle(const kolk_pool *pool, const void *object);
extern inline void *kolk_pool_get_sized(const kolk_pool *pool, kolk_handle handle, size_t stride);
extern inline void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);
extern inline uint32_t kolk_pool_count(const kolk_pool *pool);
extern inline uint32_t kolk_pool_available(const kolk_pool *pool);
extern inline kolk_cursor kolk_pool_each(const kolk_pool *pool);
extern inline void *kolk_cursor_next(kolk_cursor *cursor);

/* ---- Leaves ---------------------------------------------------------------------------------------------------- */

static void *slot_at(const kolk_pool *pool, uint64_t index) {
    return pool->slots + (size_t)index * pool->stride;
}

static uint64_t round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/* Bits that an index below n needs. */
static unsigned index_bits(uint32_t n) {
    return n > 1 ? 32 - (unsigned)__builtin_clz(n - 1) : 0;
}

/* The tag's bits from the top of the word down to where an index begins: small tags differ whatever the capacities. */
static uint32_t tag_bits(uint32_t tag, unsigned bits_of_index) {
    uint32_t reversed = 0;
    for (unsigned n = 0; n < 32 - bits_of_index; n++, tag >>= 1) reversed |= (tag & 1) << (31 - n);
    return reversed;
}

/* FNV-1a (Fowler, Noll, Vo, 1991). */
static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name) hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash;
}

/* Free slots in the ring or the holes. */
static uint32_t waiting(const kolk_pool *pool) {
    return pool->held - pool->worn;
}

/* Free slots in the array of LIFO and FIFO, and the place of the n-th: for LIFO, first is 0. */
static uint32_t queued(const kolk_pool *pool) {
    return pool->reuse == KOLK_REUSE_FIFO ? waiting(pool) : (uint32_t)(pool->top - pool->stack);
}

static kolk_slot *queue_at(const kolk_pool *pool, uint32_t n) {
    uint64_t at = (uint64_t)pool->first + n;
    return pool->stack + (at < pool->capacity ? at : at - pool->capacity);
}

/* May the fast paths serve this pool? */
static bool is_fast(const kolk_pool *pool) {
    return pool->reuse == KOLK_REUSE_LIFO && !pool->ready && !pool->reset;
}

/* Shows the fast paths their bounds (I4). */
static void show(kolk_pool *pool) {
    bool fast = is_fast(pool);
    pool->bound = pool->fresh;
    pool->free_bound = fast ? pool->fresh : 0;
    pool->floor = fast ? pool->stack : pool->top;
}

static kolk_failure failure_of(const kolk_pool *pool, kolk_status rule) {
    return (kolk_failure){.rule = rule, .pool = pool->name ? pool->name : "", .slot = NO_SLOT};
}

/* Reports what is wrong with a pointer that the caller wants to `verb`; if_dead is the rule broken by a free slot's. */
static void fail_object(const kolk_pool *pool, const void *object, const char *verb, kolk_status if_dead) {
    kolk_failure failure = failure_of(pool, KOLK_FOREIGN_POINTER);
    failure.object = object;
    uintptr_t offset = (uintptr_t)object - (uintptr_t)pool->slots;
    if (!object || offset >= (uint64_t)pool->capacity * pool->stride) {
        kolk_fail(failure, object ? "%s of a pointer that is not of this pool" : "%s of NULL", verb);
        return;
    }
    failure.slot = (uint32_t)(offset / pool->stride);
    uint64_t slot = failure.slot, inside = offset % pool->stride;
    if (inside) {
        failure.rule = KOLK_INTERIOR_POINTER;
        kolk_fail(failure, "%s of a pointer into slot %u, at byte %u of it", verb, slot, inside);
    } else if (slot >= pool->fresh) {
        failure.rule = KOLK_NEVER_ISSUED;
        kolk_fail(failure, "%s of slot %u, which was never handed out", verb, slot);
    } else if (kolk_bits_get(pool->live, slot)) {
        failure.rule = KOLK_NO_HANDLES;
        kolk_fail(failure, "%s of slot %u, but KOLK_GENERATIONS_NONE has no handles", verb, slot);
    } else {
        failure.rule = if_dead;
        kolk_fail(failure, if_dead == KOLK_DOUBLE_FREE ? "double %s of slot %u" : "%s of slot %u, which is free", verb,
                  slot);
    }
}

/* ---- Memory: one block, cut into regions that each grow on their own -------------------------------------------- */

enum { SLOTS, LIVE, READY, GENERATIONS, STACK, HOLES, REGIONS = HOLES + MAX_LEVELS };

typedef struct layout {
    uint64_t stride;
    bool stack, generations, ready;
    unsigned levels;
} layout;

static layout layout_of(const kolk_pool_desc *desc, uint32_t max_capacity) {
    layout shape = {.stride = round_up(desc->object_size, desc->object_align)};
    shape.stack = desc->reuse != KOLK_REUSE_LOWEST;
    shape.generations = desc->generations != KOLK_GENERATIONS_NONE;
    shape.ready = desc->setup || desc->teardown;
    /* up to a level of one word; at least one, if there is a slot */
    for (uint64_t words = max_capacity; !shape.stack && words > (shape.levels > 0); shape.levels++)
        words = kolk_bits_words(words);
    return shape;
}

/* Bytes of each region for so many slots; 0 where there is none. */
static void measure(const layout *shape, uint32_t capacity, uint64_t sizes[REGIONS]) {
    uint64_t words = kolk_bits_words(capacity);
    memset(sizes, 0, REGIONS * sizeof *sizes);
    sizes[SLOTS] = capacity * shape->stride;
    sizes[LIVE] = words * 8;
    if (shape->ready) sizes[READY] = words * 8;
    if (shape->generations) sizes[GENERATIONS] = (uint64_t)capacity * 4;
    if (shape->stack) sizes[STACK] = (uint64_t)capacity * 4;
    for (unsigned k = 0; k < shape->levels; k++, words = kolk_bits_words(words)) sizes[HOLES + k] = words * 8;
}

static uint64_t total(const uint64_t sizes[REGIONS], uint64_t unit) {
    uint64_t sum = 0;
    for (unsigned r = 0; r < REGIONS; r++) sum += round_up(sizes[r], unit);
    return sum;
}

static uint64_t block_bytes(const layout *shape, uint32_t capacity, uint64_t unit) {
    uint64_t sizes[REGIONS];
    measure(shape, capacity, sizes);
    return total(sizes, unit);
}

/* The greatest capacity that fits so many bytes. */
static uint32_t capacity_that_fits(const kolk_pool_desc *desc, uint64_t bytes) {
    uint64_t low = 0, high = bytes < UINT32_MAX ? bytes : UINT32_MAX;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        layout shape = layout_of(desc, (uint32_t)middle);
        if (block_bytes(&shape, (uint32_t)middle, 8) <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return (uint32_t)low;
}

static void place(kolk_pool *pool, const layout *shape, uint64_t unit) {
    uint64_t sizes[REGIONS];
    void *starts[REGIONS];
    unsigned char *at = pool->block;
    measure(shape, pool->max_capacity, sizes);
    for (unsigned r = 0; r < REGIONS; at += round_up(sizes[r++], unit)) starts[r] = sizes[r] ? at : NULL;
    pool->slots = starts[SLOTS];
    pool->live = starts[LIVE];
    pool->ready = starts[READY];
    pool->generations = starts[GENERATIONS];
    pool->stack = pool->top = starts[STACK];
    for (unsigned k = 0; k < MAX_LEVELS; k++) pool->holes[k] = starts[HOLES + k];
}

/* What of the block may be touched: the pool's own shape. */
static void measure_pool(const kolk_pool *pool, uint32_t capacity, uint64_t sizes[REGIONS]) {
    layout shape = {pool->stride, pool->stack, pool->generations, pool->ready, pool->levels};
    measure(&shape, capacity, sizes);
}

static bool commit(const kolk_pool *pool, uint32_t capacity) {
    uint64_t sizes[REGIONS];
    void *starts[REGIONS] = {pool->slots, pool->live, pool->ready, pool->generations, pool->stack};
    memcpy(starts + HOLES, pool->holes, sizeof pool->holes);
    measure_pool(pool, capacity, sizes);
    for (unsigned r = 0; r < REGIONS; r++)
        if (sizes[r] && !kolk_memory_commit(starts[r], (size_t)sizes[r])) return false;
    return true;
}

/* ---- Life of a pool -------------------------------------------------------------------------------------------- */

/* Checks the descriptor and fills in its defaults. */
static kolk_status resolve(kolk_pool_desc *desc, size_t type_size, size_t type_align) {
    if (type_size) {
        if (desc->object_size && desc->object_size != type_size) return KOLK_TYPE_MISMATCH;
        if (desc->object_align && desc->object_align != type_align) return KOLK_TYPE_MISMATCH;
        desc->object_size = type_size;
        desc->object_align = type_align;
    }
    if (desc->object_size == 0) return KOLK_ZERO_SIZE;
    if (desc->object_align == 0) {
        size_t divides = desc->object_size & (~desc->object_size + 1);
        desc->object_align = divides < 16 ? divides : 16;
    }
    if (desc->object_align & (desc->object_align - 1)) return KOLK_BAD_ALIGN;
    if (desc->object_align > MAX_ALIGN) return KOLK_ALIGN_TOO_LARGE;
    if ((unsigned)desc->reuse > KOLK_REUSE_LOWEST) return KOLK_BAD_REUSE;
    if ((unsigned)desc->generations > KOLK_GENERATIONS_NONE) return KOLK_BAD_GENERATIONS;
    if (desc->on_full == kolk_pool_evict_cheapest && !desc->cost) return KOLK_COST_MISSING;
    if (desc->max_capacity && desc->max_capacity < desc->capacity) return KOLK_MAX_BELOW_CAPACITY;
    if (desc->object_size > INT32_MAX - MAX_ALIGN) return KOLK_SIZE_OVERFLOW; /* so that no product below can wrap */
    if (desc->memory) {
        if (desc->max_capacity && desc->max_capacity != desc->capacity) return KOLK_CANNOT_GROW;
        if ((uintptr_t)desc->memory % (desc->object_align > 8 ? desc->object_align : 8)) return KOLK_MEMORY_MISALIGNED;
        uint32_t fits = capacity_that_fits(desc, desc->memory_size);
        if (fits == 0 || fits < desc->capacity) return KOLK_MEMORY_TOO_SMALL;
        if (desc->capacity == 0) desc->capacity = fits;
    } else if (desc->memory_size) {
        return KOLK_MEMORY_MISSING;
    }
    if (desc->max_capacity == 0) desc->max_capacity = desc->capacity;
    layout shape = layout_of(desc, desc->max_capacity);
    if (block_bytes(&shape, desc->max_capacity, MAX_ALIGN) > PTRDIFF_MAX) return KOLK_SIZE_OVERFLOW;
    return KOLK_OK;
}

size_t kolk_pool_memory_size(const kolk_pool_desc *desc) {
    if (!desc) return 0;
    kolk_pool_desc fixed = *desc;
    fixed.memory = NULL;
    fixed.memory_size = 0;
    fixed.max_capacity = 0;
    if (resolve(&fixed, 0, 0) != KOLK_OK) return 0;
    layout shape = layout_of(&fixed, fixed.capacity);
    return (size_t)block_bytes(&shape, fixed.capacity, 8);
}

kolk_status kolk_pool_init_type(kolk_pool *pool, const kolk_pool_desc *given, size_t type_size, size_t type_align,
                                size_t pool_size, uint32_t abi) {
    memset(pool, 0, pool_size);
    if (abi != KOLK_ABI || pool_size != sizeof *pool) return KOLK_WRONG_ABI;
    if (!given) return KOLK_NO_DESCRIPTOR;
    kolk_pool_desc desc = *given;
    kolk_status status = resolve(&desc, type_size, type_align);
    if (status != KOLK_OK) return status;

    layout shape = layout_of(&desc, desc.max_capacity);
    /* A growing pool's regions take whole pages each; one that fits the few pages of these is committed at once. */
    bool grows =
        desc.max_capacity > desc.capacity && block_bytes(&shape, desc.max_capacity, 8) > FEW_PAGES * kolk_memory_page();
    uint64_t unit = grows ? kolk_memory_page() : 8;
    size_t block_size = (size_t)block_bytes(&shape, desc.max_capacity, unit);
    unsigned char *block = desc.memory;
    if (!block && block_size) block = kolk_memory_reserve(block_size);
    if (!block && block_size) return KOLK_NO_MEMORY;

    pool->block = block;
    pool->block_size = block_size;
    pool->foreign = desc.memory != NULL;
    pool->grows = grows;
    pool->max_capacity = desc.max_capacity;
    pool->levels = (uint8_t)shape.levels;
    pool->stride = (uint32_t)shape.stride;
    pool->shift = (uint8_t)__builtin_ctz(pool->stride);
    pool->inverse = kolk_inverse(pool->stride >> pool->shift);
    pool->object_size = (uint32_t)desc.object_size;
    if (block) place(pool, &shape, unit);
    bool committed =
        pool->foreign || !block_size || (grows ? commit(pool, desc.capacity) : kolk_memory_commit(block, block_size));
    if (!committed) {
        kolk_memory_release(block, block_size);
        memset(pool, 0, sizeof *pool);
        return KOLK_NO_MEMORY;
    }

    pool->capacity = desc.capacity;
    pool->reuse = (uint8_t)desc.reuse;
    pool->strict = desc.generations == KOLK_GENERATIONS_STRICT;
    pool->keep = desc.keep;
    pool->name = desc.name;
    uint32_t tag = desc.tag || !desc.name ? desc.tag : hash_of(desc.name);
    pool->tag = tag_bits(tag, index_bits(desc.max_capacity));
    pool->on_full = desc.on_full;
    pool->cost = desc.cost;
    pool->setup = desc.setup;
    pool->reset = desc.reset;
    pool->teardown = desc.teardown;
    pool->context = desc.context;
    show(pool);
    return KOLK_OK;
}

static void tear_down(kolk_pool *pool, uint64_t from, uint64_t end) {
    if (!pool->ready) return;
    for (uint64_t i = from; (i = kolk_bits_find(pool->ready, true, i, end)) < end; i++) {
        kolk_bits_clear(pool->ready, i);
        if (pool->teardown) pool->teardown(slot_at(pool, i), pool->context);
    }
}

void kolk_pool_deinit(kolk_pool *pool) {
    if (pool->reset) kolk_pool_clear(pool);
    tear_down(pool, 0, pool->fresh);
    if (pool->block && !pool->foreign) kolk_memory_release(pool->block, pool->block_size);
    memset(pool, 0, sizeof *pool);
}

/* ---- Free slots: where they are, and in which order they come back (I3) ------------------------------------------
 * `inline` here and below is worth a fifth of the time of FIFO and LOWEST. */

static inline void put_free(kolk_pool *pool, uint32_t index) {
    if (pool->reuse == KOLK_REUSE_LIFO) {
        (pool->top++)->index = index;
        show(pool);
        return;
    }
    if (pool->reuse == KOLK_REUSE_FIFO) {
        queue_at(pool, waiting(pool))->index = index;
    } else {
        kolk_levels_set(pool->holes, pool->levels, index);
    }
    pool->held++;
}

static inline bool take_free(kolk_pool *pool, uint32_t *index) {
    if (pool->reuse == KOLK_REUSE_LIFO) {
        if (pool->top == pool->stack) return false;
        *index = (--pool->top)->index;
        show(pool);
        return true;
    }
    if (waiting(pool) == 0) return false;
    if (pool->reuse == KOLK_REUSE_FIFO) {
        *index = queue_at(pool, 0)->index;
        pool->first = pool->first + 1 < pool->capacity ? pool->first + 1 : 0;
    } else {
        *index = (uint32_t)kolk_levels_take_lowest(pool->holes, pool->levels);
    }
    pool->held--;
    return true;
}

/* Worn-out slots: a list through generations[], which mean nothing there; a dead slot's are not looked at. */
static void put_worn(kolk_pool *pool, uint32_t index) {
    if (pool->worn == 0)
        pool->worn_first = index;
    else
        pool->generations[pool->worn_last] = index;
    pool->worn_last = index;
    pool->worn++;
    pool->held++;
}

/* Takes a slot out of the list, behind the one `before` it (NO_SLOT: it is the first); its generations start anew. */
static void recycle(kolk_pool *pool, uint32_t before, uint32_t index) {
    if (before == NO_SLOT)
        pool->worn_first = pool->generations[index];
    else
        pool->generations[before] = pool->generations[index];
    if (pool->worn_last == index) pool->worn_last = before;
    pool->generations[index] = 1;
    pool->worn--;
    pool->held--;
    pool->recycled++;
}

static bool take_worn(kolk_pool *pool, uint32_t *index) {
    if (pool->strict || pool->worn == 0) return false;
    *index = pool->worn_first;
    recycle(pool, NO_SLOT, *index);
    return true;
}

/* The first slot that was never handed out; its metadata is written for the first time. */
static uint32_t take_fresh(kolk_pool *pool) {
    uint32_t index = pool->fresh++;
    if (index % 64 == 0) {
        pool->live[index / 64] = 0;
        if (pool->ready) pool->ready[index / 64] = 0;
    }
    uint64_t at = index;
    for (unsigned k = 0; k < pool->levels && at % 64 == 0; k++, at /= 64) pool->holes[k][at / 64] = 0;
    if (pool->generations) pool->generations[index] = 1;
    show(pool);
    return index;
}

/* Lets worn-out slots pass for live ones, or ends that (I1, I2 broken between). */
static void mark_worn(kolk_pool *pool, bool live) {
    uint32_t worn = pool->worn_first;
    for (uint32_t n = 0; n < pool->worn; n++, worn = pool->generations[worn]) {
        if (live)
            kolk_bits_set(pool->live, worn);
        else
            kolk_bits_clear(pool->live, worn);
    }
}

/* Rebuilds the order from the live bits, lowest first. Holes that are there already stay. */
static void sort_free(kolk_pool *pool) {
    mark_worn(pool, true);
    pool->top = pool->stack;
    pool->first = 0;
    pool->held = pool->worn;
    if (pool->reuse == KOLK_REUSE_LIFO) {
        for (uint32_t i = pool->fresh; i-- > 0;)
            if (!kolk_bits_get(pool->live, i)) put_free(pool, i);
    } else {
        for (uint64_t i = 0; (i = kolk_bits_find(pool->live, false, i, pool->fresh)) < pool->fresh; i++)
            put_free(pool, (uint32_t)i);
    }
    mark_worn(pool, false);
    show(pool);
}

/* Closes the gap that this slot leaves in the array of LIFO or FIFO; false if it is not there. */
static bool take_queued(kolk_pool *pool, uint32_t index) {
    uint32_t length = queued(pool), n = 0;
    while (n < length && queue_at(pool, n)->index != index) n++;
    if (n == length) return false;
    for (; n + 1 < length; n++) *queue_at(pool, n) = *queue_at(pool, n + 1);
    if (pool->reuse == KOLK_REUSE_LIFO)
        pool->top--;
    else
        pool->held--;
    show(pool);
    return true;
}

/* Takes this free slot below fresh out of its place; false if it is worn out for ever. */
static bool take_this(kolk_pool *pool, uint32_t index) {
    if (pool->reuse == KOLK_REUSE_LOWEST && kolk_bits_get(pool->holes[0], index)) {
        kolk_levels_clear(pool->holes, pool->levels, index);
        pool->held--;
        return true;
    }
    if (take_queued(pool, index)) return true;
    if (pool->strict) return false;
    uint32_t before = NO_SLOT, worn = pool->worn_first, n = 0;
    for (; n < pool->worn && worn != index; n++, worn = pool->generations[worn]) before = worn;
    if (n == pool->worn) return false; /* it is dying: its reset hook asked */
    recycle(pool, before, index);
    return true;
}

/* ---- Growth ---------------------------------------------------------------------------------------------------- */

kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity) {
    if (capacity <= pool->capacity) return KOLK_OK;
    if (capacity > pool->max_capacity) return KOLK_ABOVE_MAX;
    if (pool->grows && !commit(pool, capacity)) return KOLK_NO_MEMORY;
    uint32_t head = pool->capacity - pool->first;
    if (pool->reuse == KOLK_REUSE_FIFO && waiting(pool) > head) { /* the ring goes round: move its beginning up */
        kolk_slot *first = pool->stack + capacity - head;
        memmove(first, pool->stack + pool->first, head * sizeof *first);
        pool->first = capacity - head;
    }
    pool->capacity = capacity;
    return KOLK_OK;
}

/* Room for `needed` slots at least, twice what there was if possible. */
static bool grow(kolk_pool *pool, uint64_t needed) {
    if (needed > pool->max_capacity) return false;
    uint64_t step = 65536 / pool->stride;
    uint64_t wish = pool->capacity + (pool->capacity > step ? pool->capacity : step);
    if (wish > pool->max_capacity) wish = pool->max_capacity;
    if (wish > needed && kolk_pool_reserve(pool, (uint32_t)wish) == KOLK_OK) return true;
    return kolk_pool_reserve(pool, (uint32_t)needed) == KOLK_OK;
}

/* ---- Objects --------------------------------------------------------------------------------------------------- */

static inline bool take_slot(kolk_pool *pool, uint32_t *index) {
    bool fresh_first = pool->reuse == KOLK_REUSE_FIFO && pool->fresh < pool->capacity;
    if (!fresh_first && take_free(pool, index)) return true;
    if (pool->fresh == pool->capacity && !grow(pool, (uint64_t)pool->capacity + 1)) return take_worn(pool, index);
    *index = take_fresh(pool);
    return true;
}

/* Begins the life of an object in a slot that is in no place now; NULL if its setup fails. */
static inline void *issue(kolk_pool *pool, uint32_t index) {
    void *object = slot_at(pool, index);
    if (pool->ready && !kolk_bits_get(pool->ready, index)) {
        if (pool->setup && !pool->setup(object, pool->context)) {
            put_free(pool, index);
            pool->failed++;
            return NULL;
        }
        kolk_bits_set(pool->ready, index);
    }
    kolk_bits_set(pool->live, index);
    if (pool->reuse == KOLK_REUSE_FIFO && kolk_pool_count(pool) > pool->peak) pool->peak = kolk_pool_count(pool);
    return object;
}

void *kolk_pool_alloc_slow(kolk_pool *pool) {
    uint32_t index;
    bool asked = pool->in_on_full || !pool->on_full;
    while (!take_slot(pool, &index)) {
        if (asked) {
            pool->failed++;
            return NULL;
        }
        asked = true;
        uint32_t before = kolk_pool_count(pool);
        pool->in_on_full = true;
        pool->on_full(pool, pool->context);
        pool->in_on_full = false;
        uint32_t after = kolk_pool_count(pool);
        if (after < before) pool->evictions += before - after;
    }
    return issue(pool, index);
}

void *kolk_pool_alloc_zeroed(kolk_pool *pool) {
    void *object = kolk_pool_alloc(pool);
    if (object) memset(object, 0, pool->object_size);
    return object;
}

uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n) {
    uint8_t before = pool->in_on_full;
    uint32_t count = 0;
    for (; count < n && (objects[count] = kolk_pool_alloc(pool)); count++)
        pool->in_on_full = true; /* it might evict what this call has just given */
    pool->in_on_full = before;
    return count;
}

void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle) {
    uint32_t index = (uint32_t)handle.bits ^ pool->tag;
    uint32_t generation = (uint32_t)(handle.bits >> 32);
    if (!pool->generations || index >= pool->max_capacity) return NULL;
    if (generation == 0 || generation > KOLK_GENERATION_MAX) return NULL;
    if (index >= pool->capacity && !grow(pool, (uint64_t)index + 1)) {
        pool->failed++;
        return NULL;
    }
    if (index < pool->fresh) {
        if (kolk_bits_get(pool->live, index) || !take_this(pool, index)) return NULL;
    } else {
        uint32_t first = pool->fresh, gap = index - first;
        while (take_fresh(pool) != index) {}
        for (uint32_t n = 0; n < gap; n++) /* so that the lowest of them is used first */
            put_free(pool, pool->reuse == KOLK_REUSE_LIFO ? index - 1 - n : first + n);
    }
    void *object = issue(pool, index);
    if (!object) return NULL;
    pool->generations[index] = generation;
    if (index >= pool->peak) pool->peak = index + 1;
    return object;
}

/* Ends the life in a slot and its handles; until the caller has put the slot somewhere, it counts as alive (I1, I3
 * broken), so that a reset hook may free other objects. True if the slot is worn out. */
static inline bool end_life(kolk_pool *pool, uint32_t index) {
    kolk_bits_clear(pool->live, index);
    bool worn = false;
    if (pool->generations) {
        pool->generations[index] = (pool->generations[index] + 1) & KOLK_GENERATION_MAX;
        worn = pool->generations[index] == 0;
    }
    if (pool->reset) pool->reset(slot_at(pool, index), pool->context);
    return worn;
}

void kolk_pool_free_slow(kolk_pool *pool, void *object) {
    if (!object) return;
    uintptr_t index = kolk_pool_slot(pool, object);
    if (index >= pool->fresh || !kolk_bits_get(pool->live, index)) {
        fail_object(pool, object, "free", KOLK_DOUBLE_FREE);
        return;
    }
    if (end_life(pool, (uint32_t)index))
        put_worn(pool, (uint32_t)index);
    else
        put_free(pool, (uint32_t)index);
}

void kolk_pool_clear(kolk_pool *pool) {
    uint64_t end = pool->fresh; /* not what reset hooks allocate beyond it */
    for (uint64_t i = 0; (i = kolk_bits_find(pool->live, true, i, end)) < end; i++)
        if (end_life(pool, (uint32_t)i)) put_worn(pool, (uint32_t)i);
    sort_free(pool);
}

/* ---- Handles and questions --------------------------------------------------------------------------------------- */

uint32_t kolk_pool_index_failed(const kolk_pool *pool, const void *object, const char *verb) {
    fail_object(pool, object, verb, KOLK_DEAD_OBJECT);
    return NO_SLOT;
}

void *kolk_pool_get_failed(const kolk_pool *pool, kolk_handle handle) {
    uint32_t index = (uint32_t)handle.bits ^ pool->tag;
    bool other_tag = index_bits(pool->max_capacity) < 32 && index >> index_bits(pool->max_capacity) != 0;
    if (other_tag && handle.bits >> 32 != 0) { /* a statistic: several threads may count here, and lose some */
        uint32_t *wrong_pool = &((kolk_pool *)(uintptr_t)pool)->wrong_pool;
        __atomic_store_n(wrong_pool, __atomic_load_n(wrong_pool, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle) {
    void *object = kolk_pool_get(pool, handle);
    kolk_pool_free(pool, object);
    return object != NULL;
}

void kolk_pool_stats(const kolk_pool *pool, kolk_stats *out) {
    uint64_t sizes[REGIONS];
    measure_pool(pool, pool->capacity, sizes);
    uint32_t peak = pool->reuse == KOLK_REUSE_FIFO ? pool->peak : pool->fresh;
    *out = (kolk_stats){
        .name = pool->name ? pool->name : "",
        .kind = "pool",
        .object_size = pool->object_size,
        .stride = pool->stride,
        .count = kolk_pool_count(pool),
        .peak = peak,
        .capacity = pool->capacity,
        .max_capacity = pool->max_capacity,
        .unused_bytes = (uint64_t)(pool->capacity - peak) * pool->stride,
        .bytes_reserved = pool->block_size,
        .bytes_committed = pool->grows ? total(sizes, kolk_memory_page()) : pool->block_size,
        .failed = pool->failed,
        .evictions = pool->evictions,
        .wrong_pool = __atomic_load_n(&pool->wrong_pool, __ATOMIC_RELAXED),
        .worn_out = pool->worn,
        .recycled = pool->recycled,
    };
}

/* ---- Iteration --------------------------------------------------------------------------------------------------- */

void *kolk_pool_next(const kolk_pool *pool, const void *object) {
    uint64_t from = 0;
    if (object) {
        from = kolk_pool_slot(pool, object);
        if (from++ >= pool->fresh) {
            fail_object(pool, object, "next", KOLK_DEAD_OBJECT);
            return NULL;
        }
    }
    uint64_t index = kolk_bits_find(pool->live, true, from, pool->fresh);
    return index < pool->fresh ? slot_at(pool, index) : NULL;
}

void *kolk_pool_next_run(const kolk_pool *pool, uint32_t *index, uint32_t *length) {
    uint64_t end = (uint64_t)*index + *length;
    if (end > pool->fresh) end = pool->fresh;
    uint64_t first = kolk_bits_find(pool->live, true, *index, end);
    if (first >= end) {
        *length = 0;
        return NULL;
    }
    *index = (uint32_t)first;
    *length = (uint32_t)(kolk_bits_find(pool->live, false, first, end) - first);
    return slot_at(pool, first);
}

/* ---- Memory given back ------------------------------------------------------------------------------------------- */

/* Gives back the whole pages in a stretch of dead slots, which ends the set-up of all slots that they touch. */
static size_t discard(kolk_pool *pool, uint64_t first, uint64_t end) {
    uint64_t page = kolk_memory_page();
    uint64_t from = round_up(first * pool->stride, page); /* slots begins on a page */
    uint64_t to = end * pool->stride / page * page;
    if (from >= to) return 0;
    uint64_t last = round_up(to, pool->stride) / pool->stride;
    tear_down(pool, from / pool->stride, last < pool->fresh ? last : pool->fresh);
    return kolk_memory_discard(pool->slots + from, (size_t)(to - from));
}

size_t kolk_pool_trim(kolk_pool *pool) {
    size_t bytes = 0;
    bool may_discard = !pool->foreign && (!pool->keep || pool->setup);
    for (uint64_t i = 0; may_discard && (i = kolk_bits_find(pool->live, false, i, pool->fresh)) < pool->fresh;) {
        uint64_t end = kolk_bits_find(pool->live, true, i, pool->fresh);
        bytes += discard(pool, i, end < pool->fresh ? end : pool->capacity);
        i = end;
    }
    if (pool->reuse == KOLK_REUSE_LIFO) sort_free(pool);
    return bytes;
}

/* ---- Ready-made hooks -------------------------------------------------------------------------------------------- */

void kolk_pool_trap_full(kolk_pool *pool, void *context) {
    (void)context;
    uint64_t capacity = pool->capacity, worn = pool->worn;
    pool->in_on_full = false; /* the handler may longjmp */
    if (worn)
        kolk_fail(failure_of(pool, KOLK_FULL),
                  "full: %u of %u slots are worn out: raise .capacity, or take KOLK_GENERATIONS_RECYCLE", worn,
                  capacity);
    else if (pool->capacity < pool->max_capacity)
        kolk_fail(failure_of(pool, KOLK_FULL), "full: all %u slots are in use, and the system gives no memory for more",
                  capacity);
    else
        kolk_fail(failure_of(pool, KOLK_FULL),
                  "full: all %u slots are in use: raise .capacity, or .max_capacity to let the pool grow", capacity);
}

void kolk_pool_evict_cheapest(kolk_pool *pool, void *context) {
    void *cheapest = NULL;
    double least = 0;
    for (void *object = NULL; (object = kolk_pool_next(pool, object));) {
        double cost = pool->cost(object, context);
        if (cheapest && !(cost < least)) continue;
        cheapest = object;
        least = cost;
    }
    kolk_pool_free(pool, cheapest);
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

/* Mixes a slot into a fingerprint of a set: a sum of these (Steele, Lea, Flood: SplitMix, 2014) tells sets of the same
 * number of slots apart, without a mark on any slot. */
static uint64_t mixed(uint64_t slot) {
    slot += UINT64_C(0x9e3779b97f4a7c15);
    slot = (slot ^ (slot >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    slot = (slot ^ (slot >> 27)) * UINT64_C(0x94d049bb133111eb);
    return slot ^ (slot >> 31);
}

/* Number and fingerprint of the free slots in their places; false if one is live or beyond fresh (I3). */
static bool add_places(const kolk_pool *pool, uint64_t *count, uint64_t *print) {
    uint32_t length = queued(pool);
    for (uint32_t n = 0; n < length; n++) {
        uint32_t index = queue_at(pool, n)->index;
        if (index >= pool->fresh || kolk_bits_get(pool->live, index)) return false;
        *print += mixed(index);
    }
    uint32_t worn = pool->worn_first;
    for (uint32_t n = 0; n < pool->worn; n++, worn = pool->generations[worn]) {
        if (worn >= pool->fresh || kolk_bits_get(pool->live, worn)) return false;
        *print += mixed(worn);
    }
    *count = (uint64_t)length + pool->worn;
    if (pool->levels == 0) return true;
    for (uint64_t i = 0; (i = kolk_bits_find(pool->holes[0], true, i, pool->fresh)) < pool->fresh; i++) {
        if (kolk_bits_get(pool->live, i)) return false;
        *print += mixed(i);
        ++*count;
    }
    return true;
}

static bool levels_are_valid(const kolk_pool *pool) { /* I6 */
    uint64_t bits = kolk_bits_words(pool->fresh);
    for (unsigned k = 0; k + 1 < pool->levels; k++, bits = kolk_bits_words(bits))
        for (uint64_t i = 0; i < bits; i++)
            if (kolk_bits_get(pool->holes[k + 1], i) != (pool->holes[k][i] != 0)) return false;
    return true;
}

bool kolk_pool_is_valid(const kolk_pool *pool) {
    if (pool->fresh > pool->capacity || pool->capacity > pool->max_capacity) return false; /* I2 */
    if (pool->top < pool->stack || pool->held < pool->worn) return false;                  /* I1 */
    bool fast = is_fast(pool);                                                             /* I4 */
    if (pool->bound != pool->fresh || pool->free_bound != (fast ? pool->fresh : 0)) return false;
    if (pool->floor != (fast ? pool->stack : pool->top)) return false;

    uint64_t live = 0, dead = 0;
    for (uint64_t i = 0; i < pool->fresh; i++) {
        if (!kolk_bits_get(pool->live, i)) {
            dead += mixed(i);
            continue;
        }
        live++;
        if (pool->generations && pool->generations[i] == 0) return false; /* I5 */
        if (pool->ready && !kolk_bits_get(pool->ready, i)) return false;  /* I7 */
    }
    if (pool->fresh % 64 && pool->live[pool->fresh / 64] >> (pool->fresh % 64)) return false; /* I2 */
    if (kolk_pool_count(pool) != live) return false;                                          /* I1 */
    if (pool->reuse == KOLK_REUSE_FIFO && pool->peak < live) return false;

    uint64_t free_count = 0, free_print = 0; /* I3 */
    if (!add_places(pool, &free_count, &free_print)) return false;
    return free_count == pool->fresh - live && free_print == dead && levels_are_valid(pool);
}
