/* heap_class.c: the sizes of a heap's classes, their addresses, and their stores.
 *
 * kolk's own sizes are 16, 32, 48, 64, and then four for each doubling: 80, 96, 112, 128, 160, 192, 224, 256, 320 ...
 * So a block above 64 bytes wastes less than a fifth of its bytes (jemalloc's classes have the same spacing; Evans,
 * 2006). */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/block.h"
#include "../core/begin.h"
#include "../os/clock.h"
#include "../os/lock.h"
#include "../os/memory.h"

#include <stdio.h>
#include <string.h>

#define OWN_CLASSES  52u    /* kolk's own classes: up to KOLK_HEAP_LARGEST */
#define CACHE_BYTES  65536u /* the most bytes that a magazine may hold, except that it may have WORD_CACHED blocks */
#define MOST_CACHED  256u   /* the most blocks that a magazine may hold */
#define WORD_CACHED  64u    /* of small blocks, room for those of a whole word of the depot */
#define WORD_SIZE    4096u  /* bytes of the largest of these */
#define CLASS_COLOUR 64u    /* bytes of a cache line; each class begins in a different line of its page */
#define COLOURS      15u /* lines in which a class's metadata may begin, and leave room for a thousand blocks' lives */
#define CLASS_PAGES  4096u /* a class begins at one of this many pages, or of fewer in a small address space */

static uint32_t class_alignment(uint32_t size) {
    uint32_t align = size & (~size + 1);
    return align < KOLK_MAX_ALIGN_ ? align : KOLK_MAX_ALIGN_;
}

/* Each atomic operation moves the slots of one word, and a word has no more slots than a magazine has room for. That is
 * why small blocks have room for 64 slots. A class with a max_capacity has a small cache, so that its magazines hold
 * back few slots from other threads. A class with few blocks has no cache. */
static uint32_t cache_of_class(const kolk_heap_tray_ *tray) {
    uint32_t cached = CACHE_BYTES / tray->size, least = tray->size <= WORD_SIZE ? WORD_CACHED : 1;
    if (cached < least) cached = least;
    if (cached > MOST_CACHED) cached = MOST_CACHED;
    return tray->max_capacity && tray->max_capacity / 64 < cached ? tray->max_capacity / 64 : cached;
}

static void set_tray(kolk_heap_inside_ *inside, uint32_t n, const kolk_heap_class *class_) {
    kolk_heap_tray_ *tray = &inside->trays[n];
    tray->size = kolk_heap_rounded_(class_);
    tray->capacity = class_->capacity;
    tray->max_capacity = class_->max_capacity ? class_->max_capacity : class_->capacity;
    tray->when_full = class_->when_full;
    tray->name = kolk_name_kept_(class_->name);
    tray->cache = cache_of_class(tray);
    const char *name = inside->root->name;
    if (tray->name || !name) return;
    int length = snprintf(tray->own_name, sizeof tray->own_name, "%s/%u", name, tray->size);
    tray->name = length < (int)sizeof tray->own_name ? tray->own_name : name;
}

static void fill_own_tables(kolk_heap *tables) {
    for (uint32_t at = 0; at < sizeof tables->by_size; at++)
        tables->by_size[at] = (uint8_t)kolk_own_class_((size_t)at * KOLK_GRAIN_);
    for (uint32_t at = 0; at < sizeof tables->by_quarter; at++) {
        uint32_t n = kolk_own_class_(kolk_heap_quarter_(at));
        tables->by_quarter[at] = (uint8_t)(n < OWN_CLASSES ? n : OWN_CLASSES);
    }
}

void kolk_heap_set_own_tables_(kolk_heap *heap) {
    static kolk_heap tables;
    static uint32_t lock, is_done;
    if (!kolk_load_(&is_done, KOLK_ACQUIRE_)) { /* partner: below */
        kolk_lock_word_(&lock);
        if (!is_done) fill_own_tables(&tables);  /* no other thread reads them yet */
        kolk_store_(&is_done, 1, KOLK_RELEASE_); /* partner: above */
        kolk_unlock_word_(&lock);
    }
    heap->n_classes = OWN_CLASSES;
    memcpy(heap->by_size, tables.by_size, sizeof tables.by_size);
    memcpy(heap->by_quarter, tables.by_quarter, sizeof tables.by_quarter);
}

kolk_status kolk_heap_set_classes_(kolk_heap *heap, kolk_heap_inside_ *inside, const kolk_heap_desc *desc) {
    kolk_status status = desc->classes ? kolk_heap_check_classes_(desc) : KOLK_OK;
    if (status != KOLK_OK) return status;
    if (desc->classes) kolk_heap_set_tables_(heap, desc);
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        kolk_heap_class own = {.size = kolk_own_size_(n)};
        set_tray(inside, n, desc->classes ? &desc->classes[n] : &own);
        inside->sizes[n] = inside->trays[n].size;
    }
    inside->sizes[heap->n_classes] = UINT32_MAX;
    return KOLK_OK;
}

