// row: write after free
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    RIGHT(write_bytes(item, 1));
    give_shared(&items, item);
    WRONG(write_bytes(item, 1));
    close_shared(&items);
    return end();
}
