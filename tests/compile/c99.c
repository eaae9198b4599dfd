// expect: ok
// flags: -std=gnu99 -Wpedantic -Wconversion -Wshadow -Wundef -Wdeclaration-after-statement
/* A program of C99 may use all of the typed skin. promise: README.md "Programs may be C99 or later" */
#include <kolk/kolk.h>

union shape {
    int number;
    double real;
};

KOLK_POOL_TYPE(shapes, union shape)
KOLK_POOL_MEMBER(shapes, double, real)
KOLK_SLOTMAP_TYPE(bodies, double)
KOLK_SHARED_TYPE(messages, double)
KOLK_QUEUE_TYPE(jobs, double)
KOLK_BYTEMAP_TYPE(peds, double)

static KOLK_POOL_STORAGE(union shape, 5) memory;
static KOLK_SLOTMAP_STORAGE(double, 5) map_memory;

kolk_status init(shapes *pool, bodies *map) {
    kolk_pool_desc desc = {.capacity = 5, .memory = &memory, .memory_size = sizeof memory};
    kolk_slotmap_desc map_desc = {.memory = &map_memory, .memory_size = sizeof map_memory};
    kolk_status status = bodies_init(map, &map_desc);
    return status == KOLK_OK ? shapes_init(pool, &desc) : status;
}

double *clear(shapes *pool, bodies *map) {
    KOLK_EACH(bodies, it, map) *it = 0;
    return shapes_alloc_real(pool);
}
