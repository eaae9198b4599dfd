/* large_table.c: the table of large blocks, which finds the block that starts at an address.
 *
 *     places | . | A | B | . | . | C | . |        an entry lies at its first choice, which the hash
 *              0   1   2   3   4   5   6          of its start gives, or at the first free place behind that
 *
 * Removing an entry leaves no mark: the entries behind the removed one move back over it (Knuth, The Art of Computer
 * Programming 3, 6.4, algorithm R). The table doubles when it is three quarters full. Its memory never comes from
 * malloc.
 *
 * Invariants, whenever no thread has the lock:
 *     I1  places is a power of two, or 0; count + moving is at most three quarters of it
 *     I2  all places from an entry's first choice to its own are taken, and no two entries have the same start
 *     I3  count and bytes are the sums over the entries, and do not exceed the peaks
 *     I4  hole is 0
 *
 * A fork's child may find the table half changed by another thread. While a thread writes an entry, or moves others
 * over it, `hole` is the entry's place plus 1. That entry does not count; each of the others counts once and is found
 * (I2 holds except for the hole). The stores have release order, so if the child sees one, it sees all before it. The
 * next thread that takes the lock closes such a hole, and counts again. A single store replaces the table with a larger
 * one. So the child finds every block except those that other threads were just allocating, freeing or resizing. It may
 * lose the memory of those blocks, but nothing else. */
#include "kolk/base.h"

#include "large.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../base/hash.h"
#include "../os/lock.h"
#include "../os/memory.h"

#define FIRST_PLACES 64u

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static size_t first_choice(const kolk_large_table_ *table, uintptr_t start) {
    return (size_t)kolk_mixed_(start) & (table->places - 1);
}

/* The place of the entry with this start, or the free place that ends the search. */
static size_t large_place(const kolk_large_table_ *table, uintptr_t start) {
    KOLK_ASSERT_(start);
    size_t place = first_choice(table, start);
    while (table->blocks[place].start && table->blocks[place].start != start) place = (place + 1) & (table->places - 1);
    return place;
}

static void write_large_entry(kolk_large_block_ *entry, const kolk_large_block_ *block) {
    kolk_store_(&entry->size, block->size, KOLK_RELEASE_);
    kolk_store_(&entry->mapping, block->mapping, KOLK_RELEASE_);
    kolk_store_(&entry->mapped, block->mapped, KOLK_RELEASE_);
    kolk_store_(&entry->is_used, block->is_used, KOLK_RELEASE_);
    kolk_store_(&entry->start, block->start, KOLK_RELEASE_);
}

static void set_hole(kolk_large_ *large, size_t place_plus_1) {
    kolk_store_(&large->hole, place_plus_1, KOLK_RELEASE_);
}

/* Moves the entries behind the hole back over it, but none to a place before its first choice, and frees the last
 * hole. */
static void close_hole(kolk_large_ *large) {
    kolk_large_table_ *table = kolk_large_table_of_(large);
    size_t mask = table->places - 1, hole = large->hole - 1;
    KOLK_ASSERT_(hole < table->places);
    for (size_t place = (hole + 1) & mask; table->blocks[place].start; place = (place + 1) & mask) {
        size_t behind_choice = (place - first_choice(table, table->blocks[place].start)) & mask;
        if (behind_choice < ((place - hole) & mask)) continue;
        write_large_entry(&table->blocks[hole], &table->blocks[place]);
        set_hole(large, place + 1); /* the copy counts now, and the original does not */
        hole = place;
    }
    kolk_store_(&table->blocks[hole].start, 0, KOLK_RELEASE_);
}

static void set_counts(kolk_large_ *large, size_t count, size_t bytes) {
    kolk_store_(&large->count, count, KOLK_RELEASE_);
    kolk_store_(&large->bytes, bytes, KOLK_RELEASE_);
    if (count > large->peak) kolk_store_(&large->peak, count, KOLK_RELEASE_);
    if (bytes > large->peak_bytes) kolk_store_(&large->peak_bytes, bytes, KOLK_RELEASE_);
}

