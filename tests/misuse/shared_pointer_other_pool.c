// row: free of another pool's object
// only: kolk
#include "shared.h"

int main(void) {
    team items, others;
    open_shared(&items, "items");
    open_shared(&others, "others");
    unsigned char *item = take_shared(&items);
    WRONG(give_shared(&others, item));
    give_shared(&items, item);
    close_shared(&others);
    close_shared(&items);
    return end();
}
