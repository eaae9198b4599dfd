/* model.h: operations on a pool and on its model (model_state.h) together. Each compares the two: the returned slot,
 * handles, counts, contents, hooks and reports. In a test, include test.h first. */
#ifndef TESTS_POOL_MODEL_H
#define TESTS_POOL_MODEL_H

#include "model_state.h"

/* If objects have this size, every second operation uses the typed functions. */
typedef struct model_thing {
    unsigned char bytes[12];
} model_thing;
KOLK_POOL_TYPE(model_things, model_thing)

/* ---- Operations on both ------------------------------------------------------------------------------------------ */

/* Returns the pool as a typed one, or NULL if this operation must be untyped. */
static inline model_things *model_typed(const model *m) {
    bool fits = m->desc.object_size == sizeof(model_thing) && sizeof(model_thing) % m->pool.object_align == 0;
    return fits && m->step % 2 ? (model_things *)(void *)(uintptr_t)&m->pool : NULL;
}

/* Many objects have the same cost. The mood changes all costs. */
static inline double model_cost(const void *object, void *context) {
    const model *m = (const model *)context;
    return (*(const unsigned char *)object ^ (m ? m->mood : 0u)) % 8;
}

static inline double model_cost_in(const model *m, uint32_t slot) {
    return model_cost(model_object(m, slot), (void *)(uintptr_t)m);
}

/* Returns the lowest of the live, unprotected slots with the least cost, or NO_SLOT if there is none. */
static inline uint32_t model_cheapest(const model *m) {
    uint32_t cheapest = NO_SLOT;
    for (uint32_t slot = 0; slot < m->fresh; slot++) {
        if (m->places[slot] != LIVE || m->is_protected[slot] || m->pins[slot]) continue;
        if (cheapest == NO_SLOT || model_cost_in(m, slot) < model_cost_in(m, cheapest)) cheapest = slot;
    }
    return cheapest;
}

/* Returns the oldest slot that is not pinned, or NO_SLOT if there is none. */
static inline uint32_t model_oldest(const model *m) {
    uint32_t n = 0;
    while (n < m->order.count && m->pins[m->order.slots[n]]) n++;
    return m->desc.ages && n < m->order.count ? m->order.slots[n] : NO_SLOT;
}

/* Would the next alloc call on_full? */
static inline bool model_will_ask(const model *m) {
    return !m->in_hook && m->depth == 0 && model_next(m) == NO_SLOT;
}

static inline void model_expect_eviction(model *m, uint32_t slot) {
    m->victim = m->freeing = slot;
    m->before = m->count;
}

/* Called before an alloc: records whether the alloc must call on_full. */
static inline void model_expect_on_full(model *m) {
    bool (*hook)(kolk_pool *, size_t, void *) = model_will_ask(m) ? m->desc.full.on_full : NULL;
    bool by_age = hook == kolk_pool_evict_oldest, by_cost = hook == kolk_pool_evict_cheapest;
    m->trap_due = hook == kolk_pool_trap_full;
    m->hook_due = hook && !by_age && !by_cost && !m->trap_due;
    if (by_age) model_expect_eviction(m, model_oldest(m));
    if (by_cost) model_expect_eviction(m, model_cheapest(m));
}

/* Checks kolk_pool_trap_full's report, if one was due. */
static inline void model_check_trap(model *m) {
    if (!m->trap_due) return;
    model_assert(m, m->taken.count == 1 && m->taken.last.rule == KOLK_FULL);
    m->taken.count = 0;
    m->trap_due = false;
}

static inline void model_alloc(model *m, bool zeroed) {
    model_things *typed = model_typed(m);
    void *object;
    model_expect_on_full(m);
    if (typed)
        object = zeroed ? model_things_alloc_zeroed(typed) : model_things_alloc(typed);
    else
        object = zeroed ? kolk_pool_alloc_zeroed(&m->pool) : kolk_pool_alloc(&m->pool);
    model_check_trap(m);
    model_allocated(m, object, zeroed);
}

