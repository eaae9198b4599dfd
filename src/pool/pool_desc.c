/* pool_desc.c: what the descriptor of a core pool may say, and what stands for 0 in it. */
#include "pool_inside.h"

#include "../core/handle.h"

/* Might a handle of such a pool be taken for one of this pool? Those without slots have no handles. */
static bool shares_tag(const kolk_pool *pool, const kolk_pool_desc *desc) {
    uint32_t most = pool->desc.max_capacity > desc->max_capacity ? pool->desc.max_capacity : desc->max_capacity;
    bool has_handles = desc->max_capacity && desc->generations != KOLK_GENERATIONS_NONE;
    if (!has_handles || !pool->generations) return false;
    return (uint64_t)(pool->tag ^ kolk_tag_bits(desc->tag, desc->name)) >> kolk_index_bits(most) == 0;
}

/* May such a pool overflow into these? */
static bool can_overflow(const kolk_pool *pool, const kolk_pool_desc *desc) {
    for (; pool; pool = pool->desc.overflow) {
        if (pool->desc.object_size != desc->object_size || pool->desc.object_align < desc->object_align) return false;
        if (shares_tag(pool, desc)) return false;
    }
    return true;
}

static bool asks(const kolk_pool_desc *desc, void (*hook)(kolk_pool *pool, void *context)) {
    return desc->on_full == hook || (desc->low_water > 0 && desc->on_low == hook);
}

static kolk_status resolve_room(kolk_pool_desc *desc) {
    if ((unsigned)desc->generations > KOLK_GENERATIONS_NONE) return KOLK_BAD_GENERATIONS;
    kolk_room room = pool_room_of(desc);
    kolk_status status = kolk_room_resolve(&room, kolk_pool_bytes, desc);
    desc->capacity = room.capacity;
    desc->max_capacity = room.max_capacity;
    bool none = status == KOLK_OK && desc->max_capacity == 0 && !desc->overflow;
    return none ? KOLK_ZERO_CAPACITY : status;
}

kolk_status kolk_pool_resolve_plain(kolk_pool_desc *desc, size_t type_size, size_t type_align) {
    kolk_status status = kolk_room_resolve_size(&desc->object_size, &desc->object_align, type_size, type_align);
    return status == KOLK_OK ? resolve_room(desc) : status;
}

kolk_status kolk_pool_resolve(kolk_pool_desc *desc, size_t type_size, size_t type_align) {
    kolk_status status = kolk_room_resolve_size(&desc->object_size, &desc->object_align, type_size, type_align);
    if (status != KOLK_OK) return status;
    if ((unsigned)desc->reuse > KOLK_REUSE_LOWEST) return KOLK_BAD_REUSE;
    if (asks(desc, kolk_pool_evict_cheapest) && !desc->cost) return KOLK_COST_MISSING;
    if (asks(desc, kolk_pool_evict_oldest) && !desc->ages) return KOLK_AGES_MISSING;
    status = resolve_room(desc);
    if (status != KOLK_OK) return status;
    if (desc->low_water == 0) desc->on_low = NULL;
    if (desc->headroom > desc->max_capacity) return KOLK_BAD_HEADROOM;
    return can_overflow(desc->overflow, desc) ? KOLK_OK : KOLK_BAD_OVERFLOW;
}

size_t kolk_pool_memory_size(const kolk_pool_desc *desc) {
    if (!desc) return 0;
    kolk_pool_desc fixed = *desc;
    fixed.memory = NULL;
    fixed.memory_size = 0;
    fixed.max_capacity = 0;
    fixed.overflow = NULL;
    fixed.headroom = 0;
    if (kolk_pool_resolve(&fixed, 0, 0) != KOLK_OK) return 0;
    return (size_t)kolk_pool_bytes(&fixed, fixed.capacity, 8);
}
