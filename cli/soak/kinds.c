/* kinds.c: what the load does with a pool, for each kind: see load.h. */
#include "load.h"

enum { FIXED = 2000 };

const struct soak_kind soak_kinds[SOAK_KINDS] = {
    {"soak.fixed", SOAK_POOL, FIXED, true, true, KOLK_REUSE_LIFO},
    {"soak.lowest", SOAK_POOL, FIXED, true, true, KOLK_REUSE_LOWEST},
    {"soak.growing", SOAK_POOL, SOAK_MOST, false, true, KOLK_REUSE_FIFO},
    {"soak.slotmap", SOAK_SLOTMAP, FIXED, true, true, 0},
    {"soak.bytemap", SOAK_BYTEMAP, FIXED, true, true, 0},
    {"soak.shared", SOAK_SHARED, SOAK_MOST, true, false, 0}, /* it may hold more than its capacity */
    {"soak.heap", SOAK_HEAP, SOAK_MOST / 4, false, false, 0},
};

static kolk_status begin_pool(struct soak_store *store) {
    const struct soak_kind *kind = store->kind;
    kolk_pool_desc desc = {.name = kind->name, .object_size = SOAK_OBJECT, .reuse = kind->reuse};
    if (kind->fixed)
        desc.capacity = kind->most;
    else
        desc.max_capacity = kind->most;
    return kolk_pool_init(&store->in.pool, &desc);
}

static kolk_status begin_shared(struct soak_store *store) {
    kolk_shared_desc desc = {.name = store->kind->name, .object_size = SOAK_OBJECT, .capacity = store->kind->most};
    kolk_status status = kolk_shared_init(&store->in.shared, &desc);
    return status == KOLK_OK ? kolk_shared_local_init(&store->local, &store->in.shared) : status;
}

kolk_status soak_begin(struct soak_store *store) {
    const struct soak_kind *kind = store->kind;
    kolk_slotmap_desc map = {.name = kind->name, .object_size = SOAK_OBJECT, .capacity = kind->most};
    kolk_bytemap_view view = {.name = kind->name, .object_size = SOAK_OBJECT, .count = (int32_t)kind->most};
    enum soak_member member = kind->member;
    if (member == SOAK_POOL) return begin_pool(store);
    if (member == SOAK_SLOTMAP) return kolk_slotmap_init(&store->in.slotmap, &map);
    if (member == SOAK_BYTEMAP) return kolk_bytemap_initialise_with(&store->in.bytemap, &view);
    if (member == SOAK_SHARED) return begin_shared(store);
    return kolk_heap_init(&store->in.heap, &(kolk_heap_desc){.name = kind->name});
}

void soak_end(struct soak_store *store) {
    if (!store->kind) return;
    enum soak_member member = store->kind->member;
    if (member == SOAK_POOL) kolk_pool_deinit(&store->in.pool);
    if (member == SOAK_SLOTMAP) kolk_slotmap_deinit(&store->in.slotmap);
    if (member == SOAK_BYTEMAP) kolk_bytemap_flush(&store->in.bytemap);
    if (member == SOAK_SHARED && store->local.pool) kolk_shared_local_deinit(&store->local);
    if (member == SOAK_SHARED) kolk_shared_deinit(&store->in.shared);
    if (member == SOAK_HEAP) kolk_heap_deinit(&store->in.heap);
}

static void *alloc_any(struct soak_store *store, size_t size) {
    kolk_handle handle;
    enum soak_member member = store->kind->member;
    if (member == SOAK_POOL) return kolk_pool_alloc(&store->in.pool);
    if (member == SOAK_SLOTMAP) return kolk_slotmap_add(&store->in.slotmap, &handle);
    if (member == SOAK_BYTEMAP) return kolk_bytemap_new(&store->in.bytemap);
    if (member == SOAK_SHARED) return kolk_shared_alloc(&store->local);
    return kolk_heap_alloc(&store->in.heap, size);
}

static uint64_t name_of(const struct soak_store *store, const void *object) {
    enum soak_member member = store->kind->member;
    if (member == SOAK_POOL) return kolk_pool_handle_of(&store->in.pool, object).bits;
    if (member == SOAK_SLOTMAP) return kolk_slotmap_handle_of(&store->in.slotmap, object).bits;
    if (member == SOAK_BYTEMAP) return (uint32_t)kolk_bytemap_get_index(&store->in.bytemap, object);
    if (member == SOAK_SHARED) return kolk_shared_handle_of(&store->in.shared, object).bits;
    return (uintptr_t)object;
}

void *soak_alloc(struct soak_store *store, size_t size, uint64_t *name) {
    void *object = alloc_any(store, size);
    if (object) *name = name_of(store, object);
    return object;
}

void *soak_find(const struct soak_store *store, uint64_t name) {
    kolk_handle handle = {name};
    void *block = (void *)(uintptr_t)name;
    enum soak_member member = store->kind->member;
    if (member == SOAK_POOL) return kolk_pool_get(&store->in.pool, handle);
    if (member == SOAK_SLOTMAP) return kolk_slotmap_get(&store->in.slotmap, handle);
    if (member == SOAK_BYTEMAP) return kolk_bytemap_get_at(&store->in.bytemap, (int32_t)name);
    if (member == SOAK_SHARED) return kolk_shared_get(&store->in.shared, handle);
    return kolk_heap_is_live(&store->in.heap, block) ? block : NULL;
}

/* Objects of a slot map move, so that only their present handle can be looked up. */
void soak_release(struct soak_store *store, void *object) {
    enum soak_member member = store->kind->member;
    if (member == SOAK_POOL) kolk_pool_free(&store->in.pool, object);
    if (member == SOAK_SLOTMAP)
        kolk_slotmap_remove(&store->in.slotmap, kolk_slotmap_handle_of(&store->in.slotmap, object));
    if (member == SOAK_BYTEMAP) kolk_bytemap_delete(&store->in.bytemap, object);
    if (member == SOAK_SHARED) kolk_shared_free(&store->local, object);
    if (member == SOAK_HEAP) kolk_heap_free(&store->in.heap, object);
}

bool soak_is_valid(const struct soak_store *store) {
    enum soak_member member = store->kind->member;
    if (member == SOAK_POOL) return kolk_pool_is_valid(&store->in.pool);
    if (member == SOAK_SLOTMAP) return kolk_slotmap_is_valid(&store->in.slotmap);
    if (member == SOAK_BYTEMAP) return kolk_bytemap_is_valid(&store->in.bytemap);
    if (member == SOAK_SHARED) return kolk_shared_is_valid(&store->in.shared);
    return kolk_heap_is_valid(&store->in.heap);
}

void soak_stats(const struct soak_store *store, kolk_stats *stats) {
    enum soak_member member = store->kind->member;
    if (member == SOAK_POOL) kolk_pool_stats(&store->in.pool, stats);
    if (member == SOAK_SLOTMAP) kolk_slotmap_stats(&store->in.slotmap, stats);
    if (member == SOAK_BYTEMAP) kolk_bytemap_stats(&store->in.bytemap, stats);
    if (member == SOAK_SHARED) kolk_shared_stats(&store->in.shared, stats);
    if (member == SOAK_HEAP) kolk_heap_stats(&store->in.heap, stats);
}
