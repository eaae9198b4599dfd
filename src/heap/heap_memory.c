/* heap_memory.c: makes a heap from its descriptor, and ends it. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/begin.h"
#include "../base/assert.h"
#include "../core/block.h"
#include "../core/trim.h"
#include "../core/fail.h"
#include "../os/clock.h"
#include "../os/environment.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/peek.h"

#include <string.h>

#define MOST_SHIFT  36u /* 64 GiB of addresses per class: for malloc's heap, of which there is only one */
#define USUAL_SHIFT 33u /* 8 GiB per class: for other heaps, so that there can be about two hundred of them */
#define LEAST_SHIFT 19u /* room for one block of the largest of kolk's own classes */

/* A heap that is being listed has no blocks yet: it is not worth adding up all sizes. */
static void list_heap_stats(const void *given, kolk_stats *out) {
    const kolk_heap *heap = (const kolk_heap *)given;
    *out = (kolk_stats){.name = kolk_heap_name_(heap), .kind = "heap"};
    if (!heap->number && heap->root && !heap->inside) return;
    if (heap->fixed && !kolk_fixed_is_there_(heap)) return;
    kolk_heap_stats(heap, out);
}

static uintptr_t heap_facts(const void *given) {
    const kolk_heap *heap = (const kolk_heap *)given;
    return KOLK_FACTS_(heap->number, heap->n_classes, (uintptr_t)heap->root, (uintptr_t)heap->fixed);
}

/* ---- Classes ----------------------------------------------------------------------------------------------------- */

static uint64_t room_of_class(unsigned shift) {
    return (UINT64_C(1) << shift) - kolk_heap_colours_(shift);
}

/* How many bits of address space a class gets. A class needs no more addresses than the machine has bytes of memory, or
 * than the limit allows. All classes together get at most half of the process's addresses, because other code needs
 * addresses too. If that is not enough for LEAST_SHIFT, the result is less. */
