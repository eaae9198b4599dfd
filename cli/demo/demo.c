/* demo.c: `kolk demo`: mistakes, and what kolk says to them. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../json.h"
#include "../print.h"

#include <kolk/kolk.h>

struct sparkle {
    float x, y, x_velocity, y_velocity;
};

KOLK_POOL_TYPE(sparkles, struct sparkle)

/* The row that is being made: what the program does, and what kolk says. */
struct telling {
    cli_table table;
    cli_json json; /* if json.out */
    const char *what;
};

static void tell(struct telling *telling, const char *said) {
    if (telling->json.out)
        cli_json_text(&telling->json, telling->what, said);
    else
        fprintf(telling->table.rows, "  %s\t%s\n", telling->what, said);
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

static int run(cli_context *cli, int count, char **arguments) {
    (void)count, (void)arguments;
    static KOLK_POOL_STORAGE(struct sparkle, 4) memory;
    sparkles pool;
    kolk_pool_desc desc = {.name = "sparkles", .capacity = 4, .memory = &memory, .memory_size = sizeof memory};
    kolk_status status = sparkles_init(&pool, &desc);
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "sparkles: %s", kolk_status_text(status));
    struct telling telling = {.json.out = cli->json ? cli->out : NULL};
    if (cli->json) {
        cli_json_open(&telling.json, NULL, '{');
    } else {
        cli_table_begin(&telling.table, "ll");
        fprintf(telling.table.rows, "a program\tin every build\n");
    }
    kolk_set_failure_handler(tell_failure, &telling);
    make_mistakes(&pool, &telling);
    kolk_set_failure_handler(NULL, NULL);
    sparkles_deinit(&pool);
    if (cli->json)
        cli_json_close(&telling.json, '}');
    else
        cli_table_end(&telling.table, cli);
    return CLI_OK;
}

const cli_verb cli_demo = {
    .name = "demo",
    .summary = "mistakes with a pool, and what kolk says to them in every build",
    .run = run,
};
