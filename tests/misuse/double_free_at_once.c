// row: double free, at once
// also: shared heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    give_back(&items, item);
    WRONG(give_back(&items, item));
    close_pool(&items);
    return end();
}
