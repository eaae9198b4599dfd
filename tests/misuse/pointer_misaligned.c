// row: free of a misaligned pointer
// also: heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    WRONG(give_back(&items, item + 1));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
