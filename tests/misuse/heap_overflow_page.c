// row: overflow by a page
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, SIZE);
    unsigned char *other = take_block(&items, SIZE);
    write_bytes(item, SIZE);
    WRONG(write_bytes(item, SIZE + PAGE));
    give_back(&items, other);
    give_back(&items, item);
    close_pool(&items);
    return end();
}
