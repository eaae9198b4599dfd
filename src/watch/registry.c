/* registry.c: see registry.h.
 *
 *     entries   | pool 1 | pool 2 | (free) | pool 4 | .... used | (reserved, not committed) |
 *
 * A pool's number contains the place of its entry, so adding and removing take a few instructions under the lock. Free
 * entries are in a list and are reused, so the array is as long as the greatest number of pools that ever existed at
 * the same time. The upper bits of a number count the pools that the entry has had, so a copy of a pool that is gone is
 * not mistaken for the entry's next pool.
 *
 * The struct of a pool belongs to the user. When the registry reads it, it may have been moved, or may lie in freed
 * memory or in the stack frame of a function that has returned. So statistics are read from a copy that the system has
 * made (kolk_peek_), and only if the copy has the facts that the struct had when it was added.
 *
 *     I1  an entry whose pool is NULL is free and in the list that `free` starts; all others were added and not removed
 *     I2  a struct whose kind has facts is read only by kolk_peek_, except in calls that the user makes with it
 *     I3  the lock is not held while a handler of the user runs
 *     I4  each entry that is not free is in the list of by_address that the address of its pool selects */
#include "registry.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../base/hash.h"
#include "../core/probes.h"
#include "../core/tools.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/peek.h"
#include "debug.h"
#include "kolk/ipc.h"

#include <string.h>

#ifndef __EMSCRIPTEN__
#define REGISTRY_BYTES ((size_t)1 << 24) /* room for about 190,000 pools at a time; 230,000 on 32 bits */
#else
#define REGISTRY_BYTES ((size_t)1 << 18) /* there a reservation takes real memory, from a heap of 16 MiB */
#endif
#define PLACE_BITS 20u  /* the low bits of a number: the place of its entry + 1 */
#define LISTS      512u /* of by_address at first; their number doubles as pools are added */
#define TRIES      3u   /* attempts to read statistics that another thread changes */

typedef struct entry {
    uintptr_t pool;   /* the pool's address; 0 if the entry is free */
    const char *born; /* the scene in which it was added; "" outside of scenes */
    uintptr_t facts;
    union {
        const kolk_kind_ *kind;
        uint32_t next_free; /* a place + 1; 0 ends the list */
    };
    uint32_t number;         /* the number of the pool, or of the last one in this entry */
    uint32_t before, behind; /* neighbours in a list of by_address: places + 1; 0 for none */
    kolk_noted_ noted;       /* its count is not used */
} entry;

typedef struct pool_copy {
    KOLK_ALIGNAS(16) unsigned char bytes[KOLK_LARGEST_STRUCT_];
} pool_copy;

static uint32_t first_lists[LISTS];

static struct {
    kolk_beacon_ beacon;
    entry *entries;
    size_t committed; /* bytes */
    uint32_t used;    /* the number of entries that were ever taken */
    uint32_t free;    /* the place + 1 of the first free entry, 0 if there is none */
    kolk_keep_ *keep; /* NULL if the statistics of ended pools are not kept */
    const char *scene;
    uint32_t debug;       /* the flags of all pools that ever existed */
    uint32_t *by_address; /* the place + 1 of the first entry of each list */
    uint32_t lists;       /* their number, a power of two */
} registry = {.beacon = {.magic = KOLK_BEACON_MAGIC_,
                         .self = &registry.beacon,
                         .version = KOLK_BEACON_VERSION_,
                         .abi = KOLK_ABI,
                         .library = KOLK_VERSION,
                         .entries = &registry.entries,
                         .used = &registry.used,
                         .entry_size = sizeof(entry),
                         .pool_at = offsetof(entry, pool),
                         .kind_at = offsetof(entry, kind),
                         .facts_at = offsetof(entry, facts),
                         .name_at = offsetof(entry, noted.name)},
              .scene = "",
              .by_address = first_lists,
              .lists = LISTS};

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* Commits memory for one more entry at the end. */
static bool extend_entries(void) {
    size_t needed = (registry.used + (size_t)1) * sizeof(entry);
    if (needed <= registry.committed) return true;
    if (!registry.entries) registry.entries = kolk_memory_reserve_(REGISTRY_BYTES);
    size_t page = kolk_memory_page_();
    if (!registry.entries || registry.committed + page > REGISTRY_BYTES) return false;
    if (!kolk_memory_commit_((char *)registry.entries + registry.committed, page)) return false;
    registry.committed += page;
    return true;
}

/* Returns a free entry, or NULL. */
static entry *take_entry(void) {
    uint32_t place = registry.free;
    if (place) {
        entry *at = &registry.entries[place - 1];
        KOLK_ASSERT_(place <= registry.used && !at->pool); /* I1 */
        registry.free = at->next_free;
        return at;
    }
    if (!extend_entries()) return NULL;
    /* kolk_registry_is_home_ may read it at any time. The builtin is used because the lock is held: scheduled tests
     * need not switch threads here. */
    kolk_raw_store_(&registry.used, registry.used + 1, KOLK_RELAXED_);
    return &registry.entries[registry.used - 1];
}

