// row: get after deinit
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    add_written(&map, &handle);
    RIGHT(find(&map, handle));
    RIGHT(take_out(&map, handle));
    close_map(&map);
    WRONG(find(&map, handle));
    return end();
}
