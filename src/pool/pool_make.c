/* pool_make.c: makes a core pool: checks its descriptor, fills in defaults, and initialises the pool, in the order that
 * process.h explains. */
#include "pool_order.h"

#include "../core/handle.h"
#include "../core/trim.h"
#include "../core/begin.h"

kolk_status kolk_pool_resolve_(kolk_pool_desc *desc, size_t type_size, size_t type_align) {
    kolk_status status = kolk_block_resolve_size_(&desc->object_size, &desc->object_align, type_size, type_align);
    if (status != KOLK_OK) return status;
    if ((unsigned)desc->generations > KOLK_GENERATIONS_NONE) return KOLK_BAD_GENERATIONS;
    if (desc->capacity > KOLK_POOL_MOST) return KOLK_BAD_CAPACITY;
    kolk_block_ block = pool_block_of(desc);
    status = kolk_block_resolve_(&block, kolk_pool_bytes_, desc);
    desc->capacity = block.capacity;
    desc->max_capacity = block.max_capacity;
    bool fewer = sizeof(kolk_index_) < 4 && desc->capacity > KOLK_POOL_MOST; /* than fit into the memory */
    if (fewer) desc->capacity = desc->max_capacity = KOLK_POOL_MOST;
    bool none = status == KOLK_OK && desc->max_capacity == 0 && !desc->full.overflow;
    return none ? KOLK_ZERO_CAPACITY : status;
}

static void list_pool_stats(const void *pool, kolk_stats *out) {
    kolk_pool_stats((const kolk_pool *)pool, out);
}

static kolk_debug *debug_of_listed_pool(const void *pool, uint32_t *end) {
    const kolk_pool *self = (const kolk_pool *)pool;
    *end = self->fresh;
    return self->debug;
}

static kolk_status pool_enter_scene(void *pool, uint32_t capacity, bool measured) {
    kolk_pool *self = (kolk_pool *)pool;
    if (measured) {
        self->peak = kolk_pool_count(self);
        kolk_pool_show_all_bounds_(self);
    }
    return kolk_pool_reserve(self, capacity);
}

static uintptr_t pool_facts(const void *pool) {
    const kolk_pool *self = (const kolk_pool *)pool;
    if (self->fresh > self->capacity || self->capacity > self->max_capacity) return 0; /* I2 */
    return KOLK_FACTS_(self->number, (uintptr_t)self->block, (uintptr_t)self->slots, (uintptr_t)self->states,
                       self->stride, (uintptr_t)self->name, self->object_size, self->max_capacity, self->debug_flags,
                       (uintptr_t)self->debug, (uintptr_t)self->stack, self->memory, self->levels);
}

const kolk_kind_ kolk_pool_kind_ = {.stats = list_pool_stats,
                                    .debug = debug_of_listed_pool,
                                    .enter = pool_enter_scene,
                                    .facts = pool_facts,
                                    .size = sizeof(kolk_pool),
                                    .id = KOLK_KIND_POOL_};

KOLK_NOINLINE_ kolk_status kolk_pool_begin_(kolk_pool *pool, const kolk_pool_desc *given, size_t type_size,
                                            size_t type_align, size_t pool_size, uint32_t abi,
                                            const kolk_pool_options_ *options) {
    kolk_status status = kolk_begin_(pool, pool_size, sizeof *pool, pool_abi(abi), given);
    if (status != KOLK_OK) return status;
    kolk_pool_desc desc = *given;
    desc.name = kolk_name_kept_(given->name);
    kolk_settings_ settings = kolk_settings_of_(desc.name, desc.debug, true);
    kolk_size_ size = kolk_size_of_(desc.name, desc.memory, &desc.capacity, &desc.max_capacity);
    do {
        status = (options ? options->resolve : kolk_pool_resolve_)(&desc, type_size, type_align);
        if (status == KOLK_OK) kolk_size_settle_(&size, desc.capacity);
        if (status == KOLK_OK) status = kolk_pool_make_(pool, &desc, &settings);
    } while (status != KOLK_OK && kolk_size_withdraw_(&size, status));
    if (status != KOLK_OK) return status;
    pool->tag = kolk_tag_bits_(desc.tag, desc.name);
    if (pool->ages) pool->ages[0] = (kolk_age_){0, 0, 0};
    bool measured = desc.name && *desc.name && kolk_sizes_are_measured_();
    if (options && options->take) options->take(pool, &desc);
    pool->options = pool_debug_of(pool) || measured ? kolk_pool_watched_options_ : options;
    bool counts = desc.reuse == KOLK_REUSE_FIFO || pool_debug_of(pool) || measured;
    pool->peak = counts ? 0 : PEAK_IS_FRESH;
    if (KOLK_HOSTED) pool->tick.trims = kolk_trims_now_(); /* earlier requests are not for this pool */
    show_bounds(pool);
    kolk_list_(pool, sizeof *pool, &pool->number, &kolk_pool_kind_);
    return KOLK_OK;
}

kolk_status kolk_pool_init_plain_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                      size_t pool_size, uint32_t abi) {
    return kolk_pool_begin_(pool, desc, type_size, type_align, pool_size, abi, NULL);
}
