/* A library for copies.c. Its steps:
 *     k e   fills a pool of its own; ends it
 *     w     initialises the program's world, with a name that lies in the library, and allocates 3 objects there
 *     u     frees an object of the world, and allocates another one
 *     d     frees all objects of the world, and ends it */
#include <stdlib.h>

#include <kolk/kolk.h>

static kolk_pool kept;

void take_step(char step, kolk_pool *world);

static void fill(kolk_pool *pool, const char *name) {
    kolk_pool_desc desc = {.name = name, .object_size = 8, .capacity = 8};
    if (kolk_pool_init(pool, &desc) != KOLK_OK) abort();
    for (int n = 0; n < 3; n++)
        if (!kolk_pool_alloc(pool)) abort();
}

static void replace_one(kolk_pool *world) {
    kolk_cursor cursor = kolk_pool_each(world);
    kolk_pool_free(world, kolk_cursor_next(&cursor));
    if (!kolk_pool_alloc(world) || kolk_pool_count(world) != 3) abort();
}

static void end(kolk_pool *pool) {
    kolk_pool_clear(pool);
    kolk_pool_deinit(pool);
}

void take_step(char step, kolk_pool *world) {
    if (step == 'k') fill(&kept, "kept");
    if (step == 'e') end(&kept);
    if (step == 'w') fill(world, "world");
    if (step == 'u') replace_one(world);
    if (step == 'd') end(world);
}
