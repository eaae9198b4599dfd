// row: deinit in reset, of the same pool
// only: kolk
#include "misuse.h"

static pool items;

static void reset(void *object, void *context) {
    (void)object, (void)context;
    stage("deinit");
    WRONG(kolk_shared_deinit(&items.shared));
}

int main(void) {
    kolk_shared_desc desc = {.name = "items", .object_size = SIZE, .capacity = 100, .reset = reset};
    if (kolk_shared_init(&items.shared, &desc) != KOLK_OK) return 1;
    if (kolk_shared_local_init(&items.local, &items.shared) != KOLK_OK) return 1;
    give_back(&items, take(&items));
    close_pool(&items);
    return end();
}
