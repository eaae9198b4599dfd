// row: write after free
// also: shared heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    RIGHT(write_bytes(item, 1));
    give_back(&items, item);
    WRONG(write_bytes(item, 1));
    unsigned char *other = take(&items);
    give_back(&items, other);
    close_pool(&items);
    return end();
}
