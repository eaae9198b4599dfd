/* resource_threads.h: shared by the tests of the resource pool with real threads: resources that detect use by two
 * threads and use after destroy. */
#ifndef TESTS_RESOURCE_THREADS_H
#define TESTS_RESOURCE_THREADS_H

#include "../help/threads.h"

#include <dirent.h>

#include "base/atomics.h"
#include "os/clock.h"

static const kolk_deadline PAST = {1}; /* a deadline that has passed, but is not KOLK_NOW, which never waits */

/* ---- Resources --------------------------------------------------------------------------------------------------- */

#define ALIVE UINT32_C(0x600d600d)

/* Allocated with malloc, so that AddressSanitizer detects use after free. */
typedef struct thing {
    uint32_t alive; /* ALIVE until it is destroyed */
    uint32_t busy;  /* a thread is using it now */
    char key[16];
} thing;

typedef struct factory factory;
struct factory {
    kolk_resource_pool pool;
    uint32_t there, most_there;       /* created or being created, but not yet destroyed */
    uint32_t creating, most_creating; /* creates running now */
    uint32_t created, failed, destroyed, valid, invalid, clean, unclean;
    bool (*creates)(factory *from, kolk_deadline deadline); /* NULL, here and below: succeeds */
    bool (*validates)(factory *from, thing *it);
    bool (*resets)(factory *from, thing *it);
    void (*destroys)(factory *from);
    const char *fails_for; /* creates for this key fail */
    bool final;            /* creates fail with a final error */
};

/* The counters are relaxed, so they do not order accesses: the pool must do that. count_up returns the new value. */
#define count_up(counter)   (__atomic_add_fetch((counter), 1, __ATOMIC_RELAXED))
#define count_down(counter) ((void)__atomic_fetch_sub((counter), 1, __ATOMIC_RELAXED))

static inline uint32_t count_of(const uint32_t *counter) {
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static inline void raise_to(uint32_t *most, uint32_t value) {
    uint32_t before = count_of(most);
    while (before < value && !kolk_compare_exchange_(most, &before, value, KOLK_RELAXED_, KOLK_RELAXED_)) {}
}

/* No other thread may use the thing between begin_use and end_use. As `busy` is relaxed, the next user sees the last
 * one's writes only if the pool orders them. */
static inline void begin_use(thing *it) {
    REQUIRE(it->alive == ALIVE);
    REQUIRE(!__atomic_exchange_n(&it->busy, 1, __ATOMIC_RELAXED));
}

static inline void end_use(thing *it) {
    REQUIRE(__atomic_exchange_n(&it->busy, 0, __ATOMIC_RELAXED));
}

static inline bool create_thing(void *context, const char *key, kolk_deadline deadline, void **resource,
                                kolk_error *error) {
    factory *from = (factory *)context;
    raise_to(&from->most_there, count_up(&from->there));
    raise_to(&from->most_creating, count_up(&from->creating));
    bool made = !from->fails_for || strcmp(from->fails_for, key) != 0;
    if (made && from->creates) made = from->creates(from, deadline);
    count_down(&from->creating);
    count_up(made ? &from->created : &from->failed);
    if (made) {
        thing *it = (thing *)malloc(sizeof *it);
        REQUIRE(it);
        *it = (thing){.alive = ALIVE};
        snprintf(it->key, sizeof it->key, "%s", key);
        *resource = it;
    } else {
        count_down(&from->there);
        error->code = 61;
        error->final = from->final;
        snprintf(error->text, sizeof error->text, "refused");
    }
    return made;
}

static inline void destroy_thing(void *context, void *resource) {
    factory *from = (factory *)context;
    thing *it = (thing *)resource;
    begin_use(it);
    if (from->destroys) from->destroys(from);
    it->alive = 0;
    free(it);
    count_up(&from->destroyed);
    count_down(&from->there);
}

static inline bool validate_thing(void *context, void *resource, kolk_deadline deadline) {
    factory *from = (factory *)context;
    thing *it = (thing *)resource;
    begin_use(it);
    bool good = !from->validates || from->validates(from, it);
    count_up(good ? &from->valid : &from->invalid);
    end_use(it);
    return good;
}

static inline bool reset_thing(void *context, void *resource) {
    factory *from = (factory *)context;
    thing *it = (thing *)resource;
    begin_use(it);
    bool clean = !from->resets || from->resets(from, it);
    count_up(clean ? &from->clean : &from->unclean);
    end_use(it);
    return clean;
}

/* ---- Creates that are held --------------------------------------------------------------------------------------- */

static uint32_t is_in_create, may_go_on;

static inline bool create_until_told(factory *from, kolk_deadline deadline) {
    kolk_store_(&is_in_create, 1, KOLK_RELEASE_);
    EVENTUALLY(kolk_load_(&may_go_on, KOLK_ACQUIRE_));
    return true;
}

/* From now on, no create returns before end_holding is called. */
static inline void hold_creates(factory *from) {
    is_in_create = may_go_on = 0;
    from->creates = create_until_told;
}

static inline void await_create(void) {
    EVENTUALLY(kolk_load_(&is_in_create, KOLK_ACQUIRE_));
}

static inline void end_holding(void) {
    kolk_store_(&may_go_on, 1, KOLK_RELEASE_);
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

/* Initialises a pool of things with these settings. */
static inline kolk_status init_things(factory *from, kolk_resource_pool_desc desc) {
    desc.context = from;
    desc.create = create_thing;
    desc.destroy = destroy_thing;
    desc.validate = validate_thing;
    desc.reset = reset_thing;
    if (!desc.name) desc.name = "things";
    return kolk_resource_init(&from->pool, &desc);
}

static inline void make_things(factory *from, kolk_resource_pool_desc desc) {
    REQUIRE(init_things(from, desc) == KOLK_OK);
}

static inline kolk_resource_pool_stats stats_of(const factory *from) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&from->pool, &stats);
    return stats;
}

/* Ends the pool and checks that each thing was destroyed once. */
static inline void end_things(factory *from) {
    REQUIRE(kolk_resource_is_valid(&from->pool));
    kolk_resource_deinit(&from->pool);
    REQUIRE(!from->pool.inside && !from->there && !from->creating && from->created == from->destroyed);
}

/* A borrow that must succeed. */
static inline kolk_borrowed borrow_thing(factory *from, const char *key, kolk_deadline deadline) {
    kolk_borrowed one;
    kolk_borrow_desc desc = {.key = key, .deadline = deadline};
    kolk_status status = kolk_resource_borrow(&from->pool, &desc, &one);
    if (status != KOLK_OK) fprintf(stderr, "%s: %s\n", kolk_status_text(status), one.error.text);
    REQUIRE(status == KOLK_OK);
    return one;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static inline unsigned count_threads(void) {
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/task");
    REQUIRE(folder);
    for (const struct dirent *each; (each = readdir(folder));) count += each->d_name[0] != '.';
    closedir(folder);
    return count;
}

static unsigned plain_threads; /* without makers; an emulator has a thread of its own */

static inline void remember_threads(void) {
    if (emulator()) EVENTUALLY(count_threads() > 1); /* its thread may begin late */
    plain_threads = count_threads() + UNDER_TSAN;    /* TSan starts its thread together with the program's first one */
}

static inline unsigned count_makers(void) {
    return count_threads() - plain_threads;
}

#endif
