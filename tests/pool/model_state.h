/* model_state.h: a model of kolk_pool made of arrays and linear searches. It was written from pool.h alone and uses
 * none of the code in src/pool/pool.c. */
#ifndef TESTS_MODEL_STATE_H
#define TESTS_MODEL_STATE_H

#include "../help/plain.h"

#include <kolk/budget.h>

#ifndef MODEL_SLOTS
#define MODEL_SLOTS 256u
#endif

/* WAITING: in quarantine. BETWEEN: taken but not yet alive, or no longer alive but not yet free, as during setup or
 * reset. HELD: freed while it was pinned. */
typedef enum place { NEVER, FREE, WAITING, WORN, LIVE, BETWEEN, HELD } place;

typedef enum way { BY_POINTER, BY_ARRAY, BY_INDEX, BY_HANDLE, BY_COST, BY_AGE } way;

/* The parts around and in an object that the debug mode watches for stray writes. */
enum { BEFORE, BEHIND, BODY, PARTS };

typedef struct list {
    uint32_t slots[MODEL_SLOTS];
    uint32_t count;
} list;

typedef struct model {
    kolk_pool pool;
    kolk_pool_desc desc;
    kolk_budget budget; /* of this pool alone */
    const char *what;   /* names this configuration in messages */
    uint64_t seed, random, step;
    uint32_t stride, tag;

    place places[MODEL_SLOTS];
    uint32_t generations[MODEL_SLOTS]; /* of the current life, or of the next one if the slot is dead */
    uint64_t stamps[MODEL_SLOTS];      /* determines the contents; 0: unknown */
    bool set_up[MODEL_SLOTS], setting_up[MODEL_SLOTS];
    bool kept[MODEL_SLOTS];          /* no trim since its last life may have discarded its contents */
    bool filled[MODEL_SLOTS];        /* with the debug mode's pattern */
    bool born_in_clear[MODEL_SLOTS]; /* allocated during clear by a reset hook; clear may or may not have freed it */
    bool damaged[MODEL_SLOTS][PARTS];
    uint32_t damaged_at[MODEL_SLOTS][PARTS];
    unsigned mood; /* what all costs depend on */
    uint64_t births[MODEL_SLOTS];
    void *objects[MODEL_SLOTS];         /* with bypass: where the slot's last object is; NULL: unknown */
    bool is_protected[MODEL_SLOTS];     /* and so not in the order of births */
    uint32_t pins[MODEL_SLOTS], pinned; /* of a slot; of all */
    list free, waiting, worn;           /* free: in the order of frees */
    list order;                         /* the order of births */
    uint32_t fresh, live, peak, recycled;
    uint32_t capacity;  /* which counts for the order of reuse */
    uint32_t held_back; /* FIFO: slots that the pool has, but had not when a snapshot was taken that was restored */
    uint32_t count;     /* slots that are LIVE, BETWEEN or HELD */
    bool counts_peak;   /* if false, the peak equals fresh */
    uint64_t failed, evictions, wrong_pool, born, leaked;

    uint32_t debug;      /* KOLK_DEBUG_ flags: those requested, and after init those in force */
    uint32_t quarantine; /* its length */
    uint32_t damages;    /* not yet reported */
    bool bad_setting;

    bool urgent; /* this alloc is urgent, or has evicted an object */
    bool setup_fails, hook_due, trap_due, in_hook, in_alloc_n, clearing;
    bool declined;   /* on_full has returned false, so this alloc fails */
    uint32_t victim; /* the slot that this alloc evicts, by a ready-made hook or alloc_over */
    uint32_t before; /* `count` before this alloc */
    bool setup_frees, setup_allocs, reset_frees, reset_allocs; /* what hooks do now and then */
    bool refused;                                              /* the system refuses memory for growth */
    uint32_t freeing;                                          /* the slot that may be evicted or reset now */
    uint32_t wanted;                                           /* the slot that alloc_at asks for */
    uint32_t prepared;                                         /* the slot taken when its setup ran */
    unsigned depth;                                            /* how deeply hooks are nested */
    notes taken;
} model;

