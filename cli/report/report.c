/* report.c: the verb `report`: a recording or a log of statistics as one HTML file, which needs nothing else: no
 * network and no other file.
 *
 *     page.html    what both have in common; scripts draw everything from the data
 *     recording.html, course.html    their own parts
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

/* ---- The page ---------------------------------------------------------------------------------------------------- */

BUILT_IN(page_html, "cli/report/page.html");
BUILT_IN(recording_html, "cli/report/recording.html");
BUILT_IN(course_html, "cli/report/course.html");

/* The places of the data and of the part, in page.html. */
#define DATA "@DATA@"
#define PART "@PART@"

/* In HTML, the data must not contain "</script". */
static void write_page(FILE *out, const char *part, const char *data, size_t length) {
    const char *place = strstr(page_html, DATA), *second = strstr(page_html, PART);
    fwrite(page_html, 1, (size_t)(place - page_html), out);
    for (size_t n = 0; n < length; n++)
        if (data[n] == '<')
            fputs("\\u003c", out);
        else
            fputc(data[n], out);
    place += sizeof DATA - 1;
    fwrite(place, 1, (size_t)(second - place), out);
    fputs(part, out);
    fputs(second + sizeof PART - 1, out);
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

/* PROGRAM.html, in this folder, for PROGRAM.trace.zst. */
static const char *default_path(const char *name) {
    static char path[PATH_MAX];
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strstr(base, ".trace");
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

/* Writes the page with this part, or the data alone. Frees the data. */
static int write_report(cli_context *cli, const char *name, const char *part, struct data *data) {
    bool whole = data->out && fclose(data->out) == 0 && data->length > 0;
    if (whole && cli->json)
        fwrite(data->text, 1, data->length, cli->out);
    else if (whole)
        write_page(cli->out, part, data->text, data->length);
    free(data->text);
    if (!whole) return cli_fail(CLI_FAILED, "%s: there is no memory for the report", name);
    if (cli->json || cli->path || cli->to_stdout) return CLI_OK;
    cli->path = default_path(name);
    fprintf(stderr, "kolk: %s: open it in a browser\n", cli->path);
    return CLI_OK;
}

static int report_recording(cli_context *cli, const char *path) {
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
        code = write_report(cli, advisor.name, recording_html, &data);
    }
    digest_free(&digest);
    advisor_free(&advisor);
    return code;
}

static int report_log(cli_context *cli, const char *path, FILE *file) {
    struct course course = {.count = 0};
    struct data data = {.text = NULL};
    const char *problem = course_read(&course, file);
    if (!problem && course.pool_count == 0) problem = "there is no pool in it";
    int code = problem ? cli_fail(CLI_UNREADABLE, "%s: %s", path, problem) : CLI_OK;
    if (code == CLI_OK) {
        begin_data(&data);
        if (data.out) write_course(data.out, path, &course);
        code = write_report(cli, path, course_html, &data);
    }
    course_free(&course);
    return code;
}

/* Looks at the first line of a file, which may be compressed. */
static bool is_log(FILE *file) {
    struct input *input = input_open(file);
    size_t length;
    const char *line = input ? input_line(input, &length) : NULL;
    bool log = line && course_is_log(line);
    if (input) input_close(input);
    rewind(file);
    return log;
}

static int run(cli_context *cli, int count, char **arguments) {
    const char *path = count > 0 ? arguments[0] : NULL;
    FILE *file = path && strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    int code = file && is_log(file) ? report_log(cli, path, file) : report_recording(cli, path);
    if (file) fclose(file);
    return code;
}

const cli_verb cli_report = {
    .name = "report",
    .arguments = "[FILE]",
    .most_arguments = 1,
    .summary = "writes a recording, or statistics over time, as an HTML file for a browser",
    .details = "FILE is a trace, which kolk record writes, or a log of statistics, which a program writes\n"
               "with KOLK_STATS=log:FILE KOLK_STATS_AT=10s, plain or compressed by zstd. Without it, a\n"
               "recording of SQLite is taken that is built in.\n"
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
