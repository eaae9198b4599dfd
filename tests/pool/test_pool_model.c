/* runs: slow sample wraps: help/no_sites.h */
/* Random operations compared with model.h, for each order of reuse, kind of generations, kind of memory, choice of
 * hooks and debug mode. Reads KOLK_TEST_SEED and KOLK_TEST_OPS (the total number of operations) from the
 * environment.
 * promise: "a new object has the bytes ... data in a slot", "Frees an object ... NULL does nothing.", "Returns an
 * object, or NULL if the pool is full", "The same; all bytes of the object are 0", "A free and an alloc ... stays
 * there", "Frees all live ... stay worn out", "Returns the handle ... null handle", "Returns the object ... different
 * object", "Frees the object of a handle ... return NULL",
 * "Frees the object in this slot ... lives there", "Would n allocs find slots ... memory to grow", "The same for a slot
 * by its index ... need not have handles", "Returns the slot ... result is then UINT32_MAX", "Returns the live
 * object in a slot, or NULL", "count (with STRICT, minus the worn-out slots)", "All counters; O(1)", "called with an
 * object before a ready-made hook", "A restore brings ... grown since", "A handle that was made ... even with STRICT",
 * "Writes the block ... below kolk_pool_snapshot_size", "allocates an object ... become free slots", "last one freed,
 * LIFO and FIFO give up", "the order stays, and alloc_at is O(free slots)", "contents survive from one life to the
 * next", "this many slots are reserved", "Needs KOLK_REUSE_LOWEST ... caller (KOLK_LOWEST_MISSING)", "It respects ...
 * none is allocated", "no neighbours: then n > 1 returns NULL", "Protects a live ... becomes the newest", "if the pool
 * is full, frees ... Needs .full.cost", "may make room ... call it again", "An alloc that finds ... tries in this
 * order", "objects that are alive then ... its own snapshot"; base.h "Slots that were never ... instead of 4 bytes",
 * "allocs that returned ... cannot have" */
#include "../help/test.h"

#include "model_ask.h"
#include "model_snapshot.h"

#include "../help/no_sites.h"

#include <time.h>

#ifndef OPERATIONS
#define OPERATIONS 15000000
#endif

/* Recent handles, most of them stale. */
#define REMEMBERED 64u

typedef struct run {
    model m;
    kolk_handle remembered[REMEMBERED];
    kolk_pool other; /* a pool with a different tag */
    void *others[4];
    moment past;
} run;

static uint64_t seed, operations;

/* ---- Queries that must be refused -------------------------------------------------------------------------------- */

static void *wrong_pointer(run *r) {
    model *m = &r->m;
    uint64_t *random = &m->random;
    uint32_t slot = random_below(random, m->desc.max_capacity + 2);
    switch (random_below(random, 5)) {
    case 0:
        return moved(model_object(m, slot), (ptrdiff_t)random_below(random, m->stride + 1));
    case 1:
        return moved(model_object(m, slot), -(ptrdiff_t)random_below(random, m->stride + 1));
    case 2:
        return r->others[random_below(random, LENGTH_OF(r->others))];
    case 3:
        return random_below(random, 2) ? (void *)r : (void *)&m->pool;
    default:
        return model_object(m, slot);
    }
}

/* A handle of any kind: remembered, of another pool, or forged. */
static kolk_handle some_handle(run *r) {
    model *m = &r->m;
    uint32_t slot = random_below(&m->random, m->desc.max_capacity + 1);
    switch (random_below(&m->random, 4)) {
    case 0:
        return model_handle(m, slot % MODEL_SLOTS, 1 + random_below(&m->random, 4));
    case 1:
        return model_handle(m, slot % MODEL_SLOTS, m->generations[slot % MODEL_SLOTS]);
    case 2:
        return model_handle(m, slot % MODEL_SLOTS, random_below(&m->random, 2) ? 0 : UINT32_MAX);
    default:
        return r->remembered[random_below(&m->random, REMEMBERED)];
    }
}

static void look_up(run *r) {
    model *m = &r->m;
    if (random_below(&m->random, 8)) {
        model_get(m, some_handle(r));
        return;
    }
    void *object = r->others[random_below(&m->random, LENGTH_OF(r->others))];
    kolk_handle handle = kolk_pool_handle_of(&r->other, object);
    model_assert(m, has_foreign_tag(handle, m->tag, m->desc.max_capacity));
    model_get(m, handle);
    model_free_handle(m, handle);
}

static void sweep(model *m) {
    uint32_t choice = random_below(&m->random, 16), from = random_below(&m->random, m->desc.max_capacity + 3);
    if (choice == 0)
        model_sweep_and_free(m, random_below(&m->random, 2));
    else if (choice < 7)
        model_sweep_by_cursor(m);
    else
        model_sweep_by_runs(m, from, random_below(&m->random, m->desc.max_capacity + 3));
}

static void age(model *m) {
    uint32_t choice = random_below(&m->random, 16);
    if (choice == 0)
        model_walk_and_free(m, random_below(&m->random, 2));
    else if (choice < 3)
        model_ask_ages(m);
    else if (choice == 3)
        model_evict_oldest(m);
    else if (m->live && choice < 8)
        model_protect(m, model_random_live(m), random_below(&m->random, 2));
    else if (m->live)
        model_touch(m, model_random_live(m));
}

