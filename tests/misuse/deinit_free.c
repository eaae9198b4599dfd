// row: free after deinit
// only: kolk
// also: heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    RIGHT(give_back(&items, item));
    close_pool(&items);
    WRONG(give_back(&items, item));
    return end();
}
