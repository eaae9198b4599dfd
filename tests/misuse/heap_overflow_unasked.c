// row: overflow into the bytes between the requested and the allocated size
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, SIZE - 4);
    write_bytes(item, SIZE - 4);
    WRONG(write_bytes(item, SIZE - 3));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