static uint32_t *list_of(uintptr_t address) {
    return &registry.by_address[kolk_mixed_(address) % registry.lists];
}

static void link_entry(entry *at) {
    uint32_t *first = list_of(at->pool), place = (uint32_t)(at - registry.entries) + 1;
    at->before = 0;
    at->behind = *first;
    if (*first) registry.entries[*first - 1].before = place;
    *first = place;
}

static void unlink_entry(const entry *at) {
    if (at->before)
        registry.entries[at->before - 1].behind = at->behind;
    else
        *list_of(at->pool) = at->behind;
    if (at->behind) registry.entries[at->behind - 1].before = at->before;
}

/* Doubles the number of lists, if there are too few. Without memory it stays as it is. */
static void have_registry_lists(void) {
    uint32_t *old = registry.by_address, before = registry.lists;
    if (registry.used < 2 * before) return;
    size_t size = 2 * before * sizeof *old;
    uint32_t *lists = (uint32_t *)kolk_memory_take_(size, size);
    if (!lists) return;
    registry.by_address = lists;
    registry.lists = 2 * before;
    for (uint32_t i = 0; i < registry.used; i++)
        if (registry.entries[i].pool) link_entry(&registry.entries[i]);
    if (old != first_lists) kolk_memory_release_(old, before * sizeof *old);
}

static void set_pool(entry *at, uintptr_t pool) {
    kolk_raw_store_(&at->pool, pool, KOLK_RELAXED_); /* may be read at any time, like `used` */
}

static void free_entry(entry *at) {
    unlink_entry(at);
    set_pool(at, 0);
    at->next_free = registry.free; /* I1 */
    registry.free = (uint32_t)(at - registry.entries) + 1;
}

