/* large_table.c: see large_table.h. */
#include "kolk/base.h"

#include "large_table.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../base/hash.h"
#include "../os/lock.h"
#include "../os/memory.h"

#define FIRST_PLACES 64u

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static size_t large_home(const kolk_large_table *table, uintptr_t start) {
    return (size_t)kolk_mixed(start) & (table->places - 1);
}

/* The place of the entry with this start, or the free one that ends the search. */
static size_t large_place(const kolk_large_table *table, uintptr_t start) {
    KOLK_ASSERT(start);
    size_t place = large_home(table, start);
    while (table->blocks[place].start && table->blocks[place].start != start) place = (place + 1) & (table->places - 1);
    return place;
}

static void write_large_entry(kolk_large_block *entry, const kolk_large_block *block) {
    kolk_store(&entry->size, block->size, KOLK_RELEASE);
    kolk_store(&entry->mapping, block->mapping, KOLK_RELEASE);
    kolk_store(&entry->mapped, block->mapped, KOLK_RELEASE);
    kolk_store(&entry->start, block->start, KOLK_RELEASE);
}

static void set_hole(kolk_large *large, size_t place_plus_1) {
    kolk_store(&large->hole, place_plus_1, KOLK_RELEASE);
}

/* Moves the entries behind the hole back over it, but none before its home, and frees the last hole. */
static void close_hole(kolk_large *large) {
    kolk_large_table *table = kolk_large_table_of(large);
    size_t mask = table->places - 1, hole = large->hole - 1;
    KOLK_ASSERT(hole < table->places);
    for (size_t place = (hole + 1) & mask; table->blocks[place].start; place = (place + 1) & mask) {
        size_t from_home = (place - large_home(table, table->blocks[place].start)) & mask;
        if (from_home < ((place - hole) & mask)) continue;
        write_large_entry(&table->blocks[hole], &table->blocks[place]);
        set_hole(large, place + 1); /* the copy counts now, and the original does not */
        hole = place;
    }
    kolk_store(&table->blocks[hole].start, 0, KOLK_RELEASE);
}

static void set_counts(kolk_large *large, size_t count, size_t bytes) {
    kolk_store(&large->count, count, KOLK_RELEASE);
    kolk_store(&large->bytes, bytes, KOLK_RELEASE);
    if (count > large->peak) kolk_store(&large->peak, count, KOLK_RELEASE);
    if (bytes > large->peak_bytes) kolk_store(&large->peak_bytes, bytes, KOLK_RELEASE);
}

static void sum_up(const kolk_large *large, size_t *count, size_t *bytes) {
    *count = *bytes = 0;
    for (size_t place = 0; place < kolk_large_places(large); place++) {
        const kolk_large_block *entry = &kolk_large_table_of(large)->blocks[place];
        *count += entry->start != 0;
        *bytes += entry->start ? entry->mapped : 0;
    }
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

kolk_large_block *kolk_large_entry(const kolk_large *large, const void *start) {
    if (!start || !large->table) return NULL;
    kolk_large_table *table = kolk_large_table_of(large);
    kolk_large_block *entry = &table->blocks[large_place(table, (uintptr_t)start)];
    return entry->start ? entry : NULL;
}

void kolk_large_enter(kolk_large *large, const kolk_large_block *block) {
    kolk_large_table *table = kolk_large_table_of(large);
    size_t place = large_place(table, block->start);
    KOLK_ASSERT(table->blocks[place].start == 0);
    set_hole(large, place + 1);
    write_large_entry(&table->blocks[place], block);
    set_counts(large, large->count + 1, large->bytes + block->mapped);
    set_hole(large, 0);
}

void kolk_large_remove(kolk_large *large, const kolk_large_block *entry) {
    size_t mapped = entry->mapped;
    KOLK_ASSERT(large->count > 0);
    KOLK_ASSERT(large->bytes >= mapped);
    set_hole(large, (size_t)(entry - kolk_large_table_of(large)->blocks) + 1);
    close_hole(large);
    set_counts(large, large->count - 1, large->bytes - mapped);
    set_hole(large, 0);
}

/* ---- The lock ---------------------------------------------------------------------------------------------------- */

/* Closes a hole that a fork's child has found. */
static void repair_table(kolk_large *large) {
    size_t count, bytes;
    close_hole(large);
    sum_up(large, &count, &bytes);
    set_counts(large, count, bytes);
    set_hole(large, 0);
}

void kolk_large_lock(const kolk_large *large) {
    kolk_lock_word((uint32_t *)(uintptr_t)&large->lock);
    if (large->hole) repair_table((kolk_large *)(uintptr_t)large);
}

void kolk_large_unlock(const kolk_large *large) {
    KOLK_ASSERT(large->hole == 0);
    kolk_unlock_word((uint32_t *)(uintptr_t)&large->lock);
}

/* ---- Room in the table ------------------------------------------------------------------------------------------- */

static size_t table_bytes(size_t places) {
    return sizeof(kolk_large_table) + places * sizeof(kolk_large_block);
}

bool kolk_large_grow(kolk_large *large, size_t places) {
    size_t bytes = table_bytes(places ? 2 * places : FIRST_PLACES);
    kolk_large_table *spare = (kolk_large_table *)kolk_memory_take(bytes, bytes);
    if (!spare) return false;
    spare->places = places ? 2 * places : FIRST_PLACES;
    kolk_large_lock(large);
    if (kolk_large_places(large) == places) {
        kolk_large_table *old = kolk_large_table_of(large);
        for (size_t place = 0; place < places; place++)
            if (old->blocks[place].start)
                spare->blocks[large_place(spare, old->blocks[place].start)] = old->blocks[place];
        kolk_store(&large->table, (uintptr_t)spare, KOLK_RELEASE);
        spare = old;
    }
    kolk_large_unlock(large);
    if (spare) kolk_memory_release(spare, table_bytes(spare->places));
    return true;
}

void kolk_large_drop_table(kolk_large *large) {
    if (large->table) kolk_memory_release(kolk_large_table_of(large), table_bytes(kolk_large_places(large)));
    large->table = 0;
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

bool kolk_large_table_is_valid(const kolk_large *large) {
    size_t places = kolk_large_places(large), count, bytes;
    if (places & (places - 1)) return false;                         /* I1 */
    if (large->count + large->moving > places / 4 * 3) return false; /* I1 */
    for (size_t place = 0; place < places; place++) {                /* I2 */
        uintptr_t start = kolk_large_table_of(large)->blocks[place].start;
        if (start && large_place(kolk_large_table_of(large), start) != place) return false;
    }
    sum_up(large, &count, &bytes);
    if (large->count != count || large->peak < count) return false;       /* I3 */
    if (large->bytes != bytes || large->peak_bytes < bytes) return false; /* I3 */
    return large->hole == 0;                                              /* I4 */
}

#endif
