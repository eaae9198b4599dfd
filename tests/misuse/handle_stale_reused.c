// row: get by a stale handle, after reuse
// only: kolk
// also: packed
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    give_back(&items, item);
    unsigned char *other = take(&items);
    WRONG(look_up(&items, handle));
    give_back(&items, other);
    close_pool(&items);
    return end();
}
