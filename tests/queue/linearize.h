/* linearize.h: a history of the calls that threads made on one queue. Each call has its result, and the times of its
  * begin and its end, which are distinct ticks of one counter. Can the calls of a short history be ordered so that a
  * bounded queue gives exactly these results? Tries all orders that keep the order of calls which did not overlap (Wing
  * and Gong, Testing and Verifying Concurrent Objects, 1993). Tries each combination of completed calls and queue state
  * only once (Lowe, Testing for Linearizability, 2017). */
#ifndef TESTS_LINEARIZE_H
#define TESTS_LINEARIZE_H

#include "../help/plain.h"

#define MOST_CALLS         24u
#define MOST_ITEMS_AT_ONCE 4u /* in one call, which may be a clear: so it limits the capacity too */

typedef enum deed { PUSH, POP, CLEAR, COUNT, CLOSE, SHUTDOWN, REOPEN } deed;

typedef struct event {
    deed deed;
    kolk_status status;                 /* of a push or pop */
    bool waits;                         /* without a deadline */
    uint32_t n;                         /* number of items; for COUNT, its result */
    uint32_t items[MOST_ITEMS_AT_ONCE]; /* the items of a history are distinct numbers, from 1 */
    uint64_t begin, end;
} event;

typedef struct history {
    uint32_t capacity; /* of the queue */
    size_t count;
    event *events; /* in any order */
} history;

/* A queue as the header describes it. */
typedef struct sequential {
    kolk_status ending;
    uint32_t count;
    uint8_t items[MOST_ITEMS_AT_ONCE];
} sequential;

/* Applies the call to this state of the queue; returns false if its result would differ from the recorded one. For
 * push_n and pop_n, any recorded number that is possible and not 0 is right, because the header leaves the number
 * open. */
static inline bool would(sequential *q, uint32_t capacity, const event *e) {
    bool blocked = q->count == (e->deed == PUSH ? capacity : 0);
    switch (e->deed) {
    case PUSH:
    case POP:
        if (q->ending == KOLK_SHUTDOWN) return e->status == KOLK_SHUTDOWN;
        if (q->ending == KOLK_CLOSED && (e->deed == PUSH || blocked)) return e->status == KOLK_CLOSED;
        if (blocked)
            return !e->waits && (e->status == (e->deed == PUSH ? KOLK_FULL : KOLK_EMPTY) || e->status == KOLK_TIMEOUT);
        if (e->status != KOLK_OK || e->n == 0) return false;
        if (e->n > (e->deed == PUSH ? capacity - q->count : q->count)) return false;
        for (uint32_t i = 0; i < e->n; i++) {
            if (e->deed == PUSH)
                q->items[q->count++] = (uint8_t)e->items[i];
            else if (q->items[i] != e->items[i])
                return false;
        }
        if (e->deed == PUSH) return true;
        q->count -= e->n;
        memmove(q->items, q->items + e->n, q->count);
        return true;
    case CLEAR:
        if (e->n != q->count) return false;
        for (uint32_t i = 0; i < e->n; i++)
            if (q->items[i] != e->items[i]) return false;
        q->count = 0;
        return true;
    case COUNT:
        return e->n == q->count;
    case CLOSE:
        if (q->ending != KOLK_SHUTDOWN) q->ending = KOLK_CLOSED;
        return true;
    case SHUTDOWN:
        q->ending = KOLK_SHUTDOWN;
        return true;
    default:
        q->ending = KOLK_OK;
        return true;
    }
}

/* ---- The search -------------------------------------------------------------------------------------------------- */

typedef struct search {
    const history *h;
    uint64_t *seen; /* a hash table of tried states: completed calls, items, ending */
    size_t size, used;
} search;

/* 24 bits of calls and a state of 4 items of 8 bits, 3 of the count and 3 of the ending: 62 bits, and never 0. */
static inline uint64_t key_of(uint32_t done, const sequential *q) {
    uint64_t key = done;
    for (uint32_t i = 0; i < MOST_ITEMS_AT_ONCE; i++) key = key << 8 | (i < q->count ? q->items[i] : 0);
    return (key << 3 | q->count) << 3 | (uint64_t)q->ending | UINT64_C(1) << 63;
}

/* Returns true if the key was not seen before, and stores it. */
static inline bool is_new(search *s, uint64_t key) {
    if (2 * s->used >= s->size) {
        uint64_t *old = s->seen;
        size_t size = s->size;
        s->size = size ? 4 * size : 1024;
        s->seen = (uint64_t *)calloc(s->size, sizeof *s->seen);
        s->used = 0;
        for (size_t i = 0; i < size; i++)
            if (old[i]) is_new(s, old[i]);
        free(old);
    }
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (s->size - 1);
    for (; s->seen[at]; at = (at + 1) & (s->size - 1))
        if (s->seen[at] == key) return false;
    s->seen[at] = key;
    s->used++;
    return true;
}

/* Can the remaining calls be ordered? */
static inline bool can_go_on(search *s, uint32_t done, const sequential *q) {
    uint64_t first_end = UINT64_MAX; /* a call that begins later can't be the next */
    if (done == (UINT32_C(1) << s->h->count) - 1) return true;
    if (!is_new(s, key_of(done, q))) return false;
    for (size_t i = 0; i < s->h->count; i++)
        if (!(done >> i & 1) && first_end > s->h->events[i].end) first_end = s->h->events[i].end;
    for (size_t i = 0; i < s->h->count; i++) {
        if (done >> i & 1 || s->h->events[i].begin > first_end) continue;
        sequential next = *q;
        if (would(&next, s->h->capacity, &s->h->events[i]) && can_go_on(s, done | UINT32_C(1) << i, &next)) return true;
    }
    return false;
}

/* Starts from an empty, open queue with a capacity of at most MOST_ITEMS_AT_ONCE; the history has at most MOST_CALLS
 * calls. */
static inline bool is_linearizable(const history *h) {
    search s = {.h = h};
    bool found = can_go_on(&s, 0, &(sequential){KOLK_OK, 0, {0}});
    free(s.seen);
    return found;
}

#endif
