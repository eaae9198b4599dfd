// row: read of an object passed to free_later, after a quiesce of all threads
// only: kolk
#define SHARED 1
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    write_bytes(item, SIZE);
    kolk_shared_free_later(&items.local, item);
    RIGHT(read_word(item));
    for (int i = 0; i < 3; i++) kolk_shared_quiesce(&items.local);
    WRONG(read_word(item));
    close_pool(&items);
    return end();
}
