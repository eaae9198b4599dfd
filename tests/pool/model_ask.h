/* model_ask.h: checks of a pool against its model (model.h): pointers that must be refused, and walks over the live
 * objects. */
#ifndef TESTS_MODEL_ASK_H
#define TESTS_MODEL_ASK_H

#include "model.h"

/* ---- Misuse ------------------------------------------------------------------------------------------------------ */

typedef enum verb { ASK_FREE, ASK_INDEX, ASK_HANDLE, ASK_RENEW, ASK_PIN, ASK_UNPIN, VERBS } verb;

/* Returns the rule that this pointer breaks, found by a search through all slots, or KOLK_OK. */
static inline kolk_status model_rule_of(const model *m, const void *object, verb asked, uint32_t *slot) {
    size_t inside = 0;
    *slot = model_locate(m, object, &inside);
    bool takes_null = asked != ASK_INDEX && asked != ASK_HANDLE, pins = asked == ASK_PIN || asked == ASK_UNPIN;
    if (*slot == NO_SLOT) return object || !takes_null ? KOLK_FOREIGN_POINTER : KOLK_OK;
    if (inside) return KOLK_INTERIOR_POINTER;
    if (m->places[*slot] == NEVER) return KOLK_NEVER_ISSUED;
    if (m->places[*slot] == HELD && pins) return KOLK_OK;
    if (m->places[*slot] == LIVE) return asked == ASK_HANDLE && !has_handles(m) ? KOLK_NO_HANDLES : KOLK_OK;
    return asked == ASK_FREE ? KOLK_DOUBLE_FREE : KOLK_DEAD_OBJECT;
}

/* Passes a pointer that is not a live object to a function of the pool, which must report the mistake once and change
 * nothing. Returns false if the pointer is a live object. */
static inline bool model_refuses(model *m, const void *object, verb asked) {
    uint32_t slot;
    kolk_status rule = model_rule_of(m, object, asked, &slot);
    if (rule == KOLK_OK) return false;
    kolk_pool before = m->pool;
    model_assert(m, kolk_pool_is_live(&m->pool, object) == (rule == KOLK_NO_HANDLES));
    if (asked == ASK_FREE) kolk_pool_free(&m->pool, (void *)(uintptr_t)object);
    if (asked == ASK_RENEW) model_assert(m, kolk_pool_renew(&m->pool, (void *)(uintptr_t)object) == NULL);
    if (asked == ASK_INDEX) model_assert(m, kolk_pool_index(&m->pool, object) == NO_SLOT);
    if (asked == ASK_HANDLE) model_assert(m, kolk_handle_is_null(kolk_pool_handle_of(&m->pool, object)));
    if (asked == ASK_PIN) kolk_pool_pin(&m->pool, object);
    if (asked == ASK_UNPIN) kolk_pool_unpin(&m->pool, object);
    model_assert(m, m->taken.count == 1 && m->taken.last.rule == rule && m->taken.last.slot == slot);
    model_assert(m, m->taken.last.object == object);
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding is unchanged, too */
    model_assert(m, memcmp(&before, &m->pool, sizeof before) == 0);
    m->taken.count = 0;
    return true;
}

/* ---- Sweeps ------------------------------------------------------------------------------------------------------ */

/* Returns the first live slot from this one on, or fresh if there is none. */
static inline uint32_t model_live_from(const model *m, uint64_t slot) {
    while (slot < m->fresh && m->places[slot] != LIVE) slot++;
    return slot < m->fresh ? (uint32_t)slot : m->fresh;
}

static inline void *model_live_object(const model *m, uint32_t slot) {
    return slot < m->fresh ? model_object(m, slot) : NULL;
}

static inline void model_sweep_by_cursor(model *m) {
    kolk_cursor cursor = kolk_pool_each(&m->pool);
    for (uint32_t slot = 0; slot < m->fresh; slot++)
        if (m->places[slot] == LIVE) model_assert(m, kolk_cursor_next(&cursor) == model_object(m, slot));
    model_assert(m, kolk_cursor_next(&cursor) == NULL);
}

static inline bool model_is_full_group(const model *m, uint64_t slot, uint64_t end) {
    if (slot % KOLK_GROUP || end - slot < KOLK_GROUP) return false;
    for (uint64_t i = 0; i < KOLK_GROUP; i++)
        if (m->places[slot + i] != LIVE) return false;
    return true;
}

/* Checks all runs of a range: groups in which all slots are alive, and single objects. */
static inline void model_sweep_by_runs(model *m, uint32_t from, uint32_t n) {
    uint64_t end = (uint64_t)from + n < m->fresh ? (uint64_t)from + n : m->fresh;
    bool apart = m->debug & (KOLK_DEBUG_GUARD | KOLK_DEBUG_BYPASS);
    kolk_cursor cursor = kolk_pool_each_in(&m->pool, from, n);
    uint32_t length;
    for (uint64_t first, slot = from; (first = model_live_from(m, slot)) < end;) {
        slot = first + (!apart && model_is_full_group(m, first, end) ? KOLK_GROUP : 1);
        model_assert(m, kolk_cursor_next_run(&cursor, &length) == model_object(m, (uint32_t)first));
        model_assert(m, length == slot - first);
    }
    model_assert(m, kolk_cursor_next_run(&cursor, &length) == NULL && length == 0);
}

/* Walks by age and frees objects on the way, the current one and others. The walk may stop early. */
static inline void model_walk_and_free(model *m, bool up) {
    bool allocs = m->reset_allocs;
    m->reset_allocs = false;
    list all = m->order;
    uint32_t end = random_below(&m->random, 2) ? all.count : random_below(&m->random, all.count + 1);
    void *object = up ? kolk_pool_oldest(&m->pool) : kolk_pool_newest(&m->pool);
    for (uint32_t n = 0; n < end; n++) {
        uint32_t slot = all.slots[up ? n : all.count - 1 - n];
        if (m->places[slot] != LIVE) continue; /* it was freed during the walk */
        model_assert(m, object == model_object(m, slot));
        if (random_below(&m->random, 3) == 0) model_free(m, slot, BY_POINTER);
        if (m->live && random_below(&m->random, 3) == 0) model_free(m, model_random_live(m), BY_POINTER);
        object = up ? kolk_pool_newer(&m->pool, object) : kolk_pool_older(&m->pool, object);
    }
    model_assert(m, end < all.count || object == NULL);
    m->reset_allocs = allocs;
}

/* Walks by a cursor and frees objects on the way: every current object (with `all`) or about half of them, and others.
 * The walk must visit each object that is still alive when its turn comes. */
static inline void model_sweep_and_free(model *m, bool all) {
    uint32_t slot = 0;
    bool allocs = m->reset_allocs;
    m->reset_allocs = false; /* a walk may or may not visit objects allocated during it */
    kolk_cursor cursor = kolk_pool_each(&m->pool);
    for (;;) {
        void *object = kolk_cursor_next(&cursor);
        slot = model_live_from(m, slot);
        model_assert(m, object == model_live_object(m, slot));
        if (!object) break;
        if (all || random_below(&m->random, 2) == 0) model_free(m, slot, BY_POINTER);
        slot++;
        if (m->live && random_below(&m->random, 4) == 0) model_free(m, model_random_live(m), BY_POINTER);
    }
    m->reset_allocs = allocs;
}

#endif