static inline void model_alloc_urgent(model *m) {
    m->urgent = true;
    model_expect_on_full(m);
    void *object = kolk_pool_alloc_urgent(&m->pool);
    model_check_trap(m);
    model_allocated(m, object, false);
}

/* alloc_over does not call on_full. */
static inline void model_alloc_over(model *m, double cost) {
    uint32_t cheapest = model_will_ask(m) ? model_cheapest(m) : NO_SLOT;
    if (!m->desc.full.cost) return;
    if (cheapest != NO_SLOT && model_cost_in(m, cheapest) < cost) model_expect_eviction(m, cheapest);
    model_allocated(m, kolk_pool_alloc_over(&m->pool, cost), false);
}

static inline void model_alloc_n(model *m, uint32_t n) {
    void *objects[MODEL_SLOTS];
    if (!model_can_follow(m, CALL_ALLOC_N)) return;
    for (uint32_t i = 0; i < n; i++) objects[i] = m;
    if (n) model_expect_on_full(m);
    m->in_alloc_n = true;
    uint32_t given = kolk_pool_alloc_n(&m->pool, objects, n);
    m->in_alloc_n = false;
    model_check_trap(m);
    model_assert(m, given <= n);
    for (uint32_t i = 0; i < given; i++) model_allocated(m, objects[i], false);
    if (given < n) model_allocated(m, NULL, false);
}

/* Returns the first of the lowest n neighbouring slots that are free or were never issued, below `end`; or NO_SLOT. */
static inline uint32_t model_lowest_run(const model *m, uint32_t n, uint32_t end) {
    uint32_t length = 0;
    for (uint32_t slot = 0; slot < end; slot++) {
        length = m->places[slot] == FREE || m->places[slot] == NEVER ? length + 1 : 0;
        if (length == n) return slot + 1 - n;
    }
    return NO_SLOT;
}

/* Returns the slot where a run of n must begin, or NO_SLOT. If the run needs the slots in quarantine, they become
 * free. */
static inline uint32_t model_find_run(model *m, uint32_t n) {
    bool may_grow = model_can_grow(m);
    uint64_t needed = (uint64_t)m->desc.full.headroom + n;
    if (n > 1 && (is_bypassed(m) || (m->debug & KOLK_DEBUG_GUARD))) return NO_SLOT;
    if (m->desc.full.headroom && model_left(m, m->capacity) < needed &&
        !(may_grow && model_left(m, m->desc.max_capacity) >= needed))
        return NO_SLOT;
    uint32_t slot = model_lowest_run(m, n, may_grow ? m->desc.max_capacity : m->capacity);
    if (slot != NO_SLOT || m->waiting.count == 0) return slot;
    while (m->waiting.count) {
        model_put(m, m->waiting.slots[0]);
        list_remove(&m->waiting, m->waiting.slots[0]);
    }
    return model_lowest_run(m, n, may_grow ? m->desc.max_capacity : m->capacity);
}

/* The pool has grown during a call only if it needed slots: the missing ones of the headroom, or those of the run. */
static inline void model_follow_run_growth(model *m, uint32_t n, uint32_t slot, uint32_t left) {
    if (m->pool.capacity == m->capacity) return;
    bool for_headroom = m->desc.full.headroom && left < (uint64_t)m->desc.full.headroom + n;
    model_assert(m, model_can_grow(m) && (for_headroom || (slot != NO_SLOT && slot + n > m->capacity)));
    model_assert(m, m->pool.capacity > m->capacity && m->pool.capacity <= m->desc.max_capacity);
    m->capacity = m->pool.capacity;
}

