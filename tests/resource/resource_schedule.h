/* wraps: kolk_memory_commit_ kolk_memory_release_ kolk_memory_reserve_ kolk_thread_ */
/* resource_schedule.h: shared by the scheduled tests of the resource pool: each schedule begins with a pool in the same
 * state, threads have numbers, and each schedule ends with checks. */
#ifndef TESTS_RESOURCE_SCHEDULE_H
#define TESTS_RESOURCE_SCHEDULE_H

#include "../help/test.h"

#include "../help/schedule.h"

/* Other threads may run in the middle of each function. Its accesses to the resource are ordered with theirs. */
#define FACTORY_IS_SCHEDULED
#define INSIST schedule_assert
#define IN_FUNCTION(factory, what)                                                                                     \
    ((void)kolk_load_(&in_the_middle, KOLK_RELAXED_), (factory)->during ? (factory)->during(factory, what) : (void)0)

static uint32_t in_the_middle;

#include "resource/resource_inside.h"
#include "resource_test.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* A pool has three blocks. They come from here rather than from the system, since a test makes a million pools in a
 * row. A page is cleared when it is committed for the first time. */
enum { PAGE = 4096, BLOCK_PAGES = 16384, BLOCKS = 3, COMMITTED = 64 };

static _Alignas(PAGE) unsigned char blocks[BLOCKS][BLOCK_PAGES][PAGE];
static bool has_page[BLOCKS * BLOCK_PAGES];
static size_t committed[COMMITTED], commits, blocks_used;
static bool is_scheduled; /* set by the first schedule */

void *__real_kolk_memory_reserve_(size_t bytes);
bool __real_kolk_memory_commit_(void *start, size_t bytes);
void *__wrap_kolk_memory_reserve_(size_t bytes);
bool __wrap_kolk_memory_commit_(void *start, size_t bytes);
void __wrap_kolk_memory_release_(void *start, size_t bytes);

static void forget_memory(void) {
    for (size_t i = 0; i < commits; i++) has_page[committed[i]] = false;
    commits = blocks_used = 0;
}

/* The first pool of a process makes the registry allocate memory, which stays. */
static void make_first_pool(void) {
    kolk_pool pool;
    kolk_pool_desc desc = {.object_size = 1, .capacity = 1};
    schedule_assert(is_scheduled || kolk_pool_init(&pool, &desc) == KOLK_OK);
    if (!is_scheduled) kolk_pool_deinit(&pool);
    is_scheduled = true;
}

void *__wrap_kolk_memory_reserve_(size_t bytes) {
    if (!is_scheduled) return __real_kolk_memory_reserve_(bytes);
    return blocks_used < BLOCKS && bytes <= sizeof blocks[0] ? blocks[blocks_used++] : NULL;
}

bool __wrap_kolk_memory_commit_(void *start, size_t bytes) {
    if (!is_scheduled) return __real_kolk_memory_commit_(start, bytes);
    unsigned char *all = (unsigned char *)blocks;
    size_t from = (size_t)((unsigned char *)start - all);
    for (size_t page = from / PAGE; page * PAGE < from + bytes; page++) {
        if (has_page[page]) continue;
        if (commits == COMMITTED) return false;
        memset(all + page * PAGE, 0, PAGE);
        has_page[page] = true;
        committed[commits++] = page;
    }
    return true;
}

void __wrap_kolk_memory_release_(void *start, size_t bytes) {}

/* Coroutines share _Thread_local variables, so each gets its number from the scheduler. */
uint32_t __wrap_kolk_thread_(void);

