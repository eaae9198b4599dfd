// row: alloc after deinit
// only: kolk
// also: heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    RIGHT(give_back(&items, take(&items)));
    close_pool(&items);
    WRONG(give_back(&items, take(&items)));
    return end();
}
