/* shared_memory.c: makes a shared pool from its descriptor, and ends it. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/handle.h"
#include "../core/block.h"
#include "../core/tools.h"
#include "../core/begin.h"
#include "../os/key.h"
#include "../os/lock.h"

#include <string.h>

#define DEFAULT_THREADS 16u
#define DEFAULT_CACHE   256u
#define LEAST_CACHE     4u         /* the least default: a smaller cache gains nothing */
#define MAX_CACHE       (1u << 28) /* so that a magazine is less than half of the smallest address space */
#define FIRST_EPOCH     4u         /* 0 means offline; no slot was retired in the three epochs before */

_Static_assert(sizeof(void *) != 8 ||
                   (sizeof(kolk_shared) == 48 && sizeof(kolk_shared_desc) == 112 && sizeof(kolk_magazine_) == 96),
               "the layout has changed: raise KOLK_ABI");
_Static_assert(sizeof(void *) != 8 || offsetof(kolk_magazine_, shift) < 64, "the fast paths read 64 bytes");
_Static_assert(sizeof(kolk_sharer_) <= THREAD_BYTES, "a magazine is behind its thread");

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* The magazines of all threads but one together hold at most a quarter of max_capacity. */
static uint32_t default_cache(uint32_t max_capacity, uint32_t other_threads) {
    uint32_t share = other_threads ? max_capacity / 4 / other_threads : DEFAULT_CACHE;
    if (share < LEAST_CACHE) return 0;
    return share < DEFAULT_CACHE ? share : DEFAULT_CACHE;
}

static uint32_t cache_of(const kolk_shared_desc *desc, uint32_t max_capacity, uint32_t other_threads) {
    if (desc->cache == KOLK_NO_CACHE) return 0;
    if (desc->cache) return desc->cache;
    return desc->life.setup || desc->life.teardown ? 0 : default_cache(max_capacity, other_threads);
}

/* Fills the defaults into a descriptor, and checks it. Afterwards a desc->cache of 0 means no cache. */
static kolk_status resolve(kolk_shared_desc *desc, size_t type_size, size_t type_align) {
    kolk_status status = kolk_block_resolve_size_(&desc->object_size, &desc->object_align, type_size, type_align);
    if (status != KOLK_OK) return status;
    if (desc->generations != KOLK_GENERATIONS_RECYCLE && desc->generations != KOLK_GENERATIONS_NONE)
        return KOLK_BAD_GENERATIONS;
    if (desc->max_capacity == 0) desc->max_capacity = desc->capacity;
    if (desc->max_capacity == 0) return KOLK_ZERO_CAPACITY;
    if (desc->capacity > INT32_MAX) return KOLK_BAD_CAPACITY;
    if (desc->max_capacity < desc->capacity) return KOLK_MAX_BELOW_CAPACITY;
    if (desc->max_threads == 0) desc->max_threads = DEFAULT_THREADS;
    desc->cache = cache_of(desc, desc->max_capacity, desc->max_threads - 1);
    uint64_t slack = (uint64_t)(desc->max_threads - 1) * desc->cache;
    return desc->max_capacity + slack >= UINT32_MAX || desc->cache > MAX_CACHE ? KOLK_SIZE_OVERFLOW : KOLK_OK;
}

/* ---- Make -------------------------------------------------------------------------------------------------------- */

static size_t size_of_sharer(uint32_t cache) {
    return THREAD_BYTES + (size_t)round_up(sizeof(kolk_magazine_) + cache * sizeof(uint32_t), THREAD_BYTES);
}

static size_t size_of_inside(void) {
    return (size_t)round_up(sizeof(kolk_shared_inside_), THREAD_BYTES);
}

