/* shared.c: one pool, many threads.
 *
 *     slots      | 0 | 1 | 2 | ......... | fresh | ....... | usable | (reserved, not committed) |
 *     lives      32 or 8 bits a slot   how often a life began or ended there: odd while it lasts
 *     words      1 bit a slot          free, and at home
 *     summary    1 bit a word          it may have bits
 *     magazines  a ring of free slots for each thread
 *
 * A word is what threads pass on. A thread whose magazine is empty takes a whole word by one exchange, and owns the slots of
 * its bits: it hands them out and takes them back, whoever had them, without an atomic read-modify-write. When the magazine is
 * full, the oldest half goes home, neighbours that are of one word by one OR: objects that went through a queue come back in
 * order, so that is most of them. No slot has a link to another, so there is nothing to take for something that it was before
 * (ABA), and nothing that a stray write can corrupt.
 *
 * How many can be alive. A word has no more bits than a magazine has room for, and is only taken by an empty one, so no thread
 * ever has more than `cache` free slots, in its magazine or on the way to it or from it. There are max_capacity + slack slots,
 * slack = (max_threads - 1) * cache, so if all words are empty when a thread with an empty magazine looks, at least max_capacity
 * objects are alive. But one look at many words is no look at one moment. So `returns` counts who has brought slots home, after
 * he did: if it is the same before and after, all words that were seen empty still were at the end, but for bits that are on
 * their way home, which count as their thread's (see fetch).
 *
 * The summary. Who takes a word clears its bit first; who brings slots to a word sees to it afterwards that it is set. A bit
 * may be set though the word is empty: the next one finds out. But a word to which somebody has ended bringing slots has its
 * bit set, or somebody is just taking all of it. The summary needs no order of its own: of a taker and a bringer at one word,
 * the order in which they come to the word is that in which they are seen at its bit.
 *
 * Invariants (kolk_shared_is_valid, while nobody is at work):
 *     I1  fresh <= usable <= max_capacity + slack
 *     I2  each slot below fresh is alive, or in one word, or in one magazine; above, none is anywhere
 *     I3  a word that is not 0 has its bit in the summary
 *     I4  no magazine has more than `cache` entries, and cache has room for a word */
#undef KOLK_EXTERN /* the functions of shared.inl are emitted here, also in a program that is compiled with it */
#include "kolk/shared.h"

#if __STDC_HOSTED__

#include "atomics.h"
#include "bits.h"
#include "debug.h"
#include "fail.h"
#include "handle.h"
#include "hash.h"
#include "memory.h"
#include "probes.h"
#include "registry.h"
#include "room.h"
#include "tools.h"
#include "wait.h"

#include <string.h>

#define NO_SLOT         UINT32_MAX
#define DEFAULT_THREADS 16u
#define DEFAULT_CACHE   192u
#define MAX_CACHE       (1u << 28) /* so that a magazine is less than half of the smallest address space */
#define LINE            128u       /* bytes that a processor takes at a time, and the next */

/* Emit each function of shared.inl once. */
extern inline void *kolk_local_alloc_sized(kolk_local *local, size_t stride);
extern inline void *kolk_local_alloc(kolk_local *local);
extern inline void kolk_local_free_slot(kolk_local *local, void *object, uintptr_t index);
extern inline void kolk_local_free(kolk_local *local, void *object);
extern inline void kolk_local_free_sized(kolk_local *local, void *object, size_t stride);
extern inline void *kolk_shared_get_sized(const kolk_shared *pool, kolk_handle handle, size_t stride);
extern inline void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);

/* ---- Leaves ---------------------------------------------------------------------------------------------------------- */

static uint32_t word_bits(const kolk_shared *pool) {
    return 1u << pool->word_shift;
}

static kolk_magazine *magazine_at(const kolk_shared *pool, uint32_t n) {
    return (kolk_magazine *)(void *)(pool->magazines + n * pool->magazine_size);
}

static uintptr_t slot_of(const kolk_shared *pool, const void *object) {
    return kolk_exact_slot((uintptr_t)object - (uintptr_t)pool->slots, pool->shift, pool->inverse);
}

