/* Counts the instructions of kolk_pool_init on a Cortex-M4. Returns 0 if no init took 2,000 or more; prints them by
 * semihosting. */
#include <kolk/kolk.h>

#include "device_count.h"

enum { INITS = 400, MOST = 2000 };

struct frame {
    uint32_t id;
    uint8_t length, data[8];
};
KOLK_POOL_TYPE(frames, struct frame)

static KOLK_POOL_STORAGE(struct frame, 32) few;
static KOLK_POOL_STORAGE(struct frame, 5000) many;
static frames pool;

/* Counts one init with this descriptor, on average; 0 if it fails, or makes too few slots. */
static uint32_t count_init(const kolk_pool_desc *desc, uint32_t slots) {
    start_ticks();
    uint32_t begin = now_in_ticks();
    for (int i = 0; i < INITS; i++)
        if (frames_init(&pool, desc) != KOLK_OK) return 0;
    uint32_t ticks = ticks_since(begin);
    return pool.pool.capacity >= slots ? ticks * INSTRUCTIONS_A_TICK / INITS : 0;
}

static bool is_quick(const char *what, const kolk_pool_desc *desc, uint32_t slots) {
    uint32_t count = count_init(desc, slots);
    print(what);
    print(": ");
    print_number(count);
    print(" instructions\n");
    return count > 0 && count < MOST;
}

int main(void) {
    kolk_pool_desc desc = {.name = "frames", .capacity = 32, .memory = &few, .memory_size = sizeof few};
    bool quick = is_quick("init of 32 slots", &desc, 32);
    desc.capacity = 0;
    quick &= is_quick("init of as many as fit, which are 32", &desc, 32);
    desc = (kolk_pool_desc){.name = "frames", .capacity = 5000, .memory = &many, .memory_size = sizeof many};
    quick &= is_quick("init of 5000 slots", &desc, 5000);
    desc.capacity = 0;
    quick &= is_quick("init of as many as fit, which are 5000", &desc, 5000);
    return quick ? 0 : 1;
}
