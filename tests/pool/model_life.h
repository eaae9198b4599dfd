/* model_life.h: how a pool and its model begin and end (included by model.h), and a handler for the reports in
 * between. */
#ifndef TESTS_POOL_MODEL_LIFE_H
#define TESTS_POOL_MODEL_LIFE_H

#include "model.h"

/* Lends the memory that the pool needs, or memory_size bytes for as many slots as fit. */
static inline void model_lend(model *m) {
    if (m->desc.memory_size)
        m->desc.capacity = 0;
    else
        m->desc.memory_size = kolk_pool_memory_size(&m->desc);
    m->desc.memory = lend_memory(m->desc.memory_size, m->desc.object_align, &m->random);
}

/* Returns how many slots fit into the lent memory. */
static inline uint32_t model_fitting(const model *m) {
    kolk_pool_desc desc = m->desc;
    for (desc.capacity = 1; kolk_pool_memory_size(&desc) <= m->desc.memory_size;) desc.capacity++;
    return desc.capacity - 1;
}

/* Removes the debug settings that this pool cannot have. */
static inline void model_settle_debug(model *m) {
    if (!KOLK_HOSTED) m->debug = 0; /* devices have no diagnostics */
    if (is_bypassed(m)) m->debug &= KOLK_DEBUG_BYPASS | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE;
    if (has_persistent(m)) m->debug &= ~(uint32_t)KOLK_DEBUG_FILL;
    if (m->desc.memory) m->debug &= ~(uint32_t)KOLK_DEBUG_GUARD;
    if (!(m->debug & KOLK_DEBUG_QUARANTINE)) m->quarantine = 0;
    if (m->quarantine > m->desc.max_capacity) m->quarantine = m->desc.max_capacity;
    m->counts_peak = m->desc.reuse == KOLK_REUSE_FIFO || m->debug;
}

/* Damage and leaks must be reported as expected. Other reports are recorded for the caller that expects them. */
static inline void model_hear(const kolk_failure *failure, void *context) {
    static const kolk_status rules[PARTS] = {KOLK_UNDERFLOW, KOLK_OVERFLOW, KOLK_WRITE_AFTER_FREE};
    model *m = (model *)context;
    uint32_t slot = failure->slot;
    unsigned part = 0;
    if (failure->rule == KOLK_LEAK) {
        for (uint32_t other = 0; m->leaked == 0 && other < m->fresh; other++)
            model_assert(m, m->places[other] != LIVE || m->births[other] >= m->births[slot]);
        m->leaked += failure->count;
        return;
    }
    while (part < PARTS && failure->rule != rules[part]) part++;
    if (part == PARTS) {
        take_note(failure, &m->taken);
        return;
    }
    model_assert(m, slot < m->fresh && m->damaged[slot][part] && failure->object == model_object(m, slot));
    model_assert(m, failure->count == 1 && failure->offset == m->damaged_at[slot][part]);
    m->damaged[slot][part] = false;
    m->damages--;
}

/* From now on all reports must be about this pool, which is zeroed and valid. */
static inline void model_listen(model *m) {
    m->freeing = m->wanted = m->prepared = m->victim = NO_SLOT;
    kolk_set_failure_handler(model_hear, m);
}

/* Makes the pool that m->desc describes, on lent memory if `foreign`. */
static inline void model_init(model *m, bool foreign) {
    model_listen(m);
    m->desc.context = m;
    m->desc.budget = &m->budget;
    if (foreign) model_lend(m);
    setenv("KOLK_BYPASS", is_bypassed(m) ? "1" : "0", 1); /* even under a tool that turns bypass on */
    unsetenv("KOLK_DEBUG");
    kolk_status status = kolk_pool_init(&m->pool, &m->desc);
    if (status != KOLK_OK) model_fail(m, "init: %s", kolk_status_text(status));
    if (foreign && m->desc.capacity == 0) m->desc.capacity = model_fitting(m);
    if (m->desc.max_capacity == 0) m->desc.max_capacity = m->desc.capacity;
    model_assert(m, m->desc.max_capacity <= MODEL_SLOTS);
    m->capacity = m->desc.capacity;
    model_assert(m, m->taken.count == m->bad_setting && (!m->bad_setting || m->taken.last.rule == KOLK_BAD_SETTING));
    m->taken.count = 0;
    model_settle_debug(m);
    m->stride = m->pool.stride;
    m->tag = m->pool.tag;
    model_compare(m, true);
}

static inline void model_deinit(model *m) {
    if (m->pinned) {
        kolk_pool_deinit(&m->pool);
        model_assert(m, m->taken.count == 1 && m->taken.last.rule == KOLK_PINNED);
        model_assert(m, m->taken.last.slot < m->fresh && m->pins[m->taken.last.slot]);
        m->taken.count = 0;
    }
    for (uint32_t slot = 0; slot < m->fresh; slot++)
        while (m->pins[slot]) model_pin(m, slot, false);
    uint32_t live = m->live;
    memset(m->born_in_clear, 0, sizeof m->born_in_clear);
    m->clearing = true;
    m->desc.max_capacity = m->pool.capacity; /* what resets allocate now does not make it grow */
    kolk_pool_deinit(&m->pool);
    model_assert(m, m->damages == 0 && m->leaked == (m->debug & KOLK_DEBUG_SITES ? live : 0));
    model_assert(m, is_all_zero(&m->pool) && m->budget.used_ == 0);
    model_assert(m, m->taken.count == 0);
    for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++) {
        model_assert(m, !m->desc.life.reset || m->places[slot] != LIVE || m->born_in_clear[slot]);
        model_assert(m, !m->desc.life.teardown || !m->set_up[slot]);
    }
    if (!m->desc.memory) return;
    model_assert(m, take_memory_back(m->desc.memory, m->desc.memory_size, m->desc.object_align));
}

#endif
