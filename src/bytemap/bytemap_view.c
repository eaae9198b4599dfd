/* bytemap_view.c: functions for modders: look up a handle in several pools, compare a pool's state at two moments, and
 * find a pool's arrays in a dump of a game's memory.
 *
 *     regions   | address 0x00400000, size ... |        | address 0x0f2a0000, size ... |
 *                 bytes -> | ... pool ... |               bytes -> | ... object_list ... byte_map ... |
 *
 * A dump's addresses and numbers cannot be trusted. A range of the game's memory becomes a pointer only if it is wholly
 * inside one region; the test uses 64-bit arithmetic, so nothing wraps. Numbers are built from bytes, so neither
 * alignment nor the machine's byte order matters. */
#include "kolk/bytemap.h"

#include "../core/tools.h"

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

/* ---- Dumps ------------------------------------------------------------------------------------------------------- */

/* Returns the dump's copy of these bytes of the game's memory, or NULL if no region has all of them. */
static const uint8_t *locate_in_dump(const kolk_bytemap_region *regions, size_t n, uint32_t address, uint64_t size) {
    for (size_t r = 0; r < n; r++) {
        const kolk_bytemap_region *at = &regions[r];
        uint64_t offset = (uint64_t)address - at->address; /* exceeds any size if the address precedes the region */
        if (offset <= at->size && size <= at->size - offset) return (const uint8_t *)at->bytes + offset;
    }
    return NULL;
}

/* Reads a number as the games store it: the lowest byte first. */
static uint32_t number_in_dump(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

kolk_status kolk_bytemap_follow(const kolk_bytemap_region *regions, size_t n, uint32_t address, uint32_t *out) {
    const uint8_t *bytes = locate_in_dump(regions, n, address, 4);
    if (!bytes) return KOLK_OUTSIDE;
    *out = number_in_dump(bytes);
    kolk_tools_wrote_(out, sizeof *out);
    return KOLK_OK;
}

kolk_status kolk_bytemap_read(const kolk_bytemap_region *regions, size_t n, uint32_t address,
                              kolk_bytemap_layout layout, size_t object_size, kolk_bytemap_view *out) {
    if ((unsigned)layout > KOLK_BYTEMAP_SAN_ANDREAS) return KOLK_BAD_LAYOUT;
    if (object_size == 0) return KOLK_ZERO_SIZE;
    if (object_size > INT32_MAX) return KOLK_SIZE_OVERFLOW; /* too large for a 32-bit game; so no product can wrap */
    const uint8_t *pool = locate_in_dump(regions, n, address, layout == KOLK_BYTEMAP_SAN_ANDREAS ? 0x14 : 0x10);
    if (!pool) return KOLK_OUTSIDE;
    uint32_t count = number_in_dump(pool + 8);
    if (count > KOLK_BYTEMAP_MAX_COUNT) return KOLK_BAD_COUNT;
    const uint8_t *objects = NULL, *bytes = NULL;
    if (count) {
        objects = locate_in_dump(regions, n, number_in_dump(pool), (uint64_t)count * object_size);
        bytes = locate_in_dump(regions, n, number_in_dump(pool + 4), count);
        if (!objects || !bytes) return KOLK_OUTSIDE;
    }
    /* read-only, unless the caller, who owns the bytes, sets .writable */
    *out = (kolk_bytemap_view){
        .object_list = (void *)(uintptr_t)objects,
        .byte_map = (uint8_t *)(uintptr_t)bytes,
        .object_size = object_size,
        .count = (int32_t)count,
        .first_free = (int32_t)number_in_dump(pool + 12),
    };
    kolk_tools_wrote_(out, sizeof *out);
    return KOLK_OK;
}
