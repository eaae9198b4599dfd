/* heap_ask.c: what can be asked of a heap, and what is said of pointers that it does not know. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../core/tools.h"

#include <string.h>

static const char *name_of(const kolk_heap_inside *inside) {
    return inside->name ? inside->name : "";
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

void kolk_heap_refuse(const kolk_heap *heap, const void *block, const char *verb, const void *site) {
    const kolk_heap_inside *inside = heap->inside;
    const kolk_shared *pool = inside ? kolk_heap_pool_of(heap, block) : NULL;
    if (pool) {
        kolk_shared_refuse(pool, block, verb, site);
        return;
    }
    kolk_failure failure = {
        .pool = inside ? name_of(inside) : "", .object = block, .slot = UINT32_MAX, .site = site, .no_debug = true};
    if (inside && kolk_heap_refuse_guarded(inside, failure, verb)) return;
    size_t behind = 0;
    if (inside && kolk_large_locate(&inside->large, block, &behind)) {
        failure.rule = KOLK_INTERIOR_POINTER;
        kolk_fail(failure, "%s of a pointer into a large block, at byte %u of it", verb, (uint64_t)behind);
        return;
    }
    failure.rule = KOLK_FOREIGN_POINTER;
    kolk_fail(failure, "%s of a pointer that is not of this heap", verb);
}

size_t kolk_heap_size_of(const kolk_heap *heap, const void *block) {
    if (!heap->inside) return 0;
    const kolk_shared *pool = kolk_heap_pool_of(heap, block);
    if (!pool && kolk_guarded_has(&heap->inside->guarded, block))
        return kolk_guarded_size(&heap->inside->guarded, block);
    if (!pool) return kolk_large_size(&heap->inside->large, block);
    return kolk_shared_is_live(pool, block) ? pool->object_size : 0;
}

KOLK_NOINLINE size_t kolk_heap_usable_size(kolk_heap *heap, const void *block) {
    if (!block) return 0;
    size_t size = kolk_heap_size_of(heap, block);
    if (!size) kolk_heap_refuse(heap, block, "usable_size", SITE);
    return size;
}

bool kolk_heap_is_live(const kolk_heap *heap, const void *block) {
    return kolk_heap_size_of(heap, block) != 0;
}

/* ---- Walk -------------------------------------------------------------------------------------------------------- */

/* The first live block of the guarded ones behind this one (NULL: of all), or of the large ones. */
static void *first_guarded(const kolk_heap_inside *inside, const void *block) {
    void *next = kolk_guarded_next(&inside->guarded, block);
    return next ? next : kolk_large_next(&inside->large, 0);
}

/* The first live block of the classes from this one on, or of the others. */
static void *first_from(const kolk_heap_inside *inside, uint32_t n) {
    for (; n < inside->heap->n_classes; n++) {
        void *block =
            kolk_load(&inside->trays[n].is_made, KOLK_ACQUIRE) ? kolk_shared_next(&inside->trays[n].pool, NULL) : NULL;
        if (block) return block;
    }
    return first_guarded(inside, NULL);
}

