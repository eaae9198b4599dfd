/* runs: long once with: KOLK_CHAOS=1 wraps: heap/counted_memory.h */
/* Two tests stop another thread at each step of its work on large blocks.
 *
 * The first forks: in each child, every block that the other thread did not touch exists once, with its contents. A
 * walk finds no other blocks except those that the other thread did touch. All can be freed and others allocated. In
 * the end only the memory that the other thread was working on is lost.
 *
 * The second works on the same table: if two threads find it full, it grows only once, and it has room for blocks that
 * are being resized. */
#include "../help/test.h"

#include "heap/large.h"

#include "../help/child.h"
#include "../help/stopped.h"
#include "counted_memory.h"

enum { MINE = 40, THEIRS = 5, FULL = 48 }; /* of the table's 64 places */

static kolk_large_ large;
static size_t page;
static void *mine[2 * MINE], *theirs[THEIRS];
static unsigned n_mine;

static bool keeps; /* pages of freed blocks are kept for others */

static bool is_unlocked(void) {
    return large.lock == 0 && large.spares.lock == 0;
}

/* ---- The child --------------------------------------------------------------------------------------------------- */

static void check_mine(unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        REQUIRE(kolk_large_size_(&large, mine[i]) == page);
        REQUIRE(*(unsigned *)mine[i] == i);
    }
}

static size_t walk(void) {
    size_t n = 0, last = 0, inside;
    for (void *at; (at = kolk_large_next_(&large, last)); last = (uintptr_t)at, n++)
        REQUIRE(kolk_large_locate_(&large, at, &inside) == at && inside == 0);
    return n;
}

/* Begins with a different operation in each child, because only the first operation finds the table as the fork left
 * it. */
static void live_on(void *order) {
    END_IF_IT_HANGS();
    if (*(unsigned *)order % 3 == 0) check_mine(n_mine);
    if (*(unsigned *)order % 3 == 1 && n_mine) REQUIRE(kolk_large_free_(&large, mine[--n_mine]));
    size_t seen = walk();
    REQUIRE(seen >= n_mine && seen <= n_mine + THEIRS + 1);
    REQUIRE(large.count == seen);
    REQUIRE(kolk_large_is_valid_(&large));
    check_mine(n_mine);
    for (unsigned i = 0; i < 100; i++) {
        void *block = kolk_large_alloc_(&large, 16, page);
        REQUIRE(block);
        REQUIRE(i % 2 || kolk_large_free_(&large, block));
    }
    check_mine(n_mine);
    for (unsigned i = 0; i < n_mine; i++) REQUIRE(kolk_large_free_(&large, mine[i]));
    for (unsigned i = 0; i < n_mine; i++) REQUIRE(!kolk_large_free_(&large, mine[i]));
    REQUIRE(kolk_large_is_valid_(&large) && walk() == seen - n_mine + 50);
    kolk_large_end_(&large);
    REQUIRE(memory.held <= 20 * page); /* including a table */
}

static unsigned step;

static void fork_now(void) {
    char text[1000];
    int status = run_child(live_on, &step, text, sizeof text);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("step %u, %u mine: %s", step, n_mine, text);
}

static int find_page(void **state) {
    page = kolk_memory_page_();
    return make_semaphores(state);
}

/* ---- What the other thread does ---------------------------------------------------------------------------------- */

static void alloc_one(void) {
    can_be_stopped = true;
    REQUIRE(theirs[0] = kolk_large_alloc_(&large, 16, page));
}

static void free_some(void) {
    can_be_stopped = true;
    for (unsigned i = 0; i < THEIRS; i++) REQUIRE(kolk_large_free_(&large, theirs[i]));
}

static void resize_some(void) {
    can_be_stopped = true;
    for (unsigned i = 0; i < THEIRS; i++)
        REQUIRE(theirs[i] = kolk_large_resize_(&large, theirs[i], kolk_large_size_(&large, theirs[i]), (i + 2) * page));
}

/* ---- Each step --------------------------------------------------------------------------------------------------- */

static void stop_everywhere(const char *name, unsigned n, unsigned n_theirs, void (*act)(void),
                            void (*meanwhile)(void)) {
    bool more = true;
    unsigned stops = 0, apart = steps_apart();
    for (step = first_step(); more; step += apart) {
        large.keeps = keeps;
        for (unsigned i = 0; i < n_theirs; i++) assert_non_null(theirs[i] = kolk_large_alloc_(&large, 16, page));
        for (n_mine = 0; n_mine < n; n_mine++) {
            assert_non_null(mine[n_mine] = kolk_large_alloc_(&large, 16, page));
            *(unsigned *)mine[n_mine] = n_mine;
        }
        more = stop_at_step(step, act, meanwhile);
        stops += more;
        assert_true(kolk_large_is_valid_(&large));
        check_mine(n_mine);
        kolk_large_end_(&large);
        assert_int_equal(memory.held, 0);
    }
    print_message("%s, beside %u: stopped %u times\n", name, n, stops);
    assert_true(step - apart > 3);
}

static void test_forks(void **state) {
    for (unsigned round = 0; round < 2; round++) {
        keeps = round;
        for (unsigned n = MINE; n <= MINE + 3; n++) {
            stop_everywhere("alloc", n, 0, alloc_one, fork_now);
            stop_everywhere("free", n, THEIRS, free_some, fork_now);
            stop_everywhere("resize", n, THEIRS, resize_some, fork_now);
        }
        stop_everywhere("alloc that makes the table", 0, 0, alloc_one, fork_now);
        stop_everywhere("alloc that lets the table grow", FULL, 0, alloc_one, fork_now);
    }
}

static void alloc_some_more(void) {
    for (unsigned i = 0; i < 10; i++) {
        assert_non_null(mine[n_mine] = kolk_large_alloc_(&large, 16, page));
        *(unsigned *)mine[n_mine] = n_mine;
        n_mine++;
        assert_true(kolk_large_is_valid_(&large));
    }
}

static void test_work_at_the_same_table(void **state) {
    has_changed = is_unlocked; /* while a lock is taken, other threads could do nothing but wait for it */
    stop_everywhere("alloc that makes the table", 0, 0, alloc_one, alloc_some_more);
    stop_everywhere("alloc that lets the table grow", FULL, 0, alloc_one, alloc_some_more);
    for (unsigned n = MINE - 10; n <= MINE; n++) stop_everywhere("resize", n, THEIRS, resize_some, alloc_some_more);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_forks, abort_on_failure),
                                       cmocka_unit_test_teardown(test_work_at_the_same_table, abort_on_failure)};
    return cmocka_run_group_tests(tests, find_page, NULL);
}
