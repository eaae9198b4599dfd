/* fifo_monitor.h: can a bounded first-in-first-out queue have produced a long history? The check takes only n log n
 * steps, so it covers only necessary conditions: if one is violated, no order of the calls explains the history.
 *
 *   - An item is popped at most once, and not before it is pushed. No item is overtaken: if its push ended before
 *     another's began, its pop does not begin after the other's pop has ended. An item that is never popped counts as
 *     popped at the end of time.
 *   - A pop that returns EMPTY or CLOSED includes a moment when no item is certainly in the queue. An item is certainly
 *     there if its push has ended and its pop has not begun.
 *   - A push that returns FULL includes a moment when at least `capacity` items are possibly in the queue. An item is
 *     possibly there if its push has begun and its pop has not ended.
 *   - At no moment are more than `capacity` items certainly in the queue.
 *   - Endings are obeyed: a push or pop refused because of an ending overlaps a time when the queue had possibly ended
 *     in this way; any other push or pop overlaps a time when it possibly had not.
 *
 * An item that clear drops counts as popped. */
#ifndef TESTS_FIFO_MONITOR_H
#define TESTS_FIFO_MONITOR_H

#include "history.h"

/* The push and the pop of one item. */
typedef struct passage {
    uint64_t push_begin, push_end, pop_begin, pop_end; /* 0: not pushed; UINT64_MAX: not popped */
} passage;

static inline int by_push_begin(const void *a, const void *b) {
    uint64_t x = ((const passage *)a)->push_begin, y = ((const passage *)b)->push_begin;
    return (x > y) - (x < y);
}

static inline int by_push_end(const void *a, const void *b) {
    uint64_t x = ((const passage *)a)->push_end, y = ((const passage *)b)->push_end;
    return (x > y) - (x < y);
}

/* A change of a number, and when it happens. */
typedef struct step {
    uint64_t at;
    int by;
} step;

static inline int by_moment(const void *a, const void *b) {
    uint64_t x = ((const step *)a)->at, y = ((const step *)b)->at;
    return (x > y) - (x < y);
}

typedef struct monitor {
    const history *h;
    passage *passages; /* n of them, sorted by item at first, later in other orders */
    size_t n;
    event *ends; /* close, shutdown, reopen */
    size_t end_count;
    step *certain, *possible; /* of the number of items: 2 * n each; later `by` is the level after the step */
    const char *wrong;
} monitor;

static inline void monitor_events(monitor *m) {
    for (size_t i = 0; i < m->h->count && !m->wrong; i++) {
        const event *e = &m->h->events[i];
        if (e->deed > CLEAR || e->status != KOLK_OK) continue;
        for (uint32_t k = 0; k < e->n; k++) {
            if (e->items[k] == 0 || e->items[k] > m->n) {
                m->wrong = "an item that nobody pushed";
                return;
            }
            passage *p = &m->passages[e->items[k] - 1];
            if (e->deed == PUSH) {
                if (p->push_begin) m->wrong = "the history has an item twice";
                p->push_begin = e->begin;
                p->push_end = e->end;
            } else {
                if (p->pop_begin != UINT64_MAX) m->wrong = "an item was popped twice";
                p->pop_begin = e->begin;
                p->pop_end = e->end;
            }
        }
    }
}

/* Checks the order of items whose pushes do not overlap. */
static inline void monitor_order(monitor *m) {
    passage *ended = (passage *)malloc((m->n + 1) * sizeof *ended);
    memcpy(ended, m->passages, m->n * sizeof *ended);
    qsort(m->passages, m->n, sizeof *m->passages, by_push_begin);
    qsort(ended, m->n, sizeof *ended, by_push_end);
    uint64_t latest_pop = 0; /* the latest moment at which a pop began, among items whose push has ended */
    for (size_t i = 0, k = 0; i < m->n; i++) {
        const passage *p = &m->passages[i];
        for (; k < m->n && ended[k].push_end < p->push_begin; k++)
            if (ended[k].push_begin && latest_pop < ended[k].pop_begin) latest_pop = ended[k].pop_begin;
        if (p->push_begin == 0 && p->pop_begin != UINT64_MAX) m->wrong = "an item that nobody pushed";
        if (p->push_begin && p->pop_end < p->push_begin) m->wrong = "an item was popped before it was pushed";
        if (p->pop_end != UINT64_MAX && p->pop_end < latest_pop) m->wrong = "an item overtook another, or one is lost";
    }
    free(ended);
}

