// row: read of an uninitialised object
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    RIGHT(write_bytes(item, SIZE));
    RIGHT(read_word(item));
    WRONG(read_word(item));
    give_shared(&items, item);
    close_shared(&items);
    return end();
}
