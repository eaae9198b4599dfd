/* snapshot_block.h: blocks for tests and fuzzers of slot maps' snapshots, and the offsets of the numbers that only they
 * have, repeated here from src/slotmap/slotmap_snapshot.c. Include test.h or plain.h first. */
#ifndef TESTS_SLOTMAP_SNAPSHOT_BLOCK_H
#define TESTS_SLOTMAP_SNAPSHOT_BLOCK_H

#include "../pool/snapshot_block.h"

enum { MAP_FRESH_AT = 32, MAP_COUNT_AT = 36, MAP_WORN_AT = 40, MAP_FIRST_AT = 44, MAP_HEADER = 48 };

static inline block take_map_snapshot(const kolk_slotmap *map) {
    block made = new_block(kolk_slotmap_snapshot_size(map));
    memset(made.bytes, 0xa5, made.size); /* makes unwritten bytes visible */
    if (made.size == 0 || kolk_slotmap_snapshot(map, made.bytes, made.size) != made.size) abort();
    return made;
}

#endif
