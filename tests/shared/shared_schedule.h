/* shared_schedule.h: what the scheduled tests of the shared pool share: pools, situations, and threads that allocate
 * and free and know what NULL promises. Include test.h first. */
#ifndef TESTS_SHARED_SCHEDULE_H
#define TESTS_SHARED_SCHEDULE_H

#include "../help/arena.h"
#include "../help/schedule.h"

#define THREADS 3u
#define MOST    67u /* objects of a situation: more than a word of the summary has slots, with cache 1 */

typedef struct state {
    kolk_shared pool;
    kolk_local locals[THREADS]; /* for bodies that don't make their own */
    void *objects[MOST];        /* of a situation: see below */
    uintptr_t passed[4];        /* objects on their way from thread to thread */
    uint32_t told[2];           /* what a thread lets the others know */
    uint32_t reports;
    /* For the promise about NULL. Writing here is no step, so who does says KOLK_UNSEEN. */
    uint32_t alive;         /* at most: also what is about to be allocated or freed */
    uint32_t most[THREADS]; /* of them since this thread's call began */
    bool calls[THREADS];
} state;

static state own;
static uint32_t capacity, max_capacity, threads, cache;
static size_t object_size = 8;
static bool exact;
static kolk_generations generations;

static void (*situation)(state *s); /* that a schedule begins with; NULL: nobody has allocated */

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
 * The library's are no steps: a free that has looked at its bound and not yet let go is never seen. These are the same
 * lines of shared.inl, with steps. */

#undef KOLK_SHARED_INL
#undef KOLK_INLINE
#undef KOLK_FOLDED_INLINE
#define KOLK_INLINE                         static inline
#define KOLK_FOLDED_INLINE                  static inline
#define __atomic_load_n(at, order)          kolk_load(at, order)
#define __atomic_store_n(at, number, order) kolk_store(at, number, order)
#define kolk_magazine_entry                 stepped_entry
#define kolk_local_alloc_sized              stepped_alloc_sized
#define kolk_local_alloc                    stepped_alloc
#define kolk_local_free_slot                stepped_free_slot
#define kolk_local_free                     stepped_free
#define kolk_local_free_sized               stepped_free_sized
#define kolk_shared_get_sized               stepped_get_sized
#define kolk_shared_get                     stepped_get
#include "kolk/shared.inl"
#undef __atomic_load_n
#undef __atomic_store_n
#undef kolk_magazine_entry
#undef kolk_local_alloc_sized
#undef kolk_local_alloc
#undef kolk_local_free_slot
#undef kolk_local_free
#undef kolk_local_free_sized
#undef kolk_shared_get_sized
#undef kolk_shared_get

static bool stepped; /* whether threads use these */

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* NULL must mean that at one moment of the call at least `capacity` objects were alive or about to be. */
static inline void *take_until(state *s, kolk_local *local, kolk_deadline deadline) {
    unsigned me = schedule_thread();
    KOLK_UNSEEN();
    s->calls[me] = true;
    s->most[me] = s->alive++;
    for (unsigned i = 0; i < THREADS; i++)
        if (i != me && s->calls[i] && s->most[i] < s->alive - 1) s->most[i] = s->alive - 1;
    void *object = deadline.ns ? kolk_local_alloc_wait(local, deadline)
                   : stepped   ? stepped_alloc(local)
                               : kolk_local_alloc(local);
    KOLK_UNSEEN();
    s->calls[me] = false;
    schedule_assert(object || s->most[me] >= s->pool.max_capacity);
    if (object) {
        KOLK_PLAIN_WRITE(object, 8);
        memset(object, 'x', 8);
    } else {
        s->alive--;
    }
    return object;
}

static inline void *take(state *s, kolk_local *local) {
    return take_until(s, local, KOLK_NOW);
}

static inline void give(state *s, kolk_local *local, void *object) {
    if (!object) return;
    KOLK_PLAIN_WRITE(object, 8);
    memset(object, 'y', 8);
    if (stepped)
        stepped_free(local, object);
    else
        kolk_local_free(local, object);
    KOLK_UNSEEN();
    s->alive--;
}

/* ---- Situations -------------------------------------------------------------------------------------------------- */

/* The slots have been handed out to local 0, from 0 on; free ones are in words or magazines. */
static inline void hand_out(state *s, unsigned n) {
    for (unsigned i = 0; i < threads; i++) schedule_assert(kolk_local_init(&s->locals[i], &s->pool) == KOLK_OK);
    for (unsigned i = 0; i < n; i++) schedule_assert((s->objects[i] = kolk_local_alloc(&s->locals[0])));
    schedule_assert(s->pool.depot.fresh == s->pool.depot.usable && s->locals[0].magazine->top == 0);
    s->alive = n;
}

static inline void free_to(state *s, unsigned local, unsigned object) {
    kolk_local_free(&s->locals[local], s->objects[object]);
    s->alive--;
}

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

static inline void end(void *context) {
    state *s = (state *)context;
    schedule_assert(kolk_shared_is_valid(&s->pool));
    schedule_assert(kolk_shared_count(&s->pool) == s->alive);
    kolk_shared_deinit(&s->pool);
}

static bool brief; /* one preemption and one surprise, no more */

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

/* A call or two from a situation in which the pool has no slot to spare. */
static inline void run_from(const char *name, void (*made)(state *), void (*first)(void *), void (*second)(void *),
                            void (*third)(void *)) {
    situation = made;
    run(name, first, second, third);
    situation = NULL;
}

#endif