static unsigned wished_shift(const kolk_heap *heap, unsigned most_shift) {
    uint64_t most = kolk_memory_physical_(), share = kolk_memory_addresses_() / 2 / heap->n_classes;
    for (const kolk_heap_root_ *root = heap->root; root; root = root->parent)
        if (root->own.limit && root->own.limit < most) most = root->own.limit;
    unsigned shift = LEAST_SHIFT - 1;
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
static kolk_status reserve_space(kolk_heap *heap, kolk_heap_inside_ *inside) {
    unsigned shift = heap->root->shift ? heap->root->shift : wished_shift(heap, USUAL_SHIFT);
    if (shift < LEAST_SHIFT && !heap->root->serves_malloc) shift = LEAST_SHIFT;
    while (!is_wide_enough(heap, inside, shift))
        if (++shift > MOST_SHIFT) return KOLK_SIZE_OVERFLOW;
    for (; shift >= LEAST_SHIFT; shift--) {
        if (!is_wide_enough(heap, inside, shift)) break;
        if (!kolk_heap_take_space_(inside, (size_t)heap->n_classes << shift)) continue;
        kolk_store_(&heap->base, (uintptr_t)inside->space, KOLK_RELAXED_);
        kolk_store_(&heap->class_shift, (uint8_t)shift, KOLK_RELAXED_);
        return KOLK_OK;
    }
    return KOLK_NO_MEMORY;
}

static void end_inside(kolk_heap_inside_ *inside) {
    kolk_guarded_end_(&inside->guarded);
    if (inside->space) kolk_memory_release_(inside->space, inside->space_size);
    kolk_memory_release_(inside, sizeof *inside);
}

/* Fills in the zeroed classes of a heap, and adds it to the heaps that threads find. Not under a tool. */
static kolk_status fill_inside(kolk_heap *heap, kolk_heap_inside_ *inside, const kolk_heap_desc *desc,
                               const kolk_settings_ *settings) {
    kolk_status status = kolk_heap_set_classes_(heap, inside, desc);
    if (sizeof(void *) < 8 && status == KOLK_OK) return KOLK_NO_MEMORY; /* there are too few addresses for classes */
    if (status == KOLK_OK && settings->flags & KOLK_DEBUG_BYPASS) {
        inside->large.from_malloc = true;
        heap->n_classes = 0;
    } else if (status == KOLK_OK) {
        status = reserve_space(heap, inside);
    }
    if (status == KOLK_NO_MEMORY && heap->root->serves_malloc) {
        /* Without addresses for malloc's classes, the program goes on with the nursery, whatever the settings are, and
         * with large blocks. */
        inside->space_size = 0;
        heap->root->nursery.classes = KOLK_NURSERY_CLASSES_;
        status = KOLK_OK;
    }
    if (status != KOLK_OK) return status;
    inside->n_classes = heap->n_classes;
    bool samples = settings->sample && !inside->large.from_malloc;
    if (samples && kolk_guarded_begin_(&inside->guarded, heap->root->budget)) inside->sample = settings->sample;
    inside->thread_size = kolk_heap_thread_size_(heap, inside);
    if (!kolk_heap_list_(heap, inside)) return KOLK_NO_MEMORY;
    inside->id = heap->id;
    return KOLK_OK;
}

/* Gives the heap its classes. Other threads may use it meanwhile: they see all of it, or `inside` is NULL for them. */
static kolk_status make_classes(kolk_heap *heap, const kolk_heap_desc *desc, const kolk_settings_ *settings) {
    kolk_heap_inside_ *inside = (kolk_heap_inside_ *)kolk_memory_take_(sizeof *inside, sizeof *inside);
    if (!inside) return KOLK_NO_MEMORY;
    inside->root = heap->root;
    inside->forks = kolk_forks_();
    inside->swept = (uint64_t)kolk_now_ns_(); /* the first sweep comes a second later */
    inside->large.budget = heap->root->budget;
    inside->large.keeps = !heap->root->budget; /* spare pages would count towards the limit */
    kolk_status status = fill_inside(heap, inside, desc, settings);
    if (status != KOLK_OK) {
        end_inside(inside);
        kolk_store_(&heap->base, 0, KOLK_RELAXED_);
        kolk_store_(&heap->class_shift, 0, KOLK_RELAXED_);
        return status;
    }
    kolk_ended_expire_((int64_t)inside->swept - KOLK_ENDED_TIME_);
    kolk_raw_store_(&heap->root->inside, inside, KOLK_RELEASE_); /* partner: inside_for_stats */
    kolk_raw_store_(&heap->inside, inside, KOLK_RELEASE_);       /* partner: kolk_heap_grown_ */
    return KOLK_OK;
}

kolk_heap_inside_ *kolk_heap_grow_(kolk_heap *heap) {
    kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    if (inside) return inside;
    kolk_lock_word_(&heap->root->growing);
    if (!heap->inside) make_classes(heap, &(kolk_heap_desc){0}, &(kolk_settings_){0});
    kolk_unlock_word_(&heap->root->growing);
    return kolk_heap_grown_(heap);
}

/* ---- Init -------------------------------------------------------------------------------------------------------- */

/* The statistics of malloc's heap have a line for each size. */
static bool lists_sizes(bool serves_malloc) {
    return serves_malloc && kolk_environment_("KOLK_STATS");
}

/* Does any setting concern this heap or its classes? Then it has no nursery, whose blocks have no debug mode. */
static bool has_settings(const kolk_heap_desc *desc, const kolk_settings_ *settings, bool serves_malloc) {
    return desc->debug || settings->flags || settings->sample || settings->environment_has ||
           lists_sizes(serves_malloc);
}

/* Are the first blocks of malloc's heap watched? If the user wants all blocks to be guarded, that is better. */
static bool watches(const kolk_settings_ *settings, bool is_young) {
    return is_young || (settings->sample > 1 && !settings->flags && !lists_sizes(true));
}

/* Fills in a zeroed heap. On failure, the heap holds no memory. */
static kolk_status make_heap(kolk_heap *heap, const kolk_heap_desc *desc, bool serves_malloc) {
    const kolk_heap *parent = desc->parent;
    if (parent && !(parent->root && kolk_is_home_(parent, parent->number, NULL, NULL))) return KOLK_BAD_PARENT;
    if (parent && desc->budget) return KOLK_BAD_BUDGET;
    if (desc->n_classes && !desc->classes) return KOLK_BAD_CLASSES;
    kolk_settings_ settings = kolk_settings_of_heap_(desc->name, desc->debug); /* first, as the handler may longjmp */
    if (serves_malloc) settings.flags &= ~(uint32_t)KOLK_DEBUG_BYPASS;
    kolk_heap_root_ *root = kolk_heap_make_root_(heap, desc);
    if (!root) return KOLK_NO_MEMORY;
    root->serves_malloc = serves_malloc;
    kolk_raw_store_(&kolk_trim_heaps_, (uintptr_t)kolk_heap_trim_all_, KOLK_RELAXED_);
    bool is_young = !desc->classes && sizeof(void *) == 8 && !has_settings(desc, &settings, serves_malloc);
    if (!is_young) kolk_nursery_close_(&root->nursery);
    if (serves_malloc && watches(&settings, is_young)) kolk_nursery_watch_(&root->nursery);
    if (!desc->classes) kolk_heap_set_own_tables_(heap);
    if (serves_malloc) root->shift = (uint8_t)wished_shift(heap, MOST_SHIFT);
    kolk_status status = is_young ? KOLK_OK : make_classes(heap, desc, &settings);
    if (status != KOLK_OK) kolk_heap_end_root_(root);
    return status;
}

const kolk_kind_ kolk_heap_kind_ = {.stats = list_heap_stats,
                                    .part = kolk_heap_part_,
                                    .facts = heap_facts,
                                    .size = sizeof(kolk_heap),
                                    .id = KOLK_KIND_HEAP_,
                                    .layout =
                                        sizeof(kolk_heap_inside_) + sizeof(kolk_heap_root_) + sizeof(kolk_magazine_)};

/* Continues an init after kolk_begin_, which returned `status`. */
static kolk_status init_heap(kolk_heap *heap, const kolk_heap_desc *desc, bool serves_malloc, kolk_status status) {
    if (status == KOLK_OK && (desc->memory || desc->memory_size))
        status = kolk_fixed_make_(heap, desc);
    else if (status == KOLK_OK)
        status = make_heap(heap, desc, serves_malloc);
    if (status != KOLK_OK) {
        memset(heap, 0, sizeof *heap);
        return status;
    }
    for (uint32_t n = 0; heap->root && desc->classes && n < heap->n_classes; n++)
        if (desc->classes[n].capacity && !kolk_heap_make_class_(heap, n)) {
            kolk_heap_deinit(heap);
            return KOLK_NO_MEMORY;
        }
    kolk_list_(heap, sizeof *heap, &heap->number, &kolk_heap_kind_);
    if (heap->fixed) heap->fixed->number = heap->number;
    if (heap->root) /* a report in another thread may read it */
        kolk_store_(&heap->root->number, heap->number, KOLK_RELAXED_);
    return status;
}

kolk_status kolk_heap_init_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi) {
    kolk_status begun = kolk_begin_(heap, heap_size, sizeof *heap, abi, desc);
    kolk_status status = init_heap(heap, desc, false, begun);
    bool tries_again = status == KOLK_NO_MEMORY && kolk_ended_expire_(INT64_MAX);
    return tries_again ? init_heap(heap, desc, false, begun) : status;
}

