// row: handle of a pointer into an object
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle handle;
    open_pool(&map, "map");
    unsigned char *object = add_written(&map, &handle);
    RIGHT(kolk_slotmap_handle_of(&map, find(&map, handle)));
    WRONG(kolk_slotmap_handle_of(&map, object + SIZE / 2));
    give_back_handle(&map, handle);
    close_pool(&map);
    return end();
}
