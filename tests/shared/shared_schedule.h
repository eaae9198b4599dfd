/* shared_schedule.h: for the scheduled tests of the shared pool: pools, situations, and threads that allocate, free,
 * and check the promise about NULL. Include test.h first. */
#ifndef TESTS_SHARED_SCHEDULE_H
#define TESTS_SHARED_SCHEDULE_H

#include "../help/arena.h"
#include "../help/schedule.h"
#include "inside.h"

#define THREADS 3u
#define MOST    67u /* the objects of a situation: with cache 1, more than one summary word covers */

typedef struct state {
    kolk_shared pool;
    kolk_shared_local locals[THREADS]; /* for bodies that make none of their own */
    void *objects[MOST];               /* the situation's objects, see below */
    uintptr_t passed[4];               /* objects passed from thread to thread */
    uint32_t told[2];                  /* flags that threads set for each other */
    uint32_t reports;
    /* For the promise about NULL. Writes to these are not steps, so the writer calls KOLK_UNSEEN_. */
    uint32_t alive;          /* upper bound: includes objects about to be allocated or freed */
    uint32_t most[THREADS];  /* the largest `alive` since this thread's call began */
    uint32_t wants[THREADS]; /* how many objects this thread's call wants; 0: it is in none */
} state;

static state own;
static uint32_t capacity, max_capacity, threads, cache;
static size_t object_size = 8;
static bool exact;
static kolk_generations generations;

static void (*situation)(state *s); /* each schedule begins with it; NULL: with nothing allocated */

static inline void begin(void *context) {
    state *s = (state *)context;
    *s = (state){.reports = 0};
    kolk_shared_desc desc = {.name = "shared",
                             .object_size = object_size,
                             .capacity = capacity,
                             .max_capacity = max_capacity,
                             .max_threads = threads,
                             .cache = cache,
                             .exact = exact,
                             .generations = generations};
    schedule_assert(kolk_shared_init(&s->pool, &desc) == KOLK_OK);
    if (situation) situation(s);
}

/* ---- Fast paths -------------------------------------------------------------------------------------------------
 *
 * The library's fast paths have no steps, so no other thread runs between a free's check of its bound and its last
 * write. Here the same lines of shared.inl are compiled with steps.  */

#undef KOLK_SHARED_INL
#undef KOLK_INLINE_
#undef KOLK_FOLDED_INLINE_
#define KOLK_INLINE_                        static inline
#define KOLK_FOLDED_INLINE_                 static inline
#define __atomic_load_n(at, order)          kolk_load_(at, order)
#define __atomic_store_n(at, number, order) kolk_store_(at, number, order)
#define kolk_magazine_entry_                stepped_entry
#define kolk_shared_alloc_sized_            stepped_alloc_sized
#define kolk_shared_alloc                   stepped_alloc
#define kolk_shared_take_sized_             stepped_take_sized
#define kolk_shared_begin_                  stepped_begin
#define kolk_shared_free_slot_              stepped_free_slot
#define kolk_shared_free                    stepped_free
#define kolk_shared_free_sized_             stepped_free_sized
#define kolk_shared_get_sized_              stepped_get_sized
#define kolk_shared_get                     stepped_get
#include "kolk/shared.inl"
#undef __atomic_load_n
#undef __atomic_store_n
#undef kolk_magazine_entry_
#undef kolk_shared_alloc_sized_
#undef kolk_shared_alloc
#undef kolk_shared_take_sized_
#undef kolk_shared_begin_
#undef kolk_shared_free_slot_
#undef kolk_shared_free
#undef kolk_shared_free_sized_
#undef kolk_shared_get_sized_
#undef kolk_shared_get

static bool stepped; /* do threads use these fast paths? */

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static inline void begin_call(state *s, uint32_t n) {
    unsigned me = schedule_thread();
    KOLK_UNSEEN_();
    s->wants[me] = n;
    s->most[me] = s->alive;
    s->alive += n;
    for (unsigned i = 0; i < THREADS; i++)
        if (i != me && s->wants[i] && s->most[i] < s->alive - s->wants[i]) s->most[i] = s->alive - s->wants[i];
}

