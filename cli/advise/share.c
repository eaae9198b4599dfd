/* share.c: see share.h. */
#include "share.h"
#include "../measure.h"

_Static_assert((int)TRACE_RUNS_MOST <= (int)GAIN_SAMPLES, "gain_range takes no more");

static const double SMALL = 0.01;

double share_program_ns(const struct trace *trace) {
    return trace->own > 0 ? 0 : (double)trace_program_ns(trace->processor_ns, trace->recording_ns);
}

const char *share_why_unknown(const struct trace *trace) {
    if (trace->own > 0) return "the replay has malloc in place of the program's own allocator.";
    if (trace->processor_ns == 0) return "the trace has no processor time. kolk record writes it.";
    if (share_program_ns(trace) == 0)
        return "much of the trace's processor time was for recording. kolk record --runs 5 measures it without.";
    return "the replay took more time than the program had. kolk record --runs 5 measures it again.";
}

static bool is_within(const double *samples, size_t count, double program_ns) {
    struct range range = gain_range(samples, count);
    return range.low >= -program_ns && range.high <= program_ns;
}

bool share_is_possible(const struct gain *gain, double program_ns) {
    return gain->samples == 0 ||
           (is_within(gain->first, gain->samples, program_ns) && is_within(gain->repeated, gain->samples, program_ns));
}

bool share_of_runs(const struct trace *trace, struct range *percent) {
    double saved[TRACE_RUNS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < trace->run_count; i++) {
        double plain = (double)trace->runs[i].plain_ns, kolk = (double)trace->runs[i].kolk_ns;
        if (plain > 0) saved[count++] = 100 * (plain - kolk) / plain;
    }
    if (count > 0) *percent = gain_range(saved, count);
    return count > 0;
}

void share_take(struct gain *part, const struct gain *whole, double first, double repeated) {
    part->samples = whole->samples;
    for (size_t i = 0; i < whole->samples; i++) {
        part->first[i] = whole->first[i] * first;
        part->repeated[i] = whole->repeated[i] * repeated;
    }
}

/* Prevents that "-0.0" is printed. */
static double without_minus_zero(double value) {
    return value > -0.05 && value < 0 ? 0 : value;
}

void share_print_range(FILE *out, struct range range, const char *unit) {
    fprintf(out, "%.1f to %.1f %s", without_minus_zero(range.low), without_minus_zero(range.high), unit);
}

/* An interval with gains and losses tells nothing, unless all of them are small. */
static bool is_told(const double *samples, size_t count, double program_ns) {
    struct range range = gain_range(samples, count);
    bool small = -range.low < SMALL * program_ns && range.high < SMALL * program_ns;
    return range.low >= 0 || range.high <= 0 || small;
}

bool share_is_told(const struct gain *gain, double program_ns) {
    return is_told(gain->first, gain->samples, program_ns) || is_told(gain->repeated, gain->samples, program_ns);
}

static void print_range(FILE *out, const double *samples, size_t count, double program_ns) {
    struct range range = gain_range(samples, count);
    double unit = program_ns > 0 ? program_ns / 100 : 1e6;
    share_print_range(out, (struct range){range.low / unit, range.median / unit, range.high / unit},
                      program_ns > 0 ? "%" : "ms");
}

void share_print(FILE *out, const struct gain *gain, double program_ns) {
    const char *of = program_ns > 0 ? " of the program's processor time" : " of processor time";
    bool first = is_told(gain->first, gain->samples, program_ns);
    bool repeated = is_told(gain->repeated, gain->samples, program_ns);
    if (!first && !repeated) fputs("an amount that this run is too short to tell: repeat the work", out);
    if (first) print_range(out, gain->first, gain->samples, program_ns);
    if (first) fprintf(out, "%s in one run", of);
    if (first && repeated) fputs(", ", out);
    if (repeated) print_range(out, gain->repeated, gain->samples, program_ns);
    if (repeated) fprintf(out, "%s if its work is repeated", first ? "" : of);
    if (first != repeated)
        fprintf(out, "; too short to tell %s", first ? "what that saves if repeated" : "for one run");
}

bool share_is_small(const struct gain *gain, double program_ns) {
    double first = gain_range(gain->first, gain->samples).high;
    double repeated = gain_range(gain->repeated, gain->samples).high;
    return program_ns > 0 && first < SMALL * program_ns && repeated < SMALL * program_ns;
}

static void write_range(cli_json *json, const char *key, struct range range, double program_ns) {
    cli_json_open(json, key, '{');
    cli_json_number(json, "low_ns", range.low);
    cli_json_number(json, "median_ns", range.median);
    cli_json_number(json, "high_ns", range.high);
    if (program_ns > 0) {
        cli_json_number(json, "low_percent", 100 * range.low / program_ns);
        cli_json_number(json, "median_percent", 100 * range.median / program_ns);
        cli_json_number(json, "high_percent", 100 * range.high / program_ns);
    }
    cli_json_close(json, '}');
}

void share_write(cli_json *json, const struct gain *gain, double program_ns) {
    write_range(json, "one_run", gain_range(gain->first, gain->samples), program_ns);
    write_range(json, "repeated", gain_range(gain->repeated, gain->samples), program_ns);
}
