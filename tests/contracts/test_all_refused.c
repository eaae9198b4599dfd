/* runs: not:qemu wraps: help/no_sites.h help/system_calls.h */
/* The system refuses memory to a pool of every kind in every mode: the n-th call fails, for n = 1, 2, 3 ... until the
 * operation succeeds; either that call alone, or all calls from then on. Nothing leaks, the pool stays unchanged and
 * valid, and works afterwards. */
#include "kinds.h"

#include "../help/no_sites.h"
#include "../help/system_calls.h"

#include "../../src/heap/leaves.h"
#include "../../src/os/forks.h"

/* Returns the least number of calls: reserving one block (two in debug mode), and committing each. A file is mapped by
 * one call. */
static unsigned least_calls(void) {
    if (strcmp(it->kind->member, "ipc") == 0) return 1;
    return stats_of_it().debug & ~(uint32_t)KOLK_DEBUG_BYPASS ? 4 : 2;
}

/* The addresses that heaps share are kept for the next heap, so they are released first. The page that tells forks
 * apart is kept for ever, so it is made first. */
static long addresses_in_use(void) {
    kolk_leaves_end_();
    kolk_forks_watch_();
    return address_space();
}

static void check_init(options with, bool for_ever) {
    for (unsigned nth = 1;; nth++) {
        long before = addresses_in_use();
        refuse(nth, for_ever);
        kolk_status status = init_it(with);
        unsigned calls = os.calls;
        refuse(0, false);
        if (status == KOLK_OK && nth <= calls && it->kind->can & TRIES_LESS) {
            end_it();
            assert_int_equal(addresses_in_use(), before);
            continue;
        }
        if (status == KOLK_OK) {
            assert_int_equal(nth, calls + 1);
            assert_true(calls >= least_calls());
            end_it();
            assert_int_equal(addresses_in_use(), before);
            return;
        }
        assert_int_equal(status, KOLK_NO_MEMORY);
        assert_true(it_is_zero());
        assert_int_equal(addresses_in_use(), before);
    }
}

static void test_init(void **state) {
    for (int n = 0; n < 4; n++)
        check_init((options){.object_size = OBJECT, .capacity = 100, .max_capacity = n / 2 ? 5000 : 0}, n % 2);
}

/* Sizes, counts and their products that wrap when they are rounded up, added or multiplied, in 32 or 64 bits. An init
 * refuses them, or the object is as large as it says. */
static void check_size(size_t object_size, uint32_t capacity, uint32_t max_capacity) {
    long before = addresses_in_use();
    if (init_it((options){.object_size = object_size, .capacity = capacity, .max_capacity = max_capacity}) == KOLK_OK) {
        unsigned char *object = it->kind->take ? (unsigned char *)it->kind->take(it) : NULL;
        if (object) object[0] = object[object_size - 1] = 1;
        kolk_stats stats = stats_of_it();
        if (it->kind->can & HANDLES) assert_in_range(stats.stride, object_size, (uint64_t)object_size + 4096);
        assert_in_range(stats.capacity, capacity, UINT32_MAX);
        if (object) it->kind->give(it, object);
        it->kind->end(it); /* its validity would be checked slot by slot */
    }
    assert_true(it_is_zero());
    assert_int_equal(addresses_in_use(), before);
}

static void test_sizes_at_the_limits(void **state) {
    static const size_t sizes[] = {SIZE_MAX,   SIZE_MAX / 2 + 1, SIZE_MAX / 4 + 1,
                                   UINT32_MAX, INT32_MAX,        (size_t)1 << 24};
    static const uint32_t counts[] = {1, 2, 255, 257, 4096, 65536, UINT32_C(1) << 30, INT32_MAX, UINT32_MAX};
    unsigned step = steps_apart() - first_step();
    if (strcmp(row_now->kind->member, "ipc") == 0) return; /* its deinit looks at each slot */
    for (unsigned n = 0; n < LENGTH_OF(sizes); n++)
        for (unsigned less = 0; less < 40; less += less < 18 ? 1 : 7)
            for (unsigned c = 0; c < LENGTH_OF(counts); c++) {
                if (step++ % steps_apart()) continue;
                check_size(sizes[n] - less, counts[c], 0);
                if (counts[c] > 1) check_size(sizes[n] - less, 1, counts[c] - less % 2);
            }
    for (unsigned shift = 0; shift < 32; shift++) /* products of about 2^32 */
        for (int more = -1; more <= 1; more++)
            check_size(((size_t)1 << shift) + (size_t)(shift > 1) * (size_t)more, UINT32_MAX >> shift, 0);
}

/* A pool in the caller's memory asks the system for nothing. */
static void test_nothing_to_refuse(void **state) {
    static _Alignas(16) unsigned char memory[10 * OBJECT];
    refuse(1, true);
    begin_it((options){.object_size = OBJECT, .capacity = 9, .memory = memory, .memory_size = sizeof memory});
    for (uint32_t i = 0; i < 9; i++) memset(take_one(), 'x', OBJECT);
    assert_null(it->kind->take(it));
    it->kind->clear(it);
    if (it->kind->trim) assert_int_equal(it->kind->trim(it), 0);
    end_it();
    assert_int_equal(os.calls, 0);
}

/* ---- Growth ------------------------------------------------------------------------------------------------------ */

static uint32_t *objects[100];
static uint32_t taken;

/* Takes all objects. */
static void fill_it(options with) {
    with.object_size = OBJECT;
    with.max_capacity = 5000;
    begin_it(with);
    for (taken = 0; taken < stats_of_it().capacity; taken++) {
        objects[taken] = (uint32_t *)take_one();
        for (size_t i = 0; i < OBJECT / sizeof(uint32_t); i++) objects[taken][i] = taken;
    }
}

