/* names.c: copies of pools' names. The text that was passed to an init may lie in a module that is unloaded, or in a
 * buffer that is used again, while the pool still exists.
 *
 *     bytes     | next, "bullets" | next, "rockets" | ... used | ......... |
 *
 * A name is never taken out, because a report may show it at any time. So a name is found without the lock, which only
 * a new one needs. Programs name their pools with constants, so there are few; for those that do not, the bytes are
 * limited.
 *
 * The bytes are static, and are read and written without functions of libc. ThreadSanitizer would see a thread's mmap
 * and strcmp, but not the lock, and would report a race. */
#include "registry.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/hash.h"
#include "../os/lock.h"

#include <string.h>

#define NAMES_BYTES ((size_t)1 << 17)
#define CHAINS      256u /* lists of names, by hash */

typedef struct kept_name {
    uint32_t next; /* the offset of the next name in the list + 1; 0 ends it */
    char text[];
} kept_name;

static struct {
    _Alignas(kept_name) char bytes[NAMES_BYTES];
    size_t used;
    uint32_t first[CHAINS]; /* as `next` */
} names;

static kept_name *name_at(uint32_t link) {
    KOLK_ASSERT_(link > 0 && link <= NAMES_BYTES);
    return (kept_name *)(void *)(names.bytes + (link - 1));
}

static bool is_equal(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* The copy of a name in its list; NULL: there is none. */
static const char *find_copy(const uint32_t *list, const char *name) {
    for (uint32_t at = kolk_load_(list, KOLK_ACQUIRE_); at; at = name_at(at)->next) /* partner: make_copy */
        if (is_equal(name_at(at)->text, name)) return name_at(at)->text;
    return NULL;
}

/* Adds a copy of a name to its list. Returns NULL if there is no room. Runs under the lock.
 * NOLINTNEXTLINE(readability-non-const-parameter): the list is written */
static const char *make_copy(uint32_t *list, const char *name) {
    size_t size = KOLK_ROUND_UP_(sizeof(kept_name) + strlen(name) + 1, _Alignof(kept_name));
    if (size > NAMES_BYTES - names.used) return NULL;
    uint32_t link = (uint32_t)names.used + 1;
    names.used += size;
    kept_name *made = name_at(link);
    made->next = *list;
    char *to = made->text;
    do *to++ = *name;
    while (*name++);
    kolk_store_(list, link, KOLK_RELEASE_);
    return made->text;
}

const char *kolk_names_keep_(const char *name) {
    if (!name) return NULL;
    uint32_t *list = &names.first[kolk_hash_(name) % CHAINS];
    const char *copy = find_copy(list, name);
    if (copy) return copy;
    if (!kolk_lock_unless_forking_()) return name;
    copy = find_copy(list, name);
    if (!copy) copy = make_copy(list, name);
    kolk_unlock_();
    return copy ? copy : name;
}

#endif
