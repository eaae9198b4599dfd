// row: overflow by 16 bytes
// also: heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    unsigned char *other = take(&items);
    write_bytes(item, SIZE);
    write_bytes(other, SIZE);
    WRONG(write_bytes(item, SIZE + 16));
    give_back(&items, other);
    give_back(&items, item);
    close_pool(&items);
    return end();
}
