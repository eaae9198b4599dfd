/* places.c: see places.h. A place is told from others by its kept site, because a kept site stands for a whole stack.
 * Stacks that differ only in calls beyond the named ones look the same in words. These are merged when they are
 * written. */
#include "places.h"
#include "kolk/ipc.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/hash.h"
#include "../os/memory.h"
#include "../core/fail.h"
#include "../core/writer.h"

#include <stdio.h>
#include <string.h>

#define TABLE      4096u /* entries, of which three quarters may be used */
#define TABLE_SIZE (TABLE * sizeof(kolk_alive_at_))
#define DIGITS     10u /* the width of a number of objects */
#define MOST       3u  /* the places that the report of a full pool names */

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

/* Returns the place's entry, which is empty if it is new; NULL if the table is full. */
static kolk_alive_at_ *entry_of_place(const kolk_place_counts_ *counts, kolk_kept_site_ site) {
    uint64_t at = kolk_mixed_(site) % TABLE;
    while (counts->table[at].alive && counts->table[at].site != site) at = (at + 1) % TABLE;
    return counts->table[at].alive || counts->used < TABLE / 4 * 3 ? &counts->table[at] : NULL;
}

void kolk_places_count_(void *to, kolk_kept_site_ site, uint32_t depth) {
    kolk_place_counts_ *counts = (kolk_place_counts_ *)to;
    counts->depth = depth;
    if (!counts->table) counts->table = (kolk_alive_at_ *)kolk_memory_take_(TABLE_SIZE, TABLE_SIZE);
    kolk_alive_at_ *place = counts->table ? entry_of_place(counts, site) : NULL;
    if (!place) {
        counts->elsewhere++;
        return;
    }
    if (place->alive++) return;
    place->site = site;
    counts->used++;
}

/* Inserts a place into the sorted ones. Adds the objects of the place that falls out to `elsewhere`. */
static void rank_place(kolk_places_ *out, const kolk_alive_at_ *place) {
    uint32_t at = out->count;
    while (at > 0 && out->most[at - 1].alive < place->alive) at--;
    bool is_full = out->count == KOLK_PLACES_;
    if (at == KOLK_PLACES_) {
        out->elsewhere += place->alive;
        return;
    }
    if (is_full) out->elsewhere += out->most[KOLK_PLACES_ - 1].alive;
    out->count += !is_full;
    memmove(&out->most[at + 1], &out->most[at], (out->count - 1 - at) * sizeof *place);
    out->most[at] = *place;
}

