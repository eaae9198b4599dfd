// row: free of a pointer to the stack
// also: shared heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    unsigned char local[SIZE] = {0};
    WRONG(give_back(&items, local));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
