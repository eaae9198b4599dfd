// row: alloc by a local that is deinit'd
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    RIGHT(give_shared(&items, take_shared(&items)));
    kolk_local_deinit(&items.local);
    WRONG(take_shared(&items));
    close_shared(&items);
    return end();
}
