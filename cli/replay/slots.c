/* slots.c: see slots.h. */
#define _POSIX_C_SOURCE 200809L
#include "slots.h"
#include "../json.h"
#include "../print.h"

#include <kolk/kolk.h>

#include <stdlib.h>
#include <string.h>

bool slots_parse(struct slots *slots, const char *text) {
    const char *equals = strrchr(text, '='), *digits = equals ? equals + 1 : "";
    size_t length = strspn(digits, "0123456789"), name = equals ? (size_t)(equals - text) : 0;
    if (name == 0 || name >= sizeof slots->name || length == 0 || length > 9 || atol(digits) == 0) return false;
    *slots =
        (struct slots){.capacity = (uint32_t)atol(digits), .evicts = strcmp(digits + length, ",evict_oldest") == 0};
    memcpy(slots->name, text, name);
    return slots->evicts || !digits[length];
}

/* ---- The run ----------------------------------------------------------------------------------------------------- */

enum { UNKNOWN, RECORDED, ALIVE }; /* a block: not of the pool, not in our pool any more, and in it */

struct object {
    uint64_t born;
    uint32_t block;
};

struct repeat {
    struct slots *slots;
    uint32_t alive; /* in the recording */
    kolk_pool pool;
    struct object *objects; /* by slot */
    uint32_t *places;       /* by block: its slot, if it is ALIVE */
    uint8_t *states;        /* by block */
};

static void note_evicted(void *object, void *context) {
    struct repeat *repeat = context;
    struct slots *slots = repeat->slots;
    const struct object *it = &repeat->objects[kolk_pool_index(&repeat->pool, object)];
    uint64_t age = slots->recorded - it->born;
    if (slots->evicted++ == 0 || age < slots->youngest) slots->youngest = age;
    if (age > slots->oldest) slots->oldest = age;
    repeat->states[it->block] = RECORDED;
}

static void repeat_alloc(struct repeat *repeat, uint32_t block) {
    struct slots *slots = repeat->slots;
    slots->recorded++;
    if (++repeat->alive > slots->recorded_peak) slots->recorded_peak = repeat->alive;
    void *object = kolk_pool_alloc(&repeat->pool);
    slots->failed += !object;
    repeat->states[block] = object ? ALIVE : RECORDED;
    if (!object) return;
    repeat->places[block] = kolk_pool_index(&repeat->pool, object);
    repeat->objects[repeat->places[block]] = (struct object){.born = slots->recorded, .block = block};
}

static void repeat_free(struct repeat *repeat, uint32_t block) {
    if (repeat->states[block] == UNKNOWN) return;
    repeat->alive--;
    if (repeat->states[block] == ALIVE) kolk_pool_free_at(&repeat->pool, repeat->places[block]);
    repeat->states[block] = UNKNOWN;
}

static void repeat_all(struct repeat *repeat, const struct trace *trace) {
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        if (op->kind == TRACE_FREE)
            repeat_free(repeat, op->block);
        else if (op->kind == TRACE_ALLOC && strcmp(trace->names[op->caller], repeat->slots->name) == 0)
            repeat_alloc(repeat, op->block);
    }
}

int slots_run(struct slots *slots, const struct trace *trace, const char *path) {
    struct repeat repeat = {.slots = slots};
    kolk_pool_desc desc = {.name = slots->name, .object_size = 1, .capacity = slots->capacity, .context = &repeat};
    if (slots->evicts) desc.full = (kolk_pool_full){.on_full = kolk_pool_evict_oldest, .on_evict = note_evicted};
    repeat.objects = calloc(slots->capacity, sizeof *repeat.objects);
    repeat.places = calloc((size_t)trace->blocks + 1, sizeof *repeat.places);
    repeat.states = calloc((size_t)trace->blocks + 1, sizeof *repeat.states);
    bool done = repeat.objects && repeat.places && repeat.states && kolk_pool_init(&repeat.pool, &desc) == KOLK_OK;
    if (done) {
        kolk_stats stats;
        repeat_all(&repeat, trace);
        kolk_pool_stats(&repeat.pool, &stats);
        slots->peak = stats.peak;
        kolk_pool_deinit(&repeat.pool);
    }
    free(repeat.objects);
    free(repeat.places);
    free(repeat.states);
    if (!done) return cli_fail(CLI_FAILED, "%s: there is no memory to replay it", path);
    if (slots->recorded > 0) return CLI_OK;
    return cli_fail(CLI_USAGE, "%s: no pool has the name '%s' in it. KOLK_RECORD_POOLS (kolk_record.h) records pools",
                    path, slots->name);
}

/* ---- The result -------------------------------------------------------------------------------------------------- */

static void write_json(const cli_context *cli, const struct slots *slots, const char *path) {
    cli_json json = {.out = cli->out};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "trace", path);
    cli_json_text(&json, "pool", slots->name);
    cli_json_count(&json, "recorded", slots->recorded);
    cli_json_count(&json, "recorded_peak", slots->recorded_peak);
    cli_json_count(&json, "capacity", slots->capacity);
    cli_json_count(&json, "peak", slots->peak);
    cli_json_count(&json, "failed", slots->failed);
    cli_json_count(&json, "evicted", slots->evicted);
    cli_json_count(&json, "youngest_evicted", slots->youngest);
    cli_json_count(&json, "oldest_evicted", slots->oldest);
    cli_json_close(&json, '}');
}

void slots_print(const cli_context *cli, const struct slots *slots, const char *path) {
    if (cli->json) {
        write_json(cli, slots, path);
        return;
    }
    fprintf(cli->out, "%s, as recorded: %s allocations, at most %s alive\n", slots->name,
            cli_count(slots->recorded).text, cli_count(slots->recorded_peak).text);
    fprintf(cli->out, "with %s slot%s%s: at most %s alive, %s failed, %s evicted", cli_count(slots->capacity).text,
            slots->capacity == 1 ? "" : "s", slots->evicts ? ", evict_oldest" : "", cli_count(slots->peak).text,
            cli_count(slots->failed).text, cli_count(slots->evicted).text);
    if (slots->evicted > 0)
        fprintf(cli->out, ", when they had lived for %s to %s allocations", cli_count(slots->youngest).text,
                cli_count(slots->oldest).text);
    fputc('\n', cli->out);
}
