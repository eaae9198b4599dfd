/* heap_memory.c: makes a heap from its descriptor, and ends it. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../diag/begin.h"
#include "../base/assert.h"
#include "../core/block.h"
#include "../os/lock.h"
#include "../os/memory.h"

#include <string.h>

#define MOST_SHIFT  36u /* 64 GiB of addresses per class: for malloc's heap, of which there is only one */
#define USUAL_SHIFT 33u /* 8 GiB per class: for other heaps, so that there can be about two hundred of them */
#define LEAST_SHIFT 19u /* room for one block of the largest of kolk's own classes */

static void list_heap_stats(const void *heap, kolk_stats *out) {
    kolk_heap_stats((const kolk_heap *)heap, out);
}

static uintptr_t heap_facts(const void *given) {
    const kolk_heap *heap = (const kolk_heap *)given;
    return KOLK_FACTS_(heap->number, heap->base, (uintptr_t)heap->id, heap->n_classes, heap->place, heap->class_shift,
                       (uintptr_t)heap->inside);
}

static uint64_t room_of_class(unsigned shift) {
    return (UINT64_C(1) << shift) - kolk_heap_colours_(shift);
}

/* How many bits of address space a class gets. A class needs no more addresses than the machine has bytes of memory, or
 * than the limit allows. All classes together get at most half of the process's addresses, because other code needs
 * addresses too. */
static unsigned wished_shift(const kolk_heap *heap, const kolk_heap_desc *desc, unsigned most_shift) {
    uint64_t most = kolk_memory_physical_(), share = kolk_memory_addresses_() / 2 / heap->n_classes;
    if (desc->limit && desc->limit < most) most = desc->limit;
    unsigned shift = LEAST_SHIFT;
    while (shift < most_shift && room_of_class(shift) < most && UINT64_C(2) << shift <= share) shift++;
    return shift;
}

/* Does each of the user's classes have room for its max_capacity? */
static bool is_wide_enough(const kolk_heap *heap, const kolk_heap_inside_ *inside, unsigned shift) {
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        if (tray->max_capacity && kolk_heap_fits_(tray, room_of_class(shift), tray->size) < tray->max_capacity)
            return false;
    }
    return true;
}

/* Reserves the address space of the classes: the requested amount, or less if the system refuses that. */
static kolk_status reserve_space(kolk_heap *heap, kolk_heap_inside_ *inside, const kolk_heap_desc *desc) {
    unsigned shift = wished_shift(heap, desc, inside->serves_malloc ? MOST_SHIFT : USUAL_SHIFT);
    while (!is_wide_enough(heap, inside, shift))
        if (++shift > MOST_SHIFT) return KOLK_SIZE_OVERFLOW;
    for (; shift >= LEAST_SHIFT; shift--) {
        if (!is_wide_enough(heap, inside, shift)) break;
        inside->space_size = (size_t)heap->n_classes << shift;
        inside->space = (unsigned char *)kolk_memory_reserve_(inside->space_size);
        if (!inside->space) continue;
        heap->base = (uintptr_t)inside->space;
        heap->class_shift = (uint8_t)shift;
        return KOLK_OK;
    }
    return KOLK_NO_MEMORY;
}

static void end_inside(kolk_heap_inside_ *inside) {
    kolk_guarded_end_(&inside->guarded);
    if (inside->space) kolk_memory_release_(inside->space, inside->space_size);
    kolk_memory_release_(inside, sizeof *inside);
}

