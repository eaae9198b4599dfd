/* components.c: shows which hole is filled first, using the example from the article on component pools: of ten
 * components, four are removed and then four are added. Then shows the effect in a pool of a hundred thousand. */
#include "../measure.h"
#include "../print.h"
#include "stops.h"

#include <stdlib.h>

struct component {
    float x, y, dx, dy;
    char letter; /* of the map */
};

KOLK_POOL_TYPE(components, struct component)

enum { ORDERS = 2 };

static const struct order {
    const char *name, *title;
    kolk_reuse reuse;
} orders[ORDERS] = {
    {"LIFO", "LIFO: the hole that was made last", KOLK_REUSE_LIFO},
    {"LOWEST", "LOWEST: the first hole", KOLK_REUSE_LOWEST},
};

static int init(components *pool, uint32_t capacity, const struct order *order) {
    kolk_pool_desc desc = {.name = "components", .capacity = capacity, .reuse = order->reuse};
    kolk_status status = components_init(pool, &desc);
    return status == KOLK_OK ? CLI_OK : cli_fail(CLI_FAILED, "components: %s", kolk_status_text(status));
}

/* ---- Ten slots --------------------------------------------------------------------------------------------------- */

enum { SLOTS = 10, STEPS = 8 };

static const uint32_t removed[STEPS / 2] = {3, 8, 5, 4}; /* then the same number is added */

static struct component *add(components *pool, char letter) {
    struct component *object = components_alloc(pool);
    if (object) *object = (struct component){.letter = letter};
    return object;
}

static void take_step(components *pool, int step) {
    if (step < STEPS / 2)
        components_free(pool, components_at(pool, removed[step]));
    else
        add(pool, 'o');
}

/* Returns the slot that would be filled next, without changing either order. */
static uint32_t first_empty(components *pool) {
    struct component *next = components_alloc(pool);
    if (!next) return SLOTS;
    uint32_t slot = components_index(pool, next);
    components_free(pool, next);
    return slot;
}

struct row {
    char letters[SLOTS + 1];
};

static struct row map_of(components *pool) {
    struct row row = {{0}};
    uint32_t next = first_empty(pool);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct component *object = components_at(pool, slot);
        row.letters[slot] = object ? object->letter : slot == next ? '^' : '-';
    }
    return row;
}

static void print_map(const cli_context *cli, components *pool, bool last) {
    struct row row = map_of(pool);
    for (const char *letter = row.letters; *letter; letter++) {
        bool quiet = *letter == 'x' || *letter == '-';
        fprintf(cli->out, "%s%c%s", quiet ? cli_dim(cli) : cli_bold(cli), *letter, cli_plain(cli));
    }
    fprintf(cli->out, last ? "\n" : "%*s", last ? 0 : 25, "");
}

static void print_steps(const cli_context *cli, components *pools) {
    fprintf(cli->out, "%s             %-33s  %s%s\n", cli_dim(cli), orders[0].title, orders[1].title, cli_plain(cli));
    for (int step = -1; step < STEPS; step++) {
        char call[16] = "full";
        if (step >= 0 && step < STEPS / 2) snprintf(call, sizeof call, "remove(%u)", removed[step]);
        if (step >= STEPS / 2) snprintf(call, sizeof call, "add()");
        fprintf(cli->out, "  %-9s  ", call);
        for (int n = 0; n < ORDERS; n++) {
            if (step >= 0) take_step(&pools[n], step);
            print_map(cli, &pools[n], n == ORDERS - 1);
        }
    }
    fprintf(cli->out, "\nx is in use, o was added in a hole, - is a hole, ^ the hole that is filled next.\n");
}

static void add_steps(cli_json *json, components *pool) {
    cli_json_open(json, "maps", '[');
    for (int step = -1; step < STEPS; step++) {
        if (step >= 0) take_step(pool, step);
        cli_json_text(json, NULL, map_of(pool).letters);
    }
    cli_json_close(json, ']');
}

/* ---- A hundred thousand, half of them alive ---------------------------------------------------------------------- */

enum { MANY = 100000, ALIVE = MANY / 2, CHANGES = 20 * ALIVE, STRETCHES = 40, LAPS = 5 };

struct churned {
    double mean_run, ns;        /* mean length of runs of live slots; time to visit one object */
    uint32_t alive;             /* live slots, about half */
    uint32_t counts[STRETCHES]; /* live slots in each stretch of the slots */
};

static uint32_t random_below(uint64_t *random, uint32_t bound) {
    *random += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mix_bits(*random) >> 32) * bound >> 32);
}

static void remove_one(components *pool, struct component **objects, uint64_t *random) {
    uint32_t count = components_count(pool), victim = random_below(random, count);
    components_free(pool, objects[victim]);
    objects[victim] = objects[count - 1];
}

