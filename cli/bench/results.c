/* results.c: see results.h. */
#define _GNU_SOURCE /* dladdr */
#include "results.h"

#include <kolk/base.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

/* ---- Facts ------------------------------------------------------------------------------------------------------- */

static void add_fact(json_t *facts, const char *name, const char *text) {
    json_t *value = json_string(text); /* NULL if it is no UTF-8 */
    json_object_set_new(facts, name, value ? value : json_string("?"));
}

/* Copies what stands behind the colon of the first line that begins with `name`. */
static bool find_line(const char *path, const char *name, char *text, size_t room) {
    FILE *file = fopen(path, "r");
    char line[256];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        found = colon && strncmp(line, name, strlen(name)) == 0;
        if (!found) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(text, room, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
    if (file) fclose(file);
    return found;
}

static void add_processor(json_t *facts) {
    char model[128] = "?", family[16], number[16], text[256];
    find_line("/proc/cpuinfo", "model name", model, sizeof model);
    int length = snprintf(text, sizeof text, "%s", model);
    if (find_line("/proc/cpuinfo", "cpu family", family, sizeof family) &&
        find_line("/proc/cpuinfo", "model\t", number, sizeof number))
        length += snprintf(text + length, sizeof text - (size_t)length, " (family %s, model %s)", family, number);
    snprintf(text + length, sizeof text - (size_t)length, ", %ld processors", sysconf(_SC_NPROCESSORS_ONLN));
    add_fact(facts, "processor", text);
}

/* Names the library whose malloc the process uses, as a preloaded one may have replaced libc's. */
static void add_malloc(json_t *facts) {
    char text[256];
    void *symbol = dlsym(RTLD_DEFAULT, "malloc");
    Dl_info found = {0};
    const char *file = symbol && dladdr(symbol, &found) && found.dli_fname ? found.dli_fname : "?";
    snprintf(text, sizeof text, "%s", file);
#ifdef __GLIBC__
    if (strstr(file, "libc.so")) snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
#endif
    add_fact(facts, "malloc", text);
}

static void add_date(json_t *facts) {
    char text[32] = "?";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts)) strftime(text, sizeof text, "%Y-%m-%d", &parts);
    add_fact(facts, "date", text);
}

static void add_facts(json_t *facts) {
    struct utsname system = {.sysname = "?"};
    char text[256];
    add_date(facts);
    add_fact(facts, "kolk", KOLK_VERSION);
    add_processor(facts);
    uname(&system);
    snprintf(text, sizeof text, "%.60s %.60s %.60s", system.sysname, system.release, system.machine);
    add_fact(facts, "system", text);
#if defined(__clang__)
    add_fact(facts, "compiler", "clang " __clang_version__);
#else
    add_fact(facts, "compiler", "gcc " __VERSION__);
#endif
    add_malloc(facts);
}

const char *results_fact(const json_t *results, const char *name) {
    const char *text = json_string_value(json_object_get(json_object_get(results, "facts"), name));
    return text ? text : "?";
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

/* Returns the object of this name in another object, to which it is added if it is not there. */
static json_t *member_of(json_t *object, const char *name) {
    json_t *member = json_object_get(object, name);
    if (!member && json_object_set_new(object, name, json_object()) == 0) member = json_object_get(object, name);
    return member;
}

json_t *results_new(void) {
    json_t *results = json_object();
    if (!results) return NULL;
    json_object_set_new(results, "kolk_bench", json_integer(1));
    add_facts(member_of(results, "facts"));
    member_of(results, "left_out");
    member_of(results, "tables");
    return results;
}

void results_add(json_t *results, const char *table, const char *where, const char *who, double ns) {
    json_t *at = member_of(member_of(member_of(results, "tables"), table), where);
    json_t *samples = json_object_get(at, who);
    if (!samples && json_object_set_new(at, who, json_array()) == 0) samples = json_object_get(at, who);
    if (json_array_size(samples) < PASSES_MOST) json_array_append_new(samples, json_real(ns));
}

void results_leave_out(json_t *results, const char *who, const char *why) {
    add_fact(member_of(results, "left_out"), who, why);
}

size_t results_samples(const json_t *results, const char *table, const char *where, const char *who,
                       double samples[PASSES_MOST]) {
    const json_t *tables = json_object_get(results, "tables"), *value;
    const json_t *all = json_object_get(json_object_get(json_object_get(tables, table), where), who);
    size_t count = 0, n;
    json_array_foreach(all, n, value) if (count < PASSES_MOST && json_number_value(value) > 0) samples[count++] =
        json_number_value(value);
    return count;
}

void results_merge(json_t *results, const json_t *others) {
    const char *table, *where, *who;
    json_t *cases, *subjects, *samples, *value;
    size_t n;
    json_object_foreach(json_object_get(others, "left_out"), who, value)
        results_leave_out(results, who, json_string_value(value));
    json_object_foreach(json_object_get(others, "tables"), table, cases) json_object_foreach(cases, where, subjects)
        json_object_foreach(subjects, who, samples) json_array_foreach(samples, n, value)
            results_add(results, table, where, who, json_number_value(value));
}

void results_write(const cli_context *cli, const json_t *results) {
    json_dumpf(results, cli->out, JSON_INDENT(1) | JSON_REAL_PRECISION(4));
    fputc('\n', cli->out);
}
