// row: write after deinit
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    unsigned char *object = add_written(&map, &handle);
    take_out(&map, handle);
    close_map(&map);
    WRONG(write_bytes(object, 1));
    return end();
}