kolk_status kolk_heap_init_for_malloc_(kolk_heap *heap, const kolk_heap_desc *desc) {
    return init_heap(heap, desc, true, kolk_begin_(heap, sizeof *heap, sizeof *heap, KOLK_ABI, desc));
}

/* ---- Hot reload -------------------------------------------------------------------------------------------------- */

/* Are these the heap's classes? Under a tool that watches malloc, it has none. */
static bool keeps_classes(const kolk_heap *heap, const kolk_heap_desc *desc) {
    const kolk_heap_inside_ *inside = heap->root->inside;
    if (heap->n_classes == 0) return true;
    if (!desc->classes) return !desc->n_classes || desc->n_classes == heap->n_classes;
    if (desc->n_classes != heap->n_classes || !inside) return false;
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        const kolk_heap_class *class_ = &desc->classes[n];
        uint32_t max_capacity = class_->max_capacity ? class_->max_capacity : class_->capacity;
        if (kolk_heap_rounded_(class_) != tray->size || class_->when_full != tray->when_full) return false;
        if (class_->capacity != tray->capacity || max_capacity != tray->max_capacity) return false;
    }
    return true;
}

static kolk_status rebind_root(kolk_heap *heap, const kolk_heap_desc *desc) {
    kolk_heap_root_ *root = heap->root;
    bool inside = !desc->parent || (root->parent && desc->parent->root == root->parent);
    bool kept = inside && !desc->memory && !desc->memory_size && kolk_is_kept_(desc->limit, root->own.limit) &&
                keeps_classes(heap, desc) && (!desc->budget || (desc->budget == root->own.parent && !root->parent));
    if (!kept) return KOLK_LAYOUT_CHANGED;
    kolk_raw_store_(&root->name, kolk_name_kept_(desc->name), KOLK_RELAXED_); /* statistics may read it */
    root->on_full = desc->on_full;
    root->context = desc->context;
    kolk_relist_(heap->number, root->name, NULL);
    for (uint32_t n = 0; desc->classes && n < heap->n_classes; n++)
        kolk_heap_rename_class_(&heap->inside->trays[n], desc->classes[n].name);
    return KOLK_OK;
}

