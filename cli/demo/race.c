/* race.c: compares the ways of storing the sparkles.
 *
 * A run is the whole spell on one storage, in its own process, so with its own heap and its own resident bytes. The
 * storages take turns over several rounds, so that other load on the machine affects all of them. A storage that takes
 * too long is stopped during its spell, and is compared with kolk over the same number of frames. After these frames
 * its checksum must be the same as kolk's. Otherwise one of the two is wrong, and no time is worth printing. */
#include "../measure.h"
#include "../print.h"
#include "spell.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { LAPS = 5, LAPS_MS = 8000, STORAGE_MS = 3000 };

/* The result of one run. */
struct lap {
    bool no_memory;
    uint32_t frames;  /* completed */
    uint32_t refused; /* sparkles that did not fit */
    uint64_t checksum;
    uint64_t allocations; /* calls of malloc during the run */
    uint64_t resident;    /* bytes that the storage took when it began */
    uint64_t growth;      /* bytes by which it grew during the run */
    kolk_stats stats;     /* set for kolk only */
    double ms[];          /* time of each frame */
};

struct lap_input {
    const struct spell *spell;
    const struct storage *storage;
    uint32_t frames; /* frames to run */
    double most_ms;
};

/* ---- The rest of the game ---------------------------------------------------------------------------------------- */

/* A game's heap holds more than sparkles. Here it has the same number of other objects, of 16 to 256 bytes, and one in
 * a hundred of them is replaced in each frame. They are there for all storages, but only malloc's sparkles lie among
 * them. */
struct game {
    void **objects;
    uint32_t count;
    uint64_t random;
};

static uint64_t game_random(struct game *game) {
    game->random += UINT64_C(0x9e3779b97f4a7c15);
    return mix_bits(game->random);
}

static void *new_object(struct game *game) {
    size_t size = 16 + 8 * (size_t)(game_random(game) % 31);
    void *object = malloc(size);
    if (object) memset(object, 0xff, size);
    return object;
}

static void game_go_on(struct game *game, uint32_t changes) {
    for (uint32_t n = 0; n < changes; n++) {
        void **object = &game->objects[game_random(game) % game->count];
        free(*object);
        *object = new_object(game);
    }
}

/* Prepares the rest of the game as if it had run for a while before the spell begins. */
static bool game_init(struct game *game, uint32_t count) {
    *game = (struct game){malloc((count + (size_t)1) * sizeof *game->objects), count, 0};
    if (!game->objects) return false;
    for (uint32_t n = 0; n < count; n++) game->objects[n] = new_object(game);
    game_go_on(game, 3 * count);
    return true;
}

static void game_deinit(struct game *game) {
    for (uint32_t n = 0; n < game->count && game->objects; n++) free(game->objects[n]);
    free(game->objects);
}

/* ---- One run ----------------------------------------------------------------------------------------------------- */

static void run_frames(const struct lap_input *input, struct store *store, struct wand *wand, struct game *game,
                       struct lap *lap) {
    const struct storage *storage = input->storage;
    double spent = 0;
    while (lap->frames < input->frames && spent < input->most_ms) {
        game_go_on(game, game->count / 100);
        uint32_t births = wand_wave(wand);
        uint64_t begin = cli_now();
        lap->refused += storage->create(store, wand->births, births);
        lap->checksum += storage->animate(store, input->spell->physics);
        lap->ms[lap->frames] = (double)(cli_now() - begin) / 1e6;
        spent += lap->ms[lap->frames++];
    }
}

static uint64_t growth(uint64_t before, uint64_t after) {
    return after > before ? after - before : 0; /* it is less if the rest of the game shrank */
}

static bool run_storage(const struct lap_input *input, struct wand *wand, struct game *game, struct lap *lap) {
    uint64_t before = cli_resident();
    struct store *store = input->storage->begin(input->spell->sparkles);
    if (!store) return false;
    uint64_t begun = cli_resident();
    uint64_t allocations = store_allocations();
    run_frames(input, store, wand, game, lap);
    lap->allocations = store_allocations() - allocations;
    lap->resident = growth(before, begun);
    lap->growth = growth(begun, cli_resident());
    lap->checksum += input->storage->alive(store);
    if (input->storage == &storages[STORAGE_KOLK]) sparkles_stats(store_pool(store), &lap->stats);
    input->storage->end(store);
    return true;
}

static void run_lap(const void *input_, void *result) {
    const struct lap_input *input = input_;
    struct lap *lap = result;
    struct wand wand;
    struct game game = {0};
#ifdef __GLIBC__
    malloc_trim(0); /* so that no storage reuses memory that the command freed before */
#endif
    bool ready = wand_init(&wand, input->spell) && game_init(&game, input->storage->alone ? 0 : input->spell->sparkles);
    lap->no_memory = !ready || !run_storage(input, &wand, &game, lap);
    game_deinit(&game);
    wand_deinit(&wand);
}

