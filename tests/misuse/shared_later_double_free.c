// row: free of an object that was passed to free_later
// only: kolk
#define SHARED 1
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    kolk_shared_free_later(&items.local, item);
    WRONG(give_back(&items, item));
    close_pool(&items);
    return end();
}
