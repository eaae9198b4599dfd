/* load.c: see load.h.
 *
 * A cycle is a small game: a quiet time, a rush with ten times as many objects, its end, threads that come and go, a
 * game that is saved, continued and loaded again. Blocks have different sizes in each cycle. One operation in a hundred
 * is a mistake that the pool must report and survive. The seed determines everything except when the fixed pools are
 * probed. That depends on time, but uses no random numbers. */
#define _POSIX_C_SOURCE 200809L
#include "load.h"
#include "../measure.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct phase {
    double from, to; /* live objects, as a part of the most */
    uint32_t share;  /* percent of the cycle's operations */
    bool threads, saved;
} phases[] = {
    {0.1, 0.1, 10, false, false}, {0.1, 1, 25, false, false},  {1, 1, 10, false, false},
    {1, 0.1, 25, false, false},   {0.1, 0.1, 10, true, false}, {0.1, 0.5, 20, false, true},
};

enum { PHASES = sizeof phases / sizeof *phases, BATCH = 64, GENERATION = 10000, TELL = 16384 };
enum { THREADS = 4, STEPS = 1000 }; /* of a generation; of a thread */
enum { GROWING = 2, SLOTMAP, BYTEMAP, SHARED, HEAP };

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

struct soak_problem soak_problem;

void soak_wrong(enum soak_claim claim, const char *format, ...) {
    static pthread_mutex_t only_one = PTHREAD_MUTEX_INITIALIZER;
    va_list arguments;
    pthread_mutex_lock(&only_one);
    if (!soak_problem.found) {
        va_start(arguments, format);
        vsnprintf(soak_problem.text, sizeof soak_problem.text, format, arguments);
        va_end(arguments);
        soak_problem.claim = claim;
        soak_problem.found = true;
    }
    pthread_mutex_unlock(&only_one);
}

/* ---- Random numbers (splitmix64, Steele, Lea and Flood, 2014) ---------------------------------------------------- */

