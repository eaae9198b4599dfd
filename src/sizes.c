/* sizes.c: capacities that a program measures in one run, people edit, and the next run starts with.
 *
 *     # comment                      lines[]   name        section      capacity  line
 *     bullets = 256                            bullets     ""                256     2
 *     [boss fight]                             ""          boss fight                3
 *     particles = 4096                         particles   boss fight       4096     4
 *
 * The file is read once, whole, into pages of its own; lines[] points into it. What is wrong in it becomes a line too,
 * with a sentence that waits to be said, so that no lock is held while a handler of the user runs, and so that one that
 * leaves by longjmp hears the rest later.
 *
 * Measuring costs pools next to nothing: a peak is counted where a count exceeds it (pool.c, floor), and a scene that
 * begins sets it back to what is alive. What a pool needed is noted when it goes, when a scene ends, and at exit:
 *
 *     for all       the greatest peak of all pools of a name
 *     [scene]       the greatest while that scene was on; and of a pool that cannot grow, which was initialised while it
 *                   was on, the greatest of its whole life, since that is what it needs when it is initialised there */
#include "kolk/base.h"

#if __STDC_HOSTED__

#include "fail.h"
#include "memory.h"
#include "records.h"
#include "registry.h"
#include "sizes.h"
#include "wait.h"
#include "words.h"

typedef enum kind { SIZE, SECTION, NOT_UNDERSTOOD, NO_NUMBER, TWICE } kind;

typedef struct line {
    word name, section; /* of a line that is wrong, the name is what is wrong */
    uint32_t capacity;  /* of a line that is there TWICE, the number of the first */
    uint32_t number;    /* from 1 */
    kind is;
    bool used; /* its pool or scene was there; a sentence about it was said */
    bool told;
} line;

static struct {
    const char *file; /* NULL: KOLK_SIZES is not set */
    bool unreadable, wrong, measures;
    line *lines;
    size_t count;
    const char *scene;   /* NULL: none */
    kolk_records scenes; /* by name, in the order in which they were entered first */
    kolk_records needs;  /* by name; their kind is the scene, or "" */
} sizes;

/* ---- Sentences --------------------------------------------------------------------------------------------------- */

static const kolk_failure bad_setting = {.rule = KOLK_BAD_SETTING, .pool = "KOLK_SIZES", .slot = UINT32_MAX};

static void report(const line *at) {
    char name[80];
    uint64_t number = at->number, first = at->capacity;
    copied(at->name.length ? at->name : at->section, name, sizeof name);
    switch (at->is) {
    case SIZE:
        kolk_fail(bad_setting, "%s:%u: no pool was called \"%s\"", sizes.file, number, name);
        break;
    case SECTION:
        kolk_fail(bad_setting, "%s:%u: no scene was called \"%s\"", sizes.file, number, name);
        break;
    case NOT_UNDERSTOOD:
        kolk_fail(bad_setting, "%s:%u: \"%s\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT", sizes.file,
                  number, name);
        break;
    case NO_NUMBER:
        kolk_fail(bad_setting, "%s:%u: \"%s\" is no number of slots: 1 to 4294967295", sizes.file, number, name);
        break;
    case TWICE:
        kolk_fail(bad_setting, "%s:%u: \"%s\" is there already, in line %u", sizes.file, number, name, first);
        break;
    }
}

static bool is_wrong(const line *at) {
    return at->is != SIZE && at->is != SECTION;
}

/* Says what is wrong with the file, each thing once. */
static void report_wrong(void) {
    if (!__atomic_exchange_n(&sizes.wrong, false, __ATOMIC_ACQ_REL)) return;
    if (sizes.unreadable) {
        kolk_fail(bad_setting, "\"%s\" cannot be read", sizes.file);
        return;
    }
    for (size_t i = 0; i < sizes.count; i++) {
        line *at = &sizes.lines[i];
        if (!is_wrong(at) || at->told) continue;
        at->told = true;
        __atomic_store_n(&sizes.wrong, true, __ATOMIC_RELEASE); /* the handler may longjmp */
        report(at);
        __atomic_store_n(&sizes.wrong, false, __ATOMIC_RELEASE);
    }
}

/* ---- Reading ------------------------------------------------------------------------------------------------------ */

