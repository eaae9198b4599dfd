/* heap_ask.c: answers questions about a heap and its blocks, and reports bad pointers. */
#include "heap_fast.h"

#if KOLK_HOSTED

#include "../core/tools.h"
#include "../core/fail.h"
#include "../core/begin.h"
#include "../os/lock.h"

#include <string.h>

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

/* Does this address belong to the nursery, the classes or the large blocks of a heap? */
static bool has_address(const kolk_heap_root_ *root, const void *at) {
    const kolk_heap_inside_ *inside = kolk_raw_load_(&root->inside, KOLK_ACQUIRE_);
    size_t behind;
    if (kolk_nursery_has_(&root->nursery, at)) return true;
    return inside && ((uintptr_t)at - (uintptr_t)inside->space < inside->space_size ||
                      kolk_guarded_has_(&inside->guarded, at) || kolk_large_locate_(&inside->large, at, &behind));
}

/* Which other heap does this address belong to? Copies the heap's name, if it is known. False: there is no such heap.
 * While the process's lock is held, a listed heap cannot end. Of other heaps, only the leaves' records are read. */
static bool find_heap_of(const void *at, const kolk_heap *heap, char name[KOLK_NAME_ROOM_]) {
    uint32_t leaf = kolk_leaf_of_(at), owner = leaf ? kolk_load_(&kolk_leaf_record_(leaf)->owner, KOLK_RELAXED_) : 0;
    bool found = false, locked = kolk_lock_unless_forking_();
    const kolk_heap_root_ *root = NULL;
    while (!found && (root = kolk_heap_next_root_(root))) {
        name[0] = 0;
        if (root == heap->root) continue;
        if (locked && kolk_heap_name_of_(kolk_load_(&root->number, KOLK_RELAXED_), name))
            found = has_address(root, at);
        else
            found = owner && kolk_load_(&kolk_leaf_record_(kolk_leaf_of_(root))->next, KOLK_RELAXED_) == owner;
    }
    if (locked) kolk_unlock_();
    return found;
}

/* Reports a pointer that this heap does not have. */
static void refuse_foreign(const kolk_heap *heap, kolk_failure failure, const char *verb) {
    char name[KOLK_NAME_ROOM_];
    uint32_t leaf = kolk_leaf_of_(failure.object);
    bool found = find_heap_of(failure.object, heap, name);
    failure.rule = KOLK_FOREIGN_POINTER;
    if (found && *name)
        kolk_fail_(failure, "%s of a pointer that belongs to the heap %s", verb, name);
    else if (found)
        kolk_fail_(failure, "%s of a pointer that belongs to another heap", verb);
    else if ((leaf && kolk_load_(&kolk_leaf_record_(leaf)->owner, KOLK_RELAXED_)) || kolk_ended_has_(failure.object))
        kolk_fail_(failure, "%s of a pointer that belongs to a heap that has ended", verb);
    else
        kolk_fail_(failure, "%s of a pointer that does not belong to this heap", verb);
}

/* Reports a pointer into one of the nursery's leaves. */
static void refuse_young(const kolk_heap *heap, kolk_failure failure, const char *verb) {
    kolk_nursery_ *nursery = &heap->root->nursery;
    const unsigned char *block = (const unsigned char *)kolk_nursery_locate_(nursery, failure.object);
    if (block) {
        failure.rule = KOLK_INTERIOR_POINTER;
        kolk_fail_(failure, "%s of a pointer into a block, at byte %u of it", verb,
                   (uint64_t)((const unsigned char *)failure.object - block));
    } else {
        bool is_free = strcmp(verb, "free") == 0;
        failure.no_debug = false;
        failure.rule = is_free ? KOLK_DOUBLE_FREE : KOLK_DEAD_OBJECT;
        kolk_fail_(failure, "%s of a block%s", is_free ? "double free" : verb, is_free ? "" : " that is free");
    }
}

