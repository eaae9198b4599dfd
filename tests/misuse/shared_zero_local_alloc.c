// row: alloc by a local whose init was forgotten
// only: kolk
#define SHARED 1
#include "misuse.h"

static kolk_shared_local forgotten;

int main(void) {
    pool items;
    open_pool(&items, "items");
    RIGHT(give_back(&items, take(&items)));
    kolk_shared_local made = items.local;
    WRONG(items.local = forgotten);
    WRONG(take(&items));
    items.local = made;
    close_pool(&items);
    return end();
}
