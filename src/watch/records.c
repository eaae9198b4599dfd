/* records.c: see records.h. Records and their names lie one after another in blocks of pages, so that one call per
 * block releases them all. A chained hash table, which doubles as records are added, finds records by name. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/hash.h"
#include "../os/memory.h"
#include "records.h"
#include "stats.h"

#include <string.h>

#define BLOCK_SIZE  ((size_t)65536)
#define FIRST_LISTS 128u

typedef struct kolk_records_block_ {
    struct kolk_records_block_ *before;
    size_t size, used; /* bytes, including this struct */
} kolk_records_block_;

/* A multiple of 8, because the records after it have 64-bit members, even where pointers have 32 bits. */
#define BLOCK_HEAD ((sizeof(kolk_records_block_) + 7) / 8 * 8)

static kolk_records_block_ *add_block(kolk_records_block_ *before, size_t size) {
    kolk_records_block_ *block = kolk_memory_take_(size, size);
    if (!block) return NULL;
    *block = (kolk_records_block_){before, size, BLOCK_HEAD};
    return block;
}

static void *take_bytes(kolk_records_ *records, size_t size) {
    size = (size + 7) / 8 * 8;
    if (!records->blocks || records->blocks->size - records->blocks->used < size) {
        size_t whole = BLOCK_HEAD + size;
        kolk_records_block_ *block = add_block(records->blocks, whole < BLOCK_SIZE ? BLOCK_SIZE : whole);
        if (!block) return NULL;
        records->blocks = block;
    }
    KOLK_ASSERT_(records->blocks->used % 8 == 0);
    KOLK_ASSERT_(records->blocks->size - records->blocks->used >= size);
    void *taken = (char *)records->blocks + records->blocks->used;
    records->blocks->used += size;
    return taken;
}

