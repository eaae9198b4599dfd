// row: free of another pool's object
// only: kolk
// also: shared heap
#include "misuse.h"

int main(void) {
    pool items, others;
    open_pool(&items, "items");
    open_pool(&others, "others");
    unsigned char *item = take(&items);
    WRONG(give_back(&others, item));
    give_back(&items, item);
    close_pool(&others);
    close_pool(&items);
    return end();
}
