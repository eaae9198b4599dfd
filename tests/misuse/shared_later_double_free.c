// row: free of what was freed later
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    kolk_local_free_later(&items.local, item);
    WRONG(give_shared(&items, item));
    close_shared(&items);
    return end();
}
