/* visits.c: the time of a visit to each live object when random slots are dead. The work is that of `animate` in the
 * chapter Object Pool: x += dx, y += dy. */
#include "tables.h"

#include "trials.h"

#include <kolk/typed.h>

#include <stdlib.h>

struct sparkle {
    float x, y, dx, dy, size, heat;
    int32_t frames_left; /* 0: dead; only the array with a flag in each object looks at it */
    uint32_t colour;
};

KOLK_POOL_TYPE(sparkles, struct sparkle)

static const struct sparkle newborn = {1, 2, 0.5f, 0.25f, 1, 1, 1, 0xffffff};

/* The same sparkles in three containers. */
struct sky {
    struct sparkle *packed, *flagged;
    sparkles pool;
    uint32_t slots, alive;
};

static inline void move(struct sparkle *sparkle) {
    sparkle->x += sparkle->dx;
    sparkle->y += sparkle->dy;
}

INLINED void run_packed(struct sky *sky, uint64_t times) {
    for (; times > 0; times--) {
        for (uint32_t n = 0; n < sky->alive; n++) move(&sky->packed[n]);
        hide_memory();
    }
}

INLINED void run_flagged(struct sky *sky, uint64_t times) {
    for (; times > 0; times--) {
        for (uint32_t n = 0; n < sky->slots; n++)
            if (sky->flagged[n].frames_left > 0) move(&sky->flagged[n]);
        hide_memory();
    }
}

INLINED void run_each(struct sky *sky, uint64_t times) {
    for (; times > 0; times--) {
        KOLK_EACH(sparkles, sparkle, &sky->pool) move(sparkle);
        hide_memory();
    }
}

INLINED void run_runs(struct sky *sky, uint64_t times) {
    for (; times > 0; times--) {
        KOLK_EACH_RUN(sparkles, run, length, &sky->pool)
            for (uint32_t n = 0; n < length; n++) move(&run[n]);
        hide_memory();
    }
}

DEFINE_ALIGNED(visit_packed, run_packed(what, times))
DEFINE_ALIGNED(visit_flagged, run_flagged(what, times))
DEFINE_ALIGNED(visit_each, run_each(what, times))
DEFINE_ALIGNED(visit_runs, run_runs(what, times))

static void sky_end(struct sky *sky) {
    free(sky->packed);
    free(sky->flagged);
    sparkles_deinit(&sky->pool);
}

static bool sky_begin(struct sky *sky, uint32_t slots, uint32_t percent) {
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    *sky = (struct sky){calloc(slots, sizeof *sky->packed), calloc(slots, sizeof *sky->flagged), .slots = slots};
    if (!sky->packed || !sky->flagged || sparkles_init(&sky->pool, &(kolk_pool_desc){.capacity = slots}) != KOLK_OK) {
        free(sky->packed);
        free(sky->flagged);
        return false;
    }
    for (uint32_t n = 0; n < slots; n++) *sparkles_alloc(&sky->pool) = newborn;
    for (uint32_t n = 0; n < slots; n++)
        if (draw_below(&random, 100) < percent) {
            sky->packed[sky->alive++] = newborn;
            sky->flagged[n] = newborn;
        } else {
            sparkles_free(&sky->pool, sparkles_at(&sky->pool, n));
        }
    return true;
}

void measure_visits(json_t *results, uint64_t *random) {
    static const struct {
        const char *where;
        uint32_t slots, percent;
    } cases[] = {{"100 %", 1000000, 100}, {"90 %", 1000000, 90}, {"50 %", 1000000, 50},
                 {"10 %", 1000000, 10},   {"1 %", 1000000, 1},   {"10,000 slots, 100 %", 10000, 100}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct sky sky;
        if (!sky_begin(&sky, cases[n].slots, cases[n].percent)) {
            results_leave_out(results, "visits", "there is no memory");
            return;
        }
        struct trial trials[] = {{.who = "packed array", .run = visit_packed},
                                 {.who = "flag in each object", .run = visit_flagged},
                                 {.who = "kolk", .run = visit_each},
                                 {.who = "kolk, by runs", .run = visit_runs}};
        size_t count = sizeof trials / sizeof *trials;
        for (size_t which = 0; which < count; which++) {
            trials[which].table = "visits";
            trials[which].where = cases[n].where;
            trials[which].what = &sky;
            trials[which].operations = sky.alive;
        }
        trials_run(trials, count, results, random);
        sky_end(&sky);
    }
}
