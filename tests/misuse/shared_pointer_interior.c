// row: free of a pointer into an object
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    WRONG(give_shared(&items, item + 16));
    give_shared(&items, item);
    close_shared(&items);
    return end();
}
