// row: double free, at once
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    give_shared(&items, item);
    WRONG(give_shared(&items, item));
    close_shared(&items);
    return end();
}
