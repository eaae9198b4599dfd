/* model.h: a slot map beside a model of it that has read slotmap.h only: an array in which every handle is looked
 * for from the start. Each operation is done to both and compared. Choices come from `draw`, random or the bytes of a
 * fuzzer. Include plain.h first and define slotmodel_fail. */
#ifndef TESTS_SLOTMAP_MODEL_H
#define TESTS_SLOTMAP_MODEL_H

#include "../help/plain.h"

#define SLOTMODEL_MAX 40u /* objects */
#define REMEMBERED    64u
#define MARGIN        64u

typedef struct record {
    kolk_handle handle;
    uint32_t slot;
    uint64_t stamp;
} record;

typedef struct slotmodel {
    kolk_slotmap map;
    kolk_slotmap_desc desc; /* with the capacities in force */
    uint32_t (*draw)(void *context);
    void *context;
    const char *what;
    uint64_t step;

    record live[SLOTMODEL_MAX + 1]; /* by place; one more for sorting */
    uint32_t count, most;
    uint64_t stamps;
    uint64_t beside[SLOTMODEL_MAX + 1]; /* kept by on_move: stamps by place */
    uint64_t keyed[SLOTMODEL_MAX];      /* stamps by slot */
    uint32_t lives[SLOTMODEL_MAX];      /* by slot, from 0 to KOLK_GENERATION_MAX: the next one is worn out */
    uint32_t recycled;
    uint32_t capacity;
    uint64_t failed, wrong_pool;
    kolk_handle remembered[REMEMBERED];
    uint32_t debug;
    notes taken;
    unsigned char *block; /* around the caller's memory */
} slotmodel;

