/* registry.c: see registry.h.
 *
 *     entries   | pool 1 | pool 2 | (free) | pool 4 | .... used | (reserved, not committed) |
 *
 * A pool's number says where its entry is, so adding and removing take a few instructions under the lock. A free entry
 * waits in a list to be used again. So the array is as long as the most pools that there ever were at a time.
 *
 *     I1  an entry whose pool is NULL is free and in the list from `free` on; all others were added and not removed
 *     I2  an entry's pool is there if *mark is still its number; other code's memory is looked at only for statistics,
 *         and in a walk for pools that it wants
 *     I3  the lock is not held while a handler of the user runs */
#include "registry.h"

#if KOLK_DIAGNOSTICS

#include "../core/assert.h"
#include "../os/lock.h"
#include "../os/memory.h"

#define REGISTRY_BYTES ((size_t)1 << 24) /* some 400,000 pools at a time, or twice as many on 32 bits */

typedef struct entry {
    const void *pool;
    const uint32_t *mark;
    const char *name; /* the pool's; asked for once, since the pool may be gone */
    const char *born; /* the scene in which it was added; "" in none */
    union {
        const kolk_kind *kind;
        uint32_t next_free; /* a number; 0 ends the list */
    };
} entry;

static struct {
    entry *entries;
    size_t committed; /* bytes */
    uint32_t used;    /* entries up to the last one that was ever taken */
    uint32_t free;    /* the number of the first free one of these, 0 if there is none */
    kolk_keep *keep;  /* NULL: the statistics of pools that go are lost */
    const char *scene;
} registry = {.scene = ""};

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

/* A free entry's number, or 0. */
static uint32_t take_entry(void) {
    uint32_t number = registry.free;
    if (number) {
        KOLK_ASSERT(number <= registry.used);
        KOLK_ASSERT(!registry.entries[number - 1].pool); /* I1 */
        registry.free = registry.entries[number - 1].next_free;
        return number;
    }
    return extend_entries() ? ++registry.used : 0;
}

/* Is there a pool at this entry (I2)? */
static bool is_there(const entry *at) {
    return at->pool && *at->mark == (uint32_t)(at - registry.entries) + 1;
}

/* The statistics of the pool there; false if it has no name, or none any more. */
static bool ask_entry(const entry *at, kolk_stats *stats) {
    at->kind->stats(at->pool, stats);
    bool named = *stats->name;
    stats->name = at->name;
    return named;
}

static void keep_entry(const entry *at) {
    kolk_stats stats;
    if (ask_entry(at, &stats)) registry.keep(&stats, at->kind, at->born);
}

/* Under the lock. */
static void add_entry(const void *pool, uint32_t *mark, const kolk_kind *kind, const char *name) {
    *mark = take_entry();
    KOLK_ASSERT(!*mark || !registry.entries[*mark - 1].pool);
    if (*mark) registry.entries[*mark - 1] = (entry){pool, mark, name, registry.scene, {kind}};
}

void kolk_registry_add(const void *pool, uint32_t *mark, const kolk_kind *kind) {
    kolk_stats now;
    kind->stats(pool, &now);
    kolk_lock();
    add_entry(pool, mark, kind, now.name);
    kolk_unlock();
}

void kolk_registry_try_add(const void *pool, uint32_t *mark, const kolk_kind *kind) {
    kolk_stats now;
    kind->stats(pool, &now);
    if (!kolk_lock_unless_forking()) return;
    add_entry(pool, mark, kind, now.name);
    kolk_unlock();
}

void kolk_registry_remove(uint32_t number) {
    if (number == 0) return;
    kolk_lock();
    KOLK_ASSERT(number <= registry.used);
    entry *at = &registry.entries[number - 1];
    KOLK_ASSERT(at->pool);
    if (registry.keep) keep_entry(at);
    *at = (entry){.next_free = registry.free}; /* I1 */
    registry.free = number;
    kolk_unlock();
}

void kolk_registry_collect(kolk_records *out) {
    kolk_stats stats;
    kolk_lock();
    for (uint32_t i = 0; i < registry.used; i++) {
        const entry *at = &registry.entries[i];
        if (is_there(at) && ask_entry(at, &stats)) kolk_records_add(out, &stats, false);
    }
    kolk_unlock();
}

bool kolk_registry_next(kolk_listed *at, bool (*wants)(const kolk_listed *at)) {
    bool found = false;
    kolk_lock();
    for (uint32_t i = at->number; i < registry.used && !found; i++) {
        const entry *next = &registry.entries[i];
        if (!next->pool) continue;
        *at = (kolk_listed){next->pool, next->kind, next->name, i + 1};
        found = wants(at) && is_there(next); /* in this order: I2 */
    }
    kolk_unlock();
    return found;
}

void kolk_registry_keep(kolk_keep *keep) {
    registry.keep = keep;
}

void kolk_registry_keep_all(void) {
    for (uint32_t i = 0; registry.keep && i < registry.used; i++)
        if (is_there(&registry.entries[i])) keep_entry(&registry.entries[i]);
}

void kolk_registry_enter(const char *scene) {
    KOLK_ASSERT(scene);
    registry.scene = scene;
}

#endif
