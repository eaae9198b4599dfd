// row: clear in on_remove, of the same map
// only: kolk
#include "packed.h"

static pool map;

static void on_remove(void *object, void *context) {
    (void)object, (void)context;
    stage("clear");
    WRONG(kolk_slotmap_clear(&map));
}

int main(void) {
    kolk_handle handle;
    kolk_slotmap_desc desc = {.name = "map", .object_size = SIZE, .capacity = 100, .on_remove = on_remove};
    if (kolk_slotmap_init(&map, &desc) != KOLK_OK) return 1;
    add_written(&map, &handle);
    give_back_handle(&map, handle);
    close_pool(&map);
    return end();
}
