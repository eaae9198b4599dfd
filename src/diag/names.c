/* names.c: see names.h.
 *
 *     names.start   | next, "bullets" | next, "rockets" | ... used | (reserved, not committed) |
 *
 * A name is never taken out, because a report may show it at any time. Programs name their pools with constants, so
 * there are few; for those that do not, the bytes are limited. */
#include "names.h"

#if KOLK_DIAGNOSTICS

#include "../base/assert.h"
#include "../base/hash.h"
#include "../os/lock.h"
#include "../os/memory.h"

#include <string.h>

#ifndef __EMSCRIPTEN__
#define NAMES_BYTES ((size_t)1 << 20)
#else
#define NAMES_BYTES ((size_t)1 << 16) /* there a reservation takes real memory */
#endif
#define CHAINS 256u /* lists of names, by hash */

typedef struct kept_name {
    uint32_t next; /* the offset of the next name in the list; 0 ends it */
    char text[];
} kept_name;

static struct {
    char *start;
    size_t used, committed; /* the first 4 bytes are not used, so that no offset is 0 */
    uint32_t first[CHAINS];
} names;

static kept_name *name_at(uint32_t offset) {
    KOLK_ASSERT_(offset < names.used);
    return (kept_name *)(void *)(names.start + offset);
}

static bool commit_names(size_t needed) {
    if (needed > NAMES_BYTES) return false;
    if (!names.start) names.start = (char *)kolk_memory_reserve_(NAMES_BYTES);
    if (!names.start) return false;
    size_t page = kolk_memory_page_(), more = (needed + page - 1) / page * page;
    if (more <= names.committed) return true;
    if (!kolk_memory_commit_(names.start + names.committed, more - names.committed)) return false;
    names.committed = more;
    return true;
}

/* Returns the copy of a name, or NULL. Runs under the lock. */
static const char *copy_of(const char *name) {
    uint32_t *list = &names.first[kolk_hash_(name) % CHAINS];
    for (uint32_t at = *list; at; at = name_at(at)->next)
        if (strcmp(name_at(at)->text, name) == 0) return name_at(at)->text;
    size_t begin = names.used ? names.used : sizeof(kept_name), size = strlen(name) + 1;
    size_t end = (begin + sizeof(kept_name) + size + 3) / 4 * 4;
    if (size > NAMES_BYTES || !commit_names(end)) return NULL;
    names.used = end;
    kept_name *made = name_at((uint32_t)begin);
    made->next = *list;
    memcpy(made->text, name, size);
    *list = (uint32_t)begin;
    return made->text;
}

const char *kolk_name_kept_(const char *name) {
    if (!name || !kolk_lock_unless_forking_()) return name;
    const char *copy = copy_of(name);
    kolk_unlock_();
    return copy ? copy : name;
}

#endif
