// row: free of a pointer into an object
// also: shared heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    WRONG(give_back(&items, item + SIZE / 2));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
