// row: write through a pointer whose place has another object now
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle first, last;
    open_pool(&map, "map");
    unsigned char *kept = add_written(&map, &first);
    add_written(&map, &last);
    give_back_handle(&map, first);
    RIGHT(write_bytes(find(&map, last), SIZE));
    WRONG(write_bytes(kept, SIZE));
    give_back_handle(&map, last);
    close_pool(&map);
    return end();
}
