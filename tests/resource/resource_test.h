/* resource_test.h: a factory for resource pools. Its functions follow a script, count their calls, and detect what a
 * pool must never do: destroy a resource twice, use a resource that is destroyed or lent, or make too many.
 *
 * A scheduled test first defines INSIST, and IN_FUNCTION, which lets other threads run in the middle of each
 * function. */
#ifndef TESTS_RESOURCE_TEST_H
#define TESTS_RESOURCE_TEST_H

#include "../help/test.h"

/* Can be used in any thread, unlike cmocka's asserts. */
#ifndef INSIST
#define INSIST(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, #what);                           \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
#endif

#ifndef IN_FUNCTION
#define IN_FUNCTION(factory, what) in_function(factory, what)
#endif

/* For counters that threads share. In a scheduled test, these operations are not steps. */
#define COUNT_UP(number)   __atomic_add_fetch(&(number), 1, __ATOMIC_SEQ_CST)
#define COUNT_DOWN(number) __atomic_sub_fetch(&(number), 1, __ATOMIC_SEQ_CST)
#define NUMBER(number)     __atomic_load_n(&(number), __ATOMIC_SEQ_CST)

#ifndef THINGS
#define THINGS 64 /* the most resources that a factory has at a time */
#endif

enum { OUTCOMES = 16, THING_KEY = 12 };

typedef enum deed { CREATE, VALIDATE, RESET, DESTROY, DEEDS } deed;

typedef enum place { NOWHERE, IN_POOL, WITH_BORROWER } place;

/* A resource. The memory of a destroyed resource is reused, as malloc would reuse it. */
typedef struct thing {
    struct factory *from;
    uint32_t number; /* resources are numbered from 1, in the order of creation */
    uint32_t busy;   /* a function is working on it */
    place place;
    bool dead;  /* validate fails from now on */
    bool stale; /* must not be lent: while a function worked on it, all were evicted or the pool was closed */
    bool asked; /* evict_if was asked to end it */
    bool discarded;
    char key[THING_KEY];
} thing;

/* The outcome of one call of a factory's function. */
typedef struct outcome {
    bool fails;
    int64_t takes; /* how far it advances the scripted clock, in nanoseconds */
} outcome;

typedef struct factory {
    thing things[THINGS];
    uint32_t max, max_creating;       /* the pool's limits; 0: unknown */
    uint32_t clears, cleared, sweeps; /* see begin_clear */
    uint32_t old;                     /* resources up to this number must end */
    uint32_t asked_from;    /* resources from this number on may end only by discard or evict_if; 0: no such rule */
    uint32_t made;          /* how many were ever made */
    uint32_t there, making; /* existing resources, including those in create or destroy; those in create */
    uint32_t most_making;   /* the greatest `making` */
    uint32_t calls[DEEDS];  /* of each function */
    outcome script[DEEDS][OUTCOMES]; /* of the next calls */
    uint32_t written[DEEDS], read[DEEDS];
    outcome always[DEEDS]; /* for calls without a script; all zero: succeed at once */
    int64_t deadline_ns;   /* the last deadline of a create or validate */
    outcome (*decides)(struct factory *factory, deed what, const thing *it); /* replaces the script */
    void (*during)(struct factory *factory, deed what);                      /* called in the middle of each function */
    uint32_t hangs[DEEDS];                                                   /* while not 0, calls do not return */
    bool final;                                                              /* creates fail with a final error */
} factory;

/* Sets the outcome of the function's next call that has none yet. */
static inline void script(factory *f, deed what, outcome next) {
    if (f->written[what] < f->read[what]) f->written[what] = f->read[what]; /* skip calls that had no script */
    INSIST(f->written[what] - f->read[what] < OUTCOMES);
    f->script[what][f->written[what]++ % OUTCOMES] = next;
}

/* The next n calls fail. */
static inline void script_failures(factory *f, deed what, unsigned n) {
    while (n-- > 0) script(f, what, (outcome){.fails = true});
}

#ifndef FACTORY_IS_SCHEDULED
#include <time.h>

static int64_t clock_ns; /* the scripted clock, for tests that have one */

static inline void in_function(factory *f, deed what) {
    if (f->during) f->during(f, what);
    while (NUMBER(f->hangs[what])) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}
#endif

