/* luggage.c: "big trays for luggage, little trays for pocket stuff". Puts the same things into trays of one size, of
 * four sizes and of kolk's sizes, and shows how much of the trays stays empty. */
#include "luggage.h"
#include "../print.h"
#include "picture.h"

#include <math.h>
#include <stdlib.h>

enum { THINGS = 2000, WAYS = 3, LEAST = 8, DOUBLINGS = 10 /* from 8 bytes to SUITCASE */ };

struct trays {
    const char *name;
    uint32_t kinds; /* number of tray sizes in use */
    size_t bytes;   /* total size of all trays in use */
    size_t of[THINGS];
};

struct luggage {
    size_t sizes[THINGS], bytes; /* from the smallest to the largest */
    struct trays ways[WAYS];
};

static int compare(const void *left, const void *right) {
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return (a > b) - (a < b);
}

/* ---- Three ways to put it into trays ----------------------------------------------------------------------------- */

static kolk_status fill(struct trays *trays, const struct luggage *luggage, const kolk_heap_desc *desc) {
    kolk_heap heap = {0};
    kolk_status status = kolk_heap_init(&heap, desc);
    for (int n = 0; n < THINGS && status == KOLK_OK; n++) {
        void *tray = kolk_heap_alloc(&heap, luggage->sizes[n]);
        if (!tray) status = KOLK_NO_MEMORY;
        trays->of[n] = kolk_heap_usable_size(&heap, tray);
        trays->bytes += trays->of[n];
        trays->kinds += n == 0 || trays->of[n] != trays->of[n - 1];
    }
    trays->name = desc->name;
    kolk_heap_deinit(&heap);
    return status;
}

static kolk_status pack(struct luggage *luggage) {
    static const kolk_heap_class one[] = {{.size = SUITCASE}};
    static const kolk_heap_class four[] = {{.size = 32}, {.size = 160}, {.size = 768}, {.size = SUITCASE}};
    static const kolk_heap_desc ways[WAYS] = {
        {.name = "one size for all", .classes = one, .n_classes = 1},
        {.name = "the airport's sizes", .classes = four, .n_classes = 4},
        {.name = "kolk's own sizes"},
    };
    uint32_t random = 1;
    for (int n = 0; n < THINGS; n++) luggage->bytes += luggage->sizes[n] = next_thing(&random);
    qsort(luggage->sizes, THINGS, sizeof *luggage->sizes, compare);
    kolk_status status = KOLK_OK;
    for (int n = 0; n < WAYS && status == KOLK_OK; n++) status = fill(&luggage->ways[n], luggage, &ways[n]);
    return status;
}

static double waste_of(const struct luggage *luggage, const struct trays *trays) {
    return (double)(trays->bytes - luggage->bytes);
}

/* ---- Showing it: things from left to right by size, bytes upwards on a logarithmic scale ------------------------- */

/* Maps the smallest thing to 0 and the largest tray to 1. */
static double height_of(size_t bytes) {
    return log2((double)bytes / LEAST) / DOUBLINGS;
}

enum { COLUMNS = 22 };

static void print_cell(const cli_context *cli, const struct luggage *luggage, const struct trays *trays, int column,
                       double height) {
    int thing = (2 * column + 1) * THINGS / (2 * COLUMNS);
    bool is_thing = height_of(luggage->sizes[thing]) > height, is_tray = height_of(trays->of[thing]) > height;
    if (!cli->color)
        fputc(is_thing ? '#' : is_tray ? ':' : ' ', cli->out);
    else
        fprintf(cli->out, "\033[48;5;%dm \033[0m", is_thing ? 214 : is_tray ? 89 : 234);
}

static void print_trays(const cli_context *cli, const struct luggage *luggage) {
    fprintf(cli->out,
            "%s things, the smallest first: %s is what they fill of their trays, and\n"
            "%s is waste. Each line is twice as high as the one below; bytes on the left.\n\n      ",
            cli_count(THINGS).text, cli->color ? "yellow" : "#", cli->color ? "red" : ":");
    for (int way = 0; way < WAYS; way++)
        fprintf(cli->out, "  %-*s", way < WAYS - 1 ? COLUMNS : 0, luggage->ways[way].name);
    fputc('\n', cli->out);
    for (int line = DOUBLINGS - 1; line >= 0; line--) {
        fprintf(cli->out, "%6s", cli_count((uint64_t)LEAST << (line + 1)).text);
        for (int way = 0; way < WAYS; way++) {
            fputs("  ", cli->out);
            for (int column = 0; column < COLUMNS; column++)
                print_cell(cli, luggage, &luggage->ways[way], column, (line + 0.5) / DOUBLINGS);
        }
        fputc('\n', cli->out);
    }
}

