/* model.h: runs each operation on a heap and on a model of it, an array of live blocks, and compares them. Choices come
 * from `draw`: random numbers or a fuzzer's bytes. In a test, include test.h first. */
#ifndef TESTS_HEAP_MODEL_H
#define TESTS_HEAP_MODEL_H

#include "../../src/heap/heap_inside.h"
#include "../help/model_fails.h"

#include <errno.h>

#define MODEL_BLOCKS 512u
#define MODEL_DEAD   64u
#define MODEL_TRAYS  5u
#define MODEL_BOOK   ((size_t)256) /* stamped bytes at each end of a block */

typedef struct model_block {
    unsigned char *at;
    size_t size, usable; /* as requested; as allocated */
    uint64_t stamp;
} model_block;

typedef struct model {
    kolk_heap heap, parent; /* the parent may be all zero */
    kolk_budget budget;     /* of a heap with a limit */
    uint32_t (*draw)(void *context);
    void *context;
    const char *what;
    uint64_t step;

    model_block blocks[MODEL_BLOCKS];
    uint32_t count;
    unsigned char *dead[MODEL_DEAD]; /* the last freed addresses; NULL: none */
    uint64_t freed;
    kolk_heap_class trays[MODEL_TRAYS];
    uint32_t n_trays;
    unsigned char *memory; /* the fixed heap's; NULL: it is not fixed */
    size_t memory_size;
    size_t sizes[KOLK_HEAP_CLASSES];          /* block size of each class */
    uint32_t of_class[KOLK_HEAP_CLASSES + 1]; /* live blocks per class; the last: large ones */
    uint64_t limit, stamps, failed, asked;
    uint32_t busy;                 /* the block that on_full must not free */
    bool bypass, has_ask, refuses; /* has_ask: on_full is set; refuses: it frees nothing */
    notes taken;
} model;

static inline uint32_t model_draw(model *m, uint32_t below) {
    return below ? m->draw(m->context) % below : 0;
}

/* Checks that there was exactly one report since the last check, of one of these rules. */
static inline void model_told(model *m, kolk_status rule, kolk_status or_this) {
    model_assert(m, m->taken.count == 1);
    model_assert(m, m->taken.last.rule == rule || m->taken.last.rule == or_this);
    m->taken.count = 0;
}

/* ---- Sizes and classes ------------------------------------------------------------------------------------------- */

/* Returns mostly small sizes, some around the ends of the tables, a few large ones, and very few impossible ones. */
static inline size_t model_size(model *m) {
    size_t fine = model_draw(m, 256), coarse = model_draw(m, 64);
    switch (model_draw(m, 16)) {
    case 0:
        return fine * coarse * 256;
    case 1:
        return fine * 16 * coarse;
    case 2:
        return 1000 + fine;
    case 3:
        return (size_t)KOLK_HEAP_LARGEST - 128 + fine;
    case 4:
        if (coarse) return fine * 1024;
        /* Tools that watch malloc do not accept sizes around SIZE_MAX / 2. */
        return m->bypass ? SIZE_MAX - fine : SIZE_MAX / 2 - 100000 + fine * 8192;
    default:
        return fine * (1 + coarse / 16);
    }
}

/* Does the address lie in the heap's nursery? */
static inline bool model_is_young(const model *m, const void *at) {
    return !m->memory && kolk_nursery_has_(&m->heap.root->nursery, at);
}

/* Does the heap know of each block at this address whether it is alive? */
static inline bool model_has_life(const model *m, const void *at) {
    if (m->memory) return (uintptr_t)at - (uintptr_t)m->memory < m->memory_size;
    return model_is_young(m, at) || ((uintptr_t)at - m->heap.base) >> m->heap.class_shift < m->heap.n_classes;
}

/* The class of a block, by its usable size; n_classes if it is large. */
static inline uint32_t model_class(const model *m, size_t usable, const unsigned char *at) {
    uint32_t n = 0;
    while (n < m->heap.n_classes && m->sizes[n] != usable) n++;
    bool in_space = model_has_life(m, at);
    model_assert(m, (n < m->heap.n_classes && in_space) || !in_space || m->bypass);
    return in_space ? n : m->heap.n_classes;
}

static inline bool model_is_full(const model *m, uint32_t n) {
    if (n >= m->n_trays || n >= m->heap.n_classes) return false;
    uint32_t most = m->trays[n].max_capacity ? m->trays[n].max_capacity : m->trays[n].capacity;
    return most && m->of_class[n] >= most;
}