void kolk_heap_refuse_(const kolk_heap *heap, const void *block, const char *verb, const void *site) {
    if (heap->fixed) {
        kolk_fixed_refuse_(heap, block, verb, site);
        return;
    }
    const kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    const kolk_slot_store_ *store = kolk_heap_store_of_(heap, block);
    if (store) {
        kolk_store_fail_object_(store, block, verb, KOLK_DEAD_OBJECT, site);
        return;
    }
    kolk_failure failure = {
        .pool = kolk_heap_name_(heap), .object = block, .slot = UINT32_MAX, .site = site, .no_debug = true};
    if (inside && kolk_heap_refuse_guarded_(inside, failure, verb)) return;
    size_t behind = 0;
    if (inside && kolk_large_locate_(&inside->large, block, &behind)) {
        failure.rule = KOLK_INTERIOR_POINTER;
        kolk_fail_(failure, "%s of a pointer into a large block, at byte %u of it", verb, (uint64_t)behind);
        return;
    }
    if (heap->root && kolk_nursery_has_(&heap->root->nursery, block))
        refuse_young(heap, failure, verb);
    else
        refuse_foreign(heap, failure, verb);
}

size_t kolk_heap_size_of_(const kolk_heap *heap, const void *block) {
    size_t size = size_at_hand(heap, kolk_heap_near_(heap), block);
    if (size) return size;
    if (heap->fixed) return kolk_fixed_size_of_(heap, block);
    if (!heap->root) return 0;
    if (kolk_nursery_has_(&heap->root->nursery, block)) return kolk_nursery_size_of_(&heap->root->nursery, block);
    const kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    if (!inside) return 0;
    const kolk_slot_store_ *store = kolk_heap_store_of_(heap, block);
    if (!store && kolk_guarded_has_(&inside->guarded, block)) return kolk_guarded_size_(&inside->guarded, block);
    if (!store) return kolk_large_size_(&inside->large, block);
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
    for (; n < inside->n_classes; n++, slot = 0) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        if (!kolk_load_(&tray->is_made, KOLK_ACQUIRE_)) continue;
        void *block = kolk_store_next_alive_(&tray->store, &slot, kolk_load_(&tray->store.depot.fresh, KOLK_ACQUIRE_));
        if (block) return block;
    }
    return first_guarded(inside, NULL);
}

KOLK_NOINLINE_ void *kolk_heap_next(const kolk_heap *heap, const void *block) {
    if (heap->fixed) return kolk_fixed_next_(heap, block, SITE);
    const kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    if (!heap->root) return NULL;
    if (!block || kolk_leaf_of_(block)) { /* its leaf may be another nursery's by now */
        void *next = kolk_nursery_next_(&heap->root->nursery, block);
        return next || !inside ? next : first_from(inside, 0, 0);
    }
    if (!inside) return NULL;
    const kolk_slot_store_ *store = kolk_heap_store_of_(heap, block);
    if (!store && kolk_guarded_has_(&inside->guarded, block)) return first_guarded(inside, block);
    if (!store) return kolk_large_next_(&inside->large, (uintptr_t)block);
    uintptr_t slot = kolk_store_slot_of_(store, block);
    if (slot < kolk_store_fresh_(store))
        return first_from(inside, (uint32_t)kolk_heap_class_at_(heap, block), (uint32_t)slot + 1);
    kolk_store_fail_object_(store, block, "next", KOLK_DEAD_OBJECT, SITE);
    return NULL;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

/* The registry asks about a copy of the struct, parts of which may be overwritten. Its facts (heap_memory.c) are true
 * of the root only. */
static const kolk_heap_inside_ *inside_for_stats(const kolk_heap *heap) {
    return heap->root ? kolk_raw_load_(&heap->root->inside, KOLK_ACQUIRE_) : NULL; /* partner: make_classes */
}

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

/* Adds the nursery's blocks of class n; true if there ever was such a block. */
static bool add_young(const kolk_nursery_counts_ *young, uint32_t n, kolk_heap_class_stats *out) {
    if (n >= KOLK_NURSERY_CLASSES_ || young->of[n].peak == 0) return false;
    uint32_t alive = young->of[n].alive, blocks = alive + young->of[n].freed, size = kolk_own_size_(n);
    kolk_stats *stats = &out->stats;
    stats->count += alive;
    stats->peak += alive > young->of[n].peak ? alive : young->of[n].peak;
    stats->capacity += blocks;
    stats->bytes_committed += (uint64_t)blocks * size;
    stats->stride = stats->object_size = size;
    return true;
}

static bool stats_of_class(const kolk_heap *heap, uint32_t n, const kolk_nursery_counts_ *young,
                           const kolk_heap_reader_ *reader, kolk_heap_class_stats *out) {
    const kolk_heap_inside_ *inside = inside_for_stats(heap);
    *out = (kolk_heap_class_stats){.stats = {.name = "", .kind = "heap"}};
    bool found = false;
    if (inside && n < heap->n_classes) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        found = kolk_load_(&tray->is_made, KOLK_ACQUIRE_);
        if (found && reader) reader->read(reader, tray, &out->stats);
        if (found && !reader) kolk_store_stats_(&tray->store, "heap", &out->stats);
        const char *name = kolk_raw_load_(&tray->name, KOLK_RELAXED_);
        out->stats.name = name ? name : "";
        out->stats.object_size = tray->size;
        out->asked = kolk_load_(&tray->asked, KOLK_RELAXED_);
        out->given = kolk_load_(&tray->given, KOLK_RELAXED_);
    } else if (n < heap->n_classes) {
        out->stats.name = kolk_heap_name_(heap);
        out->stats.object_size = kolk_own_size_(n);
    } else if (inside && n == heap->n_classes) {
        found = large_stats(inside, &out->stats);
    }
    return (n < heap->n_classes && add_young(young, n, out)) || found;
}

