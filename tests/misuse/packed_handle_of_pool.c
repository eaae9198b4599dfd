// row: get by a pool's handle
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    pool items;
    kolk_handle handle;
    open_map(&map, "map");
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    add_written(&map, &handle);
    RIGHT(find(&map, handle));
    WRONG(find(&map, kolk_pool_handle(&items, item)));
    take_out(&map, handle);
    give_back(&items, item);
    close_pool(&items);
    close_map(&map);
    return end();
}
