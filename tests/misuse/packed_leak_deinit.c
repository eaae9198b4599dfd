// row: leak, up to deinit
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    add_written(&map, &handle);
    RIGHT(take_out(&map, handle));
    WRONG((void)handle);
    close_map(&map);
    return end();
}
