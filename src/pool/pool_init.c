/* pool_init.c: the init of a core pool; process.h says in which order it does things. */
#include "pool_order.h"

#include "../diag/begin.h"
#include "../core/handle.h"

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
    static const kolk_kind kind = {list_pool_stats, NULL, pool_enter_scene, pool_facts, sizeof(kolk_pool)};
    static const kolk_kind kind_with_sites = {list_pool_stats, list_pool_leaks, pool_enter_scene, pool_facts,
                                              sizeof(kolk_pool)};
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

#if !KOLK_DIAGNOSTICS
kolk_status kolk_pool_init_plain(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                 size_t pool_size, uint32_t abi) {
    return kolk_pool_begin(pool, desc, type_size, type_align, pool_size, abi, kolk_pool_resolve_plain);
}
#endif