/* Runs a lap, and returns its result, which the caller frees. On failure prints a sentence and returns NULL. */
static struct lap *new_lap(const struct lap_input *input) {
    size_t size = sizeof(struct lap) + input->spell->frames * sizeof(double);
    struct lap *lap = calloc(1, size);
    if (!lap) {
        cli_fail(CLI_FAILED, "there is no memory");
        return NULL;
    }
    bool done = cli_isolated(run_lap, input, lap, size);
    if (done && lap->no_memory)
        cli_fail(CLI_FAILED, "%s: there is no memory for so many sparkles", input->storage->name);
    if (done && !lap->no_memory) return lap;
    free(lap);
    return NULL;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

struct racer {
    struct lap *laps[LAPS];
    uint32_t count;
    double spent; /* milliseconds */
    double median, p99, ratio;
};

struct race {
    struct racer racers[STORAGES];
    uint32_t laps;
};

static void free_race(struct race *race) {
    for (int n = 0; n < STORAGES; n++)
        for (uint32_t lap = 0; lap < race->racers[n].count; lap++) free(race->racers[n].laps[lap]);
}

/* kolk always runs to the end. Any other storage may be stopped in its first lap, and begins a later lap only if there
 * is time left. */
static bool run_turn(const struct spell *spell, const struct storage *storage, struct racer *racer) {
    if (racer->count > 0 && racer->spent + racer->spent / racer->count > STORAGE_MS) return true;
    bool limited = racer->count == 0 && storage != &storages[STORAGE_KOLK];
    struct lap_input input = {spell, storage, spell->frames, limited ? STORAGE_MS : 1e12};
    struct lap *lap = new_lap(&input);
    if (!lap) return false;
    for (uint32_t n = 0; n < lap->frames; n++) racer->spent += lap->ms[n];
    racer->laps[racer->count++] = lap;
    return true;
}

static bool run_race(const cli_context *cli, const struct spell *spell, struct race *race) {
    uint64_t begin = cli_now();
    do {
        for (int n = 0; n < STORAGES; n++) {
            cli_progress(cli, "measuring", race->laps * STORAGES + (uint32_t)n, LAPS * STORAGES);
            int at = (n + STORAGE_KOLK) % STORAGES; /* kolk is first, because the others are compared with it */
            if (!run_turn(spell, &storages[at], &race->racers[at])) return false;
        }
        race->laps++;
    } while (race->laps < LAPS && cli_now() - begin < LAPS_MS * UINT64_C(1000000));
    cli_progress(cli, "", 0, 0);
    return true;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* Returns a quantile of the times of the first frames. A frame's time is its median over all laps, which removes the
 * effect of other load on the machine. `scratch` has space for one value per frame. */
static double quantile(const struct racer *racer, uint32_t frames, double part, double *scratch) {
    for (uint32_t frame = 0; frame < frames; frame++) {
        double ms[LAPS];
        for (uint32_t lap = 0; lap < racer->count; lap++) ms[lap] = racer->laps[lap]->ms[frame];
        scratch[frame] = cli_quantile(ms, racer->count, 0.5);
    }
    return cli_quantile(scratch, frames, part);
}

static void sum_up(struct racer *racer, const struct racer *kolk, double *scratch) {
    uint32_t frames = racer->laps[0]->frames;
    racer->median = quantile(racer, frames, 0.5, scratch);
    racer->p99 = quantile(racer, frames, 0.99, scratch);
    racer->ratio = racer->median / quantile(kolk, frames, 0.5, scratch);
}

/* Checks that this lap computed the same sparkles as kolk's lap. */
static int check_lap(const struct spell *spell, const struct storage *storage, const struct lap *lap,
                     const struct lap *kolk) {
    struct lap *shorter = NULL;
    if (lap->frames < kolk->frames) {
        struct lap_input input = {spell, &storages[STORAGE_KOLK], lap->frames, 1e12};
        kolk = shorter = new_lap(&input);
        if (!kolk) return CLI_FAILED;
    }
    int code = CLI_OK;
    if (lap->checksum != kolk->checksum || lap->refused != kolk->refused)
        code = cli_fail(CLI_FAILED, "%s: after %u frames the checksum is %016llx, that of kolk %016llx", storage->name,
                        lap->frames, (unsigned long long)lap->checksum, (unsigned long long)kolk->checksum);
    free(shorter);
    return code;
}

static int check_race(const struct spell *spell, struct race *race) {
    const struct racer *kolk = &race->racers[STORAGE_KOLK];
    double *scratch = malloc(spell->frames * sizeof *scratch);
    if (!scratch) return cli_fail(CLI_FAILED, "there is no memory");
    int code = CLI_OK;
    for (int n = 0; n < STORAGES; n++) {
        struct racer *racer = &race->racers[n];
        for (uint32_t lap = 0; lap < racer->count && code == CLI_OK; lap++)
            code = check_lap(spell, &storages[n], racer->laps[lap], kolk->laps[0]);
        sum_up(racer, kolk, scratch);
    }
    free(scratch);
    return code;
}

static void print_rows(const cli_context *cli, const struct spell *spell, const struct race *race) {
    cli_table table;
    cli_table_begin(&table, "lrrrrrr");
    fprintf(table.rows, "stored by\tms a frame\tp99\tkolk = 1\tmallocs\tat start\tgrowth\n");
    for (int n = 0; n < STORAGES; n++) {
        const struct racer *racer = &race->racers[n];
        const struct lap *lap = racer->laps[0];
        fprintf(table.rows, "%s%s\t%.3f\t%.3f\t%.2f\t%s\t%s\t%s\n", storages[n].name,
                lap->frames < spell->frames ? " *" : "", racer->median, racer->p99, racer->ratio,
                cli_count(lap->allocations).text, cli_bytes(lap->resident).text, cli_bytes(lap->growth).text);
    }
    cli_table_end(&table, cli);
    for (int n = 0; n < STORAGES; n++) {
        const struct lap *lap = race->racers[n].laps[0];
        if (lap->frames < spell->frames)
            fprintf(cli->out, "* %s: stopped after %d s; its first %u of %u frames, and kolk's\n", storages[n].name,
                    STORAGE_MS / 1000, lap->frames, spell->frames);
    }
}

static void print_race(const cli_context *cli, const struct spell *spell, const struct race *race) {
    const struct lap *kolk = race->racers[STORAGE_KOLK].laps[0];
    print_rows(cli, spell, race);
    fprintf(cli->out,
            "\nTo create and move them, without drawing: median and p99 of the frames, %u runs.\n"
            "Calls of malloc after the start; resident bytes.\n"
            "In a game, %s other objects are in the heap, one in 100 new each frame.\n"
            "All end with the same sparkles: checksum %016llx.\n",
            race->laps, cli_count(spell->sparkles).text, (unsigned long long)kolk->checksum);
    fprintf(cli->out, "The pool: %s slots, peak %s; sparkles refused while it was full: %s.\n",
            cli_count(kolk->stats.capacity).text, cli_count(kolk->stats.peak).text, cli_count(kolk->stats.failed).text);
}

static void add_stats(cli_json *json, const kolk_stats *stats) {
    cli_json_open(json, "pool", '{');
    cli_json_text(json, "name", stats->name);
    cli_json_count(json, "object_size", stats->object_size);
    cli_json_count(json, "stride", stats->stride);
    cli_json_count(json, "count", stats->count);
    cli_json_count(json, "peak", stats->peak);
    cli_json_count(json, "capacity", stats->capacity);
    cli_json_count(json, "failed", stats->failed);
    cli_json_count(json, "unused_bytes", stats->unused_bytes);
    cli_json_count(json, "bytes_committed", stats->bytes_committed);
    cli_json_close(json, '}');
}

static void add_race(cli_json *json, const struct race *race) {
    cli_json_open(json, "storages", '[');
    for (int n = 0; n < STORAGES; n++) {
        const struct racer *racer = &race->racers[n];
        const struct lap *lap = racer->laps[0];
        char checksum[17];
        snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)lap->checksum);
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", storages[n].name);
        cli_json_count(json, "runs", racer->count);
        cli_json_count(json, "frames", lap->frames);
        cli_json_number(json, "median_ms", racer->median);
        cli_json_number(json, "p99_ms", racer->p99);
        cli_json_number(json, "time_of_kolk", racer->ratio);
        cli_json_count(json, "allocations", lap->allocations);
        cli_json_count(json, "resident_at_start", lap->resident);
        cli_json_count(json, "resident_growth", lap->growth);
        cli_json_count(json, "refused", lap->refused);
        cli_json_text(json, "checksum", checksum);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    add_stats(json, &race->racers[STORAGE_KOLK].laps[0]->stats);
}

int demo_race(cli_context *cli, const struct spell *spell, cli_json *json) {
    struct race race = {0};
    int code = run_race(cli, spell, &race) ? check_race(spell, &race) : CLI_FAILED;
    if (code == CLI_OK && json) add_race(json, &race);
    if (code == CLI_OK && !json) print_race(cli, spell, &race);
    free_race(&race);
    return code;
}