static bool same(word a, word b) {
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

static void add_wrong(line *at, kind is, word what) {
    at->is = is;
    at->name = what;
    sizes.wrong = true;
}

static void read_size(line *at, word text, word equals) {
    word left = {text.start, (size_t)(equals.start - text.start)};
    word right = {equals.start + 1, text.length - left.length - 1};
    at->name = trimmed(left);
    at->capacity = number_of(trimmed(right));
    if (!at->name.length) {
        add_wrong(at, NOT_UNDERSTOOD, text);
        return;
    }
    if (!at->capacity) {
        add_wrong(at, NO_NUMBER, trimmed(right));
        return;
    }
    for (const line *other = sizes.lines; other < at; other++) {
        if (other->is != SIZE || !same(other->name, at->name) || !same(other->section, at->section)) continue;
        at->capacity = other->number;
        add_wrong(at, TWICE, at->name);
        return;
    }
}

/* The last one, so that names may have some. */
static word find_equals(word text) {
    size_t at = text.length;
    while (at > 0 && text.start[at - 1] != '=') at--;
    return (word){at ? text.start + at - 1 : NULL, at > 0};
}

static void read_line(word text, uint32_t number, word *section) {
    word comment = text;
    cut(&comment, '#', &text);
    text = trimmed(text);
    if (!text.length) return;
    line *at = &sizes.lines[sizes.count++];
    *at = (line){.name = {text.start, 0}, .section = *section, .number = number};
    word equals = find_equals(text);
    if (*text.start == '[' && text.length > 2 && text.start[text.length - 1] == ']') {
        at->is = SECTION;
        at->section = *section = trimmed((word){text.start + 1, text.length - 2});
    } else if (*text.start != '[' && equals.start) {
        read_size(at, text, equals);
    } else {
        add_wrong(at, NOT_UNDERSTOOD, text);
    }
}

static void read_lines(word text) {
    word section = {"", 0}, rest = text, one;
    uint32_t number = 0;
    size_t count = 1;
    for (size_t i = 0; i < text.length; i++) count += text.start[i] == '\n';
    sizes.lines = kolk_memory_reserve(count * sizeof(line));
    sizes.unreadable = !sizes.lines || !kolk_memory_commit(sizes.lines, count * sizeof(line));
    while (!sizes.unreadable && cut(&rest, '\n', &one)) read_line(one, ++number, &section);
}

static bool read_file(FILE *file) {
    static const char mark[] = "\xef\xbb\xbf"; /* that some editors put before UTF-8 */
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size < 0) return false;
    rewind(file);
    char *text = kolk_memory_reserve((size_t)size + 1);
    if (!text || !kolk_memory_commit(text, (size_t)size + 1)) return false;
    if (fread(text, 1, (size_t)size, file) != (size_t)size) return false;
    word all = {text, (size_t)size};
    if (all.length >= 3 && memcmp(text, mark, 3) == 0) all.start += 3, all.length -= 3;
    read_lines(all);
    return !sizes.unreadable;
}