bool kolk_places_end_(kolk_place_counts_ *counts, kolk_places_ *out) {
    *out = (kolk_places_){.elsewhere = counts->elsewhere, .depth = counts->depth};
    for (uint32_t at = 0; counts->used && at < TABLE; at++)
        if (counts->table[at].alive) rank_place(out, &counts->table[at]);
    if (counts->table) kolk_memory_release_(counts->table, TABLE_SIZE);
    *counts = (kolk_place_counts_){0};
    return out->count || out->elsewhere;
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static void add_holder(kolk_places_ *out, const kolk_ipc_holder *holder, uint32_t alive, const char *where) {
    char *who = out->who[out->count];
    if (!alive) return;
    out->most[out->count++].alive = alive;
    if (holder->number)
        snprintf(who, sizeof *out->who, "process %u (%s)%s", holder->pid, holder->name, where);
    else
        snprintf(who, sizeof *out->who, "no process%s", where);
}

bool kolk_places_of_holders_(const kolk_ipc_holder *most, uint32_t n, uint32_t alive, kolk_places_ *out) {
    uint64_t listed = 0;
    *out = (kolk_places_){.count = 0};
    for (uint32_t h = 0; h < n && h < KOLK_HOLDERS_; h++) {
        add_holder(out, &most[h], most[h].count, "");
        add_holder(out, &most[h], most[h].queued, ", in queues");
        listed += (uint64_t)most[h].count + most[h].queued;
    }
    out->elsewhere = alive > listed ? alive - (uint32_t)listed : 0;
    return out->count;
}

/* ---- In words ---------------------------------------------------------------------------------------------------- */

typedef struct place_words {
    uint32_t alive;
    char words[KOLK_SITE_WORDS_]; /* "" for the objects elsewhere */
} place_words;

/* Room for the places' names, and for the objects elsewhere. */
#define NAMED_SIZE ((KOLK_PLACES_ + 1) * sizeof(place_words))

static void name_place(kolk_kept_site_ site, uint32_t depth, char words[KOLK_SITE_WORDS_]) {
    const void *alone[] = {kolk_site_address_(site), NULL};
    const void *const *stack = kolk_site_stack_(site);
    *words = 0;
    kolk_stack_text(stack ? stack : alone, depth, true, words, KOLK_SITE_WORDS_);
}

/* Adds the objects of the place whose name is in named[count]. Returns the new count. */
static uint32_t add_named(place_words *named, uint32_t count, uint32_t alive) {
    uint32_t at = 0;
    while (strcmp(named[at].words, named[count].words) != 0) at++; /* it finds itself in the end */
    count += at == count;
    for (named[at].alive += alive; at > 0 && named[at - 1].alive < named[at].alive; at--) {
        place_words other = named[at - 1];
        named[at - 1] = named[at];
        named[at] = other;
    }
    return count;
}

/* Returns the places by name, with the most objects first, and finally the objects elsewhere. Places of the same name
 * are merged. Release the memory; NULL if there is none. */
static place_words *name_places(const kolk_places_ *places, uint32_t *count) {
    place_words *named = (place_words *)kolk_memory_take_(NAMED_SIZE, NAMED_SIZE); /* reads as 0 */
    uint32_t elsewhere = places->elsewhere;
    *count = 0;
    for (uint32_t p = 0; named && p < places->count; p++) {
        uint32_t alive = places->most[p].alive;
        if (*places->who[p])
            memcpy(named[*count].words, places->who[p], sizeof *places->who);
        else
            name_place(places->most[p].site, places->depth, named[*count].words);
        if (*named[*count].words)
            *count = add_named(named, *count, alive);
        else
            elsewhere += alive;
    }
    if (!named || !elsewhere) return named;
    named[*count].alive = elsewhere;
    *named[(*count)++].words = 0;
    return named;
}

const char *kolk_places_text_(const kolk_places_ *places, char *text, size_t size) {
    uint32_t count;
    place_words *named = name_places(places, &count);
    *text = 0;
    for (uint32_t p = 0; p < count && p < MOST && *named[p].words; p++) {
        size_t length = strlen(text);
        snprintf(text + length, size - length, "%s%u from %s", p ? ", " : "", named[p].alive, named[p].words);
    }
    if (named) kolk_memory_release_(named, NAMED_SIZE);
    return *text ? text : NULL;
}

void kolk_places_write_text_(kolk_writer_ *out, const kolk_places_ *places) {
    uint32_t count;
    place_words *named = name_places(places, &count);
    for (uint32_t p = 0; p < count; p++) {
        kolk_digits_ digits = kolk_digits_of_(named[p].alive);
        kolk_write_spaces_(out, DIGITS - strlen(digits.text));
        kolk_write_text_(out, digits.text);
        kolk_write_text_(out, *named[p].words ? " by " : " elsewhere");
        kolk_write_text_(out, named[p].words);
        kolk_write_char_(out, '\n');
    }
    if (named) kolk_memory_release_(named, NAMED_SIZE);
}

void kolk_places_write_json_(kolk_writer_ *out, const kolk_places_ *places) {
    uint32_t count;
    place_words *named = name_places(places, &count);
    kolk_write_text_(out, ", \"places\": [");
    for (uint32_t p = 0; p < count; p++) {
        kolk_write_text_(out, p ? ", {\"alive\": " : "{\"alive\": ");
        kolk_write_number_(out, named[p].alive);
        if (*named[p].words) {
            kolk_write_text_(out, ", \"by\": ");
            kolk_write_quoted_(out, named[p].words, true);
        }
        kolk_write_char_(out, '}');
    }
    kolk_write_char_(out, ']');
    if (named) kolk_memory_release_(named, NAMED_SIZE);
}

#endif
