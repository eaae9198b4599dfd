/* bitpool.c: prints the bits of a pool of 15 slots, in the way of Bitpool. Then measures how long it takes to find the
 * lowest free slot of a million, bit by bit as Bitpool does, and word by word as kolk does. */
#include "../measure.h"
#include "../print.h"
#include "stops.h"

#include <stdlib.h>

struct bullet {
    float x, y;
};

KOLK_POOL_TYPE(bitpool, struct bullet)

/* ---- Fifteen slots ----------------------------------------------------------------------------------------------- */

enum { SLOTS = 15, BYTES = 2, NO_SLOT = SLOTS };

enum call { START, GET, RETURN };

static const struct step {
    enum call call;
    uint32_t number; /* GET: how many times; RETURN: which slot */
} steps[] = {{START, 0}, {GET, 1}, {GET, 1}, {GET, 13}, {GET, 1}, {RETURN, 9}, {RETURN, 2}, {GET, 1}, {GET, 1}};

enum { STEPS = sizeof steps / sizeof *steps };

/* Performs one step and returns the slot of the last object allocated or freed. */
static uint32_t take_step(bitpool *pool, struct step step) {
    uint32_t slot = NO_SLOT;
    for (uint32_t n = 0; step.call == GET && n < step.number; n++) {
        const struct bullet *object = bitpool_alloc(pool);
        slot = object ? bitpool_index(pool, object) : NO_SLOT;
    }
    if (step.call == RETURN) {
        slot = step.number;
        bitpool_free(pool, bitpool_at(pool, slot));
    }
    return slot;
}

/* Returns '1' for a free slot. Slots beyond the last one are never free. */
static char bit_of(const bitpool *pool, uint32_t slot) {
    return slot < SLOTS && !bitpool_at(pool, slot) ? '1' : '0';
}

static void print_bit(const cli_context *cli, char bit, bool changed) {
    if (!cli->color)
        fputc(bit, cli->out);
    else if (changed)
        fprintf(cli->out, "\033[1;38;5;231;48;5;%dm%c\033[0m", bit == '1' ? 28 : 124, bit);
    else
        fprintf(cli->out, "\033[38;5;%dm%c\033[0m", bit == '1' ? 252 : 240, bit);
}

/* Prints the bits byte by byte. The lowest bit of a byte is its first slot, and is printed on the right. */
static void print_bits(const cli_context *cli, const bitpool *pool, uint32_t changed) {
    for (uint32_t byte = 0; byte < BYTES; byte++) {
        for (uint32_t bit = 8; bit-- > 0;) {
            uint32_t slot = 8 * byte + bit;
            print_bit(cli, bit_of(pool, slot), slot == changed && slot < SLOTS);
        }
        fputc(' ', cli->out);
    }
}

static void print_step(const cli_context *cli, const bitpool *pool, struct step step, uint32_t slot) {
    char call[32] = "a new pool";
    const char *name = step.call == GET ? "GetObject" : "ReturnObject";
    if (step.call == GET && slot == NO_SLOT)
        snprintf(call, sizeof call, "%-14s none", name);
    else if (step.call == GET && step.number > 1)
        snprintf(call, sizeof call, "... and %u more  %2u", step.number, slot);
    else if (step.call != START)
        snprintf(call, sizeof call, "%-14s   %2u", name, slot);
    fprintf(cli->out, "  %-19s   ", call);
    print_bits(cli, pool, slot);
    fprintf(cli->out, "  %9u\n", bitpool_available(pool));
}

static void add_step(cli_json *json, const bitpool *pool, struct step step, uint32_t slot) {
    static const char *const names[] = {[START] = "new", [GET] = "GetObject", [RETURN] = "ReturnObject"};
    char bits[8 * BYTES + 1] = {0};
    for (uint32_t at = 0; at < 8 * BYTES; at++) bits[at / 8 * 8 + 7 - at % 8] = bit_of(pool, at);
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "call", names[step.call]);
    if (slot != NO_SLOT) cli_json_count(json, "slot", slot);
    cli_json_text(json, "free_bits", bits);
    cli_json_count(json, "available", bitpool_available(pool));
    cli_json_close(json, '}');
}

/* ---- A million --------------------------------------------------------------------------------------------------- */

enum { MANY = 1000000, LAPS = 5, TIMES = 1000 };

struct search {
    uint32_t bit_by_bit, kolk;     /* the slot that was found */
    double bit_by_bit_ns, kolk_ns; /* time to get an object and return it */
};

