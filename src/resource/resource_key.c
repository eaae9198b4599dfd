/* resource_key.c: keys by their text. A key lives while somebody uses it, so there are never more than entries and
 * calls. They are found through lists, one for each remainder of the hash. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/hash.h"

#include <string.h>

static resource_key **list_of_hash(kolk_resource_inside *pool, uint32_t hash) {
    return &pool->lists[hash % KEY_LISTS];
}

static resource_key *new_key(kolk_resource_inside *pool, const char *text, uint32_t hash) {
    resource_key *key = kolk_pool_alloc(&pool->keys);
    if (!key) return NULL;
    resource_key **list = list_of_hash(pool, hash);
    *key = (resource_key){.next = *list, .hash = hash};
    memcpy(key->text, text, strlen(text) + 1);
    *list = key;
    return key;
}

resource_key *kolk_key_of(kolk_resource_inside *pool, const char *text) {
    KOLK_ASSERT(strlen(text) < KEY_BYTES);
    resource_key *key = *text ? NULL : pool->no_key;
    if (!key) {
        uint32_t hash = kolk_hash(text);
        key = *list_of_hash(pool, hash);
        while (key && (key->hash != hash || strcmp(key->text, text) != 0)) key = key->next;
        if (!key) key = new_key(pool, text, hash);
        if (!key) return NULL;
    }
    key->users++;
    return key;
}

void kolk_key_leave(kolk_resource_inside *pool, resource_key *key) {
    KOLK_ASSERT(key->users > 0);
    if (--key->users > 0) return;
    KOLK_ASSERT(!key->newest && !key->oldest);
    resource_key **link = list_of_hash(pool, key->hash);
    while (*link != key) link = &(*link)->next;
    *link = key->next;
    kolk_pool_free(&pool->keys, key);
}

void kolk_key_want(kolk_resource_inside *pool, resource_key *key) {
    if (key->wanted) return;
    key->wanted = true;
    key->users++;
    pool->wanted++;
}

void kolk_key_tell(kolk_resource_inside *pool, resource_key *key) {
    if (!key->wanted) return;
    key->wanted = false;
    pool->wanted--;
    pool->fd_news = true;
    kolk_key_leave(pool, key);
}

#endif
