/* resource_key.c: keys, found by their text, and the demand for each.
 *
 * A key exists as long as it has users, so there are never more keys than entries and calls. A table of lists finds a
 * key by its hash. The table grows by one list with each key: half of the keys of an older list move to the new one
 * (linear hashing, Litwin, 1980). So no call pays for the growth of the whole table, and none looks at more than a few
 * keys.
 *
 * A key is hungry when its demand exceeds the resources on their way, that is, when its waiters and the wishes of
 * borrows that did not wait together outnumber the creates and validations in progress. Hungry keys take turns: the key
 * that has been hungry longest comes first, and goes to the end after its turn. */
#include "resource_inside.h"

#include "../base/bits.h"

#if KOLK_HOSTED

#include "../base/hash.h"
#include "../os/memory.h"

#include <string.h>

#define SHORTEST_BACKOFF_NS INT64_C(10000000)
#define LONGEST_BACKOFF_NS  INT64_C(5000000000)

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Segment n > 0 begins at place 32 << n. */
static unsigned segment_of_place(uint32_t place) {
    return place < FIRST_KEY_PLACES ? 0 : kolk_bits_highest_32_(place) - 5;
}

static size_t bytes_of_segment(unsigned segment) {
    return sizeof(resource_key *) * (segment == 0 ? FIRST_KEY_PLACES : FIRST_KEY_PLACES / 2 << segment);
}

static resource_key **list_at_place(const kolk_resource_inside_ *pool, uint32_t place) {
    unsigned segment = segment_of_place(place);
    return &pool->keys.segments[segment][segment == 0 ? place : place - (FIRST_KEY_PLACES / 2 << segment)];
}

/* Uses as many bits of the hash as the number of places needs, or one bit less if the list at that place does not exist
 * yet. */
static uint32_t place_of_hash(uint32_t hash, uint32_t places) {
    uint32_t half = UINT32_C(1) << kolk_bits_highest_32_(places);
    uint32_t place = hash & (half * 2 - 1);
    return place < places ? place : place - half;
}

static resource_key **list_of_hash(const kolk_resource_inside_ *pool, uint32_t hash) {
    return list_at_place(pool, place_of_hash(hash, pool->keys.places));
}

/* Adds a list, if there is memory, and moves half of another list's keys to it. */
static void grow_table(kolk_resource_inside_ *pool) {
    resource_keys *keys = &pool->keys;
    uint32_t place = keys->places, half = UINT32_C(1) << kolk_bits_highest_32_(place);
    unsigned segment = segment_of_place(place);
    if (segment >= KEY_SEGMENTS) return;
    if (!keys->segments[segment])
        keys->segments[segment] = kolk_memory_take_(bytes_of_segment(segment), bytes_of_segment(segment));
    if (!keys->segments[segment]) return;
    keys->places++;
    resource_key **from = list_at_place(pool, place - half), **to = list_at_place(pool, place);
    while (*from) {
        resource_key *key = *from;
        if (place_of_hash(key->hash, keys->places) == place) {
            *from = key->next;
            key->next = *to;
            *to = key;
        } else {
            from = &key->next;
        }
    }
}

bool kolk_keys_init_(kolk_resource_inside_ *pool) {
    kolk_pool_desc desc = {.object_size = sizeof(resource_key),
                           .capacity = 8,
                           .max_capacity = KOLK_RESOURCE_MOST,
                           .generations = KOLK_GENERATIONS_NONE,
                           .debug = kolk_no_settings_};
    if (kolk_pool_init(&pool->keys.pool, &desc) != KOLK_OK) return false;
    pool->keys.segments[0] = pool->keys.first;
    pool->keys.places = FIRST_KEY_PLACES;
    pool->no_key = kolk_key_of_(pool, "");
    return pool->no_key != NULL;
}

