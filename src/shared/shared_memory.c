/* shared_memory.c: a shared pool is made by its descriptor, and ends. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../diag/begin.h"
#include "../core/bits.h"
#include "../core/budget.h"
#include "../core/geometry.h"
#include "../core/handle.h"
#include "../core/room.h"
#include "../core/tools.h"
#include "../os/key.h"
#include "../os/lock.h"

#include <string.h>

#define DEFAULT_THREADS 16u
#define DEFAULT_CACHE   256u
#define LEAST_CACHE     4u         /* by default: with less there is nothing to gain */
#define MAX_CACHE       (1u << 28) /* so that a magazine is less than half of the smallest address space */
#define FIRST_EPOCH     4u         /* 0 is offline; nothing was retired in the three before */

_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(kolk_shared) == 800 && sizeof(kolk_shared_desc) == 96 && sizeof(kolk_magazine) == 96),
               "the layout has changed: raise KOLK_ABI");
_Static_assert(sizeof(void *) != 8 || offsetof(kolk_magazine, shift) < 64, "the fast paths read 64 bytes");
_Static_assert(sizeof(kolk_shared) <= KOLK_LARGEST_STRUCT, "the registry copies it");
_Static_assert(sizeof(kolk_member) <= MEMBER_BYTES, "a magazine is behind its member");

static void list_shared_stats(const void *pool, kolk_stats *out) {
    kolk_shared_stats((const kolk_shared *)pool, out);
}

static void set_stride(kolk_shared *pool, uint32_t stride) {
    pool->stride = stride;
    kolk_set_divisor(stride, &pool->shift, &pool->inverse);
}

/* The magazines of all threads but one have at most a quarter of max_capacity. */
static uint32_t default_cache(uint32_t max_capacity, uint32_t other_threads) {
    uint32_t share = other_threads ? max_capacity / 4 / other_threads : DEFAULT_CACHE;
    if (share < LEAST_CACHE) return 0;
    return share < DEFAULT_CACHE ? share : DEFAULT_CACHE;
}

static uint32_t cache_of(const kolk_shared_desc *desc, uint32_t max_capacity, uint32_t other_threads) {
    if (desc->cache == KOLK_NO_CACHE) return 0;
    if (desc->cache) return desc->cache;
    return desc->setup || desc->teardown ? 0 : default_cache(max_capacity, other_threads);
}

/* Fills in what the descriptor leaves out; the pool has its shape then. */
static kolk_status shape(kolk_shared *pool, const kolk_shared_desc *desc, size_t size, size_t align) {
    if (desc->generations != KOLK_GENERATIONS_RECYCLE && desc->generations != KOLK_GENERATIONS_NONE)
        return KOLK_BAD_GENERATIONS;
    uint32_t max = desc->max_capacity ? desc->max_capacity : desc->capacity;
    if (max == 0) return KOLK_ZERO_CAPACITY;
    if (max < desc->capacity) return KOLK_MAX_BELOW_CAPACITY;
    uint32_t threads = desc->max_threads ? desc->max_threads : DEFAULT_THREADS, others = threads - 1;
    uint32_t cache = cache_of(desc, max, others);
    uint64_t slack = (uint64_t)others * cache;
    if (max + slack >= UINT32_MAX || cache > MAX_CACHE) return KOLK_SIZE_OVERFLOW;
    pool->object_size = (uint32_t)size;
    set_stride(pool, (uint32_t)round_up(size, align));
    pool->capacity = desc->capacity;
    pool->max_capacity = max;
    pool->slack = (uint32_t)slack;
    pool->max_threads = pool->range ? 0 : threads;
    pool->record_size = MEMBER_BYTES + (size_t)round_up(sizeof(kolk_magazine) + cache * sizeof(uint32_t), MEMBER_BYTES);
    kolk_depot_begin(&pool->depot, pool->range ? pool->depot.members : &pool->members, max + pool->slack, cache);
    pool->depot.slow_free = desc->exact || desc->reset;
    pool->generations = (uint8_t)desc->generations;
    pool->setup = desc->setup;
    pool->reset = desc->reset;
    pool->teardown = desc->teardown;
    pool->context = desc->context;
    pool->name = desc->name;
    pool->tag = kolk_tag_bits(desc->tag, desc->name);
    return KOLK_OK;
}

