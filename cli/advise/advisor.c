/* advisor.c: makes the advice for one trace, and writes it as JSON. */
#define _POSIX_C_SOURCE 200809L
#include "../print.h"
#include "advise.h"

#include <stdlib.h>
#include <string.h>

enum { ZONE_ALLOCATIONS = 10000, ZONE_BYTES = 1 << 20 };

/* ---- The advice -------------------------------------------------------------------------------------------------- */

static double median_of(const struct gain *gain) {
    return gain_range(gain->first, gain->samples).median;
}

/* Sorts the largest gain in one run first. Sources to be left with malloc have no gain and come last. */
static int by_gain(const void *left, const void *right) {
    const struct advised *a = left, *b = right;
    bool a_left = a->verdict.advice == ADVICE_LEAVE, b_left = b->verdict.advice == ADVICE_LEAVE;
    if (a_left || b_left) {
        if (a_left != b_left) return a_left - b_left;
        return (a->verdict.source > b->verdict.source) - (a->verdict.source < b->verdict.source);
    }
    double a_gain = median_of(&a->gain), b_gain = median_of(&b->gain);
    return (a_gain < b_gain) - (a_gain > b_gain);
}

static int no_memory(const struct advisor *advisor) {
    return cli_fail(CLI_FAILED, "%s: there is no memory to look at it", advisor->name);
}

/* The sources with enough allocations come first. */
static void count_sources(struct advisor *advisor) {
    const struct sources *sources = &advisor->sources;
    for (size_t i = 0; i < sources->count; i++) {
        if (source_is_few(sources->sources[i].allocations, sources->allocations))
            advisor->few_allocations += sources->sources[i].allocations;
        else
            advisor->count++;
    }
}

/* If there are few allocations, finds a block with most of the bytes that are alive at the last of them. */
static bool find_zone(struct advisor *advisor) {
    const struct trace *trace = &advisor->trace;
    const trace_op **alive = calloc((size_t)trace->blocks + 1, sizeof *alive), *zone = NULL;
    size_t end = trace->count;
    uint64_t bytes = 0;
    while (end > 0 && trace->ops[end - 1].kind != TRACE_ALLOC) end--;
    for (size_t i = 0; alive && i < end; i++)
        alive[trace->ops[i].block] = trace->ops[i].kind == TRACE_FREE ? NULL : &trace->ops[i];
    for (uint32_t block = 0; alive && block < trace->blocks; block++) {
        if (!alive[block]) continue;
        bytes += alive[block]->size;
        if (!zone || alive[block]->size > zone->size) zone = alive[block];
    }
    bool few = advisor->sources.allocations < ZONE_ALLOCATIONS && trace->own == 0;
    if (few && zone && zone->size >= ZONE_BYTES && zone->size > bytes / 2) advisor->zone = zone;
    free(alive);
    return alive;
}

int advisor_judge(struct advisor *advisor) {
    if (!sources_find(&advisor->sources, &advisor->trace) || !find_zone(advisor)) return no_memory(advisor);
    count_sources(advisor);
    advisor->advised = calloc(advisor->count + 1, sizeof *advisor->advised);
    struct verdict *verdicts = calloc(advisor->count + 1, sizeof *verdicts);
    bool done = advisor->advised && verdicts;
    for (size_t i = 0; done && i < advisor->count; i++) {
        verdict_of(&verdicts[i], &advisor->sources.sources[i], verdicts, i);
        advisor->advised[i].verdict = verdicts[i];
    }
    free(verdicts);
    return done ? CLI_OK : no_memory(advisor);
}

/* Divides the gain of all pools among them, in proportion to their gains alone, where malloc was at its best. If these
 * are not positive together, they stay as they are. */
static void divide_gain(struct advisor *advisor) {
    double first = 0, repeated = 0;
    for (size_t i = 0; i < advisor->count; i++) {
        const struct gain *gain = &advisor->advised[i].gain;
        if (gain->samples == 0) continue;
        first += gain_range(gain->first, gain->samples).median;
        repeated += gain_range(gain->repeated, gain->samples).median;
    }
    if (first <= 0 || repeated <= 0) return;
    for (size_t i = 0; i < advisor->count; i++) {
        struct gain *gain = &advisor->advised[i].gain;
        if (gain->samples == 0) continue;
        share_take(gain, &advisor->all, gain_range(gain->first, gain->samples).median / first,
                   gain_range(gain->repeated, gain->samples).median / repeated);
    }
}

static int measure(const cli_context *cli, struct advisor *advisor) {
    const struct verdict **verdicts = malloc((advisor->count + 1) * sizeof *verdicts);
    if (!verdicts) return no_memory(advisor);
    size_t count = 0;
    int code = CLI_OK;
    for (size_t i = 0; i < advisor->count && code == CLI_OK; i++) {
        struct advised *advised = &advisor->advised[i];
        if (advised->verdict.advice == ADVICE_LEAVE) continue;
        verdicts[count++] = &advised->verdict;
        code = gain_measure(cli, &advised->verdict, &advised->gain);
    }
    if (code == CLI_OK && count > 0)
        code = gain_measure_all(cli, &advisor->trace, &advisor->sources, verdicts, count, &advisor->all);
    free(verdicts);
    if (code != CLI_OK) return code;
    qsort(advisor->advised, advisor->count, sizeof *advisor->advised, by_gain);
    divide_gain(advisor);
    return CLI_OK;
}

