/* model.h: compares a slot map with a model written from slotmap.h alone: an array that is searched linearly for every
 * handle. Each operation is applied to both, and the results are compared. Choices come from `draw`: random numbers or
 * a fuzzer's bytes. In a test, include test.h first. */
#ifndef TESTS_SLOTMAP_MODEL_H
#define TESTS_SLOTMAP_MODEL_H

#include "../help/model_fails.h"
#include "snapshot_block.h"

#include <kolk/budget.h>

#define MODEL_MAX  40u /* the most objects of a map */
#define REMEMBERED 64u

typedef struct record {
    kolk_handle handle;
    uint32_t slot;
    uint64_t stamp;
} record;

/* A snapshot, and the part of the model that it brings back. */
typedef struct moment {
    block taken; /* has no bytes if there is no snapshot */
    uint64_t hash;
    record live[MODEL_MAX];
    uint32_t count;
    uint64_t keyed[MODEL_MAX];
    uint32_t lives[MODEL_MAX];
} moment;

typedef struct model {
    kolk_slotmap map;
    kolk_budget budget;     /* of this map alone */
    kolk_slotmap_desc desc; /* with the capacities in force */
    uint32_t (*draw)(void *context);
    void *context;
    const char *what;
    uint64_t step;

    record live[MODEL_MAX + 1]; /* indexed by place; one extra for sorting */
    uint32_t count, most;
    uint64_t stamps;
    uint64_t beside[MODEL_MAX + 1]; /* stamps by place, which on_move keeps in order */
    uint64_t keyed[MODEL_MAX];      /* stamps by slot */
    uint32_t lives[MODEL_MAX];      /* by slot, from 0 to KOLK_GENERATION_MAX, at which the slot is worn out */
    uint32_t recycled;
    uint32_t capacity;
    uint64_t failed, wrong_pool;
    uint32_t removed; /* how often on_remove was called since the last check */
    uint32_t told;    /* how often on_move was called with from == to since the last restore began */
    moment past;
    bool rewound, rewound_wear; /* a restore was done; one was done after slots were worn out */
    kolk_handle remembered[REMEMBERED];
    uint32_t debug;
    notes taken;
} model;

static inline uint32_t model_draw(model *m, uint32_t below) {
    return below ? m->draw(m->context) % below : 0;
}

/* ---- Contents: objects that know their stamp and, if on_move keeps it right, their own address ------------------- */

static inline unsigned char *model_at(const model *m, uint32_t place) {
    return (unsigned char *)kolk_slotmap_objects(&m->map) + (size_t)place * m->map.stride;
}

static inline bool knows_address(const model *m) {
    return m->desc.on_move && m->desc.object_size >= sizeof(void *);
}

static inline void model_tell_address(void *object) {
    memcpy(object, (const void *)&object, sizeof(void *));
}

static inline void model_write(const model *m, unsigned char *object, uint64_t stamp) {
    uint64_t state = stamp;
    fill_random(&state, object, m->desc.object_size);
    if (knows_address(m)) model_tell_address(object);
}

static inline bool model_is_written(const model *m, const unsigned char *object, uint64_t stamp) {
    unsigned char expected[300];
    uint64_t state = stamp;
    fill_random(&state, expected, m->desc.object_size);
    if (knows_address(m)) memcpy(expected, &object, sizeof object);
    return memcmp(object, expected, m->desc.object_size) == 0;
}

