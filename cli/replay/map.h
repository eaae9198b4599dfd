/* cli/replay/map.h: maps 64-bit keys to numbers. It is a hash table with linear probing, at most half full. 0 is not a
 * valid key. */
#ifndef CLI_MAP_H
#define CLI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct map_cell {
    uint64_t key; /* 0: the cell is empty */
    uint32_t value;
} map_cell;

/* If it is all zero, the map is empty. */
struct map {
    map_cell *cells; /* 2^bits cells */
    size_t count;
    unsigned bits;
};

bool map_get(const struct map *map, uint64_t key, uint32_t *value);
bool map_put(struct map *map, uint64_t key, uint32_t value); /* returns false if memory runs out */
void map_remove(struct map *map, uint64_t key);              /* if it is there */
void map_free(struct map *map);

#endif
