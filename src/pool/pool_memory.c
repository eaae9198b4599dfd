/* pool_memory.c: the memory of a core pool, and its growth. The memory is one block (block.h) of these regions:
 *
 *     | slots | states | ready | high | stack | ages | ranks | holes 0 ... 5 | */
#include "pool_order.h"

#include "../core/budget.h"
#include "../core/probes.h"
#include "../os/memory.h"

#include <string.h>

#define MAX_LEVELS 6u /* 64^6 > 2^32 */

enum {
    POOL_SLOTS,
    POOL_STATES,
    POOL_READY,
    POOL_HIGH,
    POOL_STACK,
    POOL_AGES,
    POOL_RANKS,
    POOL_HOLES,
    POOL_REGIONS = POOL_HOLES + MAX_LEVELS
};

typedef struct layout {
    uint32_t stride;
    uint32_t front; /* bytes before the first object: a red zone of the debug mode */
    bool stack, high, ready, ages, ranks;
    unsigned levels;
} layout;

/* The number of 64-bit words for n bits. */
static uint32_t words_of(uint32_t n) {
    return n / 64 + (n % 64 != 0);
}

static unsigned regions_of(unsigned levels) {
    return POOL_HOLES + levels;
}

static layout layout_of(const kolk_pool_desc *desc, uint32_t max_capacity) {
    layout shape = {.stride = (uint32_t)round_up(desc->object_size, desc->object_align)};
    shape.stack = desc->reuse != KOLK_REUSE_LOWEST;
    shape.high = desc->generations != KOLK_GENERATIONS_NONE;
    shape.ready = desc->life.setup || desc->life.teardown;
    shape.ages = desc->ages;
    shape.ranks = desc->full.ranked;
    /* add levels until one has a single word; if there is a slot, add at least one level */
    for (uint32_t words = max_capacity; !shape.stack && words > (shape.levels > 0); shape.levels++)
        words = words_of(words);
    return shape;
}

/* The size in bytes of each region for this many slots; 0 if the pool lacks the region. The holes are the last regions;
 * regions_of counts the regions that exist. */
static void measure_layout(const layout *shape, uint32_t capacity, uint64_t sizes[POOL_REGIONS]) {
    uint32_t words = words_of(capacity);
    sizes[POOL_SLOTS] = (uint64_t)capacity * shape->stride;
    sizes[POOL_STATES] = round_up(capacity, KOLK_GROUP);
    sizes[POOL_READY] = shape->ready ? (uint64_t)words * 8 : 0;
    sizes[POOL_HIGH] = shape->high ? (uint64_t)capacity * 4 : 0;
    sizes[POOL_STACK] = shape->stack ? (uint64_t)capacity * sizeof(kolk_slot_) : 0;
    sizes[POOL_AGES] = shape->ages ? ((uint64_t)capacity + 1) * sizeof(kolk_age_) : 0;
    sizes[POOL_RANKS] = shape->ranks ? (uint64_t)capacity * sizeof(kolk_rank_) : 0;
    for (unsigned k = 0; k < shape->levels; k++, words = words_of(words)) sizes[POOL_HOLES + k] = (uint64_t)words * 8;
}

static uint64_t block_bytes(const layout *shape, uint32_t capacity, uint64_t unit) {
    uint64_t sizes[POOL_REGIONS];
    measure_layout(shape, capacity, sizes);
    return kolk_block_bytes_(sizes, regions_of(shape->levels), unit);
}

uint64_t kolk_pool_bytes_(const void *desc, uint32_t capacity, uint64_t unit) {
    layout shape = layout_of(desc, capacity);
    return block_bytes(&shape, capacity, unit);
}

/* The size in bytes of each region for the shape of an existing pool. */
static void measure_pool(const kolk_pool *pool, uint32_t capacity, uint64_t sizes[POOL_REGIONS]) {
    layout shape = {.stride = pool->stride, .levels = pool->levels};
    shape.stack = pool->stack;
    shape.high = pool->high;
    shape.ready = pool->ready;
    shape.ages = pool->ages;
    shape.ranks = pool->ranks;
    measure_layout(&shape, capacity, sizes);
}

