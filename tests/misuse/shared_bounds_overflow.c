// row: overflow by 1 byte
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    RIGHT(write_bytes(item + SIZE - 1, 1));
    WRONG(write_bytes(item + SIZE, 1));
    give_shared(&items, item);
    close_shared(&items);
    return end();
}
