/* records.c: see records.h. Records and their names lie one behind another in blocks of pages, so that one call a block
 * gives all of it back. They are found by name through lists, one for each value of a few bits of the name's hash. */
#include "kolk/base.h"

#if KOLK_DIAGNOSTICS

#include "../core/assert.h"
#include "../core/hash.h"
#include "../os/memory.h"
#include "kolk/resource.h"
#include "records.h"

#include <string.h>

#define BLOCK_SIZE ((size_t)65536)

typedef struct kolk_block {
    struct kolk_block *before;
    size_t size, used; /* bytes, this included */
} kolk_block;

/* The records behind it have numbers of 64 bits, also where pointers have 32. */
#define BLOCK_HEAD ((sizeof(kolk_block) + 7) / 8 * 8)

static kolk_block *add_block(kolk_block *before, size_t size) {
    kolk_block *block = kolk_memory_take(size, size);
    if (!block) return NULL;
    *block = (kolk_block){before, size, BLOCK_HEAD};
    return block;
}

static void *take_bytes(kolk_records *records, size_t size) {
    size = (size + 7) / 8 * 8;
    if (!records->blocks || records->blocks->size - records->blocks->used < size) {
        size_t whole = BLOCK_HEAD + size;
        kolk_block *block = add_block(records->blocks, whole < BLOCK_SIZE ? BLOCK_SIZE : whole);
        if (!block) return NULL;
        records->blocks = block;
    }
    KOLK_ASSERT(records->blocks->used % 8 == 0);
    KOLK_ASSERT(records->blocks->size - records->blocks->used >= size);
    void *taken = (char *)records->blocks + records->blocks->used;
    records->blocks->used += size;
    return taken;
}

char *kolk_records_copy(kolk_records *records, const char *text) {
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

static void raise32(uint32_t *greatest, uint32_t number) {
    if (*greatest < number) *greatest = number;
}

static void raise64(uint64_t *greatest, uint64_t number) {
    if (*greatest < number) *greatest = number;
}

static void merge_times(kolk_times *all, const kolk_times *life) {
    all->count += life->count;
    all->sum_ns += life->sum_ns;
    raise64(&all->max_ns, life->max_ns);
    raise64(&all->p50_ns, life->p50_ns);
    raise64(&all->p90_ns, life->p90_ns);
    raise64(&all->p99_ns, life->p99_ns);
    raise64(&all->p999_ns, life->p999_ns);
    for (size_t i = 0; i < KOLK_TIME_BOUNDS; i++) all->at_most[i] += life->at_most[i];
}

static void merge_resource(kolk_resource_stats *all, const kolk_resource_stats *life) {
    all->max = life->max;
    raise32(&all->in_use, life->in_use);
    raise32(&all->idle, life->idle);
    raise32(&all->creating, life->creating);
    raise32(&all->waiting, life->waiting);
    raise32(&all->peak, life->peak);
    uint64_t *to = &all->borrows;
    for (const uint64_t *from = &life->borrows; from <= &life->leaks; from++) *to++ += *from;
    merge_times(&all->wait, &life->wait);
    merge_times(&all->use, &life->use);
    merge_times(&all->create, &life->create);
}

static void merge_into(kolk_stats *all, const kolk_stats *life) {
    raise32(&all->count, life->count);
    all->worn_out = sum32(all->worn_out, life->worn_out);
    all->recycled = sum32(all->recycled, life->recycled);
    all->failed += life->failed;
    all->evictions += life->evictions;
    all->wrong_pool += life->wrong_pool;
    all->waits += life->waits;
    all->waiting = sum32(all->waiting, life->waiting);
    all->debug |= life->debug;
    raise32(&all->peak, life->peak);
    raise32(&all->capacity, life->capacity);
    raise32(&all->max_capacity, life->max_capacity);
    raise64(&all->stride, life->stride);
    raise64(&all->bytes_reserved, life->bytes_reserved);
    raise64(&all->bytes_committed, life->bytes_committed);
    all->unused_bytes = all->capacity > all->peak ? (all->capacity - all->peak) * all->stride : 0;
    if (all->resource && life->resource)
        merge_resource((kolk_resource_stats *)(uintptr_t)all->resource, life->resource); /* a copy of ours */
}

void kolk_records_add(kolk_records *records, const kolk_stats *stats, kolk_record_of of) {
    KOLK_ASSERT(stats->name);
    KOLK_ASSERT(stats->kind);
    kolk_record **newest = &records->by_hash[kolk_hash(stats->name) % KOLK_RECORD_LISTS];
    kolk_record *alike = *newest;
    while (alike && !is_alike(&alike->stats, stats)) alike = alike->same_hash;
    uint32_t nth = alike ? alike->nth + 1 : 1;
    for (kolk_record *same = alike; of != KOLK_RECORD_ALONE && same; same = same->same_hash) {
        if (!is_alike(&same->stats, stats) || same->stats.object_size != stats->object_size || same->lives) continue;
        merge_into(&same->stats, stats);
        same->lives = of == KOLK_RECORD_LIVING;
        return;
    }

    kolk_record *record = take_bytes(records, sizeof *record);
    char *name = record ? kolk_records_copy(records, stats->name) : NULL;
    kolk_resource_stats *resource = name && stats->resource ? take_bytes(records, sizeof *resource) : NULL;
    if (!name || (stats->resource && !resource)) return;
    if (resource) *resource = *stats->resource;
    *record = (kolk_record){.same_hash = *newest, .nth = nth, .lives = of == KOLK_RECORD_LIVING, .stats = *stats};
    record->stats.name = name;
    record->stats.resource = resource;
    *newest = record;
    if (records->last)
        records->last->next = record;
    else
        records->first = record;
    records->last = record;
}

void kolk_records_release(kolk_records *records) {
    for (kolk_block *block = records->blocks; block;) {
        kolk_block *before = block->before;
        kolk_memory_release(block, block->size);
        block = before;
    }
    memset(records, 0, sizeof *records);
}

#endif
