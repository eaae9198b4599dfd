/* settings.c: parses the settings of the debug mode, from the environment or a descriptor.
 *
 *     KOLK_DEBUG=fill,guard;sites,quarantine=8:bullet*
 *                ---------- ------------------ -------
 *                an entry   settings           glob of pool names
 *     KOLK_FAIL=bullet*:every=10;*:chance=0.01,seed=7 */
#include "settings.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../core/fail.h"
#include "../base/hash.h"
#include "../os/environment.h"
#include "debug.h"
#include "../core/tools.h"
#include "registry.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

#define ALL_QUARANTINE 64u

/* * matches any characters, ? matches one. Each * first matches as little as possible; on a mismatch only the last *
 * has to be extended (Krauss, Matching Wildcards, 2008). */
static bool matches_glob(word glob, const char *name) {
    const char *g = glob.start, *end = glob.start + glob.length, *star = NULL, *retry = NULL;
    while (*name) {
        if (g < end && *g == '*') {
            star = ++g;
            retry = name;
        } else if (g < end && (*g == '?' || *g == *name)) {
            g++;
            name++;
        } else if (star) {
            g = star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (g < end && *g == '*') g++;
    return g == end;
}

static void refuse_setting(word setting, const char *of, const char *why) {
    char text[64];
    kolk_failure failure = {.rule = KOLK_BAD_SETTING, .pool = of, .slot = UINT32_MAX};
    kolk_fail_(failure, "\"%s\" %s", copied(setting, text, sizeof text), why);
}

/* ---- Names that no pool has -------------------------------------------------------------------------------------- */

/* One bit for each of a variable's first 32 entries: a pool's name matched its glob. */
typedef struct globs_met {
    uint32_t of; /* a hash of the variable's text, which may change */
    uint32_t entries;
} globs_met;

static globs_met debug_met, fail_met;

static void note_met(globs_met *met, const char *text, unsigned entry) {
    uint32_t hash = kolk_hash_(text);
    if (kolk_load_(&met->of, KOLK_RELAXED_) != hash) {
        kolk_store_(&met->entries, 0, KOLK_RELAXED_);
        kolk_store_(&met->of, hash, KOLK_RELAXED_);
    }
    if (entry < 32) kolk_fetch_or_(&met->entries, UINT32_C(1) << entry, KOLK_RELAXED_);
}

static bool was_met(const globs_met *met, const char *text, unsigned entry) {
    if (entry >= 32) return true; /* not recorded, so not reported */
    return met->of == kolk_hash_(text) && (met->entries >> entry & 1);
}

/* Is the name in this list, whose names are separated by ", "? */
static bool is_among(const char *names, const char *name) {
    word rest = {names, strlen(names)};
    for (word one; cut_off(&rest, ',', &one);)
        if (is_text(trimmed(one), name)) return true;
    return false;
}

/* Writes the names of pools, as many as fit. Returns false if one of them matches the glob. */
static bool names_of_others(word glob, char *names, size_t size) {
    char name[KOLK_NAME_ROOM_];
    *names = 0;
    for (uint32_t place = 0; kolk_registry_name_(place, name); place++) {
        if (matches_glob(glob, name)) return false;
        size_t length = strlen(names);
        if (!*name || is_among(names, name) || length + strlen(name) + sizeof ", ..." > size) continue;
        snprintf(names + length, size - length, "%s%s", length ? ", " : "", name);
    }
    return true;
}

/* A name with a slash belongs to a class of a heap. Nothing may have asked for that class yet, so its absence is not
 * reported. */
static void report_unmet(const globs_met *met, const char *of, bool glob_first) {
    const char *text = kolk_environment_(of);
    word rest = {text, text ? strlen(text) : 0}, entry;
    for (unsigned n = 0; cut_off(&rest, ';', &entry); n++) {
        word first;
        if (!entry.length || !memchr(entry.start, ':', entry.length)) continue;
        cut_off(&entry, ':', &first);
        word glob = trimmed(glob_first ? first : entry);
        char names[200], wanted[64];
        if (was_met(met, text, n) || memchr(glob.start, '/', glob.length)) continue;
        if (!names_of_others(glob, names, sizeof names)) continue;
        kolk_failure failure = {.rule = KOLK_BAD_SETTING, .pool = of, .slot = UINT32_MAX};
        kolk_fail_(failure, *names ? "no pool is named %s; there are: %s" : "no pool is named %s; none has a name",
                   copied(glob, wanted, sizeof wanted), names);
    }
}

void kolk_settings_report_unmet_(void) {
    report_unmet(&debug_met, "KOLK_DEBUG", false);
    report_unmet(&fail_met, "KOLK_FAIL", true);
}

/* ---- KOLK_DEBUG -------------------------------------------------------------------------------------------------- */

/* Mistakes in the environment are reported only once.
 * NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static bool is_first_time(uint32_t *told) {
    return !kolk_raw_exchange_(told, 1, KOLK_RELAXED_);
}

/* Adds one setting. `of` names the source of the text; if it is NULL, mistakes are not reported. */
static void add_setting(kolk_settings_ *settings, word setting, const char *of) {
    const struct {
        const char *name;
        uint32_t *number;  /* the one behind =; NULL: there must be none */
        const char *wrong; /* said of a number that is not from 1 to `most` */
        uint32_t most, flags;
    } words[] = {
        {"fill", NULL, NULL, 0, KOLK_DEBUG_FILL},
        {"guard", NULL, NULL, 0, KOLK_DEBUG_GUARD},
        {"sites", NULL, NULL, 0, KOLK_DEBUG_SITES},
        {"move", NULL, NULL, 0, KOLK_DEBUG_MOVE},
        {"trace", NULL, NULL, 0, KOLK_DEBUG_TRACE},
        {"all", NULL, NULL, 0, KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES},
        {"quarantine", &settings->quarantine, "is not understood: quarantine=SLOTS takes a number from 1 to 4294967295",
         UINT32_MAX, KOLK_DEBUG_QUARANTINE},
        {"sites", &settings->depth, "is not understood: sites=CALLS takes a number from 1 to 16", KOLK_STACK_MOST_,
         KOLK_DEBUG_SITES},
        {"sample", &settings->sample, "is not understood: sample=N takes a number from 1 to 4294967295", UINT32_MAX, 0},
    };
    word value = setting, key = {setting.start, 0};
    cut_off(&value, '=', &key);
    uint32_t number = value.start ? number_of(value) : 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!is_text(key, words[i].name) || (value.start && !words[i].number)) continue;
        if (words[i].number && (!number || number > words[i].most)) {
            if (of) refuse_setting(setting, of, words[i].wrong);
            return;
        }
        settings->flags |= words[i].flags;
        if (words[i].number) *words[i].number = number;
        if (is_text(key, "all") && !settings->quarantine) settings->quarantine = ALL_QUARANTINE;
        return;
    }
    if (of)
        refuse_setting(setting, of,
                       "is not a setting: fill, guard, quarantine=SLOTS, sites, move, trace, sample=N, all");
}

