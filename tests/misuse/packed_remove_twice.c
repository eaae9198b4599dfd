// row: double removal, at once
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle handle;
    open_pool(&map, "map");
    add_written(&map, &handle);
    give_back_handle(&map, handle);
    WRONG(give_back_handle(&map, handle));
    close_pool(&map);
    return end();
}
