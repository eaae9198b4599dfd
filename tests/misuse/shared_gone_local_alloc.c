// row: alloc by a local whose pool is deinit'd
// only: kolk
#define SHARED 1
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    RIGHT(give_back(&items, take(&items)));
    stage("deinit");
    RIGHT(kolk_shared_local_deinit(&items.local));
    kolk_shared_deinit(&items.shared);
    WRONG(take(&items));
    return end();
}
