// row: get after deinit
// only: kolk
// also: packed
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    RIGHT(give_back(&items, item));
    close_pool(&items);
    WRONG(look_up(&items, handle));
    return end();
}
