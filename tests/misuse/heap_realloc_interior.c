// row: realloc of a pointer into a block
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, SIZE);
    WRONG((void)resize(&items, item + 16, 10 * SIZE));
    RIGHT(item = resize(&items, item, 10 * SIZE));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