bool kolk_heap_stats_of_class(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out) {
    kolk_nursery_counts_ young = {.of = {{0}}};
    if (heap->root) kolk_nursery_count_(&heap->root->nursery, &young);
    bool found = heap->fixed ? kolk_fixed_stats_of_class_(heap, n, out) : stats_of_class(heap, n, &young, NULL, out);
    kolk_tools_wrote_(out, sizeof *out);
    return found;
}

/* The bytes that a heap has besides its classes and large blocks. */
static void add_inside(const kolk_heap_inside_ *inside, kolk_stats *sum) {
    uint64_t guarded_bytes;
    kolk_guarded_count_(&inside->guarded, &guarded_bytes);
    if (inside->sample) sum->debug |= KOLK_DEBUG_SAMPLE;
    if (inside->sample)
        sum->bytes_reserved += inside->guarded.memory_size - guarded_bytes; /* guarded_bytes was counted above */
    sum->bytes_reserved += inside->space_size + sizeof *inside;
    sum->bytes_committed += sizeof *inside;
}

static void add_class(kolk_stats *sum, const kolk_stats *one) {
    sum->count += one->count;
    sum->peak += one->peak;
    sum->capacity += one->capacity;
    sum->unused_bytes += one->unused_bytes;
    sum->bytes_committed += one->bytes_committed;
    sum->debug |= one->debug;
}

/* Adds all blocks. The nursery has whole leaves, with gaps. */
static void add_classes(const kolk_heap *heap, const kolk_heap_reader_ *reader, kolk_stats *sum) {
    kolk_nursery_counts_ young;
    kolk_nursery_count_(&heap->root->nursery, &young);
    sum->bytes_committed += young.leaves * (uint64_t)KOLK_LEAF_;
    sum->bytes_reserved += young.leaves * (uint64_t)KOLK_LEAF_;
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++)
        if (young.of[n].peak)
            sum->bytes_committed -= (young.of[n].alive + young.of[n].freed) * (uint64_t)kolk_own_size_(n);
    for (uint32_t n = 0; n <= heap->n_classes; n++) {
        kolk_heap_class_stats one;
        if (!stats_of_class(heap, n, &young, reader, &one)) continue;
        add_class(sum, &one.stats);
        if (n == heap->n_classes) sum->bytes_reserved += one.stats.bytes_reserved; /* classes lie in the heap's space */
    }
}