#ifdef TESTS_TEST_H /* each message states how to repeat the failure */
#define model_fail(m, format, ...)                                                                                     \
    fail_msg("KOLK_TEST_SEED=%" PRIu64 ", step %" PRIu64 ", %s: " format, (m)->seed, (m)->step, (m)->what, __VA_ARGS__)
#endif
#include "../help/model_fails.h"

/* ---- Lists and contents ------------------------------------------------------------------------------------------ */

static inline void list_push(list *l, uint32_t slot) {
    l->slots[l->count++] = slot;
}

static inline bool list_remove(list *l, uint32_t slot) {
    uint32_t at = 0;
    while (at < l->count && l->slots[at] != slot) at++;
    if (at == l->count) return false;
    l->count--;
    memmove(l->slots + at, l->slots + at + 1, (l->count - at) * sizeof *l->slots);
    return true;
}

static inline unsigned char content(uint64_t stamp, size_t at) {
    return (unsigned char)((stamp >> (at % 8 * 8)) + at);
}

/* Is each object a malloc block of its own? */
static inline bool is_bypassed(const model *m) {
    return m->debug & KOLK_DEBUG_BYPASS;
}

/* Do contents survive between lives? If so, nothing is filled, and under bypass each slot keeps its block. */
static inline bool has_persistent(const model *m) {
    return m->desc.life.keep || m->desc.life.setup || m->desc.life.teardown;
}

/* Returns the slot's object. Computes with integers, as `slots` is NULL in a pool without slots. */
static inline void *model_object(const model *m, uint32_t slot) {
    if (is_bypassed(m)) return slot < MODEL_SLOTS ? m->objects[slot] : NULL;
    return (void *)((uintptr_t)m->pool.slots + (size_t)slot * m->stride);
}

/* With bypass, malloc may have reused a dead object's address for another slot. */
static inline bool model_is_last_at(const model *m, uint32_t slot) {
    for (uint32_t other = 0; is_bypassed(m) && other < MODEL_SLOTS; other++)
        if (m->objects[other] == m->objects[slot] && m->births[other] > m->births[slot]) return false;
    return true;
}

/* Finds the slot whose object begins at this address, otherwise one that contains it, otherwise NO_SLOT. Sets `inside`
 * to the offset in it. */
static inline uint32_t model_locate(const model *m, const void *pointer, size_t *inside) {
    uint32_t found = NO_SLOT, end = is_bypassed(m) ? MODEL_SLOTS : m->pool.capacity;
    size_t size = is_bypassed(m) ? m->desc.object_size : m->stride;
    for (uint32_t slot = 0; slot < end; slot++) {
        size_t at = (size_t)((uintptr_t)pointer - (uintptr_t)model_object(m, slot));
        if (at >= size || !model_object(m, slot) || !model_is_last_at(m, slot)) continue;
        bool unissued = is_bypassed(m) && slot >= m->fresh; /* after a restore: only its start is known */
        if (at && (unissued || found != NO_SLOT)) continue;
        found = slot;
        *inside = at;
        if (at == 0) break;
    }
    return found;
}

/* Returns the next byte to compare. Small objects are compared whole, large ones only at both ends. */
static inline size_t model_step(const model *m, size_t at) {
    return at == 63 && m->desc.object_size > 128 ? m->desc.object_size - 64 : at + 1;
}

static inline void model_stamp(model *m, uint32_t slot) {
    unsigned char *bytes = (unsigned char *)model_object(m, slot);
    m->stamps[slot] = next_random(&m->random) | 1;
    for (size_t i = 0; i < m->desc.object_size; i = model_step(m, i)) bytes[i] = content(m->stamps[slot], i);
}

static inline bool model_contents_are_right(const model *m, uint32_t slot) {
    const unsigned char *bytes = (const unsigned char *)model_object(m, slot);
    if (m->damaged[slot][BODY]) return true;
    if (m->filled[slot]) return has_dead_fill(bytes, m->desc.object_size);
    for (size_t i = 0; m->stamps[slot] && i < m->desc.object_size; i = model_step(m, i))
        if (bytes[i] != content(m->stamps[slot], i)) return false;
    return true;
}

