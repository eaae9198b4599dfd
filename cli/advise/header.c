/* header.c: prints the declarations of the pools: see advise.h. */
#define _POSIX_C_SOURCE 200809L
#include "../print.h"
#include "advise.h"

#include <stdlib.h>
#include <string.h>

/* Turns the file's name into an include guard. */
static void print_guard(FILE *out, const char *path) {
    const char *slash = strrchr(path, '/');
    fputs("KOLK_ADVISED_", out);
    for (const char *at = slash ? slash + 1 : path; *at; at++) {
        bool lower = *at >= 'a' && *at <= 'z', kept = (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9');
        fputc(lower ? *at - 'a' + 'A' : kept ? *at : '_', out);
    }
    fputc('\n', out);
}

/* Prints the words of a comment in lines of up to 100 columns. A longer word gets a line of its own. */
static void print_words(FILE *out, const char *words) {
    size_t column = 0;
    for (;;) {
        words += strspn(words, " ");
        size_t length = strcspn(words, " ");
        if (length == 0) break;
        bool fits = column > 0 && column + 1 + length <= 97;
        fprintf(out, "%s%.*s", fits ? " " : "\n * ", (int)length, words);
        column = fits ? column + 1 + length : length;
        words += length;
    }
}

static void print_ends(FILE *out, const struct source *source) {
    char *text = NULL;
    size_t length;
    FILE *words = open_memstream(&text, &length);
    if (!words) return;
    name_print_ends(words, source);
    if (fclose(words) == 0) print_words(out, text);
    free(text);
}

static void print_comment(FILE *out, const struct advised *advised, double program_ns) {
    const struct verdict *verdict = &advised->verdict;
    const struct source *source = verdict->source;
    fputs("\n/* ", out);
    name_print_source(out, source);
    fprintf(out, "\n * %s allocations, at most %s alive.", cli_count(source->allocations).text,
            cli_count(source->peak).text);
    print_words(out, verdict->reason);
    print_ends(out, source);
    fprintf(out, "\n * Replayed: %s an operation, malloc %s; %s, malloc ",
            cli_time(advised->gain.pool_ns, 1, " ns").text, cli_time(advised->gain.malloc_ns, 1, "").text,
            cli_bytes(advised->gain.pool_bytes).text);
    fprintf(out, "%s.\n * It saves ", cli_bytes(advised->gain.malloc_bytes).text);
    share_print(out, &advised->gain, program_ns);
    fputs(". */\n", out);
}

static void print_pool(FILE *out, const struct advised *advised, double program_ns) {
    const struct verdict *verdict = &advised->verdict;
    const char *name = verdict->name;
    bool shared = verdict->advice == ADVICE_SHARED;
    const char *kind = shared ? "shared" : "pool";
    int stem = verdict_stem(verdict);
    print_comment(out, advised, program_ns);
    if (verdict->cxx != CXX_NOT) { /* a type of C cannot hold what has constructors, nor can a container take it */
        fputs("#ifdef __cplusplus /* in the program, with kolk.hpp: */\n", out);
        verdict_print_class(out, verdict, "// ");
        fputs("#endif\n", out);
        return;
    }
    fprintf(out, "typedef struct %.*s_object { /* replace it by your own type */\n", stem, name);
    fprintf(out, "    KOLK_ALIGNAS(%u) unsigned char bytes[%llu];\n", (unsigned)verdict->align,
            (unsigned long long)verdict->source->most);
    fprintf(out, "} %.*s_object;\n", stem, name);
    fprintf(out, "%s(%s, %.*s_object)\n", shared ? "KOLK_SHARED_TYPE" : "KOLK_POOL_TYPE", name, stem, name);
    fprintf(out, "static inline kolk_%s_desc %s_desc(void) {\n", kind, name);
    fprintf(out, "    static kolk_%s_desc zero;\n    kolk_%s_desc desc = zero;\n", kind, kind);
    fprintf(out, "    desc.name = \"%.*s\";\n    desc.capacity = %u;\n", stem, name, (unsigned)verdict->capacity);
    fprintf(out, "    desc.max_capacity = %u; /* in effect no limit, as with malloc; these are only addresses */\n",
            (unsigned)verdict_most(verdict));
    if (verdict->max_threads > 0) fprintf(out, "    desc.max_threads = %u;\n", (unsigned)verdict->max_threads);
    fprintf(out, "    return desc;\n}\n");
}

void header_write(const cli_context *cli, const struct advisor *advisor) {
    FILE *out = cli->out;
    fputs("/* Pools that kolk advise proposes for the program that was recorded in ", out);
    name_print(out, advisor->name, strlen(advisor->name));
    fputs(", those that\n * gain most first. To begin one:\n *\n", out);
    fputs(" *     NAME pool;\n *     kolk_pool_desc desc = NAME_desc();\n", out);
    fputs(" *     if (NAME_init(&pool, &desc) != KOLK_OK) ...\n *\n", out);
    fputs(
        " * A pool begins with the capacity that one recording needed and a tenth more, and grows as long as there is\n"
        " * memory. For a pool that never asks the system for memory again, set max_capacity to 0. Where a process "
        "may\n"
        " * not reserve so many addresses (ulimit -v), init fails: halve max_capacity until it succeeds. */\n#ifndef ",
        out);
    print_guard(out, cli->path);
    fputs("#define ", out);
    print_guard(out, cli->path);
    fputs("\n#ifdef __has_include\n#if __has_include(<kolk/kolk.h>)\n#include <kolk/kolk.h>\n#else\n"
          "#include \"kolk.h\" /* with kolk.c, all of the library in two files */\n#endif\n#else\n#include "
          "<kolk/kolk.h>\n#endif\n",
          out);
    if (advisor->count == 0 || advisor->advised[0].verdict.advice == ADVICE_LEAVE)
        fputs("\n/* None: nothing is allocated there as a pool's objects are. */\n", out);
    for (size_t i = 0; i < advisor->count; i++)
        if (advisor->advised[i].verdict.advice != ADVICE_LEAVE)
            print_pool(out, &advisor->advised[i], advisor->program_ns);
    fputs("\n#endif\n", out);
}