static void *object_at(const kolk_shared *pool, uintptr_t index) {
    return pool->slots + index * pool->stride;
}

static uint32_t life_of(const kolk_shared *pool, uintptr_t index) {
    return pool->lives ? kolk_load(&pool->lives[index], KOLK_RELAXED)
                       : kolk_load(&pool->short_lives[index], KOLK_RELAXED);
}

static uint32_t usable(const kolk_shared *pool) {
    return kolk_load(&pool->usable, KOLK_ACQUIRE); /* partner: grow, which commits before */
}

static bool is_alive(const kolk_shared *pool, uintptr_t index) {
    return index < usable(pool) && (life_of(pool, index) & 1);
}

static const char *name_of(const kolk_shared *pool) {
    return pool->name ? pool->name : "";
}

/* ---- Memory: one block (room.h) of these regions ------------------------------------------------------------------------- */

enum { SLOTS, LIVES, WORDS, SUMMARY, MAGAZINES, REGIONS };

static void measure(const kolk_shared *pool, uint32_t slots, uint64_t sizes[REGIONS]) {
    uint64_t words = kolk_bits_words((uint64_t)slots << (6 - pool->word_shift));
    sizes[SLOTS] = (uint64_t)slots * pool->stride;
    sizes[LIVES] = (uint64_t)slots * (pool->no_handles ? 1 : 4);
    sizes[WORDS] = words * 8;
    sizes[SUMMARY] = kolk_bits_words(words) * 8;
    sizes[MAGAZINES] = pool->max_threads * (uint64_t)pool->magazine_size;
    for (unsigned r = 0; r < REGIONS; r++) sizes[r] = round_up(sizes[r], LINE); /* the block begins with a line */
}

static uint64_t bytes_of(const void *pool, uint32_t slots, uint64_t unit) {
    uint64_t sizes[REGIONS];
    measure((const kolk_shared *)pool, slots, sizes);
    return kolk_room_bytes(sizes, REGIONS, unit);
}

static bool commit(const kolk_shared *pool, uint32_t slots) {
    uint64_t sizes[REGIONS];
    void *lives = pool->no_handles ? (void *)pool->short_lives : pool->lives;
    void *starts[REGIONS] = {pool->slots, lives, pool->words, pool->summary, pool->magazines};
    measure(pool, slots, sizes);
    return pool->memory != MEMORY_GROWS || kolk_room_commit(starts, sizes, REGIONS);
}

/* A ring's length, a power of two with room for the cache, less 1. */
static uint32_t mask_of(uint32_t cache) {
    uint32_t length = 1;
    while (length < cache) length *= 2;
    return length - 1;
}

/* ---- Home and away ----------------------------------------------------------------------------------------------------- */

/* Brings slots of one word home. Both orders: with the exchange in take_word. If that came before, so did the clearing of the
 * bit in the summary, and the load sees it; if it comes later, it takes what was brought. That the word was not empty says
 * nothing about the summary: who brought to it before may not have come to that yet. */
static void bring(kolk_shared *pool, uint32_t word, uint64_t bits) {
    uint64_t bit = kolk_bits_at(word);
    kolk_fetch_or(&pool->words[word], bits, KOLK_ACQ_REL);
    if (!(kolk_load(&pool->summary[word / 64], KOLK_RELAXED) & bit))
        kolk_fetch_or(&pool->summary[word / 64], bit, KOLK_RELAXED);
}

/* Brings the n oldest home. They stay in the magazine meanwhile: see fetch. */
static void bring_oldest(kolk_shared *pool, kolk_magazine *magazine, uint32_t n) {
    uint32_t bottom = magazine->bottom, end = bottom + n;
    while (bottom != end) {
        uint32_t word = magazine->entries[bottom & magazine->mask] >> pool->word_shift;
        uint64_t bits = 0;
        for (; bottom != end; bottom++) {
            uint32_t index = magazine->entries[bottom & magazine->mask];
            if (index >> pool->word_shift != word) break;
            bits |= UINT64_C(1) << (index & (word_bits(pool) - 1));
        }
        bring(pool, word, bits);
    }
    if (n) kolk_fetch_add(&pool->returns, 1, KOLK_SEQ_CST); /* partner: fetch */
    kolk_store(&magazine->bottom, end, KOLK_RELAXED);
}

