/* fragments.c: plays the textbook case of fragmentation on a real heap of 16 bytes, and on a pool. One version has two
 * pieces of seven bytes, as in the chapter; the other has one of eight and one of six, as in notes on the chapter. */
#include "../print.h"
#include "stops.h"

#include <stdlib.h>

/* ---- A heap, first fit: for each byte, the object that it belongs to, or FREE ------------------------------------ */

enum { HEAP_BYTES = 16, FREE = 0 };

struct heap {
    char owners[HEAP_BYTES];
};

static size_t hole_at(const struct heap *heap, size_t at) {
    size_t length = 0;
    while (at + length < HEAP_BYTES && heap->owners[at + length] == FREE) length++;
    return length;
}

static bool heap_alloc(struct heap *heap, char owner, size_t size) {
    for (size_t at = 0; at < HEAP_BYTES; at++) {
        if (hole_at(heap, at) < size) continue;
        memset(heap->owners + at, owner, size);
        return true;
    }
    return false;
}

static void heap_free(struct heap *heap, char owner) {
    for (size_t at = 0; at < HEAP_BYTES; at++)
        if (heap->owners[at] == owner) heap->owners[at] = FREE;
}

static void measure_heap(const struct heap *heap, size_t *unused, size_t *largest) {
    *unused = *largest = 0;
    for (size_t at = 0; at < HEAP_BYTES; at++) {
        size_t hole = hole_at(heap, at);
        *unused += hole > 0;
        if (hole > *largest) *largest = hole;
    }
}

/* ---- A pool of slots that fit the largest object ----------------------------------------------------------------- */

enum { SLOT_BYTES = 12, SLOTS = 3 };

struct thing {
    char bytes[SLOT_BYTES]; /* a smaller object leaves some of them unused */
};

KOLK_POOL_TYPE(things, struct thing)

/* ---- What happens on both ---------------------------------------------------------------------------------------- */

struct step {
    char owner;
    uint8_t size; /* 0: the object is freed */
};

enum { STORIES = 2, STEPS = 6 };

static const struct step stories[STORIES][STEPS] = {
    {{'A', 7}, {'B', 2}, {'C', 7}, {'A', 0}, {'C', 0}, {'D', 12}},
    {{'A', 8}, {'B', 2}, {'C', 6}, {'A', 0}, {'C', 0}, {'D', 12}},
};

struct both {
    struct heap heap;
    things pool;
    struct thing *objects[256]; /* by owner */
    uint8_t sizes[256];
    bool heap_refused, pool_refused; /* in the last step */
};

static void take_step(struct both *both, struct step step) {
    struct thing **object = &both->objects[(unsigned char)step.owner];
    both->heap_refused = both->pool_refused = false;
    if (step.size == 0) {
        heap_free(&both->heap, step.owner);
        things_free(&both->pool, *object);
        *object = NULL;
        return;
    }
    both->heap_refused = !heap_alloc(&both->heap, step.owner, step.size);
    *object = things_alloc(&both->pool);
    both->pool_refused = !*object;
    both->sizes[(unsigned char)step.owner] = step.size;
}

/* ---- Showing it -------------------------------------------------------------------------------------------------- */

static void print_byte(const cli_context *cli, char owner) {
    if (!cli->color)
        fputc(owner == FREE ? '.' : owner, cli->out);
    else if (owner == FREE)
        fprintf(cli->out, "\033[38;5;240m.\033[0m");
    else
        fprintf(cli->out, "\033[1;38;5;231;48;5;%dm%c\033[0m", 24 + 36 * (owner - 'A'), owner);
}

static void print_pool(const cli_context *cli, const struct both *both) {
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct thing *object = things_at(&both->pool, slot);
        char owner = FREE;
        for (int n = 1; n < 256 && object; n++)
            if (both->objects[n] == object) owner = (char)n;
        fputc('[', cli->out);
        for (int byte = 0; byte < SLOT_BYTES; byte++)
            print_byte(cli, byte < both->sizes[(unsigned char)owner] ? owner : FREE);
        fputc(']', cli->out);
    }
}

static void print_step(const cli_context *cli, const struct both *both, struct step step) {
    if (step.size > 0)
        fprintf(cli->out, "  %c takes %-3u", step.owner, step.size);
    else
        fprintf(cli->out, "  %c dies     ", step.owner);
    for (size_t at = 0; at < HEAP_BYTES; at++) print_byte(cli, both->heap.owners[at]);
    fprintf(cli->out, both->heap_refused ? " %srefused%s " : "         ", cli_bold(cli), cli_plain(cli));
    print_pool(cli, both);
    fprintf(cli->out, "%s\n", both->pool_refused ? " refused" : "");
}

static void print_story(const cli_context *cli, struct both *both, const struct step *steps) {
    size_t unused, largest;
    fprintf(cli->out, "%s            16 bytes, first fit      a kolk pool of the same objects%s\n", cli_dim(cli),
            cli_plain(cli));
    for (int n = 0; n < STEPS; n++) {
        take_step(both, steps[n]);
        print_step(cli, both, steps[n]);
    }
    measure_heap(&both->heap, &unused, &largest);
    fprintf(cli->out, "\n%zu of %d bytes are free, in holes of at most %zu: D's 12 are %s.\n\n", unused, HEAP_BYTES,
            largest, both->heap_refused ? "refused" : "there");
}

static void print_price(const cli_context *cli, const struct both *both) {
    fprintf(cli->out,
            "In the pool any free slot serves any object: %u of %d are still free, and nothing\n"
            "is refused before all are taken. The price: each object takes the room of the\n"
            "largest, %d bytes.\n",
            things_available(&both->pool), SLOTS, SLOT_BYTES);
}

static void add_story(cli_json *json, struct both *both, const struct step *steps) {
    size_t unused, largest;
    cli_json_open(json, NULL, '[');
    for (int n = 0; n < STEPS; n++) {
        char owner[2] = {steps[n].owner, '\0'};
        take_step(both, steps[n]);
        measure_heap(&both->heap, &unused, &largest);
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "object", owner);
        cli_json_count(json, "size", steps[n].size);
        cli_json_count(json, "heap_free_bytes", unused);
        cli_json_count(json, "heap_largest_hole", largest);
        cli_json_flag(json, "heap_refused", both->heap_refused);
        cli_json_count(json, "pool_free_slots", things_available(&both->pool));
        cli_json_flag(json, "pool_refused", both->pool_refused);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

/* Plays the stories one after the other, each on a fresh heap and a fresh pool. */
static int play_story(const cli_context *cli, cli_json *json, int n) {
    static KOLK_POOL_STORAGE(struct thing, SLOTS) memory;
    struct both both = {0};
    kolk_pool_desc desc = {.name = "things", .memory = &memory, .memory_size = sizeof memory, .capacity = SLOTS};
    kolk_status status = things_init(&both.pool, &desc);
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "things: %s", kolk_status_text(status));
    if (json)
        add_story(json, &both, stories[n]);
    else
        print_story(cli, &both, stories[n]);
    if (!json && n == STORIES - 1) print_price(cli, &both);
    things_deinit(&both.pool);
    return CLI_OK;
}

int demo_fragments(cli_context *cli, const struct demo *demo, cli_json *json) {
    int failed = CLI_OK;
    (void)demo;
    if (json) cli_json_open(json, "stories", '[');
    for (int n = 0; n < STORIES && failed == CLI_OK; n++) failed = play_story(cli, json, n);
    if (json) cli_json_close(json, ']');
    return failed;
}
