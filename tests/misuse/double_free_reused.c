// row: double free, another alloc in between
// also: shared heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    give_back(&items, item);
    unsigned char *other = take(&items);
    WRONG(give_back(&items, item));
    give_back(&items, other);
    close_pool(&items);
    return end();
}