/* Searches from the lowest bit of the first byte to the highest bit of the last one. */
static uint32_t find_bit(const unsigned char *bitmap) {
    for (uint32_t byte = 0; byte < MANY / 8; byte++)
        for (uint32_t bit = 0; bit < 8; bit++)
            if (bitmap[byte] & 1u << bit) return 8 * byte + bit;
    return MANY;
}

static void search_bits(unsigned char *bitmap, struct search *search) {
    double ns[LAPS];
    bitmap[MANY / 8 - 1] = 0x80;
    for (int lap = 0; lap < LAPS; lap++) {
        uint64_t begin = cli_now();
        uint32_t slot = find_bit(bitmap);
        bitmap[slot / 8] &= (unsigned char)~(1u << slot % 8);
        bitmap[slot / 8] |= (unsigned char)(1u << slot % 8);
        ns[lap] = (double)(cli_now() - begin);
        search->bit_by_bit = slot;
    }
    search->bit_by_bit_ns = cli_quantile(ns, LAPS, 0.5);
}

static void search_words(bitpool *pool, struct search *search) {
    double ns[LAPS];
    while (bitpool_alloc(pool)) continue;
    bitpool_free(pool, bitpool_at(pool, MANY - 1));
    for (int lap = 0; lap < LAPS; lap++) {
        uint64_t begin = cli_now();
        for (int n = 0; n < TIMES; n++) {
            struct bullet *object = bitpool_alloc(pool);
            search->kolk = bitpool_index(pool, object);
            bitpool_free(pool, object);
        }
        ns[lap] = (double)(cli_now() - begin) / TIMES;
    }
    search->kolk_ns = cli_quantile(ns, LAPS, 0.5);
}

static kolk_status init(bitpool *pool, uint32_t capacity) {
    return bitpool_init(pool, &(kolk_pool_desc){.name = "bitpool", .capacity = capacity, .reuse = KOLK_REUSE_LOWEST});
}

static int search_many(struct search *search) {
    bitpool pool;
    kolk_status status = init(&pool, MANY);
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "bitpool: %s", kolk_status_text(status));
    int code = CLI_OK;
    unsigned char *bitmap = calloc(MANY / 8, 1);
    if (bitmap) {
        search_bits(bitmap, search);
        search_words(&pool, search);
    } else {
        code = cli_fail(CLI_FAILED, "there is no memory for a bitmap");
    }
    free(bitmap);
    bitpool_deinit(&pool);
    return code;
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

static void print_search(const cli_context *cli, const struct search *search) {
    fprintf(cli->out,
            "\nA 1 is a free slot, the first of each eight on the right; the lowest free one is\n"
            "next. In a pool of %s, with only slot %s free:\n",
            cli_count(MANY).text, cli_count(search->kolk).text);
    fprintf(cli->out, "  bit by bit, as Bitpool looks for it   %9s ns to get it and return it\n",
            cli_count((uint64_t)search->bit_by_bit_ns).text);
    fprintf(cli->out, "  kolk, by words that sum up 64 words   %9s ns\n", cli_count((uint64_t)search->kolk_ns).text);
}

static void add_search(cli_json *json, const struct search *search) {
    cli_json_count(json, "slots", MANY);
    cli_json_count(json, "found_bit_by_bit", search->bit_by_bit);
    cli_json_count(json, "found_by_kolk", search->kolk);
    cli_json_number(json, "bit_by_bit_ns", search->bit_by_bit_ns);
    cli_json_number(json, "kolk_ns", search->kolk_ns);
}

int demo_bitpool(cli_context *cli, const struct demo *demo, cli_json *json) {
    bitpool pool;
    struct search search = {0};
    (void)demo;
    kolk_status status = init(&pool, SLOTS);
    if (status != KOLK_OK) return cli_fail(CLI_FAILED, "bitpool: %s", kolk_status_text(status));
    if (json)
        cli_json_open(json, "steps", '[');
    else
        fprintf(cli->out, "%s  call           slot   free bits           available%s\n", cli_dim(cli), cli_plain(cli));
    for (int n = 0; n < STEPS; n++) {
        uint32_t slot = take_step(&pool, steps[n]);
        if (json)
            add_step(json, &pool, steps[n], slot);
        else
            print_step(cli, &pool, steps[n], slot);
    }
    bitpool_deinit(&pool);
    if (json) cli_json_close(json, ']');

    int code = search_many(&search);
    if (code == CLI_OK && json) add_search(json, &search);
    if (code == CLI_OK && !json) print_search(cli, &search);
    return code;
}
