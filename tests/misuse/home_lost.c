// row: free of the storage of a pool that is not deinit'd
// only: kolk
// also: shared heap
#include "misuse.h"

int main(void) {
    pool *items = malloc(1 << 20); /* large, so that free unmaps it */
    open_pool(items, "items");
    void *item = take(items);
    RIGHT(give_back(items, item));
    RIGHT(close_pool(items));
    WRONG((void)item);
    free(items);
    return end();
}
