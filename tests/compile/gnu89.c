// expect: ok
// flags: -std=gnu89 -Wconversion -Wshadow -Wundef
/* A program in gcc's old dialect, in which `inline` has a different meaning; tests/build/headers.sh links such
 * programs. */
#include <kolk/kolk.h>

struct shape {
    int number;
};

KOLK_POOL_TYPE(shapes, struct shape)
KOLK_SLOTMAP_TYPE(bodies, double)
KOLK_SHARED_TYPE(messages, double)
KOLK_QUEUE_TYPE(jobs, double)
KOLK_BYTEMAP_TYPE(peds, double)

int use(void) {
    shapes pool;
    kolk_pool_desc desc = {0};
    desc.capacity = 3;
    if (shapes_init(&pool, &desc) != KOLK_OK) return 1;
    shapes_free(&pool, shapes_alloc(&pool));
    shapes_deinit(&pool);
    return 0;
}