/* Computes how many items are certainly in the queue, and how many possibly. */
static inline void monitor_levels(monitor *m) {
    m->certain = (step *)calloc(2 * m->n + 1, sizeof *m->certain);
    m->possible = (step *)calloc(2 * m->n + 1, sizeof *m->possible);
    for (size_t i = 0; i < m->n; i++) {
        const passage *p = &m->passages[i];
        bool pushed = p->push_begin, certain = pushed && p->push_end < p->pop_begin;
        m->certain[2 * i] = (step){certain ? p->push_end : UINT64_MAX, certain};
        m->certain[2 * i + 1] = (step){certain ? p->pop_begin : UINT64_MAX, -certain};
        m->possible[2 * i] = (step){pushed ? p->push_begin : UINT64_MAX, pushed};
        m->possible[2 * i + 1] = (step){pushed ? p->pop_end : UINT64_MAX, -pushed};
    }
    qsort(m->certain, 2 * m->n, sizeof *m->certain, by_moment);
    qsort(m->possible, 2 * m->n, sizeof *m->possible, by_moment);
    for (size_t i = 1; i < 2 * m->n; i++) {
        m->certain[i].by += m->certain[i - 1].by;
        m->possible[i].by += m->possible[i - 1].by;
        if (m->certain[i].at != UINT64_MAX && m->certain[i].by > (int)m->h->capacity) m->wrong = "more items than fit";
    }
}

/* The lowest (sign 1) or highest (sign -1) level within [begin, end], times the sign. */
static inline int extreme(const step *steps, size_t n, uint64_t begin, uint64_t end, int sign) {
    size_t low = 0, high = n; /* becomes the number of steps before `begin` */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (steps[middle].at < begin)
            low = middle + 1;
        else
            high = middle;
    }
    int least = sign * (low ? steps[low - 1].by : 0);
    for (; low < n && steps[low].at <= end; low++)
        if (least > sign * steps[low].by) least = sign * steps[low].by;
    return least;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* Had the queue possibly ended in this way (OK: was it possibly open) at some moment of the call? True if the ending
 * call began before this one ended, and no call that undid it lies wholly between the two. */
static inline bool was_perhaps(const monitor *m, kolk_status ending, const event *e) {
    uint64_t undone = 0; /* the latest time at which a call began that undid it and ended before this call began */
    for (size_t i = 0; i < m->end_count; i++) {
        const event *other = &m->ends[i];
        bool unmakes = ending == KOLK_OK       ? other->deed == CLOSE || other->deed == SHUTDOWN
                       : ending == KOLK_CLOSED ? other->deed == REOPEN || other->deed == SHUTDOWN
                                               : other->deed == REOPEN;
        if (unmakes && other->end < e->begin && other->begin > undone) undone = other->begin;
    }
    if (ending == KOLK_OK && undone == 0) return true;
    for (size_t i = 0; i < m->end_count; i++) {
        const event *other = &m->ends[i];
        bool makes = ending == KOLK_OK       ? other->deed == REOPEN
                     : ending == KOLK_CLOSED ? other->deed == CLOSE
                                             : other->deed == SHUTDOWN;
        if (makes && other->begin < e->end && other->end > undone) return true;
    }
    return false;
}

static inline void monitor_refusals(monitor *m) {
    m->ends = (event *)calloc(m->h->count + 1, sizeof *m->ends);
    for (size_t i = 0; i < m->h->count; i++)
        if (m->h->events[i].deed >= CLOSE) m->ends[m->end_count++] = m->h->events[i];
    for (size_t i = 0; i < m->h->count && !m->wrong; i++) {
        const event *e = &m->h->events[i];
        if (e->deed != PUSH && e->deed != POP) continue;
        bool needs_empty = e->status == KOLK_EMPTY || (e->status == KOLK_CLOSED && e->deed == POP);
        if (needs_empty && extreme(m->certain, 2 * m->n, e->begin, e->end, 1) > 0)
            m->wrong = "EMPTY or CLOSED, and it was not";
        if (e->status == KOLK_FULL && -extreme(m->possible, 2 * m->n, e->begin, e->end, -1) < (int)m->h->capacity)
            m->wrong = "FULL, and it was not";
        bool explained = e->status == KOLK_CLOSED ? was_perhaps(m, KOLK_CLOSED, e)
                         : e->status == KOLK_SHUTDOWN
                             ? was_perhaps(m, KOLK_SHUTDOWN, e)
                             : was_perhaps(m, KOLK_OK, e) || (e->deed == POP && was_perhaps(m, KOLK_CLOSED, e));
        if (!explained) m->wrong = "an end that was not, or was not obeyed";
    }
}

/* Returns NULL, or what is wrong with the history. */
static inline const char *monitor_history(const history *h) {
    monitor m = {.h = h};
    for (size_t i = 0; i < h->count; i++)
        for (uint32_t k = 0; h->events[i].deed == PUSH && k < h->events[i].n; k++)
            if (m.n < h->events[i].items[k]) m.n = h->events[i].items[k];
    m.passages = (passage *)malloc((m.n + 1) * sizeof *m.passages);
    for (size_t i = 0; i < m.n; i++) m.passages[i] = (passage){0, 0, UINT64_MAX, UINT64_MAX};
    monitor_events(&m);
    if (!m.wrong) monitor_order(&m);
    if (!m.wrong) monitor_levels(&m);
    if (!m.wrong) monitor_refusals(&m);
    free(m.ends);
    free(m.passages);
    free(m.certain);
    free(m.possible);
    return m.wrong;
}

#endif
