// row: double free by handle, another alloc in between
// only: kolk
// also: packed
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    give_back_handle(&items, handle);
    unsigned char *other = take(&items);
    WRONG(give_back_handle(&items, handle));
    give_back(&items, other);
    close_pool(&items);
    return end();
}
