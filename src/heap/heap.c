/* heap.c: blocks of any size, from pools of a few sizes. This file has alloc and free.
 *
 *     space     | class 0: 16 bytes ...... | class 1: 32 bytes ...... | ... | class n - 1 ...... |
 *               base          1 << class_shift bytes of addresses each: blocks from the start on, and their metadata
 *                             at the end; both are committed as they are used (src/store/store_block.c)
 *
 * Each class is a store (src/store). The first blocks of a size lie in the nursery (nursery.h). After some hundreds of
 * them, an alloc of that size makes the store. A thread has one magazine for each
 * class that it uses. Shifting a block's address gives its class, and an exact division gives its slot. The class's
 * lives show whether the block is alive. All of these data lie outside the blocks.
 *
 * The floors, each of which calls only those below:
 *
 *     heap_resize.c                      realloc
 *     heap.c                             alloc and free
 *     heap_memory.c  heap_ask.c          init and deinit; questions, reports, statistics
 *     heap_trim.c  heap_rest.c           return of memory to the system
 *     heap_thread.c                      threads and their magazines
 *     heap_list.c                        the heaps of the process, and which of them a thread uses
 *     heap_class.c  heap_sizes.h         the stores of the classes, and their sizes
 *     heap_root.c                        limits, parents, functions to be called at the end
 *     heap_guarded.c  guarded.c          some blocks lie between inaccessible pages
 *     large.c  large_table.c             blocks that are larger than all classes
 *     spare.c                            the pages of freed large blocks
 *     fixed.c  heap_bare.c               heaps on the caller's memory; the functions of freestanding builds
 *     nursery.c  leaves.c                the first blocks of each heap
 *     ended.c                            the memory of ended heaps
 *     src/store                          slots that threads share: each class is a store
 *
 * Under a tool that watches malloc, and with KOLK_BYPASS=1, there are no classes: each block is a large block, and
 * large blocks come from malloc.
 *
 * Invariants (kolk_heap_is_valid, while no thread is at work):
 *     I1  each class's store is valid (store.h), lies in the class's address space, and has blocks of its size
 *     I2  sizes ascend, and for each size up to 1,024 the table gives the smallest class that fits
 *     I3  the invariants of large.c hold
 *     I4  the bytes taken by classes, large and guarded blocks, add up to what its budget has used
 *     I5  the invariants of guarded.c hold
 *     I6  the nursery is valid (nursery.h)
 * or, for a heap on the caller's memory, those of fixed.h */
#include "heap_fast.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/budget.h"
#include "../core/fail.h"
#include "../core/probes.h"
#include "../core/tools.h"

#include <errno.h>
#include <string.h>

#define LEAST_FOR_CLASS 65536u /* bytes */
#define MOST_ASKING     8u     /* heaps inside whose on_full a thread may be */

/* ---- One try ----------------------------------------------------------------------------------------------------- */

/* A class takes memory before it has its first block, and its first blocks are many. If a limit leaves fewer bytes than
 * these, a class does not pay off, and the nursery goes on. If the limit is too low for the nursery, or the size too
 * large, a class pays off for one block. */
static bool pays_off(const kolk_heap *heap, size_t align, size_t size) {
    const kolk_nursery_ *nursery = &heap->root->nursery;
    bool goes_on = align <= KOLK_LEAF_ && size <= KOLK_NURSERY_LARGEST_ && kolk_own_class_(size) < nursery->classes &&
                   kolk_load_(&nursery->newest, KOLK_RELAXED_);
    return kolk_budget_left_(heap->root->budget) >= (goes_on ? LEAST_FOR_CLASS : size);
}

