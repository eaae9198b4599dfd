/* heap_class.c: the sizes of a heap's classes.
 *
 * kolk's own are 16, 32, 48, 64, and then four to each doubling: 80, 96, 112, 128, 160, 192, 224, 256, 320 ... So of a
 * block above 64 bytes less than a fifth is too much (the distances of jemalloc's classes; Evans, 2006). */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../core/room.h"
#include "../diag/registry.h"
#include "../os/lock.h"

#include <stdio.h>

#define GRAIN        KOLK_HEAP_GRAIN
#define CACHE_BYTES  65536u /* that a magazine may hold, */
#define MOST_CACHED  256u   /* and how many blocks */
#define CLASS_COLOUR 64u    /* bytes of a line; each class begins in another line of its page */
#define CLASS_PAGES  4096u  /* a class begins at one of this many pages; of fewer in a small address space */

/* The size of the n-th of kolk's own classes. */
static uint32_t own_size(uint32_t n) {
    if (n < 4) return (n + 1) * GRAIN;
    uint32_t doubling = (n - 4) / 4, quarter = (n - 4) % 4;
    return (64u << doubling) / 4 * (5 + quarter);
}

static uint32_t class_alignment(uint32_t size) {
    uint32_t align = size & (~size + 1);
    return align < KOLK_MAX_ALIGN ? align : KOLK_MAX_ALIGN;
}

static void set_class_name(kolk_heap_tray *tray, const kolk_heap_inside *inside) {
    if (tray->name || !inside->name) return;
    int length = snprintf(tray->own_name, sizeof tray->own_name, "%s/%u", inside->name, tray->size);
    tray->name = length < (int)sizeof tray->own_name ? tray->own_name : inside->name;
}

/* Of a class with a capacity, so little that it hardly matters to other threads; few blocks then go one by one. */
static uint32_t cache_of_class(const kolk_heap_tray *tray) {
    uint32_t cached = CACHE_BYTES / tray->size;
    if (cached < 1) cached = 1;
    if (cached > MOST_CACHED) cached = MOST_CACHED;
    return tray->max_capacity && tray->max_capacity / 64 < cached ? tray->max_capacity / 64 : cached;
}

static void set_tray(kolk_heap_inside *inside, uint32_t n, const kolk_heap_class *class_) {
    kolk_heap_tray *tray = &inside->trays[n];
    tray->size = ((uint32_t)class_->size + GRAIN - 1) / GRAIN * GRAIN;
    tray->capacity = class_->capacity;
    tray->max_capacity = class_->max_capacity ? class_->max_capacity : class_->capacity;
    tray->when_full = class_->when_full;
    tray->name = class_->name;
    tray->cache = cache_of_class(tray);
    set_class_name(tray, inside);
}

static kolk_status set_own_classes(kolk_heap *heap, kolk_heap_inside *inside) {
    uint32_t n = 0;
    for (; n == 0 || own_size(n - 1) < KOLK_HEAP_LARGEST; n++)
        set_tray(inside, n, &(kolk_heap_class){.size = own_size(n)});
    heap->n_classes = n;
    return KOLK_OK;
}

static kolk_status set_users_classes(kolk_heap *heap, kolk_heap_inside *inside, const kolk_heap_desc *desc) {
    if (desc->n_classes == 0 || desc->n_classes > KOLK_HEAP_CLASSES) return KOLK_BAD_CLASSES;
    for (uint32_t n = 0; n < desc->n_classes; n++) {
        const kolk_heap_class *class_ = &desc->classes[n];
        if (class_->size == 0) return KOLK_ZERO_SIZE;
        if (class_->size > KOLK_HEAP_GREATEST) return KOLK_SIZE_OVERFLOW;
        if (class_->max_capacity && class_->max_capacity < class_->capacity) return KOLK_MAX_BELOW_CAPACITY;
        set_tray(inside, n, class_);
        if (n && inside->trays[n].size <= inside->trays[n - 1].size) return KOLK_BAD_CLASSES;
    }
    heap->n_classes = desc->n_classes;
    return KOLK_OK;
}

/* The least class of blocks of this size. */
static uint32_t class_from(const kolk_heap_inside *inside, uint32_t size) {
    uint32_t n = 0;
    while (inside->sizes[n] < size) n++;
    return n;
}

