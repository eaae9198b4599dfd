/* remote_kinds.c: the statistics of each kind of pool in another process, except for heaps. See remote.h. */
#include "remote.h"

#include "../ipc/ipc_inside.h"
#include "../queue/queue_inside.h"
#include "../resource/resource_inside.h"
#include "../shared/shared_inside.h"
#include "kolk/bytemap.h"
#include "kolk/pool.h"
#include "kolk/slotmap.h"

#if KOLK_REMOTE_

/* The generation of a slot counts the ends of its lives. */
static void count_allocs(kolk_remote_ *remote, const void *generations, uint32_t slots, size_t step,
                         kolk_record_ *out) {
    out->allocs = out->stats.count;
    out->has_allocs = kolk_remote_sum_(remote, generations, slots, step, &out->allocs);
    out->allocs -= slots; /* they begin at 1 */
}

static void count_pool_allocs(kolk_remote_ *remote, const kolk_pool *pool, kolk_record_ *out) {
    uint64_t high = 0;
    count_allocs(remote, pool->states, pool->fresh, sizeof *pool->states, out);
    out->has_allocs = out->has_allocs && kolk_remote_sum_(remote, pool->high, pool->fresh, sizeof *pool->high, &high);
    out->allocs += high * KOLK_LOWS_;
}

static void see_slots(kolk_remote_ *remote, const void *slots, uint32_t capacity, uint32_t stride, uint32_t debug) {
    if (debug & KOLK_DEBUG_BYPASS)
        remote->blind = true; /* malloc has the objects */
    else
        kolk_remote_see_(remote, slots, (uint64_t)capacity * stride);
}

bool kolk_remote_pool_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    const kolk_pool *pool = (const kolk_pool *)copy;
    (void)there;
    kolk_pool_kind_.stats(copy, &out->stats);
    see_slots(remote, pool->slots, pool->capacity, pool->stride, pool->debug_flags);
    if (pool->high) count_pool_allocs(remote, pool, out);
    return true;
}

bool kolk_remote_slotmap_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    const kolk_slotmap *map = (const kolk_slotmap *)copy;
    (void)there;
    kolk_slotmap_kind_.stats(copy, &out->stats);
    see_slots(remote, map->objects, map->capacity, map->stride, map->debug_flags);
    if (map->cells) count_allocs(remote, &map->cells->generation, map->fresh, sizeof *map->cells, out);
    return true;
}

/* A push is an alloc. The ticket has its lap above its cell's number. */
bool kolk_remote_queue_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    const kolk_queue *queue = (const kolk_queue *)copy;
    uint64_t ticket = queue->ends[0].ticket >> TICKETS, cells = queue->mask + 1;
    (void)there;
    kolk_queue_kind_.stats(copy, &out->stats);
    if (cells) kolk_remote_see_(remote, queue->cells, (uint64_t)queue->capacity * queue->stride);
    out->has_allocs = cells != 0;
    if (cells) out->allocs = ticket / cells * queue->capacity + ticket % cells;
    return true;
}

bool kolk_remote_bytemap_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    kolk_bytemap *pool = (kolk_bytemap *)copy;
    (void)there;
    if (!pool->initialized_state || pool->count < 0) return false;
    pool->byte_map = (uint8_t *)kolk_remote_copy_(remote, pool->byte_map, (size_t)pool->count);
    if (!pool->byte_map) return false;
    kolk_bytemap_stats(pool, &out->stats);
    if (pool->object_size <= UINT32_MAX)
        kolk_remote_see_(remote, pool->object_list, (uint64_t)pool->count * pool->object_size);
    return true;
}

bool kolk_remote_shared_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    const kolk_shared *pool = (const kolk_shared *)copy;
    const kolk_shared_inside_ *inside =
        (const kolk_shared_inside_ *)kolk_remote_copy_(remote, pool->inside, sizeof *inside);
    (void)there;
    if (!inside || !kolk_remote_store_(remote, &inside->store, &pool->inside->store, "shared", &out->stats))
        return false;
    kolk_shared_add_waits_(inside, &out->stats);
    if (inside->store.lives) { /* which count the beginnings and the ends of lives */
        out->has_allocs = kolk_remote_sum_(remote, inside->store.lives, kolk_store_fresh_(&inside->store),
                                           sizeof(uint32_t), &out->allocs);
        out->allocs = (out->allocs + out->stats.count) / 2;
    }
    return true;
}

bool kolk_remote_resource_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    kolk_resource_inside_ *inside = (kolk_resource_inside_ *)kolk_remote_copy_(remote, there, sizeof *inside);
    (void)copy;
    if (!inside) return false;
    kolk_resource_sum_up_(inside, &inside->listed);
    inside->listed.name = "";
    kolk_resource_fill_(inside, &out->stats);
    out->more = &inside->listed;
    out->has_allocs = true;
    out->allocs = inside->counts.borrows;
    return true;
}

/* The block is mapped in that process, at addresses of its own. The generation of a slot counts the beginnings and the
 * ends of its lives. */
bool kolk_remote_ipc_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    kolk_ipc *pool = (kolk_ipc *)copy;
    kolk_ipc_holder most[KOLK_HOLDERS_];
    size_t lives = (size_t)pool->capacity * sizeof(uint64_t);
    (void)there;
    if (pool->capacity > KOLK_REMOTE_MOST_ / sizeof(uint64_t) || pool->max_processes > IPC_OWNER) return false;
    kolk_remote_see_(remote, pool->slots, (uint64_t)pool->capacity * pool->stride);
    pool->lives = (uint64_t *)kolk_remote_copy_(remote, pool->lives, lives);
    pool->block = (ipc_block *)kolk_remote_copy_(remote, pool->block,
                                                 IPC_HEADER + (pool->max_processes + 1) * sizeof(ipc_process));
    if (!pool->lives || !pool->block) return false;
    kolk_ipc_stats(pool, &out->stats);
    uint32_t n = kolk_ipc_holders(pool, most, KOLK_HOLDERS_);
    if (kolk_places_of_holders_(most, n, out->stats.count, &remote->places)) out->places = &remote->places;
    out->has_allocs = true;
    for (uint32_t slot = 0; slot < pool->capacity; slot++) out->allocs += (generation_of(life_at(pool, slot)) + 1) / 2;
    return true;
}

#endif
