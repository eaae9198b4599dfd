// row: free in cost, of the same pool
// only: kolk
#include "misuse.h"

static pool items;
static void *other;

static double cost(const void *object, void *context) {
    (void)object, (void)context;
    WRONG(give_back(&items, other));
    return 1;
}

int main(void) {
    kolk_pool_desc desc = {.name = "items", .object_size = SIZE, .capacity = 100, .cost = cost};
    if (kolk_pool_init(&items, &desc) != KOLK_OK) return 1;
    take(&items);
    other = take(&items);
    stage("evict");
    kolk_pool_evict_cheapest(&items, 0, NULL);
    give_back(&items, other);
    close_pool(&items);
    return end();
}
