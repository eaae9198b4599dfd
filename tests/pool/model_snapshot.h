/* model_snapshot.h: snapshots of a pool, each kept with a copy of its model (model.h). */
#ifndef TESTS_POOL_MODEL_SNAPSHOT_H
#define TESTS_POOL_MODEL_SNAPSHOT_H

#include "model.h"
#include "snapshot_block.h"

typedef struct moment {
    model then;
    block taken; /* has no bytes if there is no snapshot */
    uint64_t hash;
} moment;

static inline void model_remember(model *m, moment *now) {
    if (!model_can_follow(m, CALL_SNAPSHOT) || m->pinned) {
        model_assert(m, kolk_pool_snapshot_size(&m->pool) == 0);
        model_assert(m, kolk_pool_snapshot(&m->pool, now, sizeof *now) == 0);
        return;
    }
    free(now->taken.bytes);
    now->taken = take_snapshot(&m->pool);
    now->then = *m;
    now->hash = kolk_pool_hash(&m->pool, NULL, NULL);
    model_assert(m, kolk_pool_snapshot(&m->pool, now->taken.bytes, now->taken.size - 1) == 0);
    model_ask_ages(m); /* which skips dead objects, and must not change the snapshot */
    block again = take_snapshot(&m->pool);
    model_assert(m, equals(again, now->taken));
    free(again.bytes);
}

/* Returns the slot to its state in the snapshot. No hook is called. */
static inline void model_restore_slot(model *m, uint32_t slot, const model *then) {
    bool lived = m->places[slot] == LIVE, lives = then->places[slot] == LIVE;
    if (lived && !lives) model_wipe(m, slot);
    if (slot < m->fresh && slot >= then->fresh) { /* it counts as never handed out again */
        m->filled[slot] = m->kept[slot] = false;
        if (is_bypassed(m) && has_persistent(m)) m->stamps[slot] = 0, m->objects[slot] = NULL;
    }
    if (!lived && lives) {
        model_put_object(m, slot, kolk_pool_at(&m->pool, slot));
        m->births[slot] = ++m->born;
        m->filled[slot] = false;
        m->kept[slot] = true;
    }
    if (lives) m->stamps[slot] = then->stamps[slot];
    m->places[slot] = then->places[slot];
    m->generations[slot] = then->generations[slot];
    m->is_protected[slot] = then->is_protected[slot];
}

/* Restores a snapshot of this pool, or of one with the same descriptor. The peak is kept. A new snapshot must equal the
 * old block, except that its capacity may be larger. */
static inline void model_restore(model *m, const moment *past) {
    const model *then = &past->then;
    uint32_t peak = m->counts_peak ? m->peak : m->fresh;
    if (m->pinned) {
        model_assert(m, kolk_pool_restore(&m->pool, past->taken.bytes, past->taken.size) == KOLK_PINNED);
        return;
    }
    model_assert(m, kolk_pool_restore(&m->pool, past->taken.bytes, past->taken.size) == KOLK_OK);
    model_assert(m, m->damages == 0);
    for (uint32_t slot = 0; slot < MODEL_SLOTS; slot++) model_restore_slot(m, slot, then);
    m->free = then->free;
    m->waiting = then->waiting;
    m->worn = then->worn;
    m->order = then->order;
    m->fresh = then->fresh;
    m->live = m->count = then->count;
    uint32_t slots = m->pool.capacity;
    model_assert(m, slots >= model_all_slots(m) && slots >= m->fresh);
    m->capacity = m->desc.reuse == KOLK_REUSE_FIFO && then->capacity < slots ? then->capacity : slots;
    m->held_back = slots - m->capacity;
    model_assert(m, m->pool.held_back == m->held_back);
    if (m->counts_peak || peak > m->fresh) {
        m->counts_peak = true;
        m->peak = peak > m->count ? peak : m->count;
    }
    block again = take_snapshot(&m->pool);
    put_number(again, CAPACITY_AT, number_in(past->taken, CAPACITY_AT));
    seal(again);
    model_assert(m, equals(again, past->taken));
    free(again.bytes);
    bool is_smaller = m->desc.reuse == KOLK_REUSE_FIFO && m->pool.capacity < then->capacity;
    model_assert(m, is_smaller || kolk_pool_hash(&m->pool, NULL, NULL) == past->hash);
}

#endif