static inline bool has_handles(const model *m) {
    return m->desc.generations != KOLK_GENERATIONS_NONE;
}

static inline kolk_handle model_handle(const model *m, uint32_t slot, uint32_t generation) {
    return kolk_handle_unpack((uint64_t)generation << 32 | (slot ^ m->tag));
}

/* Returns the n-th live slot, counted from 0. */
static inline uint32_t model_live(const model *m, uint32_t n) {
    uint32_t slot = 0;
    while (m->places[slot] != LIVE || n-- > 0) slot++;
    return slot;
}

static inline uint32_t model_random_live(model *m) {
    return model_live(m, random_below(&m->random, m->live));
}

/* ---- Calls that the model leaves to other tests ------------------------------------------------------------------ */

typedef enum call { CALL_ALLOC_N, CALL_TRIM, CALL_SNAPSHOT } call;

static inline bool model_can_follow(const model *m, call which) {
    switch (which) {
    case CALL_ALLOC_N: /* setup cannot learn where malloc puts each object */
        return !(is_bypassed(m) && m->desc.life.setup);
    case CALL_TRIM: /* trim discards some damage with the memory, and the model cannot know which */
        return m->damages == 0;
    default: /* such a pool has no snapshot */
        return !m->desc.life.setup && !m->desc.life.teardown;
    }
}

/* ---- What must happen -------------------------------------------------------------------------------------------- */

static inline uint32_t model_all_slots(const model *m) {
    return m->capacity + m->held_back;
}

/* Can the pool get slots that it has never had? */
static inline bool model_can_get_more(const model *m) {
    bool asks_system = m->pool.memory == 1 || m->debug;
    return model_all_slots(m) < m->desc.max_capacity && !(m->refused && asks_system);
}

static inline bool model_can_grow(const model *m) {
    return m->held_back || model_can_get_more(m);
}

/* Returns how many more slots can become live with this capacity. */
static inline uint32_t model_left(const model *m, uint32_t capacity) {
    return capacity - m->count - (m->desc.generations == KOLK_GENERATIONS_STRICT ? m->worn.count : 0);
}

/* Would the next alloc take a slot of the headroom if the pool does not grow? */
static inline bool model_needs_more(const model *m) {
    return !m->urgent && m->desc.full.headroom && model_left(m, m->capacity) <= m->desc.full.headroom;
}

/* Can it grow by so many that it need not? */
static inline bool model_can_have_headroom(const model *m) {
    return m->desc.full.headroom + 1 - model_left(m, m->capacity) <= m->held_back || model_can_get_more(m);
}

/* Returns the slot that the next alloc must take, or NO_SLOT. */
static inline uint32_t model_next(const model *m) {
    bool needs_more = model_needs_more(m);
    if (needs_more && !model_can_have_headroom(m)) return NO_SLOT;
    if (needs_more && model_left(m, m->desc.max_capacity) <= m->desc.full.headroom) return NO_SLOT;
    if (m->desc.reuse == KOLK_REUSE_FIFO && (needs_more || m->fresh < m->capacity)) return m->fresh;
    if (m->free.count) {
        if (m->desc.reuse == KOLK_REUSE_LIFO) return m->free.slots[m->free.count - 1];
        if (m->desc.reuse == KOLK_REUSE_FIFO) return m->free.slots[0];
        uint32_t slot = 0;
        while (m->places[slot] != FREE) slot++;
        return slot;
    }
    if (m->fresh < m->capacity || model_can_grow(m)) return m->fresh;
    if (m->waiting.count) return m->waiting.slots[0];
    return m->worn.count && m->desc.generations == KOLK_GENERATIONS_RECYCLE ? m->worn.slots[0] : NO_SLOT;
}

static inline void model_put(model *m, uint32_t slot) {
    if (m->places[slot] == BETWEEN) m->count--;
    m->places[slot] = FREE;
    list_push(&m->free, slot);
}