/* Commits memory for this many slots, if the pool commits step by step. */
static bool commit_slots(const kolk_pool *pool, uint32_t capacity) {
    KOLK_ASSERT_(capacity <= pool->max_capacity);
    uint64_t sizes[POOL_REGIONS];
    void *starts[POOL_REGIONS] = {pool->block, pool->states, pool->ready, pool->high,
                                  pool->stack, pool->ages,   pool->ranks};
    if (pool_debug_of(pool) && !kolk_watch_->committed(pool->debug, capacity)) return false;
    if (!KOLK_PAGES_ || pool->memory != MEMORY_GROWS) return true;
    memcpy(starts + POOL_HOLES, pool->holes, sizeof pool->holes);
    measure_pool(pool, capacity, sizes);
    return kolk_block_commit_(starts, sizes, regions_of(pool->levels));
}

uint64_t kolk_pool_committed_(const kolk_pool *pool) {
    uint64_t sizes[POOL_REGIONS];
    if (pool->memory != MEMORY_GROWS) return pool->block_size;
    measure_pool(pool, pool->capacity, sizes);
    return kolk_block_bytes_(sizes, regions_of(pool->levels), kolk_memory_page_());
}

/* The debug settings that this pool can have. Leaves out red zones that would exceed the address space. */
static kolk_debug_desc_ pool_debug_desc(const kolk_pool_desc *desc, const kolk_settings_ *settings, layout *shape) {
    kolk_debug_desc_ debug = {
        .name = desc->name ? desc->name : "",
        .noun = "slot",
        .settings = *settings,
        .object_size = (uint32_t)desc->object_size,
        .object_align = (uint32_t)desc->object_align,
        .max_capacity = desc->max_capacity,
        .persistent = desc->life.keep || shape->ready,
    };
    if (desc->memory) debug.settings.flags &= ~(uint32_t)KOLK_DEBUG_GUARD;
    kolk_settle_(&debug);
    if (!(debug.settings.flags & KOLK_DEBUG_GUARD)) return debug;

    layout wide = *shape;
    wide.front = debug.front;
    wide.stride = debug.front + debug.object_size + debug.back;
    if (block_bytes(&wide, desc->max_capacity, KOLK_MAX_ALIGN_) > PTRDIFF_MAX) { /* GCOVR_EXCL_START: 32 bits only */
        debug.settings.flags &= ~(uint32_t)KOLK_DEBUG_GUARD;
        debug.front = debug.back = 0;
        return debug;
    } /* GCOVR_EXCL_STOP */
    *shape = wide;
    return debug;
}

static bool make_pool_block(kolk_pool *pool, const kolk_pool_desc *desc, const layout *shape) {
    uint64_t sizes[POOL_REGIONS];
    void *starts[POOL_REGIONS] = {NULL};
    kolk_block_ block = pool_block_of(desc);
    measure_layout(shape, desc->max_capacity, sizes);
    bool made = kolk_block_make_(&block, sizes, regions_of(shape->levels), starts);
    pool->block = block.start;
    pool->block_size = block.size;
    pool->memory = block.kind;
    if (!made || !pool->block) return made;
    pool->slots = starts[POOL_SLOTS] ? (unsigned char *)starts[POOL_SLOTS] + shape->front : NULL;
    pool->states = starts[POOL_STATES];
    pool->ready = starts[POOL_READY];
    pool->ages = starts[POOL_AGES];
    pool->ranks = starts[POOL_RANKS];
    pool->high = starts[POOL_HIGH];
    pool->stack = pool->top = starts[POOL_STACK];
    for (unsigned k = 0; k < MAX_LEVELS; k++) pool->holes[k] = starts[POOL_HOLES + k];
    return commit_slots(pool, desc->capacity);
}

/* The bytes of these slots that count towards the budget. */
static uint64_t bytes_that_count(const kolk_pool *pool, uint32_t slots) {
    return pool->memory == MEMORY_CALLERS ? 0 : (uint64_t)slots * pool->stride;
}