kolk_status kolk_heap_rebind_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi) {
    kolk_status status = kolk_check_call_(heap_size, sizeof *heap, abi, desc);
    if (status != KOLK_OK) return status;
    if (!heap->root && !heap->fixed) return KOLK_CLOSED;
    if (!kolk_is_home_(heap, heap->number, NULL, SITE)) return KOLK_MOVED;
    if (heap->fixed) return kolk_fixed_rebind_(heap, desc);
    if (kolk_load_(&heap->root->in_hook, KOLK_RELAXED_) == kolk_thread_()) return KOLK_IN_HOOK;
    return rebind_root(heap, desc);
}

/* ---- End and reset ----------------------------------------------------------------------------------------------- */

static void end_family(kolk_heap_root_ *root, const void *site);

static void end_classes(kolk_heap_inside_ *inside) {
    kolk_heaps_remove_(inside->id);
    for (uint32_t n = 0; n < inside->n_classes; n++) {
        kolk_heap_tray_ *tray = &inside->trays[n];
        kolk_unlist_(tray->number); /* a class that a fork's child found half made needs only this */
        if (tray->is_made) kolk_store_end_lives_(&tray->store, NULL);
    }
    kolk_heap_end_threads_(inside);
    kolk_large_end_(&inside->large);
    if (kolk_heap_keep_space_(inside)) inside->space = NULL;
    end_inside(inside);
}

/* Verifies and reports what the debug mode knows of. Blocks that are left in a child are no leaks: that all of them end
 * together is what a child is for. */
static void prove_classes(const kolk_heap_root_ *root, const void *site) {
    const kolk_heap_inside_ *inside = root->inside;
    for (uint32_t n = 0; inside && n < inside->n_classes; n++) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        if (!tray->is_made || !tray->store.debug) continue;
        kolk_store_prove_all_(&tray->store, site);
        if (!root->parent) kolk_store_report_leaks_(&tray->store);
    }
}

/* Ends a heap; its struct stays as it is. */
static void end_heap(kolk_heap_root_ *root, const void *site) {
    end_family(root, site);
    prove_classes(root, site); /* first, as the handler may longjmp */
    kolk_heap_inside_ *inside = root->inside;
    kolk_heap_leave_parent_(root);
    kolk_unlist_(root->number);
    if (inside) end_classes(inside);
    kolk_heap_end_root_(root);
}

/* Does no function of the user run while this heap ends? */
static bool ends_silently(const kolk_heap_root_ *root) {
    return !root->child && !root->ends && !root->inside;
}

#define AT_ONCE 16u /* children that end together, so that one system call looks at all of their structs */

/* Reads heap->root of n children. A child's struct is the user's, and its storage may be gone although the child was
 * not deinitialised: 0 then. If all structs lie in live blocks of the parent, no system call is needed. */
static void look_at_structs(kolk_heap_root_ *parent, kolk_heap_root_ *const *children, unsigned n, uintptr_t *roots) {
    const uintptr_t *places[AT_ONCE] = {NULL};
    bool are_blocks = true;
    for (unsigned i = 0; i < n; i++) {
        places[i] = (const uintptr_t *)&children[i]->heap->root;
        are_blocks = are_blocks && kolk_nursery_locate_(&parent->nursery, children[i]->heap);
    }
    if (!are_blocks) kolk_peek_words_(roots, places, n);
    for (unsigned i = 0; are_blocks && i < n; i++) roots[i] = (uintptr_t)children[i]->heap->root;
}

/* Ends the newest child, which has no children, or several if all of them end silently, and sets their structs to all
 * zero. An older child's struct may lie in a block of a newer one, which other threads may have by now. */