static inline void model_follow_capacity(model *m) {
    model_assert(m, m->pool.capacity >= model_all_slots(m) && m->pool.capacity <= m->desc.max_capacity);
    model_assert(m, m->pool.held_back <= m->held_back && m->pool.held_back <= m->pool.capacity);
    m->held_back = m->pool.held_back;
    m->capacity = m->pool.capacity - m->held_back;
}

static inline void model_follow_growth(model *m, uint32_t slot) {
    if (slot < m->capacity) return;
    model_follow_capacity(m);
    model_assert(m, m->capacity > slot);
}

/* Called before an alloc: follows the growth that keeps the headroom free. */
static inline void model_follow_headroom(model *m) {
    uint32_t before = m->capacity;
    if (!model_needs_more(m)) return;
    model_follow_capacity(m);
    model_assert(m, m->capacity == before || model_can_grow(m) || m->pool.capacity == m->desc.max_capacity);
}

/* Takes the slot out of its list. */
static inline void model_take(model *m, uint32_t slot) {
    model_follow_growth(m, slot);
    if (m->places[slot] == NEVER) {
        uint32_t first = m->fresh;
        while (m->fresh <= slot) m->generations[m->fresh++] = 1;
        for (uint32_t n = 0; n < slot - first; n++) /* of the slots that alloc_at skips, the lowest must be next */
            model_put(m, m->desc.reuse == KOLK_REUSE_LIFO ? slot - 1 - n : first + n);
    } else if (m->places[slot] == WORN) {
        model_assert(m, list_remove(&m->worn, slot));
        m->generations[slot] = 1;
        m->recycled++;
    } else if (m->places[slot] == WAITING) {
        model_assert(m, list_remove(&m->waiting, slot));
    } else {
        model_assert(m, list_remove(&m->free, slot));
    }
    m->places[slot] = BETWEEN;
    m->count++;
}

/* Models what the end of a life does to the contents. */
static inline void model_wipe(model *m, uint32_t slot) {
    m->filled[slot] = m->debug & KOLK_DEBUG_FILL;
    if (m->filled[slot] || (is_bypassed(m) && !has_persistent(m))) m->stamps[slot] = 0;
}

/* Ends the life of an object that is pinned. */
static inline void model_hold(model *m, uint32_t slot) {
    m->places[slot] = HELD;
    m->live--;
    model_assert(m, list_remove(&m->order, slot) != m->is_protected[slot]);
    m->is_protected[slot] = false;
    if (has_handles(m)) m->generations[slot] = (m->generations[slot] + 1) & KOLK_GENERATION_MAX;
}

/* Ends the slot's life, also if that has begun with model_hold. */
static inline void model_end(model *m, uint32_t slot) {
    if (m->places[slot] != HELD) model_hold(m, slot);
    m->places[slot] = BETWEEN;
    model_wipe(m, slot);
}

/* Returns true if the slot is worn out, and so does not become free. */
static inline bool model_put_if_worn(model *m, uint32_t slot) {
    if (!has_handles(m) || m->generations[slot] != 0) return false;
    m->places[slot] = WORN;
    m->count--;
    list_push(&m->worn, slot);
    return true;
}

static inline void model_put_freed(model *m, uint32_t slot) {
    if (model_put_if_worn(m, slot)) return;
    if (m->quarantine == 0) {
        model_put(m, slot);
        return;
    }
    if (m->waiting.count == m->quarantine) {
        model_put(m, m->waiting.slots[0]);
        list_remove(&m->waiting, m->waiting.slots[0]);
    }
    m->places[slot] = WAITING;
    m->count--;
    list_push(&m->waiting, slot);
}

/* `before` is the count before the hook ran. If the hook has freed a slot, the alloc may use it. */
static inline void model_made_room(model *m, uint32_t before) {
    if (m->count >= before) return;
    m->evictions += before - m->count;
    m->urgent = true;
}