/* Makes the inside of a pool from its resolved descriptor. NULL: *status is the reason. */
static kolk_shared_inside_ *make_shared(const kolk_shared_desc *desc, const kolk_settings_ *settings,
                                        kolk_status *status) {
    bool parts = desc->life.setup || desc->life.teardown;
    uint32_t slack = (desc->max_threads - 1) * desc->cache;
    size_t record_size = size_of_sharer(desc->cache);
    kolk_store_desc_ of_store = {
        .name = desc->name ? desc->name : "",
        .object_size = desc->object_size,
        .object_align = desc->object_align,
        .capacity = desc->capacity ? desc->capacity + slack : 0,
        .slots = desc->max_capacity + slack,
        .slack = slack,
        .cache = desc->cache,
        .budget = desc->budget,
        .has_handles = desc->generations != KOLK_GENERATIONS_NONE,
        .slow_free = desc->exact || desc->life.reset,
        .persistent = desc->life.keep || parts,
        .singly = parts,
        .n_sets = parts ? SETS : RAW,
        .n_free_sets = parts ? READY : RAW,
        .owners_size = size_of_inside() + desc->max_threads * record_size,
    };
    kolk_slot_store_ store = {.slots = NULL};
    *status = kolk_store_begin_(&store, &of_store, settings);
    if (*status != KOLK_OK) return NULL;
    kolk_shared_inside_ *inside = (kolk_shared_inside_ *)store.owners;
    *inside = (kolk_shared_inside_){
        .store = store,
        .records = (unsigned char *)store.owners + size_of_inside(),
        .record_size = record_size,
        .tag = kolk_tag_bits_(desc->tag, desc->name),
        .max_threads = desc->max_threads,
        .exact = desc->exact,
        .life = desc->life,
        .context = desc->context,
        .epoch = FIRST_EPOCH,
        .waiters_forks = kolk_forks_(),
    };
    inside->store.depot.keepers = &inside->keepers;
    inside->store.more = parts ? kolk_shared_take_raw_ : NULL;
    inside->store.put_back = parts ? kolk_shared_put_back_ : NULL;
    return inside;
}

/* ---- Registry ---------------------------------------------------------------------------------------------------- */

static void list_shared_stats(const void *pool, kolk_stats *out) {
    kolk_shared_stats((const kolk_shared *)pool, out);
}

static kolk_debug *debug_of_listed_shared(const void *pool, uint32_t *end) {
    const kolk_slot_store_ *store = &((const kolk_shared *)pool)->inside->store;
    *end = kolk_store_fresh_(store);
    return store->debug;
}

static uintptr_t shared_facts(const void *given) {
    const kolk_shared *pool = (const kolk_shared *)given;
    return KOLK_FACTS_(pool->number, (uintptr_t)pool->slots, (uintptr_t)pool->lives, pool->stride, pool->tag,
                       (uintptr_t)pool->name, (uintptr_t)pool->inside);
}

const kolk_kind_ kolk_shared_kind_ = {.stats = list_shared_stats,
                                      .debug = debug_of_listed_shared,
                                      .facts = shared_facts,
                                      .size = sizeof(kolk_shared),
                                      .id = KOLK_KIND_SHARED_,
                                      .layout = sizeof(kolk_shared_inside_) + sizeof(kolk_magazine_)};

/* ---- Life -------------------------------------------------------------------------------------------------------- */

kolk_status kolk_shared_init_abi_(kolk_shared *pool, const kolk_shared_desc *given, size_t type_size, size_t type_align,
                                  size_t pool_size, uint32_t abi) {
    kolk_status status = kolk_begin_(pool, pool_size, sizeof *pool, abi, given);
    if (status != KOLK_OK) return status;
    kolk_settings_ settings = kolk_settings_of_(given->name, given->debug, true);
    kolk_shared_desc desc = *given;
    desc.name = kolk_name_kept_(given->name);
    status = resolve(&desc, type_size, type_align);
    if (status != KOLK_OK) return status;
    kolk_shared_inside_ *inside = make_shared(&desc, &settings, &status);
    if (!inside) return status;
    const kolk_slot_store_ *store = &inside->store;
    *pool = (kolk_shared){
        .slots = store->slots,
        .lives = store->lives,
        .stride = store->stride,
        .tag = inside->tag,
        .bound = store->debug ? 0 : kolk_store_usable_(store),
        .name = desc.name,
        .inside = inside,
    };
    return kolk_list_(pool, sizeof *pool, &pool->number, &kolk_shared_kind_);
}

