/* Ships, of which some have a name beside the pool: a name ends with its ship, also if another ship takes the slot. And
 * a callback that sinks the ship for which it is called: the caller has pinned it. */
#include "kolk.h"
#include <stdio.h>

struct ship {
    int hull;
};
KOLK_POOL_TYPE(fleet, struct ship)

struct label {
    const char *text;
};
KOLK_SIDE_TYPE(labels, fleet, struct label)

static void print_label(const labels *names, fleet_handle handle) {
    const struct label *label = labels_get(names, handle);
    printf("%s\n", label ? label->text : "no name");
}

static void on_hit(fleet *ships, struct ship *ship) {
    ship->hull -= 60;
    if (ship->hull <= 0) fleet_free(ships, ship);
}

static void hit(fleet *ships, struct ship *ship) {
    fleet_pin(ships, ship);
    on_hit(ships, ship);
    printf("hull %d, %s\n", ship->hull, fleet_is_live(ships, ship) ? "afloat" : "sunk"); /* its memory is still there */
    fleet_unpin(ships, ship);                                                            /* now its slot is free */
}

int main(void) {
    static labels_entry memory[8]; /* a power of two, at least the capacity */
    fleet ships;
    if (fleet_init(&ships, &(kolk_pool_desc){.capacity = 6, .pins = true}) != KOLK_OK) return 1;
    labels names = {&ships, memory, 8};

    struct ship *ship = fleet_alloc(&ships);
    if (!ship) return 1;
    ship->hull = 100;
    fleet_handle first = fleet_handle_of(&ships, ship);
    *labels_set(&names, first) = (struct label){"Beagle"};
    print_label(&names, first);
    hit(&ships, ship);
    hit(&ships, ship);
    print_label(&names, first);

    struct ship *next = fleet_alloc(&ships);
    printf("%s\n", next == ship ? "the same slot" : "another slot");
    print_label(&names, fleet_handle_of(&ships, next));
    fleet_deinit(&ships);
    return 0;
}
