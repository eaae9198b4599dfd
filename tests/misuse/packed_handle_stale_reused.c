// row: get by a stale handle, after reuse
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle, other;
    open_map(&map, "map");
    add_written(&map, &handle);
    RIGHT(find(&map, handle));
    take_out(&map, handle);
    add_written(&map, &other);
    WRONG(find(&map, handle));
    take_out(&map, other);
    close_map(&map);
    return end();
}