static inline outcome next_outcome(factory *f, deed what, const thing *it) {
    if (f->decides) return f->decides(f, what, it);
    uint32_t next = __atomic_fetch_add(&f->read[what], 1, __ATOMIC_SEQ_CST);
    return next < f->written[what] ? f->script[what][next % OUTCOMES] : f->always[what];
}

/* The part that all functions have in common. */
static inline bool play(factory *f, deed what, thing *it) {
    COUNT_UP(f->calls[what]);
    outcome now = next_outcome(f, what, it);
    IN_FUNCTION(f, what);
#ifndef FACTORY_IS_SCHEDULED
    __atomic_add_fetch(&clock_ns, now.takes, __ATOMIC_SEQ_CST);
#endif
    return !now.fails;
}

/* Called when a function begins to work on a resource, which must not be lent then. Returns the number of sweeps so
 * far. */
static inline uint32_t begin_work(factory *f, thing *it) {
    INSIST(it->from == f);
    INSIST(NUMBER(it->place) == IN_POOL);
    INSIST(COUNT_UP(it->busy) == 1);
    return NUMBER(f->sweeps);
}

static inline void end_work(factory *f, thing *it, uint32_t before) {
    if (NUMBER(f->sweeps) != before && it->number <= f->old) it->stale = true;
    INSIST(NUMBER(it->place) == IN_POOL);
    INSIST(COUNT_DOWN(it->busy) == 0);
}