void *kolk_heap_next(const kolk_heap *heap, const void *block) {
    if (!heap->inside) return NULL;
    if (!block) return first_from(heap->inside, 0);
    const kolk_shared *pool = kolk_heap_pool_of(heap, block);
    if (!pool && kolk_guarded_has(&heap->inside->guarded, block)) return first_guarded(heap->inside, block);
    if (!pool) return kolk_large_next(&heap->inside->large, (uintptr_t)block);
    void *next = kolk_shared_next(pool, block);
    return next ? next : first_from(heap->inside, (uint32_t)kolk_heap_class_at(heap, block) + 1);
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

/* Large and guarded blocks; true if there ever was one. */
static bool large_stats(const kolk_heap_inside *inside, kolk_stats *out) {
    const kolk_large *large = &inside->large;
    uint64_t bytes;
    out->count = kolk_guarded_count(&inside->guarded, &bytes) + (uint32_t)kolk_load(&large->count, KOLK_RELAXED);
    out->peak = kolk_load(&inside->guarded.peak, KOLK_RELAXED) + (uint32_t)kolk_load(&large->peak, KOLK_RELAXED);
    out->capacity = out->max_capacity = out->count;
    out->bytes_reserved = out->bytes_committed = bytes + kolk_load(&large->bytes, KOLK_RELAXED);
    out->failed = kolk_load(&large->failed, KOLK_RELAXED);
    return out->peak != 0;
}

bool kolk_heap_class_of(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out) {
    const kolk_heap_inside *inside = heap->inside;
    *out = (kolk_heap_class_stats){.stats = {.name = "", .kind = "heap"}};
    bool found = false;
    if (inside && n < heap->n_classes) {
        const kolk_heap_tray *tray = &inside->trays[n];
        found = kolk_load(&tray->is_made, KOLK_ACQUIRE);
        if (found) kolk_shared_stats(&tray->pool, &out->stats);
        out->stats.name = tray->name ? tray->name : "";
        out->stats.object_size = tray->size;
        out->asked = kolk_load(&tray->asked, KOLK_RELAXED);
        out->given = kolk_load(&tray->given, KOLK_RELAXED);
    } else if (inside && n == heap->n_classes) {
        found = large_stats(inside, &out->stats);
    }
    kolk_tools_wrote(out, sizeof *out);
    return found;
}

void kolk_heap_stats(const kolk_heap *heap, kolk_stats *out) {
    const kolk_heap_inside *inside = heap->inside;
    kolk_stats sum = {.name = inside ? name_of(inside) : "", .kind = "heap"};
    for (uint32_t n = 0; inside && n <= heap->n_classes; n++) {
        kolk_heap_class_stats one;
        if (!kolk_heap_class_of(heap, n, &one)) continue;
        sum.count += one.stats.count;
        sum.peak += one.stats.peak;
        sum.capacity += one.stats.capacity;
        sum.unused_bytes += one.stats.unused_bytes;
        sum.bytes_reserved += one.stats.bytes_reserved;
        sum.bytes_committed += one.stats.bytes_committed;
        sum.debug |= one.stats.debug;
    }
    if (inside) {
        uint64_t guarded_bytes;
        kolk_guarded_count(&inside->guarded, &guarded_bytes);
        if (inside->sample) sum.debug |= KOLK_DEBUG_SAMPLE;
        if (inside->sample) sum.bytes_reserved += inside->guarded.memory_size - guarded_bytes; /* those count above */
        sum.bytes_reserved += inside->space_size + sizeof *inside;
        sum.bytes_committed += sizeof *inside;
        sum.failed = kolk_load(&inside->failed, KOLK_RELAXED);
    }
    *out = sum;
    kolk_tools_wrote(out, sizeof *out);
}

/* ---- Invariants -------------------------------------------------------------------------------------------------- */

static bool is_class_valid(const kolk_heap *heap, uint32_t n, uint64_t *taken) {
    const kolk_heap_tray *tray = &heap->inside->trays[n];
    if (n && tray->size <= tray[-1].size) return false; /* I2 */
    if (!tray->is_made) return true;
    uintptr_t start = (uintptr_t)tray->pool.range, end = start + (uintptr_t)tray->pool.depot.slots * tray->pool.stride;
    *taken += (uint64_t)tray->pool.depot.usable * tray->pool.stride;
    if (kolk_heap_class_at(heap, (void *)start) != n || kolk_heap_class_at(heap, (void *)(end - 1)) != n)
        return false;                                                                 /* I1 */
    return tray->pool.object_size == tray->size && kolk_shared_is_valid(&tray->pool); /* I1 */
}

bool kolk_heap_is_valid(const kolk_heap *heap) {
    const kolk_heap_inside *inside = heap->inside;
    if (!inside) return heap->id == 0 && heap->n_classes == 0;
    uint64_t taken = 0;
    for (uint32_t n = 0; n < heap->n_classes; n++)
        if (!is_class_valid(heap, n, &taken)) return false;
    for (size_t size = 0; size <= 1024; size++) {
        uint32_t n = kolk_heap_class_for(heap, size);
        if (n < heap->n_classes && inside->trays[n].size < size) return false; /* I2 */
        if (n && inside->trays[n - 1].size >= size && size) return false;      /* I2 */
    }
    uint64_t guarded_bytes;
    kolk_guarded_count(&inside->guarded, &guarded_bytes);
    taken += kolk_large_usable(&inside->large) + guarded_bytes;
    if (inside->limit && taken + inside->budget != inside->limit) return false; /* I4 */
    return kolk_large_is_valid(&inside->large)                                  /* I3 */
           && kolk_guarded_is_valid(&inside->guarded);                          /* I5 */
}

#endif
