/* race.c: the time of a frame, by how the sparkles are stored. The ways differ in how they find a free place and how
 * they find the live objects:
 *
 *     malloc        a packed array of pointers: the last one moves into the gap of one that dies
 *     the chapter   a free list through the dead objects; scans all objects to animate
 *     kolk          a stack of free slots and one byte per slot; visits only what is alive
 *
 * They take turns, so that a disturbance of the machine affects all of them. */
#include "../json.h"
#include "../measure.h"
#include "../print.h"
#include "sparkles.h"

#include <stdlib.h>
#include <string.h>

enum { LAPS = 3, OTHERS_MOST = 256 };

struct store {
    uint32_t capacity, count;
    struct sparkle **pointers;       /* malloc */
    struct sparkle *objects, *first; /* the chapter's pool */
    sparkles pool;                   /* kolk */
};

static void malloc_create(struct store *store, const struct sparkle *born, uint32_t count) {
    for (uint32_t n = 0; n < count && store->count < store->capacity; n++) {
        struct sparkle *sparkle = malloc(sizeof *sparkle);
        if (!sparkle) return;
        *sparkle = born[n];
        store->pointers[store->count++] = sparkle;
    }
}

static uint64_t malloc_animate(struct store *store) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < store->count;) {
        struct sparkle *sparkle = store->pointers[n++];
        if (!sparkle_animate(sparkle)) continue;
        sum += sparkle_checksum(sparkle);
        free(sparkle);
        store->pointers[--n] = store->pointers[--store->count];
    }
    return sum;
}

static void list_create(struct store *store, const struct sparkle *born, uint32_t count) {
    for (uint32_t n = 0; n < count && store->first; n++) {
        struct sparkle *sparkle = store->first;
        store->first = sparkle->next;
        *sparkle = born[n];
    }
}

static uint64_t list_animate(struct store *store) {
    uint64_t sum = 0;
    for (uint32_t n = 0; n < store->capacity; n++) {
        struct sparkle *sparkle = &store->objects[n];
        if (sparkle->frames_left == 0 || !sparkle_animate(sparkle)) continue;
        sum += sparkle_checksum(sparkle);
        sparkle->next = store->first;
        store->first = sparkle;
    }
    return sum;
}

static void kolk_create(struct store *store, const struct sparkle *born, uint32_t count) {
    sparkles_create(&store->pool, born, count);
}

static uint64_t kolk_animate(struct store *store) {
    return sparkles_animate(&store->pool);
}

enum { WAYS = 3, KOLK = WAYS - 1 };

static const struct way {
    const char *name;
    void (*create)(struct store *store, const struct sparkle *born, uint32_t count);
    uint64_t (*animate)(struct store *store); /* returns the sum of checksums of the sparkles that died */
} ways[WAYS] = {{"malloc", malloc_create, malloc_animate},
                {"the chapter's pool", list_create, list_animate},
                {"kolk", kolk_create, kolk_animate}};

static bool store_begin(struct store *store, uint32_t capacity) {
    *store = (struct store){.capacity = capacity,
                            .pointers = calloc(capacity, sizeof(struct sparkle *)),
                            .objects = calloc(capacity, sizeof *store->objects)};
    for (uint32_t n = capacity; n-- > 0 && store->objects;) {
        store->objects[n].next = store->first;
        store->first = &store->objects[n];
    }
    kolk_pool_desc desc = {.name = "sparkles", .capacity = capacity};
    return store->pointers && store->objects && sparkles_init(&store->pool, &desc) == KOLK_OK;
}

static void store_end(struct store *store) {
    while (store->count > 0) free(store->pointers[--store->count]);
    free(store->pointers);
    free(store->objects);
    sparkles_deinit(&store->pool);
}

/* A game's heap holds more than sparkles: as many other objects, one in a hundred of which changes in each frame. */
static void change_others(void **others, uint32_t count, uint32_t changes, uint64_t *random) {
    for (uint32_t n = 0; n < changes; n++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
        void **other = &others[(*random >> 32) % count];
        free(*other);
        *other = malloc(16 + (*random >> 20) % (OTHERS_MOST - 16));
        if (*other) memset(*other, 1, 16);
    }
}

struct result {
    double ms[LAPS]; /* of a frame */
    uint64_t checksum;
};

/* Casts the whole spell. Returns false if there is no memory. */
static bool run(const struct way *way, struct spell *spell, void **others, uint32_t count, double *ms,
                uint64_t *checksum) {
    struct store store;
    uint64_t random = 1, ns = 0;
    bool ready = store_begin(&store, count);
    while (ready && spell->frame < FRAMES) {
        change_others(others, count, count / 100, &random);
        uint32_t births = spell_wave(spell);
        uint64_t before = cli_now();
        way->create(&store, spell->born, births);
        *checksum += way->animate(&store);
        ns += cli_now() - before;
    }
    *ms = (double)ns / FRAMES / 1e6;
    store_end(&store);
    return ready;
}

static bool run_all(const cli_context *cli, uint32_t count, void **others, struct result *results) {
    bool done = true;
    uint64_t random = 1;
    change_others(others, count, 3 * count, &random); /* as if the game had run for a while */
    for (int turn = 0; turn < LAPS * WAYS && done; turn++) {
        struct result *result = &results[turn % WAYS];
        struct spell spell;
        cli_progress(cli, "measuring", (uint64_t)turn, LAPS * WAYS);
        result->checksum = 0;
        done = spell_begin(&spell, count, cli->seed) &&
               run(&ways[turn % WAYS], &spell, others, count, &result->ms[turn / WAYS], &result->checksum);
        spell_end(&spell);
    }
    cli_progress(cli, "", 0, 0);
    return done;
}

static void print(const cli_context *cli, struct result *results) {
    double medians[WAYS];
    cli_table table;
    cli_table_begin(&table, "lrr");
    fprintf(table.rows, "stored by\ttime of a frame\ttimes kolk's\n");
    for (int n = WAYS - 1; n >= 0; n--) {
        medians[n] = cli_quantile(results[n].ms, LAPS, 0.5);
        fprintf(table.rows, "%s\t%s\t%s\n", ways[n].name, cli_time(medians[n], 3, " ms").text,
                cli_times(medians[n], medians[KOLK]).text);
    }
    cli_table_end(&table, cli);
}

static void print_json(const cli_context *cli, struct result *results) {
    cli_json json = {.out = cli->out};
    cli_json_open(&json, NULL, '{');
    for (int n = 0; n < WAYS; n++) cli_json_number(&json, ways[n].name, cli_quantile(results[n].ms, LAPS, 0.5));
    cli_json_close(&json, '}');
}

int demo_race(const cli_context *cli, uint32_t count) {
    struct result results[WAYS];
    void **others = calloc(count, sizeof *others);
    bool done = others && run_all(cli, count, others, results);
    for (uint32_t n = 0; n < count && others; n++) free(others[n]);
    free(others);
    if (!done) return cli_fail(CLI_FAILED, "there is no memory for so many sparkles");
    for (int n = 0; n < KOLK; n++) /* otherwise one of them is wrong, and no time is worth printing */
        if (results[n].checksum != results[KOLK].checksum)
            return cli_fail(CLI_FAILED, "%s: it has other sparkles than kolk", ways[n].name);
    (cli->json ? print_json : print)(cli, results);
    return CLI_OK;
}