static inline void model_alloc_run(model *m, uint32_t n) {
    if (!model_can_follow(m, CALL_ALLOC_N)) return;
    if (m->desc.reuse != KOLK_REUSE_LOWEST && m->desc.max_capacity) {
        model_assert(m, kolk_pool_alloc_run(&m->pool, n) == NULL);
        model_assert(m, m->taken.count == 1 && m->taken.last.rule == KOLK_LOWEST_MISSING);
        m->taken.count = 0;
        return;
    }
    m->in_alloc_n = true;
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&m->pool, n);
    m->in_alloc_n = false;
    uint32_t left = model_left(m, m->capacity), slot = n ? model_find_run(m, n) : NO_SLOT;
    model_follow_run_growth(m, n, slot, left);
    m->failed += n && !run;
    if (slot == NO_SLOT) {
        model_assert(m, run == NULL);
        return;
    }
    for (uint32_t at = slot; at < slot + n; at++) model_take(m, at);
    if (run) {
        for (uint32_t at = slot; at < slot + n; at++)
            model_begin(m, at, n == 1 ? run : run + (size_t)(at - slot) * m->stride, false);
        return;
    }
    model_assert(m, m->desc.life.setup && m->setup_fails); /* the first one that was not set up has failed */
    uint32_t failing = slot;
    while (failing < slot + n && !m->setting_up[failing]) failing++;
    model_assert(m, failing < slot + n);
    m->setting_up[failing] = false;
    for (uint32_t at = slot; at < slot + n; at++) {
        model_assert(m, !m->setting_up[at] && m->set_up[at] >= (at < failing));
        model_put(m, at);
    }
}

static inline void model_free(model *m, uint32_t slot, way by) {
    void *object = model_object(m, slot);
    kolk_handle handle = model_handle(m, slot, m->generations[slot]);
    model_assert(m, model_contents_are_right(m, slot));
    uint32_t before = m->freeing;
    m->freeing = slot;
    if (by == BY_HANDLE)
        model_assert(m, kolk_pool_free_handle(&m->pool, handle));
    else if (by == BY_ARRAY)
        kolk_pool_free_n(&m->pool, (void *const[]){NULL, object, NULL}, 3);
    else if (by == BY_INDEX)
        model_assert(m, kolk_pool_free_at(&m->pool, slot));
    else if (by == BY_COST)
        model_assert(m, kolk_pool_evict_cheapest(&m->pool, 0, NULL));
    else if (by == BY_AGE)
        model_assert(m, kolk_pool_evict_oldest(&m->pool, 0, NULL));
    else if (model_typed(m))
        model_things_free(model_typed(m), (model_thing *)object);
    else
        kolk_pool_free(&m->pool, object);
    m->freeing = before;
    if (m->pins[slot])
        model_hold(m, slot);
    else if (!m->desc.life.reset)
        model_end(m, slot);
    model_assert(m, m->places[slot] == (m->pins[slot] ? HELD : BETWEEN));
    model_assert(m, !m->damaged[slot][BEFORE] && !m->damaged[slot][BEHIND]);
    if (!m->pins[slot]) model_put_freed(m, slot);
    model_assert(m, model_contents_are_right(m, slot)); /* free leaves the object's contents, or fills them */
    model_assert(m, !kolk_pool_get(&m->pool, handle) && !kolk_pool_free_at(&m->pool, m->desc.max_capacity));
}

/* Pins an object, or takes a pin back, which may complete a free. */
static inline void model_pin(model *m, uint32_t slot, bool on) {
    void *object = model_object(m, slot);
    model_things *typed = model_typed(m);
    if (!m->desc.pins || !(m->places[slot] == LIVE || m->places[slot] == HELD) || (!on && !m->pins[slot])) return;
    if (on) {
        if (typed)
            model_things_pin(typed, (const model_thing *)object);
        else
            kolk_pool_pin(&m->pool, object);
        m->pins[slot]++;
        m->pinned++;
        return;
    }
    m->pinned--;
    m->pins[slot]--;
    m->freeing = slot;
    model_assert(m, model_contents_are_right(m, slot));
    if (typed)
        model_things_unpin(typed, (const model_thing *)object);
    else
        kolk_pool_unpin(&m->pool, object);
    m->freeing = NO_SLOT;
    if (m->pins[slot] || m->places[slot] == LIVE) return;
    if (!m->desc.life.reset) model_end(m, slot);
    model_assert(m, m->places[slot] == BETWEEN);
    model_put_freed(m, slot);
}

