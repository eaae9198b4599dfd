/* runs: slow not:asan */
/* Runs every sequence of up to 8 operations (6 with hooks, which can fail) on pools of 0 to 3 slots, for each order of
 * reuse, with and without generations, and compares with model.h. After each operation, the tree of sequences continues
 * from a copy of the pool's bytes, restored at the same address. At every node, renewals and operations that must
 * change nothing are tried too, but no sequence continues from them. Reads the length of the sequences from
 * KOLK_TEST_LENGTH in the environment, but keeps to these limits. promise: "A free and an alloc ... stays there" */
#define MODEL_SLOTS 4u
#include "../help/test.h"

#include "model.h"

#ifndef LENGTH
#define LENGTH            8u
#define LENGTH_WITH_HOOKS 6u
#endif
#define BLOCK 256u

typedef struct moment {
    model m;
    unsigned char block[BLOCK];
} moment;

static model now;
static moment past[LENGTH]; /* indexed by depth */
static uint64_t sequences;
static unsigned longest;

static void remember(unsigned depth) {
    past[depth].m = now;
    if (now.desc.memory) memcpy(past[depth].block, now.desc.memory, now.desc.memory_size);
}

static void go_back(unsigned depth) {
    now = past[depth].m;
    if (now.desc.memory) memcpy(now.desc.memory, past[depth].block, now.desc.memory_size);
}

/* Tries operations that must be refused at this node: each leaves every byte of the pool unchanged, except a
 * counter. */
static void try_what_is_refused(void) {
    kolk_pool before = now.pool;
    for (uint32_t slot = 0; slot < now.capacity; slot++) {
        void *object = model_object(&now, slot);
        if (now.places[slot] == LIVE) {
            model_alloc_at(&now, model_handle(&now, slot, 1));
            continue;
        }
        model_get(&now, model_handle(&now, slot, now.generations[slot]));
        model_assert(&now, kolk_pool_index(&now.pool, object) == NO_SLOT);
        model_assert(&now, kolk_handle_is_null(kolk_pool_handle_of(&now.pool, object)));
        model_assert(&now, now.taken.count == 2);
        now.taken.count = 0;
        kolk_pool_free(&now.pool, object);
        model_assert(&now, now.taken.count == 1);
        bool never = now.places[slot] == NEVER;
        model_assert(&now, now.taken.last.rule == (never ? KOLK_NEVER_ISSUED : KOLK_DOUBLE_FREE));
        now.taken.count = 0;
    }
    model_alloc_at(&now, model_handle(&now, now.capacity, 1));
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): padding is unchanged, too */
    model_assert(&now, memcmp(&before, &now.pool, sizeof before) == 0);
}

static void extend(unsigned depth);

/* Called after each operation: compares, tries all continuations, and undoes the operation. */
static void follow(unsigned depth) {
    sequences++;
    now.step = sequences;
    model_compare(&now, true);
    try_what_is_refused();
    extend(depth + 1);
    go_back(depth);
}

static void extend(unsigned depth) {
    if (depth == longest || (now.desc.life.setup && depth == LENGTH_WITH_HOOKS - does_a_part())) return;
    remember(depth);
    model_alloc(&now, depth % 2);
    follow(depth);
    if (now.desc.life.setup) {
        now.setup_fails = true;
        model_alloc(&now, false);
        now.setup_fails = false;
        follow(depth);
    }
    for (uint32_t n = 0; n < now.count; n++) {
        model_free(&now, model_live(&now, n), BY_POINTER);
        follow(depth);
        model_renew(&now, model_live(&now, n));
        model_compare(&now, true);
        go_back(depth);
    }
    if (now.desc.reuse == KOLK_REUSE_LOWEST) {
        model_alloc_run(&now, 2);
        follow(depth);
    }
    for (uint32_t slot = 0; slot < now.capacity; slot++) {
        if (now.places[slot] == LIVE) continue;
        model_alloc_slot(&now, slot, NULL);
        model_compare(&now, true);
        go_back(depth);
        if (!has_handles(&now)) continue;
        model_alloc_at(&now, model_handle(&now, slot, now.generations[slot] | 1));
        follow(depth);
    }
    if (now.fresh == 0) return; /* there are no slots to change */
    model_clear(&now);
    follow(depth);
    model_trim(&now);
    follow(depth);
}

static void test_every_sequence(void **state) {
    for (unsigned n = 0; n < 4 * 3 * 3 * 2; n++) {
        /* STRICT makes a difference only when slots are worn out. So few lives wear out a slot only in
         * test_pool_exhaustive_worn.c. */
        if (n / 12 % 3 == KOLK_GENERATIONS_STRICT && KOLK_GENERATION_MAX > LENGTH) continue;
        if (n % 4 == 0) continue;
        char what[80];
        memset(&now, 0, sizeof now);
        now.desc = (kolk_pool_desc){.name = "all", .object_size = 8, .capacity = n % 4};
        now.desc.reuse = (kolk_reuse)(n / 4 % 3);
        now.desc.generations = (kolk_generations)(n / 12 % 3);
        if (n / 36) {
            now.desc.life.setup = model_setup;
            now.desc.life.reset = model_reset;
            now.desc.life.teardown = model_teardown;
        }
        snprintf(what, sizeof what, "reuse %d, generations %d, %u slots%s", (int)now.desc.reuse,
                 (int)now.desc.generations, n % 4, n / 36 ? ", hooks" : "");
        now.what = what;
        model_init(&now, true);
        assert_true(now.desc.memory_size <= BLOCK);
        extend(0);
        model_deinit(&now);
    }
    print_message("%" PRIu64 " sequences\n", sequences);
    assert_true(sequences > 10000);
}

int main(void) {
    longest = (unsigned)number_from_environment("KOLK_TEST_LENGTH", LENGTH - does_a_part());
    if (longest > LENGTH) longest = LENGTH;
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_every_sequence, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
