/* lives.h: a history of the calls of threads to one shared pool, and a judge that checks it. Each call is recorded with
 * its result and the times of its begin and its end. Times are ticks of one counter, so no two are equal. */
#ifndef TESTS_LIVES_H
#define TESTS_LIVES_H

#include "../help/plain.h"

typedef struct life_event {
    bool frees, failed;         /* frees: a free, otherwise an alloc; failed: the alloc returned NULL */
    uint32_t index, generation; /* from the object's handle */
    uint64_t begin, end;
} life_event;

typedef struct life_history {
    uint32_t capacity, slots; /* the pool's capacity, and the number of its slots with the slack */
    uint64_t ticks;           /* larger than the tick of any begin or end */
    size_t count;
    life_event *events; /* in any order; the judge sorts them */
} life_history;

/* Orders events by slot, then by life. Within a life, the allocation comes first; of equal calls, the one that began
 * first. */
static inline int compare_lives(const void *a, const void *b) {
    const life_event *x = (const life_event *)a, *y = (const life_event *)b;
    if (x->failed != y->failed) return x->failed - y->failed;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    if (x->generation != y->generation) return x->generation < y->generation ? -1 : 1;
    if (x->frees != y->frees) return x->frees - y->frees;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Describes a mistake in the sequence of lives of any slot, or returns NULL if there is none. */
static inline const char *judge_slots(const life_history *h) {
    const life_event *before = NULL;
    for (size_t i = 0; i < h->count && !h->events[i].failed; before = &h->events[i++]) {
        const life_event *e = &h->events[i];
        bool new_slot = !before || before->index != e->index,
             new_life = new_slot || before->generation != e->generation;
        if (e->index >= h->slots) return "a slot that the pool has not got";
        if (e->generation % 2 == 0) return "a generation that no life has";
        if (new_life && e->frees) return "a free without an allocation";
        if (!new_life && !e->frees) return "one life is allocated twice";
        if (!new_life && before->frees) return "one life is freed twice";
        if (!new_life && e->begin < before->end) return "a free before its allocation";
        if (new_slot && e->generation != 1) return "a slot's first life is not its first";
        if (new_slot || !new_life) continue;
        if (!before->frees) return "a slot is allocated while it is alive";
        if (e->generation != before->generation + 2) return "a slot's next life is not the next";
        if (e->end < before->begin) return "a slot is allocated before its last life ends";
    }
    return NULL;
}

/* Describes a mistake in the number of live objects, or returns NULL if there is none. An object is certainly alive
 * from the end of its allocation to the beginning of its free, and possibly alive from the beginning of its allocation
 * to the end of its free. */
static inline const char *judge_numbers(const life_history *h) {
    int64_t *least = (int64_t *)calloc((size_t)h->ticks + 1, sizeof *least),
            *most = (int64_t *)calloc((size_t)h->ticks + 1, sizeof *most);
    const char *wrong = NULL;
    if (!least || !most) abort();
    for (size_t i = 0; i < h->count; i++) {
        const life_event *e = &h->events[i];
        if (e->failed) continue;
        least[e->frees ? e->begin : e->end] += e->frees ? -1 : 1;
        most[e->frees ? e->end : e->begin] += e->frees ? -1 : 1;
    }
    for (uint64_t t = 1; t <= h->ticks; t++) {
        least[t] += least[t - 1];
        most[t] += most[t - 1];
        if (least[t] > (int64_t)h->slots) wrong = "more are alive than there are slots";
    }
    for (size_t i = 0; i < h->count && !wrong; i++) {
        const life_event *e = &h->events[i];
        int64_t seen = 0;
        for (uint64_t t = e->begin; e->failed && t <= e->end; t++) seen = most[t] > seen ? most[t] : seen;
        if (e->failed && seen < (int64_t)h->capacity)
            wrong = "NULL, though fewer than capacity were alive all the time";
    }
    free(least);
    free(most);
    return wrong;
}

/* Describes a mistake in the history, or returns NULL if there is none. */
static inline const char *judge_lives(life_history *h) {
    qsort(h->events, h->count, sizeof *h->events, compare_lives);
    const char *wrong = judge_slots(h);
    return wrong ? wrong : judge_numbers(h);
}

#endif
