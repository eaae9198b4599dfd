/* model_drive.h: runs random operations on a model whose shape is random too. Include test.h first, then the model,
 * which has `model`, model_init, model_draw, model_step and model_deinit. */
#ifndef TESTS_MODEL_DRIVE_H
#define TESTS_MODEL_DRIVE_H

static inline uint32_t draw_random(void *state) {
    return (uint32_t)(next_random((uint64_t *)state) >> 32);
}

/* Runs models one after another, each with its own seed and for a random number of operations, until this many
 * operations are done in total. Calls `look` on each before it is deinitialised. */
static inline void drive_models(uint64_t usual_seed, uint64_t usual_operations, void (*look)(const model *m)) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", usual_seed), done = 0;
    uint64_t operations = number_from_environment("KOLK_TEST_OPS", usual_operations);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    for (uint64_t run = 0; done < operations; run++) {
        static model m;
        char what[60];
        uint64_t random = seed + run;
        snprintf(what, sizeof what, "KOLK_TEST_SEED=%" PRIu64, seed + run);
        memset(&m, 0, sizeof m);
        m.draw = draw_random;
        m.context = &random;
        m.what = what;
        model_init(&m);
        uint32_t length = 1 + model_draw(&m, 2000);
        for (uint32_t i = 0; i < length; i++) model_step(&m);
        done += length;
        look(&m);
        model_deinit(&m);
    }
}

#endif