/* Allocates a block from this class only. */
static void *alloc_in_class(kolk_heap *heap, uint32_t n, size_t align, size_t size, const void *site) {
    kolk_heap_tray_ *tray = &heap->inside->trays[n];
    bool makes = kolk_load_(&tray->is_made, KOLK_ACQUIRE_) || pays_off(heap, align, tray->size);
    kolk_slot_store_ *store = makes ? kolk_heap_make_class_(heap, n) : NULL;
    kolk_heap_thread_ *thread = store ? kolk_heap_thread_of_(heap) : NULL;
    if (!thread) return NULL;
    kolk_magazine_ *magazine = kolk_heap_magazine_(thread, heap, n);
    uint32_t usable = kolk_depot_usable_(&store->depot), before = kolk_magazine_count_(magazine);
    void *block = kolk_store_alloc_(store, magazine, site);
    kolk_heap_decay_(heap->inside, thread, kolk_depot_usable_(&store->depot) != usable);
    if (!block) return NULL;
    kolk_heap_count_alloc_(thread, before, kolk_magazine_count_(magazine));
    kolk_fetch_add_(&tray->asked, size, KOLK_RELAXED_);
    kolk_fetch_add_(&tray->given, tray->size, KOLK_RELAXED_);
    return block;
}

/* Allocates from this class or the nursery, or if there is no such class, pages of the block's own. */
static void *alloc_of_size(kolk_heap *heap, uint32_t n, size_t align, size_t size, const void *site) {
    if (n >= heap->n_classes) return kolk_large_alloc_(&heap->inside->large, align, size);
    void *block = alloc_in_class(heap, n, align, size, site);
    return block ? block : kolk_nursery_alloc_(&heap->root->nursery, align, size, true);
}

/* What this takes of a limit. */
static size_t bytes_of_size(const kolk_heap *heap, uint32_t n, size_t align, size_t size) {
    if (n < heap->n_classes) return heap->inside->sizes[n];
    return kolk_large_bytes_(&heap->inside->large, NULL, align, size);
}

/* Tries this class, and then larger ones that have the alignment. If the limit refuses the class, free memory of other
 * sizes makes room, before larger blocks than necessary do. */
static void *alloc_from(kolk_heap *heap, uint32_t n, size_t align, size_t size, const void *site) {
    for (;;) {
        void *block = alloc_of_size(heap, n, align, size, site);
        while (!block && kolk_heap_trim_for_room_(heap, bytes_of_size(heap, n, align, size)))
            block = alloc_of_size(heap, n, align, size, site);
        if (block || n >= heap->n_classes || heap->inside->trays[n].when_full == KOLK_HEAP_NULL) return block;
        n = kolk_heap_class_aligned_(heap, align, heap->inside->trays[n].size + 1);
    }
}

/* Has the class of this size been made? Then the nursery no longer serves the size. */
KOLK_ALWAYS_INLINE_ static bool has_class(const kolk_heap *heap, size_t size) {
    const kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    return inside && size <= KOLK_NURSERY_LARGEST_ &&
           kolk_load_(&inside->trays[kolk_own_class_(size)].is_made, KOLK_RELAXED_);
}

/* Allocates what the nursery does not serve. */
static void *alloc_grown(kolk_heap *heap, size_t align, size_t size, const void *site) {
    kolk_nursery_ *nursery = &heap->root->nursery;
    bool serves = !has_class(heap, size) && !pays_off(heap, align, size);
    void *block = serves ? kolk_nursery_alloc_(nursery, align, size, true) : NULL;
    if (block || (serves && !kolk_heap_grown_(heap))) return block;
    if (!kolk_heap_grow_(heap)) return kolk_nursery_alloc_(nursery, align, size, true);
    uint32_t n = kolk_heap_class_aligned_(heap, align, size);
    if (n < heap->n_classes) block = kolk_heap_sample_(heap, align, size, site);
    return block ? block : alloc_from(heap, n, align, size, site);
}

KOLK_ALWAYS_INLINE_ static void *alloc_young(kolk_heap *heap, size_t align, size_t size) {
    return has_class(heap, size) ? NULL : kolk_nursery_alloc_(&heap->root->nursery, align, size, false);
}

