/* gta.c: shows a pool of the GTA trilogy byte by byte: which slot comes next, which handles are stale, and when a
 * handle repeats. Then compares a game's pools before and after a mod has run, as a modder would. */
#include "../print.h"
#include "stops.h"

struct entity {
    int32_t number; /* 1 is the pool's first */
};

KOLK_BYTEMAP_TYPE(entities, struct entity)

/* ---- Four slots -------------------------------------------------------------------------------------------------- */

enum { SLOTS = 4, WATCHED = 257 /* the first handle of slot 1 */ };

/* DELETE deletes the watched object. AGAIN reuses its slot until the same handle appears a second time. */
enum call { START, NEW, DELETE, AGAIN };

static const enum call steps[] = {START, NEW, NEW, NEW, DELETE, NEW, NEW, NEW, AGAIN};

enum { STEPS = sizeof steps / sizeof *steps };

struct play {
    entities pool;
    int32_t births;
    uint32_t lives; /* of the watched slot */
};

static kolk_status init(entities *pool, const char *name, int32_t count) {
    return entities_initialise_with(pool, &(kolk_bytemap_view){.name = name, .count = count});
}

static int32_t add(struct play *play) {
    struct entity *object = entities_new(&play->pool);
    if (!object) return KOLK_BYTEMAP_NULL;
    object->number = ++play->births;
    play->lives += entities_get_just_index(&play->pool, object) == WATCHED >> 8;
    return entities_get_index(&play->pool, object);
}

/* Performs one step and returns the handle of the last object allocated or freed. */
static int32_t take_step(struct play *play, enum call call) {
    entities *pool = &play->pool;
    int32_t handle = call == NEW ? add(play) : KOLK_BYTEMAP_NULL;
    if (call == DELETE) {
        handle = WATCHED;
        entities_delete(pool, entities_get_at(pool, handle));
    }
    while (call == AGAIN && handle != WATCHED) {
        entities_delete(pool, entities_get_slot(pool, WATCHED >> 8));
        handle = add(play);
    }
    return handle;
}

static void print_bytes(const cli_context *cli, const entities *pool, int32_t changed) {
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        unsigned byte = pool->pool.byte_map[slot];
        bool used = entities_get_slot(pool, slot) != NULL;
        if (!cli->color)
            fprintf(cli->out, "%02x ", byte);
        else if (slot == changed)
            fprintf(cli->out, "\033[1;38;5;231;48;5;%dm%02x\033[0m ", used ? 28 : 124, byte);
        else
            fprintf(cli->out, "\033[38;5;%dm%02x\033[0m ", used ? 252 : 240, byte);
    }
}

static void print_step(const cli_context *cli, const struct play *play, enum call call, int32_t handle) {
    const entities *pool = &play->pool;
    char text[32] = "New", given[16] = "none", found[32] = "NULL";
    if (call == START) snprintf(text, sizeof text, "Initialise(%d)", pool->pool.count);
    if (call == DELETE) snprintf(text, sizeof text, "Delete");
    if (call == AGAIN) snprintf(text, sizeof text, "... life %u of slot %d", play->lives, WATCHED >> 8);
    if (handle != KOLK_BYTEMAP_NULL) snprintf(given, sizeof given, "%d", handle);
    const struct entity *object = entities_get_at(pool, WATCHED);
    if (object) snprintf(found, sizeof found, "object %d", object->number);
    fprintf(cli->out, "  %-22s %6s   ", text, call == START ? "" : given);
    print_bytes(cli, pool, handle >> 8);
    fprintf(cli->out, "%12d   %d / %d   %s\n", pool->pool.first_free, entities_used_count(pool), pool->pool.count,
            found);
}

static void add_step(cli_json *json, const struct play *play, enum call call, int32_t handle) {
    static const char *const names[] = {
        [START] = "Initialise", [NEW] = "New", [DELETE] = "Delete", [AGAIN] = "Delete and New until"};
    const entities *pool = &play->pool;
    const struct entity *object = entities_get_at(pool, WATCHED);
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "call", names[call]);
    if (handle != KOLK_BYTEMAP_NULL) cli_json_count(json, "handle", (uint64_t)handle);
    cli_json_open(json, "byte_map", '[');
    for (int32_t slot = 0; slot < SLOTS; slot++) cli_json_count(json, NULL, pool->pool.byte_map[slot]);
    cli_json_close(json, ']');
    cli_json_number(json, "first_free", pool->pool.first_free);
    cli_json_count(json, "used", (uint64_t)entities_used_count(pool));
    if (object) cli_json_count(json, "object_of_257", (uint64_t)object->number);
    cli_json_close(json, '}');
}

