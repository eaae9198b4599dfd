// row: handle of a pointer to a removed object
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle handle;
    open_pool(&map, "map");
    unsigned char *object = add_written(&map, &handle);
    RIGHT(kolk_slotmap_handle_of(&map, object));
    give_back_handle(&map, handle);
    WRONG(kolk_slotmap_handle_of(&map, object));
    close_pool(&map);
    return end();
}
