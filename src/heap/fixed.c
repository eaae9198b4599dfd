/* fixed.c: see fixed.h. Also the functions of heap_sizes.h. */
#undef KOLK_EXTERN /* base.c emits the functions of base.inl, even if the program defines KOLK_EXTERN */
#include "fixed.h"

#include "../base/bits.h"
#include "../core/geometry.h"
#include "../core/tools.h"
#include "../core/begin.h"
#include "../core/fail.h"
#include "../os/peek.h"

#include <string.h>

#define MOST_BLOCKS (UINT32_C(1) << 24) /* of a tray: its four levels have bits for that many */

_Static_assert(sizeof(kolk_fixed_tray_) <= KOLK_TRAY_RECORD_, "KOLK_HEAP_TRAY_BYTES counts it");
_Static_assert(sizeof(kolk_fixed_) <= KOLK_HEAP_BYTES, "the program's memory has room for it");

/* ---- Classes: heap_sizes.h --------------------------------------------------------------------------------------- */

kolk_status kolk_heap_check_classes_(const kolk_heap_desc *desc) {
    if (!desc->classes || desc->n_classes == 0 || desc->n_classes > KOLK_HEAP_CLASSES) return KOLK_BAD_CLASSES;
    for (uint32_t n = 0; n < desc->n_classes; n++) {
        const kolk_heap_class *class_ = &desc->classes[n];
        if (class_->size == 0) return KOLK_ZERO_SIZE;
        if (class_->size > KOLK_HEAP_GREATEST_) return KOLK_SIZE_OVERFLOW;
        if (class_->max_capacity && class_->max_capacity < class_->capacity) return KOLK_MAX_BELOW_CAPACITY;
        if (n && kolk_heap_rounded_(class_) <= kolk_heap_rounded_(class_ - 1)) return KOLK_BAD_CLASSES;
    }
    return KOLK_OK;
}

/* The smallest class whose blocks have at least this size. */
static uint32_t class_from(const kolk_heap_desc *desc, uint32_t size) {
    uint32_t n = 0;
    while (n < desc->n_classes && kolk_heap_rounded_(&desc->classes[n]) < size) n++;
    return n;
}

void kolk_heap_set_tables_(kolk_heap *heap, const kolk_heap_desc *desc) {
    heap->n_classes = desc->n_classes;
    for (uint32_t at = 0; at < sizeof heap->by_size; at++)
        heap->by_size[at] = (uint8_t)class_from(desc, at * KOLK_GRAIN_);
    for (uint32_t at = 0; at < sizeof heap->by_quarter; at++)
        heap->by_quarter[at] = (uint8_t)class_from(desc, kolk_heap_quarter_(at));
}

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

/* The slot of tray that begins at `block`, or a number not below capacity if there is none. */
static uintptr_t fixed_slot_of(const kolk_fixed_tray_ *tray, const void *block) {
    return kolk_exact_slot_((uintptr_t)block - (uintptr_t)tray->blocks, tray->shift, tray->inverse);
}

static bool is_fixed_alive(const kolk_fixed_tray_ *tray, uintptr_t slot) {
    return slot < tray->capacity && !kolk_bits_get_(tray->free[0], slot);
}

/* The last tray that begins at or below this address; the first one if none does. */
static kolk_fixed_tray_ *tray_at(const kolk_heap *heap, const void *block) {
    uint32_t low = 0, high = heap->n_classes;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if ((uintptr_t)block < (uintptr_t)heap->fixed->trays[middle].blocks)
            high = middle;
        else
            low = middle;
    }
    return &heap->fixed->trays[low];
}

/* The tray of a live block, and its slot. NULL: this is not the start of a live block, or the heap is all zero. */
static kolk_fixed_tray_ *tray_of_block(const kolk_heap *heap, const void *block, uintptr_t *slot) {
    kolk_fixed_tray_ *tray = heap->fixed ? tray_at(heap, block) : NULL;
    if (tray) *slot = fixed_slot_of(tray, block);
    return tray && is_fixed_alive(tray, *slot) ? tray : NULL;
}

static void free_all(kolk_fixed_tray_ *tray) {
    uint32_t n = tray->capacity;
    for (unsigned k = 0; k < tray->levels; k++, n = (uint32_t)kolk_bits_words_(n)) {
        size_t words = (size_t)kolk_bits_words_(n);
        memset(tray->free[k], 0xff, words * 8);
        if (n % 64) tray->free[k][words - 1] = kolk_bits_at_(n) - 1;
    }
    tray->count = 0;
    kolk_tools_hide_(tray->blocks, (size_t)tray->capacity * tray->size);
}

