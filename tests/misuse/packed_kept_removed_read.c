// row: read through a pointer whose place has another object now
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle first, last;
    open_pool(&map, "map");
    unsigned char *kept = add_written(&map, &first);
    add_written(&map, &last);
    give_back_handle(&map, first);
    RIGHT(read_word(find(&map, last)));
    WRONG(read_word(kept));
    give_back_handle(&map, last);
    close_pool(&map);
    return end();
}
