/* report.c: the verb `report`: a recording, a log of statistics, or an advice as one HTML file, which
 * needs nothing else: no network and no other file.
 *
 *     page.html    what all have in common; scripts draw everything from the data
 *     recording.html, advice.html, course.html    their own parts
 *     digest.c     sums the recording up
 *     ../advise    proposes pools
 *     excerpts.c   adds the lines of source
 *     course.c     reads a log
 *
 * The data is JSON, so --json writes it alone. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../print.h"
#include "../advise/advise.h"
#include "../built_in.h"
#include "../replay/input.h"
#include "../replay/load.h"
#include "course.h"
#include "digest.h"
#include "excerpts.h"

#include <kolk/base.h>

#include <jansson.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PART_LEAST = 2000 }; /* paths with less than 1/PART_LEAST of everything are not shown */

static const char *folder;
static bool no_advice;

static const cli_option options[] = {
    {.name = "source",
     .letter = 's',
     .kind = CLI_TEXT,
     .argument = "FOLDER",
     .value = &folder,
     .help = "where the program's source files are (this folder)"},
    {.name = "no-advice",
     .kind = CLI_FLAG,
     .value = &no_advice,
     .help = "without proposals of pools, which take a while to measure"},
    {0},
};

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static bool is_shown(const struct digest *digest, uint32_t path) {
    const struct digest_path *root = &digest->paths[0], *its = &digest->paths[path];
    return its->peak_bytes * PART_LEAST > root->peak_bytes || its->bytes * PART_LEAST > root->bytes ||
           its->blocks * PART_LEAST > root->blocks;
}

/* Writes a path and its children, as [FRAME, PEAK_BYTES, BYTES, BLOCKS, [CHILD...]]. */
static void write_path(cli_json *json, const struct digest *digest, uint32_t number, struct excerpts *excerpts) {
    const struct digest_path *path = &digest->paths[number];
    char frame[512];
    excerpts_add(excerpts, path->frame, path->length);
    snprintf(frame, sizeof frame, "%.*s", (int)(path->length < INT_MAX ? path->length : INT_MAX), path->frame);
    cli_json_open(json, NULL, '[');
    cli_json_text(json, NULL, frame);
    cli_json_count(json, NULL, path->peak_bytes);
    cli_json_count(json, NULL, path->bytes);
    cli_json_count(json, NULL, path->blocks);
    cli_json_open(json, NULL, '[');
    for (uint32_t child = path->first; child; child = digest->paths[child].next)
        if (is_shown(digest, child)) write_path(json, digest, child, excerpts);
    cli_json_close(json, ']');
    cli_json_close(json, ']');
}

static void write_classes(cli_json *json, const char *key, const struct digest_class *classes) {
    cli_json_open(json, key, '[');
    for (unsigned n = 0; n < DIGEST_DOUBLINGS; n++) {
        if (classes[n].blocks == 0) continue;
        cli_json_open(json, NULL, '{');
        cli_json_count(json, "from", n ? UINT64_C(1) << (n - 1) : 0);
        cli_json_count(json, "to", n ? (UINT64_C(1) << n) - 1 : 0);
        cli_json_count(json, "blocks", classes[n].blocks);
        cli_json_count(json, "bytes", classes[n].bytes);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void write_steps(cli_json *json, const struct digest *digest) {
    cli_json_open(json, "bytes_alive", '[');
    for (size_t n = 0; n < digest->step_count; n++) cli_json_count(json, NULL, digest->steps[n].bytes);
    cli_json_close(json, ']');
    cli_json_open(json, "blocks_alive", '[');
    for (size_t n = 0; n < digest->step_count; n++) cli_json_count(json, NULL, digest->steps[n].blocks);
    cli_json_close(json, ']');
}

static void add_places(struct excerpts *excerpts, const struct place *places, size_t count) {
    for (size_t n = 0; n < count; n++) excerpts_add(excerpts, places[n].frames, places[n].length);
}

static void write_advice(cli_json *json, const struct advisor *advisor, struct excerpts *excerpts) {
    for (size_t n = 0; n < advisor->count; n++) {
        const struct source *source = advisor->advised[n].verdict.source;
        add_places(excerpts, source->origins, source->origin_count);
        add_places(excerpts, source->ends, source->end_count);
    }
    advisor_write(json, "advice", advisor);
}

static void write_recording(FILE *out, const struct advisor *advisor, const struct digest *digest) {
    cli_json json = {.out = out};
    struct excerpts *excerpts = excerpts_new();
    if (!excerpts) return;
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "file", advisor->name);
    cli_json_text(&json, "kolk", KOLK_VERSION);
    cli_json_count(&json, "operations", advisor->trace.count);
    cli_json_count(&json, "blocks", digest->blocks);
    cli_json_count(&json, "bytes", digest->bytes);
    cli_json_count(&json, "frees", digest->frees);
    if (advisor->trace.by_heaptrack)
        cli_json_text(&json, "recorded_by", "heaptrack");
    else
        cli_json_count(&json, "resizes", digest->resizes);
    cli_json_count(&json, "peak_bytes", digest->peak_bytes);
    cli_json_count(&json, "peak_blocks", digest->peak_blocks);
    cli_json_count(&json, "peak_at", digest->peak_at);
    cli_json_count(&json, "left_bytes", digest->left_bytes);
    cli_json_count(&json, "left_blocks", digest->left_blocks);
    cli_json_count(&json, "per_step", digest->per_step);
    write_steps(&json, digest);
    write_classes(&json, "sizes", digest->sizes);
    write_classes(&json, "lives", digest->lives);
    cli_json_open(&json, "paths", '[');
    write_path(&json, digest, 0, excerpts);
    cli_json_close(&json, ']');
    if (!no_advice) write_advice(&json, advisor, excerpts);
    excerpts_write(&json, "files", excerpts, folder ? folder : ".");
    cli_json_close(&json, '}');
    excerpts_free(excerpts);
}

static void write_course(FILE *out, const char *name, const struct course *course) {
    cli_json json = {.out = out};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "file", name);
    cli_json_text(&json, "kolk", KOLK_VERSION);
    course_write(&json, course);
    cli_json_close(&json, '}');
}