/* Takes the settings of the debug mode that this pool, which has its shape, can have; with zones, another stride. */
static kolk_debug_desc debug_desc_of(kolk_shared *pool, const kolk_settings *settings, size_t align, bool keep) {
    kolk_debug_desc debug = {
        .name = shared_name(pool),
        .noun = "slot",
        .settings = *settings,
        .object_size = pool->object_size,
        .object_align = (uint32_t)align,
        .max_capacity = slots_of(pool),
        .persistent = keep || makes_parts(pool),
    };
    kolk_debug_settle(&debug);
    if (debug.front) set_stride(pool, debug.front + debug.object_size + debug.back);
    return debug;
}

/* Fills in a zeroed pool. On failure it holds no memory. */
static kolk_status make(kolk_shared *pool, const kolk_shared_desc *desc, const kolk_settings *settings,
                        size_t type_size, size_t type_align) {
    size_t size = desc->object_size, align = desc->object_align;
    kolk_status status = kolk_room_resolve_size(&size, &align, type_size, type_align);
    if (status == KOLK_OK) status = shape(pool, desc, size, align);
    if (status != KOLK_OK) return status;
    kolk_debug_desc debug = debug_desc_of(pool, settings, align, desc->keep);
    uint32_t first = desc->capacity + (desc->capacity ? pool->slack : 0);
    status = kolk_shared_make_block(pool, first, align, debug.front);
    if (status != KOLK_OK) return status;
    if (kolk_shared_begin_debug(pool, &debug) && kolk_shared_commit(pool, pool->depot.usable)) return KOLK_OK;
    if (pool->debug) kolk_debug_end(pool->debug, 0);
    kolk_shared_end_block(pool);
    return KOLK_NO_MEMORY;
}

/* Is the first of the pool's own members one of its records? */
static bool has_its_members(const kolk_shared *pool) {
    size_t at = pool->members.first - (uintptr_t)pool->records;
    return !pool->members.first || (at % pool->record_size == 0 && at / pool->record_size < pool->max_threads);
}

static uintptr_t shared_facts(const void *given) {
    const kolk_shared *pool = (const kolk_shared *)given;
    const kolk_depot *depot = &pool->depot;
    if (depot->fresh > depot->usable || depot->usable > depot->slots || !pool->record_size) return 0; /* I1 */
    if (!has_its_members(pool)) return 0;
    return KOLK_FACTS(pool->number, (uintptr_t)pool->block, (uintptr_t)pool->slots, (uintptr_t)pool->lives,
                      pool->stride, (uintptr_t)pool->name, pool->object_size, pool->max_capacity, pool->debug_flags,
                      (uintptr_t)pool->debug, (uintptr_t)pool->records, pool->record_size, pool->max_threads,
                      (uintptr_t)depot->free.sheets, depot->slots, depot->word_shift, (uintptr_t)pool->later[0].sheets,
                      (uintptr_t)pool->later[1].sheets, (uintptr_t)pool->later[2].sheets,
                      (uintptr_t)pool->later[3].sheets, (uintptr_t)pool->ready.sheets, (uintptr_t)pool->raw.sheets,
                      (uintptr_t)pool->setup, (uintptr_t)pool->teardown, pool->slack, pool->generations,
                      (uintptr_t)pool->range);
}

/* A class of a heap is in memory of the library. */
static const kolk_kind *kind_of(const kolk_shared *pool) {
    static const kolk_kind kinds[2][2] = {
        {{list_shared_stats, NULL, NULL, shared_facts, sizeof(kolk_shared)},
         {list_shared_stats, kolk_shared_list_leaks, NULL, shared_facts, sizeof(kolk_shared)}},
        {{list_shared_stats, NULL, NULL, NULL, 0}, {list_shared_stats, kolk_shared_list_leaks, NULL, NULL, 0}}};
    return &kinds[pool->range != NULL][(pool->debug_flags & KOLK_DEBUG_SITES) != 0];
}