uint32_t kolk_heap_class_aligned_(const kolk_heap *heap, size_t align, size_t size) {
    uint32_t n = kolk_heap_class_for_(heap, size);
    while (n < heap->n_classes && class_alignment(heap->inside->trays[n].size) < align) n++;
    return n;
}

/* ---- Their addresses --------------------------------------------------------------------------------------------- */

/* Spaces go only between heaps that have kolk's own classes and no settings. With a limit, pages that are kept would
 * count towards it. */
static bool shares_spaces(const kolk_heap_root_ *root) {
    return root->nursery.classes && !root->budget;
}

bool kolk_heap_take_space_(kolk_heap_inside_ *inside, size_t size) {
    kolk_ended_ ended;
    inside->space_size = size;
    if (shares_spaces(inside->root) && kolk_ended_take_(size, &ended)) {
        inside->space = (unsigned char *)ended.space;
        inside->kept_since = ended.since;
        for (uint32_t n = 0; n < KOLK_HEAP_CLASSES; n++) inside->trays[n].kept = ended.slots[n];
        return true;
    }
    do {
        inside->space = (unsigned char *)kolk_memory_reserve_(size);
    } while (!inside->space && kolk_ended_expire_(INT64_MAX));
    return inside->space;
}

/* After its end, a block of a heap with settings must not be accessible. If addresses are limited, other code may need
 * them. */
bool kolk_heap_keep_space_(const kolk_heap_inside_ *inside) {
    kolk_ended_ ended = {.space = (uintptr_t)inside->space, .size = inside->space_size, .since = inside->kept_since};
    size_t used = 0;
    if (!ended.space || !shares_spaces(inside->root) || kolk_memory_addresses_() != UINT64_MAX) return false;
    for (uint32_t n = 0; n < inside->n_classes; n++) {
        const kolk_heap_tray_ *tray = &inside->trays[n];
        uint32_t gone = 0;
        ended.slots[n] = tray->kept;
        if (tray->is_made) {
            uint32_t fresh = kolk_store_fresh_(&tray->store);
            if (tray->store.debug) return false;
            kolk_store_wipe_records_(&tray->store);
            gone = kolk_load_(&tray->store.released, KOLK_RELAXED_);
            used += (size_t)(fresh - gone) * tray->size;
            if (fresh > tray->kept) ended.slots[n] = fresh;
        }
        ended.bytes += (size_t)(ended.slots[n] - gone) * tray->size;
    }
    if (used >= ended.bytes / 2) ended.since = kolk_now_ns_();
    return ended.bytes && kolk_ended_put_(&ended);
}

/* ---- Their stores ------------------------------------------------------------------------------------------------ */

/* Cache colouring (Bonwick, 1994): each class begins at a different offset in its address space, so that slots of two
 * classes do not share cache sets. In all caches, the set depends on the line within the page. In some it also depends
 * on the page, because they look a line up by a hash of its address: in AMD's first-level caches, two lines whose
 * addresses differ only in high bits evict each other (Lipp et al., Take A Way, 2020). */
static size_t colour_of_class(unsigned class_shift, uint32_t n, uint32_t align) {
    size_t pages = (size_t)(kolk_heap_colours_(class_shift) / KOLK_MAX_ALIGN_);
    if (pages > CLASS_PAGES) pages = CLASS_PAGES;
    size_t page = n * (size_t)2531 % pages, line = n * (size_t)5 * CLASS_COLOUR % KOLK_MAX_ALIGN_;
    return page * KOLK_MAX_ALIGN_ + line / align * align;
}

/* The addresses of a class's blocks and of their records. */
static unsigned char *range_of_class(const kolk_heap_inside_ *inside, uint32_t n, size_t *size) {
    size_t space = inside->space_size / inside->n_classes;
    size_t colour = colour_of_class(kolk_bits_highest_(space), n, class_alignment(inside->trays[n].size));
    *size = space - colour;
    return inside->space + n * space + colour;
}

uint32_t kolk_heap_fits_(const kolk_heap_tray_ *tray, uint64_t range_size, uint64_t stride) {
    return kolk_store_slots_of_range_(range_size, stride, tray->cache, CLASS_SETS);
}

static void list_class_stats(const void *tray, kolk_stats *out) {
    kolk_store_stats_(&((const kolk_heap_tray_ *)tray)->store, "heap", out);
}

static kolk_debug *debug_of_class(const void *tray, uint32_t *end) {
    const kolk_slot_store_ *store = &((const kolk_heap_tray_ *)tray)->store;
    *end = kolk_store_fresh_(store);
    return store->debug;
}

