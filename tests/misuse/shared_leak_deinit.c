// row: leak, up to deinit
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    RIGHT(give_shared(&items, item));
    WRONG((void)item);
    close_shared(&items);
    return end();
}
