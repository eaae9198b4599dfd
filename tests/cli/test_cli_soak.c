/* The load of the soak test: each fault is found, with its sentence, and the seed determines all. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "soak/load.h"

static struct soak_load load;

static void nothing(void *context) {
    (void)context;
}

static void run_a_cycle(uint64_t seed) {
    setenv("KOLK_BYPASS", "0", 1);
    if (!soak_load_begin(&load, seed) || !soak_load_cycle(&load, nothing, NULL)) fail_msg("%s", soak_problem.text);
    assert_int_equal(load.cycles, 1);
}

static void test_a_cycle_goes_by_the_seed(void **state) {
    (void)state;
    uint64_t after[2];
    for (int n = 0; n < 2; n++) {
        run_a_cycle(7);
        assert_true(load.threads > 0 && load.restores == 3 && load.stores[0].refused > 0 && load.misuses > 0);
        after[n] = load.random + load.allocs + load.frees;
        soak_load_end(&load);
    }
    assert_int_equal(after[0], after[1]);
}

/* ---- Faults ------------------------------------------------------------------------------------------------------ */

/* `sentence`: its beginning, and behind "|" another part of it. */
static void assert_found(enum soak_claim claim, const char *sentence) {
    size_t begin = strcspn(sentence, "|");
    assert_false(soak_load_check(&load));
    if (strncmp(soak_problem.text, sentence, begin) != 0 || !strstr(soak_problem.text, sentence + begin + 1))
        fail_msg("%s", soak_problem.text);
    assert_int_equal(soak_problem.claim, claim);
    soak_problem.found = false;
}

static void test_flipped_bits_are_found(void **state) {
    (void)state;
    run_a_cycle(8);
    const struct soak_store *bytemap = &load.stores[4], *heap = &load.stores[6];
    char *last = (char *)soak_find(heap, heap->book[3].name) + heap->book[3].size - 1;
    const struct {
        void *byte;
        enum soak_claim claim;
        const char *sentence;
    } bits[] = {
        {&load.stores[0].refused, SOAK_COUNTS, "soak.fixed: counts | allocs that gave NULL, and the load "},
        {soak_find(bytemap, bytemap->book[3].name), SOAK_WHOLE,
         "soak.bytemap: |an object does not hold what was written to it"},
        {last, SOAK_WHOLE, "soak.heap: |an object does not hold what was written to it"},
        {&load.stores[1].in.pool.aside, SOAK_VALID, "soak.lowest: |its is_valid says no"},
        {&load.misuses, SOAK_REPORTS, "of | were reported"},
        {&load.queue.refused, SOAK_COUNTS, "soak.queue: counts | pushes that found no room, and the load "},
        {&load.queue.pushed, SOAK_COUNTS, "soak.queue: counts | items, and the load "},
        {&load.resource.created, SOAK_COUNTS, "soak.resource: |creations: it counts "},
    };
    for (size_t n = 0; n < sizeof bits / sizeof *bits; n++) {
        *(unsigned char *)bits[n].byte ^= 1;
        assert_found(bits[n].claim, bits[n].sentence);
        *(unsigned char *)bits[n].byte ^= 1;
        if (!soak_load_check(&load)) fail_msg("%s", soak_problem.text);
    }
    soak_load_end(&load);
}

static void test_lost_objects_are_found(void **state) {
    (void)state;
    uint64_t name;
    run_a_cycle(9);
    void *object = soak_alloc(&load.stores[0], SOAK_OBJECT, &name);
    assert_found(SOAK_COUNTS, "soak.fixed: counts | objects alive, and the load ");
    load.probes = 0; /* the first pool's turn */
    soak_load_probe(&load);
    assert_found(SOAK_ROOM, "soak.fixed: with | of 2000 objects alive, only ");
    load.stores[0].refused++; /* the probe's last alloc */
    soak_release(&load.stores[0], object);
    kolk_slotmap_remove(&load.stores[3].in.slotmap, (kolk_handle){load.stores[3].book[0].name});
    assert_found(SOAK_WHOLE, "soak.slotmap: |an object that was not freed is not found by its name");
    soak_load_end(&load);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Memory that goes up and down with the sizes, and grows by so many bytes in each cycle. */
static void test_growth_is_found(void **state) {
    (void)state;
    for (unsigned leak = 0; leak <= 64; leak += 16) {
        struct soak_memory memory = {0};
        double all, each;
        for (unsigned n = 1; n <= 720; n++) {
            assert_false(soak_growth(&memory, &all, &each) && n < 200);
            soak_watch(&memory, n, (n - 1) / 72, 1000000 + n % SOAK_PERIOD * 5000 + n * leak);
        }
        assert_true(soak_growth(&memory, &all, &each));
        assert_true(each == leak && all == leak * 576);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cycle_goes_by_the_seed),
        cmocka_unit_test(test_flipped_bits_are_found),
        cmocka_unit_test(test_lost_objects_are_found),
        cmocka_unit_test(test_growth_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