static void sum_up(const kolk_large_ *large, size_t *count, size_t *bytes) {
    *count = *bytes = 0;
    for (size_t place = 0; place < kolk_large_places_(large); place++) {
        const kolk_large_block_ *entry = &kolk_large_table_of_(large)->blocks[place];
        *count += entry->start != 0;
        *bytes += entry->start ? entry->mapped : 0;
    }
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

kolk_large_block_ *kolk_large_entry_(const kolk_large_ *large, const void *start) {
    if (!start || !large->table) return NULL;
    kolk_large_table_ *table = kolk_large_table_of_(large);
    kolk_large_block_ *entry = &table->blocks[large_place(table, (uintptr_t)start)];
    return entry->start ? entry : NULL;
}

void kolk_large_enter_(kolk_large_ *large, const kolk_large_block_ *block) {
    kolk_large_table_ *table = kolk_large_table_of_(large);
    size_t place = large_place(table, block->start);
    KOLK_ASSERT_(table->blocks[place].start == 0);
    set_hole(large, place + 1);
    write_large_entry(&table->blocks[place], block);
    set_counts(large, large->count + 1, large->bytes + block->mapped);
    set_hole(large, 0);
}

void kolk_large_remove_(kolk_large_ *large, const kolk_large_block_ *entry) {
    size_t mapped = entry->mapped;
    KOLK_ASSERT_(large->count > 0);
    KOLK_ASSERT_(large->bytes >= mapped);
    set_hole(large, (size_t)(entry - kolk_large_table_of_(large)->blocks) + 1);
    close_hole(large);
    set_counts(large, large->count - 1, large->bytes - mapped);
    set_hole(large, 0);
}

/* ---- The lock ---------------------------------------------------------------------------------------------------- */

/* Closes a hole that a fork's child has found. */
static void repair_table(kolk_large_ *large) {
    size_t count, bytes;
    close_hole(large);
    sum_up(large, &count, &bytes);
    set_counts(large, count, bytes);
    set_hole(large, 0);
}

void kolk_large_lock_(const kolk_large_ *large) {
    kolk_lock_word_((uint32_t *)(uintptr_t)&large->lock);
    if (large->hole) repair_table((kolk_large_ *)(uintptr_t)large);
}

void kolk_large_unlock_(const kolk_large_ *large) {
    KOLK_ASSERT_(large->hole == 0);
    kolk_unlock_word_((uint32_t *)(uintptr_t)&large->lock);
}

/* ---- Room in the table ------------------------------------------------------------------------------------------- */

static size_t table_bytes(size_t places) {
    return sizeof(kolk_large_table_) + places * sizeof(kolk_large_block_);
}

bool kolk_large_grow_(kolk_large_ *large, size_t places) {
    size_t bytes = table_bytes(places ? 2 * places : FIRST_PLACES);
    kolk_large_table_ *spare = (kolk_large_table_ *)kolk_memory_take_(bytes, bytes);
    if (!spare) return false;
    spare->places = places ? 2 * places : FIRST_PLACES;
    kolk_large_lock_(large);
    if (kolk_large_places_(large) == places) {
        kolk_large_table_ *old = kolk_large_table_of_(large);
        for (size_t place = 0; place < places; place++)
            if (old->blocks[place].start)
                spare->blocks[large_place(spare, old->blocks[place].start)] = old->blocks[place];
        kolk_store_(&large->table, (uintptr_t)spare, KOLK_RELEASE_);
        spare = old;
    }
    kolk_large_unlock_(large);
    if (spare) kolk_memory_release_(spare, table_bytes(spare->places));
    return true;
}

void kolk_large_drop_table_(kolk_large_ *large) {
    if (large->table) kolk_memory_release_(kolk_large_table_of_(large), table_bytes(kolk_large_places_(large)));
    large->table = 0;
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

bool kolk_large_table_is_valid_(const kolk_large_ *large) {
    size_t places = kolk_large_places_(large), count, bytes;
    if (places & (places - 1)) return false;                         /* I1 */
    if (large->count + large->moving > places / 4 * 3) return false; /* I1 */
    for (size_t place = 0; place < places; place++) {                /* I2 */
        uintptr_t start = kolk_large_table_of_(large)->blocks[place].start;
        if (start && large_place(kolk_large_table_of_(large), start) != place) return false;
    }
    sum_up(large, &count, &bytes);
    if (large->count != count || large->peak < count) return false;       /* I3 */
    if (large->bytes != bytes || large->peak_bytes < bytes) return false; /* I3 */
    return large->hole == 0;                                              /* I4 */
}

#endif
