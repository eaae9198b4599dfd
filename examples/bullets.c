/* Handles that go stale. Two homing missiles follow the same ship. The first one hits, and a new ship is launched into
 * the slot of the old one. A pointer would still point there, so the second missile would follow the new ship. With its
 * handle, it gets NULL instead, and flies on. */
#include "kolk.h"
#include <stdio.h>

struct ship {
    const char *name;
    int x;
};
KOLK_POOL_TYPE(ships, struct ship)

struct bullet {
    const char *name;
    int x, speed;
    ships_handle target; /* not a struct ship *, because the ship may be gone before the missile */
};
KOLK_POOL_TYPE(bullets, struct bullet)

static ships_handle launch(ships *fleet, const char *name, int x) {
    struct ship *ship = ships_alloc(fleet);
    if (!ship) return (ships_handle){{0}}; /* the null handle, for which get always returns NULL */
    *ship = (struct ship){name, x};
    printf("%s is launched into slot %u\n", name, ships_index(fleet, ship));
    return ships_handle_of(fleet, ship);
}

static void fire(bullets *air, const char *name, int speed, ships_handle target) {
    struct bullet *bullet = bullets_alloc(air);
    if (bullet) *bullet = (struct bullet){.name = name, .speed = speed, .target = target};
}

static void fly(bullets *air, ships *fleet) {
    KOLK_EACH(bullets, bullet, air) {                           /* the body may free the current bullet */
        struct ship *target = ships_get(fleet, bullet->target); /* looked up in each frame, never kept */
        bullet->x += bullet->speed;
        printf("  %s at %d: ", bullet->name, bullet->x);
        if (!target) {
            printf("its target is gone, it flies on\n");
        } else if (bullet->x < target->x) {
            printf("after %s\n", target->name);
        } else {
            printf("hits %s\n", target->name);
            ships_free(fleet, target); /* from now on, every handle of this ship is stale */
            bullets_free(air, bullet);
        }
    }
}

int main(void) {
    ships fleet;
    bullets air;
    if (ships_init(&fleet, &(kolk_pool_desc){.name = "ships", .capacity = 8}) != KOLK_OK) return 1;
    if (bullets_init(&air, &(kolk_pool_desc){.name = "bullets", .capacity = 64}) != KOLK_OK) return 1;

    ships_handle hunted = launch(&fleet, "Corsair", 20);
    fire(&air, "fast missile", 12, hunted);
    fire(&air, "slow missile", 7, hunted);
    fly(&air, &fleet);
    fly(&air, &fleet);

    ships_handle newcomer = launch(&fleet, "Heron", 24);
    fly(&air, &fleet);
    fly(&air, &fleet);
    printf("%s is safe, %u bullet in the air\n", ships_get(&fleet, newcomer)->name, bullets_count(&air));

    bullets_deinit(&air);
    ships_deinit(&fleet);
}

/* runs: sample */
