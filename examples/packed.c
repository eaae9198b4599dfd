/* Components packed without gaps: a removal moves the last one into the hole. Copies of a handle follow the move, but a
 * kept pointer does not: a pointer from `get` is valid only until the next removal, clear or sort. */
#include "kolk.h"
#include <stdio.h>

struct transform {
    const char *owner;
    float x, y;
};
KOLK_SLOTMAP_TYPE(transforms, struct transform)

#define MAX 8

static transforms world;
static float mass[MAX]; /* indexed by a handle's slot, which never changes, so a move does not matter */

static transforms_handle add(const char *owner, float x, float kilograms) {
    transforms_handle handle;
    struct transform *transform = transforms_add(&world, &handle);
    if (!transform) return handle; /* the map is full: returns the null handle */
    *transform = (struct transform){.owner = owner, .x = x};
    mass[transforms_slot(&world, handle)] = kilograms;
    return handle;
}

static void show(const char *what) {
    const struct transform *all = transforms_objects(&world); /* a plain array */
    printf("%-17s", what);
    for (uint32_t i = 0; i < transforms_count(&world); i++) printf(" %s", all[i].owner);
    printf("\n");
}

static int by_x(const void *a, const void *b, void *context) {
    float first = ((const struct transform *)a)->x, second = ((const struct transform *)b)->x;
    (void)context;
    return (first > second) - (first < second);
}

int main(void) {
    if (transforms_init(&world, &(kolk_slotmap_desc){.name = "transforms", .capacity = MAX}) != KOLK_OK) return 1;
    transforms_handle player = add("player", 7, 80), crate = add("crate", 5, 20);
    transforms_handle door = add("door", 9, 35), lamp = add("lamp", 1, 2);
    transforms_handle in_script = lamp, in_save_game = lamp; /* copies, wherever they are */
    show("at first:");

    struct transform *kept = transforms_get(&world, lamp); /* a mistake: the removal below moves the lamp */
    transforms_remove(&world, crate);
    show("crate removed:");
    printf("the pointer %s, the copies see: %s, %s\n", kept == transforms_get(&world, lamp) ? "is right" : "is stale",
           transforms_get(&world, in_script)->owner, transforms_get(&world, in_save_game)->owner);
    printf("crate: %s; removed again: %s\n", transforms_get(&world, crate) ? "there" : "gone",
           transforms_remove(&world, crate) ? "yes" : "no");

    transforms_sort(&world, by_x, NULL);
    show("sorted by x:");
    printf("masses: player %g, door %g, lamp %g\n", (double)mass[transforms_slot(&world, player)],
           (double)mass[transforms_slot(&world, door)], (double)mass[transforms_slot(&world, in_script)]);

    KOLK_EACH(transforms, each, &world)
        if (each->x > 5) transforms_remove(&world, transforms_handle_of(&world, each));
    show("those beyond 5:");
    transforms_deinit(&world);
}
