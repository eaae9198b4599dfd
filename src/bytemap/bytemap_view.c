/* bytemap_view.c: functions for modders: look up a handle in several pools, compare a pool's state at two moments,
 * give a pool to a game, and find a pool's arrays in a dump of a game's memory.
 *
 *     regions   | address 0x00400000, size ... |        | address 0x0f2a0000, size ... |
 *                 bytes -> | ... pool ... |               bytes -> | ... object_list ... byte_map ... |
 *
 * A dump's addresses and numbers cannot be trusted. A range of the game's memory becomes a pointer only if it is wholly
 * inside one region; nothing wraps, because differences are compared, not sums. Numbers are built from bytes, so
 * neither alignment nor the machine's byte order matters. */
#include "kolk/bytemap.h"

#include "../core/begin.h"

void *kolk_bytemap_find(const kolk_bytemap *const *pools, size_t n, int32_t handle, size_t *which) {
    for (; *which < n; ++*which) {
        void *object = kolk_bytemap_get_at(pools[*which], handle);
        if (object) return object;
    }
    return NULL;
}

/* ---- Two moments ------------------------------------------------------------------------------------------------- */

static int32_t handle_of_byte(int32_t index, uint8_t byte) {
    return byte & KOLK_BYTEMAP_FREE ? KOLK_BYTEMAP_NULL : index << 8 | byte;
}

bool kolk_bytemap_compare(const uint8_t *before, const uint8_t *after, int32_t count,
                          kolk_bytemap_difference *difference) {
    for (int32_t i = difference->next; i < count; i++) {
        int32_t old = handle_of_byte(i, before[i]), now = handle_of_byte(i, after[i]);
        if (old == now) continue;
        bool born = old == KOLK_BYTEMAP_NULL, died = now == KOLK_BYTEMAP_NULL;
        *difference = (kolk_bytemap_difference){
            .next = i + 1,
            .index = i,
            .change = born   ? KOLK_BYTEMAP_BORN
                      : died ? KOLK_BYTEMAP_DIED
                             : KOLK_BYTEMAP_REPLACED,
            .before = old,
            .after = now,
        };
        kolk_tools_wrote_(difference, sizeof *difference);
        return true;
    }
    return false;
}

/* ---- A game's memory --------------------------------------------------------------------------------------------- */

/* All games store the same numbers in the same order: two pointers, object_list and byte_map, then count, then
 * first_free or object_size, which have 32 bits. */
typedef struct game_struct {
    uint8_t pointers_at, pointer_size, size;
    bool has_object_size;
} game_struct;

static const game_struct game_structs[] = {
    [KOLK_BYTEMAP_III] = {0, 4, 0x10, false},         [KOLK_BYTEMAP_VICE_CITY] = {0, 4, 0x10, false},
    [KOLK_BYTEMAP_SAN_ANDREAS] = {0, 4, 0x14, false}, [KOLK_BYTEMAP_SAN_ANDREAS_UNREAL] = {0, 8, 0x20, false},
    [KOLK_BYTEMAP_IV] = {0, 4, 0x1c, true},           [KOLK_BYTEMAP_V] = {0, 8, 0x28, true},
    [KOLK_BYTEMAP_RDR3] = {8, 8, 0x30, true},
};

kolk_status kolk_bytemap_export(kolk_bytemap *pool, kolk_bytemap_layout layout, void *game) {
    if ((unsigned)layout > KOLK_BYTEMAP_SAN_ANDREAS_UNREAL) return KOLK_BAD_LAYOUT;
    if (game_structs[layout].pointer_size != sizeof(void *)) return KOLK_BAD_LAYOUT;
    unsigned char *bytes = (unsigned char *)game, *end = bytes + game_structs[layout].size;
    void *const arrays[] = {pool->object_list, pool->byte_map};
    int32_t *numbers = (int32_t *)(void *)(bytes + sizeof arrays); /* count, first_free */
    unsigned char *owns_its_memory = (unsigned char *)&numbers[2];
    memcpy(bytes, arrays, sizeof arrays);
    numbers[1] = pool->cursor ? *pool->cursor : pool->first_free;
    numbers[0] = pool->count;
    if (owns_its_memory < end) *owns_its_memory = false;
    if (!pool->initialized_state) return KOLK_OK;
    pool->cursor = &numbers[1];
    pool->attached = true;
    pool->bound = 0;
    kolk_relist_(pool->number, pool->name, pool->debug);
    return KOLK_OK;
}

