#include "kolk.h"
#include <stdio.h>

struct bullet {
    float x, dx;
};
KOLK_POOL_TYPE(bullets, struct bullet)

int main(void) {
    bullets pool;
    if (bullets_init(&pool, &(kolk_pool_desc){.name = "bullets", .capacity = 256}) != KOLK_OK) return 1;
    struct bullet *bullet = bullets_alloc(&pool);
    if (!bullet) return 1; /* all 256 fly */
    *bullet = (struct bullet){.dx = 1};
    bullets_handle handle = bullets_handle_of(&pool, bullet);
    KOLK_EACH(bullets, each, &pool) each->x += each->dx; /* visits live bullets only */
    printf("%u alive, at x = %g\n", bullets_count(&pool), bullets_get(&pool, handle)->x);
    bullets_free(&pool, bullet);
    printf("the old handle gives %s\n", bullets_get(&pool, handle) ? "somebody else's bullet" : "NULL");
    bullets_deinit(&pool);
}
