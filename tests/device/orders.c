/* orders.c: FIFO and LOWEST pools without another option, so that allocs go through pool_listed.c. Every fourth life is
 * the slot's last one, so that slots wear out. Returns 0 if each alloc returns the slot that the order of reuse
 * demands, or the one that wore out first once there is no other, if the peak is right, and if an alloc_at into a pool
 * with free slots loses none of them. */
#include <kolk/kolk.h>

#include "../pool/last_life.h"

#include <string.h>

enum { SLOTS = 200, STEPS = 3000 };

static KOLK_POOL_STORAGE(uint32_t, SLOTS) memory;
static kolk_pool pool;

/* A list of slots in the order in which they were added; those before `taken` are out again. */
typedef struct slots {
    uint32_t slots[STEPS], added, taken;
} slots;

static uint32_t *objects[SLOTS]; /* by slot; NULL: free */
static bool is_worn[SLOTS];      /* by slot */
static slots freed, worn;        /* free slots that are not worn out (for FIFO), and those that are */
static uint32_t fresh, count, peak, recycled;

/* The slot that the next alloc must return; SLOTS if there is none. For LIFO, any free slot that is not worn out will
 * do. */
static uint32_t expected(kolk_reuse reuse, bool strict) {
    uint32_t slot = reuse == KOLK_REUSE_FIFO ? fresh : 0;
    while (slot < SLOTS && (objects[slot] || is_worn[slot])) slot++;
    if (slot < SLOTS) return slot;
    if (reuse == KOLK_REUSE_FIFO && freed.taken < freed.added) return freed.slots[freed.taken];
    return worn.taken < worn.added && !strict ? worn.slots[worn.taken] : SLOTS;
}

static bool allocs(kolk_reuse reuse, bool strict) {
    uint32_t slot = expected(reuse, strict);
    uint32_t *object = kolk_pool_alloc(&pool);
    if (!object) return slot == SLOTS;
    uint32_t found = kolk_pool_index(&pool, object);
    if (found >= SLOTS || objects[found]) return false;
    if (found != slot && (reuse != KOLK_REUSE_LIFO || is_worn[found] || is_worn[slot])) return false;
    if (is_worn[found]) {
        worn.taken++;
        recycled++;
        is_worn[found] = false;
        if (kolk_pool_generation_(&pool, found) != 1) return false;
    } else if (found == fresh) {
        fresh++;
    } else {
        freed.taken++;
    }
    objects[found] = object;
    count++;
    if (count > peak) peak = count;
    return true;
}

/* Frees the object in a slot, if there is one. Returns false if its handle does not become stale. */
static bool frees(uint32_t slot, bool is_last_life) {
    if (!objects[slot]) return true;
    if (is_last_life) be_in_last_life(&pool, slot);
    kolk_handle handle = kolk_pool_handle_of(&pool, objects[slot]);
    if (kolk_pool_get(&pool, handle) != objects[slot]) return false;
    kolk_pool_free(&pool, objects[slot]);
    objects[slot] = NULL;
    is_worn[slot] = is_last_life;
    slots *list = is_last_life ? &worn : &freed;
    list->slots[list->added++] = slot;
    count--;
    return !kolk_pool_get(&pool, handle);
}

static bool begins(kolk_reuse reuse, kolk_generations generations) {
    return kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = sizeof(uint32_t),
                                                   .capacity = SLOTS,
                                                   .reuse = reuse,
                                                   .generations = generations,
                                                   .memory = &memory,
                                                   .memory_size = sizeof memory}) == KOLK_OK;
}

/* Frees all objects of a full pool, allocates the one in the middle by its handle, and then all others. */
static bool allocs_at(kolk_reuse reuse) {
    if (!begins(reuse, KOLK_GENERATIONS_RECYCLE)) return false;
    for (uint32_t n = 0; n < SLOTS; n++) objects[n] = kolk_pool_alloc(&pool);
    kolk_handle middle = kolk_pool_handle_of(&pool, objects[SLOTS / 2]);
    for (uint32_t n = 0; n < SLOTS; n++) kolk_pool_free(&pool, objects[n]);
    memset(objects, 0, sizeof objects);
    objects[SLOTS / 2] = kolk_pool_alloc_at(&pool, middle);
    if (!objects[SLOTS / 2] || kolk_pool_get(&pool, middle) != objects[SLOTS / 2]) return false;
    for (uint32_t n = 1; n < SLOTS; n++) {
        uint32_t *object = kolk_pool_alloc(&pool);
        uint32_t slot = object ? kolk_pool_index(&pool, object) : SLOTS;
        if (slot == SLOTS || objects[slot] || !kolk_pool_is_valid(&pool)) return false;
        objects[slot] = object;
    }
    bool full = !kolk_pool_alloc(&pool);
    kolk_pool_deinit(&pool);
    return full;
}

static bool runs(kolk_reuse reuse, kolk_generations generations) {
    bool strict = generations == KOLK_GENERATIONS_STRICT;
    uint32_t random = 1;
    kolk_stats stats;
    memset(&memory, 0xa5, sizeof memory);
    memset(objects, 0, sizeof objects);
    memset(is_worn, 0, sizeof is_worn);
    memset(&freed, 0, sizeof freed);
    memset(&worn, 0, sizeof worn);
    fresh = count = peak = recycled = 0;
    if (!begins(reuse, generations)) return false;
    for (uint32_t step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        bool grows = step / 500 % 2 == 0; /* the pool becomes full, and nearly empty */
        if (random >> 30 == 0 ? grows : !grows) {
            if (!frees((random >> 8) % SLOTS, (random >> 28) % 4 == 0)) return false;
        } else if (!allocs(reuse, strict)) {
            return false;
        }
        kolk_pool_stats(&pool, &stats);
        if (!kolk_pool_is_valid(&pool) || stats.count != count || stats.peak < peak) return false;
        if (stats.worn_out != worn.added - worn.taken) return false;
        if (reuse == KOLK_REUSE_FIFO && stats.peak != peak) return false;
    }
    kolk_pool_deinit(&pool);
    return fresh == SLOTS && worn.added > SLOTS / 2 && (strict ? recycled == 0 : recycled > SLOTS / 4);
}

int main(void) {
    if (!runs(KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE)) return 1;
    if (!runs(KOLK_REUSE_FIFO, KOLK_GENERATIONS_RECYCLE)) return 2;
    if (!runs(KOLK_REUSE_FIFO, KOLK_GENERATIONS_STRICT)) return 3;
    if (!runs(KOLK_REUSE_LOWEST, KOLK_GENERATIONS_RECYCLE)) return 4;
    if (!runs(KOLK_REUSE_LOWEST, KOLK_GENERATIONS_STRICT)) return 5;
    if (!runs(KOLK_REUSE_LIFO, KOLK_GENERATIONS_STRICT)) return 6;
    if (!allocs_at(KOLK_REUSE_LIFO)) return 7;
    if (!allocs_at(KOLK_REUSE_FIFO)) return 8;
    return allocs_at(KOLK_REUSE_LOWEST) ? 0 : 9;
}
