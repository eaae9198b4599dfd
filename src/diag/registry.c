/* registry.c: see registry.h.
 *
 *     entries   | pool 1 | pool 2 | (free) | pool 4 | .... used | (reserved, not committed) |
 *
 * A pool's number says where its entry is, so adding and removing take a few instructions under the lock. A free entry
 * waits in a list to be used again. So the array is as long as the most pools that there ever were at a time. Above the
 * place of its entry, a number has how many pools that entry has had: so a copy of a pool that is gone is not taken for
 * the next pool that its entry has.
 *
 * The struct of a pool is the user's. It may be on a stack frame that has returned, in memory that was freed, or
 * elsewhere by now. So whoever asks for statistics gets those of a copy, which the system made (kolk_peek), and which
 * has the facts that the struct had when it was listed.
 *
 *     I1  an entry whose pool is NULL is free and in the list from `free` on; all others were added and not removed
 *     I2  a struct with facts is only looked at by kolk_peek, but in calls that the user makes with it
 *     I3  the lock is not held while a handler of the user runs
 *     I4  each entry that is not free is in one of the lists by_address, by the address of its pool */
#include "registry.h"

#if KOLK_DIAGNOSTICS

#include "../core/assert.h"
#include "../core/atomics.h"
#include "../core/hash.h"
#include "../core/tools.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/peek.h"

#include <string.h>

#ifndef __EMSCRIPTEN__
#define REGISTRY_BYTES ((size_t)1 << 24) /* some 190,000 pools at a time; 230,000 on 32 bits */
#else
#define REGISTRY_BYTES ((size_t)1 << 18) /* what is reserved is memory there, of a heap that has 16 MiB */
#endif
#define PLACE_BITS 20u /* of a number: the place of its entry + 1 */
#define LISTS      512u
#define TRIES      3u /* of reading statistics that another thread changes */

typedef struct entry {
    uintptr_t pool;   /* its address; 0: free */
    const char *born; /* the scene in which it was added; "" in none */
    uintptr_t facts;
    union {
        const kolk_kind *kind;
        uint32_t next_free; /* a place + 1; 0 ends the list */
    };
    uint32_t number;         /* of the pool, or of the last one that was here */
    uint32_t before, behind; /* in the list by_address: places + 1; 0: none */
    kolk_noted noted;        /* its count says nothing */
} entry;

typedef union pool_copy {
    unsigned char bytes[KOLK_LARGEST_STRUCT];
    max_align_t aligned;
} pool_copy;

static struct {
    entry *entries;
    size_t committed; /* bytes */
    uint32_t used;    /* entries up to the last one that was ever taken */
    uint32_t free;    /* the place + 1 of the first free one of these, 0 if there is none */
    kolk_keep *keep;  /* NULL: the statistics of pools that go are lost */
    const char *scene;
    uint32_t debug;             /* flags of all pools that ever were */
    uint32_t by_address[LISTS]; /* the first entry of each list: a place + 1 */
} registry = {.scene = ""};

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* Makes room for one more entry at the end. */
static bool extend_entries(void) {
    size_t needed = (registry.used + (size_t)1) * sizeof(entry);
    if (needed <= registry.committed) return true;
    if (!registry.entries) registry.entries = kolk_memory_reserve(REGISTRY_BYTES);
    size_t page = kolk_memory_page();
    if (!registry.entries || registry.committed + page > REGISTRY_BYTES) return false;
    if (!kolk_memory_commit((char *)registry.entries + registry.committed, page)) return false;
    registry.committed += page;
    return true;
}

/* A free entry, or NULL. */
static entry *take_entry(void) {
    uint32_t place = registry.free;
    if (place) {
        entry *at = &registry.entries[place - 1];
        KOLK_ASSERT(place <= registry.used && !at->pool); /* I1 */
        registry.free = at->next_free;
        return at;
    }
    if (!extend_entries()) return NULL;
    /* kolk_registry_is_home reads it at any time. No point of a schedule, as the lock is held. */
    __atomic_store_n(&registry.used, registry.used + 1, __ATOMIC_RELAXED);
    return &registry.entries[registry.used - 1];
}