kolk_status kolk_pool_make_(kolk_pool *pool, const kolk_pool_desc *desc, const kolk_settings_ *settings) {
    KOLK_ASSERT_(!pool->block && !pool->debug);
    layout shape = layout_of(desc, desc->max_capacity);
    kolk_debug_desc_ debug = pool_debug_desc(desc, settings, &shape);
    KOLK_ASSERT_(shape.levels <= MAX_LEVELS);
    pool->stride = shape.stride;
    kolk_set_divisor_(pool->stride, &pool->shift, &pool->inverse);
    pool->name = desc->name;
    pool->object_size = desc->object_size;
    pool->object_align = desc->object_align;
    pool->max_capacity = desc->max_capacity;
    pool->reuse = desc->reuse;
    pool->generations = desc->generations;
    pool->keep = desc->life.keep;
    if (KOLK_HOSTED) pool->budget = desc->budget;
    if (desc->memory) pool->memory = MEMORY_CALLERS;
    pool->capacity = pool->counted = desc->capacity;
    pool->levels = (uint8_t)shape.levels;
    pool->debug_flags = (uint16_t)debug.settings.flags;
    pool->in_hook = HOOK_LOOKS; /* on_mark */
    bool fits = kolk_budget_take_all_(desc->budget, bytes_that_count(pool, desc->capacity));
    pool->in_hook = NO_HOOK;
    if (!fits) {
        memset(pool, 0, sizeof *pool);
        return KOLK_OVER_BUDGET;
    }
    if (KOLK_WATCHED_ && debug.settings.flags) {
        pool->debug = kolk_watch_->laid_out(&debug);
        if (pool->debug) pool->objects = pool->debug->objects;
    }
    bool has_debug = !KOLK_WATCHED_ || pool->debug || !debug.settings.flags;
    if (has_debug && make_pool_block(pool, desc, &shape)) return KOLK_OK;
    kolk_pool_unmake_(pool);
    return KOLK_NO_MEMORY;
}

void kolk_pool_unmake_(kolk_pool *pool) {
    if (pool_debug_of(pool)) kolk_watch_->unmade(pool->debug, pool->fresh);
    kolk_block_end_(&(kolk_block_){.start = pool->block, .size = pool->block_size, .kind = pool->memory});
    kolk_budget_give_(pool->budget, bytes_that_count(pool, pool->counted));
    memset(pool, 0, sizeof *pool);
}

/* ---- Growth ------------------------------------------------------------------------------------------------------ */

/* Takes the bytes of the slots up to `end` from the budget, and commits memory for those that have none. The caller
 * must call kolk_pool_show_all_bounds_. */
static kolk_status count_slots(kolk_pool *pool, uint32_t end) {
    if (pool->in_hook == HOOK_LOOKS) return KOLK_IN_HOOK;
    if (end > pool->max_capacity) return KOLK_ABOVE_MAX;
    uint64_t bytes = bytes_that_count(pool, end - pool->counted);
    pool_look look = begin_pool_look(pool); /* on_mark */
    bool fits = kolk_budget_take_all_(pool->budget, bytes);
    end_pool_look(pool, &look);
    if (!fits) return KOLK_OVER_BUDGET;
    if (end > pool->capacity && !commit_slots(pool, end)) {
        kolk_budget_give_(pool->budget, bytes);
        return KOLK_NO_MEMORY;
    }
    pool->counted = end;
    return KOLK_OK;
}

kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity) {
    kolk_status status = capacity > pool->counted ? count_slots(pool, capacity) : KOLK_OK;
    if (status != KOLK_OK) return status;
    if (capacity <= pool->capacity) {
        uint32_t rest = pool->capacity - capacity;
        if (pool->held_back > rest) pool->held_back = rest;
        kolk_pool_show_all_bounds_(pool);
        return KOLK_OK;
    }
    PROBE3(grow, pool_name_of(pool), pool->capacity, capacity);
    uint32_t head = pool->capacity - pool->first;
    if (pool->reuse == KOLK_REUSE_FIFO && listed(pool) > head) { /* the ring wraps: move its first part up */
        kolk_slot_ *first = pool->stack + capacity - head;
        memmove(first, pool->stack + pool->first, head * sizeof *first);
        pool->first = capacity - head;
    }
    pool->capacity = capacity;
    pool->held_back = 0;
    kolk_pool_show_all_bounds_(pool);
    return KOLK_OK;
}

/* With slots held back, the pool opens as many of them as it grew by without them, so that FIFO has the same future. */
bool kolk_pool_grow_(kolk_pool *pool, uint64_t needed) {
    if (needed > pool->max_capacity) return false;
    uint32_t from = open_capacity(pool), most = pool->max_capacity;
    bool again = pool->counted < from;
    if (again) most = from, from = pool->counted;
    uint32_t wish = kolk_block_next_capacity_(from, most, pool->stride);
    if (wish > pool->counted) wish = from + kolk_budget_step_(pool->budget, wish - from, pool->stride);
    if (wish > needed && kolk_pool_reserve(pool, wish) == KOLK_OK) return true;
    return kolk_pool_reserve(pool, (uint32_t)needed) == KOLK_OK;
}
