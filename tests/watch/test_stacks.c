/* with: src wraps: kolk_memory_commit_ kolk_stack_walk_ */
/* The table of stacks: each is stored once, by any number of threads, until the table is full. */
#include "../help/run_threads.h"
#include "../help/test.h"

#include "core/fail.h"
#include "os/memory.h"

#define DEPTH 3u
#define MANY  60000u /* more than there is room for */

static bool commit_refused;
static _Thread_local uintptr_t stack; /* the one that the next walk finds */
static _Thread_local size_t calls = DEPTH;

bool __real_kolk_memory_commit_(void *start, size_t size);
bool __wrap_kolk_memory_commit_(void *start, size_t size);
bool __wrap_kolk_memory_commit_(void *start, size_t size) {
    return !commit_refused && __real_kolk_memory_commit_(start, size);
}

void __wrap_kolk_stack_walk_(const void *site, const void **frames, size_t most);
void __wrap_kolk_stack_walk_(const void *site, const void **frames, size_t most) {
    REQUIRE(calls < most);
    frames[0] = site;
    for (size_t i = 1; i < calls; i++) frames[i] = (const void *)(stack * 100 + i);
    frames[calls] = NULL;
}

static const void *site_of(uintptr_t n) {
    return (const void *)(0x10000 + n % 10 * 8);
}

static kolk_kept_site_ keep(uintptr_t n) {
    stack = n + 1;
    return kolk_site_keep_(site_of(n), DEPTH);
}

/* Are these the calls of this stack? */
static bool is_kept(kolk_kept_site_ kept, uintptr_t n) {
    const void *const *frames = kolk_site_stack_(kept);
    if (!frames || kolk_site_address_(kept) != site_of(n) || frames[0] != site_of(n)) return false;
    for (size_t i = 1; i < DEPTH; i++)
        if (frames[i] != (const void *)((n + 1) * 100 + i)) return false;
    return frames[DEPTH] == NULL;
}

static void assert_alone(kolk_kept_site_ kept, const void *site) {
    assert_ptr_equal(kolk_site_address_(kept), site);
    assert_null(kolk_site_stack_(kept));
}

/* Without a stack, only the address is kept. */
static void test_nothing_to_write_down(void **state) {
    commit_refused = true;
    assert_alone(keep(0), site_of(0));
    commit_refused = false;
    assert_alone(kolk_site_keep_(NULL, DEPTH), NULL);
    assert_alone(kolk_site_keep_(site_of(0), 0), site_of(0));
    assert_alone(kolk_site_keep_(site_of(0), 1), site_of(0));
    calls = 1;
    assert_alone(keep(0), site_of(0));
    calls = DEPTH;
}

static kolk_kept_site_ kept[MANY];

/* Keeps stacks 0 to 999, each a few times, in the thread's own order. */
static void *keep_some(void *argument) {
    uintptr_t step = *(uintptr_t *)argument;
    for (uintptr_t i = 0; i < 5000; i++) {
        uintptr_t n = i * step % 1000;
        kolk_kept_site_ mine = keep(n), none = 0;
        REQUIRE(is_kept(mine, n));
        bool is_first = __atomic_compare_exchange_n(&kept[n], &none, mine, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        REQUIRE(is_first || none == mine); /* the same for all threads */
    }
    return NULL;
}

static void test_threads(void **state) {
    uintptr_t steps[] = {1, 3, 7, 999};
    run_threads(LENGTH_OF(steps), keep_some, steps, sizeof *steps);
}

/* Stacks stored before the table was full are always found; for later ones only the address is kept. */
static void test_full(void **state) {
    uintptr_t first_alone = MANY;
    for (uintptr_t n = 0; n < MANY; n++) {
        kept[n] = keep(n);
        if (!kolk_site_stack_(kept[n]) && first_alone == MANY) first_alone = n;
        if (n < first_alone)
            assert_true(is_kept(kept[n], n));
        else
            assert_alone(kept[n], site_of(n));
    }
    assert_true(first_alone > 40000 && first_alone < MANY);
    for (uintptr_t n = 0; n < MANY; n++) assert_true(keep(n) == kept[n]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_write_down),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
