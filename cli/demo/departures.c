/* departures.c: shows the cost of fragmentation. A random half of the luggage leaves, free memory goes back to the
 * system, and other luggage arrives. This runs on a heap with kolk's sizes and on malloc, each in its own process. */
#include "../measure.h"
#include "../print.h"
#include "luggage.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MANY = 100000, SIDES = 2 };

struct departures {
    bool done;
    uint64_t all, half, trimmed, again;          /* bytes by which the process's resident memory grew for the things */
    uint64_t all_bytes, half_bytes, again_bytes; /* sums of the things' sizes */
};

struct side {
    const char *name;
    void *(*alloc)(size_t size);
    void (*free)(void *block);
    void (*trim)(void);
};

static kolk_heap heap;

static void *heap_alloc(size_t size) {
    return kolk_heap_alloc(&heap, size);
}

static void heap_free(void *block) {
    kolk_heap_free(&heap, block);
}

static void heap_trim(void) {
    kolk_heap_trim(&heap);
}

static void malloc_give_back(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static const struct side sides[SIDES] = {{"kolk_heap", heap_alloc, heap_free, heap_trim},
                                         {"malloc", malloc, free, malloc_give_back}};

struct run {
    const struct side *side;
    bool suitcases; /* only suitcases arrive after the departure */
};

struct thing {
    void *block;
    size_t size;
};

size_t next_thing(uint32_t *random) {
    *random = *random * 1664525 + 1013904223;
    size_t part = *random >> 8 & 1023, kind = (*random >> 18) % 20;
    if (kind < 13) return 8 + part % 25;  /* keys, coins */
    if (kind < 18) return 33 + part / 8;  /* wallets, phones */
    if (kind < 19) return 200 + part / 2; /* handbags */
    return LEAST_SUITCASE + part * 5;
}

static size_t next_suitcase(uint32_t *random) {
    for (;;) {
        size_t size = next_thing(random);
        if (size >= LEAST_SUITCASE) return size;
    }
}

/* Puts things, or only suitcases, into empty places until they add up to `most` bytes or no place is left. Returns the
 * bytes put in, or 0 if memory runs out. */
static uint64_t arrive(const struct run *run, struct thing *things, uint64_t most, uint32_t *random) {
    uint64_t bytes = 0;
    for (int n = 0; n < MANY && bytes < most; n++) {
        if (things[n].block) continue;
        things[n].size = run->suitcases && most < UINT64_MAX ? next_suitcase(random) : next_thing(random);
        things[n].block = run->side->alloc(things[n].size);
        if (!things[n].block) return 0;
        memset(things[n].block, 1, things[n].size);
        bytes += things[n].size;
    }
    return bytes;
}

static uint64_t depart(const struct side *side, struct thing *things, uint32_t *random) {
    uint64_t bytes = 0;
    for (int n = 0; n < MANY; n++) {
        *random = *random * 1664525 + 1013904223;
        if (*random >> 31) continue;
        side->free(things[n].block);
        things[n].block = NULL;
        bytes += things[n].size;
    }
    return bytes;
}

static void run_one(const void *input, void *result) {
    static struct thing things[MANY];
    const struct run *run = input;
    const struct side *side = run->side;
    struct departures *it = result;
    uint32_t random = 1;
    memset(things, 1, sizeof things); /* so that its pages are resident */
    memset(things, 0, sizeof things);
    malloc_give_back();
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = "luggage"}) != KOLK_OK) return;
    uint64_t before = cli_resident();
    it->all_bytes = arrive(run, things, UINT64_MAX, &random);
    it->all = cli_resident() - before;
    uint64_t gone = depart(side, things, &random);
    it->half_bytes = it->all_bytes - gone;
    it->half = cli_resident() - before;
    side->trim();
    it->trimmed = cli_resident() - before;
    uint64_t more = arrive(run, things, gone, &random);
    it->again_bytes = it->half_bytes + more;
    it->again = cli_resident() - before;
    it->done = it->all_bytes && more;
    kolk_heap_deinit(&heap);
}

static void print_departures(const cli_context *cli, struct departures runs[SIDES][2]) {
    const struct departures *first = &runs[0][0];
    cli_table table;
    fprintf(cli->out,
            "\nOf %s such things half go, by the toss of a coin; then others come, with as\n"
            "many bytes, of all sizes or suitcases only. What the process has in memory:\n\n",
            cli_count(MANY).text);
    cli_table_begin(&table, "lrrrrr");
    fprintf(table.rows, "\tall\thalf\ttrimmed\tall sizes\tsuitcases\n");
    fprintf(table.rows, "the things\t%s\t%s\t%s\t%s\t%s\n", cli_bytes(first->all_bytes).text,
            cli_bytes(first->half_bytes).text, cli_bytes(first->half_bytes).text, cli_bytes(first->again_bytes).text,
            cli_bytes(runs[0][1].again_bytes).text);
    for (int n = 0; n < SIDES; n++) {
        const struct departures *it = &runs[n][0];
        fprintf(table.rows, "%s\t%s\t%s\t%s\t%s\t%s\n", sides[n].name, cli_bytes(it->all).text,
                cli_bytes(it->half).text, cli_bytes(it->trimmed).text, cli_bytes(it->again).text,
                cli_bytes(runs[n][1].again).text);
    }
    cli_table_end(&table, cli);
}

static void add_departures(cli_json *json, struct departures runs[SIDES][2]) {
    cli_json_open(json, "departures", '[');
    for (int n = 0; n < SIDES; n++) {
        const struct departures *it = &runs[n][0];
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", sides[n].name);
        cli_json_count(json, "all_bytes", it->all_bytes);
        cli_json_count(json, "all_resident", it->all);
        cli_json_count(json, "half_bytes", it->half_bytes);
        cli_json_count(json, "half_resident", it->half);
        cli_json_count(json, "trimmed_resident", it->trimmed);
        cli_json_count(json, "again_bytes", it->again_bytes);
        cli_json_count(json, "again_resident", it->again);
        cli_json_count(json, "suitcases_bytes", runs[n][1].again_bytes);
        cli_json_count(json, "suitcases_resident", runs[n][1].again);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

int demo_departures(cli_context *cli, cli_json *json) {
    struct departures runs[SIDES][2] = {0};
    for (int n = 0; n < 2 * SIDES; n++) {
        const struct run run = {&sides[n / 2], n % 2 != 0};
        struct departures *it = &runs[n / 2][n % 2];
        if (!cli_isolated(run_one, &run, it, sizeof *it)) return CLI_FAILED;
        if (!it->done) return cli_fail(CLI_FAILED, "%s: there is no memory for luggage", run.side->name);
    }
    if (json)
        add_departures(json, runs);
    else
        print_departures(cli, runs);
    return CLI_OK;
}
