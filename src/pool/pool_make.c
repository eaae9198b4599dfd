/* pool_make.c: makes a core pool: the rules and defaults of its descriptor, and its init, in the order that process.h
 * explains. */
#include "pool_order.h"

#include "../core/handle.h"
#include "../diag/begin.h"

kolk_status kolk_pool_resolve(kolk_pool_desc *desc, size_t type_size, size_t type_align) {
    kolk_status status = kolk_room_resolve_size(&desc->object_size, &desc->object_align, type_size, type_align);
    if (status != KOLK_OK) return status;
    if ((unsigned)desc->generations > KOLK_GENERATIONS_NONE) return KOLK_BAD_GENERATIONS;
    if (desc->capacity > INT32_MAX) return KOLK_BAD_CAPACITY;
    kolk_room room = pool_room_of(desc);
    status = kolk_room_resolve(&room, kolk_pool_bytes, desc);
    desc->capacity = room.capacity;
    desc->max_capacity = room.max_capacity;
    bool none = status == KOLK_OK && desc->max_capacity == 0 && !desc->overflow;
    return none ? KOLK_ZERO_CAPACITY : status;
}

static void list_pool_stats(const void *pool, kolk_stats *out) {
    kolk_pool_stats((const kolk_pool *)pool, out);
}

static void list_pool_leaks(const void *pool) {
    kolk_pool_list_leaks((const kolk_pool *)pool);
}

static kolk_status pool_enter_scene(void *pool, uint32_t capacity) {
    kolk_pool *self = (kolk_pool *)pool;
    if (kolk_sizes_are_measured()) {
        self->peak = kolk_pool_count(self);
        show_pool_bounds(self);
    }
    return kolk_pool_reserve(self, capacity);
}

static uintptr_t pool_facts(const void *pool) {
    const kolk_pool *self = (const kolk_pool *)pool;
    if (self->fresh > self->capacity || self->capacity > self->desc.max_capacity) return 0; /* I2 */
    return KOLK_FACTS(self->number, (uintptr_t)self->block, (uintptr_t)self->slots, (uintptr_t)self->live, self->stride,
                      (uintptr_t)self->desc.name, self->desc.object_size, self->desc.max_capacity, self->debug_flags,
                      (uintptr_t)self->debug, (uintptr_t)self->stack, self->memory, self->levels);
}

kolk_status kolk_pool_begin(kolk_pool *pool, const kolk_pool_desc *given, size_t type_size, size_t type_align,
                            size_t pool_size, uint32_t abi, kolk_pool_resolver *resolve) {
    static const kolk_kind kind = {
        .stats = list_pool_stats, .enter = pool_enter_scene, .facts = pool_facts, .size = sizeof(kolk_pool)};
    static const kolk_kind kind_with_sites = {.stats = list_pool_stats,
                                              .at_exit = list_pool_leaks,
                                              .enter = pool_enter_scene,
                                              .facts = pool_facts,
                                              .size = sizeof(kolk_pool)};
    kolk_status status = kolk_begin(pool, pool_size, sizeof *pool, abi, given);
    if (status != KOLK_OK) return status;
    kolk_pool_desc desc = *given;
    kolk_settings settings = kolk_settings_of(desc.name, desc.debug);
    kolk_size size = kolk_sizes_ask(desc.name, desc.memory, &desc.capacity, &desc.max_capacity);
    do {
        status = resolve(&desc, type_size, type_align);
        if (status == KOLK_OK) kolk_sizes_settle(&size, desc.capacity);
        if (status == KOLK_OK) status = kolk_pool_make(pool, &desc, &settings);
    } while (status != KOLK_OK && kolk_sizes_withdraw(&size, status));
    if (status != KOLK_OK) return status;
    pool->tag = kolk_tag_bits(desc.tag, desc.name);
    if (pool->ages) pool->ages[0] = (kolk_age){0, 0};
    bool named = desc.name && *desc.name;
    bool counts = desc.reuse == KOLK_REUSE_FIFO || pool_debug_of(pool) || (named && kolk_sizes_are_measured());
    pool->peak = counts ? 0 : PEAK_IS_FRESH;
    POOL_OPTION(show_bounds)(pool);
    bool lists_leaks = pool_has(pool, KOLK_DEBUG_SITES);
    return kolk_enlist(pool, sizeof *pool, &pool->number, lists_leaks ? &kind_with_sites : &kind);
}
