// row: double free of a large block
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, LARGE);
    give_back(&items, item);
    WRONG(give_back(&items, item));
    close_pool(&items);
    return end();
}
