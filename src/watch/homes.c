/* homes.c: finds pools that are not where they were initialised. Most programs survive a pool that was moved or lost,
 * so only the debug mode reports it. Every build refuses a struct whose pool is gone. */
#include "registry.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../os/environment.h"
#include "../os/peek.h"
#include "settings.h"

/* Did the user ask for debug mode for this pool? Queues have no debug mode of their own. */
static bool is_watched_by_name(const char *name, uint32_t debug) {
    return (debug | kolk_settings_read_(name, NULL, false, false).flags) & KOLK_DEBUG_STRICT_;
}

static bool is_watched(const kolk_noted_ *noted) {
    return is_watched_by_name(noted->name, noted->debug);
}

static kolk_failure failure_of_noted(const kolk_noted_ *noted, kolk_status rule, const void *site) {
    bool sites = noted->debug & KOLK_DEBUG_SITES;
    return (kolk_failure){.rule = rule, .pool = noted->name, .slot = UINT32_MAX, .site = site, .sites = sites};
}

void kolk_homes_report_evicted_(const kolk_noted_ *noted) {
    if (!is_watched(noted)) return;
    kolk_failure failure = failure_of_noted(noted, KOLK_LEAK, NULL);
    bool known = noted->count != UINT32_MAX;
    failure.count = known ? noted->count : 0;
    if (noted->count == 0)
        kolk_fail_(failure, "initialised again without a deinit: its memory is lost");
    else if (!known)
        kolk_fail_(failure, "it was not deinit'd before its place was initialised again: what it had is lost");
    else if (noted->count == 1)
        kolk_fail_(failure, "initialised again without a deinit: 1 object is lost");
    else
        kolk_fail_(failure, "initialised again without a deinit: %u objects are lost", (uint64_t)noted->count);
}

void kolk_homes_report_lost_(bool all) {
    kolk_noted_ noted;
    if (!all && !kolk_environment_("KOLK_DEBUG") && !(kolk_registry_debug_() & KOLK_DEBUG_STRICT_)) return;
    for (uint32_t place = 0; kolk_registry_next_lost_(&place, &noted);)
        if (all ? *noted.name != 0 : is_watched(&noted))
            kolk_fail_(failure_of_noted(&noted, KOLK_LEAK, NULL),
                       "its storage was freed or went out of scope without a deinit, or it was moved: "
                       "what it had is lost");
}

static bool is_any(const kolk_listed_ *at) {
    (void)at;
    return true;
}

void kolk_homes_report_unloaded_(void) {
    for (kolk_listed_ at = {0}; kolk_registry_next_(&at, is_any);) {
        kolk_stats now;
        at.kind->stats(at.pool, &now);
        if (!is_watched_by_name(now.name, at.debug)) continue;
        kolk_failure failure = {.rule = KOLK_LEAK, .pool = now.name, .slot = UINT32_MAX, .count = now.count};
        kolk_fail_(failure, "not deinit'd before its kolk is unloaded with the library that contains it: it is lost");
    }
}

/* Copies as much of a name as can be read: the pointer to it may be invalid. */
static void peek_name(const char *name, char *copy, size_t size) {
    size_t n = 0;
    while (name && n + 1 < size && kolk_peek_(&copy[n], &name[n], 1) && copy[n]) n++;
    copy[n] = 0;
}

bool kolk_homes_check_(const void *pool, uint32_t number, const char *name, const void *site) {
    if (kolk_registry_is_home_(pool, number)) return true;
    kolk_noted_ noted = {.debug = 0};
    if (!kolk_registry_rehome_(pool, number, &noted)) {
        peek_name(name, noted.name, sizeof noted.name);
        kolk_fail_(
            failure_of_noted(&noted, KOLK_MOVED, site),
            "it was never initialised, or is a copy of a pool that is deinit'd, or belongs to another copy of kolk");
        return false;
    }
    if (is_watched(&noted))
        kolk_fail_(failure_of_noted(&noted, KOLK_MOVED, site),
                   "it was moved or copied after its init: a pool must stay where it is");
    return true;
}

#endif
