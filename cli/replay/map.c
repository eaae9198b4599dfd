/* map.c: see map.h. */
#include "map.h"

#include <stdlib.h>

/* Returns the cell where the search for a key begins (Knuth, The Art of Computer Programming, vol. 3, 6.4:
 * multiplicative hashing). */
static size_t home(const struct map *map, uint64_t key) {
    return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - map->bits));
}

static size_t after(const struct map *map, size_t at) {
    return (at + 1) & (((size_t)1 << map->bits) - 1);
}

/* Returns the key's cell, or the empty cell where the key would go. */
static map_cell *find(const struct map *map, uint64_t key) {
    size_t at = home(map, key);
    while (map->cells[at].key != 0 && map->cells[at].key != key) at = after(map, at);
    return &map->cells[at];
}

bool map_get(const struct map *map, uint64_t key, uint32_t *value) {
    if (key == 0 || map->count == 0) return false;
    const map_cell *cell = find(map, key);
    *value = cell->value;
    return cell->key == key;
}

static bool grow(struct map *map) {
    struct map larger = {.count = map->count, .bits = map->bits ? map->bits + 1 : 10};
    larger.cells = calloc((size_t)1 << larger.bits, sizeof *larger.cells);
    if (!larger.cells) return false;
    size_t cells = map->cells ? (size_t)1 << map->bits : 0;
    for (size_t i = 0; i < cells; i++)
        if (map->cells[i].key != 0) *find(&larger, map->cells[i].key) = map->cells[i];
    free(map->cells);
    *map = larger;
    return true;
}

bool map_put(struct map *map, uint64_t key, uint32_t value) {
    bool full = !map->cells || 2 * (map->count + 1) > (size_t)1 << map->bits;
    if (full && !grow(map)) return false;
    map_cell *cell = find(map, key);
    map->count += cell->key == 0;
    *cell = (map_cell){.key = key, .value = value};
    return true;
}

/* Moves later cells of the cluster back, so that no search stops at the gap (Knuth, 6.4, algorithm R). */
void map_remove(struct map *map, uint64_t key) {
    uint32_t value;
    if (!map_get(map, key, &value)) return;
    size_t gap = (size_t)(find(map, key) - map->cells);
    for (size_t at = after(map, gap); map->cells[at].key != 0; at = after(map, at)) {
        size_t begin = home(map, map->cells[at].key);
        bool reaches = gap <= at ? begin <= gap || begin > at : begin <= gap && begin > at;
        if (!reaches) continue; /* the search for this key begins after the gap */
        map->cells[gap] = map->cells[at];
        gap = at;
    }
    map->cells[gap].key = 0;
    map->count--;
}

void map_free(struct map *map) {
    free(map->cells);
    *map = (struct map){0};
}