/* ---- Init and end ------------------------------------------------------------------------------------------------ */

/* The bytes of the whole heap; 0: the descriptor breaks a rule. */
static uint64_t fixed_bytes(const kolk_heap_desc *desc, kolk_status *status) {
    uint64_t bytes = KOLK_HEAP_BYTES;
    *status = desc->limit || desc->parent || desc->budget ? KOLK_FIXED_HEAP : kolk_heap_check_classes_(desc);
    for (uint32_t n = 0; *status == KOLK_OK && n < desc->n_classes; n++) {
        const kolk_heap_class *class_ = &desc->classes[n];
        uint32_t size = kolk_heap_rounded_(class_), capacity = class_->capacity;
        if (capacity == 0) *status = KOLK_ZERO_CAPACITY;
        if (capacity > MOST_BLOCKS) *status = KOLK_SIZE_OVERFLOW;
        if (class_->max_capacity > capacity) *status = KOLK_CANNOT_GROW;
        bytes += KOLK_TRAY_RECORD_ + 8 * KOLK_TRAY_WORDS_(capacity) + KOLK_TRAY_ALIGN_(size) - 8;
        bytes += (uint64_t)size * capacity; /* as KOLK_HEAP_TRAY_BYTES, but in 64 bits */
    }
    if (bytes > PTRDIFF_MAX) *status = KOLK_SIZE_OVERFLOW;
    return *status == KOLK_OK ? bytes : 0;
}

size_t kolk_heap_memory_size(const kolk_heap_desc *desc) {
    kolk_status status;
    return desc ? (size_t)fixed_bytes(desc, &status) : 0;
}

static kolk_status resolve_fixed(const kolk_heap_desc *desc) {
    kolk_status status;
    uint64_t bytes = fixed_bytes(desc, &status);
    if (status != KOLK_OK) return status;
    if (!desc->memory) return KOLK_MEMORY_MISSING;
    if (desc->memory_size < bytes) return KOLK_MEMORY_TOO_SMALL;
    return (uintptr_t)desc->memory % KOLK_GRAIN_ ? KOLK_MEMORY_MISALIGNED : KOLK_OK;
}

static void list_tray_stats(const void *given, kolk_stats *out);

/* The members that init sets, and that never change. */
static uintptr_t tray_facts(const void *given) {
    const kolk_fixed_tray_ *tray = (const kolk_fixed_tray_ *)given;
    return KOLK_FACTS_(tray->number, tray->size, tray->capacity, (uintptr_t)tray->blocks, (uintptr_t)tray->name);
}

const kolk_kind_ kolk_tray_kind_ = {
    .stats = list_tray_stats, .facts = tray_facts, .size = sizeof(kolk_fixed_tray_), .id = KOLK_KIND_TRAY_};

/* Takes the words of a tray's levels from `at` on, and returns what is behind them. */
static unsigned char *set_levels(kolk_fixed_tray_ *tray, unsigned char *at) {
    uint64_t words = tray->capacity;
    do {
        words = kolk_bits_words_(words);
        tray->free[tray->levels++] = (uint64_t *)(void *)at;
        at += words * 8;
    } while (words > 1);
    return at;
}

static unsigned char *set_fixed_tray(kolk_fixed_tray_ *tray, const kolk_heap_class *class_, unsigned char *at) {
    *tray = (kolk_fixed_tray_){.name = kolk_name_kept_(class_->name), .when_full = (uint8_t)class_->when_full};
    tray->size = kolk_heap_rounded_(class_);
    tray->capacity = class_->capacity;
    kolk_set_divisor_(tray->size, &tray->shift, &tray->inverse);
    return set_levels(tray, at);
}

