// row: read after free
// also: shared heap
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    write_bytes(item, SIZE);
    RIGHT(read_word(item));
    give_back(&items, item);
    WRONG(read_word(item));
    close_pool(&items);
    return end();
}
