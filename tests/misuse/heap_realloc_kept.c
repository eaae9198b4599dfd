// row: write through a pointer from before a realloc
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, SIZE);
    unsigned char *moved = resize(&items, item, 10 * SIZE);
    RIGHT(write_bytes(moved, 1));
    WRONG(write_bytes(item, 1));
    give_back(&items, moved);
    item = take_block(&items, SIZE);
    give_back(&items, item);
    close_pool(&items);
    return end();
}