kolk_status kolk_fixed_make_(kolk_heap *heap, const kolk_heap_desc *desc) {
    kolk_status status = resolve_fixed(desc);
    if (status != KOLK_OK) return status;
    kolk_heap_set_tables_(heap, desc);
    kolk_tools_show_(desc->memory, desc->memory_size); /* an earlier heap may have been forgotten there */
    kolk_fixed_ *fixed = (kolk_fixed_ *)desc->memory;
    *fixed = (kolk_fixed_){.name = kolk_name_kept_(desc->name), .on_full = desc->on_full, .context = desc->context};
    fixed->memory_size = desc->memory_size;
    unsigned char *at = (unsigned char *)&fixed->trays[desc->n_classes];
    for (uint32_t n = 0; n < desc->n_classes; n++) at = set_fixed_tray(&fixed->trays[n], &desc->classes[n], at);
    for (uint32_t n = 0; n < desc->n_classes; n++) {
        kolk_fixed_tray_ *tray = &fixed->trays[n];
        at += -(uintptr_t)at % KOLK_TRAY_ALIGN_(tray->size);
        tray->blocks = at;
        at += (size_t)tray->capacity * tray->size;
        if (!tray->name) tray->name = fixed->name;
        free_all(tray);
        kolk_list_(tray, sizeof *tray, &tray->number, &kolk_tray_kind_);
    }
    KOLK_ASSERT_(at <= (unsigned char *)desc->memory + desc->memory_size);
    heap->fixed = fixed;
    return KOLK_OK;
}

kolk_status kolk_fixed_rebind_(kolk_heap *heap, const kolk_heap_desc *desc) {
    kolk_fixed_ *fixed = heap->fixed;
    bool kept = !desc->limit && !desc->parent && !desc->budget && (!desc->memory || desc->memory == fixed) &&
                (!desc->memory_size || desc->memory_size == fixed->memory_size) &&
                (desc->n_classes == heap->n_classes || (!desc->n_classes && !desc->classes));
    for (uint32_t n = 0; kept && desc->classes && n < heap->n_classes; n++) {
        const kolk_fixed_tray_ *tray = &fixed->trays[n];
        const kolk_heap_class *class_ = &desc->classes[n];
        bool capacity = class_->capacity == tray->capacity && class_->max_capacity <= tray->capacity;
        kept = kolk_heap_rounded_(class_) == tray->size && capacity && (uint8_t)class_->when_full == tray->when_full;
    }
    if (!kept) return KOLK_LAYOUT_CHANGED;
    if (fixed->asks) return KOLK_IN_HOOK;
    fixed->name = kolk_name_kept_(desc->name);
    fixed->on_full = desc->on_full;
    fixed->context = desc->context;
    kolk_relist_(heap->number, fixed->name, NULL);
    for (uint32_t n = 0; desc->classes && n < heap->n_classes; n++) {
        kolk_fixed_tray_ *tray = &fixed->trays[n];
        if (!desc->classes[n].name) continue;
        tray->name = kolk_name_kept_(desc->classes[n].name);
        kolk_relist_(tray->number, tray->name, NULL);
    }
    return KOLK_OK;
}

void kolk_fixed_end_(kolk_heap *heap) {
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        const kolk_fixed_tray_ *tray = &heap->fixed->trays[n];
        kolk_unlist_(tray->number);
        kolk_tools_show_(tray->blocks, (size_t)tray->capacity * tray->size);
    }
}

/* ---- Bugs of the caller ------------------------------------------------------------------------------------------ */

/* Reports what is wrong with a pointer. `if_dead` is the rule that is broken if it is the start of a free block. */
static void fail_fixed_block(const kolk_heap *heap, const void *block, const char *verb, kolk_status if_dead,
                             const void *site) {
    const kolk_fixed_tray_ *tray = heap->fixed ? tray_at(heap, block) : NULL;
    uint64_t inside = 0;
    kolk_failure failure = {.object = block, .slot = KOLK_NO_SLOT_, .site = site, .no_debug = true};
    if (tray) failure.slot = kolk_locate_(tray->blocks, tray->size, tray->capacity, block, &inside);
    if (tray) failure.pool = failure.slot == KOLK_NO_SLOT_ ? heap->fixed->name : tray->name;
    if (!failure.pool) failure.pool = "";
    failure.rule = if_dead;
    if (failure.slot != KOLK_NO_SLOT_ && failure.slot >= tray->peak) failure.rule = KOLK_NEVER_ISSUED; /* F4 */
    if (failure.slot != KOLK_NO_SLOT_) {
        kolk_fail_object_(failure, verb, "block", inside);
        return;
    }
    failure.rule = KOLK_FOREIGN_POINTER;
    kolk_fail_(failure, "%s of a pointer that does not belong to this heap", verb);
}

/* ---- Alloc and free ---------------------------------------------------------------------------------------------- */

