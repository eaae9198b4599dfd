// Imports the module, and uses the same header itself.
#include <kolk/kolk.hpp>

#include "../test.h"

import game;

int main() {
    int deaths = 0;
    CHECK(begin_shots(2) && shoot(1, 2) && shoot(3, 4) && !shoot(5, 6));
    CHECK(add_shots() == 10);
    end_shots();
    {
        world small(1);
        enemy *one = small.add(10, &deaths);
        CHECK(one && one->health == 10 && !small.add(20, &deaths));
        small.remove(one);
        CHECK(deaths == 1 && small.size() == 0 && small.add(30, &deaths));
    }
    CHECK(deaths == 2);
    kolk::pool<enemy> more({"more", 4});
    enemy *two = add_to(more, 40, &deaths);
    CHECK(two && more.contains(two) && two->health == 40);
    return 0;
}
