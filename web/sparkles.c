/* sparkles.c: the part of the page that is C: sparkles in a kolk pool, and the same lives by malloc.
 *
 *     the page calls    make, step, burst, take_at, take_slot, take_newest, take_next, end, end_twice
 *     and then reads    figures()    the struct below
 *                       sky()        the sparkles as rows of numbers, to be drawn
 *                       slots(n)     a byte for each slot of the pool, or of the overflow pool
 *                       granules()   a byte for each 16 bytes that malloc's heap spans
 *
 * A sparkle has a tail of 0 to MOST_TAIL points. A slot has room for the longest tail. Its twin is a block by
 * malloc with exactly the bytes that this sparkle needs. Both are born and die in the same calls. The twins lie in the
 * memory of a second instance of this program, in which malloc serves nothing else, so their addresses are malloc's
 * choice alone. Random numbers have a fixed seed: the same calls give the same sky. */
#include <kolk.h>

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name)       __attribute__((export_name(#name)))
#define IMPORT(from, name) __attribute__((import_module(from), import_name(name)))

/* malloc and free of the second instance. An address there is a number here. */
IMPORT("twin", "malloc") uint32_t twin_malloc(uint32_t size);
IMPORT("twin", "free") void twin_free(uint32_t address);
IMPORT("twin", "usable") uint32_t twin_usable(uint32_t address);

enum { MOST_TAIL = 4, MOST = 2048, OVERFLOW = 256, BURST = 200, DEMAND = 720 };
enum {
    PERIOD = 300,
    WAVING = 210,
    SHORTEST = 80,
    LONGEST = 240,
    POP_EVERY = 30,
    TAIL_EVERY = 7,
    WAVES = 5
}; /* frames, at 60 a second */
enum { GRANULE = 16, MOST_GRANULES = 1 << 16, BRIGHTEST = 127, BLOCK_BEGINS = 128 };

struct sparkle {
    float x, y, x_velocity, y_velocity; /* y from -1 (bottom) to 1, x as far as the sky is wide */
    uint16_t frames_left, lifetime;     /* frames_left at its birth */
    uint8_t tint, tail;                 /* the tint of its wave; the points of its tail */
    uint32_t twin;                      /* the address of the same sparkle by malloc */
    struct {
        float x, y;
    } points[MOST_TAIL]; /* where it was some frames ago, the latest first */
};

KOLK_POOL_TYPE(sparkles, struct sparkle)

static sparkles pool, second; /* second: the overflow pool */

enum policy { SKIP, EVICT_OLDEST, EVICT_CHEAPEST, GROW, OVERFLOW_POOL };

static enum policy policy;
static uint32_t tag = 1, frame, heap_low = UINT32_MAX;
static float owed, aspect = 2;
static uint64_t seed = 1;
static sparkles_handle yours;
static char report[200]; /* of the last mistake */

/* Everything that the page shows as a number, in the order in which the page reads it. */
static struct figures {
    uint32_t capacity, count, peak, failed, evictions, fresh, committed;
    uint32_t second_count, second_capacity, second_fresh;
    /* malloc's heap from its first byte to the end of its last block: blocks as they lie there; holes between them */
    uint32_t span, holes, hole_bytes, largest_hole, fitting_bytes, live_bytes, granules;
    /* the handle: none, alive, or stale; the slot that it names; its generation, and that of who is in the slot now */
    uint32_t yours, low, high, slot, generation, in_second, slot_generation, twin_at, twin_granules;
    uint32_t rows, waves;     /* the rows of the sky; whether the wand is waved */
    float x, y, tip_x, tip_y; /* of your sparkle, and of the wand */
} figures;

enum { NO_HANDLE, ALIVE, STALE };

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

static uint32_t random_bits(void) {
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

static float random_part(void) {
    return (float)(random_bits() >> 8) * 0x1p-24f;
}

/* ---- The pool and its policy ------------------------------------------------------------------------------------- */

/* The loss that somebody would notice: a long tail that has long to live. */
static double cost_of(const void *object, void *context) {
    const struct sparkle *sparkle = object;
    (void)context;
    return (1 + sparkle->tail) * (double)sparkle->frames_left;
}

static void free_twin(void *object, void *context) {
    (void)context;
    twin_free(((struct sparkle *)object)->twin);
}

static void free_sparkle(struct sparkle *sparkle) {
    twin_free(sparkle->twin);
    sparkles_free(&pool, sparkle); /* also one of the overflow pool */
}

static kolk_status init(uint32_t capacity) {
    kolk_pool_desc desc = {
        .name = "sparkles", .capacity = capacity, .tag = tag, .ages = true, .full.on_evict = free_twin};
    kolk_status status = KOLK_OK;
    sparkles_deinit(&second);
    switch (policy) {
    case SKIP:
        break;
    case EVICT_OLDEST:
        desc.full.on_full = kolk_pool_evict_oldest;
        break;
    case EVICT_CHEAPEST:
        desc.full.on_full = kolk_pool_evict_cheapest;
        desc.full.cost = cost_of;
        desc.full.ranked = true;
        break;
    case GROW:
        desc.max_capacity = MOST;
        break;
    case OVERFLOW_POOL:
        status = sparkles_init(&second, &(kolk_pool_desc){.name = "second", .capacity = OVERFLOW, .tag = UINT32_MAX});
        desc.full.overflow = &second.pool;
        break;
    }
    return status == KOLK_OK ? sparkles_init(&pool, &desc) : status;
}

/* Moves the newest sparkles into a new pool, which may have fewer slots. It has a tag of its own, so all handles are
 * stale. */
static kolk_status move_newest(uint32_t capacity) {
    static struct sparkle kept[MOST];
    uint32_t n = 0;
    for (struct sparkle *each = sparkles_newest(&pool); each; each = sparkles_older(&pool, each))
        if (n < capacity)
            kept[n++] = *each;
        else
            twin_free(each->twin);
    sparkles_deinit(&pool);
    tag++;
    kolk_status status = init(capacity);
    while (status == KOLK_OK && n > 0)
        *sparkles_alloc(&pool) = kept[--n]; /* the oldest first, to keep the order of births */
    return status;
}

/* A snapshot brings all sparkles into a new pool that has at least as many slots, and their handles stay valid. */
static kolk_status move_all(uint32_t capacity) {
    static _Alignas(8) unsigned char block[MOST * (sizeof(struct sparkle) + 17) + 256];
    size_t size = sparkles_snapshot(&pool, block, sizeof block);
    sparkles_deinit(&pool);
    kolk_status status = init(capacity);
    return status == KOLK_OK ? sparkles_restore(&pool, block, size) : status;
}

/* Replaces the pool by one with this capacity and policy. What is in the overflow pool ends. */
EXPORT(make) kolk_status make(uint32_t capacity, enum policy new_policy) {
    bool is_first = pool.pool.capacity == 0, fits = capacity >= pool.pool.capacity;
    KOLK_EACH(sparkles, sparkle, &second) free_sparkle(sparkle);
    policy = new_policy;
    if (is_first) return init(capacity);
    return fits ? move_all(capacity) : move_newest(capacity);
}

/* ---- Births ------------------------------------------------------------------------------------------------------ */

/* The height of each wave relative to the highest one; the wand's figure, given by how often the wand swings
 * horizontally and vertically; and the tails of its sparkles. */
static const struct {
    float height, x_turns, y_turns, phase;
    uint8_t tint, shortest_tail, longest_tail;
} waves[WAVES] = {
    {1.00f, 0.92f, 1.84f, 0.29f, 0, 1, 3}, {0.60f, 0.50f, 1.50f, 0.25f, 1, 0, 0}, {0.95f, 1.00f, 1.00f, 0.00f, 2, 3, 4},
    {0.75f, 0.50f, 1.00f, 0.75f, 1, 0, 2}, {0.85f, 0.50f, 1.00f, 0.50f, 0, 2, 4},
};

static const float pi = 3.14159265f;

static uint32_t wave_now(void) {
    return frame / PERIOD % WAVES;
}

static void find_tip(float at, float *x, float *y) {
    uint32_t wave = wave_now();
    *x = 0.68f * aspect * sinf(2 * pi * (at / WAVING * waves[wave].x_turns + waves[wave].phase));
    *y = 0.55f * sinf(2 * pi * (at / WAVING * waves[wave].y_turns + 2 * waves[wave].phase)) + 0.08f;
}

/* Chooses a random point in the unit circle, and returns its distance from the centre. */
static float random_point(float *x, float *y) {
    float square;
    do {
        *x = 2 * random_part() - 1;
        *y = 2 * random_part() - 1;
        square = *x * *x + *y * *y;
    } while (square >= 1 || square < 0.0001f);
    return sqrtf(square);
}

/* Returns the speed of a pop's sparkle in this direction, so that the pop has eight petals. */
static float petal(float x, float y) {
    float twice = x * x - y * y, four_times = 2 * twice * twice - 1; /* cosines of 2 and 4 times the angle */
    return 0.003f + 0.011f * four_times * four_times;
}

/* A sparkle is born here, in a pop if it flies away, unless the pool gives no slot. */
static void bear(float x, float y, float x_velocity, float y_velocity, bool pops) {
    struct sparkle *sparkle = sparkles_alloc(&pool);
    if (!sparkle) return;
    float x_speed, y_speed, distance = random_point(&x_speed, &y_speed), speed = 0.0025f;
    if (pops) speed = petal(x_speed / distance, y_speed / distance) * (0.5f + 0.5f * distance) / distance;
    uint16_t life = (uint16_t)(SHORTEST + random_bits() % (LONGEST - SHORTEST + 1));
    uint32_t wave = wave_now(), tails = 1U + waves[wave].longest_tail - waves[wave].shortest_tail;
    float ahead = pops ? 10 * random_part() : 0; /* frames of its way; otherwise all would be at one point */
    *sparkle = (struct sparkle){
        .x = x + ahead * x_speed * speed,
        .y = y + ahead * y_speed * speed,
        .x_velocity = x_velocity + x_speed * speed,
        .y_velocity = y_velocity + y_speed * speed,
        .frames_left = life,
        .lifetime = life,
        .tint = waves[wave].tint,
        .tail = (uint8_t)(waves[wave].shortest_tail + random_bits() % tails),
    };
    for (int n = 0; n < MOST_TAIL; n++) sparkle->points[n].x = x, sparkle->points[n].y = y;
    sparkle->twin = twin_malloc((uint32_t)(offsetof(struct sparkle, points) + sparkle->tail * sizeof *sparkle->points));
    if (sparkle->twin - 4 < heap_low) heap_low = sparkle->twin - 4; /* dlmalloc's word in front of the block */
}

/* Most are born along the way of the wand's tip in this frame; in a pop, at its tip. */
static void wave_wand(void) {
    uint32_t at = frame % PERIOD;
    if (at >= WAVING) return;
    float x, y, width, height;
    find_tip((float)at - 1, &x, &y);
    find_tip((float)at, &width, &height);
    width -= x;
    height -= y;
    bool pops = at % POP_EVERY == POP_EVERY / 2;
    float strength = sinf(pi * ((float)at + 0.5f) / WAVING) * waves[wave_now()].height * DEMAND / 135;
    owed += pops ? 11 * strength : strength;
    while (owed >= 1) {
        float along = pops ? 1 : random_part();
        bear(x + width * along, y + height * along, 0.06f * width, 0.06f * height, pops && owed >= 3);
        owed--;
    }
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

static void move(struct sparkle *sparkle) {
    if (--sparkle->frames_left == 0) {
        free_sparkle(sparkle);
        return;
    }
    if (sparkle->frames_left % TAIL_EVERY == 0) {
        memmove(&sparkle->points[1], &sparkle->points[0], sizeof sparkle->points - sizeof *sparkle->points);
        sparkle->points[0].x = sparkle->x;
        sparkle->points[0].y = sparkle->y;
    }
    sparkle->x_velocity *= 0.975f;
    sparkle->y_velocity = sparkle->y_velocity * 0.975f - 0.00004f;
    sparkle->x += sparkle->x_velocity;
    sparkle->y += sparkle->y_velocity;
}

/* Lets this many frames pass, in a sky that is `wide` times as wide as it is high. */
EXPORT(step) void step(uint32_t frames, float wide) {
    aspect = wide;
    for (; frames > 0; frames--, frame++) {
        wave_wand();
        KOLK_EACH(sparkles, sparkle, &pool) move(sparkle);
        KOLK_EACH(sparkles, sparkle, &second) move(sparkle);
        kolk_pool_recost(&pool.pool, NULL); /* all have less to live */
    }
}

/* Many are born at once, where the wand's tip is, or anywhere if it rests. */
EXPORT(burst) void burst(void) {
    float x = aspect * (random_part() - 0.5f), y = 0.8f * random_part() - 0.3f;
    if (frame % PERIOD < WAVING) find_tip((float)(frame % PERIOD), &x, &y);
    for (int n = 0; n < BURST; n++) bear(x, y, 0, 0, true);
}

/* ---- Your sparkle ------------------------------------------------------------------------------------------------ */

static void take(struct sparkle *sparkle) {
    if (!sparkle) return;
    yours = sparkles_handle_of(&pool, sparkle);
    figures.in_second = sparkles_is_live(&second, sparkle);
    figures.slot = sparkles_index(figures.in_second ? &second : &pool, sparkle);
}

/* Takes the sparkle next to this point, if one is so near. */
EXPORT(take_at) void take_at(float x, float y, float radius) {
    struct sparkle *nearest = NULL;
    float least = radius * radius;
    for (sparkles *from = &pool; from; from = from == &pool ? &second : NULL) {
        KOLK_EACH(sparkles, sparkle, from) {
            float square = (sparkle->x - x) * (sparkle->x - x) + (sparkle->y - y) * (sparkle->y - y);
            if (square >= least) continue;
            least = square;
            nearest = sparkle;
        }
    }
    take(nearest);
}

EXPORT(take_slot) void take_slot(uint32_t slot, bool in_second) {
    take(sparkles_at(in_second ? &second : &pool, slot));
}

EXPORT(take_newest) void take_newest(void) {
    take(sparkles_newest(&pool));
}

/* Takes the sparkle born before yours, or after it; if you have none that lives in the pool, the newest. */
EXPORT(take_next) void take_next(bool older) {
    struct sparkle *sparkle = sparkles_get(&pool, yours);
    if (!sparkle || figures.in_second)
        take(sparkles_newest(&pool));
    else
        take(older ? sparkles_older(&pool, sparkle) : sparkles_newer(&pool, sparkle));
}

/* Ends the life of yours. */
EXPORT(end) void end(void) {
    struct sparkle *sparkle = sparkles_get(&pool, yours);
    if (sparkle) free_sparkle(sparkle);
}

static void keep_report(const kolk_failure *failure, void *context) {
    (void)context;
    strncpy(report, failure->sentence, sizeof report - 1);
}

/* Makes a mistake: frees yours twice. Returns kolk's report. */
EXPORT(end_twice) const char *end_twice(void) {
    struct sparkle *sparkle = sparkles_get(&pool, yours);
    report[0] = '\0';
    if (!sparkle) return report;
    kolk_set_failure_handler(keep_report, NULL);
    free_sparkle(sparkle);
    sparkles_free(&pool, sparkle);
    return report;
}

/* ---- What the page reads ----------------------------------------------------------------------------------------- */

/* One sparkle of the sky. */
static struct row {
    float x, y, frames_left, lifetime, tint, tail;
    float points[2 * MOST_TAIL];
} rows[MOST + OVERFLOW];

static uint8_t shades[2][MOST], granules[MOST_GRANULES];

/* How bright a live slot or block is: the newest is the brightest. */
static uint8_t shade_of(const struct sparkle *sparkle) {
    return (uint8_t)(1 + (BRIGHTEST - 1) * sparkle->frames_left / sparkle->lifetime);
}

/* The granules of a block, with dlmalloc's word in front of it. */
static uint32_t first_granule(const struct sparkle *sparkle) {
    return (sparkle->twin - 4 - heap_low) / GRANULE;
}

static uint32_t granules_of(const struct sparkle *sparkle) {
    return (twin_usable(sparkle->twin) + 4) / GRANULE;
}

static void show_block(const struct sparkle *sparkle) {
    uint32_t first = first_granule(sparkle), n = granules_of(sparkle);
    figures.live_bytes += (uint32_t)(offsetof(struct sparkle, points) + sparkle->tail * sizeof *sparkle->points);
    if (first + n > MOST_GRANULES) return;
    if (first + n > figures.granules) figures.granules = first + n;
    memset(&granules[first], shade_of(sparkle), n);
    granules[first] |= BLOCK_BEGINS;
}

static void show_sparkle(const struct sparkle *sparkle, uint8_t *shade) {
    struct row *row = &rows[figures.rows++];
    *row = (struct row){
        .x = sparkle->x,
        .y = sparkle->y,
        .frames_left = sparkle->frames_left,
        .lifetime = sparkle->lifetime,
        .tint = sparkle->tint,
        .tail = sparkle->tail,
    };
    memcpy(row->points, sparkle->points, sizeof row->points);
    *shade = shade_of(sparkle);
    show_block(sparkle);
}

static void measure_holes(void) {
    uint32_t longest = sizeof(struct sparkle) + 4, hole = 0;
    figures.span = figures.granules * GRANULE;
    figures.holes = figures.hole_bytes = figures.largest_hole = figures.fitting_bytes = 0;
    for (uint32_t n = 0; n < figures.granules; n++) { /* the last granule is not a hole */
        if (!granules[n]) {
            hole += GRANULE;
            continue;
        }
        figures.holes += hole > 0;
        figures.hole_bytes += hole;
        if (hole >= longest) figures.fitting_bytes += hole;
        if (hole > figures.largest_hole) figures.largest_hole = hole;
        hole = 0;
    }
}

static uint32_t generation_of(const struct sparkle *sparkle) {
    return sparkle ? (uint32_t)(sparkles_handle_of(&pool, sparkle).untyped.bits >> 32) : 0;
}

static void show_yours(void) {
    uint64_t bits = yours.untyped.bits;
    const struct sparkle *sparkle = sparkles_get(&pool, yours);
    figures.yours = sparkle ? ALIVE : bits ? STALE : NO_HANDLE;
    figures.low = (uint32_t)bits;
    figures.high = figures.generation = (uint32_t)(bits >> 32);
    figures.slot_generation = bits ? generation_of(sparkles_at(figures.in_second ? &second : &pool, figures.slot)) : 0;
    if (!sparkle) return;
    figures.x = sparkle->x;
    figures.y = sparkle->y;
    figures.twin_at = first_granule(sparkle);
    figures.twin_granules = granules_of(sparkle);
}

/* Brings all that the page reads up to date. */
EXPORT(figures) const struct figures *show(void) {
    kolk_stats stats, second_stats;
    sparkles_stats(&pool, &stats);
    sparkles_stats(&second, &second_stats);
    figures.capacity = stats.capacity;
    figures.count = stats.count;
    figures.peak = stats.peak;
    figures.failed = (uint32_t)stats.failed;
    figures.evictions = (uint32_t)stats.evictions;
    figures.fresh = pool.pool.fresh;
    figures.committed = (uint32_t)(stats.bytes_committed + second_stats.bytes_committed);
    figures.second_count = second_stats.count;
    figures.second_capacity = second_stats.capacity;
    figures.second_fresh = second.pool.fresh;
    figures.rows = figures.granules = figures.live_bytes = 0;
    memset(shades, 0, sizeof shades);
    memset(granules, 0, sizeof granules);
    KOLK_EACH(sparkles, sparkle, &pool) show_sparkle(sparkle, &shades[0][sparkles_index(&pool, sparkle)]);
    KOLK_EACH(sparkles, sparkle, &second) show_sparkle(sparkle, &shades[1][sparkles_index(&second, sparkle)]);
    measure_holes();
    show_yours();
    figures.waves = frame % PERIOD < WAVING;
    find_tip((float)(frame % PERIOD), &figures.tip_x, &figures.tip_y);
    return &figures;
}

EXPORT(sky) const struct row *sky(void) {
    return rows;
}

EXPORT(slots) const uint8_t *slots_of(bool in_second) {
    return shades[in_second];
}

EXPORT(granules) const uint8_t *granules_of_heap(void) {
    return granules;
}

/* What the other instance offers. */
EXPORT(usable) uint32_t usable(void *block) {
    return (uint32_t)malloc_usable_size(block);
}
