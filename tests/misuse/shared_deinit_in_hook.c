// row: deinit in reset, of the same pool
// only: kolk
#include "misuse.h"

#include <kolk/shared.h>

static kolk_shared items;

static void reset(void *object, void *context) {
    (void)object, (void)context;
    stage("deinit");
    WRONG(kolk_shared_deinit(&items));
}

int main(void) {
    kolk_shared_desc desc = {.name = "items", .object_size = SIZE, .capacity = 100, .reset = reset};
    kolk_shared_local local;
    if (kolk_shared_init(&items, &desc) != KOLK_OK || kolk_shared_local_init(&local, &items) != KOLK_OK) return 1;
    kolk_shared_free(&local, kolk_shared_alloc(&local));
    kolk_shared_local_deinit(&local);
    kolk_shared_deinit(&items);
    return end();
}
