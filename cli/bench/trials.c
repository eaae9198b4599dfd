/* trials.c: see trials.h. */
#include "trials.h"

#include "../measure.h"

enum { ROUND_NS = 2000000 };

static uint64_t run_timed(const struct trial *trial, uint64_t times, unsigned alignment) {
    uint64_t before = cli_now();
    trial->run[alignment](trial->what, times);
    return cli_now() - before;
}

/* Warms the loop up, and finds how often it runs in a round. */
static void find_times(struct trial *trial) {
    uint64_t ns = run_timed(trial, 1, 0);
    trial->times = 1;
    while (ns < ROUND_NS / 2) {
        uint64_t more = ns < ROUND_NS / 200 ? 10 : ROUND_NS / (ns + 1) + 1;
        trial->times *= more;
        ns = run_timed(trial, trial->times, 0);
    }
}

static void shuffle(struct trial **order, size_t count, uint64_t *random) {
    for (size_t n = count; n > 1; n--) {
        uint32_t other = draw_below(random, n);
        struct trial *kept = order[other];
        order[other] = order[n - 1];
        order[n - 1] = kept;
    }
}

void trials_run(struct trial *trials, size_t count, json_t *results, uint64_t *random) {
    struct trial *order[TRIALS_MOST];
    for (size_t n = 0; n < count; n++) {
        order[n] = &trials[n];
        find_times(&trials[n]);
    }
    for (size_t round = 0; round < TRIAL_ROUNDS; round++) {
        unsigned alignment = round % ALIGNMENTS;
        shuffle(order, count, random);
        for (size_t n = 0; n < count; n++) {
            struct trial *trial = order[n];
            if (trial->times > 1) trial->run[alignment](trial->what, trial->times); /* the caches are the others' */
            double ns = (double)run_timed(trial, trial->times, alignment);
            trial->ns[round] = ns / (trial->operations * (double)trial->times);
        }
    }
    for (size_t n = 0; n < count; n++) {
        struct trial *trial = &trials[n];
        results_add(results, trial->table, trial->where, trial->who, cli_quantile(trial->ns, TRIAL_ROUNDS, 0.5));
    }
}