void kolk_heap_sum_up_(const kolk_heap *heap, const kolk_heap_reader_ *reader, kolk_stats *out) {
    const kolk_heap_inside_ *inside = inside_for_stats(heap);
    kolk_stats sum = {.name = kolk_heap_name_(heap), .kind = "heap"};
    if (heap->root) {
        add_classes(heap, reader, &sum);
        sum.bytes_committed += KOLK_LEAF_; /* the root's */
        sum.bytes_reserved += KOLK_LEAF_;
        sum.failed = kolk_load_(&heap->root->failed, KOLK_RELAXED_);
    }
    if (inside) add_inside(inside, &sum);
    if (heap->fixed) kolk_fixed_stats_(heap, &sum);
    *out = sum;
}

void kolk_heap_stats(const kolk_heap *heap, kolk_stats *out) {
    kolk_heap_sum_up_(heap, NULL, out);
    kolk_tools_wrote_(out, sizeof *out);
}

kolk_debug *kolk_heap_part_(const void *given, uint32_t n, uint32_t *end, bool *more) {
    const kolk_heap *heap = (const kolk_heap *)given;
    const kolk_heap_inside_ *inside = inside_for_stats(heap);
    *more = inside && n < heap->n_classes;
    bool is_made = *more && kolk_load_(&inside->trays[n].is_made, KOLK_ACQUIRE_); /* partner: kolk_heap_make_class_ */
    if (!is_made) return NULL;
    *end = kolk_store_fresh_(&inside->trays[n].store);
    return inside->trays[n].store.debug;
}

/* ---- Invariants -------------------------------------------------------------------------------------------------- */

static bool is_class_valid(const kolk_heap *heap, uint32_t n, uint64_t *taken) {
    const kolk_heap_tray_ *tray = &heap->inside->trays[n];
    if (n && tray->size <= tray[-1].size) return false;              /* I2 */
    if (!tray->is_made || tray->store.depot.slots == 0) return true; /* not made, or larger than its addresses */
    uintptr_t start = (uintptr_t)tray->store.range,
              end = start + (uintptr_t)tray->store.depot.slots * tray->store.stride;
    *taken += kolk_store_account_(&tray->store);
    if (kolk_heap_class_at_(heap, (void *)start) != n || kolk_heap_class_at_(heap, (void *)(end - 1)) != n)
        return false;                                                                   /* I1 */
    return tray->store.object_size == tray->size && kolk_store_is_valid_(&tray->store); /* I1 */
}

/* Do the tables give the smallest class that fits? */
static bool are_tables_valid(const kolk_heap *heap) {
    const kolk_heap_inside_ *inside = heap->inside;
    for (size_t size = 0; size <= 1024; size++) {
        uint32_t n = kolk_heap_class_for_(heap, size);
        if (n < heap->n_classes && inside->trays[n].size < size) return false; /* I2 */
        if (n && inside->trays[n - 1].size >= size && size) return false;      /* I2 */
    }
    return true;
}

bool kolk_heap_is_valid(const kolk_heap *heap) {
    const kolk_heap_inside_ *inside = heap->inside;
    kolk_heap_root_ *root = heap->root;
    if (heap->fixed) return kolk_fixed_is_valid_(heap);
    if (!root) return heap->id == 0 && heap->n_classes == 0 && !inside;
    if (root->inside != inside || !kolk_nursery_is_valid_(&root->nursery)) return false; /* I6 */
    uint64_t taken = (uint64_t)root->nursery.leaves * KOLK_LEAF_;
    for (const kolk_heap_root_ *child = root->child; child; child = child->older)
        taken += kolk_budget_used(&child->own);
    if (inside) {
        for (uint32_t n = 0; n < heap->n_classes; n++)
            if (!is_class_valid(heap, n, &taken)) return false;
        if (!are_tables_valid(heap)) return false;
        uint64_t guarded_bytes;
        kolk_guarded_count_(&inside->guarded, &guarded_bytes);
        taken += kolk_large_usable_(&inside->large) + guarded_bytes;
    }
    if (root->budget && taken != kolk_budget_used(&root->own)) return false; /* I4 */
    return !inside || (kolk_large_is_valid_(&inside->large)                  /* I3 */
                       && kolk_guarded_is_valid_(&inside->guarded));         /* I5 */
}

#endif