/* Does nothing if the life is the slot's last one: test_pool_renew.c, or if the object is pinned: test_pool_pins.c. */
static inline void model_renew(model *m, uint32_t slot) {
    void *object = model_object(m, slot);
    kolk_handle handle = model_handle(m, slot, m->generations[slot]);
    model_things *typed = model_typed(m);
    if (m->pins[slot] || (has_handles(m) && m->generations[slot] == KOLK_GENERATION_MAX)) return;
    uint32_t before = m->freeing;
    m->freeing = slot;
    object = typed ? model_things_renew(typed, (model_thing *)object) : kolk_pool_renew(&m->pool, object);
    m->freeing = before;
    if (!m->desc.life.reset) model_end(m, slot);
    model_assert(m, m->places[slot] == BETWEEN);
    model_assert(m, !m->damaged[slot][BEFORE] && !m->damaged[slot][BEHIND]);
    model_begin(m, slot, object, false);
    model_assert(m, !kolk_pool_get(&m->pool, handle));
}

static inline void model_clear(model *m) {
    memset(m->born_in_clear, 0, sizeof m->born_in_clear);
    m->clearing = true;
    kolk_pool_clear(&m->pool);
    m->clearing = false;
    for (uint32_t slot = 0; slot < m->fresh; slot++) {
        if (m->places[slot] == LIVE && m->pins[slot]) model_hold(m, slot);
        if (m->places[slot] != LIVE || m->born_in_clear[slot]) continue;
        model_assert(m, !m->desc.life.reset);
        model_end(m, slot);
        model_put_if_worn(m, slot);
    }
    while (m->waiting.count) {
        model_put(m, m->waiting.slots[0]);
        list_remove(&m->waiting, m->waiting.slots[0]);
    }
    model_sort(m);
    uint32_t held = 0;
    for (uint32_t slot = 0; slot < m->fresh; slot++) held += m->places[slot] == HELD;
    model_assert(m, m->count == m->live + held && m->damages == 0);
}

/* Called when this many bytes were returned to the system. They may have held the contents of any dead slot. */
static inline void model_gave_back(model *m, size_t bytes) {
    if (m->desc.memory || (m->desc.life.keep && !m->desc.life.setup)) {
        model_assert(m, bytes == 0);
        return;
    }
    model_assert(m, bytes <= (size_t)model_all_slots(m) * m->stride);
    for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++) {
        if (m->places[slot] == LIVE || m->places[slot] == HELD) continue;
        m->stamps[slot] = 0;
        m->filled[slot] = m->kept[slot] = false;
    }
}

static inline size_t model_trim(model *m) {
    if (!model_can_follow(m, CALL_TRIM)) return 0;
    size_t bytes = kolk_pool_trim(&m->pool);
    if (m->desc.reuse == KOLK_REUSE_LIFO) model_sort(m);
    model_gave_back(m, bytes);
    return bytes;
}

/* A tick does not change the order of free slots. The pool may grow by these slots at each tick. */
static inline void model_tick(model *m, uint32_t slots, uint32_t ticks) {
    for (; ticks && model_can_follow(m, CALL_TRIM); ticks--) {
        size_t bytes = kolk_pool_tick(&m->pool, slots);
        uint32_t more = m->pool.capacity - model_all_slots(m);
        model_assert(m, more <= (model_can_get_more(m) ? slots : 0));
        model_follow_capacity(m);
        model_gave_back(m, bytes);
    }
}