/* Adds the places of an advice that was read from a file. */
static void add_advised(struct excerpts *excerpts, const json_t *advice) {
    const char *const members[] = {"allocated_at", "freed_at"};
    size_t n, m;
    json_t *source, *place;
    json_array_foreach(json_object_get(advice, "sources"), n, source) for (size_t which = 0; which < 2; which++)
        json_array_foreach(json_object_get(source, members[which]), m, place) {
        const char *frames = json_string_value(json_object_get(place, "place"));
        if (frames) excerpts_add(excerpts, frames, strlen(frames));
    }
}

/* Writes what kolk advise has written with --json. */
static void write_advised(FILE *out, const char *name, const json_t *advice) {
    cli_json json = {.out = out};
    struct excerpts *excerpts = excerpts_new();
    if (!excerpts) return;
    add_advised(excerpts, advice);
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "file", name);
    cli_json_text(&json, "kolk", KOLK_VERSION);
    fputs(",\n  \"advice\": ", out);
    json_dumpf(advice, out, JSON_COMPACT);
    excerpts_write(&json, "files", excerpts, folder ? folder : ".");
    cli_json_close(&json, '}');
    excerpts_free(excerpts);
}

/* ---- The page ---------------------------------------------------------------------------------------------------- */

BUILT_IN(page_html, "cli/report/page.html");
BUILT_IN(recording_html, "cli/report/recording.html");
BUILT_IN(course_html, "cli/report/course.html");
BUILT_IN(advice_html, "cli/report/advice.html");

/* The places of the data and of the parts, in page.html. */
#define DATA "@DATA@"
#define PART "@PART@"

