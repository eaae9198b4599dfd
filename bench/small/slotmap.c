/* A slot map: add, remove, KOLK_EACH, get. */
#include <kolk/kolk.h>

struct frame {
    uint32_t id;
    uint8_t length, data[8];
};
KOLK_SLOTMAP_TYPE(frames, struct frame)

enum { FRAMES = 32 };
#if KOLK_HOSTED
#define ROOM .capacity = FRAMES
#else
static KOLK_SLOTMAP_STORAGE(struct frame, FRAMES) memory;
#define ROOM .capacity = FRAMES, .memory = &memory, .memory_size = sizeof memory
#endif
static frames map;

int main(void) {
    kolk_slotmap_desc desc = {.name = "frames", ROOM};
    if (frames_init(&map, &desc) != KOLK_OK) return 1;
    frames_handle handle;
    struct frame *frame = frames_add(&map, &handle);
    if (!frame) return 2;
    frame->id = 3;
    uint32_t sum = 0;
    KOLK_EACH(frames, each, &map) sum += each->id;
    if (frames_get(&map, handle) != frame) return 3;
    frames_remove(&map, handle);
    return sum == 3 && !frames_get(&map, handle) ? 0 : 4;
}
