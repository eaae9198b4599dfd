// row: handle of a pointer to a removed object
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    unsigned char *object = add_written(&map, &handle);
    RIGHT(kolk_slotmap_handle(&map, object));
    take_out(&map, handle);
    WRONG(kolk_slotmap_handle(&map, object));
    close_map(&map);
    return end();
}