void kolk_keys_deinit_(kolk_resource_inside_ *pool) {
    for (unsigned segment = 1; segment < KEY_SEGMENTS && pool->keys.segments[segment]; segment++)
        kolk_memory_release_(pool->keys.segments[segment], bytes_of_segment(segment));
    kolk_pool_deinit(&pool->keys.pool);
}

static resource_key *new_key(kolk_resource_inside_ *pool, const char *text, uint32_t hash) {
    resource_key *key = kolk_pool_alloc(&pool->keys.pool);
    if (!key) return NULL;
    if (kolk_pool_count(&pool->keys.pool) > pool->keys.places) grow_table(pool);
    resource_key **list = list_of_hash(pool, hash);
    memset(key, 0, offsetof(resource_key, error));
    key->next = *list;
    key->hash = hash;
    memcpy(key->text, text, strlen(text) + 1);
    *list = key;
    return key;
}

resource_key *kolk_key_of_(kolk_resource_inside_ *pool, const char *text) {
    KOLK_ASSERT_(strlen(text) < KEY_BYTES);
    resource_key *key = *text ? NULL : pool->no_key;
    if (!key) {
        uint32_t hash = kolk_hash_(text);
        key = *list_of_hash(pool, hash);
        while (key && (key->hash != hash || strcmp(key->text, text) != 0)) key = key->next;
        if (!key) key = new_key(pool, text, hash);
        if (!key) return NULL;
    }
    key->users++;
    return key;
}

void kolk_key_leave_(kolk_resource_inside_ *pool, resource_key *key) {
    KOLK_ASSERT_(key->users > 0);
    if (--key->users > 0) return;
    KOLK_ASSERT_(!key->newest && !key->oldest && !key->hungry && !key->waiters.first);
    resource_key **link = list_of_hash(pool, key->hash);
    while (*link != key) link = &(*link)->next;
    *link = key->next;
    kolk_pool_free(&pool->keys.pool, key);
}

resource_key *kolk_key_next_(const kolk_resource_inside_ *pool, const resource_key *key) {
    if (key && key->next) return key->next;
    uint32_t place = key ? place_of_hash(key->hash, pool->keys.places) + 1 : 0;
    for (; place < pool->keys.places; place++)
        if (*list_at_place(pool, place)) return *list_at_place(pool, place);
    return NULL;
}

/* ---- Hunger ------------------------------------------------------------------------------------------------------ */

static void join_hungry(kolk_resource_inside_ *pool, resource_key *key) {
    key_list *list = &pool->hungry;
    key->since = ++pool->turns;
    key->before = list->last;
    key->behind = NULL;
    *(list->last ? &list->last->behind : &list->first) = key;
    list->last = key;
}

static void leave_hungry(kolk_resource_inside_ *pool, resource_key *key) {
    key_list *list = &pool->hungry;
    *(key->before ? &key->before->behind : &list->first) = key->behind;
    *(key->behind ? &key->behind->before : &list->last) = key->before;
}

/* A maker can act for a key if it is allowed to validate an idle entry or to create a resource. */
bool kolk_key_is_hungry_(const kolk_resource_inside_ *pool, const resource_key *key) {
    bool rests = key->rests && (pool->has_makers || key->waiting == 0);
    uint32_t wishes = key->idle == 0 ? key->wishes : 0; /* idle entries must be fetched first */
    bool lacks = pool->has_makers ? key->waiting + wishes > key->making + key->asked
                                  : key->waiting > 0 || wishes > key->making; /* each borrower creates for itself */
    if (!lacks) return false;
    return (key->waiting > 0 && key->idle > 0) || (!rests && key->making < pool->desc.max_creating);
}

void kolk_key_feel_(kolk_resource_inside_ *pool, resource_key *key) {
    bool hungry = kolk_key_is_hungry_(pool, key);
    if (hungry || (key == pool->no_key && lacks_kept_ones(pool))) pool->changed = true;
    if (hungry == key->hungry) return;
    key->hungry = hungry;
    if (hungry)
        join_hungry(pool, key);
    else
        leave_hungry(pool, key);
}

