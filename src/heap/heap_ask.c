/* heap_ask.c: answers questions about a heap and its blocks, and reports bad pointers. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../diag/fail.h"
#include "../core/tools.h"

#include <string.h>

static const char *name_of(const kolk_heap_inside_ *inside) {
    return inside->name ? inside->name : "";
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

void kolk_heap_refuse_(const kolk_heap *heap, const void *block, const char *verb, const void *site) {
    const kolk_heap_inside_ *inside = heap->inside;
    const kolk_slot_store_ *store = inside ? kolk_heap_store_of_(heap, block) : NULL;
    if (store) {
        kolk_store_fail_object_(store, block, verb, KOLK_DEAD_OBJECT, site);
        return;
    }
    kolk_failure failure = {
        .pool = inside ? name_of(inside) : "", .object = block, .slot = UINT32_MAX, .site = site, .no_debug = true};
    if (inside && kolk_heap_refuse_guarded_(inside, failure, verb)) return;
    size_t behind = 0;
    if (inside && kolk_large_locate_(&inside->large, block, &behind)) {
        failure.rule = KOLK_INTERIOR_POINTER;
        kolk_fail_(failure, "%s of a pointer into a large block, at byte %u of it", verb, (uint64_t)behind);
        return;
    }
    failure.rule = KOLK_FOREIGN_POINTER;
    kolk_fail_(failure, "%s of a pointer that does not belong to this heap", verb);
}

size_t kolk_heap_size_of_(const kolk_heap *heap, const void *block) {
    if (!heap->inside) return 0;
    const kolk_slot_store_ *store = kolk_heap_store_of_(heap, block);
    if (!store && kolk_guarded_has_(&heap->inside->guarded, block))
        return kolk_guarded_size_(&heap->inside->guarded, block);
    if (!store) return kolk_large_size_(&heap->inside->large, block);
    return kolk_store_is_alive_(store, kolk_store_slot_of_(store, block)) ? store->object_size : 0;
}

KOLK_NOINLINE_ size_t kolk_heap_usable_size(kolk_heap *heap, const void *block) {
    if (!block) return 0;
    size_t size = kolk_heap_size_of_(heap, block);
    if (!size) kolk_heap_refuse_(heap, block, "usable_size", SITE);
    return size;
}

bool kolk_heap_is_live(const kolk_heap *heap, const void *block) {
    return kolk_heap_size_of_(heap, block) != 0;
}

/* ---- Walk -------------------------------------------------------------------------------------------------------- */

/* The first live guarded block behind this one (NULL: the first of all), or else the first large block. */
static void *first_guarded(const kolk_heap_inside_ *inside, const void *block) {
    void *next = kolk_guarded_next_(&inside->guarded, block);
    return next ? next : kolk_large_next_(&inside->large, 0);
}

/* The first live block of the classes, from this slot of class n on, or else the first guarded or large block. */
static void *first_from(const kolk_heap_inside_ *inside, uint32_t n, uint32_t slot) {
    for (; n < inside->heap->n_classes; n++, slot = 0) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        if (!kolk_load_(&tray->is_made, KOLK_ACQUIRE_)) continue;
        void *block = kolk_store_next_alive_(&tray->store, &slot, kolk_load_(&tray->store.depot.fresh, KOLK_ACQUIRE_));
        if (block) return block;
    }
    return first_guarded(inside, NULL);
}

KOLK_NOINLINE_ void *kolk_heap_next(const kolk_heap *heap, const void *block) {
    if (!heap->inside) return NULL;
    if (!block) return first_from(heap->inside, 0, 0);
    const kolk_slot_store_ *store = kolk_heap_store_of_(heap, block);
    if (!store && kolk_guarded_has_(&heap->inside->guarded, block)) return first_guarded(heap->inside, block);
    if (!store) return kolk_large_next_(&heap->inside->large, (uintptr_t)block);
    uintptr_t slot = kolk_store_slot_of_(store, block);
    if (slot < kolk_store_fresh_(store))
        return first_from(heap->inside, (uint32_t)kolk_heap_class_at_(heap, block), (uint32_t)slot + 1);
    kolk_store_fail_object_(store, block, "next", KOLK_DEAD_OBJECT, SITE);
    return NULL;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

/* Statistics of large and guarded blocks; true if there ever was such a block. */
static bool large_stats(const kolk_heap_inside_ *inside, kolk_stats *out) {
    const kolk_large_ *large = &inside->large;
    uint64_t bytes;
    out->count = kolk_guarded_count_(&inside->guarded, &bytes) + (uint32_t)kolk_load_(&large->count, KOLK_RELAXED_);
    out->peak = kolk_load_(&inside->guarded.peak, KOLK_RELAXED_) + (uint32_t)kolk_load_(&large->peak, KOLK_RELAXED_);
    out->capacity = out->max_capacity = out->count;
    out->bytes_reserved = out->bytes_committed =
        bytes + kolk_load_(&large->bytes, KOLK_RELAXED_) + kolk_spares_bytes_(&large->spares);
    out->failed = kolk_load_(&large->failed, KOLK_RELAXED_);
    return out->peak != 0;
}

bool kolk_heap_stats_of_class(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out) {
    const kolk_heap_inside_ *inside = heap->inside;
    *out = (kolk_heap_class_stats){.stats = {.name = "", .kind = "heap"}};
    bool found = false;
    if (inside && n < heap->n_classes) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        found = kolk_load_(&tray->is_made, KOLK_ACQUIRE_);
        if (found) kolk_store_stats_(&tray->store, "heap", &out->stats);
        out->stats.name = tray->name ? tray->name : "";
        out->stats.object_size = tray->size;
        out->asked = kolk_load_(&tray->asked, KOLK_RELAXED_);
        out->given = kolk_load_(&tray->given, KOLK_RELAXED_);
    } else if (inside && n == heap->n_classes) {
        found = large_stats(inside, &out->stats);
    }
    kolk_tools_wrote_(out, sizeof *out);
    return found;
}

