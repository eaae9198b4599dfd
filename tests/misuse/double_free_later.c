// row: double free, another free in between
// also: heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    unsigned char *other = take(&items);
    give_back(&items, item);
    give_back(&items, other);
    WRONG(give_back(&items, item));
    close_pool(&items);
    return end();
}
