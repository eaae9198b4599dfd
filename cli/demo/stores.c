/* stores.c: four ways to store the sparkles. In each frame, each of them creates the newborn sparkles, moves the live
 * ones and removes those whose life is over; nothing else is measured. They differ in how they find a free place and
 * how they find the live objects:
 *
 *     malloc        a packed array of pointers: the last one moves into the gap of one that dies
 *     first pool    scans for an unused object; scans all objects to animate
 *     second pool   a free list through the dead objects; scans all objects to animate
 *     kolk          a stack of free slots and one byte per slot; visits only what is alive */
#include "sparkles.h"

#include <stdlib.h>

struct store {
    uint32_t capacity, count;
    struct sparkle **pointers; /* malloc */
    struct sparkle *objects;   /* the chapter's two pools */
    struct sparkle *first_available;
    sparkles pool; /* kolk */
};

static uint64_t allocations;

static void *counted_malloc(size_t size) {
    allocations++;
    return malloc(size);
}

static struct store *new_store(uint32_t capacity) {
    struct store *store = counted_malloc(sizeof *store);
    if (store) *store = (struct store){.capacity = capacity};
    return store;
}

static struct store *no_memory(struct store *store) {
    free(store);
    return NULL;
}

/* ---- malloc ------------------------------------------------------------------------------------------------------ */

static struct store *malloc_begin(uint32_t capacity) {
    struct store *store = new_store(capacity);
    if (!store) return NULL;
    store->pointers = counted_malloc(capacity * sizeof(struct sparkle *));
    return store->pointers ? store : no_memory(store);
}

static uint32_t malloc_create(struct store *store, const struct sparkle *births, uint32_t count) {
    uint32_t refused = 0;
    for (uint32_t n = 0; n < count; n++) {
        struct sparkle *object = store->count < store->capacity ? counted_malloc(sizeof *object) : NULL;
        if (!object) {
            refused++;
            continue;
        }
        *object = births[n];
        store->pointers[store->count++] = object;
    }
    return refused;
}

static uint64_t malloc_animate(struct store *store, bool physics) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < store->count;) {
        struct sparkle *object = store->pointers[n];
        if (!sparkle_animate(object, physics)) {
            n++;
            continue;
        }
        sum += sparkle_checksum(object);
        free(object);
        store->pointers[n] = store->pointers[--store->count];
    }
    return sum;
}

static uint64_t malloc_alive(const struct store *store) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < store->count; n++) sum += sparkle_checksum(store->pointers[n]);
    return sum;
}

static void malloc_end(struct store *store) {
    while (store->count > 0) free(store->pointers[--store->count]);
    free(store->pointers);
    free(store);
}

/* ---- The chapter's first pool ------------------------------------------------------------------------------------ */

static struct store *scan_begin(uint32_t capacity) {
    struct store *store = new_store(capacity);
    if (!store) return NULL;
    store->objects = counted_malloc(capacity * sizeof *store->objects);
    if (!store->objects) return no_memory(store);
    for (uint32_t n = 0; n < capacity; n++) store->objects[n].frames_left = 0; /* the constructor: not in use */
    return store;
}

static uint32_t scan_create(struct store *store, const struct sparkle *births, uint32_t count) {
    uint32_t refused = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t at = 0;
        while (at < store->capacity && store->objects[at].frames_left > 0) at++;
        if (at == store->capacity)
            refused++;
        else
            store->objects[at] = births[n];
    }
    return refused;
}

static uint64_t scan_animate(struct store *store, bool physics) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < store->capacity; n++) {
        struct sparkle *object = &store->objects[n];
        if (object->frames_left > 0 && sparkle_animate(object, physics)) sum += sparkle_checksum(object);
    }
    return sum;
}

static uint64_t objects_alive(const struct store *store) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < store->capacity; n++)
        if (store->objects[n].frames_left > 0) sum += sparkle_checksum(&store->objects[n]);
    return sum;
}

static void objects_end(struct store *store) {
    free(store->objects);
    free(store);
}

/* ---- The chapter's second pool ----------------------------------------------------------------------------------- */

static struct store *list_begin(uint32_t capacity) {
    struct store *store = scan_begin(capacity);
    if (!store) return NULL;
    for (uint32_t n = capacity; n-- > 0;) { /* the first object is available, and each leads to the next */
        store->objects[n].next = store->first_available;
        store->first_available = &store->objects[n];
    }
    return store;
}

static uint32_t list_create(struct store *store, const struct sparkle *births, uint32_t count) {
    uint32_t refused = 0;
    for (uint32_t n = 0; n < count; n++) {
        struct sparkle *object = store->first_available;
        if (!object) {
            refused++;
            continue;
        }
        store->first_available = object->next;
        *object = births[n];
    }
    return refused;
}

static uint64_t list_animate(struct store *store, bool physics) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < store->capacity; n++) {
        struct sparkle *object = &store->objects[n];
        if (object->frames_left <= 0 || !sparkle_animate(object, physics)) continue;
        sum += sparkle_checksum(object);
        object->next = store->first_available;
        store->first_available = object;
    }
    return sum;
}

/* ---- kolk -------------------------------------------------------------------------------------------------------- */

static struct store *kolk_begin_(uint32_t capacity) {
    struct store *store = new_store(capacity);
    if (!store) return NULL;
    kolk_pool_desc desc = {.name = "sparkles", .capacity = capacity};
    return sparkles_init(&store->pool, &desc) == KOLK_OK ? store : no_memory(store);
}

static uint32_t kolk_create(struct store *store, const struct sparkle *births, uint32_t count) {
    uint32_t refused = 0;
    for (uint32_t n = 0; n < count; n++) {
        struct sparkle *object = sparkles_alloc(&store->pool);
        if (object)
            *object = births[n];
        else
            refused++;
    }
    return refused;
}

static uint64_t kolk_animate(struct store *store, bool physics) {
    uint64_t sum = 0;
    KOLK_EACH(sparkles, object, &store->pool) {
        if (!sparkle_animate(object, physics)) continue;
        sum += sparkle_checksum(object);
        sparkles_free(&store->pool, object);
    }
    return sum;
}

static uint64_t kolk_alive(const struct store *store) {
    uint64_t sum = 0;
    KOLK_EACH(sparkles, object, &store->pool) sum += sparkle_checksum(object);
    return sum;
}

static void kolk_end(struct store *store) {
    sparkles_deinit(&store->pool);
    free(store);
}

sparkles *store_pool(struct store *store) {
    return &store->pool;
}

uint64_t store_allocations(void) {
    return allocations;
}

const struct storage storages[STORAGES] = {
    {"malloc, alone", true, malloc_begin, malloc_create, malloc_animate, malloc_alive, malloc_end},
    {"malloc, in a game", false, malloc_begin, malloc_create, malloc_animate, malloc_alive, malloc_end},
    {"first pool: scan", false, scan_begin, scan_create, scan_animate, objects_alive, objects_end},
    {"second pool: list", false, list_begin, list_create, list_animate, objects_alive, objects_end},
    {"kolk", false, kolk_begin_, kolk_create, kolk_animate, kolk_alive, kolk_end},
};
