/* runs: long once with: KOLK_CHAOS=1 */
/* The process forks before every atomic operation of another thread's work on a young heap. In each child the forking
 * thread continues: live blocks keep their contents, new blocks overlap none of them, every free is checked, and heaps
 * begin and end, with children and without. No damage to watched blocks is seen where there is none. The parent is not
 * affected. */
#include "../help/test.h"

#include "heap_forks.h"

enum { MINE = 30, MORE = 300, FEW = 40 };

static kolk_heap heap, child;
static unsigned char *mine[MINE], *more[MORE], *theirs[FEW];
static bool watches; /* it is malloc's heap, and its blocks are watched */

static size_t size_of(unsigned n) {
    return 16 + n * 37 % 500;
}

static void fill_all(kolk_heap *of, unsigned char **blocks, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (watches) of->root->nursery.watches = UINT32_MAX;
        blocks[i] = (unsigned char *)(watches ? kolk_heap_alloc_watched_(of, size_of(i), NULL)
                                              : kolk_heap_alloc(of, size_of(i)));
        REQUIRE(blocks[i]);
        memset(blocks[i], (int)i, size_of(i));
    }
}

static void check_all(kolk_heap *of, unsigned char **blocks, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        REQUIRE(kolk_heap_usable_size(of, blocks[i]) >= size_of(i));
        REQUIRE(all_bytes_are(blocks[i], size_of(i), (unsigned char)i));
    }
}

static void free_all(kolk_heap *of, unsigned char **blocks, unsigned n) {
    for (unsigned i = 0; i < n; i++) kolk_heap_free(of, blocks[i]);
}

/* ---- What is true in the child ----------------------------------------------------------------------------------- */

static void use_a_family(void) {
    kolk_heap parent, inner;
    REQUIRE(kolk_heap_init(&parent, &(kolk_heap_desc){.name = "parent", .limit = 1 << 20}) == KOLK_OK);
    REQUIRE(kolk_heap_init(&inner, &(kolk_heap_desc){.name = "inner", .parent = &parent}) == KOLK_OK);
    fill_all(&parent, more, 20);
    fill_all(&inner, more + 20, 20);
    check_all(&parent, more, 20);
    check_all(&inner, more + 20, 20);
    REQUIRE(kolk_heap_is_valid(&parent) && kolk_heap_is_valid(&inner));
    kolk_heap_deinit(&parent);
}

static void live_on(void *unused) {
    notes taken;
    END_IF_IT_HANGS();
    check_all(&heap, mine, MINE);
    use_a_family();
    fill_all(&heap, more, MORE);
    check_all(&heap, mine, MINE);
    check_all(&heap, more, MORE);
    REQUIRE(kolk_heap_is_valid(&heap));
    begin_notes(&taken);
    free_all(&heap, more, MORE);
    REQUIRE(taken.count == 0);
    free_all(&heap, more, MORE);
    REQUIRE(taken.count == MORE);
    kolk_set_failure_handler(NULL, NULL);
    REQUIRE(kolk_heap_is_valid(&heap));
    free_all(&heap, mine, MINE);
    kolk_heap_deinit(&heap);
    REQUIRE(all_bytes_are(&heap, sizeof heap, 0));
    use_a_family();
    REQUIRE(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "again"}) == KOLK_OK);
    fill_all(&heap, more, MORE);
    check_all(&heap, more, MORE);
    kolk_heap_deinit(&heap);
    _exit(0);
}

/* The heap is reset, which ends the children that the other thread may be making or ending. */
static void reset_it(void *unused) {
    END_IF_IT_HANGS();
    kolk_heap_reset(&heap);
    fill_all(&heap, more, MORE);
    check_all(&heap, more, MORE);
    REQUIRE(kolk_heap_is_valid(&heap));
    kolk_heap_deinit(&heap);
    _exit(0);
}

