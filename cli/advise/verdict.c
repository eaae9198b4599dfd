/* verdict.c: see verdict.h. */
#include "verdict.h"
#include "../print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum {
    RESIZED_SHARE = 100,    /* one part of so many */
    SIZE_MOST = 8192,       /* two pages */
    TYPE_STEP = 4,          /* sizes of structs are multiples of it, but for those of nothing but short members */
    ALONE_SHARE = 20,       /* of an arena's objects, one of so many may die by itself */
    PARTY_LEAST = 16,       /* fewer at a time, and a pool's free is as good */
    HEADROOM_PART = 4,      /* one part more of so many: another run needs a little more */
    CAPACITY_STEP = 8,      /* capacities are multiples of it */
    THREADS_BY_DEFAULT = 16 /* max_threads of shared.h */
};

const char *const advice_names[] = {"pool", "shared pool", "arena", "leave it"};

void verdict_say(struct verdict *verdict, const char *format, ...) {
    size_t length = strlen(verdict->reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->reason + length, sizeof verdict->reason - length, format, arguments);
    va_end(arguments);
}

/* ---- Which ------------------------------------------------------------------------------------------------------- */

static bool die_together(const struct site *site) {
    return (site->allocations - site->together) * ALONE_SHARE <= site->allocations &&
           site->together >= site->parties * PARTY_LEAST;
}

static const char *how_resized(const struct site *site) {
    return site->resized == site->allocations ? "All" : cli_count(site->resized).text;
}

/* Says why it is to be left; false if it isn't. */
static bool leave(struct verdict *verdict) {
    const struct site *site = verdict->site;
    if (site->least != site->most) {
        verdict_say(verdict, "Sizes vary, from %" PRIu64 " to %" PRIu64 " bytes, and a pool has one size. %s",
                    site->least, site->most,
                    die_together(site) ? "As they die together, a kolk_heap of their own would end them at once."
                                       : "A kolk_heap has all sizes.");
    } else if (site->resized * RESIZED_SHARE >= site->allocations) {
        verdict_say(verdict, "%s of them are resized by realloc, which a pool cannot do.", how_resized(site));
    } else if (site->least > SIZE_MOST) {
        verdict_say(verdict, "They are large: to use %s takes longer than to allocate them.",
                    cli_bytes(site->least).text);
    } else if (site->least % TYPE_STEP != 0 || site->least == 0) {
        verdict_say(verdict,
                    "Sizes of structs are multiples of %d, and %" PRIu64 " is none: it is probably text, whose "
                    "length another run changes.",
                    TYPE_STEP, site->least);
    } else {
        return false;
    }
    return true;
}

static void say_arena(struct verdict *verdict) {
    const struct site *site = verdict->site;
    uint64_t alone = site->allocations - site->together;
    if (site->left == site->allocations)
        verdict_say(verdict, "All live to the end of the recording: they need no free but %s_deinit.", verdict->name);
    else if (site->parties == 1)
        verdict_say(verdict, "They are freed together, at the end: %s_clear or %s_deinit frees all at once.",
                    verdict->name, verdict->name);
    else
        verdict_say(verdict, "They die together, %s at a time on average: %s_clear frees all at once.",
                    cli_count(site->together / site->parties).text, verdict->name);
    if (alone > 0) verdict_say(verdict, " %s that were freed before can wait for that.", cli_count(alone).text);
}

static void say_shared(struct verdict *verdict) {
    const struct site *site = verdict->site;
    verdict_say(verdict, "%s threads allocate or free them; ", cli_count(site->threads).text);
    if (site->handed == 0)
        verdict_say(verdict, "as each frees its own, a pool for each thread would do as well.");
    else
        verdict_say(verdict, "%s are freed by another thread than the one that allocated them.",
                    cli_count(site->handed).text);
}

static bool say_pool(struct verdict *verdict) {
    const struct site *site = verdict->site;
    verdict_say(verdict, "They come and go all along, and one thread has them all.");
    if (site->left > 0) verdict_say(verdict, " %s live to the end.", cli_count(site->left).text);
    return order_choose(verdict);
}

/* ---- How large ---------------------------------------------------------------------------------------------------- */

static uint32_t with_headroom(uint64_t peak) {
    uint64_t capacity = peak + (peak + HEADROOM_PART - 1) / HEADROOM_PART;
    return (uint32_t)((capacity + CAPACITY_STEP - 1) / CAPACITY_STEP * CAPACITY_STEP);
}

