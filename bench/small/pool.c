/* A pool: alloc, free, KOLK_EACH, get; on pages of the system, or on a device on memory of its own.
 * -DMORE='.ages = true' adds to its descriptor. Returns 0 if all of it works. */
#include <kolk/kolk.h>

#ifndef MORE
#define MORE .name = "frames"
#endif

struct frame {
    uint32_t id;
    uint8_t length, data[8];
};
KOLK_POOL_TYPE(frames, struct frame)

enum { FRAMES = 32 };
static frames pool;

#if KOLK_HOSTED
#define ROOM .capacity = FRAMES
#else
static KOLK_POOL_STORAGE(struct frame, FRAMES) memory;
#define ROOM .capacity = FRAMES, .memory = &memory, .memory_size = sizeof memory
#endif

int main(void) {
    kolk_pool_desc desc = {.tag = 1, ROOM, MORE};
    if (frames_init(&pool, &desc) != KOLK_OK) return 1;
    struct frame *frame = frames_alloc(&pool);
    if (!frame) return 2;
    frame->id = 3;
    frames_handle handle = frames_handle_of(&pool, frame);
    uint32_t sum = 0;
    KOLK_EACH(frames, each, &pool) sum += each->id;
    if (frames_get(&pool, handle) != frame) return 3;
    frames_free(&pool, frame);
    if (frames_get(&pool, handle)) return 4;
#if KOLK_HOSTED
    frames_deinit(&pool);
#endif
    return sum == 3 ? 0 : 5;
}
