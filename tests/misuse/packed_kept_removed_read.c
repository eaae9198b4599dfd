// row: read through a pointer whose place has another object now
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle first, last;
    open_map(&map, "map");
    unsigned char *kept = add_written(&map, &first);
    add_written(&map, &last);
    take_out(&map, first);
    RIGHT(read_word(find(&map, last)));
    WRONG(read_word(kept));
    take_out(&map, last);
    close_map(&map);
    return end();
}
