// row: handle of a pointer that does not belong to the map
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle handle;
    open_pool(&map, "map");
    add_written(&map, &handle);
    int other = 0;
    RIGHT(kolk_slotmap_handle_of(&map, find(&map, handle)));
    WRONG(kolk_slotmap_handle_of(&map, &other));
    give_back_handle(&map, handle);
    close_pool(&map);
    return end();
}