/* ---- When a handle repeats --------------------------------------------------------------------------------------- */

/* Returns the number of lives of a kolk_pool slot until its first handle repeats, or 0 if it never does. To skip the
 * four billion lives in between, allocates an object with the last generation. */
static uint64_t lives_of_kolk(void) {
    kolk_pool pool;
    if (kolk_pool_init(&pool, &(kolk_pool_desc){.name = "one", .object_size = 1, .capacity = 1}) != KOLK_OK) return 0;
    void *object = kolk_pool_alloc(&pool);
    uint64_t first = kolk_handle_pack(kolk_pool_handle_of(&pool, object)), last = first | UINT64_C(0xffffffff) << 32;
    kolk_pool_free(&pool, object);
    object = kolk_pool_alloc_at(&pool, kolk_handle_unpack(last));
    bool stale = object && !kolk_pool_get(&pool, kolk_handle_unpack(first));
    kolk_pool_free(&pool, object);
    object = kolk_pool_alloc(&pool);
    bool again = object && kolk_pool_get(&pool, kolk_handle_unpack(first)) == object;
    kolk_pool_deinit(&pool);
    return stale && again ? (last >> 32) - (first >> 32) + 1 : 0;
}

static void print_lives(const cli_context *cli, uint64_t lives, uint64_t of_kolk) {
    enum { A_SECOND = 60, A_DAY = 24 * 60 * 60 };
    fprintf(cli->out,
            "\nA byte is a slot's seed, and 0x80 if it is free; a handle is slot * 256 + byte.\n"
            "New moves on before it looks, so slot 1 waits until first_free has come round.\n"
            "Handle 257 comes again after %s lives of its slot, and finds another object; a\n"
            "kolk_handle after %s. At %d a second: %.1f seconds, and %s days.\n",
            cli_count(lives).text, cli_count(of_kolk).text, A_SECOND, (double)lives / A_SECOND,
            cli_count(of_kolk / A_SECOND / A_DAY).text);
}

/* ---- What a modder sees ------------------------------------------------------------------------------------------ */

enum { POOLS = 2, MOST = 140 };

static const struct scene {
    const char *name;
    int32_t count, used, deleted, spawned; /* `used` counts the game's objects, the other two what the mod does */
} scenes[POOLS] = {{"peds", MOST, 60, 4, 12}, {"vehicles", 110, 108, 3, 4}};

enum { LISTED = 1 }; /* this pool's changes are shown one by one */

static const char *const changes[] = {
    [KOLK_BYTEMAP_BORN] = "born", [KOLK_BYTEMAP_DIED] = "died", [KOLK_BYTEMAP_REPLACED] = "replaced"};

struct watched {
    entities game, view; /* the game's own pool; the modder's read-only view of its arrays */
    uint8_t before[MOST];
    int32_t used_before;
    uint32_t counts[KOLK_BYTEMAP_REPLACED + 1]; /* number of changes of each kind */
};

/* Uses every slot once, and leaves the first `used` ones alive. */
static void play_game(entities *pool, int32_t used) {
    for (int32_t n = 0; n < pool->pool.count; n++) entities_new(pool);
    for (int32_t slot = used; slot < pool->pool.count; slot++) entities_delete(pool, entities_get_slot(pool, slot));
}

static void run_mod(entities *pool, const struct scene *scene) {
    for (int32_t n = 0; n < scene->deleted; n++)
        entities_delete(pool, entities_get_slot(pool, n * scene->used / scene->deleted));
    for (int32_t n = 0; n < scene->spawned; n++) entities_new(pool);
}

static bool next_change(const struct watched *watched, kolk_bytemap_difference *difference) {
    const kolk_bytemap *pool = &watched->view.pool;
    return kolk_bytemap_compare(watched->before, pool->byte_map, pool->count, difference);
}

static kolk_status watch(struct watched *watched, const struct scene *scene) {
    kolk_bytemap *game = &watched->game.pool;
    kolk_status status = init(&watched->game, scene->name, scene->count);
    if (status != KOLK_OK) return status;
    play_game(&watched->game, scene->used);
    kolk_bytemap_view view = {.name = scene->name,
                              .object_list = game->object_list,
                              .byte_map = game->byte_map,
                              .count = game->count,
                              .cursor = &game->first_free};
    status = entities_attach(&watched->view, &view);
    if (status != KOLK_OK) return status;

    memcpy(watched->before, watched->view.pool.byte_map, (size_t)scene->count);
    watched->used_before = entities_used_count(&watched->view);
    run_mod(&watched->game, scene);
    for (kolk_bytemap_difference difference = {0}; next_change(watched, &difference);)
        watched->counts[difference.change]++;
    return KOLK_OK;
}

