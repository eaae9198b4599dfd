// row: init of a pool that is initialised
// only: kolk
// also: packed shared heap
#include "misuse.h"

int main(void) {
    static pool items;
    open_pool(&items, "items");
    void *item = take(&items);
    RIGHT(give_back(&items, item));
    RIGHT(close_pool(&items));
    WRONG((void)item);
    WRONG(open_pool(&items, "items"));
    RIGHT(open_pool(&items, "items"));
    close_pool(&items);
    return end();
}
