/* Counts the instructions of alloc and free in a fixed heap on a Cortex-M4. Returns 0 if no call took more than MOST.
 * Prints averages and maxima by semihosting. A maximum may be 40 too high. */
#include <kolk/kolk.h>

#include "device_count.h"

enum { CALLS = 20000, BLOCKS = 200, TRAYS = 8, MOST = 400 };

static const kolk_heap_class trays[TRAYS] = {
    {.size = 16, .capacity = 64}, {.size = 32, .capacity = 64},  {.size = 48, .capacity = 32},
    {.size = 64, .capacity = 32}, {.size = 128, .capacity = 16}, {.size = 256, .capacity = 16},
    {.size = 512, .capacity = 8}, {.size = 1024, .capacity = 4},
};
#define TRAY_(size, n) KOLK_HEAP_TRAY_BYTES(size, n)
static KOLK_ALIGNAS(
    64) unsigned char memory[KOLK_HEAP_BYTES + TRAY_(16, 64) + TRAY_(32, 64) + TRAY_(48, 32) + TRAY_(64, 32) +
                             TRAY_(128, 16) + TRAY_(256, 16) + TRAY_(512, 8) + TRAY_(1024, 4)];
static kolk_heap heap;

typedef struct count {
    uint32_t calls, ticks, most;
} count;

static void add_call(count *of, uint32_t begin) {
    uint32_t ticks = ticks_since(begin);
    of->calls++;
    of->ticks += ticks;
    if (ticks > of->most) of->most = ticks;
}

static bool is_quick(const char *what, const count *of) {
    print(what);
    print(": ");
    print_number(of->ticks * INSTRUCTIONS_A_TICK / of->calls);
    print(" instructions on average, ");
    print_number(of->most * INSTRUCTIONS_A_TICK);
    print(" at most\n");
    return of->most * INSTRUCTIONS_A_TICK <= MOST;
}

/* Small sizes are frequent. */
static size_t draw_size(uint32_t random) {
    return 1 + (random >> 8) % (16u << (random >> 20) % 7);
}

int main(void) {
    static void *blocks[BLOCKS];
    count allocs = {0}, frees = {0}, fails = {0};
    uint32_t random = 1;
    kolk_heap_desc desc = {.classes = trays, .n_classes = TRAYS, .memory = memory, .memory_size = sizeof memory};
    start_ticks();
    if (kolk_heap_init(&heap, &desc) != KOLK_OK) return 1;
    for (int i = 0; i < CALLS; i++) {
        random = random * 1664525 + 1013904223;
        void **block = &blocks[(random >> 4) % BLOCKS];
        if (*block) {
            uint32_t begin = now_in_ticks();
            kolk_heap_free(&heap, *block);
            add_call(&frees, begin);
            *block = NULL;
        } else {
            size_t size = draw_size(random);
            uint32_t begin = now_in_ticks();
            *block = kolk_heap_alloc(&heap, size);
            add_call(*block ? &allocs : &fails, begin);
        }
    }
    bool quick = is_quick("alloc", &allocs);
    quick &= is_quick("free", &frees);
    if (fails.calls) quick &= is_quick("alloc that fails", &fails);
    print("memory: ");
    print_number(sizeof memory);
    print(" bytes, and the heap's struct: ");
    print_number(sizeof heap);
    print("\n");
    return quick && kolk_heap_is_valid(&heap) ? 0 : 1;
}