/* Fills in a zeroed heap. On failure, the heap holds no memory. */
static kolk_status make_heap(kolk_heap *heap, const kolk_heap_desc *desc, bool serves_malloc) {
    kolk_settings_ settings = kolk_settings_of_(desc->name, desc->debug); /* first, as the handler may longjmp */
    kolk_heap_inside_ *inside = (kolk_heap_inside_ *)kolk_memory_take_(sizeof *inside, sizeof *inside);
    if (!inside) return KOLK_NO_MEMORY;
    inside->heap = heap;
    inside->serves_malloc = serves_malloc;
    inside->forks = kolk_forks_();
    inside->name = desc->name;
    inside->debug = desc->debug;
    inside->on_full = desc->on_full;
    inside->context = desc->context;
    inside->limit = inside->budget = desc->limit;
    inside->large.keeps = desc->limit == 0; /* spare pages would count towards the limit */
    kolk_status status = kolk_heap_set_classes_(heap, inside, desc);
    if (sizeof(void *) < 8 && status == KOLK_OK) status = KOLK_NO_MEMORY; /* there are too few addresses for classes */
    if (status == KOLK_OK && settings.flags & KOLK_DEBUG_BYPASS && !serves_malloc) {
        inside->large.from_malloc = true;
        heap->n_classes = 0;
    } else if (status == KOLK_OK) {
        status = reserve_space(heap, inside, desc);
    }
    if (status != KOLK_OK) {
        end_inside(inside);
        return status;
    }
    if (!inside->large.from_malloc) kolk_heap_begin_guarded_(inside, settings.sample);
    inside->thread_size = kolk_heap_thread_size_(heap, inside);
    heap->inside = inside;
    if (kolk_heap_list_(heap)) return KOLK_OK;
    end_inside(inside);
    return KOLK_NO_MEMORY;
}

/* Continues an init after kolk_begin_, which returned `status`. */
static kolk_status init_heap(kolk_heap *heap, const kolk_heap_desc *desc, bool serves_malloc, kolk_status status) {
    static const kolk_kind_ kind = {.stats = list_heap_stats, .facts = heap_facts, .size = sizeof(kolk_heap)};
    if (status == KOLK_OK) status = make_heap(heap, desc, serves_malloc);
    if (status != KOLK_OK) {
        memset(heap, 0, sizeof *heap);
        return status;
    }
    for (uint32_t n = 0; n < heap->n_classes; n++)
        if (heap->inside->trays[n].capacity && !kolk_heap_make_class_(heap, n)) {
            kolk_heap_deinit(heap);
            return KOLK_NO_MEMORY;
        }
    return kolk_enlist_(heap, sizeof *heap, &heap->number, &kind);
}

kolk_status kolk_heap_init_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi) {
    return init_heap(heap, desc, false, kolk_begin_(heap, heap_size, sizeof *heap, abi, desc));
}

kolk_status kolk_heap_init_for_malloc_(kolk_heap *heap, const kolk_heap_desc *desc) {
    return init_heap(heap, desc, true, kolk_begin_(heap, sizeof *heap, sizeof *heap, KOLK_ABI, desc));
}

KOLK_NOINLINE_ void kolk_heap_reset(kolk_heap *heap) {
    kolk_heap_inside_ *inside = heap->inside;
    if (!inside || !kolk_check_home_(heap, heap->number, NULL, SITE)) return;
    kolk_heap_reclaim_after_fork_(inside);
    for (uint32_t n = 0; n < heap->n_classes; n++)
        if (inside->trays[n].is_made) kolk_store_reset_(&inside->trays[n].store, SITE);
    for (void *block; (block = kolk_guarded_next_(&inside->guarded, NULL));)
        kolk_heap_free_guarded_(inside, block, SITE);
    kolk_heap_clear_large_(inside);
}

KOLK_NOINLINE_ void kolk_heap_deinit(kolk_heap *heap) {
    kolk_heap_inside_ *inside = heap->inside;
    if (!inside || !kolk_check_home_(heap, heap->number, NULL, SITE)) return;
    inside->heap = heap;
    for (uint32_t n = 0; n < heap->n_classes; n++) /* first, as the handler may longjmp */
        if (inside->trays[n].is_made && inside->trays[n].store.debug)
            kolk_store_prove_all_(&inside->trays[n].store, SITE);
    kolk_registry_remove_(heap->number);
    kolk_heaps_remove_(heap);
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        kolk_heap_tray_ *tray = &inside->trays[n];
        kolk_registry_remove_(tray->number); /* a class that a fork's child found half made needs only this */
        if (tray->is_made) kolk_store_end_lives_(&tray->store, NULL);
    }
    kolk_heap_end_threads_(inside);
    kolk_large_end_(&inside->large);
    end_inside(inside);
    memset(heap, 0, sizeof *heap);
}

#endif
