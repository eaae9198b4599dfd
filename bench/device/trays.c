/* Counts the calls of a heap on the program's memory for bench/device.sh: the averages are those of 10,000 random calls
 * with eight sizes, of which the small ones are frequent. The trays are just large enough for them. The maxima also
 * cover trays that become full. Returns 0 if each call did what it should. */
#include "count.h"

enum { BLOCKS = 200, MANY = 1000, CALLS = 10000 };

/* The sizes, and how many blocks of each the random calls need at most. */
#define TRAYS_(X)        X(16, 43) X(32, 27) X(48, 14) X(64, 16) X(128, 22) X(256, 23) X(512, 19) X(1024, 19)
#define CLASS_(bytes, n) {.size = bytes, .capacity = n},
#define BYTES_(bytes, n) +KOLK_HEAP_TRAY_BYTES(bytes, n)
static const kolk_heap_class trays[] = {TRAYS_(CLASS_)};
static KOLK_ALIGNAS(64) unsigned char memory[KOLK_HEAP_BYTES TRAYS_(BYTES_)];
static kolk_heap heap;

/* What the calls are about. */
static kolk_status status;
static void *block;
static size_t size;

static void *blocks[MANY]; /* those that are alive, and NULL */
static figure init = {.deep = true}, alloc, free_;

static void call_init(void) {
    kolk_heap_desc desc = {
        .classes = trays, .n_classes = sizeof trays / sizeof *trays, .memory = memory, .memory_size = sizeof memory};
    status = kolk_heap_init(&heap, &desc);
}

static void call_alloc(void) {
    block = kolk_heap_alloc(&heap, size);
}

static void call_free(void) {
    kolk_heap_free(&heap, block);
}

static bool works_at_random(void) {
    for (int n = 0; n < CALLS; n++) {
        uint32_t i = draw(BLOCKS);
        block = blocks[i];
        if (block) {
            measure(&free_, call_free, true);
            blocks[i] = NULL;
        } else {
            size = 1 + draw(16u << draw(7));
            measure(&alloc, call_alloc, true);
            blocks[i] = block;
            if (!block) return false;
        }
    }
    return kolk_heap_is_valid(&heap);
}

/* Small blocks fill all trays; then they are freed. */
static bool goes_to_the_limits(void) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < BLOCKS; i++)
        if ((block = blocks[i])) call_free();
    size = 1;
    while (n < MANY) {
        measure(&alloc, call_alloc, false);
        if (!block) break;
        blocks[n++] = block;
    }
    for (uint32_t i = 0; i < n; i++) {
        block = blocks[i];
        measure(&free_, call_free, false);
    }
    return kolk_heap_is_valid(&heap) && n < MANY;
}

int main(void) {
    if (!start_count()) return 1;
    measure(&init, call_init, true);
    if (status != KOLK_OK || !works_at_random() || !goes_to_the_limits()) return 2;
    print_line("struct", sizeof heap);
    print_tenths("slot", KOLK_HEAP_TRAY_BYTES(32, 2048) - KOLK_HEAP_TRAY_BYTES(32, 1024) - 1024 * 32, 1024);
    print_line("memory", sizeof memory);
    print_figure("init", &init);
    print_figure("alloc", &alloc);
    print_figure("free", &free_);
    return 0;
}
