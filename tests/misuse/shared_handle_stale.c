// row: get by a stale handle
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    kolk_handle handle = kolk_shared_handle(&items.pool, item);
    RIGHT(find_shared(&items, handle));
    give_shared(&items, item);
    WRONG(find_shared(&items, handle));
    close_shared(&items);
    return end();
}