const kolk_kind_ kolk_heap_class_kind_ = {.stats = list_class_stats,
                                          .debug = debug_of_class,
                                          .id = KOLK_KIND_HEAP_CLASS_,
                                          .layout = sizeof(kolk_heap_tray_) + sizeof(kolk_magazine_)};

void kolk_heap_rename_class_(kolk_heap_tray_ *tray, const char *name) {
    if (!name) return;
    const char *kept = kolk_name_kept_(name);
    kolk_raw_store_(&tray->name, kept, KOLK_RELAXED_); /* statistics may read both */
    kolk_raw_store_(&tray->store.name, kept, KOLK_RELAXED_);
    kolk_relist_(tray->number, kept, tray->store.debug);
}

void kolk_heap_list_class_(kolk_heap_tray_ *tray) {
    if (!tray->number && kolk_watch_) kolk_watch_->listed(tray, &tray->number, &kolk_heap_class_kind_, true);
}

static bool make_class(kolk_heap_inside_ *inside, uint32_t n) {
    kolk_heap_tray_ *tray = &inside->trays[n];
    size_t range_size;
    if (!inside->space) return false;
    unsigned char *range = range_of_class(inside, n, &range_size);
    kolk_settings_ settings = kolk_settings_of_(tray->name, inside->root->debug, false);
    uint32_t align = class_alignment(tray->size);
    uint64_t stride = tray->size;
    settings.flags &= ~(uint32_t)KOLK_DEBUG_BYPASS; /* a block's class is computed from its address */
    if (settings.flags & KOLK_DEBUG_GUARD) stride += 3 * (uint64_t)(align > 16 ? align : 16); /* red zones */
    uint32_t fits = kolk_heap_fits_(tray, range_size, stride);
    uint32_t slots = tray->max_capacity && tray->max_capacity < fits ? tray->max_capacity : fits;
    /* If red zones have been added since then, fewer slots fit. Their records lie where records were, too. */
    uint32_t capacity = tray->kept ? tray->kept : tray->capacity;
    kolk_store_desc_ desc = {
        .name = tray->name ? tray->name : "",
        .object_size = tray->size,
        .object_align = align,
        .capacity = capacity < slots ? capacity : slots,
        .slots = slots,
        .cache = tray->cache,
        .slow_free = inside->sample != 0, /* heap_guarded.c explains why */
        .n_sets = CLASS_SETS,
        .n_free_sets = CLASS_SETS,
        .keepers = &inside->keepers,
        .range = range,
        .range_size = range_size,
        .colour = n % COLOURS * CLASS_COLOUR,
        .budget = inside->root->budget,
    };
    tray->store = (kolk_slot_store_){.more = kolk_heap_rouse_};
    if (kolk_store_begin_(&tray->store, &desc, &settings) != KOLK_OK) return false;
    kolk_heap_list_class_(tray);
    return true;
}

kolk_slot_store_ *kolk_heap_make_class_(kolk_heap *heap, uint32_t n) {
    kolk_heap_inside_ *inside = heap->inside;
    kolk_heap_tray_ *tray = &inside->trays[n];
    KOLK_ASSERT_(n < heap->n_classes);
    if (kolk_load_(&tray->is_made, KOLK_ACQUIRE_)) return &tray->store; /* partner: below */
    kolk_lock_word_(&inside->lock);
    if (!tray->is_made && tray->number) { /* a fork's child has found the class half made */
        kolk_unlist_(tray->number);
        tray->number = 0;
    }
    if (!tray->is_made && make_class(inside, n)) kolk_store_(&tray->is_made, 1, KOLK_RELEASE_); /* partner: above */
    bool made = tray->is_made;
    kolk_unlock_word_(&inside->lock);
    return made ? &tray->store : NULL;
}

size_t kolk_heap_discard_kept_(kolk_heap_inside_ *inside, uint32_t n, bool counts) {
    kolk_heap_tray_ *tray = &inside->trays[n];
    size_t bytes = 0, range_size;
    if (!kolk_load_(&tray->kept, KOLK_RELAXED_)) return 0;
    kolk_lock_word_(&inside->lock);
    if (!tray->is_made) { /* otherwise another thread has made it meanwhile */
        bytes = kolk_memory_discard_(range_of_class(inside, n, &range_size), (size_t)tray->kept * tray->size, counts);
        kolk_store_(&tray->kept, 0, KOLK_RELAXED_);
    }
    kolk_unlock_word_(&inside->lock);
    return bytes;
}

kolk_slot_store_ *kolk_heap_store_of_(const kolk_heap *heap, const void *block) {
    kolk_heap_inside_ *inside = kolk_heap_grown_(heap);
    uintptr_t n = kolk_heap_class_at_(heap, block);
    if (!inside || n >= heap->n_classes || !kolk_load_(&inside->trays[n].is_made, KOLK_ACQUIRE_)) return NULL;
    return &inside->trays[n].store;
}

#endif