static void end_newest(kolk_heap_root_ *parent, const void *site) {
    kolk_heap_root_ *children[AT_ONCE], *child = parent->child;
    uintptr_t roots[AT_ONCE];
    unsigned n = 0;
    do {
        children[n++] = child;
        child = child->older;
    } while (child && n < AT_ONCE && ends_silently(children[n - 1]) && ends_silently(child));
    look_at_structs(parent, children, n, roots);
    for (unsigned i = 0; i < n; i++) {
        kolk_heap *heap = children[i]->heap;
        kolk_heap_root_ *root = children[i];
        end_heap(root, site);
        if (roots[i] == (uintptr_t)root && heap->root == root) memset(heap, 0, sizeof *heap);
    }
}

/* Ends all children, the newest first, and then calls the functions of kolk_heap_on_end, the newest first. These may
 * make more of both. A deep tree needs no deep stack, because heaps without children end first. */
static void end_family(kolk_heap_root_ *root, const void *site) {
    kolk_heap_end_record_ end;
    do {
        kolk_heap_root_ *at = root;
        while (root->child) {
            while (at->child) at = at->child;
            at = at->parent;
            end_newest(at, site);
        }
        if (!kolk_heap_take_end_(root, &end)) continue;
        uint32_t before = kolk_heap_enter_hook_(root);
        end.function(end.context);
        kolk_heap_leave_hook_(root, before);
    } while (root->child || root->ends);
}

/* Is the calling thread inside a hook of this heap, or of one inside it? */
static bool is_in_hook(const kolk_heap_root_ *root) {
    for (const kolk_heap_root_ *at = root;; at = at->older) {
        uint32_t thread = kolk_load_(&at->in_hook, KOLK_RELAXED_);
        while (!thread && at->child) {
            at = at->child;
            thread = kolk_load_(&at->in_hook, KOLK_RELAXED_);
        }
        if (thread && thread == kolk_thread_()) return true;
        while (at != root && !at->older) at = at->parent;
        if (at == root) return false;
    }
}

/* A heap cannot end, or lose all its blocks, while one of its hooks runs: reports that. */
static bool is_barred(const kolk_heap *heap, const char *verb, const void *site) {
    if (heap->fixed) return kolk_fixed_is_barred_(heap, verb, site);
    if (!is_in_hook(heap->root)) return false;
    kolk_failure failure = {.rule = KOLK_IN_HOOK, .slot = UINT32_MAX, .site = site, .no_debug = true};
    failure.pool = kolk_heap_name_(heap);
    kolk_fail_(failure, "%s in a hook of this heap, or of one inside it", verb);
    return true;
}

KOLK_NOINLINE_ void kolk_heap_deinit(kolk_heap *heap) {
    kolk_heap_root_ *root = heap->root;
    if ((!root && !heap->fixed) || !kolk_is_home_(heap, heap->number, NULL, SITE)) return;
    if (is_barred(heap, "deinit", SITE)) return;
    if (root) {
        kolk_raw_store_(&root->heap, heap, KOLK_RELAXED_); /* trim_nurseries may read it */
        end_heap(root, SITE);
    } else {
        kolk_unlist_(heap->number);
        kolk_fixed_end_(heap);
    }
    memset(heap, 0, sizeof *heap);
}

/* Another thread that trims all heaps meanwhile has slots in hand. It leaves stores in debug mode alone; their failure
 * handler may longjmp. */
static void reset_class(kolk_heap_inside_ *inside, kolk_slot_store_ *store, const void *site) {
    bool is_swept = !store->debug;
    if (is_swept) kolk_lock_word_(&inside->sweeping);
    kolk_store_reset_(store, site);
    if (is_swept) kolk_unlock_word_(&inside->sweeping);
}

KOLK_NOINLINE_ void kolk_heap_reset(kolk_heap *heap) {
    if ((!heap->root && !heap->fixed) || !kolk_is_home_(heap, heap->number, NULL, SITE)) return;
    if (is_barred(heap, "reset", SITE)) return;
    if (heap->fixed) {
        kolk_fixed_reset_(heap);
        return;
    }
    end_family(heap->root, SITE);
    kolk_nursery_reset_(&heap->root->nursery);
    kolk_heap_inside_ *inside = heap->inside;
    if (!inside) return;
    kolk_heap_reclaim_after_fork_(inside);
    for (uint32_t n = 0; n < heap->n_classes; n++)
        if (inside->trays[n].is_made) reset_class(inside, &inside->trays[n].store, SITE);
    for (void *block; (block = kolk_guarded_next_(&inside->guarded, NULL));)
        kolk_guarded_free_(&inside->guarded, block, SITE);
    kolk_large_clear_(&inside->large);
}

#endif
