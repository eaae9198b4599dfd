// row: double free, another alloc between
// only: kolk
#include "shared.h"

int main(void) {
    team items;
    open_shared(&items, "items");
    unsigned char *item = take_shared(&items);
    give_shared(&items, item);
    unsigned char *other = take_shared(&items);
    WRONG(give_shared(&items, item));
    give_shared(&items, other);
    close_shared(&items);
    return end();
}