/* Takes the lowest free block of a tray; NULL: it is full. */
static void *take_lowest(kolk_fixed_tray_ *tray, size_t size) {
    if (tray->count == tray->capacity) return NULL;
    uint32_t slot = (uint32_t)kolk_levels_take_lowest_(tray->free, tray->levels);
    if (++tray->count > tray->peak) { /* the allocs that raise it are the sample for `asked` and `given` */
        tray->peak = tray->count;
        tray->asked += size;
        tray->given += tray->size;
    }
    unsigned char *block = tray->blocks + (size_t)slot * tray->size;
    kolk_tools_show_(block, tray->size);
    return block;
}

bool kolk_fixed_is_barred_(const kolk_heap *heap, const char *verb, const void *site) {
    const kolk_fixed_ *fixed = heap->fixed;
    if (!fixed->asks) return false;
    kolk_failure failure = {.rule = KOLK_IN_HOOK, .slot = KOLK_NO_SLOT_, .site = site, .no_debug = true};
    failure.pool = fixed->name ? fixed->name : "";
    kolk_fail_(failure, "%s in a hook of this heap", verb);
    return true;
}

static bool ask_for_block(kolk_heap *heap, size_t size) {
    kolk_fixed_ *fixed = heap->fixed;
    if (!fixed->on_full || fixed->asks) return false;
    fixed->asks = true;
    bool freed = fixed->on_full(heap, size, fixed->context);
    fixed->asks = false;
    return freed;
}

/* Takes a block from the smallest tray that may serve this size and alignment, has one, and has smaller blocks than
 * `below`. NULL: there is none. */
static inline void *take_from_trays(kolk_heap *heap, size_t align, size_t size, size_t below) {
    for (uint32_t n = kolk_heap_first_class_(heap, size); n < heap->n_classes; n++) {
        kolk_fixed_tray_ *tray = &heap->fixed->trays[n];
        if (tray->size >= below) return NULL;
        if (tray->size < size || ((uintptr_t)tray->blocks | tray->size) & (align - 1)) continue;
        void *block = take_lowest(tray, size);
        tray->failed += !block && below == SIZE_MAX; /* without a smaller block, a realloc stays */
        if (block || tray->when_full == KOLK_HEAP_NULL) return block;
    }
    return NULL;
}

void *kolk_fixed_alloc_(kolk_heap *heap, size_t align, size_t size) {
    void *block = take_from_trays(heap, align, size, SIZE_MAX);
    if (!block && ask_for_block(heap, size)) block = take_from_trays(heap, align, size, SIZE_MAX);
    if (!block) heap->fixed->failed++;
    return block;
}

void kolk_fixed_free_(kolk_heap *heap, void *block, const void *site) {
    uintptr_t slot;
    kolk_fixed_tray_ *tray = tray_of_block(heap, block, &slot);
    if (!tray) {
        fail_fixed_block(heap, block, "free", KOLK_DOUBLE_FREE, site);
        return;
    }
    kolk_levels_set_(tray->free, tray->levels, slot);
    tray->count--;
    kolk_tools_hide_(block, tray->size);
}

void *kolk_fixed_realloc_(kolk_heap *heap, void *block, size_t size, const void *site) {
    if (!block) return kolk_fixed_alloc_(heap, 1, size);
    size_t usable = kolk_fixed_size_of_(heap, block);
    if (!usable) {
        fail_fixed_block(heap, block, "realloc", KOLK_DEAD_OBJECT, site);
        return NULL;
    }
    if (kolk_heap_is_as_good_(usable, size)) return block;
    void *moved = size < usable ? take_from_trays(heap, 1, size, usable) : kolk_fixed_alloc_(heap, 1, size);
    if (!moved) return size < usable ? block : NULL;
    memcpy(moved, block, usable < size ? usable : size);
    kolk_fixed_free_(heap, block, site);
    return moved;
}

