// row: read of an uninitialised object
// also: packed shared heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    RIGHT(write_bytes(item, SIZE));
    RIGHT(read_word(item));
    WRONG(read_word(item));
    give_back(&items, item);
    close_pool(&items);
    return end();
}
