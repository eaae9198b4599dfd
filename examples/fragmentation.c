/* The curse of fragmentation, in 16 bytes: A, B and C are allocated, A and C die, and then D does not fit anywhere,
 * though enough bytes are free. A pool of slots that fit the largest object serves it. The first story is that of the
 * chapter on object pools in Game Programming Patterns, the second that of notes on it. */
#include "kolk.h"
#include <stdio.h>
#include <string.h>

enum { HEAP_BYTES = 16, SLOT_BYTES = 12, SLOTS = 3, FREE = '.' };

struct thing {
    char bytes[SLOT_BYTES]; /* a smaller object leaves some of them unused */
};
KOLK_POOL_TYPE(things, struct thing)

static char heap[HEAP_BYTES + 1]; /* for each byte, the object that it belongs to */

static int hole_at(int at) {
    int length = 0;
    while (heap[at + length] == FREE) length++;
    return length;
}

static bool heap_alloc(char owner, int size) { /* first fit */
    for (int at = 0; at < HEAP_BYTES; at++) {
        if (hole_at(at) < size) continue;
        memset(heap + at, owner, (size_t)size);
        return true;
    }
    return false;
}

static void heap_free(char owner) {
    for (int at = 0; at < HEAP_BYTES; at++)
        if (heap[at] == owner) heap[at] = FREE;
}

/* The size 0 ends the object. */
static void take_step(things *pool, char owner, int size) {
    static struct thing *objects['D' + 1];
    struct thing **object = &objects[(int)owner];
    bool fits = true;
    if (size > 0) {
        fits = heap_alloc(owner, size);
        *object = things_alloc(pool);
        memset((*object)->bytes, FREE, SLOT_BYTES);
        memset((*object)->bytes, owner, (size_t)size);
        printf("%c takes %-2d  ", owner, size);
    } else {
        heap_free(owner);
        things_free(pool, *object);
        printf("%c dies      ", owner);
    }
    printf("%s %s ", heap, fits ? "       " : "refused");
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct thing *thing = things_at(pool, slot); /* NULL if the slot is free */
        printf("[%.*s]", SLOT_BYTES, thing ? thing->bytes : "............");
    }
    printf("\n");
}

static int tell(int size_of_a, int size_of_c) {
    things pool;
    if (things_init(&pool, &(kolk_pool_desc){.name = "things", .capacity = SLOTS}) != KOLK_OK) return 1;
    memset(heap, FREE, HEAP_BYTES);
    printf("            16 bytes, first fit      a kolk pool of the same objects\n");
    take_step(&pool, 'A', size_of_a);
    take_step(&pool, 'B', 2);
    take_step(&pool, 'C', size_of_c);
    take_step(&pool, 'A', 0);
    take_step(&pool, 'C', 0);
    take_step(&pool, 'D', 12);
    int free_bytes = 0, largest = 0;
    for (int at = 0; at < HEAP_BYTES; at++) {
        free_bytes += heap[at] == FREE;
        if (hole_at(at) > largest) largest = hole_at(at);
    }
    printf("%d of %d bytes are free, in holes of at most %d. In the pool any free slot serves: %u of %d are left.\n",
           free_bytes, HEAP_BYTES, largest, things_available(&pool), SLOTS);
    things_deinit(&pool);
    return 0;
}

int main(void) {
    if (tell(7, 7)) return 1;
    return tell(8, 6);
}
