// row: read of what was freed later, after a quiesce of all threads
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    write_bytes(item, SIZE);
    kolk_local_free_later(&items.local, item);
    RIGHT(read_word(item));
    for (int i = 0; i < 3; i++) kolk_local_quiesce(&items.local);
    WRONG(read_word(item));
    close_shared(&items);
    return end();
}