/* ---- Without room ------------------------------------------------------------------------------------------------ */

/* The numbers of the heaps inside whose on_full the thread is. One whose on_full never returned stays here. */
static KOLK_THREAD_LOCAL_ uint32_t asking_heaps[MOST_ASKING];

/* Calls on_full, unless this thread is already inside it. */
static bool ask_for_room(kolk_heap *heap, size_t size) {
    kolk_heap_root_ *root = heap->root;
    uint32_t number = root->nursery.owner, *place = NULL;
    if (!root->on_full) return false;
    for (unsigned n = 0; n < MOST_ASKING; n++) {
        if (asking_heaps[n] == number) return false;
        if (!asking_heaps[n]) place = &asking_heaps[n];
    }
    if (!place) return false;
    *place = number;
    uint32_t before = kolk_heap_enter_hook_(root);
    bool freed = root->on_full(heap, size, root->context);
    kolk_heap_leave_hook_(root, before);
    *place = 0;
    return freed;
}

/* If it was a limit that refused the alloc, leaves without live blocks make room for other sizes. */
static bool trims_nursery(kolk_heap_root_ *root, size_t size) {
    return root->budget && kolk_budget_left_(root->budget) < size + KOLK_LEAF_ &&
           kolk_nursery_trim_for_room_(&root->nursery);
}

/* Has the system refused the block, and not a limit or a full class? */
static bool is_systems_refusal(const kolk_heap *heap, size_t size) {
    const kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    uint32_t n = inside ? kolk_heap_class_for_(heap, size) : heap->n_classes;
    if (kolk_budget_left_(heap->root->budget) < size) return false;
    if (n >= heap->n_classes || inside->trays[n].when_full != KOLK_HEAP_NULL) return true;
    const kolk_heap_tray_ *tray = &inside->trays[n];
    return !kolk_load_(&tray->is_made, KOLK_ACQUIRE_) || kolk_store_usable_(&tray->store) < tray->store.depot.slots;
}

bool kolk_heap_make_room_(kolk_heap *heap, size_t size, uint32_t *ways) {
    kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    for (;;) {
        switch ((*ways)++) {
        case 0:
            if (inside && kolk_heap_reclaim_after_fork_(inside)) return true;
            break;
        case 1:
            if (!is_systems_refusal(heap, size)) break;
            if (kolk_ended_expire_(INT64_MAX)) return true;
            if (inside && kolk_spares_expire_(&inside->large.spares, INT64_MAX)) return true;
            break;
        case 2:
            if (trims_nursery(heap->root, size)) return true;
            break;
        case 3:
            return ask_for_room(heap, size);
        default:
            return false;
        }
    }
}

/* Goes on with a try whose first part, alloc_young, has failed. Then makes room in each way that there is, and tries
 * again, or counts a failed alloc. */
static KOLK_NOINLINE_ void *alloc_with_room(kolk_heap *heap, size_t align, size_t size, const void *site) {
    void *block = alloc_grown(heap, align, size, site);
    uint32_t ways = 0;
    while (!block && kolk_heap_make_room_(heap, size, &ways)) {
        block = alloc_young(heap, align, size);
        if (!block) block = alloc_grown(heap, align, size, site);
    }
    if (block) return block;
    kolk_fetch_add_(&heap->root->failed, 1, KOLK_RELAXED_);
    PROBE2(full, kolk_heap_name_(heap), heap->root->own.limit);
    return NULL;
}

KOLK_NOINLINE_ void *kolk_heap_alloc_slow_(kolk_heap *heap, size_t align, size_t size, const void *site) {
    if ((align & (align - 1)) || align == 0) return NULL;
    if (!heap->root) return heap->fixed ? kolk_fixed_alloc_(heap, align, size) : NULL;
    void *block = alloc_young(heap, align, size);
    return block ? block : alloc_with_room(heap, align, size, site);
}