/* Returns the entry of a number; NULL if no living pool has this number. */
static entry *entry_of(uint32_t number) {
    uint32_t place = number & ((UINT32_C(1) << PLACE_BITS) - 1);
    if (place == 0 || place > registry.used) return NULL;
    entry *at = &registry.entries[place - 1];
    return at->pool && at->number == number ? at : NULL;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

/* Returns the struct of a pool or a copy of it, or NULL if its storage is gone (I2). */
static const void *look_at_entry(const entry *at, pool_copy *space) {
    const void *pool = (const void *)at->pool;
    if (!pool || !at->kind->facts) return pool;
    KOLK_ASSERT_(at->kind->size <= sizeof *space);
    if (!kolk_peek_(space, pool, at->kind->size)) return NULL;
    kolk_tools_wrote_(space, at->kind->size);
    return at->kind->facts(space) == at->facts ? space : NULL;
}

/* Does the pool still exist? Tries again, because another thread may change the struct while it is copied. */
static bool is_there(const entry *at) {
    pool_copy space;
    bool found = false;
    for (unsigned n = 0; n < TRIES && !found; n++) found = look_at_entry(at, &space);
    return found;
}

/* Are these statistics possible? The struct may have been overwritten in part. */
static bool are_possible(const kolk_stats *stats) {
    if (stats->max_capacity == 0) return true; /* heaps have no max_capacity */
    return stats->count <= stats->capacity && stats->peak <= stats->capacity && stats->capacity <= stats->max_capacity;
}

static void ask_kind(const kolk_kind_ *kind, const void *pool, kolk_record_ *out) {
    *out = (kolk_record_){.extra = kind->extra};
    kind->stats(pool, &out->stats);
    if (kind->extra) out->more = (void *)(uintptr_t)kind->extra->of(pool);
}

/* Returns whether processes hold objects of the pool. */
static bool ask_holders(const kolk_kind_ *kind, const void *pool, uint32_t alive, kolk_places_ *out) {
    kolk_ipc_holder most[KOLK_HOLDERS_];
    return kind->holders && kolk_places_of_holders_(most, kind->holders(pool, most, KOLK_HOLDERS_), alive, out);
}

/* Returns whether the pool has live objects whose places are known. Those of a heap's class are listed for the heap. */
static bool ask_places(const kolk_kind_ *kind, const void *pool, kolk_places_ *out) {
    kolk_place_counts_ counts = {0};
    uint32_t end = 0;
    bool more = kind->part != NULL;
    if (kind->id == KOLK_KIND_HEAP_CLASS_) return false;
    const kolk_debug *debug = kind->debug ? kind->debug(pool, &end) : NULL;
    kolk_debug_places_(debug, end, &counts);
    if (kind->borrowed) kind->borrowed(pool, kolk_places_count_, &counts);
    for (uint32_t n = 0; more; n++) {
        debug = kind->part(pool, n, &end, &more);
        kolk_debug_places_(debug, end, &counts);
    }
    return kolk_places_end_(&counts, out);
}

/* Gets the statistics of a pool; returns false if the pool no longer exists. With `places`, also gets the places of its
 * live objects, to which the record then points. */
static bool ask_entry(const entry *at, kolk_record_ *out, kolk_places_ *places) {
    pool_copy space;
    for (unsigned n = 0; n < TRIES; n++) {
        const void *pool = look_at_entry(at, &space);
        if (!pool) continue;
        ask_kind(at->kind, pool, out);
        if (pool == &space && !are_possible(&out->stats)) continue;
        const kolk_stats *stats = &out->stats;
        if (places && (ask_holders(at->kind, pool, stats->count, places) ||
                       (stats->debug & KOLK_DEBUG_SITES && ask_places(at->kind, pool, places))))
            out->places = places;
        return true;
    }
    return false;
}

/* The same, but only for a pool that was added with a name and still has it. */
static bool ask_named(const entry *at, kolk_record_ *out, kolk_places_ *places) {
    return *at->noted.name && ask_entry(at, out, places) && *out->stats.name;
}

static void note_name(entry *at, const char *name) {
    at->noted.name[0] = 0;
    strncat(at->noted.name, name, sizeof at->noted.name - 1);
}

/* The entry of the pool at an address, or NULL. */
static entry *entry_at(const void *pool) {
    uint32_t place = *list_of((uintptr_t)pool);
    while (place && registry.entries[place - 1].pool != (uintptr_t)pool) place = registry.entries[place - 1].behind;
    return place ? &registry.entries[place - 1] : NULL;
}

/* The caller holds the lock. */
static void add_entry(const void *pool, uint32_t *number, const kolk_kind_ *kind, const kolk_stats *now) {
    have_registry_lists();
    entry *at = kind->id == KOLK_KIND_TRAY_ ? entry_at(pool) : NULL; /* of a heap that was forgotten in this memory */
    if (at) free_entry(at);
    at = take_entry();
    if (!at) return;
    uint32_t place = (uint32_t)(at - registry.entries) + 1, life = (at->number >> PLACE_BITS) + 1;
    at->number = *number = life << PLACE_BITS | place;
    at->born = registry.scene;
    at->kind = kind;
    at->facts = kind->facts ? kind->facts(pool) : 0;
    registry.debug |= now->debug;
    at->noted = (kolk_noted_){.debug = now->debug};
    note_name(at, now->name);
    set_pool(at, (uintptr_t)pool);
    link_entry(at);
    if (*at->noted.name) PROBE2(init, at->noted.name, now->kind);
}

void kolk_registry_add_(const void *pool, uint32_t *number, const kolk_kind_ *kind, bool tries) {
    kolk_stats now;
    *number = 0;
    kind->stats(pool, &now);
    if (!tries)
        kolk_lock_();
    else if (!kolk_lock_unless_forking_())
        return;
    add_entry(pool, number, kind, &now);
    kolk_unlock_();
}

void kolk_registry_remove_(uint32_t number) {
    if (number == 0) return;
    kolk_lock_();
    entry *at = entry_of(number);
    kolk_record_ last;
    if (at && *at->noted.name) PROBE1(deinit, at->noted.name);
    if (at && registry.keep && *at->noted.name) {
        ask_kind(at->kind, (const void *)at->pool, &last); /* the caller passed this pool, so it exists */
        if (*last.stats.name) registry.keep(&last, at->kind, at->born, KOLK_RECORD_ENDED_);
    }
    if (at) free_entry(at);
    kolk_unlock_();
}

void kolk_registry_rename_(uint32_t number, const char *name, kolk_debug *debug) {
    if (debug) debug->desc.name = name ? name : "";
    kolk_lock_();
    entry *at = entry_of(number);
    if (at) note_name(at, name ? name : "");
    if (at && at->kind->facts) at->facts = at->kind->facts((const void *)at->pool); /* the caller passed this pool */
    kolk_unlock_();
}

/* Copies what the registry has noted, and adds the number of live objects if the pool can still be read. */
static void note_entry(const entry *at, kolk_noted_ *noted) {
    kolk_record_ now;
    *noted = at->noted;
    noted->count = ask_entry(at, &now, NULL) ? now.stats.count : UINT32_MAX;
}

bool kolk_registry_evict_(const void *pool, kolk_noted_ *noted) {
    kolk_lock_();
    entry *at = entry_at(pool);
    if (at) {
        note_entry(at, noted);
        free_entry(at);
    }
    kolk_unlock_();
    return at != NULL;
}

bool kolk_registry_is_home_(const void *pool, uint32_t number) {
    uint32_t place = number & ((UINT32_C(1) << PLACE_BITS) - 1);
    if (number == 0) return true;
    if (place == 0 || place > kolk_load_(&registry.used, KOLK_RELAXED_)) return false;
    return kolk_load_(&registry.entries[place - 1].pool, KOLK_RELAXED_) == (uintptr_t)pool;
}

bool kolk_registry_rehome_(const void *pool, uint32_t number, kolk_noted_ *noted) {
    kolk_lock_();
    entry *at = entry_of(number);
    bool moved = at && at->kind->facts && at->kind->facts(pool) == at->facts;
    if (moved) {
        unlink_entry(at);
        set_pool(at, (uintptr_t)pool);
        link_entry(at);
        *noted = at->noted;
    }
    kolk_unlock_();
    return moved;
}

/* ---- All pools --------------------------------------------------------------------------------------------------- */

void kolk_registry_collect_(kolk_records_ *out) {
    kolk_record_ now;
    kolk_places_ places;
    kolk_lock_();
    for (uint32_t i = 0; i < registry.used; i++)
        if (ask_named(&registry.entries[i], &now, &places)) kolk_records_add_whole_(out, &now, KOLK_RECORD_ALONE_);
    kolk_unlock_();
}

bool kolk_registry_next_(kolk_listed_ *at, bool (*wants)(const kolk_listed_ *at)) {
    bool found = false;
    kolk_lock_();
    for (uint32_t i = at->place; i < registry.used && !found; i++) {
        const entry *next = &registry.entries[i];
        if (!next->pool) continue;
        *at = (kolk_listed_){(const void *)next->pool, next->kind, next->noted.name, next->noted.debug, i + 1};
        found = wants(at) && is_there(next);
    }
    kolk_unlock_();
    return found;
}

void kolk_registry_report_leaks_(const kolk_listed_ *at) {
    pool_copy space;
    kolk_lock_();
    const entry *its = &registry.entries[at->place - 1];
    const void *pool = (const void *)its->pool == at->pool ? look_at_entry(its, &space) : NULL;
    kolk_unlock_();
    if (!pool) return;
    if (at->kind->leaks) at->kind->leaks(pool);
    if (!at->kind->debug) return;
    uint32_t end;
    kolk_debug *debug = at->kind->debug(pool, &end);
    if (debug) kolk_debug_leaks_(debug, end);
}

bool kolk_registry_name_(uint32_t place, char name[KOLK_NAME_ROOM_]) {
    kolk_lock_();
    bool is_used = place < registry.used;
    if (is_used) memcpy(name, registry.entries[place].noted.name, sizeof registry.entries->noted.name);
    kolk_unlock_();
    return is_used;
}

bool kolk_registry_name_of_(uint32_t number, char name[KOLK_NAME_ROOM_]) {
    const entry *at = entry_of(number);
    if (at) memcpy(name, at->noted.name, sizeof at->noted.name);
    return at;
}

uint32_t kolk_registry_debug_(void) {
    return registry.debug;
}

bool kolk_registry_next_lost_(uint32_t *place, kolk_noted_ *noted) {
    bool found = false;
    kolk_lock_();
    for (; *place < registry.used && !found; (*place)++) {
        entry *at = &registry.entries[*place];
        if (!at->pool) continue;
        kolk_record_ now;
        if (ask_entry(at, &now, NULL)) continue;
        *noted = at->noted;
        noted->count = UINT32_MAX;
        free_entry(at);
        found = true;
    }
    kolk_unlock_();
    return found;
}

void kolk_registry_end_(void) {
    kolk_lock_();
    bool is_empty = true;
    for (uint32_t i = 0; i < registry.used; i++) is_empty &= !registry.entries[i].pool;
    if (is_empty && registry.entries) {
        kolk_raw_store_(&registry.used, 0, KOLK_RELAXED_);
        kolk_memory_release_(registry.entries, REGISTRY_BYTES);
        registry.entries = NULL;
        registry.committed = 0;
        registry.free = 0;
        if (registry.by_address != first_lists)
            kolk_memory_release_(registry.by_address, registry.lists * sizeof *registry.by_address);
        memset(first_lists, 0, sizeof first_lists); /* as it was before there were more */
        registry.by_address = first_lists;
        registry.lists = LISTS;
    }
    kolk_unlock_();
}

void kolk_registry_keep_(kolk_keep_ *keep) {
    registry.keep = keep;
}

void kolk_registry_keep_all_(void) {
    kolk_record_ last;
    kolk_places_ places;
    for (uint32_t i = 0; registry.keep && i < registry.used; i++)
        if (ask_named(&registry.entries[i], &last, &places))
            registry.keep(&last, registry.entries[i].kind, registry.entries[i].born, KOLK_RECORD_LIVING_);
}

void kolk_registry_enter_(const char *scene) {
    KOLK_ASSERT_(scene);
    registry.scene = scene;
}

#endif
