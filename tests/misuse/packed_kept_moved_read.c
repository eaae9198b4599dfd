// row: read through a pointer that was kept while its object moved
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle first, last;
    open_pool(&map, "map");
    add_written(&map, &first);
    unsigned char *kept = add_written(&map, &last);
    give_back_handle(&map, first);
    RIGHT(read_word(find(&map, last)));
    WRONG(read_word(kept));
    give_back_handle(&map, last);
    close_pool(&map);
    return end();
}
