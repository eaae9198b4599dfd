// row: free of a pointer that came from malloc
// only: kolk
#include "misuse.h"

int main(void) {
    pool items;
    open_pool(&items, "items");
    unsigned char *item = take(&items);
    unsigned char *block = malloc(SIZE);
    WRONG(give_back(&items, block));
    give_back(&items, item);
    free(block);
    close_pool(&items);
    return end();
}