/* Are all blocks of class n aligned to this power of two? */
static inline bool model_has_alignment(const model *m, uint32_t n, size_t align) {
    if (m->memory) return (((uintptr_t)m->heap.fixed->trays[n].blocks | m->sizes[n]) & (align - 1)) == 0;
    return (m->sizes[n] & (~m->sizes[n] + 1)) >= align && align <= 4096;
}

/* The bytes of class n's blocks in the nursery, live ones and freed ones. */
static inline uint64_t model_young_bytes(const model *m, uint32_t n) {
    kolk_nursery_counts_ of;
    if (n >= KOLK_NURSERY_CLASSES_) return 0;
    kolk_nursery_count_(&m->heap.root->nursery, &of);
    if (!of.of[n].peak) return 0;
    return (uint64_t)(of.of[n].alive + of.of[n].freed) * kolk_own_size_(n);
}

/* The class that an alloc must use if the limit permits; n_classes: large; UINT32_MAX: the alloc must fail. */
static inline uint32_t model_expects(const model *m, size_t align, size_t size) {
    for (uint32_t n = 0; n < m->heap.n_classes; n++) {
        if (m->sizes[n] < size || !model_has_alignment(m, n, align)) continue;
        if (!model_is_full(m, n)) return n;
        if (m->trays[n].when_full == KOLK_HEAP_NULL) return UINT32_MAX;
    }
    return m->memory || size > SIZE_MAX / 4 ? UINT32_MAX : m->heap.n_classes;
}

/* Bytes left below the limit. */
static inline uint64_t model_left(const model *m) {
    kolk_heap_class_stats of;
    if (m->memory) return UINT64_MAX;
    uint64_t taken = m->heap.root->nursery.leaves * (uint64_t)KOLK_LEAF_;
    for (uint32_t n = 0; n < m->heap.n_classes; n++) {
        bool used = kolk_heap_stats_of_class(&m->heap, n, &of);
        if (used && of.stats.stride > m->sizes[n]) taken += (uint64_t)of.stats.capacity * of.stats.stride;
        if (used && of.stats.stride == m->sizes[n])
            taken += of.stats.capacity * of.stats.stride - model_young_bytes(m, n);
        if (used && m->heap.inside) taken -= (uint64_t)m->heap.inside->trays[n].store.released * of.stats.stride;
    }
    for (uint32_t n = 0; n < m->count; n++)
        if (model_class(m, m->blocks[n].usable, m->blocks[n].at) == m->heap.n_classes) taken += m->blocks[n].usable;
    model_assert(m, !m->limit || taken <= m->limit);
    return m->limit ? m->limit - taken : UINT64_MAX;
}

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

static inline unsigned char model_byte(uint64_t stamp, size_t at) {
    return (unsigned char)(stamp * 131 + at * 7 + (at >> 8));
}

static inline size_t model_book_end(size_t size) {
    return size < MODEL_BOOK ? size : MODEL_BOOK;
}

static inline void model_write(const model_block *block) {
    size_t end = model_book_end(block->usable), last = block->usable - end;
    for (size_t i = 0; i < end; i++) {
        block->at[i] = model_byte(block->stamp, i);
        block->at[last + i] = model_byte(block->stamp, last + i);
    }
}

/* Checks the stamps at both ends of the block, as far as they lie in its first `size` bytes. */
static inline void model_check(model *m, const model_block *block, const unsigned char *at, size_t size) {
    size_t end = model_book_end(block->usable), last = block->usable - end;
    for (size_t i = 0; i < end && i < size; i++) model_assert(m, at[i] == model_byte(block->stamp, i));
    for (size_t i = last; i < block->usable && i < size; i++) model_assert(m, at[i] == model_byte(block->stamp, i));
}

