// row: alloc from a pool that was moved
// only: kolk
// also: packed heap
#include "misuse.h"

#include <string.h>

static pool here, there;

static pool *moved(void) {
    memcpy(&there, &here, sizeof there);
    memset(&here, 0xe5, sizeof here);
    return &there;
}

int main(void) {
    pool *items = &here;
    open_pool(items, "items");
    WRONG(items = moved());
    give_back(items, take(items));
    close_pool(items);
    return end();
}