void kolk_key_had_turn_(kolk_resource_inside_ *pool, resource_key *key) {
    if (!key->hungry) return;
    leave_hungry(pool, key);
    join_hungry(pool, key);
}

static void set_wishes(kolk_resource_inside_ *pool, resource_key *key, uint32_t wishes) {
    bool had = key->wishes > 0;
    key->wishes = wishes;
    kolk_key_feel_(pool, key);
    if (had && !wishes) kolk_key_leave_(pool, key);
    if (!had && wishes) key->users++;
}

/* Wishes for one resource at first. When all resources wished for have been taken, wishes for twice as many as before.
 * A program that borrows one resource after the other needs many, and should not have to wait for each in turn. */
void kolk_key_wish_(kolk_resource_inside_ *pool, resource_key *key) {
    if (key->wishes > 0) return;
    key->surge = key->surge == 0 ? 1 : key->surge * 2;
    if (key->surge > pool->desc.max_creating) key->surge = pool->desc.max_creating;
    set_wishes(pool, key, key->surge);
}

void kolk_key_grant_(kolk_resource_inside_ *pool, resource_key *key) {
    set_wishes(pool, key, key->wishes - 1);
}

/* ---- Rest -------------------------------------------------------------------------------------------------------- */

int64_t kolk_resource_random_(kolk_resource_inside_ *pool, int64_t n) {
    return n > 0 ? (int64_t)(kolk_mixed_(pool->random++) % (uint64_t)n) : 0;
}

/* The pause is random, up to a limit that doubles each time (exponential backoff with full jitter, Brooker, 2015). */
void kolk_key_rest_(kolk_resource_inside_ *pool, resource_key *key, int64_t now) {
    key->backoff = key->backoff ? key->backoff * 2 : SHORTEST_BACKOFF_NS;
    if (key->backoff > LONGEST_BACKOFF_NS) key->backoff = LONGEST_BACKOFF_NS;
    key->retry_at = now + 1 + kolk_resource_random_(pool, key->backoff);
    key->surge = 0;
    if (!pool->resting.first || key->retry_at < pool->rest_ends) pool->rest_ends = key->retry_at;
    if (!key->rests) {
        key_list *list = &pool->resting;
        key->rests = true;
        key->users++;
        key->rests_before = list->last;
        key->rests_behind = NULL;
        *(list->last ? &list->last->rests_behind : &list->first) = key;
        list->last = key;
    }
    set_wishes(pool, key, 0);
}

void kolk_key_end_rest_(kolk_resource_inside_ *pool, resource_key *key) {
    key_list *list = &pool->resting;
    if (!key->rests) return;
    *(key->rests_before ? &key->rests_before->rests_behind : &list->first) = key->rests_behind;
    *(key->rests_behind ? &key->rests_behind->rests_before : &list->last) = key->rests_before;
    key->rests = false;
    kolk_key_feel_(pool, key);
    kolk_key_leave_(pool, key);
}

void kolk_key_forgive_(kolk_resource_inside_ *pool, resource_key *key) {
    key->backoff = 0;
    kolk_key_end_rest_(pool, key);
}

/* ---- Event loops ------------------------------------------------------------------------------------------------- */

void kolk_key_want_(kolk_resource_inside_ *pool, resource_key *key) {
    if (key->wanted) return;
    key->wanted = true;
    key->users++;
    pool->wanted++;
}

void kolk_key_tell_(kolk_resource_inside_ *pool, resource_key *key) {
    if (!key->wanted) return;
    key->wanted = false;
    pool->wanted--;
    pool->fd_news = true;
    if (key->news) {
        kolk_key_leave_(pool, key); /* for `wanted`; `news` is still a user */
    } else {
        key->news = true;
        pool->news++;
    }
}

void kolk_key_heard_(kolk_resource_inside_ *pool, resource_key *key) {
    if (!key->news) return;
    key->news = false;
    pool->news--;
    kolk_key_leave_(pool, key);
}

#endif
