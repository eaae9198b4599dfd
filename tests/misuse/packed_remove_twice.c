// row: double removal, at once
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    add_written(&map, &handle);
    take_out(&map, handle);
    WRONG(take_out(&map, handle));
    close_map(&map);
    return end();
}
