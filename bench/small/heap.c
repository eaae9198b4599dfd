/* A heap: alloc and free of any size. */
#include <kolk/kolk.h>

int main(void) {
    kolk_heap heap;
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = "heap"}) != KOLK_OK) return 1;
    void *block = kolk_heap_alloc(&heap, 100);
    if (!block) return 2;
    kolk_heap_free(&heap, block);
    kolk_heap_deinit(&heap);
    return 0;
}