static uint32_t *list_of(uintptr_t address) {
    return &registry.by_address[kolk_mixed(address) % LISTS];
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

static void set_pool(entry *at, uintptr_t pool) {
    __atomic_store_n(&at->pool, pool, __ATOMIC_RELAXED); /* as `used` */
}

static void free_entry(entry *at) {
    unlink_entry(at);
    set_pool(at, 0);
    at->next_free = registry.free; /* I1 */
    registry.free = (uint32_t)(at - registry.entries) + 1;
}

/* The entry of a number, or NULL: another pool has it by now, or none. */
static entry *entry_of(uint32_t number) {
    uint32_t place = number & ((UINT32_C(1) << PLACE_BITS) - 1);
    if (place == 0 || place > registry.used) return NULL;
    entry *at = &registry.entries[place - 1];
    return at->pool && at->number == number ? at : NULL;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

/* The struct of a pool, or a copy of it; NULL: its storage has ended (I2). */
static const void *look_at_entry(const entry *at, pool_copy *space) {
    const void *pool = (const void *)at->pool;
    if (!pool || !at->kind->facts) return pool;
    KOLK_ASSERT(at->kind->size <= sizeof *space);
    if (!kolk_peek(space, pool, at->kind->size)) return NULL;
    kolk_tools_wrote(space, at->kind->size);
    return at->kind->facts(space) == at->facts ? space : NULL;
}

/* Is it there? Another thread may be changing it while it is copied. */
static bool is_there(const entry *at) {
    pool_copy space;
    bool found = false;
    for (unsigned n = 0; n < TRIES && !found; n++) found = look_at_entry(at, &space);
    return found;
}

/* Could a pool have these? A struct may be overwritten in part. */
static bool are_possible(const kolk_stats *stats) {
    if (stats->max_capacity == 0) return true; /* heaps don't say */
    return stats->count <= stats->capacity && stats->peak <= stats->capacity && stats->capacity <= stats->max_capacity;
}

/* The statistics of a pool that is there. */
static bool ask_entry(const entry *at, kolk_stats *stats) {
    pool_copy space;
    for (unsigned n = 0; n < TRIES; n++) {
        const void *pool = look_at_entry(at, &space);
        if (!pool) continue;
        at->kind->stats(pool, stats);
        if (pool != &space || are_possible(stats)) return true;
    }
    return false;
}

/* Of one that has a name, and has it still. */
static bool ask_named(const entry *at, kolk_stats *stats) {
    return *at->noted.name && ask_entry(at, stats) && *stats->name;
}

/* Under the lock. */
static void add_entry(const void *pool, uint32_t *number, const kolk_kind *kind, const kolk_stats *now) {
    entry *at = take_entry();
    *number = 0;
    if (!at) return;
    uint32_t place = (uint32_t)(at - registry.entries) + 1, life = (at->number >> PLACE_BITS) + 1;
    at->number = *number = life << PLACE_BITS | place;
    at->born = registry.scene;
    at->kind = kind;
    at->facts = kind->facts ? kind->facts(pool) : 0;
    registry.debug |= now->debug;
    at->noted = (kolk_noted){.debug = now->debug};
    strncat(at->noted.name, now->name, sizeof at->noted.name - 1);
    set_pool(at, (uintptr_t)pool);
    link_entry(at);
}

void kolk_registry_add(const void *pool, uint32_t *number, const kolk_kind *kind) {
    kolk_stats now;
    kind->stats(pool, &now);
    kolk_lock();
    add_entry(pool, number, kind, &now);
    kolk_unlock();
}

void kolk_registry_try_add(const void *pool, uint32_t *number, const kolk_kind *kind) {
    kolk_stats now;
    kind->stats(pool, &now);
    if (!kolk_lock_unless_forking()) return;
    add_entry(pool, number, kind, &now);
    kolk_unlock();
}

void kolk_registry_remove(uint32_t number) {
    if (number == 0) return;
    kolk_lock();
    entry *at = entry_of(number);
    kolk_stats last;
    if (at && registry.keep && *at->noted.name) {
        at->kind->stats((const void *)at->pool, &last); /* the caller has it */
        if (*last.name) registry.keep(&last, at->kind, at->born, KOLK_RECORD_ENDED);
    }
    if (at) free_entry(at);
    kolk_unlock();
}

/* Copies what is noted; the objects that are alive, as far as that can be known. */
static void note_entry(const entry *at, kolk_noted *noted) {
    kolk_stats stats;
    *noted = at->noted;
    noted->count = ask_entry(at, &stats) ? stats.count : UINT32_MAX;
}

bool kolk_registry_evict(const void *pool, kolk_noted *noted) {
    kolk_lock();
    uint32_t place = *list_of((uintptr_t)pool);
    while (place && registry.entries[place - 1].pool != (uintptr_t)pool) place = registry.entries[place - 1].behind;
    if (place) {
        note_entry(&registry.entries[place - 1], noted);
        free_entry(&registry.entries[place - 1]);
    }
    kolk_unlock();
    return place != 0;
}

bool kolk_registry_is_home(const void *pool, uint32_t number) {
    uint32_t place = number & ((UINT32_C(1) << PLACE_BITS) - 1);
    if (number == 0) return true;
    if (place == 0 || place > kolk_load(&registry.used, KOLK_RELAXED)) return false;
    return kolk_load(&registry.entries[place - 1].pool, KOLK_RELAXED) == (uintptr_t)pool;
}

bool kolk_registry_rehome(const void *pool, uint32_t number, kolk_noted *noted) {
    kolk_lock();
    entry *at = entry_of(number);
    bool moved = at && at->kind->facts && at->kind->facts(pool) == at->facts;
    if (moved) {
        unlink_entry(at);
        set_pool(at, (uintptr_t)pool);
        link_entry(at);
        *noted = at->noted;
    }
    kolk_unlock();
    return moved;
}

/* ---- All pools --------------------------------------------------------------------------------------------------- */

void kolk_registry_collect(kolk_records *out) {
    kolk_stats stats;
    kolk_lock();
    for (uint32_t i = 0; i < registry.used; i++)
        if (ask_named(&registry.entries[i], &stats)) kolk_records_add(out, &stats, KOLK_RECORD_ALONE);
    kolk_unlock();
}

bool kolk_registry_next(kolk_listed *at, bool (*wants)(const kolk_listed *at)) {
    bool found = false;
    kolk_lock();
    for (uint32_t i = at->place; i < registry.used && !found; i++) {
        const entry *next = &registry.entries[i];
        if (!next->pool) continue;
        *at = (kolk_listed){(const void *)next->pool, next->kind, next->noted.name, i + 1};
        found = wants(at) && is_there(next);
    }
    kolk_unlock();
    return found;
}

void kolk_registry_say_goodbye(const kolk_listed *at) {
    pool_copy space;
    kolk_lock();
    const entry *its = &registry.entries[at->place - 1];
    const void *pool = (const void *)its->pool == at->pool ? look_at_entry(its, &space) : NULL;
    kolk_unlock();
    if (pool) at->kind->at_exit(pool);
}

bool kolk_registry_name(uint32_t place, char name[sizeof((kolk_noted *)0)->name]) {
    kolk_lock();
    bool is_used = place < registry.used;
    if (is_used) memcpy(name, registry.entries[place].noted.name, sizeof registry.entries->noted.name);
    kolk_unlock();
    return is_used;
}

uint32_t kolk_registry_debug(void) {
    return registry.debug;
}

bool kolk_registry_next_lost(uint32_t *place, kolk_noted *noted) {
    bool found = false;
    kolk_lock();
    for (; *place < registry.used && !found; (*place)++) {
        entry *at = &registry.entries[*place];
        if (!at->pool) continue;
        kolk_stats stats;
        if (ask_entry(at, &stats)) continue;
        *noted = at->noted;
        noted->count = UINT32_MAX;
        free_entry(at);
        found = true;
    }
    kolk_unlock();
    return found;
}

void kolk_registry_keep(kolk_keep *keep) {
    registry.keep = keep;
}

void kolk_registry_keep_all(void) {
    kolk_stats last;
    for (uint32_t i = 0; registry.keep && i < registry.used; i++)
        if (ask_named(&registry.entries[i], &last))
            registry.keep(&last, registry.entries[i].kind, registry.entries[i].born, KOLK_RECORD_LIVING);
}

void kolk_registry_enter(const char *scene) {
    KOLK_ASSERT(scene);
    registry.scene = scene;
}

#endif