/* Fills an empty magazine with slots of one word, so that the lowest is the next. */
static void fill(const kolk_shared *pool, kolk_magazine *magazine, uint32_t word, uint64_t bits) {
    uint32_t first = word << pool->word_shift, n = (uint32_t)__builtin_popcountll(bits);
    for (uint32_t at = magazine->top + n; bits; bits &= bits - 1)
        magazine->entries[--at & magazine->mask] = first + kolk_bits_lowest(bits);
    kolk_store(&magazine->top, magazine->top + n, KOLK_RELAXED);
}

static bool take_word(kolk_shared *pool, kolk_magazine *magazine, uint32_t word) {
    kolk_fetch_and(&pool->summary[word / 64], ~kolk_bits_at(word), KOLK_RELAXED);
    uint64_t bits = kolk_exchange(&pool->words[word], 0, KOLK_ACQ_REL); /* partner: bring */
    if (!bits) return false;
    fill(pool, magazine, word, bits);
    magazine->place = word;
    return true;
}

/* Looks for a word from where one was found last, and all round. */
static bool take_any_word(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t fresh = kolk_load(&pool->fresh, KOLK_RELAXED);
    uint32_t n = (uint32_t)kolk_bits_words(kolk_bits_words((uint64_t)fresh << (6 - pool->word_shift)));
    uint32_t at = magazine->place / 64 < n ? magazine->place / 64 : 0;
    uint64_t first = ~UINT64_C(0) << magazine->place % 64;
    for (uint32_t looked = 0; looked <= n && n; looked++, at = at + 1 < n ? at + 1 : 0) {
        uint64_t bits = kolk_load(&pool->summary[at], KOLK_RELAXED);
        if (looked == 0) bits &= first;
        for (; bits; bits &= bits - 1)
            if (take_word(pool, magazine, at * 64 + kolk_bits_lowest(bits))) return true;
    }
    return false;
}

/* Commits more slots; true if there are more now. */
static KOLK_APART bool grow(kolk_shared *pool, uint32_t before) {
    uint32_t all = pool->max_capacity + pool->slack;
    if (before == all) return false;
    kolk_lock_word(&pool->lock);
    uint32_t now = pool->usable, wish = kolk_room_wish(now, all, pool->stride);
    if (now == before && commit(pool, wish)) {
        PROBE3(grow, name_of(pool), now, wish);
        kolk_store(&pool->usable, wish, KOLK_RELEASE); /* partner: usable */
        now = wish;
    }
    kolk_unlock_word(&pool->lock);
    return now != before;
}

