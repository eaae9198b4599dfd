// row: write to all objects, up to a count that was kept
// only: kolk
#include "packed.h"

int main(void) {
    kolk_slotmap map;
    kolk_handle first, last;
    open_map(&map, "map");
    add_written(&map, &first);
    add_written(&map, &last);
    take_out(&map, first);
    uint32_t count = kolk_slotmap_count(&map);
    WRONG(count++);
    for (uint32_t i = 0; i < count; i++) write_bytes((unsigned char *)kolk_slotmap_objects(&map) + i * SIZE, SIZE);
    take_out(&map, last);
    close_map(&map);
    return end();
}
