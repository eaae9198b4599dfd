/* cli/replay/map.h: numbers by keys of 64 bits: a hash table with linear probing, at most half full. Key 0 is no
 * key. */
#ifndef CLI_MAP_H
#define CLI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct map_cell {
    uint64_t key; /* 0: the cell is empty */
    uint32_t value;
} map_cell;

/* All zero: an empty map. */
struct map {
    map_cell *cells; /* 2^bits of them */
    size_t count;
    unsigned bits;
};

bool map_get(const struct map *map, uint64_t key, uint32_t *value);
bool map_put(struct map *map, uint64_t key, uint32_t value); /* false: there is no memory */
void map_remove(struct map *map, uint64_t key);              /* if it is there */
void map_free(struct map *map);

#endif
