// row: free of a wild pointer
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    WRONG(give_back(&items, (void *)(uintptr_t)0x5a5a5a5a));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
