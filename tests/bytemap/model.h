/* model.h: the GTA trilogy's pool in the plainest form, for comparison with kolk_bytemap: the steps of the
 * documentation in order, slots as numbers, nothing shared with the library. Where the originals have no defined result
 * (they read or write out of bounds, or don't notice), it has the result that bytemap.h promises. */
#ifndef TESTS_BYTEMAP_MODEL_H
#define TESTS_BYTEMAP_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define GTA_SLOTS 64

typedef struct gta_pool {
    struct {
        bool free;
        int seed;
    } slots[GTA_SLOTS];
    int count, first_free;
    bool seed_of_handle;
} gta_pool;

static inline void gta_clear(gta_pool *pool) {
    for (int i = 0; i < pool->count; i++) {
        pool->slots[i].seed = 0;
        pool->slots[i].free = true;
    }
}

static inline void gta_initialise(gta_pool *pool, int count) {
    pool->count = count;
    pool->first_free = -1;
    gta_clear(pool);
}

/* Returns the handle of a slot, whether it is in use or free. */
static inline int32_t gta_handle(const gta_pool *pool, int index) {
    return index * 256 + (pool->slots[index].free ? 128 : 0) + pool->slots[index].seed;
}

/* Returns the slot of a handle, or -1. */
static inline int gta_get_at(const gta_pool *pool, int32_t handle) {
    if (handle < 0 || handle / 256 >= pool->count) return -1;
    int index = handle / 256;
    if (pool->slots[index].free) return -1;
    return gta_handle(pool, index) == handle ? index : -1;
}

static inline int gta_get_slot(const gta_pool *pool, int index) {
    return index >= 0 && index < pool->count && !pool->slots[index].free ? index : -1;
}

/* Returns the slot, or -1. */
static inline int gta_new(gta_pool *pool) {
    bool wrapped = false;
    if (pool->count == 0) return pool->first_free = -1;
    for (;;) {
        pool->first_free++;
        if (pool->first_free == pool->count) {
            if (wrapped) {
                pool->first_free = -1;
                return -1;
            }
            wrapped = true;
            pool->first_free = 0;
        }
        int at = pool->first_free;
        if (pool->slots[at].free) {
            pool->slots[at].free = false;
            pool->slots[at].seed = (pool->slots[at].seed + 1) % 128;
            return at;
        }
    }
}

static inline int gta_new_at(gta_pool *pool, int32_t handle) {
    if (handle < 0 || handle / 256 >= pool->count) return -1;
    int index = handle / 256;
    if (!pool->slots[index].free) return -1;
    pool->slots[index].free = false;
    pool->slots[index].seed = pool->seed_of_handle ? handle % 128 : (pool->slots[index].seed + 1) % 128;
    for (pool->first_free = 0; pool->first_free < pool->count; pool->first_free++)
        if (pool->slots[pool->first_free].free) return index;
    pool->first_free = -1;
    return index;
}

/* Returns false if there is no such object to delete. */
static inline bool gta_delete(gta_pool *pool, int index) {
    if (gta_get_slot(pool, index) == -1) return false;
    pool->slots[index].free = true;
    if (index < pool->first_free) pool->first_free = index;
    return true;
}

static inline int gta_used(const gta_pool *pool) {
    int used = 0;
    for (int i = 0; i < pool->count; i++) used += !pool->slots[i].free;
    return used;
}

#endif