char *kolk_records_copy_(kolk_records_ *records, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = take_bytes(records, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static bool is_alike(const kolk_stats *a, const kolk_stats *b) {
    return strcmp(a->name, b->name) == 0 && strcmp(a->kind, b->kind) == 0;
}

static uint32_t sum32(uint32_t a, uint32_t b) {
    return b > UINT32_MAX - a ? UINT32_MAX : a + b;
}

static void add_counters(kolk_stats *all, const kolk_stats *stats) {
    all->worn_out = sum32(all->worn_out, stats->worn_out);
    all->recycled = sum32(all->recycled, stats->recycled);
    all->failed += stats->failed;
    all->evictions += stats->evictions;
    all->wrong_pool += stats->wrong_pool;
    all->waits += stats->waits;
    all->waiting = sum32(all->waiting, stats->waiting);
    all->debug |= stats->debug;
    kolk_raise64_(&all->stride, stats->stride);
}

static void merge_into(kolk_stats *all, const kolk_stats *life) {
    add_counters(all, life);
    kolk_raise32_(&all->count, life->count);
    kolk_raise32_(&all->peak, life->peak);
    kolk_raise32_(&all->capacity, life->capacity);
    kolk_raise32_(&all->max_capacity, life->max_capacity);
    kolk_raise64_(&all->bytes_reserved, life->bytes_reserved);
    kolk_raise64_(&all->bytes_committed, life->bytes_committed);
    all->unused_bytes = all->capacity > all->peak ? (all->capacity - all->peak) * all->stride : 0;
}

/* Copies the places, if there are any, and if there is memory. */
static const kolk_places_ *copy_places(kolk_records_ *records, const kolk_places_ *places) {
    kolk_places_ *copy = places ? take_bytes(records, sizeof *copy) : NULL;
    if (copy) *copy = *places;
    return copy;
}

static kolk_record_ *copy_record(kolk_records_ *records, const kolk_record_ *one) {
    kolk_record_ *record = take_bytes(records, sizeof *record);
    char *name = record ? kolk_records_copy_(records, one->stats.name) : NULL;
    void *more = name && one->extra ? take_bytes(records, one->extra->size) : NULL;
    if (!name || (one->extra && !more)) return NULL;
    *record = *one;
    record->stats.name = name;
    record->more = more;
    record->places = copy_places(records, one->places);
    if (more) memcpy(more, one->more, one->extra->size);
    return record;
}

static kolk_record_ **list_named(const kolk_records_ *records, const char *name) {
    return &records->by_hash[kolk_hash_(name) & (records->lists - 1)];
}

/* Makes the first lists, or twice as many if there are too few. The old ones stay in their block, which is not more
 * than the new ones take. Returns false if there are none. */
static bool have_name_lists(kolk_records_ *records) {
    uint32_t lists = records->lists ? 2 * records->lists : FIRST_LISTS;
    if (records->lists && records->count < 2 * records->lists) return true;
    kolk_record_ **by_hash = take_bytes(records, lists * sizeof(void *));
    if (!by_hash) return records->lists;
    records->by_hash = by_hash;
    records->lists = lists;
    for (kolk_record_ *at = records->first; at; at = at->next) { /* in the order in which they were added */
        kolk_record_ **newest = list_named(records, at->stats.name);
        at->same_hash = *newest;
        *newest = at;
    }
    return true;
}

/* Returns NULL if there is no memory. */
static kolk_record_ *append_copy(kolk_records_ *records, kolk_record_ **newest, const kolk_record_ *one) {
    kolk_record_ *record = copy_record(records, one);
    if (!record) return NULL;
    record->next = NULL;
    record->same_hash = *newest;
    *newest = record;
    if (records->last)
        records->last->next = record;
    else
        records->first = record;
    records->last = record;
    records->count++;
    return record;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

static bool may_group(const kolk_record_ *record, const kolk_stats *stats) {
    return !record->extra && !record->is_rest && is_alike(&record->stats, stats) &&
           record->stats.object_size == stats->object_size;
}

static void add_to_group(kolk_record_ *group, const kolk_stats *stats, uint32_t pools) {
    kolk_stats *all = &group->stats;
    add_counters(all, stats);
    all->count = sum32(all->count, stats->count);
    all->peak = sum32(all->peak, stats->peak);
    all->capacity = sum32(all->capacity, stats->capacity);
    all->max_capacity = sum32(all->max_capacity, stats->max_capacity);
    all->unused_bytes += stats->unused_bytes;
    all->bytes_reserved += stats->bytes_reserved;
    all->bytes_committed += stats->bytes_committed;
    group->pools += pools;
}

/* Takes a record off the list of all records. */
static void unlink_record(kolk_records_ *records, const kolk_record_ *record) {
    kolk_record_ *before = NULL;
    for (kolk_record_ *at = records->first; at != record; at = at->next) before = at;
    if (before)
        before->next = record->next;
    else
        records->first = record->next;
    if (records->last == record) records->last = before;
    records->count--;
}

/* Makes a group of all records like this one; `newest` is the head of their list. Returns the group, which is the
 * oldest of them; NULL: they are still too few. */
static kolk_record_ *group_of(kolk_records_ *records, kolk_record_ **newest, const kolk_stats *stats) {
    uint32_t alike = 0;
    for (kolk_record_ *at = *newest; at; at = at->same_hash) {
        if (!may_group(at, stats)) continue;
        if (at->pools > 1) return at;
        alike++;
    }
    if (alike < KOLK_RECORDS_ALIKE_) return NULL;
    for (kolk_record_ **place = newest, *at; (at = *place);) {
        if (!may_group(at, stats)) {
            place = &at->same_hash;
            continue;
        }
        if (--alike == 0) return at;
        kolk_record_ *older = at->same_hash;
        while (!may_group(older, stats)) older = older->same_hash;
        add_to_group(older, &at->stats, at->pools);
        older->lives |= at->lives;
        older->places = NULL;
        *place = at->same_hash;
        unlink_record(records, at);
    }
    return NULL;
}

/* Adds an ended life to the record of all ended pools of its kind that have no record of their own. */
static void add_to_rest(kolk_records_ *records, const kolk_record_ *one) {
    kolk_record_ as_rest = *one, **newest = list_named(records, KOLK_RECORD_REST_), *rest = *newest;
    as_rest.stats.name = KOLK_RECORD_REST_;
    as_rest.places = NULL;
    as_rest.is_rest = true;
    as_rest.pools = as_rest.nth = 1;
    for (; rest; rest = rest->same_hash) {
        if (!is_alike(&rest->stats, &as_rest.stats)) continue;
        if (rest->is_rest) break;
        as_rest.nth++; /* the program has a pool of that name */
    }
    if (!rest) {
        append_copy(records, newest, &as_rest);
        return;
    }
    if (rest->stats.object_size != one->stats.object_size) rest->stats.object_size = 0; /* they have several */
    add_to_group(rest, &one->stats, 1);
    if (rest->extra && rest->extra == one->extra) rest->extra->merge(rest->more, one->more);
}

void kolk_records_add_whole_(kolk_records_ *records, const kolk_record_ *one, kolk_record_of_ of) {
    const kolk_stats *stats = &one->stats;
    KOLK_ASSERT_(stats->name);
    KOLK_ASSERT_(stats->kind);
    if (!have_name_lists(records)) return;
    kolk_record_ **newest = list_named(records, stats->name);
    kolk_record_ *alike = *newest;
    while (alike && !is_alike(&alike->stats, stats)) alike = alike->same_hash;
    uint32_t nth = alike ? alike->nth + 1 : 1;
    for (kolk_record_ *same = alike; of != KOLK_RECORD_ALONE_ && same; same = same->same_hash) {
        if (!is_alike(&same->stats, stats) || same->stats.object_size != stats->object_size) continue;
        if (same->lives || same->is_rest) continue;
        merge_into(&same->stats, stats);
        if (same->extra && same->extra == one->extra) same->extra->merge(same->more, one->more);
        same->lives = of == KOLK_RECORD_LIVING_;
        same->places = copy_places(records, one->places);
        return;
    }

    if (of == KOLK_RECORD_ENDED_ && records->most && records->count >= records->most) {
        add_to_rest(records, one);
        return;
    }
    kolk_record_ *group = one->extra ? NULL : group_of(records, newest, stats);
    if (group) {
        add_to_group(group, stats, 1);
        return;
    }
    kolk_record_ *record = append_copy(records, newest, one);
    if (!record) return;
    record->pools = 1;
    record->nth = nth;
    record->lives = of == KOLK_RECORD_LIVING_;
}

void kolk_records_add_all_(kolk_records_ *records, const kolk_records_ *from) {
    for (const kolk_record_ *at = from->first; at && have_name_lists(records); at = at->next)
        append_copy(records, list_named(records, at->stats.name), at);
}

void kolk_records_add_(kolk_records_ *records, const kolk_stats *stats, kolk_record_of_ of) {
    kolk_records_add_whole_(records, &(kolk_record_){.stats = *stats}, of);
}

void kolk_records_release_(kolk_records_ *records) {
    for (kolk_records_block_ *block = records->blocks; block;) {
        kolk_records_block_ *before = block->before;
        kolk_memory_release_(block, block->size);
        block = before;
    }
    memset(records, 0, sizeof *records);
}

#endif
