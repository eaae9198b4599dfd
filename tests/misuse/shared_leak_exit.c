// row: leak, up to exit
// only: kolk
#include "shared.h"

static __attribute__((noinline)) void work(team *items) {
    unsigned char *item = take_shared(items);
    write_bytes(item, SIZE);
    RIGHT(give_shared(items, item));
    WRONG((void)item);
}

int main(void) {
    static team items;
    open_shared(&items, "items");
    work(&items);
    RIGHT(close_shared(&items));
    return end();
}
