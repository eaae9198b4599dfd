// row: get by a stale handle
// only: kolk
// also: packed shared
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    give_back(&items, item);
    WRONG(look_up(&items, handle));
    close_pool(&items);
    return end();
}
