/* The game: a module that the program loads. It is compiled twice, with -DVERSION=1 and -DVERSION=2. It does not
 * contain kolk, so that it uses the program's. */
#include "../world.h"

#include <stdio.h>

#ifndef VERSION
#define VERSION 1
#endif

game_begin begin;
game_frame frame;

/* Hooks of the pool lie in this module, and end with it. */
static void reset(void *object, void *context) {
    const struct bullet *bullet = object;
    (void)context;
    printf("  version %d: bullet %d ends at %d\n", VERSION, bullet->number, bullet->x);
}

static const kolk_pool_desc desc = {.name = "bullets", .capacity = 8, .life.reset = reset};

kolk_status begin(struct world *world) {
    if (world->begun) return bullets_rebind(&world->bullets, &desc);
    kolk_status status = bullets_init(&world->bullets, &desc);
    world->begun = status == KOLK_OK;
    return status;
}

void frame(struct world *world) {
    struct bullet *bullet = bullets_alloc(&world->bullets);
    if (!bullet) return;
    *bullet = (struct bullet){.number = ++world->fired};
    if (world->fired == 1) world->first = bullets_handle_of(&world->bullets, bullet);
    KOLK_EACH(bullets, each, &world->bullets) {
        each->x += VERSION;
        if (each->x >= 5) bullets_free(&world->bullets, each);
    }
    bullet = bullets_get(&world->bullets, world->first);
    if (bullet) printf("  version %d: the first bullet is at %d\n", VERSION, bullet->x);
}
