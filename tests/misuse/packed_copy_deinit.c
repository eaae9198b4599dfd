// row: deinit of a copy, after the map's own
// only: kolk
#include "packed.h"

int main(void) {
    static kolk_slotmap map, copy;
    open_map(&map, "map");
    copy = map;
    close_map(&map);
    WRONG(close_map(&copy));
    return end();
}
