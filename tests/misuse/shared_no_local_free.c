// row: free by a local that is deinit'd
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    kolk_local other;
    open_shared(&items, "items");
    if (kolk_local_init(&other, &items.pool) != KOLK_OK) exit(1);
    unsigned char *item = take_shared(&items);
    RIGHT(free_by(&other, item));
    kolk_local_deinit(&other);
    WRONG(free_by(&other, item));
    close_shared(&items);
    return end();
}
