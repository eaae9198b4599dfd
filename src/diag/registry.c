/* registry.c: see registry.h.
 *
 *     entries   | pool 1 | pool 2 | (free) | pool 4 | .... used | (reserved, not committed) |
 *
 * A pool's number says where its entry is, so that adding and removing take a few instructions under the lock. A free
 * entry waits in a list to be used again, so that the array is as long as the most pools that there ever were at a time.
 *
 *     I1  an entry whose pool is NULL is free and in the list from `free` on; every other has been added and not removed
 *     I2  an entry's pool is there if *mark is still its number; other code's memory is looked at only for statistics,
 *         and at exit for pools whose kind has something to say then
 *     I3  the lock is not held while a handler of the user runs
 *
 * A process that forks has two that end: each says at its own exit what it has, and of a file that both write, the last
 * one's stays. */
#include "registry.h"

#if __STDC_HOSTED__

#include "../os/memory.h"
#include "sizes.h"
#include "stats.h"
#include "../os/lock.h"

#include <stdlib.h>

#define ADDRESS_SPACE ((size_t)1 << 24) /* some 400,000 pools at a time, or twice as many on 32 bits */

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
    size_t committed;  /* bytes */
    uint32_t used;     /* entries up to the last one that was ever taken */
    uint32_t free;     /* the number of the first free one of these, 0 if there is none */
    uint32_t reading;  /* a lock of its own, for the environment: a file may be slow, and must not stop forks */
    bool started;      /* the environment has been read */
    bool keeps;        /* statistics of pools that go */
    kolk_records past; /* these */
} registry;

/* Makes room for one more entry at the end. */
static bool extend(void) {
    size_t needed = (registry.used + (size_t)1) * sizeof(entry);
    if (needed <= registry.committed) return true;
    if (!registry.entries) registry.entries = kolk_memory_reserve(ADDRESS_SPACE);
    size_t page = kolk_memory_page();
    if (!registry.entries || registry.committed + page > ADDRESS_SPACE) return false;
    if (!kolk_memory_commit((char *)registry.entries + registry.committed, page)) return false;
    registry.committed += page;
    return true;
}

/* A free entry's number, or 0. */
static uint32_t take_entry(void) {
    uint32_t number = registry.free;
    if (number) {
        registry.free = registry.entries[number - 1].next_free;
        return number;
    }
    return extend() ? ++registry.used : 0;
}

/* Is there a pool at this entry (I2)? */
static bool is_there(const entry *at) {
    return at->pool && *at->mark == (uint32_t)(at - registry.entries) + 1;
}

/* What is to be said of the pool there; false if it has no name. */
static bool look(const entry *at, kolk_stats *stats) {
    at->kind->stats(at->pool, stats);
    stats->name = at->name;
    return *stats->name;
}

/* Keeps what is to be said at exit of a pool that goes, or of a scene that ends. */
static void keep(const entry *at) {
    kolk_stats stats;
    if (!look(at, &stats)) return;
    if (!kolk_sizes_are_measured())
        kolk_records_add(&registry.past, &stats, true);
    else if (at->kind->enter)
        kolk_sizes_note(&stats, at->born);
}

static void keep_all(void) {
    for (uint32_t i = 0; i < registry.used; i++)
        if (is_there(&registry.entries[i])) keep(&registry.entries[i]);
}

/* ---- At exit ---------------------------------------------------------------------------------------------------- */

static void list_what_is_alive(void) {
    kolk_lock();
    for (uint32_t i = 0; i < registry.used; i++) { /* more may come meanwhile */
        entry at = registry.entries[i];
        if (!at.pool || !at.kind->at_exit || !is_there(&registry.entries[i])) continue;
        kolk_unlock();
        at.kind->at_exit(at.pool);
        kolk_lock();
    }
    kolk_unlock();
}

static void write_statistics(void) {
    kolk_lock();
    keep_all();
    kolk_records all = registry.past;
    registry.past = (kolk_records){0};
    kolk_unlock();
    kolk_stats_write_setting(&all);
    kolk_records_release(&all);
}

/* Once; in a fork's child once more, from the start, if it was under way when the process forked. */
static void read_environment(void) {
    const char *file;
    registry.keeps = kolk_stats_read_setting();
    bool measures = kolk_stats_want_sizes(&file);
    kolk_sizes_read_setting(measures, file);
    __atomic_store_n(&registry.started, true, __ATOMIC_RELEASE); /* partner: kolk_registry_start */
}

/* What was registered last runs first. These are functions of their own, so that a failure handler that calls exit when it
 * hears of the first leak does not take the statistics away. */
static void start(void) {
    if (registry.keeps) atexit(write_statistics);
    if (kolk_sizes_matter()) atexit(kolk_sizes_report_unused);
    atexit(list_what_is_alive);
    kolk_stats_report_setting();
}

void kolk_registry_start(void) {
    if (__atomic_load_n(&registry.started, __ATOMIC_ACQUIRE)) return;
    kolk_lock_word(&registry.reading);
    bool first = !registry.started;
    if (first) read_environment();
    kolk_unlock_word(&registry.reading);
    if (first) start();
}

/* ---- The list --------------------------------------------------------------------------------------------------- */

void kolk_registry_add(const void *pool, uint32_t *mark, const kolk_kind *kind) {
    kolk_stats now;
    kind->stats(pool, &now);
    kolk_lock();
    *mark = take_entry();
    if (*mark) registry.entries[*mark - 1] = (entry){pool, mark, now.name, kolk_sizes_scene(), {kind}};
    kolk_unlock();
}

void kolk_registry_remove(uint32_t number) {
    if (number == 0) return;
    kolk_lock();
    entry *at = &registry.entries[number - 1];
    if (registry.keeps) keep(at);
    *at = (entry){.next_free = registry.free}; /* I1 */
    registry.free = number;
    kolk_unlock();
}

void kolk_registry_collect(kolk_records *out) {
    kolk_stats stats;
    kolk_lock();
    for (uint32_t i = 0; i < registry.used; i++) {
        const entry *at = &registry.entries[i];
        if (is_there(at) && look(at, &stats)) kolk_records_add(out, &stats, false);
    }
    kolk_unlock();
}

/* ---- Scenes ------------------------------------------------------------------------------------------------------ */

static void enter(const entry *at) {
    kolk_stats stats;
    kolk_status status = at->kind->enter((void *)(uintptr_t)at->pool, kolk_sizes_of(at->name));
    if (status == KOLK_OK) return;
    at->kind->stats(at->pool, &stats);
    kolk_sizes_refuse(at->name, stats.capacity, kolk_status_text(status));
}

void kolk_scene(const char *name) {
    kolk_registry_start();
    if (!kolk_sizes_matter()) return;
    kolk_lock();
    if (kolk_sizes_are_measured()) keep_all(); /* of the scene that ends */
    kolk_sizes_enter(name ? name : "");
    for (uint32_t i = 0; i < registry.used; i++) {
        entry at = registry.entries[i];
        if (!at.pool || !*at.name || !at.kind->enter || !is_there(&registry.entries[i])) continue;
        kolk_unlock();
        enter(&at);
        kolk_lock();
    }
    kolk_unlock();
}

#else

void kolk_scene(const char *name) {
    (void)name;
}

#endif