/* ---- The first blocks of malloc's heap, which are watched -------------------------------------------------------- */

static void report_young_damage(const kolk_heap *heap, const kolk_damage_ *damage, const void *site) {
    kolk_failure failure = {
        .rule = damage->rule, .pool = kolk_heap_name_(heap), .object = damage->block, .slot = UINT32_MAX, .site = site};
    const char *what = damage->rule == KOLK_OVERFLOW    ? "overflow of"
                       : damage->rule == KOLK_UNDERFLOW ? "underflow of"
                                                        : "write after free to";
    if (damage->size == UINT64_MAX)
        kolk_fail_(failure, "%s a block", what);
    else
        kolk_fail_(failure, "%s a block of %u bytes", what, damage->size);
}

void *kolk_heap_alloc_watched_(kolk_heap *heap, size_t size, const void *site) {
    kolk_nursery_ *nursery = &heap->root->nursery;
    kolk_damage_ damage = {KOLK_OK, NULL, 0};
    kolk_nursery_count_watched_(nursery, size);
    void *block = kolk_nursery_alloc_watched_(nursery, size, &damage);
    if (damage.rule != KOLK_OK) report_young_damage(heap, &damage, site);
    if (block || size <= KOLK_WATCHED_LARGEST_) return block;
    kolk_heap_inside_ *inside = kolk_heap_grow_(heap);
    return inside ? kolk_large_alloc_apart_(&inside->large, size) : NULL;
}

/* False: it is not a live block of the watched nursery. */
static bool free_watched(const kolk_heap *heap, const void *block, const void *site) {
    kolk_damage_ damage = {KOLK_OK, NULL, 0};
    bool freed = heap->root && kolk_nursery_free_watched_(&heap->root->nursery, block, &damage);
    if (damage.rule != KOLK_OK) report_young_damage(heap, &damage, site);
    return freed;
}

/* ---- Off the fast path of free ----------------------------------------------------------------------------------- */

/* The fast path of free in a heap that samples. The bounds are 0 there, and the free is counted too. False: the slow
 * path must free the block. */
static bool give_and_count(const kolk_heap *heap, kolk_heap_thread_ *thread, const void *block) {
    uintptr_t n = kolk_heap_class_at_(heap, block);
    if (n >= heap->n_classes || thread->until <= 1) return false;
    kolk_magazine_ *magazine = thread->magazines[n];
    const kolk_depot_ *depot = magazine->depot;
    if (!depot || kolk_depot_is_uncached_(depot)) return false;
    if (!give_to_magazine(magazine, block, kolk_depot_usable_(depot))) return false;
    thread->until--;
    return true;
}

static void free_to_depot(kolk_heap *heap, kolk_slot_store_ *store, void *block, const void *site) {
    kolk_heap_thread_ *thread = kolk_heap_thread_of_(heap);
    if (!thread) {
        kolk_store_free_(store, NULL, block, site);
        return;
    }
    kolk_heap_decay_(heap->inside, thread, false);
    kolk_magazine_ *magazine = kolk_heap_magazine_(thread, heap, (uint32_t)kolk_heap_class_at_(heap, block));
    uint32_t before = kolk_magazine_count_(magazine);
    kolk_store_free_(store, magazine, block, site);
    if (heap->inside->sample) kolk_heap_count_free_(heap->inside, thread, store, magazine, before);
}

/* Frees a block that is not one of the nursery's. An address lies in one of these places at most, so the order does not
 * matter, except that only the table of large blocks, which comes last, is searched. False: it is not a live block;
 * what belongs to a fixed heap or a class is reported there. */
static bool free_grown(kolk_heap *heap, void *block, const void *site) {
    if (heap->fixed) {
        kolk_fixed_free_(heap, block, site);
        return true;
    }
    kolk_slot_store_ *store = kolk_heap_store_of_(heap, block);
    if (store) {
        free_to_depot(heap, store, block, site);
        return true;
    }
    kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    return free_watched(heap, block, site) ||
           (inside && (kolk_guarded_free_(&inside->guarded, block, site) || kolk_large_free_(&inside->large, block)));
}