/* Walks through the objects in the order of births, from the oldest to the newest and back. */
static inline void model_ask_ages(model *m) {
    if (!m->desc.ages) return;
    void *object = kolk_pool_oldest(&m->pool);
    for (uint32_t n = 0; n < m->order.count; n++, object = kolk_pool_newer(&m->pool, object))
        model_assert(m, object == model_object(m, m->order.slots[n]));
    model_assert(m, object == NULL);
    object = kolk_pool_newest(&m->pool);
    for (uint32_t n = m->order.count; n-- > 0; object = kolk_pool_older(&m->pool, object))
        model_assert(m, object == model_object(m, m->order.slots[n]));
    model_assert(m, object == NULL);
}

static inline void model_touch(model *m, uint32_t slot) {
    if (!m->desc.ages) return;
    kolk_pool_touch(&m->pool, model_object(m, slot));
    if (list_remove(&m->order, slot)) list_push(&m->order, slot);
}

static inline void model_protect(model *m, uint32_t slot, bool on) {
    if (!m->desc.ages) return;
    kolk_pool_protect(&m->pool, model_object(m, slot), on);
    if (m->is_protected[slot] == on) return;
    m->is_protected[slot] = on;
    if (on)
        list_remove(&m->order, slot);
    else
        list_push(&m->order, slot);
}

static inline void model_evict_oldest(model *m) {
    if (model_oldest(m) != NO_SLOT) model_free(m, model_oldest(m), BY_AGE);
}

static inline void model_evict_cheapest(model *m) {
    if (m->desc.full.cost && model_cheapest(m) != NO_SLOT) model_free(m, model_cheapest(m), BY_COST);
}

/* Changes what one object costs, or all of them, and says so. */
static inline void model_recost(model *m, bool all) {
    const void *object = NULL;
    if (all) {
        m->mood = random_below(&m->random, 8);
    } else if (m->live) {
        uint32_t slot = model_random_live(m);
        model_stamp(m, slot);
        object = model_object(m, slot);
    }
    kolk_pool_recost(&m->pool, object);
}

static inline void model_reserve(model *m, uint32_t capacity) {
    kolk_status status = kolk_pool_reserve(&m->pool, capacity);
    if (capacity <= model_all_slots(m))
        model_assert(m, status == KOLK_OK);
    else if (capacity > m->desc.max_capacity)
        model_assert(m, status == KOLK_ABOVE_MAX);
    else
        model_assert(m, status == (model_can_get_more(m) ? KOLK_OK : KOLK_NO_MEMORY));
    if (status != KOLK_OK) return;
    uint32_t before = m->capacity;
    model_follow_capacity(m);
    model_assert(m, m->capacity == (capacity > before ? capacity : before));
}

/* Can alloc_at put an object into this slot? */
static inline bool model_may_alloc_at(const model *m, uint32_t slot) {
    if (slot >= m->desc.max_capacity || m->places[slot] == LIVE || m->places[slot] == HELD) return false;
    return m->places[slot] != WORN || m->desc.generations != KOLK_GENERATIONS_STRICT;
}

/* Does alloc_at of this slot give up the order of the free slots? */
static inline bool model_gives_up_order(const model *m, uint32_t slot) {
    return m->places[slot] == FREE && slot != m->free.slots[m->free.count - 1];
}

