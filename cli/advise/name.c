/* name.c: describes a source in words, and makes an identifier for it; see verdict.h.
 *
 * A frame is "symbol (list.c:12)", "symbol (libz.so.1+0x12)" or "libz.so.1+0x12", as kolk record writes it, or
 * "FILE:(symbol+0x12)[0x1234]" or "FILE:[0x1234]", as mtrace does. A symbol of C++ is as people write it,
 * "shop::add(int)".
 */
#include "verdict.h"
#include "../print.h"
#include "../replay/frames.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { STEM_MOST = 36 };
enum { PLACES_MOST = 4 }; /* that are printed */

struct span {
    const char *text;
    size_t length;
};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Returns the offset of `what` in the span, or the span's length if it is absent. */
static size_t find(struct span span, const char *what) {
    size_t length = strlen(what);
    for (size_t i = 0; i + length <= span.length; i++)
        if (memcmp(span.text + i, what, length) == 0) return i;
    return span.length;
}

static struct span without_folder(struct span file) {
    for (size_t i = file.length; i > 0; i--)
        if (file.text[i - 1] == '/') return (struct span){file.text + i, file.length - i};
    return file;
}

/* Removes C++'s "(anonymous namespace)::" and what is before it, unless that is within other brackets. */
static struct span without_namespace(struct span frame) {
    static const char anonymous[] = "(anonymous namespace)::";
    for (;;) {
        size_t at = find(frame, anonymous);
        if (at == frame.length || at != find(frame, "(") || at > find(frame, "<")) return frame;
        at += sizeof anonymous - 1;
        frame = (struct span){frame.text + at, frame.length - at};
    }
}

/* Returns the name of a frame's function. If the function is unknown, returns the name of the file, and sets *symbol to
 * false. */
static struct span find_symbol(struct span frame, bool *symbol) {
    bool by_mtrace = frame.length > 0 && frame.text[frame.length - 1] == ']';
    if (!by_mtrace) frame = without_namespace(frame);
    size_t file = by_mtrace ? find(frame, ":(") : frame.length;
    struct span rest = {frame.text + file, frame.length - file};
    if (rest.length > 2 && rest.text[2] != '+') {
        *symbol = true;
        rest = (struct span){rest.text + 2, rest.length - 2};
        rest.length = find(rest, "+");
        rest.length = find(rest, ")");
        return rest;
    }
    if (file == frame.length && by_mtrace) file = find(frame, ":[");
    if (file == frame.length && find(frame, " (") == frame.length) file = find(frame, "+0x");
    *symbol = file == frame.length;
    if (*symbol) {
        frame.length = find(frame, "(");
        frame.length = find(frame, "+0x");
        return frame;
    }
    frame.length = file;
    frame = without_folder(frame);
    frame.length = find(frame, ".so");
    return frame;
}

/* Replaces each run of characters other than letters and digits by one '_', and drops such runs at both ends. */
static void write_stem(char *stem, struct span symbol) {
    size_t length = 0;
    bool gap = false;
    for (size_t i = 0; i < symbol.length && length < STEM_MOST; i++) {
        char c = symbol.text[i];
        bool kept = is_letter(c) || is_digit(c);
        if (kept && gap && length > 0) stem[length++] = '_';
        if (kept && length == 0 && is_digit(c)) stem[length++] = 'p';
        if (kept) stem[length++] = c;
        gap = !kept;
    }
    stem[length] = '\0';
    if (length == 0) memcpy(stem, "object", sizeof "object");
}

static bool is_taken(const char *name, const struct verdict *others, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, others[i].name) == 0) return true;
    return false;
}

void name_pool(struct verdict *verdict, const struct verdict *others, size_t count) {
    const struct source *source = verdict->source;
    struct span frame = {source->frames + source->innermost, source->length - source->innermost};
    char stem[STEM_MOST + 3], size[24] = "", *name = verdict->name;
    bool symbol;
    write_stem(stem, find_symbol(frame, &symbol));
    if (source->by_size || !symbol) snprintf(size, sizeof size, "_%" PRIu64, source->most);
    snprintf(name, sizeof verdict->name, "%s%s_pool", stem, size);
    for (uint8_t number = 2; is_taken(name, others, count); number++) /* there are at most 100 others */
        snprintf(name, sizeof verdict->name, "%s%s_%u_pool", stem, size, number);
}

void name_print(FILE *out, const char *text, size_t length) {
    if (length == 0) fputs("an unknown caller", out);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool comment = i > 0 && ((c == '/' && text[i - 1] == '*') || (c == '*' && text[i - 1] == '/'));
        if (comment) fputc(' ', out);
        fputc((unsigned char)c < ' ' || c == 127 ? '?' : c, out);
    }
}

void name_print_wrapper(FILE *out, const struct place *place) {
    const char *frame = place->frames, *outside;
    while ((outside = frames_outside(frame)) && outside < place->frames + place->innermost) frame = outside;
    bool symbol;
    struct span whole = {frame, frames_first(frame)}, wrapper = find_symbol(whole, &symbol);
    if (!symbol) wrapper = whole; /* "game+0x12" */
    while (wrapper.length > 0 && wrapper.text[wrapper.length - 1] == ' ') wrapper.length--;
    name_print(out, wrapper.text, wrapper.length);
}

static void print_place(FILE *out, const struct place *place) {
    name_print(out, place->frames + place->innermost, place->length - place->innermost);
    if (place->innermost == 0) return;
    fputs(", through ", out);
    name_print_wrapper(out, place);
}

void name_print_source(FILE *out, const struct source *source) {
    for (size_t i = 0; i < source->origin_count && i < PLACES_MOST; i++) {
        if (i > 0) fputs(" and ", out);
        print_place(out, &source->origins[i]);
    }
    if (source->origin_count > PLACES_MOST)
        fprintf(out, " and %s more", cli_count(source->origin_count - PLACES_MOST).text);
}

void name_print_ends(FILE *out, const struct source *source) {
    if (source->end_count == 0) return;
    for (size_t i = 0; i < source->end_count && i < PLACES_MOST; i++) {
        const struct place *end = &source->ends[i];
        fputs(i == 0 ? "Freed at " : "; at ", out);
        print_place(out, end);
        if (source->end_count > 1) fprintf(out, " (%s)", cli_count(end->count).text);
        if (end->mixed) fputs(", as are objects of other sizes", out);
    }
    if (source->end_count > PLACES_MOST)
        fprintf(out, "; and at %s more places", cli_count(source->end_count - PLACES_MOST).text);
    fputc('.', out);
}

void verdict_say(struct verdict *verdict, const char *format, ...) {
    size_t length = strlen(verdict->reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->reason + length, sizeof verdict->reason - length, format, arguments);
    va_end(arguments);
}
