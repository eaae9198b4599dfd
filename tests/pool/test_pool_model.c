/* Random operations against the model of model.h, for each order of reuse, kind of generations, kind of memory,
 * with and without hooks. KOLK_TEST_SEED and KOLK_TEST_OPS (operations in total) may be set in the environment. */
#include "../help/test.h"

#include "model_ask.h"

#include <time.h>

#ifndef OPERATIONS
#define OPERATIONS 10000000
#endif

/* Handles of a few moments ago, most of them stale. */
#define REMEMBERED 64u

typedef struct run {
    model m;
    kolk_handle remembered[REMEMBERED];
    kolk_pool other; /* with another tag */
    void *others[4];
} run;

static uint64_t seed, operations;

/* ---- Questions that must be refused ------------------------------------------------------------------------------ */

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

/* Handles of any kind: remembered, of another pool, forged. */
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
    kolk_handle handle = kolk_pool_handle(&r->other, object);
    model_assert(m, model_is_foreign(m, handle));
    model_get(m, handle);
    model_free_handle(m, handle);
}

static void sweep(model *m) {
    uint32_t choice = random_below(&m->random, 16), from = random_below(&m->random, m->desc.max_capacity + 3);
    if (choice == 0)
        model_sweep_and_free(m, random_below(&m->random, 2));
    else if (choice < 4)
        model_sweep_by_next(m);
    else if (choice < 7)
        model_sweep_by_cursor(m);
    else
        model_sweep_by_runs(m, from, from + random_below(&m->random, m->desc.max_capacity + 3));
}

static void age(model *m) {
    uint32_t choice = random_below(&m->random, 8);
    if (choice == 0)
        model_ask_ages(m);
    else if (choice == 1)
        model_evict_oldest(m);
    else if (m->live)
        model_touch(m, model_random_live(m));
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void free_one(run *r) {
    model *m = &r->m;
    if (m->live == 0) return;
    uint32_t slot = model_random_live(m);
    if (has_handles(m))
        r->remembered[random_below(&m->random, REMEMBERED)] = kolk_pool_handle(&m->pool, model_object(m, slot));
    model_free(m, slot, has_handles(m) && random_below(&m->random, 2) ? BY_HANDLE : BY_POINTER);
}

static void operate(run *r, bool filling) {
    model *m = &r->m;
    uint32_t choice = random_below(&m->random, 1000);
    m->setup_fails = random_below(&m->random, 16) == 0;
    if (choice < (filling ? 450u : 250u)) {
        if (choice % 8 == 1)
            model_alloc_urgent(m);
        else
            model_alloc(m, choice % 8 == 0);
    } else if (choice < 700) {
        free_one(r);
    } else if (choice < 720) {
        model_alloc_n(m, random_below(&m->random, 6));
    } else if (choice < 780) {
        model_alloc_at(m, some_handle(r));
    } else if (choice < 880) {
        look_up(r);
    } else if (choice < 960) {
        model_refuses(m, wrong_pointer(r), (verb)random_below(&m->random, VERBS));
    } else if (choice < 970 && m->desc.ages) {
        age(m);
    } else if (choice < 990) {
        sweep(m);
    } else if (choice < 994) {
        model_trim(m);
    } else if (choice < 996) {
        model_reserve(m, random_below(&m->random, m->desc.max_capacity + 2));
    } else if (choice == 996) {
        model_tick(m, random_below(&m->random, 100), random_below(&m->random, 100));
    } else if (choice == 999) {
        model_clear(m);
    }
}

static void run_one(const kolk_pool_desc *desc, bool foreign, uint64_t stream, uint64_t count) {
    run *r = (run *)calloc(1, sizeof *r);
    assert_non_null(r);
    model *m = &r->m;
    char what[160];
    snprintf(what, sizeof what, "reuse %d, generations %d, %u bytes, %u to %u slots, headroom %u, %s%s%s",
             (int)desc->reuse, (int)desc->generations, (unsigned)desc->object_size, desc->capacity, desc->max_capacity,
             desc->headroom, foreign ? "caller's memory" : "system's memory", desc->setup ? ", hooks" : "",
             desc->ages ? ", ages" : "");
    m->what = what;
    m->seed = seed;
    m->random = seed + stream * UINT64_C(0x632be59bd9b4e019);
    m->desc = *desc;
    m->reset_frees = desc->reset && random_below(&m->random, 2);
    model_init(m, foreign);
    make_pool(&r->other, &(kolk_pool_desc){.name = "other", .object_size = 8, .capacity = 4, .tag = 78});
    for (size_t i = 0; i < LENGTH_OF(r->others); i++) r->others[i] = kolk_pool_alloc(&r->other);

    bool filling = true;
    for (m->step = 0; m->step < count; m->step++) {
        if (random_below(&m->random, 512) == 0) filling = !filling;
        operate(r, filling);
        model_assert(m, m->taken.count == 0);
        model_assert(m, kolk_pool_is_valid(&m->pool));
        model_compare(m, m->step % 64 == 0);
    }
    kolk_pool_deinit(&r->other);
    model_deinit(m);
    free(r);
}

/* 2 sizes of pool for each combination; sizes of object that make every kind of stride. */
static void test_against_the_model(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 3, 8, 12, 24, 64};
    uint64_t streams = 3 * 3 * 3 * 2 * 2, stream = 0;
    for (; stream < streams; stream++) {
        uint64_t n = stream;
        kolk_pool_desc desc = {.name = "model", .tag = 77, .object_size = sizes[stream % LENGTH_OF(sizes)]};
        desc.reuse = (kolk_reuse)(n % 3), n /= 3;
        desc.generations = (kolk_generations)(n % 3), n /= 3;
        bool small = n % 2 == 0, hooks = n / 2 % 2;
        unsigned memory = (unsigned)(n / 4);
        uint64_t random = seed + stream;
        desc.capacity = small ? 1 + random_below(&random, 12) : 65 + random_below(&random, MODEL_SLOTS - 70);
        if (memory == 1) { /* growing: large objects, so that it grows in steps */
            if (!small) desc.object_size = 600;
            desc.max_capacity = desc.capacity + 3;
            desc.capacity = random_below(&random, desc.capacity);
        }
        if (hooks) {
            desc.setup = model_setup;
            desc.reset = model_reset;
            desc.teardown = model_teardown;
            desc.on_full = model_on_full;
        }
        desc.ages = random_below(&random, 2);
        if (random_below(&random, 3) == 0) desc.headroom = random_below(&random, desc.capacity + 2);
        if (desc.headroom > desc.capacity) desc.headroom = desc.max_capacity > desc.capacity ? desc.max_capacity : 0;
        run_one(&desc, memory == 2, stream, operations / streams);
    }
}

int main(void) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    operations = number_from_environment("KOLK_TEST_OPS", does_a_part() ? OPERATIONS / 8 : OPERATIONS);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_against_the_model, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