void kolk_fixed_reset_(kolk_heap *heap) {
    for (uint32_t n = 0; n < heap->n_classes; n++) free_all(&heap->fixed->trays[n]);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

size_t kolk_fixed_size_of_(const kolk_heap *heap, const void *block) {
    uintptr_t slot;
    const kolk_fixed_tray_ *tray = tray_of_block(heap, block, &slot);
    return tray ? tray->size : 0;
}

void kolk_fixed_refuse_(const kolk_heap *heap, const void *block, const char *verb, const void *site) {
    fail_fixed_block(heap, block, verb, KOLK_DEAD_OBJECT, site);
}

void *kolk_fixed_next_(const kolk_heap *heap, const void *block, const void *site) {
    const kolk_fixed_tray_ *tray = block ? tray_at(heap, block) : heap->fixed->trays;
    const kolk_fixed_tray_ *end = heap->fixed->trays + heap->n_classes;
    uint64_t slot = block ? fixed_slot_of(tray, block) : 0;
    if (block && (uintptr_t)block - (uintptr_t)tray->blocks >= (size_t)tray->capacity * tray->size) return NULL;
    if (block && slot >= tray->peak) {
        fail_fixed_block(heap, block, "next", KOLK_DEAD_OBJECT, site);
        return NULL;
    }
    for (slot += block != NULL; tray < end; tray++, slot = 0) {
        slot = kolk_bits_find_(tray->free[0], false, slot, tray->capacity);
        if (slot < tray->capacity) return tray->blocks + (size_t)slot * tray->size;
    }
    return NULL;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

static void list_tray_stats(const void *given, kolk_stats *out) {
    const kolk_fixed_tray_ *tray = (const kolk_fixed_tray_ *)given;
    *out = (kolk_stats){.name = tray->name ? tray->name : "", .kind = "heap"};
    out->object_size = out->stride = tray->size;
    out->count = tray->count;
    out->peak = tray->peak;
    out->capacity = out->max_capacity = tray->capacity;
    out->failed = tray->failed;
    out->bytes_reserved = out->bytes_committed = (uint64_t)tray->size * tray->capacity;
}

bool kolk_fixed_stats_of_class_(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out) {
    *out = (kolk_heap_class_stats){.stats = {.name = "", .kind = "heap"}};
    if (n >= heap->n_classes) return false;
    const kolk_fixed_tray_ *tray = &heap->fixed->trays[n];
    list_tray_stats(tray, &out->stats);
    out->asked = tray->asked;
    out->given = tray->given;
    return true;
}

#if KOLK_HOSTED
bool kolk_fixed_is_there_(const kolk_heap *heap) {
    kolk_fixed_ copy;
    const unsigned char *end = (const unsigned char *)&heap->fixed->trays[heap->n_classes];
    return kolk_peek_(&copy, heap->fixed, sizeof copy) && copy.number == heap->number && kolk_peek_(&copy, end - 1, 1);
}
#endif

void kolk_fixed_stats_(const kolk_heap *heap, kolk_stats *out) {
    const kolk_fixed_ *fixed = heap->fixed;
    kolk_stats sum = {.name = fixed->name ? fixed->name : "", .kind = "heap", .failed = fixed->failed};
    sum.bytes_reserved = sum.bytes_committed = fixed->memory_size;
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        sum.count += fixed->trays[n].count;
        sum.peak += fixed->trays[n].peak;
        sum.capacity += fixed->trays[n].capacity;
    }
    sum.max_capacity = sum.capacity;
    *out = sum;
}

/* ---- Invariants -------------------------------------------------------------------------------------------------- */

static bool are_levels_valid(const kolk_fixed_tray_ *tray) {
    uint64_t n = tray->capacity;
    for (unsigned k = 0; k < tray->levels; k++, n = kolk_bits_words_(n)) {
        uint64_t words = kolk_bits_words_(n);
        if (n % 64 && tray->free[k][words - 1] >> n % 64) return false; /* F2 */
        for (uint64_t word = 0; k + 1 < tray->levels && word < words; word++)
            if (kolk_bits_get_(tray->free[k + 1], word) != (tray->free[k][word] != 0)) return false; /* F2 */
    }
    return true;
}

static bool is_tray_valid(const kolk_fixed_tray_ *tray) {
    uint32_t alive = 0;
    if (tray->size >> tray->shift << tray->shift != tray->size ||
        (uintptr_t)(tray->size >> tray->shift) * tray->inverse != 1)
        return false; /* F1 */
    for (uint32_t slot = 0; slot < tray->capacity; slot++) alive += is_fixed_alive(tray, slot);
    if (alive != tray->count || tray->count > tray->peak || tray->peak > tray->capacity) return false;    /* F3 */
    if (kolk_bits_find_(tray->free[0], false, tray->peak, tray->capacity) < tray->capacity) return false; /* F4 */
    return are_levels_valid(tray);
}

bool kolk_fixed_is_valid_(const kolk_heap *heap) {
    const kolk_fixed_tray_ *trays = heap->fixed->trays;
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        if (!is_tray_valid(&trays[n])) return false;
        if (n && (trays[n].size <= trays[n - 1].size ||
                  trays[n].blocks < trays[n - 1].blocks + (size_t)trays[n - 1].capacity * trays[n - 1].size))
            return false; /* F1 */
    }
    return true;
}
