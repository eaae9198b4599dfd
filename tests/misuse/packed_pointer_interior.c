// row: handle of a pointer into an object
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    unsigned char *object = add_written(&map, &handle);
    RIGHT(kolk_slotmap_handle(&map, find(&map, handle)));
    WRONG(kolk_slotmap_handle(&map, object + SIZE / 2));
    take_out(&map, handle);
    close_map(&map);
    return end();
}
