// row: leak, up to deinit
// only: kolk
// also: packed shared heap
#include "misuse.h"

static __attribute__((noinline)) void work(pool *items) {
    unsigned char *item = take(items);
    write_bytes(item, SIZE);
    RIGHT(give_back(items, item));
    WRONG((void)item);
}

int main(void) {
    pool items;
    open_pool(&items, "items");
    work(&items);
    close_pool(&items);
    return end();
}
