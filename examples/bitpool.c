/* A pool of 15 objects whose state is one bit each: 1 is free, 0 is in use. GetObject is kolk_pool_alloc with
 * KOLK_REUSE_LOWEST, which takes the lowest free bit. ReturnObject is kolk_pool_free, which sets the bit again. */
#include "kolk.h"
#include <stdio.h>

struct bullet {
    float x, y;
};
KOLK_POOL_TYPE(bitpool, struct bullet)

/* Prints bitmap[0] to the left of bitmap[1]. Within a byte, the lowest bit, which is the first slot, is on the right,
 * as in written numbers. The pool ends at slot 14, so the highest bit of bitmap[1] is always 0: there is no such slot
 * to be free. */
static void print_bits(const bitpool *pool, const char *call) {
    printf("%-18s", call);
    for (uint32_t byte = 0; byte <= (pool->pool.capacity - 1) / 8; byte++) {
        putchar(' ');
        for (uint32_t bit = 8; bit-- > 0;) {
            uint32_t slot = 8 * byte + bit;
            putchar(slot < pool->pool.capacity && !bitpool_at(pool, slot) ? '1' : '0');
        }
    }
    printf("  %2u available\n", bitpool_available(pool));
}

static struct bullet *get_object(bitpool *pool) {
    struct bullet *object = bitpool_alloc(pool);
    char call[32] = "GetObject: nullptr";
    if (object) snprintf(call, sizeof call, "GetObject: %u", bitpool_index(pool, object));
    print_bits(pool, call);
    return object;
}

static void return_object(bitpool *pool, struct bullet *object) {
    char call[32];
    snprintf(call, sizeof call, "ReturnObject: %u", bitpool_index(pool, object));
    bitpool_free(pool, object);
    print_bits(pool, call);
}

int main(void) {
    enum { SIZE = 15 };
    bitpool pool;
    struct bullet *objects[SIZE];
    kolk_pool_desc desc = {.name = "bitpool", .capacity = SIZE, .reuse = KOLK_REUSE_LOWEST};
    if (bitpool_init(&pool, &desc) != KOLK_OK) return 1;

    print_bits(&pool, "a new pool");
    for (int n = 0; n < SIZE; n++) objects[n] = get_object(&pool); /* 0, 1, 2 ... */
    get_object(&pool);                                             /* none is free, so it returns no object */

    return_object(&pool, objects[12]);
    return_object(&pool, objects[3]);
    return_object(&pool, objects[7]);
    for (int n = 0; n < 3; n++) get_object(&pool); /* 3, 7, 12: the lowest first, in whatever order they were freed */

    bitpool_clear(&pool);
    print_bits(&pool, "clear");
    bitpool_deinit(&pool);
}