/* Returns false if the list has no setting. */
static bool add_settings(kolk_settings_ *settings, word list, const char *of) {
    bool some = false;
    for (word setting; cut_off(&list, ',', &setting);) {
        setting = trimmed(setting);
        if (!setting.length) continue;
        add_setting(settings, setting, of);
        some = true;
    }
    return some;
}

/* Adds the settings of all entries whose glob matches. Returns true if there is one. *named: an entry with sample=N has
 * just this name. */
static bool from_environment(kolk_settings_ *settings, const char *text, const char *name, const char *of,
                             bool *named) {
    bool matched = false;
    unsigned n = 0;
    word rest = {text, strlen(text)};
    for (word entry; cut_off(&rest, ';', &entry); n++) {
        word list;
        cut_off(&entry, ':', &list); /* the rest is the glob */
        bool has_glob = entry.start != NULL, matches_name = !has_glob || matches_glob(trimmed(entry), name);
        kolk_settings_ other = {0};
        uint32_t before = settings->sample;
        bool some = add_settings(matches_name ? settings : &other, list, of);
        if (has_glob && settings->sample != before) *named = is_text(trimmed(entry), name);
        if (matches_name && (some || has_glob)) matched = true;
        if (matches_name && has_glob) note_met(&debug_met, text, n);
    }
    return matched;
}

/* ---- Forced failures --------------------------------------------------------------------------------------------- */

/* Parses a number from 0 to 1, such as 0.015, into units of 2^-32. Returns false if the text is not such a number. */
static bool fraction_of(word text, uint64_t *fraction) {
    uint64_t digits = 0, unit = 1;
    bool behind_point = false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.start[i] == '.' && !behind_point && text.length > 1) {
            behind_point = true;
            continue;
        }
        if (text.start[i] < '0' || text.start[i] > '9' || unit >= 1000000000) return false;
        digits = digits * 10 + (uint64_t)(text.start[i] - '0');
        if (behind_point) unit *= 10;
        if (digits > unit) return false;
    }
    KOLK_ASSERT_(digits <= unit);
    *fraction = (digits << 32) / unit;
    return text.length > 0;
}

