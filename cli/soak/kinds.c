/* kinds.c: a store under load for each kind of pool. */
#include "store.h"

const struct soak_kind *const soak_kinds[SOAK_KINDS] = {
    &soak_pool_fixed, &soak_pool_lowest, &soak_pool_growing, &soak_slotmap, &soak_bytemap, &soak_shared, &soak_heap};

/* ---- kolk_pool: two of fixed capacity, one that grows ------------------------------------------------------------ */

enum { POOL_SIZE = 48, FIXED = 2000, GROWN = 16000 };

static kolk_status pool_begin(struct soak_store *store, kolk_pool_desc desc) {
    desc.name = store->kind->name;
    desc.object_size = POOL_SIZE;
    return kolk_pool_init(&store->in.pool, &desc);
}

static kolk_status fixed_begin(struct soak_store *store) {
    return pool_begin(store, (kolk_pool_desc){.capacity = FIXED});
}

static kolk_status lowest_begin(struct soak_store *store) {
    return pool_begin(store, (kolk_pool_desc){.capacity = FIXED, .reuse = KOLK_REUSE_LOWEST});
}

static kolk_status growing_begin(struct soak_store *store) {
    return pool_begin(store, (kolk_pool_desc){.max_capacity = GROWN, .reuse = KOLK_REUSE_FIFO});
}

static void pool_end(struct soak_store *store) {
    kolk_pool_deinit(&store->in.pool);
}

static void *pool_alloc(struct soak_store *store, size_t size, uint64_t *name) {
    (void)size;
    void *object = kolk_pool_alloc(&store->in.pool);
    if (object) *name = kolk_pool_handle_of(&store->in.pool, object).bits;
    return object;
}

static void *pool_find(const struct soak_store *store, uint64_t name) {
    return kolk_pool_get(&store->in.pool, (kolk_handle){name});
}

static void pool_release(struct soak_store *store, void *object) {
    kolk_pool_free(&store->in.pool, object);
}

static void pool_rest(struct soak_store *store) {
    kolk_pool_tick(&store->in.pool, 512);
}

static bool pool_is_valid(const struct soak_store *store) {
    return kolk_pool_is_valid(&store->in.pool);
}

static void pool_stats(const struct soak_store *store, kolk_stats *stats) {
    kolk_pool_stats(&store->in.pool, stats);
}

const struct soak_kind soak_pool_fixed = {"soak.fixed", POOL_SIZE,   FIXED,         true,       true,
                                          true,         fixed_begin, pool_end,      pool_alloc, pool_find,
                                          pool_release, NULL,        pool_is_valid, pool_stats};
const struct soak_kind soak_pool_lowest = {"soak.lowest", POOL_SIZE,    FIXED,         true,       true,
                                           true,          lowest_begin, pool_end,      pool_alloc, pool_find,
                                           pool_release,  NULL,         pool_is_valid, pool_stats};
const struct soak_kind soak_pool_growing = {"soak.growing", POOL_SIZE,     GROWN,         false,      true,
                                            true,           growing_begin, pool_end,      pool_alloc, pool_find,
                                            pool_release,   pool_rest,     pool_is_valid, pool_stats};

/* ---- kolk_slotmap: its objects move, so release looks up an object's handle by its present place ----------------- */

static kolk_status slotmap_begin(struct soak_store *store) {
    return kolk_slotmap_init(&store->in.slotmap,
                             &(kolk_slotmap_desc){.name = "soak.slotmap", .object_size = POOL_SIZE, .capacity = FIXED});
}

static void slotmap_end(struct soak_store *store) {
    kolk_slotmap_deinit(&store->in.slotmap);
}

static void *slotmap_alloc(struct soak_store *store, size_t size, uint64_t *name) {
    (void)size;
    kolk_handle handle;
    void *object = kolk_slotmap_add(&store->in.slotmap, &handle);
    *name = handle.bits;
    return object;
}

static void *slotmap_find(const struct soak_store *store, uint64_t name) {
    return kolk_slotmap_get(&store->in.slotmap, (kolk_handle){name});
}

static void slotmap_release(struct soak_store *store, void *object) {
    kolk_slotmap_remove(&store->in.slotmap, kolk_slotmap_handle_of(&store->in.slotmap, object));
}

static void slotmap_rest(struct soak_store *store) {
    kolk_slotmap_trim(&store->in.slotmap);
}

static bool slotmap_is_valid(const struct soak_store *store) {
    return kolk_slotmap_is_valid(&store->in.slotmap);
}

static void slotmap_stats(const struct soak_store *store, kolk_stats *stats) {
    kolk_slotmap_stats(&store->in.slotmap, stats);
}

const struct soak_kind soak_slotmap = {"soak.slotmap",
                                       POOL_SIZE,
                                       FIXED,
                                       true,
                                       true,
                                       false,
                                       slotmap_begin,
                                       slotmap_end,
                                       slotmap_alloc,
                                       slotmap_find,
                                       slotmap_release,
                                       slotmap_rest,
                                       slotmap_is_valid,
                                       slotmap_stats};