static inline thing *new_thing(factory *f, const char *key) {
    for (unsigned i = 0; i < THINGS; i++) {
        thing *each = &f->things[i];
        place nowhere = NOWHERE;
        if (!__atomic_compare_exchange_n(&each->place, &nowhere, IN_POOL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            continue;
        each->from = f;
        each->number = COUNT_UP(f->made);
        each->dead = each->stale = each->asked = each->discarded = false;
        snprintf(each->key, sizeof each->key, "%s", key);
        return each;
    }
    bool has_room_for_more = false;
    INSIST(has_room_for_more);
    return NULL;
}

/* Begins a call that ends all resources up to number `old`. A clear also ends those being made when it begins. A
 * resource on which a function works during the whole call must not be lent later. */
static inline uint32_t begin_clear(factory *f, uint32_t old) {
    f->old = old;
    return COUNT_UP(f->clears);
}

static inline void end_clear(factory *f, uint32_t clear) {
    COUNT_UP(f->sweeps);
    f->cleared = clear;
}

static inline void note_making(factory *f, uint32_t now) {
    uint32_t before = NUMBER(f->most_making);
    while (before < now &&
           !__atomic_compare_exchange_n(&f->most_making, &before, now, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
}

static inline bool create_thing(void *context, const char *key, kolk_deadline deadline, void **resource,
                                kolk_error *error) {
    factory *f = (factory *)context;
    INSIST(!*error->text && error->code == 0);
    uint32_t there = COUNT_UP(f->there), making = COUNT_UP(f->making);
    INSIST(!f->max || there <= f->max);
    INSIST(!f->max_creating || making <= f->max_creating);
    note_making(f, making);
    __atomic_store_n(&f->deadline_ns, deadline.ns, __ATOMIC_SEQ_CST);
    uint32_t clears = NUMBER(f->clears);
    bool good = play(f, CREATE, NULL);
    COUNT_DOWN(f->making);
    if (good) {
        thing *it = new_thing(f, key);
        it->stale = NUMBER(f->cleared) > clears;
        *resource = it;
    } else {
        COUNT_DOWN(f->there);
        error->code = 7;
        error->final = f->final;
        snprintf(error->text, sizeof error->text, "create %u fails", NUMBER(f->calls[CREATE]));
    }
    return good;
}

static inline void destroy_thing(void *context, void *resource) {
    factory *f = (factory *)context;
    thing *it = (thing *)resource;
    uint32_t before = begin_work(f, it);
    INSIST(!f->asked_from || it->number < f->asked_from || it->asked || it->discarded);
    play(f, DESTROY, it);
    end_work(f, it, before);
    COUNT_DOWN(f->there);
    __atomic_store_n(&it->place, NOWHERE, __ATOMIC_SEQ_CST);
}

static inline bool validate_thing(void *context, void *resource, kolk_deadline deadline) {
    factory *f = (factory *)context;
    thing *it = (thing *)resource;
    __atomic_store_n(&f->deadline_ns, deadline.ns, __ATOMIC_SEQ_CST);
    uint32_t before = begin_work(f, it);
    bool good = play(f, VALIDATE, it) && !it->dead;
    end_work(f, it, before);
    return good;
}

static inline bool reset_thing(void *context, void *resource) {
    factory *f = (factory *)context;
    thing *it = (thing *)resource;
    uint32_t before = begin_work(f, it);
    bool good = play(f, RESET, it);
    end_work(f, it, before);
    return good;
}

/* Returns the descriptor of a pool with this factory, and records the pool's limits in the factory. */
static inline kolk_resource_pool_desc factory_desc(factory *f, kolk_resource_pool_desc desc) {
    desc.context = f;
    desc.create = create_thing;
    desc.destroy = destroy_thing;
    f->max = desc.max ? desc.max : 10;
    f->max_creating = desc.max_creating ? desc.max_creating : 2;
    return desc;
}

static inline void make_resources(kolk_resource_pool *pool, factory *f, kolk_resource_pool_desc desc) {
    desc = factory_desc(f, desc);
    kolk_status status = kolk_resource_init(pool, &desc);
    INSIST(status == KOLK_OK);
}

/* ---- Borrowers --------------------------------------------------------------------------------------------------- */

#ifdef __clang__
#define NAMED __attribute__((noinline, unused))
#else
#define NAMED __attribute__((noinline, noclone, unused))
#endif

/* Borrows, and checks that the resource is intact and has no other borrower. Reports name this function, even at
 * -O3. */
NAMED static kolk_status take_thing(kolk_resource_pool *pool, const char *key, kolk_deadline deadline,
                                    kolk_borrowed *borrow) {
    kolk_borrow_desc desc = {.key = key, .deadline = deadline, .who = "the test"};
    kolk_status status = kolk_resource_borrow(pool, &desc, borrow);
    INSIST((status == KOLK_OK) == !*borrow->error.text);
    INSIST((status == KOLK_OK) == !kolk_handle_is_null(borrow->handle));
    INSIST((status == KOLK_OK) == !!borrow->resource);
    if (status != KOLK_OK) return status;
    thing *it = (thing *)borrow->resource;
    INSIST(NUMBER(it->busy) == 0 && !it->stale);
    INSIST(strcmp(it->key, key ? key : "") == 0);
    place in_pool = IN_POOL;
    INSIST(__atomic_compare_exchange_n(&it->place, &in_pool, WITH_BORROWER, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return status;
}

static inline void part_with(const kolk_borrowed *borrow) {
    thing *it = (thing *)borrow->resource;
    place lent = WITH_BORROWER;
    if (it) INSIST(__atomic_compare_exchange_n(&it->place, &lent, IN_POOL, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

static inline void give_thing(kolk_resource_pool *pool, kolk_borrowed *borrow) {
    part_with(borrow);
    kolk_resource_give_back(pool, borrow);
    INSIST(!borrow->resource);
}

static inline void discard_thing(kolk_resource_pool *pool, kolk_borrowed *borrow) {
    if (borrow->resource) ((thing *)borrow->resource)->discarded = true;
    part_with(borrow);
    kolk_resource_discard(pool, borrow);
    INSIST(!borrow->resource);
}

/* Takes the resource out of the pool, and ends it. The pool may create another one at once. */
static inline void detach_thing(kolk_resource_pool *pool, kolk_borrowed *borrow) {
    thing *it = (thing *)borrow->resource;
    COUNT_DOWN(it->from->there);
    INSIST(kolk_resource_detach(pool, borrow) == it && !borrow->resource);
    place lent = WITH_BORROWER;
    INSIST(__atomic_compare_exchange_n(&it->place, &lent, NOWHERE, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

static inline kolk_resource_pool_stats stats_of(const kolk_resource_pool *pool) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(pool, &stats);
    return stats;
}

/* Returns how many resources have left the pool, for whatever reason. */
static inline uint64_t gone_from(const kolk_resource_pool_stats *stats) {
    return stats->discarded + stats->invalid + stats->unclean + stats->expired + stats->unused + stats->evicted +
           stats->replaced + stats->closed + stats->detached;
}

#endif
