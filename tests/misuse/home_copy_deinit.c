// row: deinit of a copy, after the pool's own
// only: kolk
// also: packed heap
#include "misuse.h"

#include <string.h>

int main(void) {
    static pool items, copy;
    open_pool(&items, "items");
    memcpy(&copy, &items, sizeof copy);
    close_pool(&items);
    WRONG(close_pool(&copy));
    return end();
}
