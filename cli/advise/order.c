/* order.c: chooses the order of reuse by playing the source's operations on a pool of each order: see verdict.h. */
#include "../print.h"
#include "verdict.h"

#include <stdlib.h>

enum {
    PAGE = 4096,
    PAGES_LEAST = 16, /* 64 KiB: a smaller pool stays in the cache in any order */
    SPARSE = 2        /* LOWEST is slower, so it must use this many times fewer pages */
};

struct spread {
    const struct source *source;
    kolk_pool pool;
    uint64_t stride;
    void **places;   /* of the objects, by number */
    uint32_t *alive; /* live objects on each page */
    uint64_t pages;  /* that hold live objects */
    uint32_t count;  /* live objects */
    double average;  /* mean of `pages` after the peak, while at most half the peak is alive; 0: this never happened */
};

static bool step(struct spread *spread, const struct source_op *op) {
    void **place = &spread->places[op->object];
    if (!op->ends && !(*place = kolk_pool_alloc(&spread->pool))) return false;
    uint32_t *alive = &spread->alive[kolk_pool_index(&spread->pool, *place) * spread->stride / PAGE];
    if (op->ends) {
        kolk_pool_free(&spread->pool, *place);
        spread->count--;
        spread->pages -= --*alive == 0;
    } else {
        spread->count++;
        spread->pages += ++*alive == 1;
    }
    return true;
}

static bool play(struct spread *spread) {
    const struct source *source = spread->source;
    uint64_t sum = 0, steps = 0;
    bool descended = false, done = true;
    for (size_t i = 0; done && i < source->count; i++) {
        done = step(spread, &source->ops[i]);
        descended |= spread->count == source->peak;
        if (!descended || spread->count > source->peak / 2) continue;
        sum += spread->pages;
        steps++;
    }
    if (steps > 0) spread->average = (double)sum / (double)steps;
    return done;
}

kolk_pool_desc verdict_pool(const struct verdict *verdict, kolk_reuse order) {
    return (kolk_pool_desc){.object_size = verdict->source->most,
                            .object_align = verdict->align,
                            .capacity = verdict->capacity,
                            .reuse = order};
}

/* Returns false if memory runs out. */
static bool measure(const struct verdict *verdict, kolk_reuse order, double *average) {
    struct spread spread = {.source = verdict->source};
    kolk_pool_desc desc = verdict_pool(verdict, order);
    kolk_stats stats;
    if (kolk_pool_init(&spread.pool, &desc) != KOLK_OK) return false;
    kolk_pool_stats(&spread.pool, &stats);
    spread.stride = stats.stride;
    spread.places = malloc(((size_t)spread.source->peak + 1) * sizeof *spread.places);
    spread.alive = calloc((size_t)(verdict->capacity * stats.stride / PAGE + 1), sizeof *spread.alive);
    bool done = spread.places && spread.alive && play(&spread);
    *average = spread.average;
    kolk_pool_deinit(&spread.pool);
    free(spread.places);
    free(spread.alive);
    return done;
}

bool order_choose(struct verdict *verdict) {
    double lifo = 0, lowest = 0;
    verdict->order = KOLK_REUSE_LIFO;
    if ((uint64_t)verdict->source->peak * verdict->source->most < (uint64_t)PAGES_LEAST * PAGE) {
        verdict_say(verdict, " LIFO is the fastest order, and the pool is small.");
        return true;
    }
    if (!measure(verdict, KOLK_REUSE_LIFO, &lifo) || !measure(verdict, KOLK_REUSE_LOWEST, &lowest)) return false;
    if (lifo > 0 && lifo >= SPARSE * lowest) {
        verdict->order = KOLK_REUSE_LOWEST;
        verdict_say(
            verdict,
            " LOWEST, as they are sparse after the peak: on %.0f pages, against %.0f with LIFO. Walks over them, "
            "and trim, gain by that; each call takes a little longer.",
            lowest, lifo);
    } else if (lifo > 0) {
        verdict_say(verdict,
                    " LIFO is the fastest order; LOWEST would keep them on %.0f pages after the peak, against %.0f.",
                    lowest, lifo);
    } else {
        verdict_say(verdict, " LIFO is the fastest order, and they are never sparse.");
    }
    return true;
}
