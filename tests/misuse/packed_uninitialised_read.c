// row: read of an uninitialised object
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle handle;
    open_map(&map, "map");
    unsigned char *object = add(&map, &handle);
    RIGHT(write_bytes(object, SIZE));
    RIGHT(read_word(object));
    WRONG(read_word(object));
    take_out(&map, handle);
    close_map(&map);
    return end();
}
