// row: get by a forged handle
// only: kolk
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    kolk_handle handle = handle_of(&items, item);
    RIGHT(look_up(&items, handle));
    WRONG(look_up(&items, kolk_handle_unpack(handle.bits ^ UINT64_C(1) << 40)));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
