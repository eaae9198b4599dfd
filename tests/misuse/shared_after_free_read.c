// row: read after free
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    write_bytes(item, SIZE);
    RIGHT(read_word(item));
    give_shared(&items, item);
    WRONG(read_word(item));
    close_shared(&items);
    return end();
}