kolk_status kolk_heap_set_classes(kolk_heap *heap, kolk_heap_inside *inside, const kolk_heap_desc *desc) {
    kolk_status status = desc->classes ? set_users_classes(heap, inside, desc) : set_own_classes(heap, inside);
    if (status != KOLK_OK) return status;
    for (uint32_t n = 0; n < heap->n_classes; n++) inside->sizes[n] = inside->trays[n].size;
    inside->sizes[heap->n_classes] = UINT32_MAX;
    for (uint32_t at = 0; at < sizeof heap->by_size; at++) heap->by_size[at] = (uint8_t)class_from(inside, at * GRAIN);
    for (uint32_t at = 0; at < sizeof heap->by_quarter; at++)
        heap->by_quarter[at] = (uint8_t)class_from(inside, (256u << at / 4) * (4 + at % 4) + 1);
    return KOLK_OK;
}

uint32_t kolk_heap_class_aligned(const kolk_heap *heap, size_t align, size_t size) {
    uint32_t n = kolk_heap_class_for(heap, size);
    while (n < heap->n_classes && class_alignment(heap->inside->trays[n].size) < align) n++;
    return n;
}

/* ---- Their pools ------------------------------------------------------------------------------------------------- */

/* Where a class begins in its address space: not where others do, so that their slots do not meet in the caches
 * (Bonwick's colours, 1994). The line in the page counts for all caches, the page for those that look a line up by a
 * hash of the address: in AMD's first-level caches two lines whose addresses differ in high bits alone push each other
 * out (Lipp et al., Take A Way, 2020). */
static size_t colour_of_class(const kolk_heap *heap, uint32_t n, uint32_t align) {
    size_t pages = (size_t)(kolk_heap_colours(heap->class_shift) / KOLK_MAX_ALIGN);
    if (pages > CLASS_PAGES) pages = CLASS_PAGES;
    size_t page = n * (size_t)2531 % pages, line = n * (size_t)5 * CLASS_COLOUR % KOLK_MAX_ALIGN;
    return page * KOLK_MAX_ALIGN + line / align * align;
}

static bool make_class(const kolk_heap *heap, kolk_heap_inside *inside, uint32_t n) {
    kolk_heap_tray *tray = &inside->trays[n];
    uint32_t align = class_alignment(tray->size);
    size_t space = (size_t)1 << heap->class_shift, colour = colour_of_class(heap, n, align);
    kolk_part_desc desc = {
        .name = tray->name,
        .debug = inside->debug,
        .size = tray->size,
        .align = align,
        .capacity = tray->capacity,
        .max_capacity = tray->max_capacity,
        .cache = tray->cache,
        .range = (unsigned char *)(heap->base + n * space + colour),
        .range_size = space - colour,
        .colour = n * 5 * CLASS_COLOUR % KOLK_MAX_ALIGN,
        .members = &inside->members,
        .budget = inside->limit ? &inside->budget : NULL,
    };
    if (kolk_shared_init_part(&tray->pool, &desc) != KOLK_OK) return false;
    tray->pool.depot.slow_free = inside->sample != 0; /* heap_guarded.c tells why */
    return true;
}

kolk_shared *kolk_heap_make_class(kolk_heap *heap, uint32_t n) {
    kolk_heap_inside *inside = heap->inside;
    kolk_heap_tray *tray = &inside->trays[n];
    KOLK_ASSERT(n < heap->n_classes);
    if (kolk_load(&tray->is_made, KOLK_ACQUIRE)) return &tray->pool; /* partner: below */
    kolk_lock_word(&inside->lock);
    if (!tray->is_made) kolk_registry_remove(tray->pool.number); /* in a fork's child, which found it half made */
    if (!tray->is_made && make_class(heap, inside, n)) kolk_store(&tray->is_made, 1, KOLK_RELEASE); /* partner: above */
    bool made = tray->is_made;
    kolk_unlock_word(&inside->lock);
    return made ? &tray->pool : NULL;
}

kolk_shared *kolk_heap_pool_of(const kolk_heap *heap, const void *block) {
    uintptr_t n = kolk_heap_class_at(heap, block);
    if (n >= heap->n_classes || !kolk_load(&heap->inside->trays[n].is_made, KOLK_ACQUIRE)) return NULL;
    return &heap->inside->trays[n].pool;
}

#endif
