// row: get by another pool's handle
// only: kolk
// also: packed shared
#include "misuse.h"

int main(void) {
    pool items, others;
    open_pool(&items, "items");
    open_pool(&others, "others");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    WRONG(look_up(&others, handle));
    give_back(&items, item);
    close_pool(&others);
    close_pool(&items);
    return end();
}