static bool gains_are_possible(const struct advisor *advisor) {
    bool possible = share_is_possible(&advisor->all, advisor->program_ns);
    for (size_t i = 0; i < advisor->count; i++)
        possible &= share_is_possible(&advisor->advised[i].gain, advisor->program_ns);
    return possible;
}

int advisor_make(const cli_context *cli, struct advisor *advisor) {
    int code = advisor_judge(advisor);
    if (code == CLI_OK) code = measure(cli, advisor);
    advisor->program_ns = share_program_ns(&advisor->trace);
    if (!gains_are_possible(advisor)) advisor->program_ns = 0;
    return code;
}

void advisor_free(struct advisor *advisor) {
    free(advisor->advised);
    sources_free(&advisor->sources);
    trace_free(&advisor->trace);
}

const char *advisor_warning(const struct advisor *advisor) {
    const struct gain *all = &advisor->all;
    if (all->samples == 0 || !share_is_told(all, advisor->program_ns)) return NULL;
    bool gains = gain_range(all->first, all->samples).median > 0 || gain_range(all->repeated, all->samples).median > 0;
    if (!gains) return "Pools would not make this program faster: together they save no time.";
    if (!share_is_small(all, advisor->program_ns)) return NULL;
    return "Pools would not make this program faster: together they save no more than about 1 % of its time.";
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_place(cli_json *json, const char *key, const struct place *place) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return;
    name_print(out, place->frames, place->length);
    if (fclose(out) == 0) cli_json_text(json, key, text);
    free(text);
}

static void write_places(cli_json *json, const char *key, const struct place *places, size_t count) {
    cli_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        cli_json_open(json, NULL, '{');
        write_place(json, "place", &places[i]);
        cli_json_count(json, "objects", places[i].count);
        if (places[i].mixed) cli_json_flag(json, "other_sizes", true);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void write_pool(cli_json *json, const struct advised *advised, double program_ns) {
    const struct verdict *verdict = &advised->verdict;
    const struct gain *gain = &advised->gain;
    cli_json_text(json, "name", verdict->name);
    if (verdict_class(verdict)) cli_json_text(json, "class", verdict_class(verdict));
    cli_json_count(json, "align", verdict->align);
    cli_json_count(json, "capacity", verdict->capacity);
    if (verdict->max_threads > 0) cli_json_count(json, "max_threads", verdict->max_threads);
    cli_json_number(json, "malloc_ns_per_operation", gain->malloc_ns);
    cli_json_number(json, "pool_ns_per_operation", gain->pool_ns);
    cli_json_count(json, "malloc_bytes", gain->malloc_bytes);
    cli_json_count(json, "pool_bytes", gain->pool_bytes);
    share_write(json, gain, program_ns);
}

static void write_source(cli_json *json, const struct advised *advised, const struct advisor *advisor) {
    const struct verdict *verdict = &advised->verdict;
    const struct source *source = verdict->source;
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "advice", advice_names[verdict->advice]);
    write_place(json, "source", &source->origins[0]);
    cli_json_count(json, "least_size", source->least);
    cli_json_count(json, "size", source->most);
    cli_json_count(json, "allocations", source->allocations);
    cli_json_count(json, "peak", source->peak);
    cli_json_count(json, "left_alive", source->left);
    cli_json_count(json, "resized", source->resized);
    cli_json_count(json, "threads", source->threads);
    cli_json_count(json, "freed_by_others", source->handed);
    write_places(json, "allocated_at", source->origins, source->origin_count);
    write_places(json, "freed_at", source->ends, source->end_count);
    if (verdict->advice != ADVICE_LEAVE) write_pool(json, advised, advisor->program_ns);
    cli_json_text(json, "reason", verdict->reason);
    cli_json_close(json, '}');
}

static void write_runs(cli_json *json, const struct trace *trace) {
    struct range range;
    if (!share_of_runs(trace, &range)) return;
    cli_json_open(json, "kolk_run", '{');
    cli_json_count(json, "runs", trace->run_count);
    cli_json_number(json, "low_percent", range.low);
    cli_json_number(json, "median_percent", range.median);
    cli_json_number(json, "high_percent", range.high);
    cli_json_close(json, '}');
}

void advisor_write(cli_json *json, const char *key, const struct advisor *advisor) {
    cli_json_open(json, key, '{');
    cli_json_count(json, "kolk_advise", 1);
    cli_json_text(json, "trace", advisor->name);
    write_runs(json, &advisor->trace);
    if (advisor_warning(advisor)) cli_json_text(json, "warning", advisor_warning(advisor));
    if (advisor->trace.cut_line > 0) cli_json_count(json, "cut_off_in_line", advisor->trace.cut_line);
    cli_json_count(json, "allocations", advisor->sources.allocations);
    cli_json_count(json, "sources_found", advisor->sources.count);
    cli_json_count(json, "failed_left_out", advisor->trace.failed);
    cli_json_count(json, "unknown_left_out", advisor->trace.unknown);
    cli_json_open(json, "sources", '[');
    for (size_t i = 0; i < advisor->count; i++) write_source(json, &advisor->advised[i], advisor);
    cli_json_close(json, ']');
    cli_json_count(json, "allocations_of_other_sources", advisor->few_allocations);
    if (advisor->program_ns > 0) cli_json_number(json, "program_ns", advisor->program_ns);
    if (advisor->all.samples > 0) share_write(json, &advisor->all, advisor->program_ns);
    cli_json_close(json, '}');
}
