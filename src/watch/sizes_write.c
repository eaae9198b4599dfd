/* sizes_write.c: writes measured needs into a file of sizes that people have edited.
 *
 *     # mine                   # mine
 *     bullets = 256            bullets = 300           a pool that was measured gets a new number
 *     others = 10              others = 10             a pool that was not measured stays
 *                              shells = 7              a new pool goes after its section's last line
 *
 *     # for the boss           # for the boss
 *     [boss fight]             [boss fight]
 *     bullets = 1024 # all     bullets = 400 # all
 *
 *                              [credits]               a new section
 *                              shells = 2
 *
 * The text before, between and after the lines of lines[] is copied unchanged. So are these lines, except for the parts
 * that change. Kolk adds two remarks of its own while they are true, and removes them when they are not: a line which
 * states that a pool was never needed (it may become a size), and the remark after the size of a pool that was full. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "sizes_file.h"

#define HEAD                                                                                                           \
    "# The slots that each pool needed, as measured by KOLK_STATS=sizes; KOLK_SIZES=FILE starts the program with "     \
    "them.\n"

typedef struct sizes_output {
    FILE *to;
    const kolk_sizes_file_ *file;
    const kolk_records_ *needs;
    const char *line_end; /* the file's own line ending */
    char last;            /* the last byte that was written; a line feed at first */
} sizes_output;

/* ---- Pieces of text ---------------------------------------------------------------------------------------------- */

static void put_bytes(sizes_output *out, const char *from, const char *end) {
    KOLK_ASSERT_(from <= end);
    if (from == end) return;
    fwrite(from, 1, (size_t)(end - from), out->to);
    out->last = end[-1];
}

static void put_words(sizes_output *out, const char *text) {
    put_bytes(out, text, text + strlen(text));
}

/* The last line of a file may lack a line feed. */
static void begin_new_line(sizes_output *out) {
    if (out->last != '\n') put_words(out, out->line_end);
}

static void put_size(sizes_output *out, uint32_t number) {
    char digits[11];
    snprintf(digits, sizeof digits, "%lu", (unsigned long)number);
    put_words(out, digits);
}

static const char *end_of(const kolk_sizes_file_ *file) {
    return file->text.length ? file->text.start + file->text.length : file->text.start;
}

/* ---- What there is to write -------------------------------------------------------------------------------------- */

static bool is_of(const kolk_line_ *line, const kolk_stats *need) {
    return is_text(line->name, need->name) && is_text(line->section, need->kind);
}

/* The line that a need replaces: the size of its pool, or else the first remark that the pool was never needed. (The
 * line of a section has no name, but a need has one.) */
static const kolk_line_ *find_line(const kolk_sizes_file_ *file, const kolk_stats *need) {
    const kolk_line_ *found = NULL;
    for (size_t i = 0; i < file->count; i++) {
        const kolk_line_ *line = &file->lines[i];
        if (!is_of(line, need)) continue;
        if (line->is == LINE_SIZE) return line;
        if (!found) found = line;
    }
    return found;
}

static const kolk_stats *find_need(const sizes_output *out, const kolk_line_ *line) {
    for (const kolk_record_ *at = out->needs->first; at; at = at->next)
        if (is_of(line, &at->stats)) return &at->stats;
    return NULL;
}

/* Would the name be read back unchanged? */
static bool is_plain(const char *name) {
    word all = {name, strlen(name)};
    if (!is_same_text(all, trimmed(all)) || *name == '[') return false;
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f || *name == '#') return false;
    return true;
}

/* Returns the section's next need that has no line yet, in the order of names, after `last`. */
static const kolk_stats *next_new(const sizes_output *out, word section, const kolk_stats *last) {
    const kolk_stats *next = NULL;
    for (const kolk_record_ *at = out->needs->first; at; at = at->next) {
        const kolk_stats *need = &at->stats;
        if (!is_text(section, need->kind) || !is_plain(need->name)) continue;
        if (last && strcmp(need->name, last->name) <= 0) continue;
        if (next && strcmp(need->name, next->name) >= 0) continue;
        if (!find_line(out->file, need)) next = need;
    }
    return next;
}

static void put_new_lines(sizes_output *out, word section) {
    int width = 0;
    for (const kolk_stats *need = NULL; (need = next_new(out, section, need));)
        if ((int)strlen(need->name) > width) width = (int)strlen(need->name);
    for (const kolk_stats *need = NULL; (need = next_new(out, section, need));) {
        begin_new_line(out);
        if (need->peak) {
            fprintf(out->to, "%-*s = ", width, need->name);
            put_size(out, need->peak);
            if (need->failed) put_words(out, "  " ALL_IN_USE);
        } else {
            fprintf(out->to, COMMENT "%s" NEEDLESS, need->name);
        }
        put_words(out, out->line_end);
    }
}