/* Fills the pool and removes half of it. Then keeps removing random objects and adding others, so that about half of
 * the slots stay alive. */
static void churn(components *pool, struct component **objects, uint64_t random) {
    for (uint32_t n = 0; n < MANY; n++) objects[n] = add(pool, 'x');
    while (components_count(pool) > ALIVE) remove_one(pool, objects, &random);
    for (uint32_t n = 0; n < CHANGES; n++) {
        uint32_t count = components_count(pool);
        if (random_below(&random, ALIVE + count) < ALIVE && count < MANY)
            objects[count] = add(pool, 'o');
        else
            remove_one(pool, objects, &random);
    }
}

static void look(const components *pool, struct churned *churned) {
    uint32_t runs = 0, end = UINT32_MAX;
    *churned = (struct churned){.alive = components_count(pool)};
    KOLK_EACH_RUN(components, run, length, pool) {
        uint32_t at = components_index(pool, run);
        runs += at != end; /* not each one returned is a run of its own: see kolk_cursor_next_run */
        end = at + length;
        for (uint32_t slot = at; slot < end; slot++) churned->counts[(uint64_t)slot * STRETCHES / MANY]++;
    }
    churned->mean_run = (double)churned->alive / runs;
}

static double visit_all(components *pool) {
    double ns[LAPS];
    for (int lap = 0; lap < LAPS; lap++) {
        uint64_t begin = cli_now();
        KOLK_EACH(components, object, pool) {
            object->x += object->dx;
            object->y += object->dy;
        }
        ns[lap] = (double)(cli_now() - begin) / components_count(pool);
    }
    return cli_quantile(ns, LAPS, 0.5);
}

static int churn_order(const cli_context *cli, const struct order *order, struct churned *churned) {
    components pool;
    struct component **objects = malloc(MANY * sizeof(struct component *));
    if (!objects) return cli_fail(CLI_FAILED, "there is no memory for components");
    int code = init(&pool, MANY, order);
    if (code == CLI_OK) {
        churn(&pool, objects, cli->seed);
        look(&pool, churned);
        churned->ns = visit_all(&pool);
        components_deinit(&pool);
    }
    free(objects);
    return code;
}

static void print_churned(const cli_context *cli, const struct churned *churned) {
    fprintf(cli->out, "\nAfter %s random removals and additions, %s of %s are alive:\n\n", cli_count(CHANGES).text,
            cli_count(churned[0].alive).text, cli_count(MANY).text);
    fprintf(cli->out, "%s          %-*s   mean run   a visit%s\n", cli_dim(cli), STRETCHES,
            "from the first slot to the last", cli_plain(cli));
    for (int n = 0; n < ORDERS; n++) {
        fprintf(cli->out, "  %-6s  ", orders[n].name);
        for (int at = 0; at < STRETCHES; at++) {
            double part = (double)churned[n].counts[at] * STRETCHES / MANY;
            if (cli->color)
                fprintf(cli->out, "\033[48;5;%dm \033[0m", 233 + (int)(21.99 * part));
            else
                fputc(" .:-=+*#%@"[(int)(9.99 * part)], cli -> out);
        }
        fprintf(cli->out, " %10.1f  %5.1f ns\n", churned[n].mean_run, churned[n].ns);
    }
    fprintf(cli->out, "\nThe longer the runs of live slots, the more visiting them is like an array.\n");
}

static void add_churned(cli_json *json, const struct churned *churned) {
    cli_json_count(json, "slots", MANY);
    cli_json_count(json, "alive", churned->alive);
    cli_json_number(json, "mean_run", churned->mean_run);
    cli_json_number(json, "ns_a_visit", churned->ns);
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

static int start(components *pools) {
    for (int n = 0; n < ORDERS; n++) {
        int code = init(&pools[n], SLOTS, &orders[n]);
        if (code != CLI_OK) return code;
        while (add(&pools[n], 'x')) continue;
    }
    return CLI_OK;
}

int demo_components(cli_context *cli, const struct demo *demo, cli_json *json) {
    components pools[ORDERS] = {0};
    struct churned churned[ORDERS] = {0};
    (void)demo;
    int code = start(pools);
    for (int n = 0; n < ORDERS && code == CLI_OK; n++) code = churn_order(cli, &orders[n], &churned[n]);
    if (code == CLI_OK && !json) {
        print_steps(cli, pools);
        print_churned(cli, churned);
    }
    for (int n = 0; n < ORDERS && code == CLI_OK && json; n++) {
        cli_json_open(json, orders[n].name, '{');
        add_steps(json, &pools[n]);
        add_churned(json, &churned[n]);
        cli_json_close(json, '}');
    }
    for (int n = 0; n < ORDERS; n++) components_deinit(&pools[n]);
    return code;
}