/* Returns the dump's copy of these bytes of the game's memory, or NULL if no region has all of them. */
static const uint8_t *locate_in_dump(const kolk_bytemap_region *regions, size_t n, uint64_t address, uint64_t size) {
    for (size_t r = 0; r < n; r++) {
        const kolk_bytemap_region *at = &regions[r];
        if (address < at->address) continue;
        uint64_t offset = address - at->address;
        if (offset <= at->size && size <= at->size - offset) return (const uint8_t *)at->bytes + offset;
    }
    return NULL;
}

/* Reads a number of this many bytes as the games store it: the lowest byte first. */
static uint64_t number_in_dump(const uint8_t *bytes, unsigned size) {
    uint64_t number = 0;
    while (size-- > 0) number = number << 8 | bytes[size];
    return number;
}

kolk_status kolk_bytemap_follow(const kolk_bytemap_region *regions, size_t n, uint64_t address,
                                kolk_bytemap_layout layout, uint64_t *out) {
    if ((unsigned)layout > KOLK_BYTEMAP_RDR3) return KOLK_BAD_LAYOUT;
    unsigned size = game_structs[layout].pointer_size;
    const uint8_t *bytes = locate_in_dump(regions, n, address, size);
    if (!bytes) return KOLK_OUTSIDE;
    *out = number_in_dump(bytes, size);
    kolk_tools_wrote_(out, sizeof *out);
    return KOLK_OK;
}

kolk_status kolk_bytemap_read(const kolk_bytemap_region *regions, size_t n, uint64_t address,
                              kolk_bytemap_layout layout, size_t object_size, kolk_bytemap_view *out) {
    if ((unsigned)layout > KOLK_BYTEMAP_RDR3) return KOLK_BAD_LAYOUT;
    game_struct game = game_structs[layout];
    const uint8_t *at = locate_in_dump(regions, n, address, game.size);
    if (!at) return KOLK_OUTSIDE;
    at += game.pointers_at;
    uint64_t objects_at = number_in_dump(at, game.pointer_size);
    uint64_t bytes_at = number_in_dump(at + game.pointer_size, game.pointer_size);
    uint32_t count = (uint32_t)number_in_dump(at + 2 * game.pointer_size, 4);
    uint32_t last = (uint32_t)number_in_dump(at + 2 * game.pointer_size + 4, 4);
    if (game.has_object_size) object_size = last;
    if (object_size == 0) return KOLK_ZERO_SIZE;
    if (object_size > INT32_MAX) return KOLK_SIZE_OVERFLOW; /* so no product can wrap */
    if (count > KOLK_BYTEMAP_MAX_COUNT) return KOLK_BAD_COUNT;
    const uint8_t *objects = NULL, *bytes = NULL;
    if (count) {
        objects = locate_in_dump(regions, n, objects_at, (uint64_t)count * object_size);
        bytes = locate_in_dump(regions, n, bytes_at, count);
        if (!objects || !bytes) return KOLK_OUTSIDE;
    }
    /* read-only, unless the caller, who owns the bytes, sets .writable */
    *out = (kolk_bytemap_view){
        .object_list = (void *)(uintptr_t)objects,
        .byte_map = (uint8_t *)(uintptr_t)bytes,
        .object_size = object_size,
        .count = (int32_t)count,
        .first_free = game.has_object_size ? -1 : (int32_t)last,
    };
    kolk_tools_wrote_(out, sizeof *out);
    return KOLK_OK;
}
