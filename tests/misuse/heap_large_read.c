// row: read of a large block after free
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, LARGE);
    write_bytes(item, LARGE);
    RIGHT(read_word(item));
    give_back(&items, item);
    WRONG(read_word(item));
    close_pool(&items);
    return end();
}