/* ---- kolk_bytemap ------------------------------------------------------------------------------------------------ */

static kolk_status bytemap_begin(struct soak_store *store) {
    kolk_bytemap_view view = {.name = "soak.bytemap", .object_size = POOL_SIZE, .count = FIXED};
    return kolk_bytemap_initialise_with(&store->in.bytemap, &view);
}

static void bytemap_end(struct soak_store *store) {
    kolk_bytemap_flush(&store->in.bytemap);
}

static void *bytemap_alloc(struct soak_store *store, size_t size, uint64_t *name) {
    (void)size;
    void *object = kolk_bytemap_new(&store->in.bytemap);
    if (object) *name = (uint32_t)kolk_bytemap_get_index(&store->in.bytemap, object);
    return object;
}

static void *bytemap_find(const struct soak_store *store, uint64_t name) {
    return kolk_bytemap_get_at(&store->in.bytemap, (int32_t)name);
}

static void bytemap_release(struct soak_store *store, void *object) {
    kolk_bytemap_delete(&store->in.bytemap, object);
}

static bool bytemap_is_valid(const struct soak_store *store) {
    return kolk_bytemap_is_valid(&store->in.bytemap);
}

static void bytemap_stats(const struct soak_store *store, kolk_stats *stats) {
    kolk_bytemap_stats(&store->in.bytemap, stats);
}

const struct soak_kind soak_bytemap = {"soak.bytemap",
                                       POOL_SIZE,
                                       FIXED,
                                       true,
                                       true,
                                       false,
                                       bytemap_begin,
                                       bytemap_end,
                                       bytemap_alloc,
                                       bytemap_find,
                                       bytemap_release,
                                       NULL,
                                       bytemap_is_valid,
                                       bytemap_stats};

/* ---- kolk_shared: it may hold more than its capacity, so NULL is not expected there ------------------------------ */

static kolk_status shared_begin(struct soak_store *store) {
    kolk_shared_desc desc = {.name = "soak.shared", .object_size = POOL_SIZE, .capacity = GROWN};
    kolk_status status = kolk_shared_init(&store->in.shared, &desc);
    return status == KOLK_OK ? kolk_shared_local_init(&store->local, &store->in.shared) : status;
}

static void shared_end(struct soak_store *store) {
    if (store->local.pool) kolk_shared_local_deinit(&store->local);
    kolk_shared_deinit(&store->in.shared);
}

static void *shared_alloc(struct soak_store *store, size_t size, uint64_t *name) {
    (void)size;
    void *object = kolk_shared_alloc(&store->local);
    if (object) *name = kolk_shared_handle_of(&store->in.shared, object).bits;
    return object;
}

static void *shared_find(const struct soak_store *store, uint64_t name) {
    return kolk_shared_get(&store->in.shared, (kolk_handle){name});
}

static void shared_release(struct soak_store *store, void *object) {
    kolk_shared_free(&store->local, object);
}

static bool shared_is_valid(const struct soak_store *store) {
    return kolk_shared_is_valid(&store->in.shared);
}

static void shared_stats(const struct soak_store *store, kolk_stats *stats) {
    kolk_shared_stats(&store->in.shared, stats);
}

const struct soak_kind soak_shared = {"soak.shared",  POOL_SIZE,    GROWN,           true,         false,
                                      false,          shared_begin, shared_end,      shared_alloc, shared_find,
                                      shared_release, NULL,         shared_is_valid, shared_stats};

/* ---- kolk_heap: a block's name is its address -------------------------------------------------------------------- */

static kolk_status heap_begin(struct soak_store *store) {
    return kolk_heap_init(&store->in.heap, &(kolk_heap_desc){.name = "soak.heap"});
}

static void heap_end(struct soak_store *store) {
    kolk_heap_deinit(&store->in.heap);
}

static void *heap_alloc(struct soak_store *store, size_t size, uint64_t *name) {
    void *block = kolk_heap_alloc(&store->in.heap, size);
    *name = (uintptr_t)block;
    return block;
}

static void *heap_find(const struct soak_store *store, uint64_t name) {
    void *block = (void *)(uintptr_t)name;
    return kolk_heap_is_live(&store->in.heap, block) ? block : NULL;
}

static void heap_release(struct soak_store *store, void *block) {
    kolk_heap_free(&store->in.heap, block);
}

static bool heap_is_valid(const struct soak_store *store) {
    return kolk_heap_is_valid(&store->in.heap);
}

static void heap_stats(const struct soak_store *store, kolk_stats *stats) {
    kolk_heap_stats(&store->in.heap, stats);
}

const struct soak_kind soak_heap = {"soak.heap", 0,          GROWN / 4, false,        false, false,         heap_begin,
                                    heap_end,    heap_alloc, heap_find, heap_release, NULL,  heap_is_valid, heap_stats};