/* Would the descriptor lay the pool out as it is? */
static bool keeps_shared_layout(const kolk_shared_inside_ *inside, const kolk_shared_desc *desc) {
    const kolk_slot_store_ *store = &inside->store;
    uint32_t max_capacity = store->depot.slots - store->slack;
    bool sizes = kolk_is_capacity_kept_(desc->capacity, desc->max_capacity, kolk_store_capacity_(store), max_capacity);
    uint32_t cache = desc->cache == KOLK_NO_CACHE ? 0 : desc->cache;
    bool threads =
        kolk_is_kept_(desc->max_threads, inside->max_threads) && (!desc->cache || cache == store->depot.cache);
    bool tag = kolk_is_tag_kept_(desc->tag, inside->tag);
    kolk_generations own = store->lives ? KOLK_GENERATIONS_RECYCLE : KOLK_GENERATIONS_NONE;
    bool handles = kolk_is_kept_(desc->generations, own) && tag;
    bool budget = kolk_is_kept_((uintptr_t)desc->budget, (uintptr_t)store->budget);
    bool parts =
        (desc->life.setup || desc->life.teardown) == makes_parts(inside) && !desc->life.reset == !inside->life.reset;
    bool kept = kolk_is_kept_(desc->exact, inside->exact) && kolk_is_kept_(desc->life.keep, inside->life.keep);
    return sizes && threads && handles && budget && parts && kept;
}

KOLK_NOINLINE_ kolk_status kolk_shared_rebind_abi_(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size,
                                                   size_t type_align, size_t pool_size, uint32_t abi) {
    kolk_status status = kolk_check_call_(pool_size, sizeof *pool, abi, desc);
    if (status != KOLK_OK) return status;
    kolk_shared_inside_ *inside = pool->inside;
    if (!inside) return KOLK_STRUCT_CHANGED;
    if (!kolk_is_home_(pool, pool->number, pool->name, SITE)) return KOLK_MOVED;
    if (kolk_shared_runs_hook_(inside)) return KOLK_IN_HOOK;
    kolk_slot_store_ *store = &inside->store;
    status = kolk_block_match_size_(desc->object_size, desc->object_align, type_size, type_align, store->object_size,
                                    store->slots, store->stride);
    if (status != KOLK_OK) return status;
    if (!keeps_shared_layout(inside, desc)) return KOLK_LAYOUT_CHANGED;
    bool keep = inside->life.keep;
    inside->life = desc->life;
    inside->life.keep = keep;
    inside->context = desc->context;
    pool->name = kolk_name_kept_(desc->name);
    kolk_raw_store_(&store->name, pool->name ? pool->name : "", KOLK_RELAXED_); /* statistics may read it */
    kolk_relist_(pool->number, pool->name, store->debug);
    return KOLK_OK;
}

KOLK_NOINLINE_ void kolk_shared_deinit(kolk_shared *pool) {
    const void *site = SITE;
    kolk_shared_inside_ *inside = pool->inside;
    if (!inside || !kolk_is_home_(pool, pool->number, pool->name, site)) return;
    if (kolk_shared_is_all_barred_(inside, "deinit", site)) return;
    if (inside->store.debug) { /* first, because the handler may longjmp */
        kolk_store_prove_all_(&inside->store, site);
        kolk_store_report_leaks_(&inside->store);
    }
    kolk_unlist_(pool->number);
    pool->number = 0; /* a hook may make a local */
    kolk_shared_end_lives_(inside, site);
    kolk_store_end_lives_(&inside->store, site);
    if (inside->key) kolk_key_drop_(inside->key - 1);
    kolk_store_close_account_(&inside->store);
    kolk_shared_inside_ last = *inside; /* a copy, because the block is released */
    kolk_shared_end_memory_(&last);
    memset(pool, 0, sizeof *pool);
}

#endif
