/* classics.c: four small pools, to be clicked: those of the texts in docs/texts.md, by their counterparts in kolk.
 *
 *     bitpool      15 objects, the lowest free one first
 *     components   a pool with holes, the lowest hole first, and how often each slot has lived
 *     peds         the byte map of the GTA trilogy, with the handles that it has given lately
 *     numbers      a blocking queue. A page has one thread, so a call that would block joins a line here, and tries
 *                  again after each other call, in the order of arrival, as a waiting thread would.
 *
 *     the page calls    click, allocate, add, remove, stop, reopen, clear
 *     and then reads    classics()   the struct below */
#include "page.h"

enum { BITS = 15, COMPONENTS = 12, PEDS = 8, HANDLES = 6, NUMBERS = 4, LINE = 4 };
enum { BITPOOL, HOLES, GTA };

struct object {
    float x, y;
};
KOLK_POOL_TYPE(objects, struct object)
KOLK_BYTEMAP_TYPE(peds, struct object)
KOLK_QUEUE_TYPE(numbers, int32_t)

static objects pools[2]; /* BITPOOL and HOLES */
static peds city;
static numbers queue;

static struct classics {
    uint32_t available[2], lives[2][BITS]; /* of the pools; the life of the object in each slot, or 0 */
    uint32_t bytes[PEDS], first_free, used;
    int32_t handles[HANDLES];              /* the latest first; -1: none */
    uint32_t valid[HANDLES];               /* which of them get_at still knows */
    int32_t items[NUMBERS], waiting[LINE]; /* in the queue; of producers that wait for room */
    uint32_t count, producers, consumers, is_shut_down;
    int32_t next, last; /* the number that is added next; the one that was removed last */
} now;

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static int32_t keep_handle(const struct object *ped) {
    if (!ped) return -1;
    for (int n = HANDLES - 1; n > 0; n--) now.handles[n] = now.handles[n - 1];
    return now.handles[0] = peds_get_index(&city, ped);
}

/* Allocates in the pool's own order; returns the slot, of peds the handle, or -1 if it is full. */
EXPORT(allocate) int32_t allocate(int pool) {
    if (pool == GTA) return keep_handle(peds_new(&city));
    const struct object *object = objects_alloc(&pools[pool]);
    return object ? (int32_t)objects_index(&pools[pool], object) : -1;
}

/* Frees the object in this slot, and returns -1. If there is none, allocates one, of peds in this slot. */
EXPORT(click) int32_t click(int pool, uint32_t slot) {
    if (pool != GTA) return objects_free_at(&pools[pool], slot) ? -1 : allocate(pool);
    struct object *ped = peds_get_slot(&city, (int32_t)slot);
    if (!ped) return keep_handle(peds_new_at(&city, (int32_t)slot << 8));
    peds_delete(&city, ped);
    return -1;
}

/* ---- The queue --------------------------------------------------------------------------------------------------- */

static kolk_status push(int32_t number) {
    kolk_status status = numbers_push(&queue, &number, KOLK_NOW);
    if (status == KOLK_OK) now.items[now.count++] = number;
    return status;
}

static kolk_status pop(void) {
    kolk_status status = numbers_pop(&queue, &now.last, KOLK_NOW);
    if (status != KOLK_OK) return status;
    expect(now.last == now.items[0]); /* first in, first out */
    now.count--;
    for (uint32_t n = 0; n < now.count; n++) now.items[n] = now.items[n + 1];
    return status;
}

/* Those who wait try again, the first of each line first, until all of them must wait on. */
static void serve(void) {
    for (bool moves = true; moves;) {
        moves = false;
        if (now.producers > 0 && push(now.waiting[0]) != KOLK_FULL) {
            moves = true;
            now.producers--;
            for (uint32_t n = 0; n < now.producers; n++) now.waiting[n] = now.waiting[n + 1];
        }
        if (now.consumers > 0 && pop() != KOLK_EMPTY) {
            moves = true;
            now.consumers--;
        }
    }
}

/* A producer adds the next number, or waits for room. Returns the status of its call; KOLK_FULL: it waits. */
EXPORT(add) kolk_status add(void) {
    if (now.producers == LINE) return KOLK_FULL;
    kolk_status status = push(++now.next);
    if (status == KOLK_FULL) now.waiting[now.producers++] = now.next;
    serve();
    return status;
}

/* A consumer removes a number, or waits for one. */
EXPORT(remove) kolk_status remove_number(void) {
    if (now.consumers == LINE) return KOLK_EMPTY;
    kolk_status status = pop();
    if (status == KOLK_EMPTY) now.consumers++;
    serve();
    return status;
}

EXPORT(stop) void stop(void) {
    numbers_shutdown(&queue);
    now.is_shut_down = true;
    serve();
}

EXPORT(reopen) void reopen(void) {
    numbers_reopen(&queue);
    now.is_shut_down = false;
}

EXPORT(clear) uint32_t clear(void) {
    uint32_t dropped = (uint32_t)numbers_clear(&queue);
    now.count = 0;
    serve();
    return dropped;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

kolk_status classics_init(void) {
    kolk_status status = KOLK_OK;
    const uint32_t capacities[] = {[BITPOOL] = BITS, [HOLES] = COMPONENTS};
    for (int n = 0; n < 2 && status == KOLK_OK; n++) {
        kolk_pool_desc desc = {
            .name = n ? "components" : "bitpool", .capacity = capacities[n], .reuse = KOLK_REUSE_LOWEST};
        status = objects_init(&pools[n], &desc);
        for (int i = 0; i < 10 && status == KOLK_OK; i++) objects_alloc(&pools[n]);
    }
    static const uint32_t removed[] = {3, 8, 5, 4};
    for (int n = 0; n < 4; n++) objects_free_at(&pools[HOLES], removed[n]);
    for (int n = 0; n < HANDLES; n++) now.handles[n] = -1;
    if (status == KOLK_OK) status = peds_initialise(&city, PEDS);
    if (status == KOLK_OK) status = numbers_init(&queue, &(kolk_queue_desc){.capacity = NUMBERS});
    for (int n = 0; n < 3 && status == KOLK_OK; n++) allocate(GTA);
    return status;
}

bool classics_are_valid(void) {
    bool valid = objects_is_valid(&pools[BITPOOL]) && objects_is_valid(&pools[HOLES]);
    return valid && peds_is_valid(&city) && numbers_is_valid(&queue);
}

EXPORT(classics) const struct classics *classics(void) {
    for (int n = 0; n < 2; n++) {
        now.available[n] = objects_available(&pools[n]);
        for (uint32_t slot = 0; slot < pools[n].pool.capacity; slot++) {
            const struct object *object = objects_at(&pools[n], slot);
            now.lives[n][slot] = object ? (uint32_t)(objects_handle_of(&pools[n], object).untyped.bits >> 32) : 0;
        }
    }
    for (int32_t n = 0; n < PEDS; n++) now.bytes[n] = city.pool.byte_map[n];
    now.first_free = (uint32_t)city.pool.first_free;
    now.used = (uint32_t)peds_used_count(&city);
    for (int n = 0; n < HANDLES; n++) now.valid[n] = peds_get_at(&city, now.handles[n]) != NULL;
    expect(now.count == numbers_count(&queue));
    return &now;
}
