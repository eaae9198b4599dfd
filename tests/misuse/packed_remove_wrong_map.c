// row: removal by another map's handle
// only: kolk
#include "packed.h"

int main(void) {
    pool map, others;
    kolk_handle handle;
    open_pool(&map, "map");
    open_pool(&others, "others");
    add_written(&map, &handle);
    WRONG(give_back_handle(&others, handle));
    give_back_handle(&map, handle);
    close_pool(&others);
    close_pool(&map);
    return end();
}
