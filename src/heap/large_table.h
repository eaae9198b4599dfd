/* large_table.h: the table of large blocks, which finds the block that starts at an address.
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
#ifndef KOLK_SRC_HEAP_LARGE_TABLE_H
#define KOLK_SRC_HEAP_LARGE_TABLE_H

#include "large.h"

/* Queries take the lock too, and may be the first to find a hole. */
void kolk_large_lock_(const kolk_large_ *large);
void kolk_large_unlock_(const kolk_large_ *large);

/* Doubles a table that had this many places, unless another thread has done so meanwhile. False: no memory. Call it
 * without the lock. */
bool kolk_large_grow_(kolk_large_ *large, size_t places);

/* Releases the table's memory. No other thread may be using the table. */
void kolk_large_drop_table_(kolk_large_ *large);

/* ---- With the lock ----------------------------------------------------------------------------------------------- */

static inline kolk_large_table_ *kolk_large_table_of_(const kolk_large_ *large) {
    return (kolk_large_table_ *)large->table;
}

static inline size_t kolk_large_places_(const kolk_large_ *large) {
    return large->table ? kolk_large_table_of_(large)->places : 0;
}

/* Does the table have room for one more block, in addition to those that are being resized? */
static inline bool kolk_large_has_room_(const kolk_large_ *large) {
    return large->count + large->moving < kolk_large_places_(large) / 4 * 3;
}

/* The entry with this start; NULL: none. */
kolk_large_block_ *kolk_large_entry_(const kolk_large_ *large, const void *start);

/* Enters a block; there must be room. */
void kolk_large_enter_(kolk_large_ *large, const kolk_large_block_ *block);

void kolk_large_remove_(kolk_large_ *large, const kolk_large_block_ *entry);

bool kolk_large_table_is_valid_(const kolk_large_ *large);

#endif
