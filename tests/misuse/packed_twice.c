// row: init of a map that is initialised
// only: kolk
#include "packed.h"

int main(void) {
    static kolk_slotmap map;
    kolk_handle one;
    open_map(&map, "map");
    add_written(&map, &one);
    RIGHT(take_out(&map, one));
    RIGHT(close_map(&map));
    WRONG(open_map(&map, "map"));
    RIGHT(open_map(&map, "map"));
    close_map(&map);
    return end();
}
