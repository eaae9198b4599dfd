// row: write to all objects, up to a count that was kept
// only: kolk
#include "packed.h"

int main(void) {
    pool map;
    kolk_handle first, last;
    open_pool(&map, "map");
    add_written(&map, &first);
    add_written(&map, &last);
    give_back_handle(&map, first);
    uint32_t count = kolk_slotmap_count(&map);
    WRONG(count++);
    for (uint32_t i = 0; i < count; i++) write_bytes((unsigned char *)kolk_slotmap_objects(&map) + i * SIZE, SIZE);
    give_back_handle(&map, last);
    close_pool(&map);
    return end();
}