/* Fewer objects than wanted are correct only if at some moment during the call at least `capacity` objects were alive
 * or about to be. */
static inline void end_call(state *s, void *const *objects, uint32_t given) {
    unsigned me = schedule_thread();
    KOLK_UNSEEN_();
    schedule_assert(given == s->wants[me] || s->most[me] + given >= max_capacity_of(&s->pool));
    s->alive -= s->wants[me] - given;
    s->wants[me] = 0;
    for (uint32_t i = 0; i < given; i++) {
        KOLK_PLAIN_WRITE_(objects[i], 8);
        memset(objects[i], 'x', 8);
    }
}

static inline void *take_until(state *s, kolk_shared_local *local, kolk_deadline deadline) {
    begin_call(s, 1);
    void *object = deadline.ns ? kolk_shared_alloc_wait(local, deadline)
                   : stepped   ? stepped_alloc(local)
                               : kolk_shared_alloc(local);
    end_call(s, &object, object != NULL);
    return object;
}

static inline uint32_t take_n(state *s, kolk_shared_local *local, void **objects, uint32_t n) {
    begin_call(s, n);
    uint32_t given = kolk_shared_alloc_n(local, objects, n);
    end_call(s, objects, given);
    return given;
}

static inline void *take(state *s, kolk_shared_local *local) {
    return take_until(s, local, KOLK_NOW);
}

static inline void give(state *s, kolk_shared_local *local, void *object) {
    if (!object) return;
    KOLK_PLAIN_WRITE_(object, 8);
    memset(object, 'y', 8);
    if (stepped)
        stepped_free(local, object);
    else
        kolk_shared_free(local, object);
    KOLK_UNSEEN_();
    s->alive--;
}

static inline void give_n(state *s, kolk_shared_local *local, void *const *objects, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        KOLK_PLAIN_WRITE_(objects[i], 8);
        memset(objects[i], 'y', 8);
    }
    kolk_shared_free_n(local, objects, n);
    KOLK_UNSEEN_();
    s->alive -= n;
}

/* ---- Situations -------------------------------------------------------------------------------------------------- */

/* Allocates the first n slots through local 0. From then on, free slots are in the depot or in magazines. */
static inline void hand_out(state *s, unsigned n) {
    for (unsigned i = 0; i < threads; i++) schedule_assert(kolk_shared_local_init(&s->locals[i], &s->pool) == KOLK_OK);
    for (unsigned i = 0; i < n; i++) schedule_assert((s->objects[i] = kolk_shared_alloc(&s->locals[0])));
    schedule_assert(s->pool.inside->store.depot.fresh == s->pool.inside->store.depot.usable &&
                    s->locals[0].magazine->top == 0);
    s->alive = n;
}

static inline void free_to(state *s, unsigned local, unsigned object) {
    kolk_shared_free(&s->locals[local], s->objects[object]);
    s->alive--;
}

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

static inline void end(void *context) {
    state *s = (state *)context;
    schedule_assert(kolk_shared_is_valid(&s->pool));
    schedule_assert(kolk_shared_count(&s->pool) == s->alive);
    kolk_shared_deinit(&s->pool);
}

static bool brief; /* at most one preemption and one surprise */

static inline void run(const char *name, void (*first)(void *), void (*second)(void *), void (*third)(void *)) {
    schedule what = {.name = name,
                     .context = &own,
                     .begin = begin,
                     .threads = {{"first", first}, {"second", second}, {"third", third}},
                     .end = end,
                     .preemptions = does_a_part() ? 1 : 2,
                     .surprises = third ? 0 : 1};
    if (!brief) schedule_must_pass(&what);
    what.preemptions = what.surprises = 1;
    what.random = does_a_part() ? 200 : 2000;
    schedule_must_pass(&what);
}

/* Runs threads that make one or two calls each, from a situation in which the pool has no slot to spare. */
static inline void run_from(const char *name, void (*made)(state *), void (*first)(void *), void (*second)(void *),
                            void (*third)(void *)) {
    situation = made;
    run(name, first, second, third);
    situation = NULL;
}

#endif
