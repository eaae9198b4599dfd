// row: write after deinit
// only: kolk
// also: packed
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    write_bytes(item, SIZE);
    RIGHT(give_back(&items, item));
    close_pool(&items);
    WRONG(write_bytes(item, 1));
    return end();
}
