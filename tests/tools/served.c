/* Gives objects of three sizes 100 lives each, for count_blocks.c. */
#include <kolk/kolk.h>

static void live(size_t size, size_t align, bool keep) {
    kolk_pool pool;
    kolk_pool_desc desc = {.object_size = size, .object_align = align, .capacity = 16, .life.keep = keep};
    if (kolk_pool_init(&pool, &desc) != KOLK_OK) return;
    for (int n = 0; n < 50; n++) {
        void *object = kolk_pool_alloc(&pool), *other = kolk_pool_alloc_zeroed(&pool);
        if (n < 45) kolk_pool_free(&pool, object);
        kolk_pool_free(&pool, other);
    }
    kolk_pool_deinit(&pool);
}

int main(void) {
    live(4040, 0, false);
    live(4048, 1024, false);
    live(4056, 0, true); /* a block for each slot that was ever used */
    return 0;
}