void kolk_shared_list_part(kolk_shared *pool) {
    if (!pool->number) kolk_registry_try_add(pool, &pool->number, kind_of(pool));
}

/* Makes all, and lists it. */
static kolk_status begin(kolk_shared *pool, const kolk_shared_desc *desc, const kolk_settings *settings,
                         size_t type_size, size_t type_align) {
    kolk_status status = make(pool, desc, settings, type_size, type_align);
    if (status != KOLK_OK) {
        memset(pool, 0, sizeof *pool);
        return status;
    }
    pool->epoch = FIRST_EPOCH;
    pool->waiters_forks = kolk_forks();
    if (!pool->range) return kolk_enlist(pool, sizeof *pool, &pool->number, kind_of(pool));
    kolk_shared_list_part(pool);
    return KOLK_OK;
}

kolk_status kolk_shared_init_type(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size, size_t type_align,
                                  size_t pool_size, uint32_t abi) {
    kolk_status status = kolk_begin(pool, pool_size, sizeof *pool, abi, desc);
    if (status != KOLK_OK) return status;
    kolk_settings settings = kolk_settings_of(desc->name, desc->debug);
    return begin(pool, desc, &settings, type_size, type_align);
}

/* How many objects the range has addresses for, red zones included. */
static uint32_t capacity_of_range(const kolk_part_desc *desc, const kolk_settings *settings) {
    uint64_t stride = desc->size;
    if (settings->flags & KOLK_DEBUG_GUARD) stride += 3 * (desc->align > 16 ? desc->align : 16);
    uint64_t fits = desc->range_size / stride;
    if (fits > UINT32_MAX - 1) fits = UINT32_MAX - 1;
    return desc->max_capacity && desc->max_capacity < fits ? desc->max_capacity : (uint32_t)fits;
}

kolk_status kolk_shared_init_part(kolk_shared *pool, const kolk_part_desc *desc) {
    kolk_settings settings = kolk_settings_of_part(desc->name, desc->debug);
    settings.flags &= ~(uint32_t)KOLK_DEBUG_BYPASS; /* a block's address tells its class */
    uint32_t max_capacity = capacity_of_range(desc, &settings);
    kolk_shared_desc of_class = {
        .name = desc->name,
        .object_size = desc->size,
        .object_align = desc->align,
        .capacity = desc->capacity < max_capacity ? desc->capacity : max_capacity,
        .max_capacity = max_capacity,
        .max_threads = 1, /* no slack: other threads' magazines only make it full earlier */
        .cache = desc->cache ? desc->cache : KOLK_NO_CACHE,
        .generations = KOLK_GENERATIONS_NONE,
        .debug = desc->debug,
    };
    memset(pool, 0, sizeof *pool);
    pool->range = desc->range;
    pool->budget = desc->budget;
    pool->colour = desc->colour;
    pool->depot.members = desc->members;
    kolk_status status = begin(pool, &of_class, &settings, 0, 0);
    uint64_t bytes = (uint64_t)pool->depot.usable * pool->stride;
    if (status != KOLK_OK || bytes == 0 || kolk_budget_take(desc->budget, bytes, bytes)) return status;
    kolk_shared_end(pool, NULL);
    return KOLK_NO_MEMORY;
}

void kolk_shared_end(kolk_shared *pool, const void *site) {
    kolk_registry_remove(pool->number);
    kolk_shared_end_lives(pool, site);
    if (pool->debug) kolk_shared_end_debug(pool);
    if (pool->key) kolk_key_drop(pool->key - 1);
    kolk_shared_end_memory(pool);
    memset(pool, 0, sizeof *pool);
}

KOLK_NOINLINE void kolk_shared_deinit(kolk_shared *pool) {
    const void *site = SITE;
    if (!kolk_is_home(pool, pool->number, pool->name, site)) return;
    if (pool->depot.members != &pool->members) pool->depot.members = &pool->members; /* it was moved */
    if (pool->debug) kolk_shared_prove_all(pool, site); /* the handler may longjmp: nothing has changed */
    kolk_shared_end(pool, site);
}

#endif