static void print_waste(const cli_context *cli, const struct luggage *luggage) {
    cli_table table;
    fprintf(cli->out, "\nThe things have %s bytes; their trays have:\n\n", cli_count(luggage->bytes).text);
    cli_table_begin(&table, "lrrr");
    fprintf(table.rows, "trays\tsizes in use\tbytes\twaste\n");
    for (int n = 0; n < WAYS; n++) {
        const struct trays *trays = &luggage->ways[n];
        fprintf(table.rows, "%s\t%u\t%s\t%s\n", trays->name, trays->kinds, cli_count(trays->bytes).text,
                cli_share(waste_of(luggage, trays), (double)trays->bytes).text);
    }
    cli_table_end(&table, cli);
}

static void add_trays(cli_json *json, const struct luggage *luggage) {
    cli_json_count(json, "things", THINGS);
    cli_json_count(json, "bytes", luggage->bytes);
    cli_json_open(json, "trays", '[');
    for (int n = 0; n < WAYS; n++) {
        const struct trays *trays = &luggage->ways[n];
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", trays->name);
        cli_json_count(json, "sizes", trays->kinds);
        cli_json_count(json, "bytes", trays->bytes);
        cli_json_number(json, "waste_percent", 100 * waste_of(luggage, trays) / (double)trays->bytes);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

/* ---- The same as a picture file ---------------------------------------------------------------------------------- */

enum { WIDTH = 352, GAP = 12, HEIGHT = 360 };

static void draw_column(struct picture *picture, uint32_t x, size_t thing, size_t tray) {
    double filled = height_of(thing) * HEIGHT, all = height_of(tray) * HEIGHT;
    for (uint32_t y = 0; y < HEIGHT; y++) {
        bool is_edge = y < filled && y + 2 >= filled;
        float amount = is_edge ? 0.9f : y < filled ? 0.7f : y < all ? 0.35f : 0;
        *picture_at(picture, x, HEIGHT - 1 - y) = light_of_slots(amount);
    }
}

static int draw_trays(cli_context *cli, const struct luggage *luggage, const char *directory, cli_json *json) {
    struct picture picture;
    if (!picture_init(&picture, WAYS * WIDTH + (WAYS - 1) * GAP, HEIGHT))
        return cli_fail(CLI_FAILED, "there is no memory for a picture");
    for (uint32_t way = 0; way < WAYS; way++) {
        for (uint32_t x = 0; x < WIDTH; x++) {
            uint32_t thing = x * THINGS / WIDTH;
            draw_column(&picture, way * (WIDTH + GAP) + x, luggage->sizes[thing], luggage->ways[way].of[thing]);
        }
    }
    if (!json) fputc('\n', cli->out);
    int code = picture_save(cli, &picture, directory, "kolk-demo-trays.png", "picture", json);
    free(picture.light);
    return code;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* Returns NULL if trays can be used, otherwise the reason why not. */
static const char *no_trays(void) {
    kolk_heap heap = {0};
    if (sizeof(void *) < 8) return "a heap reserves more addresses than 32 bits have";
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = "trays"}) != KOLK_OK) return NULL; /* pack reports it */
    bool is_bypassed = heap.n_classes == 0;
    kolk_heap_deinit(&heap);
    return is_bypassed ? "under a tool, each block is one of malloc's" : NULL;
}

static int show_luggage(cli_context *cli, const struct demo *demo, cli_json *json) {
    struct luggage luggage = {0};
    kolk_status status = pack(&luggage);
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "trays: %s", kolk_status_text(status));
    if (json) {
        add_trays(json, &luggage);
    } else {
        print_trays(cli, &luggage);
        print_waste(cli, &luggage);
    }
    return demo->pictures ? draw_trays(cli, &luggage, demo->directory, json) : CLI_OK;
}

int demo_luggage(cli_context *cli, const struct demo *demo, cli_json *json) {
    const char *why = no_trays();
    int code = CLI_OK;
    if (why && json) cli_json_text(json, "left_out", why);
    if (why && !json) fprintf(cli->out, "Trays are left out: %s.\n", why);
    if (!why) code = show_luggage(cli, demo, json);
    if (!why && code == CLI_OK) code = demo_departures(cli, json);
    return code == CLI_OK ? demo_program(cli, json) : code;
}