/* ---- Existing lines ---------------------------------------------------------------------------------------------- */

/* Writes the text after a number, with or without the remark. */
static void put_behind(sizes_output *out, word behind, bool remark) {
    KOLK_ASSERT_(behind.start);
    word core = trimmed_end(behind);
    const char *end = behind.start + behind.length;
    if (ends_with(core, ALL_IN_USE) == remark) {
        put_bytes(out, behind.start, end);
        return;
    }
    if (!remark) core = trimmed_end((word){core.start, core.length - strlen(ALL_IN_USE)});
    put_bytes(out, core.start, core.start + core.length);
    if (remark) put_words(out, "  " ALL_IN_USE);
    if (behind.length && end[-1] == '\r') put_words(out, "\r");
}

/* Returns the start of the next line. */
static const char *put_line(sizes_output *out, const kolk_line_ *line) {
    const char *end = line->text.start + line->text.length, *next = end < end_of(out->file) ? end + 1 : end;
    const kolk_stats *need = find_need(out, line);
    if (!need || !need->peak) {
        put_bytes(out, line->text.start, next);
        return next;
    }
    if (line->is == LINE_SIZE) {
        const char *behind = line->digits.start + line->digits.length;
        put_bytes(out, line->text.start, line->digits.start);
        put_size(out, need->peak);
        put_behind(out, (word){behind, (size_t)(end - behind)}, need->failed);
    } else if (line == find_line(out->file, need)) {
        put_bytes(out, line->name.start, line->name.start + line->name.length);
        put_words(out, " = ");
        put_size(out, need->peak);
        put_behind(out, (word){"", 0}, need->failed);
        if (end[-1] == '\r') put_words(out, "\r");
    } else {
        return next; /* drop a remark that is not true any more */
    }
    put_bytes(out, end, next);
    return next;
}

static bool is_last_of_section(const kolk_sizes_file_ *file, size_t line) {
    for (size_t i = line + 1; i < file->count; i++)
        if (is_same_text(file->lines[i].section, file->lines[line].section)) return false;
    return true;
}

/* The start of a section, including the comments right above it. */
static const char *start_of(const kolk_sizes_file_ *file, const kolk_line_ *section) {
    const char *start = section->text.start;
    while (start > file->body.start) {
        const char *above = start - 1;
        while (above > file->body.start && above[-1] != '\n') above--;
        if (!trimmed((word){above, (size_t)(start - 1 - above)}).length) break;
        start = above;
    }
    return start;
}

/* If the file begins with a section or is empty, writes the needs without a scene. Returns the start of the text that
 * is still to be written. */
static const char *put_front(sizes_output *out) {
    const kolk_sizes_file_ *file = out->file;
    const word none = {"", 0};
    const char *start = file->text.start, *end = end_of(file);
    if (file->count && file->lines[0].is != LINE_SECTION) return start;
    if (file->count) end = start_of(file, &file->lines[0]);
    put_bytes(out, start, file->body.start);
    out->last = '\n'; /* the byte order mark is not a line */
    put_bytes(out, file->body.start, end);
    put_new_lines(out, none);
    if (file->count && next_new(out, none, NULL)) put_words(out, out->line_end);
    return end;
}

static bool has_section(const kolk_sizes_file_ *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (file->lines[i].is == LINE_SECTION && is_text(file->lines[i].section, name)) return true;
    return false;
}

static const char *line_end_of(const kolk_sizes_file_ *file) {
    const char *feed = file->text.length ? memchr(file->text.start, '\n', file->text.length) : NULL;
    return feed && feed > file->text.start && feed[-1] == '\r' ? "\r\n" : "\n";
}

void kolk_sizes_file_write_(FILE *to, const kolk_sizes_file_ *file, const kolk_records_ *needs,
                            const kolk_records_ *scenes) {
    KOLK_ASSERT_(!file->wrong);
    sizes_output out = {to, file, needs, line_end_of(file), '\n'};
    if (!file->text.length) put_words(&out, HEAD);
    const char *rest = put_front(&out);
    for (size_t i = 0; i < file->count; i++) {
        put_bytes(&out, rest, file->lines[i].text.start);
        rest = put_line(&out, &file->lines[i]);
        if (is_last_of_section(file, i)) put_new_lines(&out, file->lines[i].section);
    }
    put_bytes(&out, rest, end_of(file));
    for (const kolk_record_ *at = scenes->first; at; at = at->next) {
        word section = {at->stats.name, strlen(at->stats.name)};
        if (!section.length || !is_plain(at->stats.name) || has_section(file, at->stats.name)) continue;
        if (!next_new(&out, section, NULL)) continue;
        begin_new_line(&out);
        fprintf(to, "%s[%s]%s", out.line_end, at->stats.name, out.line_end);
        put_new_lines(&out, section);
    }
}

#endif