static inline bool model_overlaps(const model *m, const unsigned char *at, size_t size) {
    for (uint32_t n = 0; n < m->count; n++) {
        const model_block *other = &m->blocks[n];
        if ((uintptr_t)at < (uintptr_t)other->at + other->usable && (uintptr_t)other->at < (uintptr_t)at + size)
            return true;
    }
    return false;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static inline void model_enter(model *m, unsigned char *at, size_t size) {
    size_t usable = kolk_heap_usable_size(&m->heap, at);
    model_assert(m, usable >= size && usable > 0);
    model_assert(m, !model_overlaps(m, at, usable));
    model_assert(m, kolk_heap_is_live(&m->heap, at));
    m->blocks[m->count] = (model_block){at, size, usable, ++m->stamps};
    m->of_class[model_class(m, usable, at)]++;
    model_write(&m->blocks[m->count++]);
}

/* Removes a block that is no longer alive. */
static inline void model_forget(model *m, uint32_t n) {
    const model_block *block = &m->blocks[n];
    m->of_class[model_class(m, block->usable, block->at)]--;
    m->dead[m->freed++ % MODEL_DEAD] = block->at;
    m->blocks[n] = m->blocks[--m->count];
    if (m->busy == m->count) m->busy = n;
}

static inline void model_free(model *m, uint32_t n) {
    model_block block = m->blocks[n];
    model_check(m, &block, block.at, block.usable);
    model_assert(m, kolk_heap_usable_size(&m->heap, block.at) == block.usable);
    model_forget(m, n);
    kolk_heap_free(&m->heap, block.at);
}

static inline bool model_makes_room(kolk_heap *heap, size_t size, void *context) {
    model *m = (model *)context;
    (void)size;
    model_assert(m, heap == &m->heap);
    m->asked++;
    uint32_t n = model_draw(m, m->count);
    if (m->refuses || m->count == 0 || n == m->busy) return false;
    model_free(m, n);
    return true;
}

/* NULL is correct only if there is no room, and on_full was called exactly once. */
static inline void model_check_null(model *m, size_t align, size_t size, uint64_t asked) {
    uint32_t n = model_expects(m, align, size);
    m->failed++;
    if (m->has_ask) model_assert(m, m->asked == asked + 1);
    if (n == UINT32_MAX || size > SIZE_MAX / 4) return;
    model_assert(m, m->limit);
    size_t needs = n < m->heap.n_classes ? m->sizes[n] + 3 * 4096 : size + 4096 + align;
    model_assert(m, model_left(m) < needs);
}

static inline void model_alloc(model *m) {
    size_t size = model_size(m), align = 1;
    uint64_t asked = m->asked;
    unsigned char *at;
    if (m->count == MODEL_BLOCKS) return;
    uint32_t way = model_draw(m, 6);
    if (way == 0) align = (size_t)1 << model_draw(m, 17);
    uint32_t from = model_expects(m, align, size);
    if (way == 0)
        at = (unsigned char *)kolk_heap_alloc_aligned(&m->heap, align, size);
    else if (way == 1)
        at = (unsigned char *)kolk_heap_alloc_zeroed(&m->heap, size);
    else if (way == 2)
        at = (unsigned char *)kolk_heap_realloc(&m->heap, NULL, size);
    else
        at = (unsigned char *)kolk_heap_alloc(&m->heap, size);
    if (!at) {
        model_check_null(m, align, size, asked);
        return;
    }
    model_assert(m, (uintptr_t)at % 16 == 0 && (uintptr_t)at % align == 0);
    if (way == 1) model_assert(m, all_bytes_are(at, size, 0));
    model_enter(m, at, size);
    const model_block *block = &m->blocks[m->count - 1];
    if (model_is_young(m, at)) from = model_expects(m, 1, size);
    if (m->asked == asked && !m->limit) model_assert(m, model_class(m, block->usable, at) == from);
}

static inline void model_realloc(model *m) {
    if (m->count == 0) return;
    uint32_t n = m->busy = model_draw(m, m->count);
    size_t size = model_draw(m, 3) ? model_size(m) : m->blocks[n].size + model_draw(m, 64);
    uint64_t asked = m->asked;
    model_block before = m->blocks[n];
    unsigned char *at = (unsigned char *)kolk_heap_realloc(&m->heap, before.at, size);
    n = m->busy; /* on_full may have moved its entry */
    m->busy = UINT32_MAX;
    model_check(m, &before, at ? at : before.at, at && size < before.size ? size : before.size);
    if (!at) {
        model_check(m, &before, before.at, before.usable);
        model_check_null(m, 1, size, asked);
        return;
    }
    if (at == before.at && kolk_heap_usable_size(&m->heap, at) == before.usable) {
        m->blocks[n].size = size;
        return;
    }
    model_forget(m, n);
    if (at == before.at) m->freed--; /* the block was not freed, but resized */
    if (at == before.at) m->dead[m->freed % MODEL_DEAD] = NULL;
    model_enter(m, at, size);
}

/* Blocks that on_full frees meanwhile are others. */
static inline void model_alloc_n(model *m, uint32_t n) {
    void *blocks[MODEL_BLOCKS];
    size_t size = model_size(m);
    if (n > MODEL_BLOCKS - m->count) n = MODEL_BLOCKS - m->count;
    size_t given = kolk_heap_alloc_n(&m->heap, size, blocks, n);
    model_assert(m, given <= n);
    for (size_t i = 0; i < given; i++) {
        model_assert(m, (uintptr_t)blocks[i] % 16 == 0);
        model_enter(m, (unsigned char *)blocks[i], size);
    }
    if (given < n) model_check_null(m, 1, size, m->asked - m->has_ask);
}

/* Frees up to n blocks, random ones or those that were entered last. NULL is among them, and now and then the first one
 * again. errno must not change. */
static inline void model_free_n(model *m, uint32_t n) {
    void *blocks[MODEL_BLOCKS + 2];
    uint32_t count = 0;
    bool last = model_draw(m, 2), twice = model_draw(m, 4) == 0;
    for (; n && m->count; n--) {
        uint32_t which = last ? m->count - 1 : model_draw(m, m->count);
        model_check(m, &m->blocks[which], m->blocks[which].at, m->blocks[which].usable);
        if (count == 3) blocks[count++] = NULL;
        blocks[count++] = m->blocks[which].at;
        model_forget(m, which);
    }
    twice = twice && count;
    if (twice) blocks[count++] = blocks[0];
    errno = 77;
    kolk_heap_free_n(&m->heap, blocks, count);
    model_assert(m, errno == 77);
    if (!twice) return;
    model_assert(m, m->taken.last.object == blocks[0]);
    model_told(m, model_has_life(m, blocks[0]) ? KOLK_DOUBLE_FREE : KOLK_FOREIGN_POINTER, KOLK_FOREIGN_POINTER);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

static inline uint32_t model_find(const model *m, const void *at) {
    uint32_t n = 0;
    while (n < m->count && m->blocks[n].at != at) n++;
    return n;
}

/* A walk visits each live block once: young blocks, then those of classes in the order of classes and addresses, and
 * large blocks last. */
static inline void model_walk(model *m) {
    uint32_t seen = 0, class_before = 0;
    uintptr_t last = 0;
    for (void *at = NULL; (at = kolk_heap_next(&m->heap, at)); seen++) {
        uint32_t n = model_find(m, at);
        model_assert(m, n < m->count);
        uint32_t of = model_is_young(m, at) ? 0 : 1 + model_class(m, m->blocks[n].usable, m->blocks[n].at);
        model_assert(m, of > class_before || (of == class_before && (uintptr_t)at > last));
        class_before = of;
        last = (uintptr_t)at;
    }
    model_assert(m, seen == m->count);
}

static inline void model_look_at_all(model *m) {
    kolk_heap_class_stats of;
    kolk_stats stats;
    uint64_t given = 0;
    model_walk(m);
    model_assert(m, kolk_heap_is_valid(&m->heap));
    kolk_heap_stats(&m->heap, &stats);
    model_assert(m, stats.count == m->count && stats.peak >= stats.count);
    model_assert(m, stats.failed == m->failed);
    for (uint32_t n = 0; n <= m->heap.n_classes; n++) {
        bool used = kolk_heap_stats_of_class(&m->heap, n, &of);
        model_assert(m, of.stats.count == m->of_class[n] && (used || !m->of_class[n]));
        model_assert(m, of.asked <= of.given && of.stats.count <= of.stats.capacity);
    }
    for (uint32_t n = 0; n < m->count; n++) given += m->blocks[n].usable;
    model_assert(m, !m->limit || given <= m->limit);
    model_left(m);
}

static inline void model_ask(model *m) {
    unsigned char *dead = m->dead[model_draw(m, MODEL_DEAD)];
    if (m->count) {
        const model_block *block = &m->blocks[model_draw(m, m->count)];
        model_assert(m, kolk_heap_is_live(&m->heap, block->at));
        size_t inside = block->usable > 1 ? 1 + model_draw(m, (uint32_t)block->usable - 1) : 0;
        model_assert(m, !inside || !kolk_heap_is_live(&m->heap, block->at + inside));
        model_assert(m, kolk_heap_usable_size(&m->heap, block->at) == block->usable);
    }
    if (dead) model_assert(m, kolk_heap_is_live(&m->heap, dead) == (model_find(m, dead) < m->count));
    model_assert(m, !kolk_heap_is_live(&m->heap, NULL) && !kolk_heap_is_live(&m->heap, m));
    model_assert(m, kolk_heap_usable_size(&m->heap, NULL) == 0);
    kolk_heap_free(&m->heap, NULL);
}

static inline bool model_is_within(const model *m, const unsigned char *at) {
    uint32_t n = 0;
    while (n < m->count && (at <= m->blocks[n].at || at >= m->blocks[n].at + m->blocks[n].usable)) n++;
    return n < m->count;
}

/* ---- Mistakes: each is reported once, and changes nothing -------------------------------------------------------- */

static inline void model_misuse(model *m) {
    unsigned char *at = (unsigned char *)&at;
    kolk_status rule = KOLK_FOREIGN_POINTER, or_this = rule;
    switch (model_draw(m, 4)) {
    case 0:
        break;
    case 1:
        if (m->count == 0) return;
        const model_block *block = &m->blocks[model_draw(m, m->count)];
        if (block->usable == 1) return;
        at = block->at + 1 + model_draw(m, (uint32_t)block->usable - 1);
        rule = or_this = KOLK_INTERIOR_POINTER;
        break;
    default:
        at = m->dead[model_draw(m, MODEL_DEAD)];
        if (!at || model_find(m, at) < m->count) return; /* the address belongs to another block now */
        rule = model_has_life(m, at) ? KOLK_DOUBLE_FREE : KOLK_FOREIGN_POINTER;
        or_this = model_has_life(m, at) ? KOLK_DEAD_OBJECT : KOLK_INTERIOR_POINTER; /* not free; or reused pages */
        if (model_is_within(m, at)) rule = or_this = KOLK_INTERIOR_POINTER;         /* a new block covers it */
    }
    switch (model_draw(m, 3)) {
    case 0:
        kolk_heap_free(&m->heap, at);
        break;
    case 1:
        model_assert(m, !kolk_heap_realloc(&m->heap, at, model_size(m)));
        break;
    default:
        model_assert(m, kolk_heap_usable_size(&m->heap, at) == 0);
    }
    model_told(m, rule, or_this);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static inline void model_set_trays(model *m) {
    size_t size = 0;
    m->n_trays = 1 + model_draw(m, MODEL_TRAYS);
    for (uint32_t n = 0; n < m->n_trays; n++) {
        size = (size + 15) / 16 * 16 + 1 + model_draw(m, 256) * (model_draw(m, 4) ? 1 : 64);
        m->trays[n] = (kolk_heap_class){.size = size, .when_full = model_draw(m, 3) ? KOLK_HEAP_NEXT : KOLK_HEAP_NULL};
        if (model_draw(m, 4) == 0) continue;
        m->trays[n].capacity = model_draw(m, 20);
        if (model_draw(m, 2)) m->trays[n].max_capacity = m->trays[n].capacity + 1 + model_draw(m, 100);
    }
}

/* Makes the heap a fixed one, on memory that is just large enough, and whose bytes it must not rely on. */
static inline void model_set_memory(model *m, kolk_heap_desc *desc) {
    for (uint32_t n = 0; n < m->n_trays; n++)
        if (m->trays[n].capacity == 0) m->trays[n].capacity = 1 + model_draw(m, 20);
    for (uint32_t n = 0; n < m->n_trays; n++) m->trays[n].max_capacity = 0;
    m->limit = desc->limit = 0;
    desc->memory_size = m->memory_size = kolk_heap_memory_size(desc);
    desc->memory = m->memory = (unsigned char *)malloc(m->memory_size);
    model_assert(m, m->memory_size && m->memory);
    memset(m->memory, 0xa5, m->memory_size < 65536 ? m->memory_size : 65536);
}

static inline void model_init(model *m) {
    static const char *const settings[] = {NULL, NULL, NULL, NULL, "fill", "guard,fill,quarantine=5", "sites", "all"};
    bool is_fixed = model_draw(m, 4) == 0;
    m->bypass = model_draw(m, 8) == 0 && !is_fixed;
    m->has_ask = model_draw(m, 3) == 0;
    m->refuses = model_draw(m, 2);
    m->busy = UINT32_MAX;
    if (is_fixed || model_draw(m, 2)) model_set_trays(m);
    if (model_draw(m, 3) == 0) m->limit = 400000 + model_draw(m, 256) * UINT64_C(16001);
    kolk_heap_desc desc = {.name = model_draw(m, 4) ? "model" : NULL,
                           .limit = m->limit,
                           .debug = settings[model_draw(m, LENGTH_OF(settings))],
                           .classes = m->n_trays ? m->trays : NULL,
                           .n_classes = m->n_trays,
                           .on_full = m->has_ask ? model_makes_room : NULL,
                           .context = m};
    if (is_fixed) model_set_memory(m, &desc);
    setenv("KOLK_BYPASS", m->bypass ? "1" : "0", 1);
    begin_notes(&m->taken);
    if (sizeof(void *) == 8 && !is_fixed && model_draw(m, 4) == 0) {
        model_assert(m, kolk_heap_init(&m->parent, &(kolk_heap_desc){.name = "parent"}) == KOLK_OK);
        desc.parent = &m->parent;
    }
    if (desc.limit && !desc.parent) desc.budget = &m->budget;
    kolk_status status = kolk_heap_init(&m->heap, &desc);
    if (sizeof(void *) < 8 && !is_fixed) { /* 32-bit machines have only fixed heaps */
        model_assert(m, status == KOLK_NO_MEMORY && all_bytes_are(&m->heap, sizeof m->heap, 0));
        return;
    }
    if (status != KOLK_OK && m->limit) { /* the trays' initial capacity exceeds the limit */
        model_assert(m, status == KOLK_NO_MEMORY && all_bytes_are(&m->heap, sizeof m->heap, 0));
        model_assert(m, m->budget.used_ == 0);
        m->limit = desc.limit = 0;
        status = kolk_heap_init(&m->heap, &desc);
    }
    model_assert(m, status == KOLK_OK);
    model_assert(m, kolk_heap_is_valid(&m->heap));
    for (uint32_t n = 0; n < m->heap.n_classes; n++) {
        kolk_heap_class_stats of;
        kolk_heap_stats_of_class(&m->heap, n, &of);
        m->sizes[n] = (size_t)of.stats.object_size;
    }
}

static inline void model_reset(model *m) {
    model_look_at_all(m);
    while (m->count) model_forget(m, m->count - 1);
    kolk_heap_reset(&m->heap);
    model_look_at_all(m);
}

static inline void model_alloc_many(model *m) {
    uint32_t n = model_draw(m, 256);
    if (n % 2)
        model_alloc_n(m, n * 2);
    else
        while (n--) model_alloc(m);
}

static inline void model_free_many(model *m) {
    uint32_t n = model_draw(m, 256);
    if (n % 2)
        model_free_n(m, n * 2);
    else
        while (n-- && m->count) model_free(m, model_draw(m, m->count));
}

static inline void model_step(model *m) {
    uint32_t choice = model_draw(m, 64);
    m->step++;
    if (m->heap.n_classes == 0 && !m->heap.root) return;
    if (choice < 24)
        model_alloc(m);
    else if (choice < 38 && m->count)
        model_free(m, model_draw(m, m->count));
    else if (choice < 48)
        model_realloc(m);
    else if (choice < 53)
        model_misuse(m);
    else if (choice < 54)
        model_alloc_many(m);
    else if (choice < 55)
        model_free_many(m);
    else if (choice < 56)
        kolk_heap_trim(&m->heap);
    else if (choice < 57)
        model_look_at_all(m);
    else if (choice < 58)
        model_assert(m, !kolk_heap_alloc_aligned(&m->heap, 3 * (size_t)model_draw(m, 100), model_size(m)));
    else if (choice < 63 || model_draw(m, 8))
        model_ask(m);
    else
        model_reset(m);
    model_assert(m, m->taken.count == 0);
}

static inline void model_deinit(model *m) {
    if (m->heap.n_classes == 0 && !m->heap.root) return;
    model_look_at_all(m);
    bool leaves = model_draw(m, 2); /* the debug mode then reports leaks */
    while (m->count && !leaves) model_free(m, model_draw(m, m->count));
    if (m->parent.root && model_draw(m, 2)) kolk_heap_deinit(&m->parent); /* ends the heap too */
    kolk_heap_deinit(&m->heap);
    kolk_heap_deinit(&m->parent);
    if (!leaves) model_assert(m, m->taken.count == 0);
    if (m->taken.count) model_assert(m, m->taken.last.rule == KOLK_LEAK);
    model_assert(m, all_bytes_are(&m->heap, sizeof m->heap, 0) && m->budget.used_ == 0);
    free(m->memory);
    kolk_set_failure_handler(NULL, NULL);
}

#endif
