// row: handle of a pointer that is not of the map
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    add_written(&map, &handle);
    int other = 0;
    RIGHT(kolk_slotmap_handle(&map, find(&map, handle)));
    WRONG(kolk_slotmap_handle(&map, &other));
    take_out(&map, handle);
    close_map(&map);
    return end();
}
