// row: free of a pointer to the stack
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items), bytes[SIZE];
    WRONG(give_shared(&items, bytes));
    give_shared(&items, item);
    (void)bytes;
    close_shared(&items);
    return end();
}