uint32_t __wrap_kolk_thread_(void) {
    return sched.current + 1;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

enum { MOST = 3 }; /* resources per pool */

/* The state in which a schedule begins. */
typedef struct setting {
    kolk_resource_pool_desc desc; /* max and other settings; of the functions only validate and reset */
    unsigned idle, lent;          /* resources that exist at the start */
    const char *idle_key;
    unsigned create_fails, validate_fails, reset_fails; /* how many of each function's first calls fail */
    int64_t ages;                                       /* milliseconds that have then passed */
    void (*during)(factory *f, deed what);
    unsigned borrows; /* with makers: the schedule's makers end after this many borrows; 0: no makers */
} setting;

typedef struct state {
    kolk_resource_pool pool;
    factory f;
    kolk_borrowed lent[MOST]; /* borrowed by the test; threads return them */
    uint32_t served, refused;
    uint32_t evicted; /* resources up to this number must be destroyed */
    uint32_t told[2];
    bool closed;
} state;

static state own;
static const setting *how;
static bool allows_leaks; /* close reports leaks when it gives up */

static void on_failure(const kolk_failure *failure, void *context) {
    if (failure->rule == KOLK_LEAK && allows_leaks) return;
    sched_on_failure(failure, context);
}

static void begin(void *context) {
    state *s = (state *)context;
    memset(s, 0, sizeof *s);
    make_first_pool();
    forget_memory();
    kolk_set_failure_handler(on_failure, NULL);
    kolk_resource_pool_desc desc = how->desc;
    desc.no_housekeeper = true;
    make_resources(&s->pool, &s->f, desc);
    for (unsigned i = 0; i < how->idle; i++)
        schedule_assert(take_thing(&s->pool, how->idle_key, KOLK_NOW, &s->lent[i]) == KOLK_OK);
    for (unsigned i = 0; i < how->idle; i++) give_thing(&s->pool, &s->lent[i]);
    for (unsigned i = 0; i < how->lent; i++)
        schedule_assert(take_thing(&s->pool, NULL, KOLK_NOW, &s->lent[i]) == KOLK_OK);
    script_failures(&s->f, CREATE, how->create_fails);
    script_failures(&s->f, VALIDATE, how->validate_fails);
    script_failures(&s->f, RESET, how->reset_fails);
    s->f.during = how->during;
    s->pool.inside->has_makers = how->borrows > 0; /* the makers are threads of the schedule */
    sched.now += how->ages * 1000000;
}

/* The pool can lend exactly `max` resources: no permit is lost, and none is counted twice. */
static void borrow_all(state *s) {
    kolk_borrowed borrows[MOST];
    uint32_t max = s->pool.inside->max;
    kolk_resource_resume(&s->pool);
    for (uint32_t i = 0; i < max; i++) schedule_assert(take_thing(&s->pool, NULL, KOLK_NOW, &borrows[i]) == KOLK_OK);
    schedule_assert(take_thing(&s->pool, NULL, KOLK_NOW, &(kolk_borrowed){.resource = NULL}) == KOLK_FULL);
    for (uint32_t i = 0; i < max; i++) give_thing(&s->pool, &borrows[i]);
}

/* Does the work that the schedule's makers have left undone. */
static void end_makers(state *s) {
    kolk_resource_inside_ *inside = s->pool.inside;
    memset(s->f.written, 0, sizeof s->f.written);
    kolk_resource_work_(&inside->chore);
    inside->has_makers = false;
}

static void end(void *context) {
    state *s = (state *)context;
    s->f.during = NULL;
    if (how->borrows > 0) end_makers(s);
    s->f.asked_from = 0;
    memset(s->f.written, 0, sizeof s->f.written);
    schedule_assert(kolk_resource_is_valid(&s->pool));
    kolk_resource_pool_stats stats = stats_of(&s->pool);
    schedule_assert(stats.waiting == 0 && stats.creating == 0);
    schedule_assert(stats.created - gone_from(&stats) == s->f.there);
    schedule_assert(stats.idle + stats.in_use == s->f.there);
    for (unsigned i = 0; i < MOST; i++)
        if (s->lent[i].resource) give_thing(&s->pool, &s->lent[i]);
    for (unsigned i = 0; i < THINGS; i++)
        schedule_assert(s->f.things[i].place == NOWHERE || s->f.things[i].number > s->evicted);
    if (!s->closed) borrow_all(s);
    kolk_resource_deinit(&s->pool);
    schedule_assert(s->f.there == 0);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* Statuses other than KOLK_OK that a borrow may return. */
enum { MAY_TIME_OUT = 1, MAY_BE_CLOSED = 2, MAY_BE_FULL = 4, MAY_FAIL = 8 };

static unsigned may;

static kolk_status borrow_one(state *s, const char *key, kolk_deadline deadline, kolk_borrowed *borrow) {
    kolk_status status = take_thing(&s->pool, key, deadline, borrow);
    schedule_assert(status == KOLK_OK || (status == KOLK_TIMEOUT && (may & MAY_TIME_OUT)) ||
                    (status == KOLK_CLOSED && (may & MAY_BE_CLOSED)) || (status == KOLK_FULL && (may & MAY_BE_FULL)) ||
                    (status == KOLK_NOT_CREATED && (may & MAY_FAIL)));
    if (status == KOLK_OK)
        s->served++;
    else
        s->refused++;
    if (status == KOLK_OK) KOLK_PLAIN_WRITE_(&((thing *)borrow->resource)->dead, 1);
    return status;
}

static void borrow_and_give(state *s, const char *key, kolk_deadline deadline) {
    kolk_borrowed borrow;
    if (borrow_one(s, key, deadline, &borrow) != KOLK_OK) return;
    (void)kolk_load_(&in_the_middle, KOLK_RELAXED_);
    KOLK_PLAIN_WRITE_(&((thing *)borrow.resource)->dead, 1);
    give_thing(&s->pool, &borrow);
}

/* Returns true if thread n sleeps as a waiter, and not for the lock. */
static inline bool is_asleep(const state *s, unsigned n) {
    const sched_thread *t = &sched.threads[1 + n];
    return t->condition == SCHED_ASLEEP && t->word != &s->pool.inside->lock;
}

/* Waits until thread n sleeps as a waiter; returns false if it has ended instead. */
static inline bool until_asleep(const state *s, unsigned n) {
    while (!is_asleep(s, n) && sched.threads[1 + n].condition != SCHED_UNBORN) kolk_pause_();
    return is_asleep(s, n);
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

static inline void borrow(void *context) {
    borrow_and_give((state *)context, NULL, KOLK_FOREVER);
}

static inline void borrow_a_while(void *context) {
    borrow_and_give((state *)context, NULL, kolk_deadline_after(1));
}

static inline void borrow_now(void *context) {
    borrow_and_give((state *)context, NULL, KOLK_NOW);
}

static inline void borrow_key(void *context) {
    borrow_and_give((state *)context, "k", KOLK_FOREVER);
}

static inline void give_first(void *context) {
    state *s = (state *)context;
    give_thing(&s->pool, &s->lent[0]);
}

static inline void discard_first(void *context) {
    state *s = (state *)context;
    discard_thing(&s->pool, &s->lent[0]);
}

static inline void detach_first(void *context) {
    state *s = (state *)context;
    detach_thing(&s->pool, &s->lent[0]);
}

static inline void pause_and_resume(void *context) {
    state *s = (state *)context;
    kolk_resource_pause(&s->pool);
    (void)kolk_load_(&in_the_middle, KOLK_RELAXED_);
    kolk_resource_resume(&s->pool);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* Runs all schedules with a surprise and up to 3 preemptions for two threads, or up to 2 for three, then random ones.
 * Shortened tests use one preemption less. So do tests with makers, as makers repeat their work until the others are
 * done. */
static inline void run(const char *name, const setting *with, void (*first)(void *), void (*second)(void *),
                       void (*third)(void *)) {
    how = with;
    schedule_must_pass(&(schedule){.name = name,
                                   .context = &own,
                                   .begin = begin,
                                   .threads = {{"first", first}, {"second", second}, {"third", third}},
                                   .end = end,
                                   .preemptions = (third ? 2u : 3u) - (does_a_part() || with->borrows > 0),
                                   .surprises = 1,
                                   .all_alike = true,
                                   .random = does_a_part() ? 50 : 5000});
}

static inline int set_up(void **unused) {
    may = 0;
    allows_leaks = false;
    return 0;
}

#endif