/* One operation that needs more memory. */
typedef bool operation(void);

static bool by_take(void) {
    return it->kind->take(it);
}

static bool by_reserve(void) {
    return it->kind->reserve(it, 3000) == KOLK_OK;
}

static bool by_taking_a_far_one(void) {
    return it->kind->take_far(it);
}

static void assert_unchanged(const subject *before, const kolk_stats *said, bool counts) {
    kolk_stats stats = stats_of_it();
    assert_int_equal(stats.failed, counts);
    stats.failed = 0;
    assert_memory_equal(&stats, said, offsetof(kolk_stats, debug) + sizeof stats.debug);
    if (!it->kind->failed_at) return;
    subject as_it_is = *it;
    memset((char *)&as_it_is + it->kind->failed_at, 0, sizeof(uint64_t));
    assert_memory_equal(&as_it_is, before, it->kind->size);
}

static void check_growth(operation *grow, bool for_ever) {
    for (unsigned nth = 1;; nth++) {
        fill_it((options){.capacity = 50});
        const subject before = *it;
        const kolk_stats said = stats_of_it();
        refuse(nth, for_ever);
        bool done = grow();
        unsigned calls = os.calls;
        refuse(0, false);
        assert_is_valid();
        for (uint32_t i = 0; i < taken; i++) assert_true(is_stamped(objects[i], i));
        if (!done) {
            assert_unchanged(&before, &said, grow != by_reserve);
            assert_true(grow()); /* succeeds when nothing is refused */
            assert_is_valid();
        } else if (nth != calls + 1) { /* growth was retried with less, or pages had room */
            bool has_pages = strcmp(said.kind, "heap") == 0 || strcmp(said.kind, "shared") == 0;
            assert_true(has_pages || !for_ever);
            assert_true(has_pages || stats_of_it().capacity > taken);
        }
        static reports leaks;
        begin_reports(&leaks);
        end_it();
        if (done && nth == calls + 1) break;
        assert_true(nth < 100);
    }
}

static void test_growth(void **state) {
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        check_growth(by_take, for_ever);
        if (it->kind->reserve) check_growth(by_reserve, for_ever);
        if (it->kind->take_far) check_growth(by_taking_a_far_one, for_ever);
    }
}

/* If memory suffices for one more slot but not for twice as many, the pool grows by one slot. */
static void test_growth_takes_what_it_gets(void **state) {
    fill_it((options){.capacity = 50});
    refuse(1, false);
    take_one();
    assert_int_equal(stats_of_it().capacity, 51);
    refuse(0, false);
    take_one();
    assert_true(stats_of_it().capacity > 60);
    refuse(1, true);
    assert_int_equal(it->kind->reserve(it, 60), KOLK_OK); /* the pool already has that many slots */
    assert_int_equal(os.calls, 0);
    it->kind->clear(it);
    end_it();
}

/* The pool grows before it reuses slots from quarantine. If growth is refused, the take succeeds with the oldest slot
 * in quarantine. */
static void test_growth_while_slots_wait(void **state) {
    fill_it((options){.capacity = 3, .debug = "quarantine=2,fill"});
    give_one(objects[1]);
    give_one(objects[0]);
    refuse(1, true);
    assert_ptr_equal(take_one(), objects[1]);
    assert_ptr_equal(take_one(), objects[0]);
    assert_null(it->kind->take(it));
    refuse(0, false);
    assert_int_equal(stats_of_it().failed, 1);
    assert_int_equal(stats_of_it().capacity, taken);
    give_one(objects[2]);
    assert_ptr_equal(take_one(), moved(objects[0], (ptrdiff_t)(taken * stats_of_it().stride)));
    end_it();
}

/* A quarantine longer than the pool needs no more memory than one as long as the pool. */
static void test_a_quarantine_that_is_larger_than_the_pool(void **state) {
    long before = addresses_in_use();
    begin_it((options){.object_size = 8, .capacity = 3, .debug = "quarantine=4294967295"});
    assert_true(addresses_in_use() - before < 64);
    for (int i = 0; i < 9; i++) give_one(take_one());
    end_it();
    assert_int_equal(addresses_in_use(), before);
}

static int accept_and_plain(void **state) {
    refuse(0, false);
    return plain_environment(state);
}

/* The first pool of a process makes the registry allocate; these tests must not refuse that. */
static int make_first_pool(void **state) {
    plain_environment(state);
    return list_a_pool(state);
}

/* Makes the process record its first stack, which allocates memory that is kept: the unwinder's data and the table of
 * stacks. */
static void keep_first_stack(void) {
    kolk_pool pool;
    kolk_pool_init(&pool, &(kolk_pool_desc){.capacity = 1, .object_size = 8, .debug = "sites"});
    kolk_pool_free(&pool, kolk_pool_alloc(&pool));
    kolk_pool_deinit(&pool);
}

int main(void) {
    keep_first_stack();
    kolk_forks_watch_(); /* makes a page that is kept, and without which there is another way */
    static const contract contracts[] = {
        CONTRACT(test_init, 0, IN_EVERY_MODE),
        CONTRACT(test_sizes_at_the_limits, 0, IN(PLAIN)),
        CONTRACT(test_nothing_to_refuse, LENT, IN(PLAIN)),
        CONTRACT(test_growth, GROWS, IN_EVERY_MODE),
        CONTRACT(test_growth_takes_what_it_gets, DOUBLES, IN(PLAIN)),
        CONTRACT(test_growth_while_slots_wait, GROWS, IN(QUARANTINE)),
        CONTRACT(test_a_quarantine_that_is_larger_than_the_pool, TAKES, IN(QUARANTINE)),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), make_first_pool, accept_and_plain);
}