/* Takes slots that were never handed out: as many as a word has, and of one word. */
static bool take_fresh(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t fresh = kolk_load(&pool->fresh, KOLK_ACQUIRE), end, n; /* partner: below, so that usable is no older */
    do {
        while (fresh == (end = usable(pool)))
            if (!grow(pool, end)) return false;
        uint32_t in_word = word_bits(pool) - (fresh & (word_bits(pool) - 1));
        n = end - fresh < in_word ? end - fresh : in_word;
    } while (!kolk_compare_exchange_weak(&pool->fresh, &fresh, fresh + n, KOLK_ACQ_REL, KOLK_ACQUIRE));
    uint64_t bits = (n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << (fresh & (word_bits(pool) - 1));
    fill(pool, magazine, fresh >> pool->word_shift, bits);
    magazine->bound = pool->exact ? 0 : end;
    return true;
}

/* Free slots for an empty magazine. False: at one moment since the call, none was at home. Each word was seen empty; if
 * nobody has ended bringing slots home meanwhile, what is in them at the end is of those who have begun, and still counts as
 * theirs. */
static bool fetch(kolk_shared *pool, kolk_magazine *magazine) {
    for (;;) {
        uint32_t returns = kolk_load(&pool->returns, KOLK_ACQUIRE); /* an old one is not that of the end */
        if (take_any_word(pool, magazine) || take_fresh(pool, magazine)) return true;
        if (kolk_load(&pool->returns, KOLK_SEQ_CST) == returns) return false;
    }
}

/* ---- Reports ------------------------------------------------------------------------------------------------------------- */

static void fail_object(const kolk_shared *pool, const void *object, const char *verb, kolk_status if_dead,
                        const void *site) {
    uint64_t offset = (uintptr_t)object - (uintptr_t)pool->slots;
    bool inside = offset < (uint64_t)usable(pool) * pool->stride;
    uint64_t slot = inside ? offset / pool->stride : NO_SLOT, byte = inside ? offset % pool->stride : 0;
    kolk_failure failure = {.rule = KOLK_FOREIGN_POINTER,
                            .pool = name_of(pool),
                            .object = object,
                            .slot = (uint32_t)slot,
                            .site = site,
                            .no_debug = true};
    if (!inside) {
        kolk_fail(failure, object ? "%s of a pointer that is not of this pool" : "%s of NULL", verb);
    } else if (byte) {
        failure.rule = KOLK_INTERIOR_POINTER;
        kolk_fail(failure, "%s of a pointer into slot %u, at byte %u of it", verb, slot, byte);
    } else if (life_of(pool, (uintptr_t)slot) == 0 && (pool->lives || slot >= kolk_load(&pool->fresh, KOLK_RELAXED))) {
        failure.rule = KOLK_NEVER_ISSUED;
        kolk_fail(failure, "%s of slot %u, which was never handed out", verb, slot);
    } else {
        failure.rule = if_dead;
        kolk_fail(failure, if_dead == KOLK_DOUBLE_FREE ? "double %s of slot %u" : "%s of slot %u, which is free", verb,
                  slot);
    }
}

/* ---- Objects --------------------------------------------------------------------------------------------------------------- */

void *kolk_local_alloc_slow(kolk_local *local) {
    kolk_shared *pool = local->pool;
    if (!fetch(pool, local->magazine)) {
        kolk_store(&local->magazine->failed, local->magazine->failed + 1, KOLK_RELAXED); /* partner: its statistics */
        PROBE2(full, name_of(pool), pool->capacity);
        return NULL;
    }
    return kolk_local_alloc(local);
}

/* Ends the life in a slot; false if there is none, or if another thread was first. */
static bool end_life(const kolk_shared *pool, uintptr_t index) {
    uint32_t life = life_of(pool, index);
    if (!(life & 1)) return false;
    uint8_t short_life = (uint8_t)life;
    if (pool->lives) return kolk_compare_exchange(&pool->lives[index], &life, life + 1, KOLK_RELAXED, KOLK_RELAXED);
    return kolk_compare_exchange(&pool->short_lives[index], &short_life, (uint8_t)(short_life + 1), KOLK_RELAXED,
                                 KOLK_RELAXED);
}

void kolk_local_free_slow(kolk_local *local, void *object) {
    kolk_shared *pool = local->pool;
    kolk_magazine *magazine = local->magazine;
    if (!object) return;
    uintptr_t index = slot_of(pool, object);
    uint32_t end = usable(pool);
    bool is_full = magazine->top - magazine->bottom == magazine->cache;
    if (!pool->exact) magazine->bound = end;
    if (is_full)
        bring_oldest(pool, magazine, (magazine->cache + 1) / 2); /* first: a thread has never more than cache */
    if (index >= end || !end_life(pool, index)) {
        fail_object(pool, object, "free", KOLK_DOUBLE_FREE, SITE);
        return;
    }
    magazine->entries[magazine->top & magazine->mask] = (uint32_t)index;
    kolk_store(&magazine->top, magazine->top + 1, KOLK_RELAXED);
}

/* ---- Handles and questions --------------------------------------------------------------------------------------------------- */

kolk_handle kolk_shared_handle(const kolk_shared *pool, const void *object) {
    kolk_handle handle = {0};
    uintptr_t index = slot_of(pool, object);
    uint32_t life = index < usable(pool) ? life_of(pool, index) : 0;
    if (pool->lives && (life & 1)) {
        handle.bits = (uint64_t)life << 32 | ((uint32_t)index ^ pool->tag);
    } else if (!pool->lives && pool->short_lives) {
        kolk_failure failure = {.rule = KOLK_NO_HANDLES, .pool = name_of(pool), .slot = NO_SLOT, .no_debug = true};
        failure.site = SITE;
        kolk_fail(failure, "handle of a pool without handles: .no_handles");
    } else {
        fail_object(pool, object, "handle", KOLK_DEAD_OBJECT, SITE);
    }
    return handle;
}

void *kolk_shared_get_slow(const kolk_shared *pool, kolk_handle handle) {
    uint32_t index = (uint32_t)handle.bits ^ pool->tag;
    if (!kolk_handle_is_null(handle) && kolk_is_of_another(index, pool->max_capacity + pool->slack))
        kolk_count_one(&pool->wrong_pool);
    PROBE2(stale_handle, name_of(pool), handle.bits);
    return NULL;
}

bool kolk_shared_is_live(const kolk_shared *pool, const void *object) {
    return is_alive(pool, slot_of(pool, object));
}

void *kolk_shared_next(const kolk_shared *pool, const void *object) {
    uintptr_t index = object ? slot_of(pool, object) : 0;
    uint32_t end = kolk_load(&pool->fresh, KOLK_ACQUIRE);
    if (object && index++ >= end) {
        fail_object(pool, object, "next", KOLK_DEAD_OBJECT, SITE);
        return NULL;
    }
    for (; index < end; index++)
        if (life_of(pool, index) & 1) return object_at(pool, index);
    return NULL;
}

/* Free slots below fresh: at home, and in magazines. */
static uint64_t count_free(const kolk_shared *pool, uint32_t fresh) {
    uint64_t words = kolk_bits_words((uint64_t)fresh << (6 - pool->word_shift)), count = 0;
    for (uint64_t i = 0; i < words; i++)
        count += (uint64_t)__builtin_popcountll(kolk_load(&pool->words[i], KOLK_RELAXED));
    for (uint32_t n = 0; n < pool->max_threads; n++) {
        const kolk_magazine *magazine = magazine_at(pool, n);
        count += kolk_load(&magazine->top, KOLK_RELAXED) - kolk_load(&magazine->bottom, KOLK_RELAXED);
    }
    return count;
}

uint32_t kolk_shared_count(const kolk_shared *pool) {
    uint32_t fresh = kolk_load(&pool->fresh, KOLK_RELAXED);
    uint64_t free = count_free(pool, fresh);
    return free < fresh ? (uint32_t)(fresh - free) : 0;
}

/* ---- Locals ------------------------------------------------------------------------------------------------------------------- */

kolk_status kolk_local_init(kolk_local *local, kolk_shared *pool) {
    *local = (kolk_local){NULL, NULL};
    kolk_lock_word(&pool->lock);
    uint32_t n = 0;
    while (n < pool->max_threads && magazine_at(pool, n)->taken) n++;
    if (n < pool->max_threads) {
        kolk_magazine *magazine = magazine_at(pool, n);
        magazine->taken = true;
        magazine->slots = pool->slots;
        magazine->lives = pool->lives;
        magazine->short_lives = pool->short_lives;
        magazine->inverse = pool->inverse;
        magazine->stride = pool->stride;
        magazine->shift = pool->shift;
        magazine->mask = mask_of(pool->cache);
        magazine->cache = pool->cache;
        magazine->bound = pool->exact ? 0 : pool->usable;
        magazine->entries = (uint32_t *)(void *)(magazine + 1);
        magazine->place = n * 64 / pool->max_threads; /* apart from the others' */
        *local = (kolk_local){magazine, pool};
    }
    kolk_unlock_word(&pool->lock);
    return local->pool ? KOLK_OK : KOLK_TOO_MANY_THREADS;
}

void kolk_local_flush(kolk_local *local) {
    kolk_magazine *magazine = local->magazine;
    if (magazine) bring_oldest(local->pool, magazine, magazine->top - magazine->bottom);
}

void kolk_local_deinit(kolk_local *local) {
    if (!local->pool) return;
    kolk_local_flush(local);
    kolk_lock_word(&local->pool->lock);
    local->magazine->taken = false;
    kolk_unlock_word(&local->pool->lock);
    *local = (kolk_local){NULL, NULL};
}

/* ---- Life --------------------------------------------------------------------------------------------------------------------- */

void kolk_shared_stats(const kolk_shared *pool, kolk_stats *out) {
    uint32_t fresh = kolk_load(&pool->fresh, KOLK_RELAXED), end = usable(pool);
    uint64_t free = count_free(pool, fresh), sizes[REGIONS], failed = 0;
    for (uint32_t n = 0; n < pool->max_threads; n++) failed += kolk_load(&magazine_at(pool, n)->failed, KOLK_RELAXED);
    measure(pool, end, sizes);
    *out = (kolk_stats){
        .name = name_of(pool),
        .kind = "shared",
        .object_size = pool->object_size,
        .stride = pool->stride,
        .count = free < fresh ? (uint32_t)(fresh - free) : 0,
        .peak = fresh,
        .capacity = end,
        .max_capacity = pool->max_capacity + pool->slack,
        .unused_bytes = (uint64_t)(end - fresh) * pool->stride,
        .bytes_reserved = pool->block_size,
        .bytes_committed =
            pool->memory == MEMORY_GROWS ? kolk_room_bytes(sizes, REGIONS, kolk_memory_page()) : pool->block_size,
        .failed = failed,
        .wrong_pool = kolk_load(&pool->wrong_pool, KOLK_RELAXED),
    };
    kolk_tools_wrote(out, sizeof *out);
}

static void list_stats(const void *pool, kolk_stats *out) {
    kolk_shared_stats((const kolk_shared *)pool, out);
}

/* Fills in what the descriptor leaves out; the pool has its shape then. */
static kolk_status shape(kolk_shared *pool, const kolk_shared_desc *desc, size_t size, size_t align) {
    uint32_t max = desc->max_capacity ? desc->max_capacity : desc->capacity;
    if (max < desc->capacity) return KOLK_MAX_BELOW_CAPACITY;
    uint32_t threads = desc->max_threads ? desc->max_threads : DEFAULT_THREADS, others = threads - 1;
    uint32_t least = others && max / 4 / others < DEFAULT_CACHE ? max / 4 / others : DEFAULT_CACHE;
    uint32_t cache = desc->cache ? desc->cache : least ? least : 1;
    uint64_t slack = (uint64_t)others * cache;
    if (max + slack >= UINT32_MAX || cache > MAX_CACHE) return KOLK_SIZE_OVERFLOW;
    pool->object_size = (uint32_t)size;
    pool->stride = (uint32_t)round_up(size, align);
    pool->shift = (uint8_t)__builtin_ctz(pool->stride);
    pool->inverse = kolk_inverse(pool->stride >> pool->shift);
    pool->capacity = desc->capacity;
    pool->max_capacity = max;
    pool->slack = max ? (uint32_t)slack : 0;
    pool->max_threads = threads;
    pool->cache = cache;
    pool->word_shift = (uint8_t)(31 - __builtin_clz(cache < 64 ? cache : 64));
    pool->magazine_size = (size_t)round_up(sizeof(kolk_magazine) + (mask_of(cache) + 1) * sizeof(uint32_t), LINE);
    pool->no_handles = desc->no_handles;
    pool->exact = desc->exact;
    pool->name = desc->name;
    pool->tag = kolk_tag_bits(desc->tag, desc->name);
    return KOLK_OK;
}

static kolk_status make(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size, size_t type_align) {
    size_t size = desc->object_size, align = desc->object_align;
    kolk_status status = kolk_room_settle_size(&size, &align, type_size, type_align);
    if (status == KOLK_OK) status = shape(pool, desc, size, align);
    if (status != KOLK_OK) return status;
    uint32_t all = pool->max_capacity + pool->slack, first = desc->capacity + (desc->capacity ? pool->slack : 0);
    kolk_room room = {.object_align = align, .capacity = first, .max_capacity = all};
    status = kolk_room_settle(&room, bytes_of, pool);
    if (status != KOLK_OK) return status;
    uint64_t sizes[REGIONS];
    void *starts[REGIONS];
    measure(pool, all, sizes);
    bool made = kolk_room_make(&room, sizes, REGIONS, starts);
    pool->block = room.block;
    pool->block_size = room.block_size;
    pool->memory = room.kind;
    pool->usable = room.kind == MEMORY_GROWS ? first : all;
    pool->slots = (unsigned char *)starts[SLOTS];
    if (made && pool->no_handles) pool->short_lives = (uint8_t *)starts[LIVES];
    if (made && !pool->no_handles) pool->lives = (uint32_t *)starts[LIVES];
    pool->words = (uint64_t *)starts[WORDS];
    pool->summary = (uint64_t *)starts[SUMMARY];
    pool->magazines = (unsigned char *)starts[MAGAZINES];
    if (made && commit(pool, pool->usable)) return KOLK_OK;
    kolk_room_end(&room);
    return KOLK_NO_MEMORY;
}

kolk_status kolk_shared_init_type(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size, size_t type_align,
                                  size_t pool_size, uint32_t abi) {
    static const kolk_kind kind = {list_stats, NULL, NULL};
    memset(pool, 0, pool_size);
    if (abi != KOLK_ABI || pool_size != sizeof *pool) return KOLK_WRONG_ABI;
    if (!desc) return KOLK_NO_DESCRIPTOR;
    kolk_status status = make(pool, desc, type_size, type_align);
    if (status != KOLK_OK) {
        memset(pool, 0, sizeof *pool);
        return status;
    }
    kolk_tools_wrote(pool, sizeof *pool);
    kolk_registry_add(pool, &pool->number, &kind);
    return KOLK_OK;
}

void kolk_shared_deinit(kolk_shared *pool) {
    kolk_registry_remove(pool->number);
    kolk_room room = {.block = pool->block, .block_size = pool->block_size, .kind = pool->memory};
    if (pool->block) kolk_room_end(&room);
    memset(pool, 0, sizeof *pool);
}

/* ---- Validity -------------------------------------------------------------------------------------------------------------------- */

bool kolk_shared_is_valid(const kolk_shared *pool) {
    uint32_t fresh = pool->fresh, bits = word_bits(pool);
    if (fresh > pool->usable || pool->usable > pool->max_capacity + pool->slack) return false; /* I1 */
    uint64_t all = 0, found = 0, count = 0;
    for (uint32_t i = 0; i < fresh; i++) {
        bool alive = life_of(pool, i) & 1;
        all += kolk_mixed(i);
        found += alive ? kolk_mixed(i) : 0;
        count += alive;
    }
    for (uint32_t i = fresh; i < pool->usable; i++)
        if (life_of(pool, i)) return false; /* I2 */
    uint64_t words = kolk_bits_words((uint64_t)pool->usable << (6 - pool->word_shift));
    for (uint64_t word = 0; word < words; word++) {
        if (pool->words[word] && !kolk_bits_get(pool->summary, word)) return false; /* I3 */
        for (uint64_t left = pool->words[word]; left; left &= left - 1, count++) {
            uint64_t slot = word * bits + kolk_bits_lowest(left);
            if (kolk_bits_lowest(left) >= bits || slot >= fresh) return false; /* I2 */
            found += kolk_mixed(slot);
        }
    }
    for (uint32_t n = 0; n < pool->max_threads; n++) {
        const kolk_magazine *magazine = magazine_at(pool, n);
        if (magazine->top - magazine->bottom > pool->cache) return false; /* I4 */
        for (uint32_t at = magazine->bottom; at != magazine->top; at++, count++) {
            uint32_t slot = magazine->entries[at & magazine->mask];
            if (slot >= fresh) return false; /* I2 */
            found += kolk_mixed(slot);
        }
    }
    return count == fresh && found == all && (pool->cache == 0 || bits <= pool->cache); /* I2, I4 */
}

#else

typedef int kolk_shared_is_empty_here; /* a translation unit may not be */

#endif