/* `handle`: NULL to allocate the slot by its index, as the lowest of the slots in [first, end) if there are some. */
static inline void model_alloc_one(model *m, uint32_t slot, const kolk_handle *handle, uint32_t first, uint32_t n) {
    uint32_t generation = handle ? (uint32_t)(handle->bits >> 32) : 0;
    bool possible = model_may_alloc_at(m, slot);
    if (handle && (!has_handles(m) || generation == 0 || generation > KOLK_GENERATION_MAX)) possible = false;
    bool no_memory = possible && slot >= model_all_slots(m) && !model_can_get_more(m);
    if (possible && model_gives_up_order(m, slot)) model_sort(m);
    m->wanted = slot;
    model_things *typed = model_typed(m);
    void *object;
    if (handle)
        object = kolk_pool_alloc_at(&m->pool, *handle);
    else if (n)
        object = typed ? model_things_alloc_in(typed, first, n) : kolk_pool_alloc_in(&m->pool, first, n);
    else
        object = kolk_pool_alloc_at_index(&m->pool, slot);
    m->wanted = NO_SLOT;
    m->failed += no_memory;
    if (!possible || no_memory) {
        model_assert(m, object == NULL);
        return;
    }
    if (m->prepared == NO_SLOT) model_take(m, slot);
    m->prepared = NO_SLOT;
    model_begin(m, slot, object, false);
    if (!object) return;
    if (handle) m->generations[slot] = generation;
    if (slot >= m->peak) m->peak = slot + 1;
}

static inline void model_alloc_slot(model *m, uint32_t slot, const kolk_handle *handle) {
    model_alloc_one(m, slot, handle, 0, 0);
}

static inline void model_alloc_in(model *m, uint32_t first, uint32_t n) {
    uint32_t slot = first;
    while (slot < first + n && !model_may_alloc_at(m, slot)) slot++;
    if (slot < first + n) {
        model_alloc_one(m, slot, NULL, first, n);
        return;
    }
    model_assert(m, kolk_pool_alloc_in(&m->pool, first, n) == NULL);
    m->failed++;
}

static inline void model_alloc_at(model *m, kolk_handle handle) {
    model_alloc_slot(m, (uint32_t)handle.bits ^ m->tag, &handle);
}

static inline void model_check_tag(model *m, kolk_handle handle) {
    if (!has_foreign_tag(handle, m->tag, m->desc.max_capacity)) return;
    m->wrong_pool++;
    if (!(m->debug & (KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES))) return;
    model_assert(m, m->taken.count == 1 && m->taken.last.rule == KOLK_WRONG_POOL);
    model_assert(m, kolk_handle_equal(m->taken.last.handle, handle));
    m->taken.count = 0;
}

static inline bool model_finds(const model *m, kolk_handle handle) {
    uint32_t slot = (uint32_t)handle.bits ^ m->tag, generation = (uint32_t)(handle.bits >> 32);
    return has_handles(m) && slot < m->fresh && m->places[slot] == LIVE && m->generations[slot] == generation;
}

/* get must find exactly the live objects. */
static inline void model_get(model *m, kolk_handle handle) {
    uint32_t slot = (uint32_t)handle.bits ^ m->tag;
    model_things *typed = model_typed(m);
    void *object =
        typed ? (void *)model_things_get(typed, (model_things_handle){handle}) : kolk_pool_get(&m->pool, handle);
    model_assert(m, object == (model_finds(m, handle) ? model_object(m, slot) : NULL));
    model_check_tag(m, handle);
}

static inline void model_free_handle(model *m, kolk_handle handle) {
    uint32_t slot = (uint32_t)handle.bits ^ m->tag;
    if (model_finds(m, handle)) {
        model_free(m, slot, BY_HANDLE);
        return;
    }
    model_assert(m, !kolk_pool_free_handle(&m->pool, handle));
    model_check_tag(m, handle);
}

/* Damages one byte that the debug mode watches: `at` bytes before the object, behind its end, or from its start if it
 * is dead. Does nothing if that part is already damaged. */
static inline void model_damage(model *m, uint32_t slot, unsigned part, uint32_t at) {
    unsigned char *object = (unsigned char *)model_object(m, slot);
    bool watched = part == BODY ? m->filled[slot] : m->kept[slot] && (m->debug & KOLK_DEBUG_GUARD);
    if (!watched || m->damaged[slot][part]) return;
    if (part == BEFORE) object[-(ptrdiff_t)at] ^= 0x55;
    if (part == BEHIND) object[m->desc.object_size + at] ^= 0x55;
    if (part == BODY) object[at] ^= 0x55;
    m->damaged[slot][part] = true;
    m->damaged_at[slot][part] = at;
    m->damages++;
}