/* Writes to a dead object, or to a byte that the debug mode watches. */
static void write_wildly(model *m) {
    uint32_t slot = random_below(&m->random, m->capacity + 1), part = random_below(&m->random, PARTS);
    uint32_t end = part == BODY ? (uint32_t)m->desc.object_size : 16;
    if (slot == m->capacity) return;
    if (random_below(&m->random, 2))
        model_scribble(m, slot);
    else
        model_damage(m, slot, part, random_below(&m->random, end) + (part == BEFORE));
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void free_one(run *r) {
    model *m = &r->m;
    if (m->live == 0) return;
    uint32_t slot = model_random_live(m);
    if (has_handles(m))
        r->remembered[random_below(&m->random, REMEMBERED)] = kolk_pool_handle_of(&m->pool, model_object(m, slot));
    model_free(m, slot, (way)random_below(&m->random, has_handles(m) ? BY_HANDLE + 1 : BY_HANDLE));
}

static void operate(run *r, bool filling) {
    model *m = &r->m;
    uint32_t choice = random_below(&m->random, 1000);
    m->setup_fails = random_below(&m->random, 16) == 0;
    if (choice < (filling ? 550u : 250u)) {
        if (choice % 16 == 0)
            model_alloc_urgent(m);
        else if (choice % 16 == 1)
            model_alloc_over(m, random_below(&m->random, 9));
        else
            model_alloc(m, choice % 8 == 2);
    } else if (choice < 690) {
        free_one(r);
    } else if (choice < 700) {
        if (m->live) model_renew(m, model_random_live(m));
    } else if (choice < 720) {
        if (choice % 2)
            model_alloc_run(m, random_below(&m->random, random_below(&m->random, 4) ? 6 : 80));
        else
            model_alloc_n(m, random_below(&m->random, 6));
    } else if (choice < 770) {
        if (choice % 4 == 0)
            model_alloc_slot(m, random_below(&m->random, m->desc.max_capacity + 2), NULL);
        else
            model_alloc_at(m, some_handle(r));
    } else if (choice < 850) {
        look_up(r);
    } else if (choice < 920) {
        model_refuses(m, wrong_pointer(r), (verb)random_below(&m->random, VERBS));
    } else if (choice < 923) {
        model_evict_cheapest(m);
    } else if (choice < 928) {
        model_recost(m, choice == 923);
    } else if (choice < 950) {
        if (m->desc.ages) age(m);
    } else if (choice < 970) {
        sweep(m);
    } else if (choice < 978) {
        write_wildly(m);
    } else if (choice < 981) {
        model_remember(m, &r->past);
    } else if (choice < 984) {
        if (r->past.taken.bytes) model_restore(m, &r->past);
    } else if (choice < 989) {
        model_trim(m);
    } else if (choice < 993) {
        model_reserve(m, random_below(&m->random, m->desc.max_capacity + 2));
    } else if (choice < 996) {
        model_tick(m, random_below(&m->random, 100), random_below(&m->random, 100));
    } else if (choice < 998) {
        model_clear(m);
    }
}

/* Runs a pool from init to deinit. Handles and snapshots of an earlier pool with the same descriptor are kept. */
static void live(run *r, bool foreign, uint64_t length) {
    model *m = &r->m;
    bool filling = true;
    model_init(m, foreign);
    if (r->past.taken.bytes) model_restore(m, &r->past);
    for (m->step = 0; m->step < length; m->step++) {
        if (random_below(&m->random, 32 + 2 * m->desc.max_capacity) == 0) filling = !filling;
        operate(r, filling);
        model_assert(m, m->taken.count == 0);
        model_assert(m, kolk_pool_is_valid(&m->pool) == (m->damages == 0));
        model_compare(m, m->step % 64 == 0);
    }
    model_deinit(m);
}

/* ---- Configurations ---------------------------------------------------------------------------------------------- */

static const struct mode {
    const char *debug;
    uint32_t flags, quarantine;
} modes[] = {
    {NULL, 0, 0},
    {"trace", KOLK_DEBUG_TRACE, 0},
    {"fill", KOLK_DEBUG_FILL, 0},
    {"guard", KOLK_DEBUG_GUARD, 0},
    {"quarantine=3", KOLK_DEBUG_QUARANTINE, 3},
    {"quarantine=3,fill", KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_FILL, 3},
    {"all", KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES, 64},
    {NULL, KOLK_DEBUG_BYPASS, 0},
    {"all", KOLK_DEBUG_BYPASS | KOLK_DEBUG_SITES, 0},
};

enum { NO_HOOKS, ALL_HOOKS, SETUP, TEARDOWN, RESET, KEEP, HOOKS };
enum { FIXED, GROWING, FOREIGN, MEMORIES };

#define STREAMS (3 * 3 * HOOKS * MEMORIES * LENGTH_OF(modes))

static kolk_pool_desc some_descriptor(uint64_t n, uint64_t *random, unsigned memory) {
    static bool (*const ways[])(kolk_pool *, size_t, void *) = {NULL, model_on_full, kolk_pool_trap_full,
                                                                kolk_pool_evict_cheapest, kolk_pool_evict_oldest};
    static const size_t sizes[] = {1, 3, 8, 12, 24, 64}; /* every kind of stride */
    kolk_pool_desc desc = {.name = "model", .tag = 77, .object_size = sizes[random_below(random, LENGTH_OF(sizes))]};
    desc.reuse = (kolk_reuse)(n % 3);
    desc.generations = (kolk_generations)(n / 3 % 3);
    unsigned hooks = (unsigned)(n / 9 % HOOKS);
    if (random_below(random, 2)) desc.object_align = (size_t)1 << random_below(random, 7);
    desc.life.setup = hooks == ALL_HOOKS || hooks == SETUP ? model_setup : NULL;
    desc.life.reset = hooks == ALL_HOOKS || hooks == RESET ? model_reset : NULL;
    desc.life.teardown = hooks == ALL_HOOKS || hooks == TEARDOWN ? model_teardown : NULL;
    desc.life.keep = hooks == KEEP;
    desc.ages = random_below(random, 2);
    desc.full.on_full = ways[random_below(random, desc.ages ? 5 : 4)];
    desc.full.on_evict = model_on_evict;
    desc.full.cost = model_cost;
    desc.full.ranked = random_below(random, 2);
    bool small = random_below(random, 2), plain = n < STREAMS / LENGTH_OF(modes);
    desc.capacity = small ? 1 + random_below(random, 12) : 13 + random_below(random, plain ? MODEL_SLOTS - 16 : 70);
    if (memory == GROWING) {
        if (!small) desc.object_size = 600; /* so that it grows in steps */
        desc.max_capacity = desc.capacity + 3;
        desc.capacity = random_below(random, desc.capacity + 1);
    }
    uint32_t most = desc.max_capacity ? desc.max_capacity : desc.capacity;
    if (random_below(random, 3) == 0) desc.full.headroom = random_below(random, most + 1);
    return desc;
}

/* Half of the operations are on pools without a debug mode. */
static void run_stream(uint64_t n) {
    run *r = (run *)calloc(1, sizeof *r);
    assert_non_null(r);
    model *m = &r->m;
    uint64_t random = seed + n * UINT64_C(0x632be59bd9b4e019), share = operations * LENGTH_OF(modes) / STREAMS / 16;
    unsigned memory = (unsigned)(n / (9 * HOOKS) % MEMORIES);
    const struct mode *mode = &modes[n / (9 * HOOKS * MEMORIES)];
    kolk_pool_desc desc = some_descriptor(n, &random, memory);
    char what[200];
    snprintf(
        what, sizeof what,
        "reuse %d, generations %d, %u bytes by %u, %u to %u slots, headroom %u, memory %u%s%s%s%s%s%s%s, debug %s%s",
        (int)desc.reuse, (int)desc.generations, (unsigned)desc.object_size, (unsigned)desc.object_align, desc.capacity,
        desc.max_capacity, desc.full.headroom, memory, desc.life.setup ? ", setup" : "",
        desc.life.reset ? ", reset" : "", desc.life.teardown ? ", teardown" : "", desc.life.keep ? ", keep" : "",
        desc.full.on_full ? ", on_full" : "", desc.ages ? ", ages" : "", desc.full.ranked ? ", ranked" : "",
        mode->debug ? mode->debug : "off", mode->flags & KOLK_DEBUG_BYPASS ? ", bypass" : "");
    desc.debug = mode->debug;
#ifdef _WIN32 /* over-aligned pools have no bypass there, so their other settings would be in force */
    if (mode->flags & KOLK_DEBUG_BYPASS && desc.object_align > 16) desc.object_align = 16;
#endif
    setenv("KOLK_BYPASS", "0", 1);
    make_pool(&r->other, &(kolk_pool_desc){.name = "other", .object_size = 8, .capacity = 4, .tag = 78});
    for (size_t i = 0; i < LENGTH_OF(r->others); i++) r->others[i] = kolk_pool_alloc(&r->other);
    for (unsigned pools = 0; pools < 2; pools++) {
        memset(m, 0, sizeof *m);
        m->what = what;
        m->seed = seed;
        m->random = next_random(&random);
        m->desc = desc;
        m->debug = mode->flags;
        m->quarantine = mode->quarantine;
        m->setup_frees = random_below(&random, 2);
        m->setup_allocs = random_below(&random, 2);
        m->reset_frees = random_below(&random, 2);
        m->reset_allocs = random_below(&random, 2);
        live(r, memory == FOREIGN, mode == modes ? 4 * share : share / 2);
    }
    kolk_pool_deinit(&r->other);
    free(r->past.taken.bytes);
    free(r);
}

static void test_against_the_model(void **state) {
    for (uint64_t n = 0; n < STREAMS; n++) run_stream(n);
}

int main(void) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    operations = number_from_environment("KOLK_TEST_OPS", does_a_part() ? OPERATIONS / 8 : OPERATIONS);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_against_the_model, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
