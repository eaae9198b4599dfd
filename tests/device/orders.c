/* orders.c: FIFO and LOWEST in a program in which no pool has another option, so that allocs go through alloc_listed of
 * pool_plain.c. (In the models of tests/pool, some pools have options, and then all allocs go through pool_options.c.)
 * Returns 0 if each alloc returns the slot that the order of reuse demands, and if the peak is right. */
#include <kolk/kolk.h>

#include <string.h>

enum { SLOTS = 200, STEPS = 6000 };

static KOLK_POOL_STORAGE(uint32_t, SLOTS) memory;
static kolk_pool pool;
static uint32_t *objects[SLOTS];                  /* by slot; NULL: free */
static uint32_t freed[STEPS], freed_count, taken; /* FIFO: the slots in the order in which they became free */
static uint32_t fresh, count, peak;

/* The slot that the next alloc must return; SLOTS if there is none. For LIFO, any free slot will do. */
static uint32_t expected(kolk_reuse reuse) {
    if (reuse == KOLK_REUSE_FIFO && fresh == SLOTS) return taken < freed_count ? freed[taken] : SLOTS;
    uint32_t slot = reuse == KOLK_REUSE_FIFO ? fresh : 0;
    while (slot < SLOTS && objects[slot]) slot++;
    return slot;
}

static bool allocs(kolk_reuse reuse) {
    uint32_t slot = expected(reuse);
    uint32_t *object = kolk_pool_alloc(&pool);
    if (!object) return slot == SLOTS;
    uint32_t found = kolk_pool_index(&pool, object);
    if (found >= SLOTS || objects[found] || (reuse != KOLK_REUSE_LIFO && found != slot)) return false;
    if (reuse == KOLK_REUSE_FIFO && fresh == SLOTS) taken++;
    if (found == fresh) fresh++;
    objects[found] = object;
    count++;
    if (count > peak) peak = count;
    return true;
}

static void frees(uint32_t slot) {
    if (!objects[slot]) return;
    kolk_pool_free(&pool, objects[slot]);
    objects[slot] = NULL;
    freed[freed_count++] = slot;
    count--;
}

static bool runs(kolk_reuse reuse) {
    uint32_t random = 1;
    kolk_stats stats;
    memset(&memory, 0xa5, sizeof memory);
    memset(objects, 0, sizeof objects);
    freed_count = taken = fresh = count = peak = 0;
    kolk_status status = kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = sizeof(uint32_t),
                                                                 .capacity = SLOTS,
                                                                 .reuse = reuse,
                                                                 .memory = &memory,
                                                                 .memory_size = sizeof memory});
    if (status != KOLK_OK) return false;
    for (uint32_t step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        bool grows = step / 500 % 2 == 0; /* the pool becomes full, and nearly empty */
        if (random >> 30 == 0 ? grows : !grows)
            frees((random >> 8) % SLOTS);
        else if (!allocs(reuse))
            return false;
        kolk_pool_stats(&pool, &stats);
        if (!kolk_pool_is_valid(&pool) || stats.count != count || stats.peak < peak) return false;
        if (reuse == KOLK_REUSE_FIFO && stats.peak != peak) return false;
    }
    kolk_pool_deinit(&pool);
    return fresh == SLOTS;
}

int main(void) {
    if (!runs(KOLK_REUSE_LIFO)) return 1;
    if (!runs(KOLK_REUSE_FIFO)) return 2;
    if (!runs(KOLK_REUSE_LOWEST)) return 3;
    return runs(KOLK_REUSE_LIFO) ? 0 : 4;
}
