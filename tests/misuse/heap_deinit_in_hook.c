// row: deinit in a function that is called at the end of the same heap
// only: kolk
#include "heap.h"

static pool items;

static void at_end(void *context) {
    (void)context;
    WRONG(kolk_heap_deinit(&items));
}

int main(void) {
    open_pool(&items, "items");
    if (!kolk_heap_on_end(&items, at_end, NULL)) return 1;
    close_pool(&items);
    return end();
}