/* Writes to a dead object that is not watched, which must have no effect. (A filled object may still be watched after a
 * trim.) */
static inline void model_scribble(model *m, uint32_t slot) {
    bool watched = m->debug & KOLK_DEBUG_FILL && m->births[slot];
    bool is_gone = is_bypassed(m) && m->places[slot] != HELD && !(has_persistent(m) && m->objects[slot]);
    if (m->places[slot] != LIVE && !watched && !is_gone) model_stamp(m, slot);
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static inline bool model_is_live_at(const model *m, const void *object) {
    for (uint32_t slot = 0; slot < m->fresh; slot++)
        if (m->places[slot] == LIVE && model_object(m, slot) == object) return true;
    return false;
}

static inline void model_compare(const model *m, bool thoroughly) {
    kolk_stats stats;
    kolk_pool_stats(&m->pool, &stats);
    model_assert(m, kolk_pool_count(&m->pool) == m->count && stats.count == m->count);
    uint32_t lost = m->desc.generations == KOLK_GENERATIONS_STRICT ? m->worn.count : 0;
    uint32_t available = model_all_slots(m) - m->count - lost, more = m->desc.max_capacity - model_all_slots(m);
    model_assert(m, kolk_pool_available(&m->pool) == available);
    for (uint32_t n = 0; n < 3 && available + more > m->desc.full.headroom; n++)
        model_assert(m, kolk_pool_can_alloc(&m->pool, available + more - m->desc.full.headroom - 1 + n) == (n < 2));
    model_assert(m, stats.capacity == model_all_slots(m) && stats.max_capacity == m->desc.max_capacity);
    model_assert(m, stats.peak == (m->counts_peak ? m->peak : m->fresh));
    model_assert(m, stats.debug == m->debug);
    model_assert(m, stats.object_size == m->pool.object_size && stats.stride == m->stride);
    model_assert(m, stats.unused_bytes == (uint64_t)(model_all_slots(m) - stats.peak) * m->stride);
    model_assert(m, m->budget.used_ == (m->desc.memory || !KOLK_HOSTED ? 0 : (uint64_t)m->pool.counted * m->stride));
    model_assert(m, stats.failed == m->failed && stats.evictions == m->evictions);
    model_assert(m, stats.worn_out == m->worn.count && stats.recycled == m->recycled);
    model_assert(m, stats.wrong_pool == m->wrong_pool);
    model_assert(m, stats.bytes_reserved >= stats.bytes_committed);
    model_assert(m, stats.bytes_committed >= (uint64_t)model_all_slots(m) * m->stride);
    if (!thoroughly) return;
    model_assert(m, kolk_pool_is_valid(&m->pool) == (m->damages == 0));
    for (uint32_t slot = 0; slot < m->desc.max_capacity; slot++) {
        bool live = m->places[slot] == LIVE;
        void *object = model_object(m, slot);
        model_assert(m, kolk_pool_at(&m->pool, slot) == (live ? object : NULL));
        model_assert(m, kolk_pool_is_live(&m->pool, object) == model_is_live_at(m, object));
        model_assert(m, slot >= model_all_slots(m) || model_contents_are_right(m, slot));
        if (!live) continue;
        model_assert(m, kolk_pool_index(&m->pool, object) == slot);
        if (!has_handles(m)) continue;
        kolk_handle handle = kolk_pool_handle_of(&m->pool, object);
        model_assert(m, kolk_handle_equal(handle, model_handle(m, slot, m->generations[slot])));
        model_assert(m, kolk_pool_get(&m->pool, handle) == object);
        model_assert(m, !kolk_pool_get(&m->pool, model_handle(m, slot, m->generations[slot] + 1)));
    }
}

#include "model_hooks.h"
#include "model_life.h"

#endif
