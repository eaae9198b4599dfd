/* How many different handles can a pool give? The trilogy's pool has 7 bits for each slot. Here some objects stay, all
 * other slots are reused many times, and every handle is recorded. The documentation's formula for the number of
 * handles is free * 128 + busy, and it gives 1 divided by this as the probability that a handle is not unique.
 * kolk_handle has 32 bits for each slot. */
#include "kolk.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SLOTS 4
#define PEDS  140  /* slots of a pool of the games */
#define LIVES 1000 /* lives of each slot: far more than there are seeds */

/* Counts the distinct handles of a pool in which the first `busy` objects stay. */
static int32_t reachable(int32_t count, int32_t busy) {
    static kolk_bytemap pool;
    static bool seen[PEDS << 8];
    memset(seen, 0, sizeof seen);
    if (kolk_bytemap_initialise(&pool, count, 1) != KOLK_OK) return -1;
    for (int32_t i = 0; i < busy; i++) kolk_bytemap_new(&pool);
    int32_t distinct = 0;
    for (int life = 0; life < LIVES; life++) {
        while (kolk_bytemap_new(&pool)) {}
        for (int32_t h = -1; (h = kolk_bytemap_next_handle(&pool, h)) != -1; seen[h] = true) distinct += !seen[h];
        for (int32_t i = busy; i < count; i++) kolk_bytemap_delete(&pool, kolk_bytemap_get_slot(&pool, i));
    }
    kolk_bytemap_flush(&pool);
    return distinct;
}

/* Counts the lives of one slot until its first handle repeats. */
static int repeat_distance(void) {
    static kolk_bytemap pool;
    if (kolk_bytemap_initialise(&pool, 1, 1) != KOLK_OK) return -1;
    void *object = kolk_bytemap_new(&pool);
    int32_t first = kolk_bytemap_get_index(&pool, object);
    int lives = 0;
    do kolk_bytemap_delete(&pool, object), object = kolk_bytemap_new(&pool), lives++;
    while (kolk_bytemap_get_index(&pool, object) != first);
    kolk_bytemap_flush(&pool);
    return lives;
}

/* The same for kolk_pool: allocates an object with the last generation, to skip four billion lives. */
static uint64_t repeat_distance_of_kolk(void) {
    kolk_pool pool;
    if (kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = 1, .capacity = 1}) != KOLK_OK) return 0;
    void *object = kolk_pool_alloc(&pool);
    kolk_handle first = kolk_pool_handle_of(&pool, object);
    kolk_pool_free(&pool, object);
    kolk_handle last = kolk_handle_unpack(kolk_handle_pack(first) | UINT64_C(0xffffffff) << 32);
    object = kolk_pool_alloc_at(&pool, last);
    kolk_pool_free(&pool, object);
    object = kolk_pool_alloc(&pool); /* the worn-out slot starts again, because the pool would otherwise be full */
    bool same = kolk_handle_equal(kolk_pool_handle_of(&pool, object), first);
    kolk_pool_deinit(&pool);
    return same ? (kolk_handle_pack(last) >> 32) - (kolk_handle_pack(first) >> 32) + 1 : 0;
}

static void print_slots(kolk_bytemap *pool, const char *call, int32_t handle) {
    printf("%-11s %4d  ", call, handle);
    for (int32_t slot = 0; slot < SLOTS; slot++) printf(" %02x", pool->byte_map[slot]);
    printf("  first_free %2d  257: %s\n", pool->first_free, kolk_bytemap_get_at(pool, 257) ? "an object" : "NULL");
}

/* Four slots, byte by byte: a byte is a slot's seed, and 0x80 if it is free. New moves on before it looks, so slot 1
 * waits until first_free has come round. Its first handle, 257, is stale until the seed has gone round. */
static void show_slots(void) {
    static kolk_bytemap pool;
    int32_t handle = -1;
    if (kolk_bytemap_initialise(&pool, SLOTS, 1) != KOLK_OK) return;
    print_slots(&pool, "Initialise", handle);
    for (int n = 0; n < 6; n++) {
        if (n == 3) kolk_bytemap_delete(&pool, kolk_bytemap_get_at(&pool, 257));
        if (n == 3) print_slots(&pool, "Delete", 257);
        void *object = kolk_bytemap_new(&pool);
        handle = object ? kolk_bytemap_get_index(&pool, object) : -1;
        print_slots(&pool, "New", handle);
    }
    while (handle != 257) {
        kolk_bytemap_delete(&pool, kolk_bytemap_get_slot(&pool, 1));
        handle = kolk_bytemap_get_index(&pool, kolk_bytemap_new(&pool));
    }
    print_slots(&pool, "... at last", handle);
    kolk_bytemap_flush(&pool);
}

/* Prints the probability given in the documentation: 1 / (free * 128 + busy). */
static void print_case(const char *name, int32_t busy, const char *formula, int32_t expected) {
    int32_t handles = reachable(PEDS, busy);
    printf("%-5s case: 1 of %5d handles, %6.4f %%; %s is %d%s\n", name, handles, 100.0 / handles, formula, expected,
           handles == expected ? "" : "  NOT EQUAL");
}

int main(void) {
    uint64_t lives = repeat_distance_of_kolk();
    show_slots();
    printf("slots  busy  handles  free * 128 + busy  kolk_handle\n");
    for (int32_t count = 1; count <= SLOTS; count++) {
        for (int32_t busy = 0; busy <= count; busy++) {
            int32_t counted = reachable(count, busy), formula = (count - busy) * 128 + busy;
            printf("%5d %5d %8d %18d %12" PRIu64 "%s\n", count, busy, counted, formula,
                   (uint64_t)(count - busy) * lives + (uint64_t)busy, counted == formula ? "" : "  NOT EQUAL");
        }
    }
    printf("%d slots:\n", PEDS);
    print_case("worst", PEDS - 1, "128 + (count - 1)", 128 + (PEDS - 1)); /* the last object is removed and added */
    print_case("best", 0, "count * 128", PEDS * 128);                     /* an empty pool is filled, from any seeds */
    printf("a slot's handle comes again after %d lives; a kolk_handle after %" PRIu64 "\n", repeat_distance(), lives);
}
