// row: free of a pointer into a large block
#include "heap.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take_block(&items, LARGE);
    WRONG(give_back(&items, item + 16));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