static void add_failure(kolk_settings_ *settings, word setting, const char *of) {
    word value = setting, key = {setting.start, 0};
    cut_off(&value, '=', &key);
    bool known = false;
    if (is_text(key, "every")) known = value.start && (settings->fail_every = number_of(value)) > 0;
    if (is_text(key, "chance")) known = value.start && fraction_of(value, &settings->fail_chance);
    if (is_text(key, "seed")) known = value.start && (settings->fail_seed = number_of(value)) > 0;
    if (known)
        settings->flags |= KOLK_DEBUG_FAIL;
    else if (of)
        refuse_setting(setting, of, "is not understood: every=N and seed=N from 1, chance=0.01 up to 1");
}

/* Adds the forced failures of the first entry whose glob matches. */
static void add_failures(kolk_settings_ *settings, const char *text, const char *name, const char *of) {
    word rest = {text, strlen(text)};
    bool found = false;
    unsigned n = 0;
    for (word entry; cut_off(&rest, ';', &entry); n++) {
        if (!trimmed(entry).length) continue;
        word list = entry, glob = {"*", 1};
        if (memchr(entry.start, ':', entry.length)) cut_off(&list, ':', &glob);
        kolk_settings_ ones = {0};
        for (word setting; cut_off(&list, ',', &setting);)
            if (trimmed(setting).length) add_failure(&ones, trimmed(setting), of);
        bool matches_name = matches_glob(trimmed(glob), name);
        if (matches_name) note_met(&fail_met, text, n);
        if (found || !matches_name) continue;
        found = true;
        settings->flags |= ones.flags;
        settings->fail_every = ones.fail_every;
        settings->fail_chance = ones.fail_chance;
        settings->fail_seed = ones.fail_seed;
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the counter is written */
bool kolk_settings_fail_(const kolk_settings_ *settings, size_t *asked) {
    KOLK_ASSERT_(settings->flags & KOLK_DEBUG_FAIL);
    size_t n = kolk_fetch_add_(asked, 1, KOLK_RELAXED_) + 1;
    if (settings->fail_every) return n % settings->fail_every == 0;
    return kolk_mixed_(kolk_mixed_(settings->fail_seed) + n) >> 32 < settings->fail_chance;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* Should objects come from malloc? `setting` is the value of KOLK_BYPASS, or NULL. */
static bool is_bypassed(const char *setting) {
    static uint32_t told;
    if (!setting || !*setting) return kolk_tools_watch_malloc_();
    if (strcmp(setting, "0") == 0 || strcmp(setting, "1") == 0) return *setting == '1';
    if (is_first_time(&told)) refuse_setting((word){setting, strlen(setting)}, "KOLK_BYPASS", "is neither 0 nor 1");
    return kolk_tools_watch_malloc_();
}

/* The fast paths of pools compute the address of a slot's object, so none can be elsewhere. */
static void refuse_sample(const kolk_settings_ *settings, const char *of) {
    kolk_failure failure = {.rule = KOLK_BAD_SETTING, .pool = of, .slot = UINT32_MAX};
    kolk_fail_(failure, "\"sample=%u\" has no effect: only heaps have guarded blocks", (uint64_t)settings->sample);
}

kolk_settings_ kolk_settings_read_(const char *name, const char *own, bool loud, bool is_heap) {
    static uint32_t told, told_failures, told_sample;
    kolk_settings_ settings = {0};
    if (own == kolk_no_settings_) return settings;
    bool asks = kolk_environment_may_have_();
    const char *failures = asks ? kolk_environment_("KOLK_FAIL") : NULL;
    const char *all = asks ? kolk_environment_("KOLK_DEBUG") : NULL;
    const char *bypass = asks ? kolk_environment_("KOLK_BYPASS") : NULL;
    settings.environment_has = failures || all;
    const char *of = all && loud && is_first_time(&told) ? "KOLK_DEBUG" : NULL;
    const char *of_own = name && *name ? name : "a pool's .debug";
    bool named = false, found = all && from_environment(&settings, all, name ? name : "", of, &named);
    if (!found && own) named = add_settings(&settings, (word){own, strlen(own)}, loud ? of_own : NULL);
    if (settings.sample && named && loud && !is_heap && (!found || is_first_time(&told_sample)))
        refuse_sample(&settings, of_own);
    of = failures && loud && is_first_time(&told_failures) ? "KOLK_FAIL" : NULL;
    if (failures) add_failures(&settings, failures, name ? name : "", of);
    if (settings.flags & KOLK_DEBUG_SITES && !settings.depth) settings.depth = KOLK_STACK_DEPTH_;
    if (kolk_debug_has_profiler_()) settings.flags |= KOLK_DEBUG_TRACE;
    if (is_bypassed(bypass)) settings.flags |= KOLK_DEBUG_BYPASS;
    return settings;
}

#endif