/* Preserves errno, as POSIX 2024 requires of free, even if the system refuses to take memory back. */
KOLK_NOINLINE_ void kolk_heap_free_slow_(kolk_heap *heap, void *block, const void *site) {
    if (!block) return;
    const kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    if (inside && inside->sample && give_and_count(heap, kolk_heap_near_(heap), block)) return;
    if (heap->root && kolk_nursery_free_(&heap->root->nursery, block)) return;
    int before = errno;
    if (!free_grown(heap, block, site)) kolk_heap_refuse_(heap, block, "free", site);
    errno = before;
}

/* ---- Alloc and free ---------------------------------------------------------------------------------------------- */

void *kolk_heap_alloc_at_(kolk_heap *heap, size_t size, const void *site) {
    void *block = take_at_hand(heap, kolk_heap_near_(heap), size);
    return KOLK_UNLIKELY_(!block) ? kolk_heap_alloc_slow_(heap, 1, size, site) : block;
}

KOLK_NOINLINE_ void *kolk_heap_alloc(kolk_heap *heap, size_t size) {
    void *block = take_at_hand(heap, kolk_heap_near_(heap), size);
    return KOLK_UNLIKELY_(!block) ? kolk_heap_alloc_slow_(heap, 1, size, SITE) : block;
}

/* New guarded blocks already read as 0. */
void *kolk_heap_zero_(const kolk_heap *heap, void *block, size_t size) {
    if (!block) return NULL;
    if (heap->fixed || kolk_heap_class_at_(heap, block) < heap->n_classes ||
        kolk_nursery_has_(&heap->root->nursery, block))
        return memset(block, 0, size);
    if (!kolk_guarded_has_(&heap->inside->guarded, block)) kolk_large_zero_(&heap->inside->large, block, size);
    return block;
}

/* A block whose slot was never used, not by an ended heap either, reads as 0. Only the slow path hands out such
 * blocks. */
void *kolk_heap_zero_slow_(const kolk_heap *heap, void *block, size_t size) {
    const kolk_slot_store_ *store = block ? kolk_heap_store_of_(heap, block) : NULL;
    uintptr_t slot = store ? kolk_store_slot_of_(store, block) : 0;
    bool untouched = store && !store->debug && kolk_store_life_(store, slot) == 1 &&
                     slot >= heap->inside->trays[kolk_heap_class_at_(heap, block)].kept;
    return untouched ? block : kolk_heap_zero_(heap, block, size);
}

static KOLK_NOINLINE_ void *alloc_zeroed_much(kolk_heap *heap, size_t size, const void *site) {
    if (heap->fixed || has_used(heap, kolk_heap_near_(heap), size))
        return kolk_heap_zero_(heap, kolk_heap_alloc_at_(heap, size, site), size);
    return kolk_heap_zero_slow_(heap, kolk_heap_alloc_slow_(heap, 1, size, site), size);
}

KOLK_NOINLINE_ void *kolk_heap_alloc_zeroed(kolk_heap *heap, size_t size) {
    if (KOLK_UNLIKELY_(size >= KOLK_HEAP_SPARSE_)) return alloc_zeroed_much(heap, size, SITE);
    return kolk_heap_zero_(heap, kolk_heap_alloc_at_(heap, size, SITE), size);
}

KOLK_NOINLINE_ void *kolk_heap_alloc_aligned(kolk_heap *heap, size_t align, size_t size) {
    return kolk_heap_alloc_slow_(heap, align, size, SITE);
}

void kolk_heap_free_at_(kolk_heap *heap, void *block, const void *site) {
    if (KOLK_UNLIKELY_(!give_at_hand(heap, kolk_heap_near_(heap), block))) kolk_heap_free_slow_(heap, block, site);
}

