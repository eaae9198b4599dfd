/* load.c: see load.h.
 *
 * A cycle is a small game: a quiet time, a rush with ten times as many objects, its end, threads that come and go, a
 * game that is saved, continued and loaded again. Blocks have different sizes in each cycle. One operation in a hundred
 * is a mistake that the pool must report and survive. The seed determines everything except when the fixed pools are
 * probed. That depends on time, but uses no random numbers. */
#include "load.h"
#include "../measure.h"

#include <inttypes.h>

static const struct phase {
    double from, to;
    uint32_t share; /* percent of the cycle's operations */
    bool threads, saved;
} phases[] = {
    {0.1, 0.1, 10, false, false}, {0.1, 1, 25, false, false},  {1, 1, 10, false, false},
    {1, 0.1, 25, false, false},   {0.1, 0.1, 10, true, false}, {0.1, 0.5, 20, false, true},
};

enum { PHASES = sizeof phases / sizeof *phases, BATCH = 64, GENERATION = 10000, TELL = 16384 };

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static void count_report(const kolk_failure *failure, void *context) {
    struct soak_load *load = context;
    (void)failure;
    atomic_fetch_add_explicit(&load->reports, 1, memory_order_relaxed);
}

static bool take_over(struct soak_load *load, const struct soak_problem *problem) {
    return !problem->text[0] || soak_wrong(&load->problem, problem->claim, "%s", problem->text);
}

bool soak_load_begin(struct soak_load *load, uint64_t seed) {
    *load = (struct soak_load){.random = {seed}};
    kolk_set_failure_handler(count_report, load);
    for (size_t n = 0; n < SOAK_KINDS; n++)
        if (!soak_store_begin(&load->stores[n], soak_kinds[n])) return take_over(load, &load->stores[n].problem);
    if (!soak_queue_begin(&load->queue)) return take_over(load, &load->queue.problem);
    if (!soak_resource_begin(&load->resource)) return take_over(load, &load->resource.problem);
    if (!soak_workers_begin(&load->workers)) return take_over(load, &load->workers.problem);
    return true;
}

void soak_load_end(struct soak_load *load) {
    for (size_t n = 0; n < SOAK_KINDS; n++) soak_store_end(&load->stores[n]);
    soak_queue_end(&load->queue);
    soak_resource_end(&load->resource);
    soak_workers_end(&load->workers);
    kolk_set_failure_handler(NULL, NULL);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static void turn(struct soak_load *load, double level) {
    struct soak_random *random = &load->random;
    uint32_t which = soak_below(random, 256);
    struct soak_store *store = &load->stores[soak_below(random, SOAK_KINDS)];
    struct soak_wish wish = {random, level, load->cycles, load->times};
    if (which < 4) {
        soak_resource_turn(&load->resource, random);
    } else if (which < 20) {
        soak_queue_turn(&load->queue, random);
    } else if (soak_below(random, 100) == 0) {
        uint64_t before = store->counts.misuses;
        soak_store_misuse(store, random);
        load->misuses += store->counts.misuses - before;
    } else {
        soak_store_turn(store, &wish);
    }
}

void soak_load_probe(struct soak_load *load) {
    for (size_t n = load->probes;; n++) {
        struct soak_store *store = &load->stores[n % SOAK_KINDS];
        if (!store->kind->fixed) continue;
        soak_store_probe(store);
        break;
    }
    load->probes++;
}

static void save_or_restore(struct soak_load *load, bool save) {
    for (size_t n = 0; n < SOAK_KINDS; n++) {
        struct soak_store *store = &load->stores[n];
        if (!store->kind->saved || load->problem.text[0]) continue;
        bool done = save ? soak_store_save(store) : soak_store_restore(store);
        if (!done) take_over(load, &store->problem);
    }
}

static void run_phase(struct soak_load *load, const struct phase *phase, void (*tell)(void *), void *context) {
    uint32_t count = SOAK_CYCLE / 100 * phase->share;
    if (phase->saved) save_or_restore(load, true);
    for (uint32_t n = 0; n < count && !load->problem.text[0]; n++) {
        turn(load, phase->from + (phase->to - phase->from) * n / count);
        if (phase->threads && n % GENERATION == 0)
            soak_workers_live(&load->workers, &load->stores[5], &load->stores[6], &load->random);
        if (load->probe_every > 0 && n % BATCH == 0 && cli_now() >= load->next_probe) {
            load->next_probe += load->probe_every;
            soak_load_probe(load);
        }
        if (n % TELL == 0) tell(context);
    }
    if (phase->saved) save_or_restore(load, false);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

bool soak_load_check(struct soak_load *load) {
    uint64_t reports = atomic_load_explicit(&load->reports, memory_order_relaxed);
    for (size_t n = 0; n < SOAK_KINDS; n++)
        if (!soak_store_check(&load->stores[n])) take_over(load, &load->stores[n].problem);
    if (!soak_queue_check(&load->queue)) take_over(load, &load->queue.problem);
    if (!soak_resource_check(&load->resource)) take_over(load, &load->resource.problem);
    if (!soak_workers_check(&load->workers)) take_over(load, &load->workers.problem);
    if (reports != load->misuses)
        soak_wrong(&load->problem, SOAK_REPORTS, "of %" PRIu64 " mistakes, %" PRIu64 " were reported", load->misuses,
                   reports);
    return !load->problem.text[0];
}

bool soak_load_cycle(struct soak_load *load, void (*tell)(void *context), void *context) {
    for (size_t n = 0; n < PHASES && !load->problem.text[0]; n++) run_phase(load, &phases[n], tell, context);
    load->cycles++;
    kolk_heap_trim(&load->stores[6].in.heap); /* it keeps the last second's memory, which varies with speed */
    return soak_load_check(load);
}
