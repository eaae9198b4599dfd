// row: clear in reset, of the same pool
// only: kolk
#include "misuse.h"

static pool items;

static void reset(void *object, void *context) {
    (void)object, (void)context;
    stage("clear");
    WRONG(kolk_pool_clear(&items));
}

int main(void) {
    kolk_pool_desc desc = {.name = "items", .object_size = SIZE, .capacity = 100, .reset = reset};
    if (kolk_pool_init(&items, &desc) != KOLK_OK) return 1;
    give_back(&items, take(&items));
    close_pool(&items);
    return end();
}
