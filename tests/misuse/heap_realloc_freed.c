// row: realloc of a block that is freed
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, SIZE);
    RIGHT(item = resize(&items, item, 10 * SIZE));
    give_back(&items, item);
    WRONG((void)resize(&items, item, 10 * SIZE));
    close_pool(&items);
    return end();
}
