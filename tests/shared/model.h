/* model.h: runs each operation on a shared pool and on a model of it (arrays indexed by slot), and compares them. The
 * model relies on shared.h only. One thread plays the threads of all locals. Choices come from `draw`: random numbers
 * or a fuzzer's bytes. In a test, include test.h first. */
#ifndef TESTS_SHARED_MODEL_H
#define TESTS_SHARED_MODEL_H

#include "../help/model_fails.h"

#include "inside.h"

#define MODEL_LOCALS 4u
#define MODEL_SLOTS  2048u
#define MODEL_SIZE   16u

typedef struct model {
    kolk_shared pool;
    kolk_shared_local locals[MODEL_LOCALS]; /* not initialised if .pool is NULL */
    bool online[MODEL_LOCALS];
    uint32_t (*draw)(void *context);
    void *context;
    const char *what;
    uint64_t step;

    struct {
        bool alive, later;      /* later: retired, and perhaps not yet in the depot */
        uint32_t readers;       /* a bit for each local whose thread may still read it */
        uint64_t stamp;         /* what its last life wrote; 0: no life yet */
        kolk_handle now, stale; /* handles of the current life and of an earlier one */
    } slots[MODEL_SLOTS];
    uint32_t count, later, issued; /* live objects; retired slots; slots that had a life */
    uint32_t failed, wrong_pool;
    uint64_t stamps;
    notes taken;
} model;

static inline uint32_t model_draw(model *m, uint32_t below) {
    return below ? m->draw(m->context) % below : 0;
}

static inline uint32_t model_all(const model *m) {
    return all_slots(&m->pool);
}

static inline void *model_at(const model *m, uint32_t slot) {
    return m->pool.slots + (size_t)slot * m->pool.stride;
}

/* Returns a random slot, most often one of the first 256. */
static inline uint32_t model_any_slot(model *m) {
    uint32_t all = model_all(m), high = model_draw(m, 4) ? 0 : model_draw(m, 8);
    return (high * 256 + model_draw(m, 256)) % all;
}

/* Returns the first slot that is alive, or the first that is not. The search starts at a random slot and wraps around.
 * Returns the number of slots if there is none. */
static inline uint32_t model_slot(model *m, bool alive) {
    uint32_t all = model_all(m), first = model_any_slot(m), n = 0;
    while (n < all && m->slots[(first + n) % all].alive != alive) n++;
    return n < all ? (first + n) % all : all;
}

static inline uint32_t model_local(model *m) {
    uint32_t n = model_draw(m, m->pool.inside->max_threads);
    if (!m->locals[n].pool) {
        model_assert(m, kolk_shared_local_init(&m->locals[n], &m->pool) == KOLK_OK);
        m->online[n] = true;
    }
    return n;
}

