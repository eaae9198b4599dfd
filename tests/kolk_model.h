/* kolk_model.h: a pool of arrays and linear searches that says what a kolk_pool must do, and operations that do each
 * thing to both and compare: which slot is given, handles, counts, contents, hooks. Nothing in it knows src/pool.c; it
 * has only read pool.h. */
#ifndef KOLK_MODEL_H
#define KOLK_MODEL_H

#include "kolk_test.h"

#ifndef MODEL_SLOTS
#define MODEL_SLOTS 256u
#endif
#define MODEL_MARGIN 64u /* canaries before and after the caller's memory */

typedef enum place { NEVER, FREE, LIVE, ENDING, WORN } place; /* ENDING: its reset runs */

typedef struct list {
    uint32_t slots[MODEL_SLOTS];
    uint32_t count;
} list;

typedef struct model {
    kolk_pool pool;
    kolk_pool_desc desc;
    const char *what; /* this configuration, for messages */
    uint64_t seed, random, step;
    unsigned char *block; /* the caller's memory and its canaries */
    size_t memory_size;
    uint32_t stride, tag;
    notes taken;

    place places[MODEL_SLOTS];
    uint32_t generations[MODEL_SLOTS]; /* of the life that is or comes next */
    uint64_t stamps[MODEL_SLOTS];      /* what the contents are made of; 0: not known */
    bool set_up[MODEL_SLOTS], setting_up[MODEL_SLOTS];
    list free, worn; /* free: in the order of freeing */
    uint32_t fresh, capacity, count, peak, recycled;
    uint64_t failed, evictions, wrong_pool;

    bool setup_fails, hook_due, hook_frees, clearing, reset_frees;
    uint32_t freeing; /* the slot whose reset is awaited */
} model;

/* Each message says how to see the failure again. */
#define model_fail(m, format, ...)                                                                                     \
    fail_msg("KOLK_TEST_SEED=%" PRIu64 ", step %" PRIu64 ", %s: " format, (m)->seed, (m)->step, (m)->what, __VA_ARGS__)