#define slotmodel_assert(m, condition)                                                                                 \
    do {                                                                                                               \
        if (!(condition)) slotmodel_fail(m, "line %d: not so: %s", __LINE__, #condition);                              \
    } while (0)

static inline uint32_t slotmodel_draw(slotmodel *m, uint32_t below) {
    return below ? m->draw(m->context) % below : 0;
}

/* ---- Contents: objects that know their stamp and, if on_move keeps it right, their own address ------------------------ */

static inline unsigned char *slotmodel_at(const slotmodel *m, uint32_t place) {
    return (unsigned char *)kolk_slotmap_objects(&m->map) + (size_t)place * m->map.stride;
}

static inline bool knows_address(const slotmodel *m) {
    return m->desc.on_move && m->desc.object_size >= sizeof(void *);
}

static inline void slotmodel_tell_address(void *object) {
    memcpy(object, (const void *)&object, sizeof(void *));
}

static inline void slotmodel_write(const slotmodel *m, unsigned char *object, uint64_t stamp) {
    uint64_t state = stamp;
    fill_random(&state, object, m->desc.object_size);
    if (knows_address(m)) slotmodel_tell_address(object);
}

static inline bool slotmodel_is_written(const slotmodel *m, const unsigned char *object, uint64_t stamp) {
    unsigned char expected[300];
    uint64_t state = stamp;
    fill_random(&state, expected, m->desc.object_size);
    if (knows_address(m)) memcpy(expected, &object, sizeof object);
    return memcmp(object, expected, m->desc.object_size) == 0;
}

static inline void slotmodel_moved(void *object, uint32_t from, uint32_t to, void *context) {
    slotmodel *m = (slotmodel *)context;
    slotmodel_assert(m, from <= m->desc.max_capacity && to <= m->desc.max_capacity);
    m->beside[to] = m->beside[from];
    if (knows_address(m)) slotmodel_tell_address(object);
}

/* ---- Questions ----------------------------------------------------------------------------------------------------- */

/* The place of the object of a handle, or count. */
static inline uint32_t slotmodel_find(const slotmodel *m, kolk_handle handle) {
    uint32_t place = 0;
    while (place < m->count && !kolk_handle_equal(m->live[place].handle, handle)) place++;
    return place;
}

static inline bool slotmodel_is_foreign(const slotmodel *m, kolk_handle handle) {
    uint32_t bits = 0;
    while (bits < 32 && (uint64_t)1 << bits < m->desc.max_capacity) bits++;
    return handle.bits >> 32 && ((uint32_t)handle.bits ^ m->map.tag) >> bits;
}

/* A look at this handle, which is of no object: counted, and in debug mode reported, if it is of another pool. */
static inline void slotmodel_note(slotmodel *m, kolk_handle handle) {
    if (!slotmodel_is_foreign(m, handle)) return;
    m->wrong_pool++;
    if (!(m->debug & (KOLK_DEBUG_FILL | KOLK_DEBUG_SITES | KOLK_DEBUG_MOVE))) return;
    slotmodel_assert(m, m->taken.count == 1 && m->taken.last.rule == KOLK_WRONG_POOL);
    slotmodel_assert(m, kolk_handle_equal(m->taken.last.handle, handle));
    m->taken.count = 0;
}

static inline void slotmodel_ask(slotmodel *m, kolk_handle handle) {
    uint32_t place = slotmodel_find(m, handle);
    bool there = place < m->count;
    slotmodel_assert(m, kolk_slotmap_get(&m->map, handle) == (there ? slotmodel_at(m, place) : NULL));
    if (!there) slotmodel_note(m, handle);
    slotmodel_assert(m, kolk_slotmap_slot(&m->map, handle) == (there ? m->live[place].slot : UINT32_MAX));
    if (!there) slotmodel_note(m, handle);
}

/* Slots without an object that have had all their lives. */
static inline uint32_t slotmodel_worn(const slotmodel *m) {
    uint32_t worn = 0;
    for (uint32_t slot = 0; slot < m->desc.max_capacity; slot++) worn += m->lives[slot] == KOLK_GENERATION_MAX;
    for (uint32_t i = 0; i < m->count; i++) worn -= m->lives[m->live[i].slot] == KOLK_GENERATION_MAX;
    return worn;
}

/* A slot's lives are numbered from 1; one that is worn out begins anew if there is no other. */
static inline void slotmodel_begin_life(slotmodel *m, uint32_t slot, uint64_t generation) {
    if (m->lives[slot] == KOLK_GENERATION_MAX) {
        slotmodel_assert(m, m->count + slotmodel_worn(m) == m->desc.max_capacity);
        m->lives[slot] = 0;
        m->recycled++;
    }
    m->lives[slot]++;
    slotmodel_assert(m, generation == m->lives[slot]);
}

static inline void slotmodel_compare(slotmodel *m) {
    kolk_stats stats;
    kolk_slotmap_stats(&m->map, &stats);
    slotmodel_assert(m, kolk_slotmap_is_valid(&m->map));
    slotmodel_assert(m, kolk_slotmap_count(&m->map) == m->count && stats.count == m->count);
    slotmodel_assert(m, stats.capacity == m->map.capacity && stats.max_capacity == m->desc.max_capacity);
    slotmodel_assert(m, kolk_slotmap_available(&m->map) == stats.capacity - m->count);
    slotmodel_assert(m, stats.capacity >= m->capacity && stats.capacity <= m->desc.max_capacity);
    slotmodel_assert(m, stats.failed == m->failed && stats.wrong_pool == m->wrong_pool && stats.debug == m->debug);
    slotmodel_assert(m, stats.peak >= m->most && stats.peak <= stats.capacity);
    slotmodel_assert(m, stats.peak == m->most || stats.worn_out || stats.recycled);
    slotmodel_assert(m, stats.worn_out == slotmodel_worn(m) && stats.recycled == m->recycled);
    slotmodel_assert(m, stats.object_size == m->desc.object_size && stats.stride == m->map.stride);
    slotmodel_assert(m, stats.unused_bytes == (uint64_t)(stats.capacity - stats.peak) * stats.stride);
    slotmodel_assert(m, stats.bytes_committed <= stats.bytes_reserved);
    slotmodel_assert(m, stats.bytes_committed >= (uint64_t)stats.capacity * stats.stride);
    uint32_t visited = 0;
    kolk_slotmap_cursor cursor = kolk_slotmap_each(&m->map);
    for (void *object; (object = kolk_slotmap_cursor_next(&cursor)); visited++)
        slotmodel_assert(m, object == slotmodel_at(m, visited));
    slotmodel_assert(m, visited == m->count && !kolk_slotmap_at(&m->map, visited));
    for (uint32_t place = 0; place < m->count; place++) {
        const record *now = &m->live[place];
        unsigned char *object = slotmodel_at(m, place);
        slotmodel_assert(m, slotmodel_is_written(m, object, now->stamp));
        slotmodel_assert(m, kolk_slotmap_at(&m->map, place) == object);
        slotmodel_assert(m, kolk_slotmap_index(&m->map, object) == place);
        slotmodel_assert(m, kolk_handle_equal(kolk_slotmap_handle(&m->map, object), now->handle));
        slotmodel_assert(m, kolk_slotmap_get(&m->map, now->handle) == object);
        slotmodel_assert(m, kolk_slotmap_slot(&m->map, now->handle) == now->slot && now->slot < stats.peak);
        slotmodel_assert(m, m->keyed[now->slot] == now->stamp);
        slotmodel_assert(m, !m->desc.on_move || m->beside[place] == now->stamp);
    }
    slotmodel_assert(m, m->taken.count == 0);
}

/* ---- Operations on both -------------------------------------------------------------------------------------------- */

static inline void slotmodel_add(slotmodel *m, bool with_handle) {
    kolk_handle handle = {1};
    unsigned char *object = (unsigned char *)kolk_slotmap_add(&m->map, with_handle ? &handle : NULL);
    if (m->count == m->desc.max_capacity) {
        slotmodel_assert(m, !object && (!with_handle || kolk_handle_is_null(handle)));
        m->failed++;
        return;
    }
    slotmodel_assert(m, object == slotmodel_at(m, m->count) && (uintptr_t)object % m->desc.object_align == 0);
    if (m->debug & KOLK_DEBUG_FILL) slotmodel_assert(m, all_bytes_are(object, m->desc.object_size, 0xcd));
    if (!with_handle) handle = kolk_slotmap_handle(&m->map, object);
    uint32_t slot = kolk_slotmap_slot(&m->map, handle);
    slotmodel_assert(m, slot < m->desc.max_capacity && slotmodel_find(m, handle) == m->count);
    for (uint32_t i = 0; i < m->count; i++) slotmodel_assert(m, m->live[i].slot != slot);
    slotmodel_begin_life(m, slot, handle.bits >> 32);
    uint64_t stamp = ++m->stamps;
    m->live[m->count] = (record){handle, slot, stamp};
    m->beside[m->count] = m->keyed[slot] = stamp;
    if (++m->count > m->most) m->most = m->count;
    if (m->count > m->capacity) m->capacity = m->count;
    m->remembered[stamp % REMEMBERED] = handle;
    slotmodel_write(m, object, stamp);
}

static inline void slotmodel_remove(slotmodel *m, kolk_handle handle) {
    uint32_t place = slotmodel_find(m, handle);
    slotmodel_assert(m, kolk_slotmap_remove(&m->map, handle) == (place < m->count));
    if (place == m->count) {
        slotmodel_note(m, handle);
        return;
    }
    m->live[place] = m->live[--m->count];
    if (m->debug & KOLK_DEBUG_FILL && !(m->debug & KOLK_DEBUG_MOVE)) {
        uint32_t fill = 0x1deadb0b;
        const unsigned char *vacated = slotmodel_at(m, m->count);
        for (size_t i = 0; i < m->desc.object_size; i++)
            slotmodel_assert(m, vacated[i] == ((unsigned char *)&fill)[i % 4]);
    }
}

static inline void slotmodel_clear(slotmodel *m) {
    kolk_slotmap_clear(&m->map);
    m->count = 0;
}

static inline uint64_t slotmodel_key(const slotmodel *m, const void *object) {
    uint32_t place = kolk_slotmap_index(&m->map, object);
    return (m->live[place].stamp * 0x9e3779b97f4a7c15u) >> 59; /* many are equal */
}

static inline int slotmodel_order(const void *a, const void *b, void *context) {
    slotmodel *m = (slotmodel *)context;
    slotmodel_assert(m, kolk_slotmap_index(&m->map, a) < m->count && kolk_slotmap_index(&m->map, b) < m->count);
    uint64_t first = slotmodel_key(m, a), second = slotmodel_key(m, b);
    return (first > second) - (first < second);
}

static inline int slotmodel_backwards(const void *a, const void *b, void *context) {
    return -slotmodel_order(a, b, context);
}

/* Insertion sort, which is stable too. */
static inline void slotmodel_sort(slotmodel *m, bool backwards) {
    record sorted[SLOTMODEL_MAX];
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
    kolk_slotmap_sort(&m->map, backwards ? slotmodel_backwards : slotmodel_order, m);
    memcpy(m->live, sorted, m->count * sizeof *sorted);
}

static inline void slotmodel_reserve(slotmodel *m, uint32_t capacity) {
    kolk_status status = kolk_slotmap_reserve(&m->map, capacity);
    slotmodel_assert(m, status == (capacity > m->desc.max_capacity ? KOLK_ABOVE_MAX : KOLK_OK));
    if (status == KOLK_OK && capacity > m->capacity) m->capacity = capacity;
}

/* While iterating, the current object is removed now and then, and one is added. All that were there are visited once. */
static inline void slotmodel_walk(slotmodel *m) {
    bool seen[SLOTMODEL_MAX] = {false};
    uint32_t before = m->count, visited = 0, adds = 0;
    uint64_t newest = m->stamps;
    kolk_slotmap_cursor cursor = kolk_slotmap_each(&m->map);
    for (void *object; (object = kolk_slotmap_cursor_next(&cursor));) {
        uint32_t place = kolk_slotmap_index(&m->map, object);
        record now = m->live[place];
        if (now.stamp <= newest) {
            slotmodel_assert(m, !seen[now.slot]);
            seen[now.slot] = true;
            visited++;
        }
        if (slotmodel_draw(m, 3) == 0) slotmodel_remove(m, now.handle);
        if (slotmodel_draw(m, 5) == 0 && m->count < before && adds++ < SLOTMODEL_MAX) { /* which are visited too */
            slotmodel_add(m, true);
            seen[m->live[m->count - 1].slot] = false;
        }
    }
    slotmodel_assert(m, visited == before);
}

/* Pointers that are no objects. */
static inline void slotmodel_misuse(slotmodel *m) {
    int on_stack = 0;
    uint32_t place = slotmodel_draw(m, m->map.capacity + 1), inside = slotmodel_draw(m, m->map.stride);
    const void *wrong = &on_stack;
    kolk_status rule = KOLK_FOREIGN_POINTER;
    switch (slotmodel_draw(m, 3)) {
    case 0:
        if (place == m->map.capacity || (inside == 0 && place < m->count)) break;
        wrong = moved(slotmodel_at(m, place), (ptrdiff_t)inside);
        rule = inside ? KOLK_INTERIOR_POINTER : KOLK_DEAD_OBJECT;
        break;
    case 1:
        wrong = NULL;
        break;
    default:
        break;
    }
    slotmodel_assert(m, kolk_slotmap_index(&m->map, wrong) == UINT32_MAX);
    slotmodel_assert(m, m->taken.count == 1 && m->taken.last.rule == rule && m->taken.last.object == wrong);
    slotmodel_assert(m, kolk_handle_is_null(kolk_slotmap_handle(&m->map, wrong)));
    slotmodel_assert(m, m->taken.count == 2 && m->taken.last.rule == rule);
    m->taken.count = 0;
}

/* Any handle: of an object, stale, of the next life, of another pool, null. */
static inline kolk_handle slotmodel_handle(slotmodel *m) {
    uint32_t choice = slotmodel_draw(m, 6);
    kolk_handle handle = m->remembered[slotmodel_draw(m, REMEMBERED)];
    if (choice < 3 && m->count) handle = m->live[slotmodel_draw(m, m->count)].handle;
    if (choice == 4) handle.bits += UINT64_C(1) << 32;
    if (choice == 5) handle.bits ^= UINT64_C(1) << slotmodel_draw(m, 64);
    return handle;
}

static inline void slotmodel_step(slotmodel *m) {
    m->step++;
    uint32_t choice = slotmodel_draw(m, 64);
    if (choice < 24) {
        slotmodel_add(m, choice % 2);
    } else if (choice < 44) {
        slotmodel_remove(m, slotmodel_handle(m));
    } else if (choice < 52) {
        slotmodel_ask(m, slotmodel_handle(m));
    } else if (choice < 55) {
        slotmodel_sort(m, choice % 2);
    } else if (choice < 57) {
        slotmodel_walk(m);
    } else if (choice < 60) {
        slotmodel_misuse(m);
    } else if (choice == 60) {
        slotmodel_reserve(m, slotmodel_draw(m, m->desc.max_capacity + 3));
    } else if (choice == 61) {
        slotmodel_assert(m, kolk_slotmap_trim(&m->map) == 0 || !m->desc.memory);
    } else if (choice == 62 && slotmodel_draw(m, 4) == 0) {
        slotmodel_clear(m);
    }
    slotmodel_compare(m);
}

/* ---- Life ---------------------------------------------------------------------------------------------------------- */

/* What the debug mode of this map can have. */
static inline uint32_t slotmodel_flags(const slotmodel *m) {
    const char *text = m->desc.debug ? m->desc.debug : "";
    uint32_t flags = strstr(text, "fill") ? KOLK_DEBUG_FILL : 0;
    if (strstr(text, "sites")) flags |= KOLK_DEBUG_SITES;
    if (strstr(text, "move") && !m->desc.memory && m->desc.max_capacity) flags |= KOLK_DEBUG_MOVE;
    return flags;
}

/* A map as drawn: size, capacities, growing or not, whose memory, on_move, debug. KOLK_BYPASS must be 0. */
static inline void slotmodel_init(slotmodel *m) {
    static const char *const debug[] = {NULL, NULL, NULL, "fill", "move", "fill,move", "sites,fill", "sites"};
    static const size_t sizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 24, 40, 64, 100, 128, 257, 300};
    begin_notes(&m->taken);
    m->desc = (kolk_slotmap_desc){.name = "model"};
    m->desc.object_size = sizes[slotmodel_draw(m, (uint32_t)LENGTH_OF(sizes))];
    m->desc.object_align = (size_t)1 << slotmodel_draw(m, 6);
    m->desc.max_capacity = slotmodel_draw(m, SLOTMODEL_MAX + 1);
    m->desc.capacity = slotmodel_draw(m, m->desc.max_capacity + 1);
    m->desc.debug = debug[slotmodel_draw(m, (uint32_t)LENGTH_OF(debug))];
    if (slotmodel_draw(m, 2)) m->desc.on_move = slotmodel_moved;
    m->desc.context = m;
    if (slotmodel_draw(m, 3) == 0 && m->desc.max_capacity) {
        m->desc.capacity = m->desc.max_capacity;
        m->desc.memory_size = kolk_slotmap_memory_size(&m->desc);
        m->block = (unsigned char *)malloc(m->desc.memory_size + 3 * MARGIN);
        uintptr_t at = ((uintptr_t)m->block + MARGIN + MARGIN - 1) / MARGIN * MARGIN;
        memset(m->block, 0xca, m->desc.memory_size + 3 * MARGIN);
        uint64_t dirt = 1;
        fill_random(&dirt, (void *)at, m->desc.memory_size);
        m->desc.memory = (void *)at;
    }
    if (slotmodel_draw(m, 3) == 0) m->desc.tag = slotmodel_draw(m, 4);
    m->capacity = m->desc.capacity;
    m->debug = slotmodel_flags(m);
    kolk_status status = kolk_slotmap_init(&m->map, &m->desc);
    slotmodel_assert(m, status == KOLK_OK);
    slotmodel_compare(m);
}

static inline void slotmodel_deinit(slotmodel *m) {
    bool leaks = m->count && m->debug & KOLK_DEBUG_SITES;
    kolk_slotmap_deinit(&m->map);
    slotmodel_assert(m, all_bytes_are(&m->map, sizeof m->map, 0));
    slotmodel_assert(m, leaks ? m->taken.count >= 1 && m->taken.last.rule == KOLK_LEAK : m->taken.count == 0);
    if (!m->block) return;
    const unsigned char *start = (const unsigned char *)m->desc.memory, *end = start + m->desc.memory_size;
    const unsigned char *last = m->block + m->desc.memory_size + 3 * MARGIN;
    slotmodel_assert(m, all_bytes_are(m->block, (size_t)(start - m->block), 0xca));
    slotmodel_assert(m, all_bytes_are(end, (size_t)(last - end), 0xca));
    free(m->block);
}

#endif
