/* model_hooks.h: the hooks of a pool with a model (included by model.h). They check that they are called at the right
 * time, and use the pool. */
#ifndef TESTS_MODEL_HOOKS_H
#define TESTS_MODEL_HOOKS_H

#include "model.h"

static inline uint32_t model_slot_of(const model *m, const void *object) {
    size_t inside = 0;
    uint32_t slot = model_locate(m, object, &inside);
    model_assert(m, slot != NO_SLOT && inside == 0);
    return slot;
}

/* Allocates and frees within a hook, but not during alloc_n, because the model does not yet know the objects that
 * alloc_n has already taken. */
static inline void model_nest(model *m, bool frees, bool allocs) {
    uint32_t wanted = m->wanted, victim = m->victim;
    bool urgent = m->urgent;
    if (m->in_alloc_n || m->depth == 3) return;
    m->depth++;
    m->wanted = m->victim = NO_SLOT;
    m->urgent = false;
    if (frees && m->live && random_below(&m->random, 4) == 0) model_free(m, model_random_live(m), BY_POINTER);
    if (allocs && random_below(&m->random, 4) == 0) model_alloc(m, false);
    m->wanted = wanted;
    m->victim = victim;
    m->urgent = urgent;
    m->depth--;
}

static inline bool model_setup(void *object, void *context) {
    model *m = (model *)context;
    model_follow_eviction(m);
    uint32_t next = m->wanted == NO_SLOT ? model_next(m) : m->wanted;
    uint32_t slot = m->in_alloc_n ? model_slot_of(m, object) : next;
    bool fails = m->setup_fails;
    model_put_object(m, slot, object);
    model_assert(m, !m->setting_up[slot] && m->places[slot] != LIVE);
    model_assert(m, !m->set_up[slot] || !(m->kept[slot] || m->desc.life.teardown));
    model_assert(m, !kolk_pool_is_live(&m->pool, object));
    m->set_up[slot] = false;
    m->setting_up[slot] = true;
    if (!fails) model_stamp(m, slot);
    if (m->in_alloc_n) return !fails;
    if (m->wanted == NO_SLOT) model_follow_headroom(m);
    model_take(m, slot);
    model_nest(m, m->setup_frees, m->setup_allocs);
    m->prepared = slot;
    return !fails;
}

static inline void model_reset(void *object, void *context) {
    model *m = (model *)context;
    uint32_t slot = model_slot_of(m, object), freeing = m->freeing;
    model_assert(m, (m->places[slot] == LIVE && m->clearing) || freeing == slot);
    model_assert(m, m->places[slot] == (freeing == slot && m->places[slot] == HELD ? HELD : LIVE) && !m->pins[slot]);
    for (uint32_t i = 0; m->clearing && i < slot; i++)
        if (m->places[i] == LIVE && m->pins[i]) model_hold(m, i); /* clear has passed it */
    model_assert(m, !kolk_pool_is_live(&m->pool, object));
    model_assert(m, model_contents_are_right(m, slot));
    model_end(m, slot);
    model_nest(m, m->reset_frees, m->reset_allocs);
    if (freeing != slot) model_put_if_worn(m, slot); /* clear ends this life */
}

static inline void model_teardown(void *object, void *context) {
    model *m = (model *)context;
    uint32_t slot = model_slot_of(m, object);
    model_assert(m, m->set_up[slot] && m->places[slot] != HELD);
    model_assert(m, m->places[slot] != LIVE || m->clearing); /* LIVE: deinit without a reset */
    model_assert(m, model_contents_are_right(m, slot));
    m->set_up[slot] = false;
}

static inline void model_on_evict(void *object, void *context) {
    model *m = (model *)context;
    model_assert(m, model_slot_of(m, object) == m->freeing && kolk_pool_is_live(&m->pool, object));
}

/* Frees one object or all, tries to allocate, reserves a slot, calls trap_full, or does nothing. */
static inline void model_make_room(model *m, uint32_t choice) {
    if (choice < 8 && m->live) {
        model_free(m, model_random_live(m), BY_POINTER);
    } else if (choice < 10 && m->desc.ages) {
        model_evict_oldest(m);
    } else if (choice < 12) {
        model_evict_cheapest(m);
    } else if (choice == 12) {
        model_clear(m);
    } else if (choice == 13) {
        model_assert(m, kolk_pool_alloc(&m->pool) == NULL); /* this must not call on_full again */
        m->failed++;
    } else if (choice == 14) {
        m->refused = false;
        model_reserve(m, m->capacity + 1);
    } else if (choice == 15) {
        model_assert(m, !kolk_pool_trap_full(&m->pool, 0, m));
        model_assert(m, m->taken.count == 1 && m->taken.last.rule == KOLK_FULL);
        m->taken.count = 0;
    }
}

/* Now and then returns false, whatever it has done. */
static inline bool model_on_full(kolk_pool *pool, size_t bytes, void *context) {
    model *m = (model *)context;
    model_assert(m, m->hook_due && pool == &m->pool && bytes == pool->object_size);
    model_assert(m, m->depth == 0 && kolk_pool_is_valid(pool) == (m->damages == 0));
    m->hook_due = false;
    m->in_hook = true;
    model_follow_headroom(m);
    uint32_t before = m->count;
    model_make_room(m, random_below(&m->random, 16));
    model_made_room(m, before);
    m->in_hook = false;
    m->declined = random_below(&m->random, 4) == 0;
    return !m->declined;
}

#endif