void kolk_heap_stats(const kolk_heap *heap, kolk_stats *out) {
    const kolk_heap_inside_ *inside = heap->inside;
    kolk_stats sum = {.name = inside ? name_of(inside) : "", .kind = "heap"};
    for (uint32_t n = 0; inside && n <= heap->n_classes; n++) {
        kolk_heap_class_stats one;
        if (!kolk_heap_stats_of_class(heap, n, &one)) continue;
        sum.count += one.stats.count;
        sum.peak += one.stats.peak;
        sum.capacity += one.stats.capacity;
        sum.unused_bytes += one.stats.unused_bytes;
        if (n == heap->n_classes) sum.bytes_reserved += one.stats.bytes_reserved; /* classes lie in the heap's space */
        sum.bytes_committed += one.stats.bytes_committed;
        sum.debug |= one.stats.debug;
    }
    if (inside) {
        uint64_t guarded_bytes;
        kolk_guarded_count_(&inside->guarded, &guarded_bytes);
        if (inside->sample) sum.debug |= KOLK_DEBUG_SAMPLE;
        if (inside->sample)
            sum.bytes_reserved += inside->guarded.memory_size - guarded_bytes; /* guarded_bytes was counted above */
        sum.bytes_reserved += inside->space_size + sizeof *inside;
        sum.bytes_committed += sizeof *inside;
        sum.failed = kolk_load_(&inside->failed, KOLK_RELAXED_);
    }
    *out = sum;
    kolk_tools_wrote_(out, sizeof *out);
}

/* ---- Invariants -------------------------------------------------------------------------------------------------- */

static bool is_class_valid(const kolk_heap *heap, uint32_t n, uint64_t *taken) {
    const kolk_heap_tray_ *tray = &heap->inside->trays[n];
    if (n && tray->size <= tray[-1].size) return false; /* I2 */
    if (!tray->is_made) return true;
    uintptr_t start = (uintptr_t)tray->store.range,
              end = start + (uintptr_t)tray->store.depot.slots * tray->store.stride;
    *taken += (uint64_t)tray->store.depot.usable * tray->store.stride;
    if (kolk_heap_class_at_(heap, (void *)start) != n || kolk_heap_class_at_(heap, (void *)(end - 1)) != n)
        return false;                                                                   /* I1 */
    return tray->store.object_size == tray->size && kolk_store_is_valid_(&tray->store); /* I1 */
}

bool kolk_heap_is_valid(const kolk_heap *heap) {
    const kolk_heap_inside_ *inside = heap->inside;
    if (!inside) return heap->id == 0 && heap->n_classes == 0;
    uint64_t taken = 0;
    for (uint32_t n = 0; n < heap->n_classes; n++)
        if (!is_class_valid(heap, n, &taken)) return false;
    for (size_t size = 0; size <= 1024; size++) {
        uint32_t n = kolk_heap_class_for_(heap, size);
        if (n < heap->n_classes && inside->trays[n].size < size) return false; /* I2 */
        if (n && inside->trays[n - 1].size >= size && size) return false;      /* I2 */
    }
    uint64_t guarded_bytes;
    kolk_guarded_count_(&inside->guarded, &guarded_bytes);
    taken += kolk_large_usable_(&inside->large) + guarded_bytes;
    if (inside->limit && taken + inside->budget != inside->limit) return false; /* I4 */
    return kolk_large_is_valid_(&inside->large)                                 /* I3 */
           && kolk_guarded_is_valid_(&inside->guarded);                         /* I5 */
}

#endif
