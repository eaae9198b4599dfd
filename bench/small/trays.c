/* A heap on memory of its own, with two sizes of blocks: alloc and free. Returns 0 if all of it works. */
#include <kolk/kolk.h>

static const kolk_heap_class trays[] = {{.size = 32, .capacity = 20}, {.size = 160, .capacity = 4}};
static KOLK_ALIGNAS(
    16) unsigned char memory[KOLK_HEAP_BYTES + KOLK_HEAP_TRAY_BYTES(32, 20) + KOLK_HEAP_TRAY_BYTES(160, 4)];
static kolk_heap heap;

int main(void) {
    kolk_heap_desc desc = {
        .name = "heap", .classes = trays, .n_classes = 2, .memory = memory, .memory_size = sizeof memory};
    if (kolk_heap_init(&heap, &desc) != KOLK_OK) return 1;
    void *block = kolk_heap_alloc(&heap, 100);
    if (!block) return 2;
    kolk_heap_free(&heap, block);
#if KOLK_HOSTED
    kolk_heap_deinit(&heap);
#endif
    return 0;
}
