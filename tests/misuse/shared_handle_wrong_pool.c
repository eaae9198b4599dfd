// row: get by another pool's handle
// only: kolk
#include "shared.h"

int main(void) {
    team items, others;
    open_shared(&items, "items");
    open_shared(&others, "others");
    unsigned char *item = take_shared(&items);
    kolk_handle handle = kolk_shared_handle(&items.pool, item);
    RIGHT(find_shared(&items, handle));
    WRONG(find_shared(&others, handle));
    give_shared(&items, item);
    close_shared(&others);
    close_shared(&items);
    return end();
}
