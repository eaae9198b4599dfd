/* store.c: see store.h. */
#define _POSIX_C_SOURCE 200809L
#include "store.h"
#include "../measure.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Marks: an object begins with its mark in eight bytes, and ends with the mark inverted ----------------------- */

static void write_mark(void *object, const struct soak_thing *thing) {
    uint64_t inverted = ~thing->mark;
    memcpy(object, &thing->mark, sizeof thing->mark);
    memcpy((char *)object + thing->size - sizeof inverted, &inverted, sizeof inverted);
}

static bool has_mark(const void *object, const struct soak_thing *thing) {
    uint64_t first, last;
    memcpy(&first, object, sizeof first);
    memcpy(&last, (const char *)object + thing->size - sizeof last, sizeof last);
    return first == thing->mark && last == ~thing->mark;
}

/* Finds an object by its entry in the book. If it is missing or damaged, sets the problem and returns NULL. */
static void *find_whole(struct soak_store *store, const struct soak_thing *thing) {
    void *object = store->kind->find(store, thing->name);
    const char *name = store->kind->name;
    if (!object) {
        soak_wrong(&store->problem, SOAK_WHOLE, "%s: an object that was not freed is not found by its name", name);
        return NULL;
    }
    if (has_mark(object, thing)) return object;
    soak_wrong(&store->problem, SOAK_WHOLE, "%s: an object does not hold what was written to it", name);
    return NULL;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

bool soak_store_begin(struct soak_store *store, const struct soak_kind *kind) {
    *store = (struct soak_store){.kind = kind};
    store->book = calloc(kind->most, sizeof *store->book);
    store->scratch = calloc(kind->most, sizeof *store->scratch);
    store->saved.book = kind->saved ? calloc(kind->most, sizeof *store->book) : NULL;
    kolk_status status = KOLK_NO_MEMORY;
    if (store->book && store->scratch && (store->saved.book || !kind->saved)) status = kind->begin(store);
    if (status == KOLK_OK) return true;
    return soak_wrong(&store->problem, SOAK_SYSTEM, "%s: %s", kind->name, kolk_status_text(status));
}

void soak_store_end(struct soak_store *store) {
    if (store->kind) store->kind->end(store);
    free(store->book);
    free(store->scratch);
    free(store->saved.book);
    free(store->saved.block);
    *store = (struct soak_store){0};
}

/* ---- One operation ----------------------------------------------------------------------------------------------- */

static void alloc_thing(struct soak_store *store, const struct soak_wish *wish) {
    const struct soak_kind *kind = store->kind;
    struct soak_thing thing = {.size = (uint32_t)kind->size};
    if (kind->size == 0) thing.size = soak_size(wish->random, wish->cycle);
    uint64_t before = cli_now();
    void *object = kind->alloc(store, thing.size, &thing.name);
    watch_time(wish->times, cli_now() - before);
    if (store->count == kind->most) {
        store->counts.refused++;
        if (object) soak_wrong(&store->problem, SOAK_ROOM, "%s: more objects are given than its capacity", kind->name);
        return;
    }
    if (!object) {
        soak_wrong(&store->problem, SOAK_ROOM, "%s: an alloc gave NULL, with %u of %u objects alive", kind->name,
                   store->count, kind->most);
        return;
    }
    thing.mark = soak_next(wish->random);
    write_mark(object, &thing);
    store->book[store->count++] = thing;
    store->counts.allocs++;
}

static void free_thing(struct soak_store *store, const struct soak_wish *wish) {
    struct soak_thing *place = &store->book[soak_below(wish->random, store->count)], thing = *place;
    void *object = find_whole(store, &thing);
    *place = store->book[--store->count];
    if (!object) return;
    uint64_t before = cli_now();
    store->kind->release(store, object);
    watch_time(wish->times, cli_now() - before);
    store->counts.frees++;
    if (store->kind->find(store, thing.name))
        soak_wrong(&store->problem, SOAK_WHOLE, "%s: an object that was freed is still found by its name",
                   store->kind->name);
}

void soak_store_turn(struct soak_store *store, const struct soak_wish *wish) {
    const struct soak_kind *kind = store->kind;
    bool more = soak_below(wish->random, 8) != 0; /* seven of eight operations move towards the requested level */
    if (store->count >= wish->level * kind->most) more = !more;
    if (store->count == kind->most) more = more && kind->exact; /* an alloc must return NULL */
    if (more || store->count == 0)
        alloc_thing(store, wish);
    else
        free_thing(store, wish);
    if (kind->rest && soak_below(wish->random, 1024) == 0) kind->rest(store);
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

void soak_store_misuse(struct soak_store *store, struct soak_random *random) {
    static uint64_t foreign[8];
    const struct soak_kind *kind = store->kind;
    uint32_t which = soak_below(random, 3);
    if (which == 1 && store->count > 0) { /* not the start of an object */
        char *object = kind->find(store, store->book[soak_below(random, store->count)].name);
        if (!object) return;
        kind->release(store, object + 1);
    } else if (which == 2 && store->count < kind->most) { /* free an object twice */
        uint64_t name;
        void *object = kind->alloc(store, 64, &name);
        if (!object) return;
        kind->release(store, object);
        kind->release(store, object);
    } else {
        kind->release(store, foreign);
    }
    store->counts.misuses++;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

void soak_store_probe(struct soak_store *store) {
    const struct soak_kind *kind = store->kind;
    uint32_t given = 0;
    uint64_t name;
    while (store->count + given < kind->most) {
        store->scratch[given] = kind->alloc(store, kind->size, &name);
        if (!store->scratch[given]) break;
        given++;
    }
    if (store->count + given < kind->most)
        soak_wrong(&store->problem, SOAK_ROOM, "%s: with %u of %u objects alive, only %u more were to be had",
                   kind->name, store->count, kind->most, given);
    if (kind->exact && store->count + given == kind->most) {
        void *one_more = kind->alloc(store, kind->size, &name);
        if (one_more)
            soak_wrong(&store->problem, SOAK_ROOM, "%s: more objects are given than its capacity", kind->name);
        store->counts.refused++;
    }
    while (given > 0) kind->release(store, store->scratch[--given]);
    store->counts.probes++;
}

bool soak_store_check(struct soak_store *store) {
    const struct soak_kind *kind = store->kind;
    kolk_stats stats;
    kind->stats(store, &stats);
    for (uint32_t n = 0; n < store->count && !store->problem.text[0]; n++) find_whole(store, &store->book[n]);
    if (!kind->is_valid(store)) soak_wrong(&store->problem, SOAK_VALID, "%s: its is_valid says no", kind->name);
    if (stats.count != store->count)
        soak_wrong(&store->problem, SOAK_COUNTS, "%s: counts %u objects alive, and the load %u", kind->name,
                   stats.count, store->count);
    if (stats.failed != store->counts.refused)
        soak_wrong(&store->problem, SOAK_COUNTS, "%s: counts %" PRIu64 " allocs that gave NULL, and the load %" PRIu64,
                   kind->name, stats.failed, store->counts.refused);
    return !store->problem.text[0];
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

bool soak_store_save(struct soak_store *store) {
    struct soak_saved *saved = &store->saved;
    size_t size = kolk_pool_snapshot_size(&store->in.pool);
    if (size > saved->room) {
        unsigned char *block = realloc(saved->block, size);
        if (!block) return soak_wrong(&store->problem, SOAK_SYSTEM, "there is no memory for a snapshot");
        saved->block = block;
        saved->room = size;
    }
    saved->size = kolk_pool_snapshot(&store->in.pool, saved->block, saved->room);
    saved->count = store->count;
    memcpy(saved->book, store->book, store->count * sizeof *store->book);
    if (saved->size == size && size > 0) return true;
    return soak_wrong(&store->problem, SOAK_WHOLE, "%s: no snapshot could be taken", store->kind->name);
}

bool soak_store_restore(struct soak_store *store) {
    const struct soak_saved *saved = &store->saved;
    kolk_status status = kolk_pool_restore(&store->in.pool, saved->block, saved->size);
    if (status != KOLK_OK)
        return soak_wrong(&store->problem, SOAK_WHOLE, "%s: its snapshot is refused: %s", store->kind->name,
                          kolk_status_text(status));
    memcpy(store->book, saved->book, saved->count * sizeof *store->book);
    store->count = saved->count;
    store->counts.restores++;
    return soak_store_check(store);
}
