/* demo.c: `kolk demo`: what kolk is, in half a minute: mistakes that are reported, sparkles in their pool, and what the
 * time of a frame is. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../print.h"
#include "sparkles.h"

static uint64_t want_sparkles;

static const cli_option options[] = {
    {.name = "sparkles",
     .letter = 'n',
     .kind = CLI_COUNT,
     .argument = "N",
     .value = &want_sparkles,
     .least = 1,
     .most = 10000000,
     .fallback = 100000,
     .help = "sparkles alive at the peak"},
    {0},
};

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

/* The row that is being made: what the program does, and what kolk says. */
struct telling {
    FILE *rows;
    const char *what;
};

static void tell(const struct telling *telling, const char *said) {
    fprintf(telling->rows, "  %s\t%s\n", telling->what, said);
}

static void tell_failure(const kolk_failure *failure, void *context) {
    tell(context, failure->sentence);
}

static void make_mistakes(sparkles *pool, struct telling *telling) {
    struct sparkle *first = sparkles_alloc(pool), foreign;
    sparkles_handle handle = sparkles_handle_of(pool, first);
    sparkles_free(pool, first);
    telling->what = "frees a sparkle again";
    sparkles_free(pool, first);
    struct sparkle *second = sparkles_alloc(pool);
    telling->what = "frees the middle of another";
    sparkles_free(pool, (struct sparkle *)(void *)((char *)second + 4));
    telling->what = "frees what is no sparkle";
    sparkles_free(pool, &foreign);
    telling->what = "keeps the handle of the first";
    bool stale = second == first && !sparkles_get(pool, handle);
    tell(telling, stale ? "it gives NULL, though another lives in that slot" : "it gives another sparkle");
    telling->what = "has changed nothing by all that";
    tell(telling, sparkles_is_valid(pool) && sparkles_count(pool) == 1 ? "the pool is whole" : "the pool is damaged");
}

static int show_mistakes(const cli_context *cli) {
    static KOLK_POOL_STORAGE(struct sparkle, 4) memory;
    sparkles pool;
    kolk_pool_desc desc = {.name = "sparkles", .capacity = 4, .memory = &memory, .memory_size = sizeof memory};
    kolk_status status = sparkles_init(&pool, &desc);
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "sparkles: %s", kolk_status_text(status));
    cli_table table;
    cli_table_begin(&table, "ll");
    fprintf(table.rows, "a program\tin every build\n");
    struct telling telling = {.rows = table.rows};
    kolk_set_failure_handler(tell_failure, &telling);
    make_mistakes(&pool, &telling);
    kolk_set_failure_handler(NULL, NULL);
    sparkles_deinit(&pool);
    cli_table_end(&table, cli);
    fputc('\n', cli->out);
    return CLI_OK;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int run(cli_context *cli, int count, char **arguments) {
    (void)count, (void)arguments;
    uint32_t most = (uint32_t)want_sparkles;
    if (cli->json) return demo_race(cli, most);
    cli_context here = *cli;
    if (cli->terminal) here.out = stdout; /* it is shown as it runs, not when it has ended */
    int code = show_mistakes(&here);
    if (code == CLI_OK) code = demo_screen(&here, most);
    if (code != CLI_OK) return code;
    fprintf(here.out, "Up to %s sparkles, created, moved and freed among the other objects of a game:\n\n",
            cli_count(most).text);
    code = demo_race(&here, most);
    if (code == CLI_OK)
        fputs("\nThe rows below the sparkles are the slots of their pool. make web shows them in a browser,\n"
              "next to malloc's blocks. examples/ has the pools of the texts, each as a program.\n",
              here.out);
    return code;
}

const cli_verb cli_demo = {
    .name = "demo",
    .summary = "what kolk is: mistakes that are reported, sparkles in their pool, the time of a frame",
    .details = "On a terminal the sparkles are shown at once, with the pool's slots under them;\n"
               "elsewhere, three moments of them.\n"
               "\n"
               "The table measures three ways of storing the sparkles, on the same seed: objects\n"
               "from malloc, the pool of the chapter on object pools in Game Programming\n"
               "Patterns, and kolk. Creating and moving them is measured, drawing is not. They\n"
               "must end with the same checksum of all positions, or else the demo fails.\n",
    .options = options,
    .run = run,
};
