// row: alloc by a local that is deinit'd
// only: kolk
#define SHARED 1
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    RIGHT(give_back(&items, take(&items)));
    kolk_shared_local_deinit(&items.local);
    WRONG(take(&items));
    close_pool(&items);
    return end();
}