/* The pool has already freed the slot that this alloc had to evict: the model does the same. */
static inline void model_follow_eviction(model *m) {
    uint32_t slot = m->victim;
    if (slot == NO_SLOT) return;
    m->victim = m->freeing = NO_SLOT;
    if (!m->desc.life.reset) model_end(m, slot);
    model_assert(m, m->places[slot] == BETWEEN);
    model_put_freed(m, slot);
    model_made_room(m, m->before);
}

/* Sorts the free slots so that the lowest is next. */
static inline void model_sort(model *m) {
    m->free.count = 0;
    for (uint32_t n = 0; n < m->fresh; n++) {
        uint32_t slot = m->desc.reuse == KOLK_REUSE_LIFO ? m->fresh - 1 - n : n;
        if (m->places[slot] == FREE || m->places[slot] == BETWEEN) model_put(m, slot);
    }
}

/* Records the slot's object. With bypass, malloc chooses the address, unless the slot has kept its block. */
static inline void model_put_object(model *m, uint32_t slot, const void *object) {
    if (is_bypassed(m) && !(has_persistent(m) && m->objects[slot])) {
        for (uint32_t other = 0; other < MODEL_SLOTS; other++) {
            if (!m->objects[other] || !(m->places[other] == LIVE || has_persistent(m))) continue;
            uintptr_t from = (uintptr_t)m->objects[other], size = m->desc.object_size;
            model_assert(m, (uintptr_t)object >= from + size || from >= (uintptr_t)object + size);
        }
        m->objects[slot] = (void *)(uintptr_t)object;
    }
    model_assert(m, object && object == model_object(m, slot));
    model_assert(m, (uintptr_t)object % m->pool.object_align == 0);
}

/* Begins a life of the slot, which is in no list. `object` is what alloc returned, or NULL. */
static inline void model_begin(model *m, uint32_t slot, const void *object, bool zeroed) {
    bool set_up = m->set_up[slot] || !(m->desc.life.setup || m->desc.life.teardown);
    model_assert(m, m->setting_up[slot] == (!set_up && m->desc.life.setup));
    m->setting_up[slot] = false;
    if (!set_up && m->desc.life.setup && m->setup_fails) {
        model_assert(m, object == NULL);
        model_put(m, slot);
        m->failed++;
        return;
    }
    m->set_up[slot] = m->desc.life.setup || m->desc.life.teardown;
    model_put_object(m, slot, object);
    if (zeroed)
        model_assert(m, all_bytes_are(object, m->desc.object_size, 0));
    else if (m->debug & KOLK_DEBUG_FILL)
        model_assert(m, all_bytes_are(object, m->desc.object_size, 0xcd));
    else
        model_assert(m, model_contents_are_right(m, slot)); /* as the last life left them */
    for (unsigned part = 0; part < PARTS; part++) model_assert(m, !m->damaged[slot][part]);
    m->filled[slot] = false;
    m->kept[slot] = true;
    m->births[slot] = ++m->born;
    m->places[slot] = LIVE;
    m->born_in_clear[slot] = m->clearing;
    m->live++;
    list_push(&m->order, slot);
    if (m->count > m->peak) m->peak = m->count;
    model_stamp(m, slot);
}

/* Called after each alloc, which returned `object`. */
static inline void model_allocated(model *m, const void *object, bool zeroed) {
    model_assert(m, !m->hook_due);
    if (m->declined) {
        model_assert(m, object == NULL && m->prepared == NO_SLOT);
        m->declined = m->urgent = false;
        m->failed++;
        return;
    }
    model_follow_eviction(m);
    uint32_t slot = m->prepared == NO_SLOT ? model_next(m) : m->prepared;
    bool is_taken = m->prepared != NO_SLOT;
    if (!is_taken) model_follow_headroom(m);
    m->prepared = NO_SLOT;
    m->urgent = false;
    if (slot == NO_SLOT) {
        model_assert(m, object == NULL);
        m->failed++;
        return;
    }
    if (!is_taken) model_take(m, slot);
    model_begin(m, slot, object, zeroed);
}

#endif
