/* slotmap_sort.c: sorts a slot map in the order that the user defines.
 *
 * Heapsort sorts the owners (4 bytes each) by the objects that their cells still point to. It works in place, and takes
 * O(n log n) time for any input. Equal objects are ordered by their places, which makes the sort stable and its result
 * the same on every platform. Then each object moves once, along the cycles of the permutation (Knuth, The Art of
 * Computer Programming 3, 5.2, exercise 10). I2 is broken until the end. */
#include "slotmap_inside.h"

#include <string.h>

typedef struct order {
    const kolk_slotmap *map;
    int (*compare)(const void *a, const void *b, void *context);
    void *context;
} order;

/* Does the object of slot `a` come before the object of slot `b`? */
static bool is_before(const order *by, uint32_t a, uint32_t b) {
    uint32_t at_a = by->map->cells[a].place, at_b = by->map->cells[b].place;
    KOLK_ASSERT_(at_a < by->map->count && at_b < by->map->count);
    int sign = by->compare(map_object_at(by->map, at_a), map_object_at(by->map, at_b), by->context);
    return sign < 0 || (sign == 0 && at_a < at_b);
}

static bool is_sorted(const order *by, const uint32_t *slots, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (is_before(by, slots[i], slots[i - 1])) return false;
    return true;
}

/* Inserts a slot into a heap of n slots, in which the place `root` is free. */
static void sift_down(const order *by, uint32_t *heap, uint32_t n, uint32_t root, uint32_t slot) {
    KOLK_ASSERT_(root < n);
    for (uint64_t child; (child = 2 * (uint64_t)root + 1) < n; root = (uint32_t)child) {
        if (child + 1 < n && is_before(by, heap[child], heap[child + 1])) child++;
        if (!is_before(by, slot, heap[child])) break;
        heap[root] = heap[child];
    }
    heap[root] = slot;
}

/* Heapsort: Williams, Algorithm 232, 1964; Floyd, Algorithm 245, 1964. */
static void sort_slots(const order *by, uint32_t *slots, uint32_t n) {
    for (uint32_t i = n / 2; i-- > 0;) sift_down(by, slots, n, i, slots[i]);
    for (uint32_t last = n; last-- > 1;) {
        uint32_t slot = slots[last];
        slots[last] = slots[0];
        sift_down(by, slots, last, 0, slot);
    }
}

static void swap_bytes(unsigned char *a, unsigned char *b, size_t size) {
    unsigned char part[256];
    for (size_t n; size; a += n, b += n, size -= n) {
        n = size < sizeof part ? size : sizeof part;
        memcpy(part, a, n);
        memcpy(a, b, n);
        memcpy(b, part, n);
    }
}

/* Moves the objects of one cycle to the places of their owners. The object at `first` is put aside and comes back last.
 * If objects are moved as bytes, swaps carry it along: it is always at the place that is filled next. */
static void follow_cycle(kolk_slotmap *map, uint32_t first) {
    KOLK_ASSERT_(first < map->count);
    uint32_t to = first;
    if (map->move) map->move(NULL, map_object_at(map, first), map->context);
    kolk_slotmap_tell_of_move_(map, first, first, map->max_capacity);
    for (uint32_t from; (from = map->cells[map->owners[to]].place) != first; to = from) {
        if (map->move)
            map->move(map_object_at(map, to), map_object_at(map, from), map->context);
        else
            swap_bytes(map_object_at(map, to), map_object_at(map, from), map->stride);
        map->cells[map->owners[to]].place = to;
        kolk_slotmap_tell_of_move_(map, to, from, to);
    }
    map->cells[map->owners[to]].place = to;
    if (map->move) map->move(map_object_at(map, to), NULL, map->context);
    kolk_slotmap_tell_of_move_(map, to, map->max_capacity, to);
}

/* Returns false if they are already sorted. */
static bool sort_map(kolk_slotmap *map, const order *by) {
    if (is_sorted(by, map->owners, map->count)) return false;
    sort_slots(by, map->owners, map->count);
    for (uint32_t place = 0; place < map->count; place++)
        if (map->cells[map->owners[place]].place != place) follow_cycle(map, place);
    return true;
}

KOLK_NOINLINE_ void kolk_slotmap_sort(kolk_slotmap *map, int (*compare)(const void *a, const void *b, void *context),
                                      void *context) {
    order by = {map, compare, context};
    if (kolk_slotmap_is_barred_(map, NO_HOOK, "sort", SITE)) return;
    bool moved = kolk_slotmap_close_holes_(map, true, SITE);
    uint8_t before = enter_map_hook(map, HOOK_LOOKS);
    moved |= sort_map(map, &by);
    leave_map_hook(map, before);
    if (moved) kolk_slotmap_readdress_(map);
}
