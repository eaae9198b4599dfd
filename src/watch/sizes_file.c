/* sizes_file.c: reads a file of sizes, which people may write, and writes measured needs into it.
 *
 *     # mine                   # mine
 *     bullets = 256            bullets = 300           a pool that was measured gets a new number
 *     others = 10              others = 10             a pool that was not measured stays
 *                              shells = 7              a new pool goes behind its section's last line
 *     # for the boss           # for the boss
 *     [boss fight]             [boss fight]
 *     bullets = 1024 # all     bullets = 400 # all
 *
 *                              [credits]               a new section goes to the end
 *                              shells = 2
 *
 * The whole file is read once, into pages of its own; lines[] points into them. Writing copies each line, except for
 * the number of a pool that was measured, and kolk's own remark behind it: that the pool was full. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/fail.h"
#include "../os/memory.h"
#include "sizes_file.h"

#include <inttypes.h>

#define HEAD                                                                                                           \
    "# The slots that each pool needed, as measured by KOLK_STATS=sizes; KOLK_SIZES=FILE starts the program with "     \
    "them.\n"
#define ALL_IN_USE "# all in use, and more were asked for"

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

void kolk_line_report_(const kolk_line_ *line, const char *setting, const char *file) {
    static const char *const sentences[] = {
        [LINE_SIZE] = "%s:%u: no pool was called \"%s\"",
        [LINE_SECTION] = "%s:%u: no scene was called \"%s\"",
        [LINE_NOT_UNDERSTOOD] = "%s:%u: \"%s\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT",
        [LINE_NO_NUMBER] = "%s:%u: \"%s\" is no number of slots: 1 to 4294967295",
        [LINE_TWICE] = "%s:%u: \"%s\" is there already, in line %u",
    };
    char name[80];
    kolk_failure bad = {.rule = KOLK_BAD_SETTING, .pool = setting, .slot = UINT32_MAX};
    KOLK_ASSERT_(line->is != LINE_OTHER);
    copied(line->name.length ? line->name : line->section, name, sizeof name);
    kolk_fail_(bad, sentences[line->is], file, (uint64_t)line->number, name, (uint64_t)line->capacity);
}

static void add_wrong(kolk_sizes_file_ *file, kolk_line_ *at, kolk_line_kind_ is, word what) {
    at->is = is;
    at->name = what;
    file->wrong = true;
}

/* Returns an earlier line with the same name and section, or NULL. */
static const kolk_line_ *find_first(const kolk_sizes_file_ *file, const kolk_line_ *line) {
    for (const kolk_line_ *at = file->lines; at < line; at++)
        if (at->is == LINE_SIZE && is_same_text(at->name, line->name) && is_same_text(at->section, line->section))
            return at;
    return NULL;
}

static void read_size(kolk_sizes_file_ *file, kolk_line_ *at, word text, word equals) {
    word left = {text.start, (size_t)(equals.start - text.start)};
    word right = {equals.start + 1, text.length - left.length - 1};
    at->is = LINE_SIZE;
    at->name = trimmed(left);
    at->digits = trimmed(right);
    at->capacity = number_of(at->digits);
    if (!at->name.length) {
        add_wrong(file, at, LINE_NOT_UNDERSTOOD, text);
        return;
    }
    if (!at->capacity) {
        add_wrong(file, at, LINE_NO_NUMBER, at->digits);
        return;
    }
    const kolk_line_ *first = find_first(file, at);
    if (!first) return;
    at->capacity = first->number;
    add_wrong(file, at, LINE_TWICE, at->name);
}

/* Finds the last equals sign, because names may contain others. */
static word find_equals(word text) {
    size_t at = text.length;
    while (at > 0 && text.start[at - 1] != '=') at--;
    return (word){at ? text.start + at - 1 : NULL, at > 0};
}

/* Does this line begin a section? If so, sets `section` to its name. */
static bool is_section(word text, word *section) {
    if (*text.start != '[' || text.start[text.length - 1] != ']' || text.length < 3) return false;
    word name = trimmed((word){text.start + 1, text.length - 2});
    if (name.length) *section = name;
    return name.length;
}

static void read_line(kolk_sizes_file_ *file, word all, word *section) {
    word comment = all, text;
    cut_off(&comment, '#', &text);
    text = trimmed(text);
    kolk_line_ *at = &file->lines[file->count++];
    KOLK_ASSERT_(file->count * sizeof *at <= file->lines_size);
    *at = (kolk_line_){.text = all, .name = {all.start, 0}, .section = *section, .number = (uint32_t)file->count};
    word equals = find_equals(text);
    if (!text.length) return;
    if (is_section(text, section)) {
        at->is = LINE_SECTION;
        at->section = *section;
    } else if (*text.start != '[' && equals.start) {
        read_size(file, at, text, equals);
    } else {
        add_wrong(file, at, LINE_NOT_UNDERSTOOD, text);
    }
}

static bool read_lines(kolk_sizes_file_ *file) {
    word section = {"", 0}, rest = file->body, one;
    size_t most = 1;
    for (size_t i = 0; i < rest.length; i++) most += rest.start[i] == '\n';
    file->lines_size = most * sizeof *file->lines;
    file->lines = kolk_memory_take_(file->lines_size, file->lines_size);
    while (file->lines && rest.length && cut_off(&rest, '\n', &one)) read_line(file, one, &section);
    return file->lines;
}