KOLK_NOINLINE_ void kolk_heap_free(kolk_heap *heap, void *block) {
    if (KOLK_UNLIKELY_(!give_at_hand(heap, kolk_heap_near_(heap), block))) kolk_heap_free_slow_(heap, block, SITE);
}

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

#define LONGEST_RUN 4096u /* blocks of one class that are freed in one step */

/* The calling thread's magazine of class n, if its store can take and free many blocks at once. NULL: the thread has
 * none yet, or each call needs the slow path, because the heap samples or is in debug mode. */
static kolk_magazine_ *magazine_for_many(const kolk_heap *heap, uintptr_t n) {
    const kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    if (!inside || inside->sample || n >= heap->n_classes) return NULL;
    kolk_magazine_ *magazine = kolk_heap_near_(heap)->magazines[n];
    return magazine->depot && !inside->trays[n].store.debug ? magazine : NULL;
}

/* Allocates up to n blocks of this size's class without the slow path, and returns how many. */
static uint32_t take_many(kolk_heap *heap, size_t size, void **blocks, size_t n) {
    uint32_t of_class = kolk_heap_grown_(heap) ? kolk_heap_class_for_(heap, size) : 0;
    kolk_magazine_ *magazine = magazine_for_many(heap, of_class);
    if (!magazine) return 0;
    kolk_heap_tray_ *tray = &heap->inside->trays[of_class];
    uint32_t most = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX, before = kolk_magazine_count_(magazine);
    if (most > before) kolk_heap_decay_(heap->inside, kolk_heap_near_(heap), false);
    uint32_t count = kolk_store_alloc_n_(&tray->store, magazine, blocks, most);
    if (count > before) {
        kolk_fetch_add_(&tray->asked, size, KOLK_RELAXED_);
        kolk_fetch_add_(&tray->given, tray->size, KOLK_RELAXED_);
    }
    return count;
}

KOLK_NOINLINE_ size_t kolk_heap_alloc_n(kolk_heap *heap, size_t size, void **blocks, size_t n) {
    size_t count = 0;
    while (count < n) {
        count += take_many(heap, size, blocks + count, n - count);
        if (count == n || !(blocks[count] = kolk_heap_alloc_at_(heap, size, SITE))) break;
        count++;
    }
    kolk_tools_wrote_(blocks, count * sizeof *blocks);
    return count;
}

/* Frees the first blocks of the array at once, if they are of one class and many for its magazine. Returns how many; 0:
 * they must be freed one by one. */
static uint32_t give_many(kolk_heap *heap, void *const *blocks, size_t n) {
    uintptr_t of_class = kolk_heap_class_at_(heap, blocks[0]);
    kolk_magazine_ *magazine = magazine_for_many(heap, of_class);
    uint32_t run = 1, few = 0;
    if (!magazine) return 0;
    if (!kolk_depot_is_uncached_(magazine->depot)) few = magazine->cache / 2; /* the slow path makes room for these */
    if (n <= few) return 0;
    while (run < n && run < LONGEST_RUN && kolk_heap_class_at_(heap, blocks[run]) == of_class) run++;
    if (run <= few) return 0;
    kolk_heap_decay_(heap->inside, kolk_heap_near_(heap), false);
    return kolk_store_free_n_(&heap->inside->trays[of_class].store, magazine, blocks, run);
}

KOLK_NOINLINE_ void kolk_heap_free_n(kolk_heap *heap, void *const *blocks, size_t n) {
    int before = errno;
    size_t at = n ? give_many(heap, blocks, n) : 0;
    while (at < n) {
        if (give_at_hand(heap, kolk_heap_near_(heap), blocks[at])) {
            at++;
            continue;
        }
        uint32_t many = give_many(heap, blocks + at, n - at);
        if (!many) kolk_heap_free_slow_(heap, blocks[at], SITE);
        at += many ? many : 1;
    }
    errno = before;
}

#endif