static inline void model_moved(void *object, uint32_t from, uint32_t to, void *context) {
    model *m = (model *)context;
    model_assert(m, from <= m->desc.max_capacity && to <= m->desc.max_capacity);
    m->beside[to] = m->beside[from];
    m->told += from == to;
    if (knows_address(m)) model_tell_address(object);
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

/* Returns the place of the handle's object, or count if it has none. */
static inline uint32_t model_find(const model *m, kolk_handle handle) {
    uint32_t place = 0;
    while (place < m->count && !kolk_handle_equal(m->live[place].handle, handle)) place++;
    return place;
}

/* Called after a lookup of a handle that has no object. If the handle belongs to another pool, the lookup must have
 * been counted, and reported in debug mode. */
static inline void model_note(model *m, kolk_handle handle) {
    if (!has_foreign_tag(handle, m->map.tag, m->desc.max_capacity)) return;
    m->wrong_pool++;
    if (!(m->debug & (KOLK_DEBUG_FILL | KOLK_DEBUG_SITES | KOLK_DEBUG_MOVE))) return;
    model_assert(m, m->taken.count == 1 && m->taken.last.rule == KOLK_WRONG_POOL);
    model_assert(m, kolk_handle_equal(m->taken.last.handle, handle));
    m->taken.count = 0;
}

static inline void model_ask(model *m, kolk_handle handle) {
    uint32_t place = model_find(m, handle);
    bool there = place < m->count;
    model_assert(m, kolk_slotmap_get(&m->map, handle) == (there ? model_at(m, place) : NULL));
    if (!there) model_note(m, handle);
    model_assert(m, kolk_slotmap_slot(&m->map, handle) == (there ? m->live[place].slot : UINT32_MAX));
    if (!there) model_note(m, handle);
}

/* Returns how many slots without an object have had all their lives. */
static inline uint32_t model_worn(const model *m) {
    uint32_t worn = 0;
    for (uint32_t slot = 0; slot < m->desc.max_capacity; slot++) worn += m->lives[slot] == KOLK_GENERATION_MAX;
    for (uint32_t i = 0; i < m->count; i++) worn -= m->lives[m->live[i].slot] == KOLK_GENERATION_MAX;
    return worn;
}

/* A slot's lives are numbered from 1. A worn-out slot starts again only if no other slot is left. */
static inline void model_begin_life(model *m, uint32_t slot, uint64_t generation) {
    if (m->lives[slot] == KOLK_GENERATION_MAX) {
        model_assert(m, m->count + model_worn(m) == m->desc.max_capacity);
        m->lives[slot] = 0;
        m->recycled++;
    }
    m->lives[slot]++;
    model_assert(m, generation == m->lives[slot]);
}

static inline void model_compare(model *m) {
    kolk_stats stats;
    kolk_slotmap_stats(&m->map, &stats);
    model_assert(m, kolk_slotmap_is_valid(&m->map));
    model_assert(m, kolk_slotmap_count(&m->map) == m->count && stats.count == m->count);
    model_assert(m, stats.capacity == m->map.capacity && stats.max_capacity == m->desc.max_capacity);
    model_assert(m, kolk_slotmap_available(&m->map) == stats.capacity - m->count);
    model_assert(m, stats.capacity >= m->capacity && stats.capacity <= m->desc.max_capacity);
    model_assert(m, m->budget.used_ == (m->desc.memory || !KOLK_HOSTED ? 0 : (uint64_t)m->map.counted * m->map.stride));
    model_assert(m, stats.failed == m->failed && stats.wrong_pool == m->wrong_pool && stats.debug == m->debug);
    model_assert(m, stats.peak >= m->most && stats.peak <= stats.capacity);
    model_assert(m, stats.peak == m->most || stats.worn_out || stats.recycled || m->rewound_wear);
    model_assert(m, stats.worn_out == model_worn(m) && stats.recycled == m->recycled);
    model_assert(m, stats.object_size == m->desc.object_size && stats.stride == m->map.stride);
    model_assert(m, stats.unused_bytes == (uint64_t)(stats.capacity - stats.peak) * stats.stride);
    model_assert(m, stats.bytes_committed <= stats.bytes_reserved);
    model_assert(m, stats.bytes_committed >= (uint64_t)stats.capacity * stats.stride);
    uint32_t visited = 0;
    kolk_slotmap_cursor cursor = kolk_slotmap_each(&m->map);
    for (void *object; (object = kolk_slotmap_cursor_next(&cursor)); visited++)
        model_assert(m, object == model_at(m, visited));
    model_assert(m, visited == m->count && !kolk_slotmap_at(&m->map, visited));
    for (uint32_t place = 0; place < m->count; place++) {
        const record *now = &m->live[place];
        unsigned char *object = model_at(m, place);
        model_assert(m, model_is_written(m, object, now->stamp));
        model_assert(m, kolk_slotmap_at(&m->map, place) == object);
        model_assert(m, kolk_slotmap_index(&m->map, object) == place);
        model_assert(m, kolk_handle_equal(kolk_slotmap_handle_of(&m->map, object), now->handle));
        model_assert(m, kolk_slotmap_get(&m->map, now->handle) == object);
        model_assert(m, kolk_slotmap_slot(&m->map, now->handle) == now->slot);
        model_assert(m, now->slot < (m->rewound ? stats.capacity : stats.peak));
        model_assert(m, m->keyed[now->slot] == now->stamp);
        model_assert(m, !m->desc.on_move || m->beside[place] == now->stamp);
    }
    model_assert(m, m->taken.count == 0);
}

/* ---- Operations on both ------------------------------------------------------------------------------------------ */

static inline void model_add(model *m, bool with_handle) {
    kolk_handle handle = {1};
    unsigned char *object = (unsigned char *)kolk_slotmap_add(&m->map, with_handle ? &handle : NULL);
    if (m->count == m->desc.max_capacity) {
        model_assert(m, !object && (!with_handle || kolk_handle_is_null(handle)));
        m->failed++;
        return;
    }
    model_assert(m, object == model_at(m, m->count) && (uintptr_t)object % m->desc.object_align == 0);
    if (m->debug & KOLK_DEBUG_FILL) model_assert(m, all_bytes_are(object, m->desc.object_size, 0xcd));
    if (!with_handle) handle = kolk_slotmap_handle_of(&m->map, object);
    uint32_t slot = kolk_slotmap_slot(&m->map, handle);
    model_assert(m, slot < m->desc.max_capacity && model_find(m, handle) == m->count);
    for (uint32_t i = 0; i < m->count; i++) model_assert(m, m->live[i].slot != slot);
    model_begin_life(m, slot, handle.bits >> 32);
    uint64_t stamp = ++m->stamps;
    m->live[m->count] = (record){handle, slot, stamp};
    m->beside[m->count] = m->keyed[slot] = stamp;
    if (++m->count > m->most) m->most = m->count;
    if (m->count > m->capacity) m->capacity = m->count;
    m->remembered[stamp % REMEMBERED] = handle;
    model_write(m, object, stamp);
}

/* The on_remove hook: the object must still be in its place. */
static inline void model_goes(void *object, void *context) {
    model *m = (model *)context;
    uint32_t place = kolk_slotmap_index(&m->map, object);
    model_assert(m, place < m->count && model_is_written(m, (unsigned char *)object, m->live[place].stamp));
    model_assert(m, kolk_slotmap_get(&m->map, m->live[place].handle) == object);
    m->removed++;
}

/* Checks that on_remove was called for this many objects. */
static inline void model_have_gone(model *m, uint32_t n) {
    model_assert(m, m->removed == (m->desc.on_remove ? n : 0));
    m->removed = 0;
}

static inline void model_remove(model *m, kolk_handle handle) {
    uint32_t place = model_find(m, handle);
    if (place < m->count && place % 2)
        model_assert(m, kolk_slotmap_remove_at(&m->map, place) && !kolk_slotmap_remove_at(&m->map, m->count));
    else
        model_assert(m, kolk_slotmap_remove(&m->map, handle) == (place < m->count));
    model_have_gone(m, place < m->count);
    if (place == m->count) {
        model_note(m, handle);
        return;
    }
    m->live[place] = m->live[--m->count];
    if (m->debug & KOLK_DEBUG_FILL && !(m->debug & KOLK_DEBUG_MOVE)) {
        model_assert(m, has_dead_fill(model_at(m, m->count), m->desc.object_size));
    }
}

static inline void model_clear(model *m) {
    kolk_slotmap_clear(&m->map);
    model_have_gone(m, m->count);
    m->count = 0;
}

static inline uint64_t model_key(const model *m, const void *object) {
    uint32_t place = kolk_slotmap_index(&m->map, object);
    return (m->live[place].stamp * 0x9e3779b97f4a7c15u) >> 59; /* many keys are equal */
}

static inline int model_order(const void *a, const void *b, void *context) {
    model *m = (model *)context;
    model_assert(m, kolk_slotmap_index(&m->map, a) < m->count && kolk_slotmap_index(&m->map, b) < m->count);
    uint64_t first = model_key(m, a), second = model_key(m, b);
    return (first > second) - (first < second);
}

static inline int model_backwards(const void *a, const void *b, void *context) {
    return -model_order(a, b, context);
}

/* Sorts both, the model by insertion, which is stable too. */
static inline void model_sort(model *m, bool backwards) {
    record sorted[MODEL_MAX];
    for (uint32_t i = 0; i < m->count; i++) {
        uint64_t key = (m->live[i].stamp * 0x9e3779b97f4a7c15u) >> 59;
        uint32_t at = i;
        for (; at > 0; at--) {
            uint64_t before = (sorted[at - 1].stamp * 0x9e3779b97f4a7c15u) >> 59;
            if (backwards ? before >= key : before <= key) break;
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = m->live[i];
    }
    kolk_slotmap_sort(&m->map, backwards ? model_backwards : model_order, m);
    memcpy(m->live, sorted, m->count * sizeof *sorted);
}

static inline void model_reserve(model *m, uint32_t capacity) {
    kolk_status status = kolk_slotmap_reserve(&m->map, capacity);
    model_assert(m, status == (capacity > m->desc.max_capacity ? KOLK_ABOVE_MAX : KOLK_OK));
    if (status == KOLK_OK && capacity > m->capacity) m->capacity = capacity;
}

/* Walks the map, sometimes removing the current object and sometimes adding one. Objects that existed before must be
 * visited once. */
static inline void model_walk(model *m) {
    bool seen[MODEL_MAX] = {false};
    uint32_t before = m->count, visited = 0, adds = 0;
    uint64_t newest = m->stamps;
    kolk_slotmap_cursor cursor = kolk_slotmap_each(&m->map);
    for (void *object; (object = kolk_slotmap_cursor_next(&cursor));) {
        uint32_t place = kolk_slotmap_index(&m->map, object);
        record now = m->live[place];
        if (now.stamp <= newest) {
            model_assert(m, !seen[now.slot]);
            seen[now.slot] = true;
            visited++;
        }
        if (model_draw(m, 3) == 0) model_remove(m, now.handle);
        if (model_draw(m, 5) == 0 && m->count < before && adds++ < MODEL_MAX) { /* new objects are visited too */
            model_add(m, true);
            seen[m->live[m->count - 1].slot] = false;
        }
    }
    model_assert(m, visited == before);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

static inline void model_remember(model *m) {
    free(m->past.taken.bytes);
    m->past = (moment){.taken = take_map_snapshot(&m->map), .count = m->count};
    m->past.hash = kolk_slotmap_hash(&m->map, NULL, NULL);
    memcpy(m->past.live, m->live, sizeof m->past.live);
    memcpy(m->past.keyed, m->keyed, sizeof m->past.keyed);
    memcpy(m->past.lives, m->lives, sizeof m->past.lives);
}

/* Restores the snapshot. The peak and the counters stay, on_remove does not run, and on_move is called for each object.
 * A new snapshot must equal the old one. */
static inline void model_restore(model *m) {
    const moment *past = &m->past;
    uint32_t before = m->count;
    if (!past->taken.bytes) return;
    m->rewound = true;
    if (m->map.worn || m->map.recycled) m->rewound_wear = true;
    memcpy(m->live, past->live, sizeof past->live);
    memcpy(m->keyed, past->keyed, sizeof past->keyed);
    memcpy(m->lives, past->lives, sizeof past->lives);
    m->count = past->count;
    for (uint32_t place = 0; place < m->count; place++) m->beside[place] = m->live[place].stamp;
    if (m->count > m->most) m->most = m->count;
    m->told = 0;
    model_assert(m, kolk_slotmap_restore(&m->map, past->taken.bytes, past->taken.size) == KOLK_OK);
    model_assert(m, m->told == (m->desc.on_move ? m->count : 0));
    model_have_gone(m, 0);
    if (m->debug & KOLK_DEBUG_FILL && !(m->debug & KOLK_DEBUG_MOVE))
        for (uint32_t place = m->count; place < before; place++)
            model_assert(m, has_dead_fill(model_at(m, place), m->desc.object_size));
    block again = take_map_snapshot(&m->map);
    if (!knows_address(m)) {
        model_assert(m, equals(again, past->taken));
        model_assert(m, kolk_slotmap_hash(&m->map, NULL, NULL) == past->hash);
    }
    free(again.bytes);
}

/* Passes pointers that do not point to objects. */
static inline void model_misuse(model *m) {
    int on_stack = 0;
    uint32_t place = model_draw(m, m->map.capacity + 1), inside = model_draw(m, m->map.stride);
    const void *wrong = &on_stack;
    kolk_status rule = KOLK_FOREIGN_POINTER;
    switch (model_draw(m, 3)) {
    case 0:
        if (place == m->map.capacity || (inside == 0 && place < m->count)) break;
        wrong = moved(model_at(m, place), (ptrdiff_t)inside);
        rule = inside ? KOLK_INTERIOR_POINTER : KOLK_DEAD_OBJECT;
        break;
    case 1:
        wrong = NULL;
        break;
    default:
        break;
    }
    model_assert(m, kolk_slotmap_index(&m->map, wrong) == UINT32_MAX);
    model_assert(m, m->taken.count == 1 && m->taken.last.rule == rule && m->taken.last.object == wrong);
    model_assert(m, kolk_handle_is_null(kolk_slotmap_handle_of(&m->map, wrong)));
    model_assert(m, m->taken.count == 2 && m->taken.last.rule == rule);
    m->taken.count = 0;
}

/* Returns a handle of any kind: of an object, stale, of the next life, of another pool, or null. */
static inline kolk_handle model_handle(model *m) {
    uint32_t choice = model_draw(m, 6);
    kolk_handle handle = m->remembered[model_draw(m, REMEMBERED)];
    if (choice < 3 && m->count) handle = m->live[model_draw(m, m->count)].handle;
    if (choice == 4) handle.bits += UINT64_C(1) << 32;
    if (choice == 5) handle.bits ^= UINT64_C(1) << model_draw(m, 64);
    return handle;
}

static inline void model_step(model *m) {
    m->step++;
    uint32_t choice = model_draw(m, 64);
    if (choice < 24) {
        model_add(m, choice % 2);
    } else if (choice < 44) {
        model_remove(m, model_handle(m));
    } else if (choice < 52) {
        model_ask(m, model_handle(m));
    } else if (choice < 55) {
        model_sort(m, choice % 2);
    } else if (choice < 57) {
        model_walk(m);
    } else if (choice < 60) {
        model_misuse(m);
    } else if (choice == 60) {
        model_reserve(m, model_draw(m, m->desc.max_capacity + 3));
    } else if (choice == 61) {
        model_assert(m, kolk_slotmap_trim(&m->map) == 0 || !m->desc.memory);
    } else if (choice == 62 && model_draw(m, 4) == 0) {
        model_clear(m);
    } else if (choice == 63 && model_draw(m, 2) == 0) {
        model_remember(m);
    } else if (choice == 63) {
        model_restore(m);
    }
    model_compare(m);
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Returns the debug settings that this map can have. */
static inline uint32_t model_flags(const model *m) {
    const char *text = KOLK_HOSTED && m->desc.debug ? m->desc.debug : ""; /* devices have no diagnostics */
    uint32_t flags = strstr(text, "fill") ? KOLK_DEBUG_FILL : 0;
    if (strstr(text, "sites")) flags |= KOLK_DEBUG_SITES;
    if (strstr(text, "move") && !m->desc.memory && m->desc.max_capacity) flags |= KOLK_DEBUG_MOVE;
    return flags;
}

/* Makes a random map: object size, capacities, growing or not, owner of the memory, on_move and debug settings.
 * KOLK_BYPASS must be 0. */
static inline void model_init(model *m) {
    static const char *const debug[] = {NULL, NULL, NULL, "fill", "move", "fill,move", "sites,fill", "sites"};
    static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 40, 64, 100, 128, 257, 300};
    begin_notes(&m->taken);
    m->budget = (kolk_budget){0};
    m->desc = (kolk_slotmap_desc){.name = "model"};
    m->desc.budget = &m->budget;
    m->desc.object_size = sizes[model_draw(m, (uint32_t)LENGTH_OF(sizes))];
    m->desc.object_align = (size_t)1 << model_draw(m, 6);
    m->desc.max_capacity = 1 + model_draw(m, MODEL_MAX);
    m->desc.capacity = model_draw(m, m->desc.max_capacity + 1);
    m->desc.debug = debug[model_draw(m, (uint32_t)LENGTH_OF(debug))];
    if (model_draw(m, 2)) m->desc.on_move = model_moved;
    if (model_draw(m, 3) == 0) m->desc.on_remove = model_goes;
    m->desc.context = m;
    if (model_draw(m, 3) == 0) {
        m->desc.capacity = m->desc.max_capacity;
        uint64_t dirt = 1;
        m->desc.memory_size = kolk_slotmap_memory_size(&m->desc);
        m->desc.memory = lend_memory(m->desc.memory_size, m->desc.object_align, &dirt);
    }
    if (model_draw(m, 3) == 0) m->desc.tag = model_draw(m, 4);
    m->capacity = m->desc.capacity;
    m->debug = model_flags(m);
    kolk_status status = kolk_slotmap_init(&m->map, &m->desc);
    model_assert(m, status == KOLK_OK);
    model_compare(m);
}

static inline void model_deinit(model *m) {
    bool leaks = m->count && m->debug & KOLK_DEBUG_SITES;
    free(m->past.taken.bytes);
    kolk_slotmap_deinit(&m->map);
    model_have_gone(m, m->count);
    model_assert(m, all_bytes_are(&m->map, sizeof m->map, 0) && m->budget.used_ == 0);
    model_assert(m, leaks ? m->taken.count >= 1 && m->taken.last.rule == KOLK_LEAK : m->taken.count == 0);
    if (!m->desc.memory) return;
    model_assert(m, take_memory_back(m->desc.memory, m->desc.memory_size, m->desc.object_align));
}

#endif