kolk_found_ kolk_sizes_file_read_(kolk_sizes_file_ *file, const char *name) {
    static const char mark[] = "\xef\xbb\xbf";
    kolk_found_ found = kolk_file_read_(name, &file->text);
    if (found != KOLK_FOUND_) return found;
    file->body = (word){file->text.start, file->text.length};
    if (file->body.length >= 3 && memcmp(file->body.start, mark, 3) == 0) file->body.start += 3, file->body.length -= 3;
    if (read_lines(file)) return KOLK_FOUND_;
    kolk_sizes_file_release_(file);
    return KOLK_UNREADABLE_;
}

void kolk_sizes_file_release_(kolk_sizes_file_ *file) {
    kolk_text_release_(&file->text);
    if (file->lines) kolk_memory_release_(file->lines, file->lines_size);
    memset(file, 0, sizeof *file);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

typedef struct sizes_output {
    FILE *to;
    const kolk_sizes_file_ *file;
    const kolk_records_ *needs;
} sizes_output;

static bool is_of(const kolk_line_ *line, const kolk_stats *need) {
    return line->is == LINE_SIZE && is_text(line->name, need->name) && is_text(line->section, need->kind);
}

static bool has_line(const kolk_sizes_file_ *file, const kolk_stats *need) {
    for (size_t i = 0; i < file->count; i++)
        if (is_of(&file->lines[i], need)) return true;
    return false;
}

static void put_word(const sizes_output *out, word text) {
    fwrite(text.start, 1, text.length, out->to);
}

static void put_size(const sizes_output *out, const kolk_line_ *line, const kolk_stats *need) {
    const char *behind = line->digits.start + line->digits.length;
    word rest = {behind, (size_t)(line->text.start + line->text.length - behind)}, core = trimmed_end(rest);
    bool was_full = ends_with(core, ALL_IN_USE);
    if (was_full && !need->failed) rest = trimmed_end((word){core.start, core.length - strlen(ALL_IN_USE)});
    if (!was_full && need->failed) rest = core;
    put_word(out, (word){line->text.start, (size_t)(line->digits.start - line->text.start)});
    fprintf(out->to, "%" PRIu32, need->peak);
    put_word(out, rest);
    if (!was_full && need->failed) fputs("  " ALL_IN_USE, out->to);
}

static void put_line(const sizes_output *out, const kolk_line_ *line) {
    const kolk_record_ *at = out->needs->first;
    while (at && !is_of(line, &at->stats)) at = at->next;
    if (at)
        put_size(out, line, &at->stats);
    else
        put_word(out, line->text);
    fputc('\n', out->to);
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
        if (!has_line(out->file, need)) next = need;
    }
    return next;
}

/* Writes the new sizes of a section before line `next`. */
static void put_new_lines(const sizes_output *out, word section, size_t next) {
    int width = 0;
    const kolk_stats *need = NULL;
    while ((need = next_new(out, section, need)))
        if ((int)strlen(need->name) > width) width = (int)strlen(need->name);
    while ((need = next_new(out, section, need)))
        fprintf(out->to, "%-*s = %" PRIu32 "%s\n", width, need->name, need->peak, need->failed ? "  " ALL_IN_USE : "");
    if (width && next < out->file->count && trimmed(out->file->lines[next].text).length) fputc('\n', out->to);
}

/* Returns the number of the line before which a section ends; 0 if it is not there. Sizes outside of sections, if there
 * are none yet, belong before the first section and the comments right above it. */
static size_t end_of_section(const kolk_sizes_file_ *file, word section) {
    size_t end = 0;
    for (size_t i = 0; i < file->count; i++)
        if (file->lines[i].is != LINE_OTHER && is_same_text(file->lines[i].section, section)) end = i + 1;
    if (end || section.length) return end;
    while (end < file->count && file->lines[end].is != LINE_SECTION) end++;
    if (end == file->count) return end;
    while (end > 0 && trimmed(file->lines[end - 1].text).length) end--;
    return end;
}

void kolk_sizes_file_write_(FILE *to, const kolk_sizes_file_ *file, const kolk_records_ *needs,
                            const kolk_records_ *scenes) {
    KOLK_ASSERT_(!file->wrong);
    sizes_output out = {to, file, needs};
    const word outside = {"", 0};
    size_t front = end_of_section(file, outside);
    if (!file->text.length) fputs(HEAD, to);
    if (file->count) put_word(&out, (word){file->text.start, (size_t)(file->body.start - file->text.start)});
    for (size_t i = 0; i <= file->count; i++) {
        word section = i ? file->lines[i - 1].section : outside;
        if (i == front) put_new_lines(&out, outside, i);
        if (section.length && i == end_of_section(file, section)) put_new_lines(&out, section, i);
        if (i < file->count) put_line(&out, &file->lines[i]);
    }
    for (const kolk_record_ *at = scenes->first; at; at = at->next) {
        word section = {at->stats.name, strlen(at->stats.name)};
        if (!section.length || !is_plain(at->stats.name) || end_of_section(file, section)) continue;
        if (!next_new(&out, section, NULL)) continue;
        fprintf(to, "\n[%s]\n", at->stats.name);
        put_new_lines(&out, section, file->count);
    }
}

#endif
