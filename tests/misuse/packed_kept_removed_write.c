// row: write through a pointer whose place has another object now
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle first, last;
    open_map(&map, "map");
    unsigned char *kept = add_written(&map, &first);
    add_written(&map, &last);
    take_out(&map, first);
    RIGHT(write_bytes(find(&map, last), SIZE));
    WRONG(write_bytes(kept, SIZE));
    take_out(&map, last);
    close_map(&map);
    return end();
}
