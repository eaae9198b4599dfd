// row: add to a map that was moved
// only: kolk
#include "packed.h"

#include <string.h>

static kolk_slotmap here, there;

static kolk_slotmap *moved(void) {
    memcpy(&there, &here, sizeof there);
    memset(&here, 0xe5, sizeof here);
    return &there;
}

int main(void) {
    kolk_slotmap *map = &here;
    kolk_handle one;
    open_map(map, "map");
    WRONG(map = moved());
    add_written(map, &one);
    take_out(map, one);
    close_map(map);
    return end();
}