/* malloc's heap serves its child. */
static void go_on_watched(void *unused) {
    END_IF_IT_HANGS();
    for (unsigned round = 0; round < 3; round++) {
        check_all(&heap, mine, MINE);
        fill_all(&heap, more, MORE);
        check_all(&heap, more, MORE);
        REQUIRE(kolk_heap_is_valid(&heap));
        free_all(&heap, more, MORE);
    }
    free_all(&heap, mine, MINE);
    REQUIRE(kolk_heap_is_valid(&heap));
    _exit(0);
}

static void fork_now(void) {
    static void (*const lives[])(void *) = {live_on, reset_it, go_on_watched};
    for (unsigned n = watches ? 2 : 0; n < (watches ? 3 : 2); n++) assert_int_equal(fork_to(lives[n]), 0);
}

/* ---- What the other thread does ---------------------------------------------------------------------------------- */

static void first_blocks(void) {
    can_be_stopped = true;
    fill_all(&heap, theirs, 8);
    free_all(&heap, theirs, 8);
}

/* Fills several runs, and empties them from the oldest on, so that they are returned. */
static void runs_that_come_and_go(void) {
    fill_all(&heap, theirs, FEW / 2);
    can_be_stopped = true;
    fill_all(&heap, theirs + FEW / 2, FEW / 2);
    free_all(&heap, theirs, FEW);
}

static void nothing(void *unused) {}

static void child_heap(void) {
    can_be_stopped = true;
    REQUIRE(kolk_heap_init(&child, &(kolk_heap_desc){.name = "child", .parent = &heap}) == KOLK_OK);
    REQUIRE(kolk_heap_on_end(&child, nothing, NULL));
    fill_all(&child, theirs, 3);
    kolk_heap_deinit(&child);
}

static void child_of_many(void) {
    static kolk_heap others[3];
    for (unsigned n = 0; n < 3; n++)
        REQUIRE(kolk_heap_init(&others[n], &(kolk_heap_desc){.name = "other", .parent = &heap}) == KOLK_OK);
    can_be_stopped = true;
    kolk_heap_deinit(&others[1]);
    kolk_heap_deinit(&others[0]);
    kolk_heap_deinit(&others[2]);
}

static void functions(void) {
    can_be_stopped = true;
    for (unsigned n = 0; n < 60; n++) REQUIRE(kolk_heap_on_end(&heap, nothing, NULL));
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static void fork_everywhere(const char *name, void (*act)(void)) {
    bool goes_on = true;
    unsigned apart = steps_apart(), forks = 0;
    deed_name = name;
    for (step = first_step(); goes_on; step += apart, forks++) {
        kolk_heap_desc desc = {.name = "heap"};
        assert_int_equal(watches ? kolk_heap_init_for_malloc_(&heap, &desc) : kolk_heap_init(&heap, &desc), KOLK_OK);
        fill_all(&heap, mine, MINE);
        goes_on = stop_at_step(step, act, fork_now);
        assert_true(kolk_heap_is_valid(&heap));
        check_all(&heap, mine, MINE);
        end_heap(&heap);
    }
    print_message("%s: %u forks\n", name, forks - 1);
    assert_true(step - apart > 9);
}

static void test_each_step(void **state) {
    fork_everywhere("first blocks", first_blocks);
    fork_everywhere("runs that come and go", runs_that_come_and_go);
    fork_everywhere("a child", child_heap);
    fork_everywhere("a child of many", child_of_many);
    fork_everywhere("functions for the end", functions);
    watches = true;
    fork_everywhere("watched blocks", first_blocks);
    fork_everywhere("watched runs", runs_that_come_and_go);
    watches = false;
}

int main(void) {
    END_IF_IT_HANGS();
    if (sizeof(void *) < 8) return 0; /* there are no heaps on 32-bit machines */
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {TEST(test_each_step)};
    return cmocka_run_group_tests(tests, make_semaphores, NULL);
}
