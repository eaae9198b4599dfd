/* runs: sample */
/* fuzz_snapshot.c: restores a pool or a slot map from any bytes, and another one by converting its objects. The first
 * byte chooses it: a slot map if the two lowest bits are set. The rest is a block, whose checksum is corrected if the
 * highest bit of the first byte is set. Afterwards the pool or map is either unchanged or valid, and all operations
 * keep it valid. In both cases it can be saved and restored to the same state. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/help/plain.h"

#include "../tests/slotmap/snapshot_block.h"

#define check(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition);                                          \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#define SLOTS 70u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

/* The bits of `choice` are: order (2 bits, not both set), generations (2), debug mode, growing, ages, and bit 7, which
 * is used elsewhere. */
static void make(kolk_pool *pool, unsigned choice) {
    kolk_pool_desc desc = {.name = "fuzz", .object_size = 3, .capacity = SLOTS};
    desc.reuse = (kolk_reuse)(choice % 4);
    desc.generations = (kolk_generations)(choice / 4 % 4 % 3);
    if (choice / 16 % 2) desc.debug = "fill,guard,quarantine=3";
    if (choice / 32 % 2) desc.capacity = 1, desc.max_capacity = SLOTS;
    desc.ages = choice / 64 % 2;
    check(kolk_pool_init(pool, &desc) == KOLK_OK);
}

/* Uses an object that is alive and one that is dead. */
static void use(kolk_pool *pool) {
    void *objects[SLOTS];
    uint32_t n = kolk_pool_alloc_n(pool, objects, 5);
    for (uint32_t i = 0; i < n; i++) memset(objects[i], (int)i, 3);
    for (uint32_t i = 0; i < n; i += 2) kolk_pool_free(pool, objects[i]);
    check(kolk_pool_is_valid(pool));
}

/* Allocates all free slots and frees them again. */
static void drain(kolk_pool *pool) {
    void *object;
    uint32_t available = pool->max_capacity - kolk_pool_count(pool) -
                         (pool->generations == KOLK_GENERATIONS_STRICT ? pool->worn.count : 0),
             n = 0;
    while ((object = kolk_pool_alloc(pool)) != NULL) {
        memset(object, 0x5a, 3);
        n++;
    }
    check(n == available && kolk_pool_is_valid(pool));
    kolk_cursor cursor = kolk_pool_each(pool);
    while ((object = kolk_cursor_next(&cursor)) != NULL) kolk_pool_free(pool, object);
    check(kolk_pool_is_valid(pool) && kolk_pool_count(pool) == 0);
}

/* Reads all saved bytes, and writes all of the object. */
static void convert(void *object, const void *saved, size_t saved_size, void *context) {
    unsigned char sum = 0;
    for (size_t i = 0; i < saved_size; i++) sum ^= ((const unsigned char *)saved)[i];
    memset(object, sum, 3);
    ++*(uint32_t *)context;
}

/* Restores a pool from the same bytes, whatever the size of the objects in them. */
static void restore_converted(block given, unsigned choice) {
    kolk_pool pool;
    uint32_t calls = 0;
    make(&pool, choice);
    use(&pool);
    uint32_t before = kolk_pool_count(&pool);
    kolk_status status = kolk_pool_restore_converted(&pool, given.bytes, given.size, convert, &calls);
    check(kolk_pool_is_valid(&pool));
    check(kolk_pool_count(&pool) == (status == KOLK_OK ? calls : before));
    check(status == KOLK_OK || calls == 0);
    drain(&pool);
    kolk_pool_deinit(&pool);
}

static void fuzz_pool(block given, unsigned choice) {
    kolk_pool pool;
    make(&pool, choice);
    use(&pool);
    block before = take_snapshot(&pool);
    restore_converted(given, choice);
    kolk_status status = kolk_pool_restore(&pool, given.bytes, given.size);
    check(kolk_pool_is_valid(&pool));
    block after = take_snapshot(&pool);
    if (status != KOLK_OK) {
        put_number(before, CAPACITY_AT, pool.capacity);
        seal(before);
        check(equals(before, after));
    }
    drain(&pool);
    check(kolk_pool_restore(&pool, after.bytes, after.size) == KOLK_OK);
    block again = take_snapshot(&pool);
    put_number(again, CAPACITY_AT, number_in(after, CAPACITY_AT));
    seal(again);
    check(equals(after, again));
    drain(&pool);
    kolk_pool_deinit(&pool);
    free(before.bytes);
    free(after.bytes);
    free(again.bytes);
}

/* ---- Slot maps --------------------------------------------------------------------------------------------------- */

/* The bits of `choice` are, from bit 2 on: fills, moving, growing. */
static void make_map(kolk_slotmap *map, unsigned choice) {
    static const char *const debugs[] = {NULL, "fill", "move", "fill,move"};
    kolk_slotmap_desc desc = {.name = "fuzz", .object_size = 3, .capacity = SLOTS, .debug = debugs[choice / 4 % 4]};
    if (choice / 16 % 2) desc.capacity = 1, desc.max_capacity = SLOTS;
    check(kolk_slotmap_init(map, &desc) == KOLK_OK);
    kolk_handle handles[5];
    for (int i = 0; i < 5; i++) memset(kolk_slotmap_add(map, &handles[i]), i, 3);
    for (int i = 0; i < 5; i += 2) check(kolk_slotmap_remove(map, handles[i]));
    check(kolk_slotmap_is_valid(map));
}

/* Adds objects until the map is full, and removes all by their handles. */
static void drain_map(kolk_slotmap *map) {
    void *object;
    while ((object = kolk_slotmap_add(map, NULL)) != NULL) memset(object, 0x5a, 3);
    check(kolk_slotmap_count(map) == SLOTS && kolk_slotmap_is_valid(map));
    while (kolk_slotmap_count(map))
        check(kolk_slotmap_remove(map, kolk_slotmap_handle_of(map, kolk_slotmap_at(map, 0))));
    check(kolk_slotmap_is_valid(map));
}

static void fuzz_map(block given, unsigned choice) {
    kolk_slotmap map;
    uint32_t calls = 0;
    make_map(&map, choice);
    kolk_status status = kolk_slotmap_restore_converted(&map, given.bytes, given.size, convert, &calls);
    check(kolk_slotmap_is_valid(&map) && calls == (status == KOLK_OK ? kolk_slotmap_count(&map) : 0));
    drain_map(&map);
    kolk_slotmap_deinit(&map);

    make_map(&map, choice);
    block before = take_map_snapshot(&map);
    status = kolk_slotmap_restore(&map, given.bytes, given.size);
    check(kolk_slotmap_is_valid(&map));
    block after = take_map_snapshot(&map);
    check(equals(after, status == KOLK_OK ? given : before));
    drain_map(&map);
    check(kolk_slotmap_restore(&map, after.bytes, after.size) == KOLK_OK);
    block again = take_map_snapshot(&map);
    check(equals(after, again));
    drain_map(&map);
    kolk_slotmap_deinit(&map);
    free(before.bytes);
    free(after.bytes);
    free(again.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    setenv("KOLK_BYPASS", "0", 1);
    block given = new_block(size - 1);
    memcpy(given.bytes, data + 1, given.size);
    bool is_map = *data % 4 == 3;
    if (*data & 0x80 && given.size > (is_map ? MAP_HEADER : HEADER) && given.size % 8 == 0) seal(given);
    if (is_map)
        fuzz_map(given, *data);
    else
        fuzz_pool(given, *data);
    free(given.bytes);
    return 0;
}
