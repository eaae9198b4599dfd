/* listed.h: lists the names of the pools in the registry. */
#ifndef TESTS_LISTED_H
#define TESTS_LISTED_H

#include "test.h"

#include "watch/registry.h"

/* Returns the names of all pools of a kind, or of all pools if it is NULL, each followed by a space. The text is valid
 * until the next call. */
static inline const char *listed(const char *of_kind) {
    static char names[1000];
    size_t length = 0;
    kolk_records_ records = {0};
    kolk_registry_collect_(&records);
    names[0] = 0;
    for (const kolk_record_ *at = records.first; at; at = at->next)
        if (!of_kind || strcmp(at->stats.kind, of_kind) == 0)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s ", at->stats.name);
    kolk_records_release_(&records);
    return names;
}

#endif