static uint64_t next(uint64_t *random) {
    uint64_t mixed = *random += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* Returns a number from 0 to n - 1. */
static uint32_t below(uint64_t *random, uint32_t n) {
    return (uint32_t)(((next(random) >> 32) * n) >> 32);
}

/* Sizes come from a window that shifts by a factor of two in each cycle: from 16 to 63 bytes up to 1,024 to 4,095
 * bytes, and down again. Within the window, small sizes are as frequent as large ones. */
static uint32_t block_size(uint64_t *random, uint64_t cycle) {
    uint32_t at = (uint32_t)(cycle % (2 * SOAK_SHIFTS)), shift = at <= SOAK_SHIFTS ? at : 2 * SOAK_SHIFTS - at;
    uint32_t base = 16u << shift << below(random, 2);
    return base + below(random, base);
}

/* ---- Stores ------------------------------------------------------------------------------------------------------ */

static void write_mark(void *object, const struct soak_thing *thing) {
    uint64_t inverted = ~thing->mark;
    memcpy(object, &thing->mark, sizeof thing->mark);
    memcpy((char *)object + thing->size - sizeof inverted, &inverted, sizeof inverted);
}

/* Finds an object by its entry in the book. If it is missing or damaged, sets the problem and returns NULL. */
static void *find_whole(const struct soak_store *store, const struct soak_thing *thing) {
    void *object = soak_find(store, thing->name);
    uint64_t first, last;
    if (!object) {
        soak_wrong(SOAK_WHOLE, "%s: an object that was not freed is not found by its name", store->kind->name);
        return NULL;
    }
    memcpy(&first, object, sizeof first);
    memcpy(&last, (const char *)object + thing->size - sizeof last, sizeof last);
    if (first == thing->mark && last == ~thing->mark) return object;
    soak_wrong(SOAK_WHOLE, "%s: an object does not hold what was written to it", store->kind->name);
    return NULL;
}

static void alloc_thing(struct soak_load *load, struct soak_store *store) {
    const struct soak_kind *kind = store->kind;
    struct soak_thing thing = {.size = SOAK_OBJECT};
    if (kind->member == SOAK_HEAP) thing.size = block_size(&load->random, load->cycles);
    void *object = soak_alloc(store, thing.size, &thing.name);
    if (store->count == kind->most) {
        store->refused++;
        if (object) soak_wrong(SOAK_ROOM, "%s: more objects are given than its capacity", kind->name);
        return;
    }
    if (!object) {
        soak_wrong(SOAK_ROOM, "%s: an alloc gave NULL, with %u of %u objects alive", kind->name, store->count,
                   kind->most);
        return;
    }
    thing.mark = next(&load->random);
    write_mark(object, &thing);
    store->book[store->count++] = thing;
    load->allocs++;
}

static void free_thing(struct soak_load *load, struct soak_store *store) {
    struct soak_thing *place = &store->book[below(&load->random, store->count)], thing = *place;
    void *object = find_whole(store, &thing);
    *place = store->book[--store->count];
    if (!object) return;
    soak_release(store, object);
    load->frees++;
    if (soak_find(store, thing.name))
        soak_wrong(SOAK_WHOLE, "%s: an object that was freed is still found by its name", store->kind->name);
}

/* Seven of eight operations move towards the level. At the most, an exact kind is asked for one more. */
static void turn_store(struct soak_load *load, struct soak_store *store, double level) {
    const struct soak_kind *kind = store->kind;
    bool more = below(&load->random, 8) != 0;
    if (store->count >= level * kind->most) more = !more;
    if (store->count == kind->most) more = more && kind->exact;
    if (more || store->count == 0)
        alloc_thing(load, store);
    else
        free_thing(load, store);
}

/* Makes one of the typical mistakes, each of which must be reported. */
static void misuse_store(struct soak_load *load, struct soak_store *store) {
    static uint64_t foreign[8];
    uint32_t which = below(&load->random, 3);
    uint64_t name;
    if (which == 1 && store->count > 0) { /* not the start of an object */
        char *object = soak_find(store, store->book[below(&load->random, store->count)].name);
        if (!object) return;
        soak_release(store, object + 1);
    } else if (which == 2 && store->count < store->kind->most) { /* free an object twice */
        void *object = soak_alloc(store, 64, &name);
        if (!object) return;
        soak_release(store, object);
        soak_release(store, object);
    } else {
        soak_release(store, foreign);
    }
    load->misuses++;
}

/* Checks that a fixed pool can give all objects that are not alive. */
static void probe_store(struct soak_store *store) {
    static void *given[SOAK_MOST];
    const struct soak_kind *kind = store->kind;
    uint32_t count = 0, wanted = kind->most - store->count;
    uint64_t name;
    while (count < wanted && (given[count] = soak_alloc(store, SOAK_OBJECT, &name))) count++;
    if (count < wanted)
        soak_wrong(SOAK_ROOM, "%s: with %u of %u objects alive, only %u more were to be had", kind->name, store->count,
                   kind->most, count);
    while (count > 0) soak_release(store, given[--count]);
}

static void check_store(const struct soak_store *store) {
    const char *name = store->kind->name;
    kolk_stats stats;
    soak_stats(store, &stats);
    for (uint32_t n = 0; n < store->count && !soak_problem.found; n++) find_whole(store, &store->book[n]);
    if (!soak_is_valid(store)) soak_wrong(SOAK_VALID, "%s: its is_valid says no", name);
    if (stats.count != store->count)
        soak_wrong(SOAK_COUNTS, "%s: counts %u objects alive, and the load %u", name, stats.count, store->count);
    if (stats.failed != store->refused)
        soak_wrong(SOAK_COUNTS, "%s: counts %" PRIu64 " allocs that gave NULL, and the load %" PRIu64, name,
                   stats.failed, store->refused);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

static void save(struct soak_store *store) {
    size_t size = kolk_pool_snapshot_size(&store->in.pool);
    if (size > store->block_room) {
        unsigned char *block = realloc(store->block, size);
        if (!block) {
            soak_wrong(SOAK_SYSTEM, "there is no memory for a snapshot");
            return;
        }
        store->block = block;
        store->block_room = size;
    }
    store->block_size = kolk_pool_snapshot(&store->in.pool, store->block, store->block_room);
    store->saved_count = store->count;
    memcpy(store->saved, store->book, store->count * sizeof *store->book);
    if (store->block_size != size || size == 0)
        soak_wrong(SOAK_WHOLE, "%s: no snapshot could be taken", store->kind->name);
}

static void restore(struct soak_load *load, struct soak_store *store) {
    kolk_status status = kolk_pool_restore(&store->in.pool, store->block, store->block_size);
    if (status != KOLK_OK)
        soak_wrong(SOAK_WHOLE, "%s: its snapshot is refused: %s", store->kind->name, kolk_status_text(status));
    memcpy(store->book, store->saved, store->saved_count * sizeof *store->book);
    store->count = store->saved_count;
    load->restores++;
    check_store(store);
}

static void save_or_restore(struct soak_load *load, bool saves) {
    for (size_t n = 0; n < SOAK_KINDS && !soak_problem.found; n++) {
        struct soak_store *store = &load->stores[n];
        if (store->kind->member != SOAK_POOL) continue;
        if (saves)
            save(store);
        else
            restore(load, store);
    }
}

/* ---- Queues: items come out in the order in which they went in --------------------------------------------------- */

static void turn_queue(struct soak_load *load) {
    struct soak_queue *queue = &load->queue;
    uint64_t item = queue->pushed;
    if (below(&load->random, 2) == 0) {
        bool pushed = kolk_queue_push(&queue->queue, &item, KOLK_NOW) == KOLK_OK;
        queue->pushed += pushed;
        queue->refused += !pushed;
    } else if (kolk_queue_pop(&queue->queue, &item, KOLK_NOW) == KOLK_OK && item != queue->popped++) {
        soak_wrong(SOAK_WHOLE, "soak.queue: an item has come out of its order");
    }
}

static void check_queue(const struct soak_queue *queue, const char *name) {
    kolk_stats stats;
    kolk_queue_stats(&queue->queue, &stats);
    uint64_t items = queue->pushed - queue->popped;
    if (!kolk_queue_is_valid(&queue->queue)) soak_wrong(SOAK_VALID, "%s: its is_valid says no", name);
    if (stats.count != items)
        soak_wrong(SOAK_COUNTS, "%s: counts %u items, and the load %" PRIu64, name, stats.count, items);
    if (stats.failed != queue->refused % (UINT64_C(1) << 32)) /* the queue counts in 32 bits */
        soak_wrong(SOAK_COUNTS, "%s: counts %" PRIu64 " pushes that found no room, and the load %" PRIu64, name,
                   stats.failed, queue->refused);
}

/* ---- A resource pool: one resource in 32 cannot be created, and one in 64 goes bad ------------------------------- */

static bool make(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    struct soak_load *load = context;
    (void)key, (void)deadline;
    if (below(&load->random, 32) == 0) {
        snprintf(error->text, sizeof error->text, "by chance");
        return false;
    }
    load->resource.created++;
    *resource = load;
    return true;
}

static void destroy(void *context, void *resource) {
    (void)resource;
    ((struct soak_load *)context)->resource.destroyed++;
}

static bool validate(void *context, void *resource, kolk_deadline deadline) {
    struct soak_load *load = context;
    (void)resource, (void)deadline;
    bool good = below(&load->random, 64) != 0;
    load->resource.invalid += !good;
    return good;
}

static void borrow(struct soak_load *load) {
    static const char *const keys[] = {"", "north", "south"};
    struct soak_resource *its = &load->resource;
    kolk_borrow_desc desc = {.key = keys[below(&load->random, 3)], .deadline = KOLK_NOW, .who = "the soak test"};
    kolk_status status = kolk_resource_borrow(&its->pool, &desc, &its->borrows[its->held]);
    its->full += status == KOLK_FULL;
    its->failed += status == KOLK_NOT_CREATED;
    its->lent += status == KOLK_OK;
    its->held += status == KOLK_OK;
    if (its->held > SOAK_BORROWS)
        soak_wrong(SOAK_ROOM, "soak.resource: %u are lent, and %d is its max", its->held, SOAK_BORROWS);
    if (status != KOLK_OK && status != KOLK_FULL && status != KOLK_NOT_CREATED)
        soak_wrong(SOAK_WHOLE, "soak.resource: a borrow failed: %s", kolk_status_text(status));
}

static void turn_resource(struct soak_load *load) {
    struct soak_resource *its = &load->resource;
    if (below(&load->random, 64) == 0) kolk_resource_tick(&its->pool, KOLK_NOW);
    if (its->held == 0 || (its->held <= SOAK_BORROWS && below(&load->random, 2) == 0)) {
        borrow(load);
        return;
    }
    kolk_borrowed *place = &its->borrows[below(&load->random, its->held)], taken = *place;
    *place = its->borrows[--its->held];
    bool discards = below(&load->random, 16) == 0;
    (discards ? kolk_resource_discard : kolk_resource_give_back)(&its->pool, &taken);
    its->discarded += discards;
}

static void check_resource(const struct soak_resource *its) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&its->pool, &stats);
    const struct {
        const char *what;
        uint64_t counted, known;
    } rows[] = {{"borrows", stats.borrows, its->lent},
                {"borrows that found it full", stats.full, its->full},
                {"borrows that failed", stats.failed, its->failed},
                {"creations", stats.created, its->created},
                {"discards", stats.discarded, its->discarded},
                {"that went bad", stats.invalid, its->invalid},
                {"resources in use", stats.in_use, its->held},
                {"resources in all", stats.in_use + (uint64_t)stats.idle, its->created - its->destroyed}};
    if (!kolk_resource_is_valid(&its->pool)) soak_wrong(SOAK_VALID, "soak.resource: its is_valid says no");
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        if (rows[n].counted != rows[n].known)
            soak_wrong(SOAK_COUNTS, "soak.resource: %s: it counts %" PRIu64 ", and the load %" PRIu64, rows[n].what,
                       rows[n].counted, rows[n].known);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* A thread allocates from the shared pool and from the heap, and passes about half of its objects to other threads,
 * which free them. Every second thread ends without deinitialising its local, so the pool must reclaim the slots cached
 * there. */
struct worker {
    struct soak_load *load;
    uint64_t random;
    kolk_shared_local local;
    bool leaves; /* ends without deinitialising its local */
};

struct item {
    void *object;
    uint64_t mark;
    uint64_t of_heap;
};

static void release(struct worker *worker, const struct item *item) {
    struct soak_load *load = worker->load;
    if (memcmp(item->object, &item->mark, sizeof item->mark) != 0)
        soak_wrong(SOAK_WHOLE, "%s: an object does not hold what another thread has written to it",
                   soak_kinds[item->of_heap ? HEAP : SHARED].name);
    if (item->of_heap)
        kolk_heap_free(&load->stores[HEAP].in.heap, item->object);
    else
        kolk_shared_free(&worker->local, item->object);
}

static void step(struct worker *worker) {
    struct soak_load *load = worker->load;
    struct item item = {.mark = next(&worker->random), .of_heap = below(&worker->random, 2)};
    uint32_t size = block_size(&worker->random, item.mark % 100);
    item.object = item.of_heap ? kolk_heap_alloc(&load->stores[HEAP].in.heap, size) : kolk_shared_alloc(&worker->local);
    if (!item.object) {
        soak_wrong(SOAK_ROOM, "%s: an alloc in a thread gave NULL", soak_kinds[item.of_heap ? HEAP : SHARED].name);
        return;
    }
    memcpy(item.object, &item.mark, sizeof item.mark);
    bool handed = below(&worker->random, 2) == 0;
    if (handed && kolk_queue_push(&load->handover.queue, &item, KOLK_NOW) != KOLK_OK) {
        load->handover.refused++;
        handed = false;
    }
    if (!handed) release(worker, &item);
    if (below(&worker->random, 2) == 0 && kolk_queue_pop(&load->handover.queue, &item, KOLK_NOW) == KOLK_OK)
        release(worker, &item);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    kolk_status status = kolk_shared_local_init(&worker->local, &worker->load->stores[SHARED].in.shared);
    if (status != KOLK_OK) {
        soak_wrong(SOAK_ROOM, "soak.shared: a new thread gets no local: %s", kolk_status_text(status));
        return NULL;
    }
    for (int n = 0; n < STEPS && !soak_problem.found; n++) step(worker);
    if (!worker->leaves) kolk_shared_local_deinit(&worker->local);
    return NULL;
}

/* Some threads are born, work and die. */
static void run_threads(struct soak_load *load) {
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint32_t count = 1 + below(&load->random, THREADS), born = 0;
    for (; born < count; born++) {
        workers[born] = (struct worker){.load = load, .random = next(&load->random), .leaves = born % 2 == 1};
        if (pthread_create(&threads[born], NULL, work, &workers[born]) == 0) continue;
        soak_wrong(SOAK_SYSTEM, "the system provides no more threads");
        break;
    }
    for (uint32_t n = 0; n < born; n++) pthread_join(threads[n], NULL);
    load->threads += born;
    struct worker heir = {.load = load, .local = load->stores[SHARED].local};
    struct item item;
    while (kolk_queue_pop(&load->handover.queue, &item, KOLK_NOW) == KOLK_OK) release(&heir, &item);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void count_report(const kolk_failure *failure, void *context) {
    (void)failure;
    ((struct soak_load *)context)->reports++;
}

static bool began(const char *name, kolk_status status) {
    if (status != KOLK_OK) soak_wrong(SOAK_SYSTEM, "%s: %s", name, kolk_status_text(status));
    return status == KOLK_OK;
}

bool soak_load_begin(struct soak_load *load, uint64_t seed) {
    memset(load, 0, sizeof *load); /* too large for the stack */
    soak_problem = (struct soak_problem){.claim = SOAK_SYSTEM};
    load->random = seed;
    kolk_set_failure_handler(count_report, load);
    for (size_t n = 0; n < SOAK_KINDS; n++) {
        load->stores[n].kind = &soak_kinds[n];
        if (!began(soak_kinds[n].name, soak_begin(&load->stores[n]))) return false;
    }
    kolk_queue_desc queue = {.name = "soak.queue", .item_size = sizeof(uint64_t), .capacity = 256};
    kolk_queue_desc handover = {.name = "soak.handover", .item_size = sizeof(struct item), .capacity = 256};
    kolk_resource_pool_desc resource = {.name = "soak.resource",
                                        .context = load,
                                        .create = make,
                                        .destroy = destroy,
                                        .validate = validate,
                                        .validate_after_ms = -1,
                                        .max = SOAK_BORROWS,
                                        .no_housekeeper = true};
    return began(queue.name, kolk_queue_init(&load->queue.queue, &queue)) &&
           began(handover.name, kolk_queue_init(&load->handover.queue, &handover)) &&
           began(resource.name, kolk_resource_init(&load->resource.pool, &resource));
}

void soak_load_end(struct soak_load *load) {
    struct soak_resource *its = &load->resource;
    for (size_t n = 0; n < SOAK_KINDS; n++) {
        soak_end(&load->stores[n]);
        free(load->stores[n].block);
    }
    kolk_queue_deinit(&load->queue.queue);
    kolk_queue_deinit(&load->handover.queue);
    while (its->held > 0) kolk_resource_give_back(&its->pool, &its->borrows[--its->held]);
    if (its->pool.inside) kolk_resource_deinit(&its->pool);
    kolk_set_failure_handler(NULL, NULL);
}

bool soak_load_check(struct soak_load *load) {
    for (size_t n = 0; n < SOAK_KINDS; n++) check_store(&load->stores[n]);
    check_queue(&load->queue, "soak.queue");
    check_queue(&load->handover, "soak.handover");
    check_resource(&load->resource);
    if (load->reports != load->misuses)
        soak_wrong(SOAK_REPORTS, "of %" PRIu64 " mistakes, %" PRIu64 " were reported", load->misuses, load->reports);
    return !soak_problem.found;
}

static void turn(struct soak_load *load, double level) {
    uint32_t which = below(&load->random, 256);
    struct soak_store *store = &load->stores[below(&load->random, SOAK_KINDS)];
    if (which < 4)
        turn_resource(load);
    else if (which < 20)
        turn_queue(load);
    else if (below(&load->random, 100) == 0)
        misuse_store(load, store);
    else
        turn_store(load, store, level);
}

void soak_load_probe(struct soak_load *load) {
    size_t n = load->probes++ % SOAK_KINDS;
    while (!soak_kinds[n].fixed) n = (n + 1) % SOAK_KINDS;
    probe_store(&load->stores[n]);
}

static void run_phase(struct soak_load *load, const struct phase *phase, void (*tell)(void *), void *context) {
    uint32_t count = SOAK_CYCLE / 100 * phase->share;
    if (phase->saved) save_or_restore(load, true);
    for (uint32_t n = 0; n < count && !soak_problem.found; n++) {
        turn(load, phase->from + (phase->to - phase->from) * n / count);
        if (phase->threads && n % GENERATION == 0) run_threads(load);
        bool probes = load->probe_every > 0 && load->probes < SOAK_PROBES;
        if (probes && n % BATCH == 0 && cli_now() >= load->next_probe) {
            load->next_probe += load->probe_every;
            soak_load_probe(load);
        }
        if (n % TELL != 0) continue;
        kolk_pool_tick(&load->stores[GROWING].in.pool, 512); /* as once a frame */
        kolk_slotmap_trim(&load->stores[SLOTMAP].in.slotmap);
        tell(context);
    }
    if (phase->saved) save_or_restore(load, false);
}

bool soak_load_cycle(struct soak_load *load, void (*tell)(void *context), void *context) {
    for (size_t n = 0; n < PHASES && !soak_problem.found; n++) run_phase(load, &phases[n], tell, context);
    load->cycles++;
    kolk_trim_all(); /* what a heap keeps of the last second's memory varies with speed */
    return soak_load_check(load);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

enum { PERIODS_LEAST = 5 };

void soak_watch(struct soak_memory *memory, uint64_t cycles, uint64_t tenth, uint64_t resident) {
    struct soak_tenth *its = &memory->tenths[tenth < SOAK_TENTHS ? tenth : SOAK_TENTHS - 1];
    memory->sum += (double)resident;
    if (cycles % SOAK_PERIOD != 0) return;
    if (cycles > 2 * SOAK_PERIOD) {
        its->periods++;
        its->cycles += (double)cycles;
        its->resident += memory->sum / SOAK_PERIOD;
    }
    memory->sum = 0;
}

bool soak_growth(const struct soak_memory *memory, double *all, double *each) {
    const struct soak_tenth *first = &memory->tenths[1], *last = &memory->tenths[SOAK_TENTHS - 1];
    while (last > first && last->periods == 0) last--; /* it was stopped */
    if (last == first || first->periods < PERIODS_LEAST || last->periods < PERIODS_LEAST) return false;
    *all = last->resident / (double)last->periods - first->resident / (double)first->periods;
    *each = *all / (last->cycles / (double)last->periods - first->cycles / (double)first->periods);
    return true;
}
