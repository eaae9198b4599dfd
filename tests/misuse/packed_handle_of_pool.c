// row: get by a pool's handle
// only: kolk
#include "packed.h"

#include <kolk/pool.h>

int main(void) {
    pool map;
    kolk_pool items;
    kolk_handle handle;
    open_pool(&map, "map");
    if (kolk_pool_init(&items, &(kolk_pool_desc){.name = "items", .object_size = SIZE, .capacity = 1})) exit(1);
    void *item = kolk_pool_alloc(&items);
    add_written(&map, &handle);
    RIGHT(find(&map, handle));
    WRONG(find(&map, kolk_pool_handle_of(&items, item)));
    give_back_handle(&map, handle);
    kolk_pool_free(&items, item);
    kolk_pool_deinit(&items);
    close_pool(&map);
    return end();
}