/* A size that ends in a flexible array may be less than a multiple of the type's alignment; so it is not the size's
 * factor of two that counts, but what malloc's callers may rely on. */
static uint32_t alignment_of(uint64_t size) {
    return size % 16 == 0 ? 16 : size >= 8 ? 8 : 4;
}

kolk_pool_desc verdict_pool(const struct verdict *verdict, kolk_reuse order) {
    return (kolk_pool_desc){.object_size = verdict->site->most,
                            .object_align = verdict->align,
                            .capacity = verdict->capacity,
                            .reuse = order};
}

/* ---- Its name ---------------------------------------------------------------------------------------------------- */

enum { STEM_MOST = 36 };

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The symbol in a frame, and whether there is one: in "FILE:(symbol+0x12)[0x1234]", as mtrace writes it, or "symbol
 * (list.c:12)", "symbol+0x12"; otherwise the file. */
static bool find_symbol(const char **begin, const char **end) {
    const char *frame = *begin, *stop = *end;
    for (const char *at = frame; at + 1 < stop; at++) {
        if (at[0] != ':' || (at[1] != '(' && at[1] != '[')) continue;
        bool symbol = at[1] == '(' && at + 2 < stop && !strchr("+)", at[2]);
        for (const char *from = frame; from < at; from++)
            if (*from == '/') *begin = from + 1;
        if (symbol) *begin = at + 2;
        for (*end = symbol ? *begin : at; symbol && *end < stop && !strchr("+)", **end);) ++*end;
        return symbol;
    }
    while (*end > frame + 1 && memchr(frame, '(', (size_t)(*end - frame))) --*end; /* parameters, and the place */
    for (const char *at = frame + 1; at < *end; at++)
        if (at[0] == '+' && at[1] == '0') *end = at;
    return true;
}

/* What is no letter or digit becomes one '_', between others. */
static void write_stem(char *stem, const char *begin, const char *end) {
    size_t length = 0;
    bool gap = false;
    for (; begin < end && length < STEM_MOST; begin++) {
        bool kept = is_letter(*begin) || is_digit(*begin);
        if (kept && gap && length > 0) stem[length++] = '_';
        if (kept && length == 0 && is_digit(*begin)) stem[length++] = 'p';
        if (kept) stem[length++] = *begin;
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

static void give_name(struct verdict *verdict, const struct verdict *others, size_t count) {
    const struct site *site = verdict->site;
    const char *begin = site->frames + site->innermost, *end = site->frames + site->length;
    char stem[STEM_MOST + 2], size[24] = "", *name = verdict->name;
    bool symbol = find_symbol(&begin, &end);
    write_stem(stem, begin, end);
    if (site->by_size || !symbol) snprintf(size, sizeof size, "_%" PRIu64, site->most);
    snprintf(name, sizeof verdict->name, "%s%s_pool", stem, size);
    for (unsigned number = 2; is_taken(name, others, count); number++)
        snprintf(name, sizeof verdict->name, "%s%s_%u_pool", stem, size, number);
}

void verdict_print_site(FILE *out, const struct site *site) {
    if (site->length == 0) fputs("an unknown caller", out);
    for (size_t i = 0; i < site->length; i++) {
        char c = site->frames[i];
        bool comment = i > 0 && ((c == '/' && site->frames[i - 1] == '*') || (c == '*' && site->frames[i - 1] == '/'));
        if (comment) fputc(' ', out);
        fputc((unsigned char)c < ' ' || c == 127 ? '?' : c, out);
    }
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

bool verdict_of(struct verdict *verdict, const struct site *site, const struct verdict *others, size_t count) {
    *verdict = (struct verdict){.site = site, .advice = ADVICE_LEAVE};
    if (leave(verdict)) return true;
    bool shared = site->threads > 1, arena = !shared && die_together(site);
    give_name(verdict, others, count);
    verdict->advice = shared ? ADVICE_SHARED : arena ? ADVICE_ARENA : ADVICE_POOL;
    verdict->capacity = with_headroom(arena ? site->most_begun : site->peak);
    verdict->align = alignment_of(site->most);
    if (shared && site->threads > THREADS_BY_DEFAULT) verdict->max_threads = with_headroom(site->threads);
    if (shared) say_shared(verdict);
    if (arena) say_arena(verdict);
    return shared || arena || say_pool(verdict);
}