/* Checks that there was exactly one report since the last check, of one of these rules. */
static inline void model_told(model *m, kolk_status rule, kolk_status or_this) {
    model_assert(m, m->taken.count == 1);
    model_assert(m, m->taken.last.rule == rule || m->taken.last.rule == or_this);
    m->taken.count = 0;
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static inline void model_begin_life(model *m, void *object) {
    uint64_t words[2];
    uint32_t slot = (uint32_t)((size_t)((unsigned char *)object - m->pool.slots) / m->pool.stride);
    model_assert(m, slot < model_all(m) && object == model_at(m, slot));
    model_assert(m, !m->slots[slot].alive && !m->slots[slot].readers);
    memcpy(words, object, sizeof words);
    if (!m->pool.inside->store.debug) { /* contents are as the last life left them */
        model_assert(m, words[0] == m->slots[slot].stamp);
        model_assert(m, words[1] == (m->slots[slot].stamp ? ~m->slots[slot].stamp : 0));
    }
    m->issued += m->slots[slot].stamp == 0;
    m->later -= m->slots[slot].later;
    m->slots[slot].later = false;
    m->slots[slot].alive = true;
    m->slots[slot].stamp = words[0] = ++m->stamps;
    words[1] = ~words[0];
    memcpy(object, words, sizeof words);
    m->count++;
    if (!m->pool.lives) return;
    m->slots[slot].now = kolk_shared_handle_of(&m->pool, object);
    model_assert(m, !kolk_handle_equal(m->slots[slot].now, m->slots[slot].stale));
}

/* NULL is correct only if max_capacity objects were alive or retired. */
static inline bool model_alloc(model *m, uint32_t local) {
    kolk_shared_local *by = &m->locals[local];
    void *object = model_draw(m, 8) ? kolk_shared_alloc(by) : kolk_shared_alloc_wait(by, (kolk_deadline){1});
    if (object) {
        model_begin_life(m, object);
        return true;
    }
    m->failed++;
    model_assert(m, m->count + m->later >= max_capacity_of(&m->pool));
    return false;
}

static inline void model_check_contents(model *m, uint32_t slot) {
    uint64_t words[2];
    memcpy(words, model_at(m, slot), sizeof words);
    model_assert(m, words[0] == m->slots[slot].stamp && words[1] == ~m->slots[slot].stamp);
}

static inline void model_free(model *m, uint32_t local, bool later) {
    uint32_t slot = model_slot(m, true);
    if (slot == model_all(m)) return;
    model_check_contents(m, slot);
    m->slots[slot].alive = false;
    m->slots[slot].stale = m->slots[slot].now;
    m->count--;
    if (!later) {
        kolk_shared_free(&m->locals[local], model_at(m, slot));
        return;
    }
    kolk_shared_free_later(&m->locals[local], model_at(m, slot));
    m->slots[slot].later = true;
    m->later++;
    for (uint32_t n = 0; n < m->pool.inside->max_threads; n++)
        if (m->online[n]) m->slots[slot].readers |= 1u << n;
}

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

/* Fewer than n are correct only if max_capacity objects were alive or retired. */
static inline void model_alloc_n(model *m, uint32_t local, uint32_t n) {
    void *objects[MODEL_SLOTS];
    uint32_t given = kolk_shared_alloc_n(&m->locals[local], objects, n);
    model_assert(m, given <= n);
    for (uint32_t i = 0; i < given; i++) model_begin_life(m, objects[i]);
    if (given == n) return;
    m->failed++;
    model_assert(m, m->count + m->later >= max_capacity_of(&m->pool));
}

/* Frees up to n objects, random ones or neighbours. NULL is among them, and now and then the first one again. */
static inline void model_free_n(model *m, uint32_t local, uint32_t n) {
    void *objects[MODEL_SLOTS + 2];
    uint32_t count = 0, slot = 0;
    bool neighbours = model_draw(m, 2), twice = model_draw(m, 4) == 0;
    for (; n && m->count; n--) {
        if (!neighbours || count == 0) slot = model_slot(m, true);
        while (!m->slots[slot].alive) slot = (slot + 1) % model_all(m);
        model_check_contents(m, slot);
        m->slots[slot].alive = false;
        m->slots[slot].stale = m->slots[slot].now;
        m->count--;
        if (count == 3) objects[count++] = NULL;
        objects[count++] = model_at(m, slot);
    }
    twice = twice && count;
    if (twice) objects[count++] = objects[0];
    kolk_shared_free_n(&m->locals[local], objects, count);
    if (!twice) return;
    model_assert(m, m->taken.last.object == objects[0]);
    model_told(m, KOLK_DOUBLE_FREE, KOLK_DOUBLE_FREE);
}

/* Frees all objects, and the retired slots, which nobody may read any more. */
static inline void model_clear(model *m) {
    kolk_shared_clear(&m->pool);
    for (uint32_t slot = 0; slot < model_all(m); slot++) {
        if (m->slots[slot].alive) m->slots[slot].stale = m->slots[slot].now;
        m->slots[slot].alive = m->slots[slot].later = false;
        m->slots[slot].readers = 0;
    }
    m->count = m->later = 0;
}

/* ---- Deferred free ----------------------------------------------------------------------------------------------- */

/* From now on the local's thread holds no older pointers. */
static inline void model_passes(model *m, uint32_t local) {
    for (uint32_t slot = 0; slot < model_all(m); slot++) {
        if (m->slots[slot].readers) model_check_contents(m, slot);
        m->slots[slot].readers &= ~(1u << local);
    }
}

static inline void model_quiesce(model *m, uint32_t local) {
    if (m->online[local]) model_passes(m, local);
    kolk_shared_quiesce(&m->locals[local]);
}

/* Does three rounds of quiesces, after which all retired slots are in the depot. */
static inline void model_rounds(model *m) {
    bool any = false;
    for (unsigned round = 0; round < 3; round++)
        for (uint32_t n = 0; n < m->pool.inside->max_threads; n++)
            if (m->online[n]) {
                model_quiesce(m, n);
                any = true;
            }
    for (uint32_t slot = 0; any && slot < model_all(m); slot++) m->slots[slot].later = false;
    if (any) m->later = 0;
}

static inline void model_go(model *m, uint32_t local) {
    switch (model_draw(m, 4)) {
    case 0:
        kolk_shared_local_flush(&m->locals[local]);
        return;
    case 1:
        if (!m->online[local]) {
            kolk_shared_online(&m->locals[local]);
            m->online[local] = true;
            return;
        }
        model_passes(m, local);
        kolk_shared_offline(&m->locals[local]);
        m->online[local] = false;
        return;
    case 2:
        if (m->online[local]) model_passes(m, local);
        kolk_shared_local_deinit(&m->locals[local]);
        model_assert(m, !m->locals[local].pool);
        m->online[local] = false;
        return;
    default:
        model_rounds(m);
    }
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

static inline void model_ask(model *m) {
    uint32_t slot = model_any_slot(m);
    void *object = model_at(m, slot);
    model_assert(m, kolk_shared_is_live(&m->pool, object) == m->slots[slot].alive);
    model_assert(m, kolk_shared_count(&m->pool) == m->count);
    if (!m->pool.lives) return;
    model_assert(m, kolk_shared_get(&m->pool, m->slots[slot].stale) == NULL);
    if (m->slots[slot].alive) model_assert(m, kolk_shared_get(&m->pool, m->slots[slot].now) == object);
    kolk_handle foreign = m->slots[slot].now; /* with a different tag, its index is larger than any index */
    if (!foreign.bits) return;
    foreign.bits ^= UINT64_C(0x80000000);
    model_assert(m, kolk_shared_get(&m->pool, foreign) == NULL);
    m->wrong_pool++;
    if (m->pool.inside->store.debug_flags) model_told(m, KOLK_WRONG_POOL, KOLK_WRONG_POOL);
}

static inline void model_look_at_all(model *m) {
    uint32_t slot = 0, all = model_all(m);
    kolk_stats stats;
    kolk_shared_cursor cursor = kolk_shared_each(&m->pool);
    for (void *at; (at = kolk_shared_cursor_next(&cursor)); slot++) {
        while (slot < all && !m->slots[slot].alive) slot++;
        model_assert(m, slot < all && at == model_at(m, slot));
    }
    while (slot < all && !m->slots[slot].alive) slot++;
    model_assert(m, slot == all);
    model_assert(m, kolk_shared_is_valid(&m->pool));
    kolk_shared_stats(&m->pool, &stats);
    model_assert(m, stats.count == m->count && stats.failed == m->failed && stats.peak >= m->count);
    model_assert(m, stats.wrong_pool == m->wrong_pool);
    model_assert(m, stats.peak >= m->issued || stats.peak == stats.capacity || stats.peak == m->count);
    model_assert(m, stats.peak <= stats.capacity || stats.peak == m->count);
    model_assert(m, stats.max_capacity == max_capacity_of(&m->pool) && stats.capacity <= stats.max_capacity);
}

/* ---- Mistakes: each is reported once, and changes nothing -------------------------------------------------------- */

static inline void model_misuse(model *m, uint32_t local) {
    uint32_t choice = model_draw(m, 5), slot = model_slot(m, false);
    kolk_shared_local *by = &m->locals[local], none;
    if (choice != 2 && slot == model_all(m)) return;
    void *object = model_at(m, slot);
    kolk_status rule = m->slots[slot].stamp ? KOLK_DOUBLE_FREE : KOLK_NEVER_ISSUED;
    if (slot >= m->pool.inside->store.depot.usable) rule = KOLK_FOREIGN_POINTER; /* the pool has not grown that far */
    /* Without handles, a slot that was never alive may count as dead if it is in a magazine. */
    kolk_status or_this = rule == KOLK_NEVER_ISSUED && !m->pool.lives ? KOLK_DOUBLE_FREE : rule;
    switch (choice) {
    case 0:
        kolk_shared_free(by, object);
        break;
    case 1:
        kolk_shared_free_later(by, object);
        break;
    case 2:
        kolk_shared_free(by, &none);
        rule = or_this = KOLK_FOREIGN_POINTER;
        break;
    case 3:
        kolk_shared_free(by, (char *)object + 1 + model_draw(m, 15));
        rule = or_this = slot < m->pool.inside->store.depot.usable ? KOLK_INTERIOR_POINTER : KOLK_FOREIGN_POINTER;
        break;
    default:
        if (!m->pool.lives) return;
        model_assert(m, kolk_handle_is_null(kolk_shared_handle_of(&m->pool, object)));
        if (rule == KOLK_DOUBLE_FREE) rule = or_this = KOLK_DEAD_OBJECT;
    }
    model_told(m, rule, or_this);
}

/* ---- Init, steps, deinit ----------------------------------------------------------------------------------------- */

static inline void model_init(model *m) {
    static const uint32_t caches[] = {1, 2, 3, 5, 16, 63, 64, 65, 100, 0, KOLK_NO_CACHE};
    static const char *const settings[] = {NULL, NULL, NULL, "fill", "fill,guard", "fill,quarantine=5"};
    kolk_shared_desc desc = {.name = "model",
                             .object_size = MODEL_SIZE,
                             .max_threads = 1 + model_draw(m, MODEL_LOCALS),
                             .cache = caches[model_draw(m, LENGTH_OF(caches))],
                             .capacity = 1 + model_draw(m, 200),
                             .generations = model_draw(m, 4) == 0 ? KOLK_GENERATIONS_NONE : 0,
                             .exact = model_draw(m, 4) == 0,
                             .debug = settings[model_draw(m, LENGTH_OF(settings))]};
    if (model_draw(m, 2)) desc.max_capacity = desc.capacity + model_draw(m, 256) * 5;
    begin_notes(&m->taken);
    model_assert(m, kolk_shared_init(&m->pool, &desc) == KOLK_OK);
    model_assert(m, model_all(m) <= MODEL_SLOTS);
}

static inline void model_alloc_many(model *m, uint32_t local) {
    uint32_t n = model_draw(m, 256);
    if (n % 2)
        model_alloc_n(m, local, n * (1 + model_draw(m, 4)));
    else
        while (n-- && model_alloc(m, local)) {}
}

static inline void model_free_many(model *m, uint32_t local) {
    uint32_t n = model_draw(m, 256);
    if (n % 2)
        model_free_n(m, local, n * (1 + model_draw(m, 4)));
    else
        while (n-- && m->count) model_free(m, local, false);
}

static inline void model_step(model *m) {
    uint32_t choice = model_draw(m, 64), local = model_local(m);
    m->step++;
    if (choice < 20)
        model_alloc(m, local);
    else if (choice < 36)
        model_free(m, local, false);
    else if (choice < 42)
        model_free(m, local, true);
    else if (choice < 48)
        model_quiesce(m, local);
    else if (choice < 51)
        model_go(m, local);
    else if (choice < 54)
        model_misuse(m, local);
    else if (choice < 55)
        model_alloc_many(m, local);
    else if (choice < 56)
        model_free_many(m, local);
    else if (choice < 57)
        model_look_at_all(m);
    else if (choice < 58 && model_draw(m, 4) == 0)
        model_clear(m);
    else
        model_ask(m);
    model_assert(m, m->taken.count == 0);
}

/* Ends the pool, after checking that all slots have returned to the depot and that each can be allocated. */
static inline void model_deinit(model *m) {
    model_look_at_all(m);
    for (uint32_t n = 0; n < m->pool.inside->max_threads; n++) {
        if (!m->locals[n].pool) continue;
        kolk_shared_online(&m->locals[n]);
        m->online[n] = true;
    }
    uint32_t local = model_local(m);
    model_rounds(m);
    for (uint32_t n = 0; n < m->pool.inside->max_threads; n++)
        if (m->locals[n].pool) kolk_shared_local_flush(&m->locals[n]);
    while (model_alloc(m, local)) {}
    model_assert(m, m->count == model_all(m));
    model_look_at_all(m);
    kolk_shared_deinit(&m->pool);
    model_assert(m, all_bytes_are(&m->pool, sizeof m->pool, 0));
    kolk_set_failure_handler(NULL, NULL);
}

#endif
