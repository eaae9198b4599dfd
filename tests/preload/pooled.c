/* A pool whose objects live for 200 steps and more, one whose objects live for none, and blocks of no malloc. record.sh
 * records them. */
#include "kolk/kolk.h"
#include "../../preload/record/kolk_record.h"

#include <stdlib.h>

struct bullet {
    int dies_at;
    float position[3];
};
KOLK_POOL_TYPE(bullets, struct bullet)

int main(void) {
    bullets pool;
    kolk_pool other; /* of objects that are not aligned to 8 bytes */
    KOLK_RECORD_POOLS();
    kolk_pool_desc desc = {.name = "bullets", .capacity = 1000}, rest = {.object_size = 4, .capacity = 10};
    if (bullets_init(&pool, &desc) != KOLK_OK || kolk_pool_init(&other, &rest) != KOLK_OK) return 1;
    for (int step = 0; step < 2000; step++) {
        struct bullet *bullet = bullets_alloc(&pool);
        if (!bullet) return 1;
        bullet->dies_at = step + 200 + step % 7;
        KOLK_EACH(bullets, each, &pool)
            if (each->dies_at <= step) bullets_free(&pool, each);
        void *two[] = {kolk_pool_alloc(&other), kolk_pool_alloc(&other)};
        for (int n = 0; n < 2; n++) kolk_pool_free(&other, two[n]);
    }
    char *text = malloc(100), inside[64];
    KOLK_RECORD_ALLOC(inside, 8); /* a zone that begins where a block does, and one that is on the stack */
    KOLK_RECORD_ALLOC(text, 50);
    KOLK_RECORD_RESIZE(text, text + 49, 51);
    KOLK_RECORD_FREE(text + 49);
    KOLK_RECORD_FREE(inside);
    KOLK_RECORD_FREE(NULL);
    free(text);
    bullets_clear(&pool);
    bullets_deinit(&pool);
    kolk_pool_deinit(&other);
    return 0;
}