#define model_assert(m, condition)                                                                                     \
    do {                                                                                                               \
        if (!(condition)) model_fail(m, "line %d: not true: %s", __LINE__, #condition);                                \
    } while (0)

/* ---- Lists and contents ------------------------------------------------------------------------------------------ */

static inline void list_push(list *l, uint32_t slot) {
    l->slots[l->count++] = slot;
}

static inline void list_remove(list *l, uint32_t slot) {
    uint32_t at = 0;
    while (at < l->count && l->slots[at] != slot) at++;
    assert_true(at < l->count);
    l->count--;
    memmove(l->slots + at, l->slots + at + 1, (l->count - at) * sizeof *l->slots);
}

static inline unsigned char content(uint64_t stamp, size_t at) {
    return (unsigned char)((stamp >> (at % 8 * 8)) + at);
}

static inline void *model_object(const model *m, uint32_t slot) {
    return m->pool.slots + (size_t)slot * m->stride;
}

static inline void model_stamp(model *m, uint32_t slot) {
    unsigned char *bytes = (unsigned char *)model_object(m, slot);
    m->stamps[slot] = next_random(&m->random) | 1;
    for (size_t i = 0; i < m->desc.object_size; i++) bytes[i] = content(m->stamps[slot], i);
}

static inline bool model_contents_are_right(const model *m, uint32_t slot) {
    const unsigned char *bytes = (const unsigned char *)model_object(m, slot);
    for (size_t i = 0; m->stamps[slot] && i < m->desc.object_size; i++)
        if (bytes[i] != content(m->stamps[slot], i)) return false;
    return true;
}

static inline bool has_handles(const model *m) {
    return m->desc.generations != KOLK_GENERATIONS_NONE;
}

static inline kolk_handle model_handle(const model *m, uint32_t slot, uint32_t generation) {
    return kolk_handle_unpack((uint64_t)generation << 32 | (slot ^ m->tag));
}

/* The n-th live slot, n below the count. */
static inline uint32_t model_live(const model *m, uint32_t n) {
    uint32_t slot = 0;
    while (m->places[slot] != LIVE || n-- > 0) slot++;
    return slot;
}

static inline uint32_t model_random_live(model *m) {
    return model_live(m, random_below(&m->random, m->count));
}

/* ---- What must happen -------------------------------------------------------------------------------------------- */

/* The slot that the next alloc must give, or NO_SLOT. */
static inline uint32_t model_next(const model *m) {
    if (m->desc.reuse == KOLK_REUSE_FIFO && m->fresh < m->capacity) return m->fresh;
    if (m->free.count) {
        if (m->desc.reuse == KOLK_REUSE_LIFO) return m->free.slots[m->free.count - 1];
        if (m->desc.reuse == KOLK_REUSE_FIFO) return m->free.slots[0];
        uint32_t slot = 0;
        while (m->places[slot] != FREE) slot++;
        return slot;
    }
    if (m->fresh < m->capacity || m->capacity < m->desc.max_capacity) return m->fresh;
    return m->worn.count && m->desc.generations == KOLK_GENERATIONS_RECYCLE ? m->worn.slots[0] : NO_SLOT;
}

static inline void model_put(model *m, uint32_t slot) {
    m->places[slot] = FREE;
    list_push(&m->free, slot);
}

static inline void model_issue_fresh(model *m) {
    m->generations[m->fresh++] = 1;
}

static inline void model_take(model *m, uint32_t slot) {
    if (m->places[slot] == NEVER) {
        model_issue_fresh(m);
    } else if (m->places[slot] == WORN) {
        list_remove(&m->worn, slot);
        m->generations[slot] = 1;
        m->recycled++;
    } else {
        list_remove(&m->free, slot);
    }
    m->places[slot] = ENDING;
}

/* Its life is over; it is in no list yet. */
static inline void model_end(model *m, uint32_t slot) {
    m->places[slot] = ENDING;
    m->count--;
    if (has_handles(m)) m->generations[slot] = (m->generations[slot] + 1) & KOLK_GENERATION_MAX;
}

/* True if it has lived too often for a place among the free. */
static inline bool model_put_if_worn(model *m, uint32_t slot) {
    if (!has_handles(m) || m->generations[slot] != 0) return false;
    m->places[slot] = WORN;
    list_push(&m->worn, slot);
    return true;
}

/* Free slots in such an order that the lowest is next. */
static inline void model_sort(model *m) {
    m->free.count = 0;
    for (uint32_t n = 0; n < m->fresh; n++) {
        uint32_t slot = m->desc.reuse == KOLK_REUSE_LIFO ? m->fresh - 1 - n : n;
        if (m->places[slot] == FREE || m->places[slot] == ENDING) model_put(m, slot);
    }
}

static inline void model_follow_growth(model *m, uint32_t slot) {
    if (slot < m->capacity) return;
    model_assert(m, m->pool.capacity > slot && m->pool.capacity <= m->desc.max_capacity);
    m->capacity = m->pool.capacity;
}

/* The slot begins a life, and its object, or NULL, was given. */
static inline void model_begin(model *m, uint32_t slot, const void *object, bool zeroed) {
    bool set_up = m->set_up[slot] || !(m->desc.setup || m->desc.teardown);
    model_assert(m, m->setting_up[slot] == (!set_up && m->desc.setup));
    m->setting_up[slot] = false;
    if (!set_up && m->desc.setup && m->setup_fails) {
        model_assert(m, object == NULL);
        model_put(m, slot);
        m->failed++;
        return;
    }
    m->set_up[slot] = m->desc.setup || m->desc.teardown;
    model_assert(m, object == model_object(m, slot));
    if (zeroed)
        model_assert(m, all_bytes_are(object, m->desc.object_size, 0));
    else
        model_assert(m, model_contents_are_right(m, slot)); /* what the last life left */
    m->places[slot] = LIVE;
    if (++m->count > m->peak) m->peak = m->count;
    model_stamp(m, slot);
}

/* Alloc was called, and gave this. */
static inline void model_allocated(model *m, const void *object, bool zeroed) {
    model_assert(m, !m->hook_due);
    uint32_t slot = model_next(m);
    if (slot == NO_SLOT) {
        model_assert(m, object == NULL);
        m->failed++;
        return;
    }
    model_follow_growth(m, slot);
    model_take(m, slot);
    model_begin(m, slot, object, zeroed);
}

/* ---- Operations on both ------------------------------------------------------------------------------------------ */

static inline void model_alloc(model *m, bool zeroed) {
    m->hook_due = m->desc.on_full && model_next(m) == NO_SLOT;
    model_allocated(m, zeroed ? kolk_pool_alloc_zeroed(&m->pool) : kolk_pool_alloc(&m->pool), zeroed);
}

static inline void model_alloc_n(model *m, uint32_t n) {
    void *objects[8];
    m->hook_frees = false; /* the objects of the same call are not in the model yet */
    m->setup_fails = false;
    for (uint32_t i = 0; i < n; i++) objects[i] = m;
    uint32_t given = kolk_pool_alloc_n(&m->pool, objects, n);
    m->hook_frees = true;
    model_assert(m, given <= n);
    for (uint32_t i = 0; i < given; i++) model_allocated(m, objects[i], false);
    if (given == n) return;
    model_assert(m, model_next(m) == NO_SLOT);
    m->failed++;
}

static inline void model_free(model *m, uint32_t slot, bool by_handle) {
    void *object = model_object(m, slot);
    model_assert(m, model_contents_are_right(m, slot));
    m->freeing = slot;
    if (by_handle)
        model_assert(m, kolk_pool_free_handle(&m->pool, model_handle(m, slot, m->generations[slot])));
    else
        kolk_pool_free(&m->pool, object);
    m->freeing = NO_SLOT;
    if (!m->desc.reset) model_end(m, slot);
    model_assert(m, m->places[slot] == ENDING);
    if (!model_put_if_worn(m, slot)) model_put(m, slot);
    model_assert(m, model_contents_are_right(m, slot)); /* free leaves the object as it is */
}

static inline void model_clear(model *m) {
    m->clearing = true;
    kolk_pool_clear(&m->pool);
    m->clearing = false;
    for (uint32_t slot = 0; slot < m->fresh; slot++) {
        if (m->places[slot] != LIVE) continue;
        model_assert(m, !m->desc.reset);
        model_end(m, slot);
        model_put_if_worn(m, slot);
    }
    model_assert(m, m->count == 0);
    model_sort(m);
}

static inline size_t model_trim(model *m) {
    size_t bytes = kolk_pool_trim(&m->pool);
    if (m->desc.reuse == KOLK_REUSE_LIFO) model_sort(m);
    if (m->desc.memory) {
        model_assert(m, bytes == 0);
        return 0;
    }
    for (uint32_t slot = 0; slot < m->fresh; slot++)
        if (m->places[slot] != LIVE) m->stamps[slot] = 0;
    return bytes;
}

static inline void model_reserve(model *m, uint32_t capacity) {
    kolk_status status = kolk_pool_reserve(&m->pool, capacity);
    model_assert(m, status == (capacity <= m->desc.max_capacity ? KOLK_OK : KOLK_ABOVE_MAX));
    if (status == KOLK_OK && capacity > m->capacity) m->capacity = capacity;
}

static inline void model_alloc_at(model *m, kolk_handle handle) {
    uint32_t slot = (uint32_t)handle.bits ^ m->tag, generation = (uint32_t)(handle.bits >> 32);
    void *object = kolk_pool_alloc_at(&m->pool, handle);
    bool possible = has_handles(m) && slot < m->desc.max_capacity && generation != 0 &&
                    generation <= KOLK_GENERATION_MAX && m->places[slot] != LIVE &&
                    !(m->places[slot] == WORN && m->desc.generations == KOLK_GENERATIONS_STRICT);
    if (!possible) {
        model_assert(m, object == NULL);
        return;
    }
    model_follow_growth(m, slot);
    uint32_t first = m->fresh;
    if (m->places[slot] != NEVER) {
        model_take(m, slot);
    } else {
        while (m->fresh <= slot) model_issue_fresh(m);
        for (uint32_t n = 0; n < slot - first; n++) /* the lowest of the gap is to be next */
            model_put(m, m->desc.reuse == KOLK_REUSE_LIFO ? slot - 1 - n : first + n);
    }
    model_begin(m, slot, object, false);
    if (!object) return;
    m->generations[slot] = generation;
    if (slot >= m->peak) m->peak = slot + 1;
}

/* Another pool's, as far as the tag tells: it differs above the bits that the indices of this pool need. */
static inline bool model_is_foreign(const model *m, kolk_handle handle) {
    uint64_t indices = 1;
    while (indices < m->desc.max_capacity) indices *= 2;
    return handle.bits >> 32 != 0 && ((uint32_t)handle.bits ^ m->tag) >= indices;
}

/* Get must find what is alive, and nothing else. */
static inline void model_get(model *m, kolk_handle handle) {
    uint32_t slot = (uint32_t)handle.bits ^ m->tag, generation = (uint32_t)(handle.bits >> 32);
    bool valid = has_handles(m) && slot < m->fresh && m->places[slot] == LIVE && m->generations[slot] == generation;
    model_assert(m, kolk_pool_get(&m->pool, handle) == (valid ? model_object(m, slot) : NULL));
    if (model_is_foreign(m, handle)) m->wrong_pool++;
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

static inline uint32_t model_slot_of(const model *m, const void *object) {
    size_t offset = (size_t)((const unsigned char *)object - m->pool.slots);
    model_assert(m, offset % m->stride == 0 && offset / m->stride < m->pool.capacity);
    return (uint32_t)(offset / m->stride);
}

static inline bool model_setup(void *object, void *context) {
    model *m = (model *)context;
    uint32_t slot = model_slot_of(m, object);
    model_assert(m, !m->set_up[slot] && !m->setting_up[slot] && m->places[slot] != LIVE);
    model_assert(m, !kolk_pool_is_live(&m->pool, object));
    m->setting_up[slot] = true;
    return !m->setup_fails;
}

static inline void model_reset(void *object, void *context) {
    model *m = (model *)context;
    uint32_t slot = model_slot_of(m, object), freeing = m->freeing;
    model_assert(m, m->places[slot] == LIVE && (m->clearing || freeing == slot));
    model_assert(m, !kolk_pool_is_live(&m->pool, object));
    model_assert(m, model_contents_are_right(m, slot));
    model_end(m, slot);
    if (m->reset_frees && m->count && random_below(&m->random, 4) == 0) model_free(m, model_random_live(m), false);
    if (freeing != slot) model_put_if_worn(m, slot); /* clear */
    m->freeing = freeing;
}

static inline void model_teardown(void *object, void *context) {
    model *m = (model *)context;
    uint32_t slot = model_slot_of(m, object);
    model_assert(m, m->set_up[slot] && (m->places[slot] != LIVE || m->clearing)); /* deinit: without a reset */
    m->set_up[slot] = false;
}

static inline void model_on_full(kolk_pool *pool, void *context) {
    model *m = (model *)context;
    model_assert(m, pool == &m->pool && kolk_pool_is_valid(pool));
    m->hook_due = false;
    if (!m->hook_frees || m->count == 0) return;
    uint32_t before = m->count, choice = random_below(&m->random, 16);
    if (choice == 0) {
        model_clear(m);
    } else if (choice < 12) {
        model_free(m, model_random_live(m), false);
    } else if (choice == 12) {
        model_assert(m, kolk_pool_alloc(pool) == NULL); /* and does not come here again */
        m->failed++;
    }
    m->evictions += before - m->count;
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static inline void model_compare(const model *m, bool thoroughly) {
    kolk_stats stats;
    kolk_pool_stats(&m->pool, &stats);
    model_assert(m, kolk_pool_count(&m->pool) == m->count && stats.count == m->count);
    uint32_t lost = m->desc.generations == KOLK_GENERATIONS_STRICT ? m->worn.count : 0;
    model_assert(m, kolk_pool_available(&m->pool) == m->capacity - m->count - lost);
    model_assert(m, stats.capacity == m->capacity && stats.max_capacity == m->desc.max_capacity);
    model_assert(m, stats.peak == (m->desc.reuse == KOLK_REUSE_FIFO ? m->peak : m->fresh));
    model_assert(m, stats.unused_bytes == (uint64_t)(m->capacity - stats.peak) * m->stride);
    model_assert(m, stats.failed == m->failed && stats.evictions == m->evictions);
    model_assert(m, stats.worn_out == m->worn.count && stats.recycled == m->recycled);
    model_assert(m, stats.wrong_pool == m->wrong_pool);
    if (!thoroughly) return;
    model_assert(m, kolk_pool_is_valid(&m->pool));
    for (uint32_t slot = 0; slot < m->desc.max_capacity; slot++) {
        bool live = m->places[slot] == LIVE;
        void *object = model_object(m, slot);
        model_assert(m, kolk_pool_at(&m->pool, slot) == (live ? object : NULL));
        model_assert(m, kolk_pool_is_live(&m->pool, object) == live);
        if (!live) continue;
        model_assert(m, kolk_pool_index(&m->pool, object) == slot && model_contents_are_right(m, slot));
        if (!has_handles(m)) continue;
        kolk_handle handle = kolk_pool_handle(&m->pool, object);
        model_assert(m, kolk_handle_equal(handle, model_handle(m, slot, m->generations[slot])));
        model_assert(m, kolk_pool_get(&m->pool, handle) == object);
    }
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Makes the pool that m->desc describes, if `foreign` on dirty memory of the caller's with canaries around it. */
static inline void model_init(model *m, bool foreign) {
    m->desc.context = m;
    m->freeing = NO_SLOT;
    m->hook_frees = true;
    if (foreign) {
        m->memory_size = kolk_pool_memory_size(&m->desc);
        m->block = (unsigned char *)malloc(m->memory_size + 2 * MODEL_MARGIN);
        assert_non_null(m->block);
        fill_random(&m->random, m->block, m->memory_size + 2 * MODEL_MARGIN);
        memset(m->block, 0xca, MODEL_MARGIN);
        memset(m->block + MODEL_MARGIN + m->memory_size, 0xca, MODEL_MARGIN);
        m->desc.memory = m->block + MODEL_MARGIN;
        m->desc.memory_size = m->memory_size;
    }
    begin_notes(&m->taken);
    make_pool(&m->pool, &m->desc);
    if (m->desc.max_capacity == 0) m->desc.max_capacity = m->desc.capacity;
    m->capacity = m->desc.capacity;
    m->stride = m->pool.stride;
    m->tag = m->pool.tag;
}

static inline void model_deinit(model *m) {
    m->clearing = true;
    kolk_pool_deinit(&m->pool);
    model_assert(m, is_all_zero(&m->pool));
    model_assert(m, m->taken.count == 0);
    for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++) {
        model_assert(m, !m->desc.reset || m->places[slot] != LIVE);
        model_assert(m, !m->desc.teardown || !m->set_up[slot]);
    }
    if (!m->block) return;
    model_assert(m, all_bytes_are(m->block, MODEL_MARGIN, 0xca));
    model_assert(m, all_bytes_are(m->block + MODEL_MARGIN + m->memory_size, MODEL_MARGIN, 0xca));
    free(m->block);
}

#endif