void kolk_sizes_read_setting(bool measures, const char *measured) {
    const char *name = kolk_environment("KOLK_SIZES");
    sizes.measures = measures;
    if (!name || !*name) return;
    sizes.file = kolk_records_copy(&sizes.needs, name); /* the environment may have gone by then */
    if (!sizes.file) return;
    FILE *file = fopen(name, "rb");
    bool first_run = !file && measured && strcmp(measured, name) == 0; /* it is to be written at exit */
    sizes.unreadable = file ? !read_file(file) : !first_run;
    if (sizes.unreadable) sizes.count = 0, sizes.wrong = true;
    if (file) fclose(file);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------- */

const char *kolk_sizes_scene(void) {
    return sizes.scene ? sizes.scene : "";
}

bool kolk_sizes_are_measured(void) {
    return __atomic_load_n(&sizes.measures, __ATOMIC_RELAXED);
}

bool kolk_sizes_matter(void) {
    return sizes.measures || sizes.file;
}

void kolk_sizes_enter(const char *scene) {
    kolk_records_add(&sizes.scenes, &(kolk_stats){.name = scene, .kind = ""}, true);
    const kolk_record *at = sizes.scenes.first;
    while (at && strcmp(at->stats.name, scene) != 0) at = at->next;
    sizes.scene = at ? at->stats.name : NULL;
    for (size_t i = 0; i < sizes.count; i++)
        if (sizes.lines[i].is == SECTION && is(sizes.lines[i].section, scene)) sizes.lines[i].used = true;
}

/* The line that a pool of this name follows now. */
static line *find(const char *name) {
    line *found = NULL;
    const char *scene = kolk_sizes_scene();
    for (size_t i = 0; i < sizes.count; i++) {
        line *at = &sizes.lines[i];
        if (at->is != SIZE || !is(at->name, name)) continue;
        at->used = true;
        bool now = *scene && is(at->section, scene);
        if (now || (!found && !at->section.length)) found = at;
    }
    return found;
}

uint32_t kolk_sizes_of(const char *name) {
    if (!name || !*name) return 0;
    kolk_registry_start();
    report_wrong();
    kolk_lock();
    const line *found = find(name);
    uint32_t capacity = found ? found->capacity : 0;
    kolk_unlock();
    return capacity;
}

void kolk_sizes_refuse(const char *name, uint32_t capacity, const char *why) {
    kolk_lock();
    line *found = find(name);
    bool first = found && !found->told;
    if (found) found->told = true;
    kolk_unlock();
    if (first)
        kolk_fail(bad_setting, "%s:%u: %s keeps %u slots and cannot have %u: %s", sizes.file, (uint64_t)found->number,
                  name, (uint64_t)capacity, (uint64_t)found->capacity, why);
}

kolk_size kolk_sizes_ask(const char *name, const void *memory, uint32_t *capacity, uint32_t *max_capacity) {
    kolk_size size = {name, capacity, max_capacity, *capacity, *max_capacity, kolk_sizes_of(name), false, NULL};
    size.given = size.wanted && !memory;
    if (!size.given) return size;
    *capacity = size.wanted;
    if (*max_capacity && *max_capacity < size.wanted) *max_capacity = size.wanted;
    return size;
}

bool kolk_sizes_withdraw(kolk_size *size, kolk_status failure) {
    if (!size->given) return false;
    *size->capacity = size->own;
    *size->max_capacity = size->own_max;
    size->refused = kolk_status_text(failure);
    return true;
}

void kolk_sizes_settle(const kolk_size *size, uint32_t capacity) {
    const char *why = size->refused;
    if (!why && size->wanted > capacity) why = "it is on the caller's memory";
    if (why) kolk_sizes_refuse(size->name, capacity, why);
}

/* What stands in a section that no one entered is not looked for either. */
void kolk_sizes_report_unused(void) {
    bool entered = true;
    for (size_t i = 0; i < sizes.count; i++) {
        const line *at = &sizes.lines[i];
        if (at->is == SECTION) entered = at->used;
        if (is_wrong(at) || at->used || (at->is == SIZE && !entered)) continue;
        report(at);
    }
}

/* ---- Measuring ---------------------------------------------------------------------------------------------------- */

static void note(const kolk_stats *stats, const char *scene) {
    bool short_of = stats->peak >= stats->capacity && stats->failed + stats->evictions > 0;
    kolk_stats need = {.name = stats->name, .kind = scene, .peak = stats->peak, .failed = short_of};
    kolk_records_add(&sizes.needs, &need, true);
}

void kolk_sizes_note(const kolk_stats *stats, const char *born) {
    const char *scene = kolk_sizes_scene();
    note(stats, "");
    if (*scene && stats->peak) note(stats, scene);
    if (*born && born != scene && stats->capacity == stats->max_capacity) note(stats, born);
}

/* Could it be read back? */
static bool is_plain(const char *name) {
    word all = {name, strlen(name)};
    if (!same(all, trimmed(all)) || *name == '[') return false;
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f || *name == '#') return false;
    return true;
}

/* The next record of a section by name, after `last`. */
static const kolk_record *next_need(const char *section, const kolk_record *last) {
    const kolk_record *next = NULL;
    for (const kolk_record *at = sizes.needs.first; at; at = at->next) {
        if (strcmp(at->stats.kind, section) != 0 || !is_plain(at->stats.name)) continue;
        if (last && strcmp(at->stats.name, last->stats.name) <= 0) continue;
        if (!next || strcmp(at->stats.name, next->stats.name) < 0) next = at;
    }
    return next;
}

static void write_section(FILE *file, const char *section) {
    int width = 0;
    for (const kolk_record *at = NULL; (at = next_need(section, at));)
        if ((int)strlen(at->stats.name) > width) width = (int)strlen(at->stats.name);
    if (*section) fprintf(file, "\n[%s]\n", section);
    for (const kolk_record *at = NULL; (at = next_need(section, at));) {
        const kolk_stats *need = &at->stats;
        const char *remark = need->failed ? "  # all in use, and more were asked for" : "";
        if (need->peak)
            fprintf(file, "%-*s = %lu%s\n", width, need->name, (unsigned long)need->peak, remark);
        else
            fprintf(file, "# %s was never needed\n", need->name);
    }
}

void kolk_sizes_write(FILE *file) {
    fputs("# The slots that each pool needed, as measured by KOLK_STATS=sizes; KOLK_SIZES=FILE starts the program with "
          "them.\n",
          file);
    write_section(file, "");
    for (const kolk_record *at = sizes.scenes.first; at; at = at->next)
        if (*at->stats.name && is_plain(at->stats.name) && next_need(at->stats.name, NULL))
            write_section(file, at->stats.name);
}

#else

typedef int kolk_sizes_is_empty_here; /* a translation unit may not be */

#endif
