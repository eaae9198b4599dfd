/* resource_steps.h: shared by tests with one pool and the scripted clock: the pool, its factory, and steps. Each step
 * ends by checking that the pool is valid. */
#ifndef TESTS_RESOURCE_STEPS_H
#define TESTS_RESOURCE_STEPS_H

#include "resource_clock.h"

#define MS INT64_C(1000000)

static kolk_resource_pool pool;
static factory f;
static bool
    tries_first; /* a borrow that finds no resource tries again before it waits; otherwise the order is strict */

/* ---- The clock --------------------------------------------------------------------------------------------------- */

static inline void pass(int64_t ms) {
    clock_ns += ms * MS;
}

static inline kolk_deadline in(int64_t ms) {
    return (kolk_deadline){clock_ns + ms * MS};
}

/* ---- Others ------------------------------------------------------------------------------------------------------ */

static void (*others_step)(void);
static void (*inner_steps[DEEDS])(void);

static inline bool others_take_their_step(kolk_deadline deadline) {
    meanwhile = NULL;
    others_step();
    return true;
}

/* Makes another thread take this step while the next borrower sleeps; then the borrower wakes up. */
static inline void others_do(void (*step)(void)) {
    others_step = step;
    meanwhile = others_take_their_step;
}

static inline void take_inner_step(factory *of, deed what) {
    void (*step)(void) = inner_steps[what];
    inner_steps[what] = NULL;
    if (step) step();
}

/* Makes the factory's next call of this function take this step too. */
static inline void next_call_does(deed what, void (*step)(void)) {
    inner_steps[what] = step;
    f.during = take_inner_step;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static inline void assert_valid(void) {
    assert_true(kolk_resource_is_valid(&pool));
}

static inline kolk_resource_pool_stats stats(void) {
    return stats_of(&pool);
}

static inline void begin(kolk_resource_pool_desc desc) {
    memset(&f, 0, sizeof f);
    clock_ns = 1000000 * MS;
    meanwhile = NULL;
    if (!desc.name) desc.name = "db";
    desc.no_housekeeper = true;
    desc.strict_order |= !tries_first;
    make_resources(&pool, &f, desc);
}

/* Ends the pool and checks that all resources are destroyed. */
static inline void end(void) {
    assert_valid();
    kolk_resource_deinit(&pool);
    assert_null(pool.inside);
    assert_int_equal(f.there, 0);
    assert_int_equal(f.calls[DESTROY], f.made);
}

static inline kolk_status borrow_for(const char *key, kolk_deadline deadline, kolk_borrowed *out) {
    kolk_status status = take_thing(&pool, key, deadline, out);
    assert_valid();
    return status;
}

static inline kolk_borrowed borrowed(const char *key) {
    kolk_borrowed one;
    kolk_status status = borrow_for(key, KOLK_NOW, &one);
    if (status != KOLK_OK) fail_msg("%s: %s", kolk_status_text(status), one.error.text);
    return one;
}

/* The number of the borrowed resource, in the order of creation. */
static inline uint32_t number_of(const kolk_borrowed *borrow) {
    return ((const thing *)borrow->resource)->number;
}

/* Returns true if the borrowed resource is not destroyed. */
static inline bool is_there(const kolk_borrowed *borrow) {
    return ((const thing *)borrow->resource)->place == WITH_BORROWER;
}

static inline void return_it(kolk_borrowed *borrow) {
    give_thing(&pool, borrow);
    assert_valid();
}

static inline void discard_it(kolk_borrowed *borrow) {
    discard_thing(&pool, borrow);
    assert_valid();
}

/* A borrow that counts as another thread's. */
static kolk_borrowed other;

static inline void return_other(void) {
    return_it(&other);
}

static inline void detach_other(void) {
    detach_thing(&pool, &other);
    assert_valid();
}

/* Borrows n resources and returns them: if there were none, it creates n. */
static inline void make_idle(unsigned n, const char *key) {
    kolk_borrowed all[THINGS];
    for (unsigned i = 0; i < n; i++) all[i] = borrowed(key);
    for (unsigned i = 0; i < n; i++) return_it(&all[i]);
}

static inline void tick(void) {
    kolk_resource_tick(&pool, KOLK_FOREVER);
    assert_valid();
}

#endif
