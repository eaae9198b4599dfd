// row: removal by another map's handle
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map, others;
    kolk_handle handle;
    open_map(&map, "map");
    open_map(&others, "others");
    add_written(&map, &handle);
    WRONG(take_out(&others, handle));
    take_out(&map, handle);
    close_map(&others);
    close_map(&map);
    return end();
}
