// row: free of a pointer to a global
// also: heap
#include "misuse.h"

static unsigned char global[SIZE];

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    WRONG(give_back(&items, global));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
