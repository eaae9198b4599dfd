/* sizes_file.c: reads a file of sizes, which people may write.
 *
 *     # comment                      lines[]   name        section      capacity  number
 *     bullets = 256                            bullets     ""                256       2
 *     [boss fight]                             ""          boss fight                  3
 *     particles = 4096                         particles   boss fight       4096       4
 *
 * The whole file is read once, into pages of its own; lines[] points into them. Invalid lines are in lines[], too.
 * Reading takes O(bytes of the file), because a hash table finds an earlier line of the same section and name. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/fail.h"
#include "../base/hash.h"
#include "../os/memory.h"
#include "sizes_file.h"

void kolk_line_report_(const kolk_line_ *line, const char *setting, const char *file) {
    char name[80];
    kolk_failure bad = {.rule = KOLK_BAD_SETTING, .pool = setting, .slot = UINT32_MAX};
    uint64_t number = line->number, first = line->capacity;
    copied(line->name.length ? line->name : line->section, name, sizeof name);
    switch (line->is) {
    case LINE_NEEDLESS: /* never reported: a remark needs no pool */
    case LINE_SIZE:
        kolk_fail_(bad, "%s:%u: no pool was called \"%s\"", file, number, name);
        break;
    case LINE_SECTION:
        kolk_fail_(bad, "%s:%u: no scene was called \"%s\"", file, number, name);
        break;
    case LINE_NOT_UNDERSTOOD:
        kolk_fail_(bad, "%s:%u: \"%s\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT", file, number, name);
        break;
    case LINE_NO_NUMBER:
        kolk_fail_(bad, "%s:%u: \"%s\" is no number of slots: 1 to 4294967295", file, number, name);
        break;
    case LINE_TWICE:
        kolk_fail_(bad, "%s:%u: \"%s\" is there already, in line %u", file, number, name, first);
        break;
    }
}

static void add_wrong(kolk_sizes_file_ *file, kolk_line_ *at, kolk_line_kind_ is, word what) {
    at->is = is;
    at->name = what;
    file->wrong = true;
}

/* A hash table of the lines that set a size. A place has the line's index in lines[] plus 1, or 0 if it is free. A line
 * is put into the first free place from its hash on. At least half of the places stay free. */
typedef struct size_table {
    uint32_t *places;
    size_t count; /* a power of two */
} size_table;

static size_t line_hash(const kolk_line_ *line) {
    uint32_t hash = kolk_hash_on_(KOLK_HASH_OF_NONE_, line->section.start, line->section.length);
    hash = kolk_hash_on_(hash, "\n", 1); /* occurs in neither text */
    return (size_t)kolk_mixed_(kolk_hash_on_(hash, line->name.start, line->name.length));
}

/* Returns an earlier line with the same name and section. If there is none, adds this line and returns NULL. */
static const kolk_line_ *find_first(const kolk_sizes_file_ *file, const size_table *sizes, const kolk_line_ *at) {
    KOLK_ASSERT_((sizes->count & (sizes->count - 1)) == 0);
    size_t place = line_hash(at) & (sizes->count - 1);
    for (; sizes->places[place]; place = (place + 1) & (sizes->count - 1)) {
        const kolk_line_ *other = &file->lines[sizes->places[place] - 1];
        if (is_same_text(other->name, at->name) && is_same_text(other->section, at->section)) return other;
    }
    sizes->places[place] = (uint32_t)(at - file->lines) + 1;
    return NULL;
}

static void read_size(kolk_sizes_file_ *file, const size_table *sizes, kolk_line_ *at, word text, word equals) {
    word left = {text.start, (size_t)(equals.start - text.start)};
    word right = {equals.start + 1, text.length - left.length - 1};
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
    const kolk_line_ *first = find_first(file, sizes, at);
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

/* Is this comment kolk's own remark that a pool was never needed? */
static bool is_needless(kolk_line_ *at) {
    word text = trimmed(at->text);
    if (!begins_with(text, COMMENT) || !ends_with(text, NEEDLESS)) return false;
    if (text.length <= strlen(COMMENT NEEDLESS)) return false;
    at->is = LINE_NEEDLESS;
    at->name = (word){text.start + strlen(COMMENT), text.length - strlen(COMMENT NEEDLESS)};
    return true;
}

/* Does this line begin a section? If so, sets `section` to its name. */
static bool is_section(word text, word *section) {
    if (*text.start != '[' || text.start[text.length - 1] != ']' || text.length < 3) return false;
    word name = trimmed((word){text.start + 1, text.length - 2});
    if (name.length) *section = name;
    return name.length;
}

static void read_line(kolk_sizes_file_ *file, const size_table *sizes, word all, uint32_t number, word *section) {
    word comment = all, text;
    cut_off(&comment, '#', &text);
    text = trimmed(text);
    kolk_line_ *at = &file->lines[file->count];
    KOLK_ASSERT_((file->count + 1) * sizeof *at <= file->lines_size);
    *at = (kolk_line_){.text = all, .name = {all.start, 0}, .section = *section, .number = number};
    word equals = find_equals(text);
    if (!text.length) {
        if (!is_needless(at)) return;
    } else if (is_section(text, section)) {
        at->is = LINE_SECTION;
        at->section = *section;
    } else if (*text.start != '[' && equals.start) {
        read_size(file, sizes, at, text, equals);
    } else {
        add_wrong(file, at, LINE_NOT_UNDERSTOOD, text);
    }
    file->count++;
}

static bool read_lines(kolk_sizes_file_ *file) {
    word section = {"", 0}, rest = file->body, one;
    uint32_t number = 0;
    size_t most = 1;
    size_table sizes = {NULL, 2};
    for (size_t i = 0; i < rest.length; i++) most += rest.start[i] == '\n';
    while (sizes.count < 2 * most) sizes.count *= 2;
    sizes.places = kolk_memory_take_(sizes.count * sizeof *sizes.places, sizes.count * sizeof *sizes.places);
    if (!sizes.places) return false;
    file->lines_size = most * sizeof *file->lines;
    file->lines = kolk_memory_take_(file->lines_size, file->lines_size);
    while (file->lines && cut_off(&rest, '\n', &one)) read_line(file, &sizes, one, ++number, &section);
    kolk_memory_release_(sizes.places, sizes.count * sizeof *sizes.places);
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

#endif