static void print_watched(const cli_context *cli, const struct watched *pools) {
    cli_table table;
    fprintf(cli->out, "\nA game's pools, used / count, before and after a mod has run; its %s:\n\n",
            scenes[LISTED].name);
    cli_table_begin(&table, "lrrrrr");
    fprintf(table.rows, "pool\tbefore\tafter\tborn\tdied\treplaced\n");
    for (int n = 0; n < POOLS; n++) {
        const entities *pool = &pools[n].view;
        const uint32_t *counts = pools[n].counts;
        fprintf(table.rows, "%s\t%d / %d\t%d / %d\t%u\t%u\t%u\n", pool->pool.name, pools[n].used_before,
                pool->pool.count, entities_used_count(pool), pool->pool.count, counts[KOLK_BYTEMAP_BORN],
                counts[KOLK_BYTEMAP_DIED], counts[KOLK_BYTEMAP_REPLACED]);
    }
    cli_table_end(&table, cli);
    fputc('\n', cli->out);
    for (kolk_bytemap_difference difference = {0}; next_change(&pools[LISTED], &difference);)
        fprintf(cli->out, "  slot %3d %-8s  handle %5d, now %5d\n", difference.index, changes[difference.change],
                difference.before, difference.after);
}

static void add_watched(cli_json *json, const struct watched *watched) {
    const entities *pool = &watched->view;
    cli_json_open(json, pool->pool.name, '{');
    cli_json_count(json, "count", (uint64_t)pool->pool.count);
    cli_json_count(json, "used_before", (uint64_t)watched->used_before);
    cli_json_count(json, "used", (uint64_t)entities_used_count(pool));
    cli_json_open(json, "changes", '[');
    for (kolk_bytemap_difference difference = {0}; next_change(watched, &difference);) {
        cli_json_open(json, NULL, '{');
        cli_json_count(json, "slot", (uint64_t)difference.index);
        cli_json_text(json, "change", changes[difference.change]);
        if (difference.change != KOLK_BYTEMAP_BORN) cli_json_count(json, "before", (uint64_t)difference.before);
        if (difference.change != KOLK_BYTEMAP_DIED) cli_json_count(json, "after", (uint64_t)difference.after);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

static int show_watched(cli_context *cli, cli_json *json) {
    struct watched pools[POOLS] = {0};
    int code = CLI_OK;
    for (int n = 0; n < POOLS && code == CLI_OK; n++) {
        kolk_status status = watch(&pools[n], &scenes[n]);
        if (status != KOLK_OK) code = cli_fail(CLI_FAILED, "%s: %s", scenes[n].name, kolk_status_text(status));
    }
    if (code == CLI_OK && !json) print_watched(cli, pools);
    for (int n = 0; n < POOLS && code == CLI_OK && json; n++) add_watched(json, &pools[n]);
    for (int n = 0; n < POOLS; n++) {
        entities_flush(&pools[n].view);
        entities_flush(&pools[n].game);
    }
    return code;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

int demo_gta(cli_context *cli, const struct demo *demo, cli_json *json) {
    struct play play = {0};
    (void)demo;
    kolk_status status = init(&play.pool, "gta", SLOTS);
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "gta: %s", kolk_status_text(status));
    if (json)
        cli_json_open(json, "steps", '[');
    else
        fprintf(cli->out, "%s  call                   handle   byte map      first_free    used   GetAt(%d)%s\n",
                cli_dim(cli), WATCHED, cli_plain(cli));
    for (int n = 0; n < STEPS; n++) {
        int32_t handle = take_step(&play, steps[n]);
        if (json)
            add_step(json, &play, steps[n], handle);
        else
            print_step(cli, &play, steps[n], handle);
    }
    entities_flush(&play.pool);

    uint64_t lives = play.lives - 1, of_kolk = lives_of_kolk();
    if (json) {
        cli_json_close(json, ']');
        cli_json_count(json, "lives_until_257_again", lives);
        cli_json_count(json, "lives_until_kolk_handle_again", of_kolk);
    } else {
        print_lives(cli, lives, of_kolk);
    }
    return of_kolk > 0 ? show_watched(cli, json) : cli_fail(CLI_FAILED, "gta: a kolk_handle does not come again");
}
