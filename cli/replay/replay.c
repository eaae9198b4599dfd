/* replay.c: the verb `replay`: serves a program's recorded allocations from pools, a heap and malloc. */
#include "../cli.h"
#include "../json.h"
#include "../measure.h"
#include "../print.h"
#include "load.h"
#include "player.h"
#include "slots.h"

static const char details[] =
    LOAD_HELP "\n"
              "Sizes of up to 1 KiB come from growing pools, one for each multiple of 16 bytes, the\n"
              "rest from malloc; then the same operations run on one heap (kolk_heap), and on malloc\n"
              "alone. Timed rounds alternate and write the first word of each object; the medians are\n"
              "shown. Before them, each object is filled and verified, and memory measured, in a\n"
              "process of its own.\n"
              "\n"
              "With --pool, the recorded allocations of one of the program's own kolk pools are done\n"
              "with so many slots instead: how many fail, or evict which objects? The names are in a\n"
              "recording of a program that contains KOLK_RECORD_POOLS() (kolk_record.h). The program\n"
              "itself is not there: what it would have done after a failure is not in the numbers.\n"
              "\n"
              "To record a program that calls mtrace() at its beginning (glibc 2.34 or newer):\n"
              "  MALLOC_TRACE=my.mtrace LD_PRELOAD=libc_malloc_debug.so.0 ./my-program\n"
              "For one that doesn't, preload mtrace.so too, made by\n"
              "  echo 'void mtrace(void); __attribute__((constructor)) void f(void) { mtrace(); }' |\n"
              "      cc -shared -fPIC -o mtrace.so -x c -\n";

static const char *pool;

static const cli_option options[] = {
    {.name = "pool",
     .letter = 'p',
     .kind = CLI_TEXT,
     .argument = "NAME=SLOTS[,evict_oldest]",
     .value = &pool,
     .help = "what happens with so many slots"},
    {0},
};

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

enum { POOLS = PLAYER_POOLS, HEAP = PLAYER_HEAP, MALLOC = PLAYER_MALLOC, PLAYERS };
static const uint64_t ROUNDS_TIME = UINT64_C(1000000000);

struct replay {
    const char *name;
    struct trace trace;
    struct player players[PLAYERS];
    struct player_check checks[PLAYERS];
    double ns[PLAYERS]; /* median time of an operation */
    size_t rounds;
};

struct check_input {
    struct player *player;
    uint64_t seed;
};

static void check_one(const void *input, void *result) {
    const struct check_input *check = input;
    player_check(check->player, check->seed, result);
}

static int check(const cli_context *cli, struct replay *replay) {
    static const char *const names[] = {"pools", "a heap", "malloc"};
    for (size_t i = 0; i < PLAYERS; i++) {
        struct check_input input = {&replay->players[i], cli->seed};
        struct player_check *check = &replay->checks[i];
        cli_progress(cli, "checking", i, PLAYERS);
        if (!cli_isolated(check_one, &input, check, sizeof *check)) return CLI_FAILED;
        if (check->problem.text[0])
            return cli_fail(CLI_FAILED, "%s: served from %s: %s", replay->name, names[i], check->problem.text);
    }
    return CLI_OK;
}

static bool run_player(void *player) {
    return player_run(player);
}

