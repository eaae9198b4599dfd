// row: get by a stale handle
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    add_written(&map, &handle);
    RIGHT(find(&map, handle));
    take_out(&map, handle);
    WRONG(find(&map, handle));
    close_map(&map);
    return end();
}