/* In HTML, the data must not contain "</script". */
static void write_page(FILE *out, const char *const *parts, const char *data, size_t length) {
    const char *place = strstr(page_html, DATA), *second = strstr(page_html, PART);
    fwrite(page_html, 1, (size_t)(place - page_html), out);
    for (size_t n = 0; n < length; n++)
        if (data[n] == '<')
            fputs("\\u003c", out);
        else
            fputc(data[n], out);
    place += sizeof DATA - 1;
    fwrite(place, 1, (size_t)(second - place), out);
    for (; *parts; parts++) fputs(*parts, out);
    fputs(second + sizeof PART - 1, out);
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

/* Returns where PROGRAM ends in PROGRAM.PID.zst, as heaptrack names its files behind "heaptrack."; NULL: there is no
 * PID. */
static const char *end_of_program(const char *base) {
    const char *pid = base;
    while ((pid = strchr(pid, '.'))) {
        size_t digits = strspn(pid + 1, "0123456789");
        if (digits > 0 && strchr(".", pid[1 + digits])) return pid;
        pid++;
    }
    return NULL;
}

/* PROGRAM.html, in this folder, for PROGRAM.trace.zst, and for heaptrack.PROGRAM.PID.zst. */
static const char *default_path(const char *name) {
    static const char heaptrack[] = "heaptrack.";
    static char path[PATH_MAX];
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strstr(base, ".trace");
    if (!dot && strncmp(base, heaptrack, sizeof heaptrack - 1) == 0) {
        dot = end_of_program(base + sizeof heaptrack - 1);
        if (dot) base += sizeof heaptrack - 1;
    }
    if (!dot) dot = strchr(base, '.');
    int length = dot > base ? (int)(dot - base) : (int)strlen(base);
    snprintf(path, sizeof path, "%.*s.html", length, base);
    return path;
}

/* The data, while it is written to `out`, which is NULL if there is no memory. */
struct data {
    FILE *out;
    char *text;
    size_t length;
};

static void begin_data(struct data *data) {
    data->out = open_memstream(&data->text, &data->length);
}

/* Writes the page with these parts, of which the last is NULL, or the data alone. Frees the data. */
static int write_report(cli_context *cli, const char *name, const char *const *parts, struct data *data) {
    bool whole = data->out && fclose(data->out) == 0 && data->length > 0;
    if (whole && cli->json)
        fwrite(data->text, 1, data->length, cli->out);
    else if (whole)
        write_page(cli->out, parts, data->text, data->length);
    free(data->text);
    if (!whole) return cli_fail(CLI_FAILED, "%s: there is no memory for the report", name);
    if (cli->json || cli->path || cli->to_stdout) return CLI_OK;
    cli->path = default_path(name);
    fprintf(stderr, "kolk: %s: open it in a browser\n", cli->path);
    return CLI_OK;
}

static int report_recording(cli_context *cli, const char *path) {
    static const char *const parts[] = {recording_html, advice_html, NULL};
    struct advisor advisor = {.name = ""};
    struct digest digest = {0};
    struct data data = {.text = NULL};
    int code = load_trace(&advisor.trace, path, &advisor.name);
    if (code == CLI_OK && !digest_make(&digest, &advisor.trace))
        code = cli_fail(CLI_FAILED, "%s: there is no memory to look at it", advisor.name);
    if (code == CLI_OK && !no_advice) code = advisor_make(cli, &advisor);
    if (code == CLI_OK) {
        begin_data(&data);
        if (data.out) write_recording(data.out, &advisor, &digest);
        code = write_report(cli, advisor.name, parts, &data);
    }
    digest_free(&digest);
    advisor_free(&advisor);
    return code;
}

static int report_log(cli_context *cli, const char *path, FILE *file) {
    static const char *const parts[] = {course_html, NULL};
    struct course course = {.count = 0};
    struct data data = {.text = NULL};
    const char *problem = course_read(&course, file);
    if (!problem && course.pool_count == 0) problem = "there is no pool in it";
    int code = problem ? cli_fail(CLI_UNREADABLE, "%s: %s", path, problem) : CLI_OK;
    if (code == CLI_OK) {
        begin_data(&data);
        if (data.out) write_course(data.out, path, &course);
        code = write_report(cli, path, parts, &data);
    }
    course_free(&course);
    return code;
}

static bool is_advice(const json_t *result) {
    return json_integer_value(json_object_get(result, "kolk_advise")) == 1 && json_object_get(result, "trace") &&
           json_object_get(result, "allocations") && json_object_get(result, "sources");
}

static int report_advice(cli_context *cli, const char *path, FILE *file) {
    static const char *const parts[] = {advice_html, NULL};
    struct data data = {.text = NULL};
    json_t *advice = json_loadf(file, 0, NULL);
    int code = CLI_UNREADABLE;
    if (!is_advice(advice)) {
        cli_fail(code, "%s: this is no result of kolk advise, or not all of it", path);
    } else {
        begin_data(&data);
        if (data.out) write_advised(data.out, path, advice);
        code = write_report(cli, path, parts, &data);
    }
    json_decref(advice);
    return code;
}

/* The functions for the files that are not recordings. */
typedef int (*report_function)(cli_context *cli, const char *path, FILE *file);

/* Looks at the first line of a file, which may be compressed. NULL: a recording. */
static report_function function_for(FILE *file) {
    struct input *input = input_open(file);
    size_t length;
    const char *line = input ? input_line(input, &length) : NULL;
    report_function function = !line ? NULL : course_is_log(line) ? report_log : line[0] == '{' ? report_advice : NULL;
    if (input) input_close(input);
    rewind(file);
    return function;
}

static int run(cli_context *cli, int count, char **arguments) {
    const char *path = count > 0 ? arguments[0] : NULL;
    FILE *file = path && strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    report_function function = file ? function_for(file) : NULL;
    int code = function ? function(cli, path, file) : report_recording(cli, path);
    if (file) fclose(file);
    return code;
}

const cli_verb cli_report = {
    .name = "report",
    .arguments = "[FILE]",
    .most_arguments = 1,
    .summary = "writes a recording, statistics over time, or an advice as an HTML file for a browser",
    .details = "FILE is a trace, which kolk record writes; a recording by heaptrack; a log of statistics,\n"
               "which a program writes with KOLK_STATS=log:FILE KOLK_STATS_AT=10s; or what kolk advise\n"
               "writes with --json. The first three may be compressed by zstd. Without it, a recording\n"
               "of SQLite is taken that is built in.\n"
               "\n"
               "The page of a recording has: how much was alive over time; the call paths as a flame\n"
               "graph, by bytes alive at the peak, bytes in all, or number of blocks; sizes and\n"
               "lifetimes; the pools that kolk advise proposes; and the lines of source around each\n"
               "call, if they are found. That of a log has each pool over time, those that creep first.\n"
               "No page needs the network or another file.\n"
               "\n"
               "Without -o, the file is PROGRAM.html in this folder. --json writes only the data.\n",
    .options = options,
    .run = run,
};