static int measure(const cli_context *cli, struct replay *replay) {
    struct cli_side sides[PLAYERS];
    for (size_t i = 0; i < PLAYERS; i++) sides[i] = (struct cli_side){.run = run_player, .what = &replay->players[i]};
    replay->rounds = cli_rounds(cli, sides, PLAYERS, ROUNDS_TIME);
    if (replay->rounds == 0) return cli_fail(CLI_FAILED, "%s: there is no memory to replay it", replay->name);
    for (size_t i = 0; i < PLAYERS; i++) replay->ns[i] = sides[i].ns / (double)replay->players[i].count;
    return CLI_OK;
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static uint64_t committed(const struct player *player) {
    uint64_t bytes = 0;
    for (size_t i = 1; i < PLAYER_CLASSES; i++) {
        kolk_stats stats;
        kolk_pool_stats(&player->pools[i], &stats);
        bytes += stats.bytes_committed;
    }
    return bytes;
}

static void print_classes(const cli_context *cli, const struct player *player) {
    cli_table table;
    cli_table_begin(&table, "rrrrrr");
    fprintf(table.rows, "size\tcall sites\tallocations\tshare\tcapacity\tbytes\n");
    for (size_t i = 1; i <= PLAYER_CLASSES; i++) { /* malloc's class is the last */
        const struct player_class *class = &player->classes[i % PLAYER_CLASSES];
        if (class->allocations == 0) continue;
        fprintf(table.rows, "%s\t%s\t%s\t%s\t%s\t%s\n", i < PLAYER_CLASSES ? cli_count(i * PLAYER_STEP).text : "malloc",
                cli_count(class->callers).text, cli_count(class->allocations).text,
                cli_share((double)class->allocations, (double)player->allocations).text, cli_count(class->peak).text,
                cli_bytes(class->bytes).text);
    }
    cli_table_end(&table, cli);
}

static cli_text resident(const struct player_check *check) {
    return check->resident > 0 ? cli_bytes(check->resident) : (cli_text){"unknown"};
}

static void print_text(const cli_context *cli, const struct replay *replay) {
    const struct player *player = &replay->players[POOLS];
    uint64_t pooled = player->allocations - player->classes[0].allocations;
    fprintf(cli->out, "%s: %s operations, %s call sites, at the peak %s blocks and %s\n", replay->name,
            cli_count(player->count).text, cli_count(player->callers).text, cli_count(player->blocks).text,
            cli_bytes(player->bytes).text);
    load_print_left_out(cli, &replay->trace);
    fputc('\n', cli->out);
    print_classes(cli, player);
    fprintf(cli->out, "%scapacity: the most objects alive at a time, which is what the pool of that size needs%s\n\n",
            cli_dim(cli), cli_plain(cli));

    cli_table table;
    cli_table_begin(&table, "lrr");
    fprintf(table.rows, "served from\tns per operation\tresident at the peak\n");
    fprintf(table.rows, "pools\t%s\t%s\n", cli_time(replay->ns[POOLS], 2, "").text,
            resident(&replay->checks[POOLS]).text);
    fprintf(table.rows, "a heap\t%s\t%s\n", cli_time(replay->ns[HEAP], 2, "").text,
            resident(&replay->checks[HEAP]).text);
    fprintf(table.rows, "malloc alone\t%s\t%s\n", cli_time(replay->ns[MALLOC], 2, "").text,
            resident(&replay->checks[MALLOC]).text);
    cli_table_end(&table, cli);
    fprintf(cli->out, "%sn = %zu rounds each, medians; resident: memory that came with the objects%s\n\n", cli_dim(cli),
            replay->rounds, cli_plain(cli));

    fprintf(cli->out, "%s of the allocations came from pools that grew to %s; in all %s%s times%s as fast as malloc.\n",
            cli_share((double)pooled, (double)player->allocations).text, cli_bytes(committed(player)).text,
            cli_bold(cli), cli_times(replay->ns[MALLOC], replay->ns[POOLS]).text, cli_plain(cli));
    fprintf(cli->out, "%s objects were filled, and found whole when they were freed or resized.\n",
            cli_count(replay->checks[POOLS].checked).text);
}

static void write_class(cli_json *json, const char *key, const struct player *player, size_t i) {
    const struct player_class *class = &player->classes[i];
    cli_json_open(json, key, '{');
    if (i > 0) cli_json_count(json, "size", i * PLAYER_STEP);
    cli_json_count(json, "call_sites", class->callers);
    cli_json_count(json, "allocations", class->allocations);
    cli_json_number(json, "share", (double)class->allocations / (double)player->allocations);
    cli_json_count(json, "capacity", class->peak);
    cli_json_count(json, "bytes", class->bytes);
    cli_json_close(json, '}');
}

static void write_side(cli_json *json, const struct replay *replay, const char *key, size_t i) {
    cli_json_open(json, key, '{');
    cli_json_number(json, "ns_per_operation", replay->ns[i]);
    cli_json_count(json, "resident_bytes_at_peak", replay->checks[i].resident);
    cli_json_count(json, "objects_checked", replay->checks[i].checked);
    cli_json_close(json, '}');
}

static void write_json(const cli_context *cli, const struct replay *replay) {
    const struct player *player = &replay->players[POOLS];
    cli_json json = {.out = cli->out};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "trace", replay->name);
    if (replay->trace.cut_line > 0) cli_json_count(&json, "cut_off_in_line", replay->trace.cut_line);
    cli_json_count(&json, "operations", player->count);
    cli_json_count(&json, "allocations", player->allocations);
    cli_json_count(&json, "call_sites", replay->players[POOLS].callers);
    cli_json_count(&json, "blocks_at_peak", player->blocks);
    cli_json_count(&json, "bytes_at_peak", player->bytes);
    cli_json_count(&json, "failed_left_out", replay->trace.failed);
    cli_json_count(&json, "unknown_left_out", replay->trace.unknown);
    cli_json_open(&json, "pools", '[');
    for (size_t i = 1; i < PLAYER_CLASSES; i++)
        if (player->classes[i].allocations > 0) write_class(&json, NULL, player, i);
    cli_json_close(&json, ']');
    write_class(&json, "larger", player, 0);
    cli_json_count(&json, "pool_bytes_committed", committed(player));
    cli_json_number(&json, "share_from_pools",
                    1 - (double)player->classes[0].allocations / (double)player->allocations);
    cli_json_count(&json, "rounds", replay->rounds);
    write_side(&json, replay, "from_pools", POOLS);
    write_side(&json, replay, "from_heap", HEAP);
    write_side(&json, replay, "from_malloc", MALLOC);
    cli_json_number(&json, "times_as_fast", replay->ns[MALLOC] / replay->ns[POOLS]);
    cli_json_close(&json, '}');
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static int load(struct replay *replay, const char *path) {
    struct trace_problem problem;
    int code = load_trace(&replay->trace, path, &replay->name);
    if (code != CLI_OK) return code;
    for (size_t i = 0; i < PLAYERS; i++)
        if (!player_init(&replay->players[i], &replay->trace, (enum player_supply)i, &problem))
            return cli_fail(CLI_FAILED, "%s: %s", replay->name, problem.text);
    return CLI_OK;
}

static int run_pool(const cli_context *cli, const char *path) {
    struct trace trace;
    struct slots slots;
    if (!slots_parse(&slots, pool))
        return cli_fail(CLI_USAGE, "--pool expects NAME=SLOTS or NAME=SLOTS,evict_oldest, not '%s'", pool);
    int code = load_trace(&trace, path, &path);
    if (code == CLI_OK) code = slots_run(&slots, &trace, path);
    if (code == CLI_OK) slots_print(cli, &slots, path);
    trace_free(&trace);
    return code;
}

static int run(cli_context *cli, int count, char **arguments) {
    if (pool) return run_pool(cli, count > 0 ? arguments[0] : NULL);
    static struct replay replay;
    int code = load(&replay, count > 0 ? arguments[0] : NULL);
    if (code == CLI_OK) code = check(cli, &replay);
    if (code == CLI_OK) code = measure(cli, &replay);
    if (code == CLI_OK) (cli->json ? write_json : print_text)(cli, &replay);
    for (size_t i = 0; i < PLAYERS; i++) player_deinit(&replay.players[i]);
    trace_free(&replay.trace);
    return code;
}

const cli_verb cli_replay = {
    .name = "replay",
    .arguments = "[TRACE]",
    .most_arguments = 1,
    .summary = "serves a program's recorded allocations from pools and a heap, beside malloc",
    .details = details,
    .options = options,
    .run = run,
};
