/* runs: not:qemu not:wine wraps: help/system_calls.h */
/* The registry: which pools it lists, its records of ended pools, forks, and the end of a program. */
#include "../help/test.h"

#include "../help/fakes.h"
#include "../help/listed.h"
#include "../help/system_calls.h"

#include <pthread.h>
#include <stdatomic.h>

/* Refuses the n-th call, counted from the next one; 0 refuses none. */
static void refuse_nth_call(unsigned n) {
    memset(&os, 0, sizeof os);
    os.refused_from = n;
}

/* The low part of a number is the entry; the rest counts the entry's earlier pools. */
static uint32_t entry_of_number(uint32_t number) {
    return number & 0xfffff;
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* promise: base.h "Writes the statistics ... empty one" */
static void test_named_pools_are_listed(void **state) {
    fake a, b, c, nameless;
    assert_string_equal(listed(NULL), "");
    add_fake(&a, "a");
    add_fake(&b, "b");
    add_fake(&nameless, "");
    add_fake(&c, "c");
    assert_string_equal(listed(NULL), "a b c ");
    remove_fake(&b);
    remove_fake(&nameless);
    assert_string_equal(listed(NULL), "a c ");
    add_fake(&nameless, "");
    add_fake(&b, "b"); /* takes a released entry */
    remove_fake(&a);
    remove_fake(&c);
    assert_string_equal(listed(NULL), "b ");
    remove_fake(&nameless);
    remove_fake(&b);
    assert_string_equal(listed(NULL), "");
    kolk_registry_remove_(0);
    assert_string_equal(listed(NULL), "");
}

/* When kolk's library is unloaded, the list's memory is released, unless pools are still listed. */
static void test_the_list_ends(void **state) {
    enum { MANY = 3000 }; /* more than the lists of addresses at first */
    static fake all[MANY];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned n = 0; n < MANY; n++) add_fake(&all[n], n ? "" : "first");
        kolk_registry_end_();
        assert_string_equal(listed(NULL), "first ");
        for (unsigned n = 1; n < MANY; n++) remove_fake(&all[n]);
        kolk_registry_end_();
        assert_string_equal(listed(NULL), "first ");
        assert_true(kolk_registry_is_home_(&all[0], all[0].mark));
        remove_fake(&all[0]);
        for (unsigned twice = 0; twice < 2; twice++) kolk_registry_end_();
        assert_string_equal(listed(NULL), "");
        assert_false(kolk_registry_is_home_(&all[0], 1));
        kolk_registry_remove_(1);
    }
}

/* A pool was never deinitialised, and its storage was reused for something else. */
static void test_what_has_gone_without_a_word_is_not_listed(void **state) {
    fake gone, other;
    add_fake(&gone, "gone");
    add_fake(&other, "other");
    uint32_t number = gone.mark;
    memset(&gone, 0, sizeof gone);
    assert_string_equal(listed(NULL), "other ");
    memset(&gone, 0xff, sizeof gone);
    assert_string_equal(listed(NULL), "other ");
    add_fake(&gone, "again"); /* at the same address */
    assert_int_not_equal(gone.mark, number);
    assert_string_equal(listed(NULL), "other again ");
    remove_fake(&gone);
    remove_fake(&other);
    gone.mark = number; /* tidies up */
    remove_fake(&gone);
    assert_string_equal(listed(NULL), "");
}

static void test_a_pool_is_written_to_in_add_only(void **state) {
    struct {
        unsigned char before[64];
        fake pool;
        unsigned char after[64];
    } it, copy;
    memset(&it, 0x5a, sizeof it);
    fill_fake(&it.pool, "still");
    memcpy(&copy, &it, sizeof it);
    kolk_registry_add_(&it.pool, &it.pool.mark, &fake_kind, false);
    copy.pool.mark = it.pool.mark;
    assert_memory_equal(&it, &copy, sizeof it);
    assert_string_equal(listed(NULL), "still ");
    kolk_registry_remove_(it.pool.mark);
    assert_memory_equal(&it, &copy, sizeof it);
}

/* The array is only as long as the peak number of pools: every entry's number lies in 1 ... peak. */
static void test_numbers_are_used_again(void **state) {
    enum { MOST = 3000 };
    static fake pools[MOST];
    static bool taken[MOST + 1];
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 7), random = seed;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    for (unsigned step = 0; step < 100000; step++) {
        fake *pool = &pools[random_below(&random, MOST)];
        if (pool->mark) {
            taken[entry_of_number(pool->mark)] = false;
            remove_fake(pool);
        } else {
            add_fake(pool, "one of many");
            assert_in_range(entry_of_number(pool->mark), 1, MOST);
            assert_false(taken[entry_of_number(pool->mark)]);
            taken[entry_of_number(pool->mark)] = true;
        }
    }
    kolk_records_ records = {0};
    kolk_registry_collect_(&records);
    uint32_t there = 0, seen = 0;
    for (size_t i = 0; i < MOST; i++) there += pools[i].mark != 0;
    for (const kolk_record_ *at = records.first; at; at = at->next) seen += at->pools;
    assert_int_equal(seen, there);
    kolk_records_release_(&records);
    for (size_t i = 0; i < MOST; i++) remove_fake(&pools[i]);
}

/* A pool beyond the registry's capacity is not listed, and otherwise works. */
static void test_a_full_registry(void **state) {
    static uint32_t numbers[1000000];
    fake pool, more;
    uint32_t n = 0;
    fill_fake(&pool, "");
    for (kolk_registry_add_(&pool, &pool.mark, &fake_kind, false); pool.mark; n++) {
        numbers[n] = pool.mark;
        kolk_registry_add_(&pool, &pool.mark, &fake_kind, false);
    }
    assert_int_equal(n, sizeof(void *) == 8 ? 190650 : 233016); /* 16 MiB of 88 or 72 bytes each */
    fill_fake(&more, "more");
    refuse_nth_call(0);
    kolk_registry_add_(&more, &more.mark, &fake_kind, false);
    assert_int_equal(more.mark, 0);
    assert_int_equal(os.calls, 0); /* the memory after the array belongs to others */
    remove_fake(&more);
    kolk_registry_remove_(numbers[77]);
    add_fake(&more, "more");
    assert_int_equal(entry_of_number(more.mark), entry_of_number(numbers[77]));
    assert_int_not_equal(more.mark, numbers[77]);
    kolk_registry_remove_(numbers[77]); /* that pool is gone */
    assert_string_equal(listed(NULL), "more ");
    remove_fake(&more);
    for (uint32_t i = 0; i < n; i++) kolk_registry_remove_(numbers[i]);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static void test_lives_of_one_pool_are_merged(void **state) {
    kolk_records_ records = {0};
    const kolk_stats lives[] = {
        {"a", "fake", 8, 8, 1, 10, 30, 40, 999, 500, 400, 1, 2, 3, 6, 4, 5, 7, KOLK_DEBUG_FILL},
        {"a", "fake", 8, 16, 2, 40, 50, 60, 80, 900, 300, 10, 20, 30, 60, 40, 50, 70, KOLK_DEBUG_SITES},
        {"a", "fake", 8, 8, UINT32_MAX, 5, 20, 100, 80, 100, 600, 100, 200, 300, 600, UINT32_MAX, UINT32_MAX - 55,
         UINT32_MAX - 76, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(lives); i++) kolk_records_add_(&records, &lives[i], KOLK_RECORD_ENDED_);
    const kolk_stats *all = &records.first->stats;
    assert_null(records.first->next);
    assert_string_equal(all->name, "a");
    assert_string_equal(all->kind, "fake");
    assert_int_equal(all->object_size, 8);
    assert_int_equal(all->stride, 16);
    assert_int_equal(all->count, UINT32_MAX); /* saturates */
    assert_int_equal(all->peak, 40);
    assert_int_equal(all->capacity, 50);
    assert_int_equal(all->max_capacity, 100);
    assert_int_equal(all->unused_bytes, (50 - 40) * 16);
    assert_int_equal(all->bytes_reserved, 900);
    assert_int_equal(all->bytes_committed, 600);
    assert_int_equal(all->failed, 111);
    assert_int_equal(all->evictions, 222);
    assert_int_equal(all->wrong_pool, 333);
    assert_int_equal(all->waits, 666);
    assert_int_equal(all->waiting, UINT32_MAX);
    assert_int_equal(all->worn_out, UINT32_MAX);
    assert_int_equal(all->recycled, UINT32_MAX);
    assert_int_equal(all->debug, KOLK_DEBUG_FILL | KOLK_DEBUG_SITES);
    kolk_records_release_(&records);
}

/* Pools with different names, kinds or sizes are not merged; `nth` depends on name and kind only. */
static void test_what_is_not_merged(void **state) {
    static const struct {
        const char *name, *kind;
        uint64_t size;
        uint32_t nth, nth_unmerged;
    } rows[] = {{"a", "fake", 8, 1, 1},  {"b", "fake", 8, 1, 1}, {"a", "other", 8, 1, 1}, {"a", "fake", 9, 2, 2},
                {"a", "fake", 10, 3, 3}, {"a", "fake", 9, 0, 4}, {"a", "other", 8, 0, 2}, {"aa", "fake", 8, 1, 1}};
    for (int merge = 0; merge < 2; merge++) {
        kolk_records_ records = {0};
        for (size_t i = 0; i < LENGTH_OF(rows); i++)
            kolk_records_add_(&records,
                              &(kolk_stats){.name = rows[i].name, .kind = rows[i].kind, .object_size = rows[i].size},
                              merge ? KOLK_RECORD_ENDED_ : KOLK_RECORD_ALONE_);
        const kolk_record_ *at = records.first;
        for (size_t i = 0; i < LENGTH_OF(rows); i++) {
            if (merge && rows[i].nth == 0) continue;
            assert_string_equal(at->stats.name, rows[i].name);
            assert_string_equal(at->stats.kind, rows[i].kind);
            assert_int_equal(at->stats.object_size, rows[i].size);
            assert_int_equal(at->nth, merge ? rows[i].nth : rows[i].nth_unmerged);
            at = at->next;
        }
        assert_null(at);
        kolk_records_release_(&records);
    }
}

/* Live pools of one name have separate rows, because the sum of their counts and the greatest of their peaks would
 * describe no pool. Ended pools are merged into one of these rows. */
static void test_living_pools_of_one_name(void **state) {
    kolk_records_ records = {0};
    static const struct {
        uint32_t count, peak;
        kolk_record_of_ of;
    } lives[] = {{35, 35, KOLK_RECORD_ENDED_}, {25, 30, KOLK_RECORD_ENDED_},  {10, 20, KOLK_RECORD_LIVING_},
                 {7, 40, KOLK_RECORD_LIVING_}, {50, 60, KOLK_RECORD_LIVING_}, {3, 3, KOLK_RECORD_ENDED_}};
    static const uint32_t expected[][3] = {{35, 35, 3}, {7, 40, 1}, {50, 60, 1}, {3, 3, 1}};
    for (size_t i = 0; i < LENGTH_OF(lives); i++) {
        const kolk_stats stats = {
            .name = "a", .kind = "fake", .count = lives[i].count, .peak = lives[i].peak, .failed = 1};
        kolk_records_add_(&records, &stats, lives[i].of);
    }
    const kolk_record_ *at = records.first;
    for (uint32_t i = 0; i < LENGTH_OF(expected); i++, at = at->next) {
        assert_int_equal(at->stats.count, expected[i][0]);
        assert_int_equal(at->stats.peak, expected[i][1]);
        assert_int_equal(at->stats.failed, expected[i][2]);
        assert_int_equal(at->nth, i + 1);
    }
    assert_null(at);
    kolk_records_release_(&records);
}

/* If many pools have one name, they share a row, which has their sums. Others keep their rows and the order. */
static void test_groups(void **state) {
    for (uint32_t many = 1; many < 1000; many = many < 120 ? many + 1 : many * 3) {
        kolk_records_ records = {0};
        for (uint32_t i = 0; i < many; i++) {
            kolk_records_add_(&records,
                              &(kolk_stats){.name = "request",
                                            .kind = "heap",
                                            .count = i,
                                            .peak = 2 * i,
                                            .capacity = 3,
                                            .failed = 1,
                                            .bytes_committed = 4},
                              KOLK_RECORD_LIVING_);
            if (i == 2 || i == 11)
                kolk_records_add_(&records, &(kolk_stats){.name = "store", .kind = "heap", .count = i},
                                  KOLK_RECORD_LIVING_);
            if (i == 3 || i == 10)
                kolk_records_add_(&records, &(kolk_stats){.name = "request", .kind = "pool", .count = i},
                                  KOLK_RECORD_LIVING_);
        }
        const kolk_record_ *at = records.first;
        uint32_t rows = 0, pools = 0, requests = 0, sum = 0, peaks = 0;
        for (; at; at = at->next) {
            rows++;
            if (strcmp(at->stats.name, "request") != 0 || strcmp(at->stats.kind, "heap") != 0) continue;
            requests++;
            pools += at->pools;
            sum += at->stats.count;
            peaks += at->stats.peak;
            assert_int_equal(at->stats.failed, at->pools);
            assert_int_equal(at->stats.capacity, 3 * at->pools);
            assert_int_equal(at->stats.bytes_committed, 4 * at->pools);
            if (many > KOLK_RECORDS_ALIKE_) assert_ptr_equal(at, records.first);
        }
        assert_int_equal(requests, many > KOLK_RECORDS_ALIKE_ ? 1 : many);
        assert_int_equal(rows, requests + (many > 2) + (many > 11) + (many > 3) + (many > 10));
        assert_int_equal(pools, many);
        assert_int_equal(sum, many * (many - 1) / 2);
        assert_int_equal(peaks, many * (many - 1));
        assert_true(!records.last || !records.last->next);
        kolk_records_release_(&records);
    }
}

/* Thousands of names, one of them longer than a block. */
static void test_many_and_long_names(void **state) {
    enum { NAMES = 5000, LONG = 100000 };
    static char longest[LONG + 1];
    char name[20];
    kolk_records_ records = {0};
    memset(longest, 'n', LONG);
    for (unsigned life = 0; life < 2; life++) {
        for (unsigned i = 0; i < NAMES; i++) {
            snprintf(name, sizeof name, "pool %u", i);
            kolk_records_add_(&records, &(kolk_stats){.name = name, .kind = "fake", .failed = i}, KOLK_RECORD_ENDED_);
            if (i == 50)
                kolk_records_add_(&records, &(kolk_stats){.name = longest, .kind = "fake", .failed = 1},
                                  KOLK_RECORD_ENDED_);
        }
    }
    const kolk_record_ *at = records.first;
    for (unsigned i = 0; i < NAMES; i++, at = at->next) {
        snprintf(name, sizeof name, "pool %u", i);
        assert_string_equal(at->stats.name, name);
        assert_int_equal(at->stats.failed, 2 * i);
        if (i != 50) continue;
        at = at->next;
        assert_string_equal(at->stats.name, longest);
        assert_int_equal(at->stats.failed, 2);
    }
    assert_null(at);
    assert_int_equal(records.count, NAMES + 1);
    assert_true(records.count <= 2 * records.lists); /* each name is found after a few others */
    kolk_records_release_(&records);
    assert_true(all_bytes_are(&records, sizeof records, 0));
    assert_string_equal(kolk_records_copy_(&records, "it can be used again"), "it can be used again");
    kolk_records_release_(&records);
}

/* Beyond `most` records, ended pools of new names are summed up, each kind for itself. Names that have a record keep
 * it, and pools that exist get one. promise: base.h "at exit, writes statistics ... row with their sums" */
static void test_more_names_than_are_kept(void **state) {
    enum { MOST = 10, NAMES = 200 };
    char name[20];
    kolk_records_ records = {.most = MOST}, copy = {.most = MOST};
    kolk_records_add_(&records, &(kolk_stats){.name = KOLK_RECORD_REST_, .kind = "fake"}, KOLK_RECORD_ENDED_);
    for (unsigned life = 0; life < 2; life++)
        for (unsigned i = 1; i < NAMES; i++) {
            kolk_stats stats = {
                .name = name, .kind = i % 2 ? "fake" : "other", .object_size = 8, .count = i, .failed = 1};
            if (i % 2 == 0) stats.object_size += i;
            snprintf(name, sizeof name, "pool %u", i);
            kolk_records_add_(&records, &stats, KOLK_RECORD_ENDED_);
        }
    kolk_records_add_(&records, &(kolk_stats){.name = "alive", .kind = "fake"}, KOLK_RECORD_LIVING_);
    kolk_records_add_(&records, &(kolk_stats){.name = KOLK_RECORD_REST_, .kind = "fake"}, KOLK_RECORD_LIVING_);
    kolk_records_add_all_(&copy, &records);
    kolk_records_add_(&copy, &(kolk_stats){.name = "last", .kind = "fake", .object_size = 8, .failed = 1},
                      KOLK_RECORD_ENDED_);
    const kolk_record_ *at = copy.first->next;
    for (unsigned i = 1; i < MOST; i++, at = at->next) {
        snprintf(name, sizeof name, "pool %u", i);
        assert_string_equal(at->stats.name, name);
        assert_int_equal(at->stats.failed, 2);
        assert_int_equal(at->stats.count, i);
        assert_false(at->is_rest);
    }
    for (unsigned kind = 0; kind < 2; kind++, at = at->next) {
        uint32_t pools = 0, sum = 0;
        for (unsigned i = MOST; i < NAMES; i++)
            if (i % 2 == kind) pools += 2, sum += 2 * i;
        assert_string_equal(at->stats.name, KOLK_RECORD_REST_);
        assert_string_equal(at->stats.kind, kind ? "fake" : "other");
        assert_true(at->is_rest);
        assert_int_equal(at->stats.count, sum);
        assert_int_equal(at->pools, pools + kind); /* "last" */
        assert_int_equal(at->stats.failed, pools + kind);
        assert_int_equal(at->stats.object_size, kind ? 8 : 0);
        assert_int_equal(at->nth, kind ? 2 : 1);
    }
    assert_string_equal(at->stats.name, "alive");
    assert_null(at->next);
    assert_true(copy.first->lives && !copy.first->is_rest); /* the program's own pool of that name */
    kolk_records_release_(&records);
    kolk_records_release_(&copy);
}

/* ---- Memory that is refused -------------------------------------------------------------------------------------- */

static void play_refused_entries(const char *argument) {
    fake a, b;
    fill_fake(&a, "a");
    refuse_nth_call(1); /* reserve */
    a.mark = 5;
    kolk_registry_add_(&a, &a.mark, &fake_kind, false);
    assert_int_equal(a.mark, 0);
    refuse_nth_call(2); /* commit */
    kolk_registry_add_(&a, &a.mark, &fake_kind, false);
    assert_int_equal(a.mark, 0);
    assert_string_equal(listed(NULL), "");
    add_fake(&b, "b");
    assert_int_equal(entry_of_number(b.mark), 1);
    assert_string_equal(listed(NULL), "b ");
}

static void test_a_pool_that_there_is_no_memory_for_is_not_listed(void **state) {
    assert_ending(run_scenario("refused entries", NULL, NULL), 0, "");
}

static void play_refused_setting(const char *argument) {
    static fake pool;
    refuse_nth_call(1); /* the copy of the file's name */
    add_fake(&pool, "a");
}

/* Statistics whose destination fails are not written elsewhere. */
static void test_a_setting_that_there_is_no_memory_for(void **state) {
    assert_ending(run_scenario("refused setting", "text:/nowhere/at/all", NULL), 0, "");
}

/* A list that has no memory for a record continues without it. */
static void test_refused_records(void **state) {
    static char name[70000]; /* takes a block of its own */
    memset(name, 'n', sizeof name - 1);
    const kolk_stats stats = {.name = "a", .kind = "fake"}, large = {.name = name, .kind = "fake"};
    kolk_records_ records = {0};
    for (unsigned n = 1; n <= 2; n++) { /* reserve, commit */
        refuse_nth_call(n);
        kolk_records_add_(&records, &stats, KOLK_RECORD_ENDED_);
        assert_null(records.first);
        assert_null(records.last);
        kolk_records_add_(&records, &stats, KOLK_RECORD_ENDED_);
        assert_int_equal(records.first->nth, 1);
        refuse_nth_call(n);
        kolk_records_add_(&records, &large, KOLK_RECORD_ENDED_);
        assert_null(records.first->next);
        refuse_nth_call(n);
        assert_null(kolk_records_copy_(&records, name));
        kolk_records_add_(&records, &large, KOLK_RECORD_ENDED_);
        assert_string_equal(records.first->next->stats.name, name);
        kolk_records_release_(&records);
    }
    refuse_nth_call(0);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4 };

static atomic_bool enough;

static void *come_and_go(void *context) {
    fake *pool = context;
    while (!enough) {
        add_fake(pool, "restless");
        remove_fake(pool);
    }
    return NULL;
}

/* The lock is free in a child, whatever the parent's other threads were doing. */
static void test_forks_while_threads_are_at_work(void **state) {
    skip_on_windows();
    static fake pools[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &pools[i]), 0);
    for (unsigned n = 0; n < (does_a_part() ? 50 : 200); n++) {
        pid_t child = fork();
        if (child == 0) {
            fake pool;
            END_IF_IT_HANGS(); /* if the lock were held, the child would wait for ever */
            fill_fake(&pool, "child");
            kolk_registry_add_(&pool, &pool.mark, &fake_kind, false);
            kolk_registry_remove_(pool.mark);
            _exit(pool.mark == 0);
        }
        await_child(child);
    }
    enough = true;
    for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* ---- The end of a program ---------------------------------------------------------------------------------------- */

static void say_alive(const void *pool) {
    fprintf(stderr, "alive at exit: %s\n", ((const fake *)pool)->stats.name);
}

static const kolk_kind_ speaking = {.stats = fake_stats, .leaks = say_alive, .facts = fake_facts, .size = sizeof(fake)};

static void add_speaking_kind(fake *pool, const char *name, const kolk_kind_ *kind) {
    fill_fake(pool, name);
    pool->stats.debug = KOLK_DEBUG_SITES;
    kolk_registry_add_(pool, &pool->mark, kind, false);
}

static void add_speaking(fake *pool, const char *name) {
    add_speaking_kind(pool, name, &speaking);
}

static const char table[] = "name  kind  size  alive  peak  capacity  failed  bytes\n"
                            "a     fake    11     13    14        15      20     19\n"
                            "b     fake    11     13    14        15      20     19\n";

static fake ending_a, ending_b, ending_gone, ending_silent, ending_without_sites;

static void play_ending(const char *argument) {
    add_speaking(&ending_gone, "gone");
    add_speaking(&ending_a, "a");
    add_speaking(&ending_silent, "");
    fill_fake(&ending_without_sites, "");
    kolk_registry_add_(&ending_without_sites, &ending_without_sites.mark, &speaking, false);
    add_speaking(&ending_b, "b");
    memset(&ending_gone, 0, sizeof ending_gone); /* ends without a deinit */
    fprintf(stderr, "main ends\n");
}

/* If sites are kept, live objects are reported first, even those of nameless pools. Then come the statistics, if
 * requested. promise: base.h "at exit, writes statistics ... row with their sums" */
static void test_the_order_at_exit(void **state) {
    const char *said =
        "main ends\nalive at exit: a\nalive at exit: \nalive at exit: b\nkolk: gone: its storage was freed "
        "or went out of scope without a deinit, or it was moved: what it had is lost\n";
    char both[1000];
    assert_ending(run_scenario("ending", NULL, NULL), 0, said);
    snprintf(both, sizeof both, "%s%s", said, table);
    assert_ending(run_scenario("ending", "1", NULL), 0, both);
}

static void exit_at_once(const void *pool) {
    say_alive(pool);
    exit(3);
}

static void play_exit_in_handler(const char *argument) {
    static const kolk_kind_ impatient = {
        .stats = fake_stats, .leaks = exit_at_once, .facts = fake_facts, .size = sizeof(fake)};
    add_speaking_kind(&ending_a, "a", &impatient);
    add_speaking(&ending_b, "b");
}

/* A handler ends the program at the first leak: statistics are still written, and nothing is written twice. */
static void test_exit_during_exit(void **state) {
    char expected[1000];
    snprintf(expected, sizeof expected, "alive at exit: a\n%s", table);
    assert_ending(run_scenario("exit in handler", "1", NULL), 3, expected);
    assert_ending(run_scenario("exit in handler", NULL, NULL), 3, "alive at exit: a\n");
}

static void remove_b(const void *pool) {
    say_alive(pool);
    remove_fake(&ending_b);
    add_speaking(&ending_silent, "late");
    fake *self = (fake *)(uintptr_t)pool;
    kolk_registry_remove_(self->mark);
}

static void play_handler_uses_the_registry(const char *argument) {
    static const kolk_kind_ busy_kind = {
        .stats = fake_stats, .leaks = remove_b, .facts = fake_facts, .size = sizeof(fake)};
    add_speaking_kind(&ending_a, "a", &busy_kind);
    add_speaking(&ending_b, "b");
}

/* The handler may init and deinit pools, because the lock is free. */
static void test_pools_come_and_go_during_exit(void **state) {
    skip_on_windows();
    assert_ending(run_scenario("handler uses the registry", NULL, NULL), 0, "alive at exit: a\nalive at exit: late\n");
}

static void play_fork(const char *argument) {
    add_speaking(&ending_a, "a");
    pid_t child = fork();
    if (child == 0) {
        add_speaking(&ending_b, "b");
        exit(0);
    }
    waitpid(child, NULL, 0);
    fprintf(stderr, "parent ends\n");
}

/* Each process reports its own pools. */
static void test_a_child_ends_by_itself(void **state) {
    char expected[1000];
    snprintf(expected, sizeof expected, "alive at exit: a\nalive at exit: b\n%sparent ends\nalive at exit: a\n%.*s",
             table, (int)(strlen(table) / 3 * 2), table);
    assert_ending(run_scenario("fork", "1", NULL), 0, expected);
}

static void end_late(void) {
    remove_fake(&ending_a);
    remove_fake(&ending_b);
    fprintf(stderr, "removed\n");
}

static void play_late(const char *argument) {
    atexit(end_late); /* runs last, because it was registered before the first pool was made */
    add_fake(&ending_silent, "a");
    remove_fake(&ending_silent);
    add_fake(&ending_a, "a");
    add_fake(&ending_b, "b");
}

/* Pools may end after the statistics were written. */
static void test_the_end_after_the_end(void **state) {
    assert_ending(run_scenario("late", "1", NULL), 0,
                  "name  kind  size  alive  peak  capacity  failed  bytes\n"
                  "a     fake    11     13    14        15      40     19\n"
                  "b     fake    11     13    14        15      20     19\n"
                  "removed\n");
}

/* The pool's storage is unmapped, and must not be read unless statistics are requested. */
static void play_unmapped(const char *argument) {
    fake *pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pool != MAP_FAILED);
    add_fake(pool, "its storage dies");
    munmap(pool, sizeof *pool);
}

/* For statistics, the storage is read by a system call, which raises no signal. */
static void test_dead_storage_is_not_looked_at(void **state) {
    assert_ending(run_scenario("unmapped", NULL, NULL), 0, "");
    assert_ending(run_scenario("unmapped", "1", NULL), 0,
                  "kolk: its storage dies: its storage was freed or went out of scope without a deinit, "
                  "or it was moved: what it had is lost\nkolk: no pool has a name\n");
}

/* Only part of the storage was reused: the number and the facts are unchanged. */
static void play_half_overwritten(const char *argument) {
    static fake pool, inside;
    add_fake(&pool, "half");
    add_fake(&inside, "whole");
    pool.stats.count = 4053511554;
    inside.stats.failed = 4053511554;
}

static void test_impossible_statistics_are_not_written(void **state) {
    assert_ending(run_scenario("half overwritten", "1", NULL), 0,
                  "kolk: half: its storage was freed or went out of scope without a deinit, or it was "
                  "moved: what it had is lost\n"
                  "name   kind  size  alive  peak  capacity      failed  bytes\n"
                  "whole  fake    11     13    14        15  4053511554     19\n");
}

/* ---- A pool in the place of another; contracts/test_all_homes.c has the moved and copied ones -------------------- */

static void test_a_pool_in_the_place_of_another(void **state) {
    static fake pool, other;
    kolk_noted_ noted;
    assert_false(kolk_registry_evict_(&pool, &noted));
    add_fake(&other, "other");
    add_fake(&pool, "a name that is a good deal longer than what is noted of it");
    assert_true(kolk_registry_evict_(&pool, &noted));
    assert_string_equal(noted.name, "a name that is a good deal longer t");
    assert_int_equal(noted.count, pool.stats.count);
    assert_false(kolk_registry_evict_(&pool, &noted));
    add_fake(&pool, "gone");
    memset(&pool, 0xff, sizeof pool);
    assert_true(kolk_registry_evict_(&pool, &noted));
    assert_string_equal(noted.name, "gone");
    assert_int_equal(noted.count, UINT32_MAX);
    assert_string_equal(listed(NULL), "other ");
    remove_fake(&other);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(int argc, char **argv) {
    static const scenario scenarios[] = {
        {"refused entries", play_refused_entries},
        {"refused setting", play_refused_setting},
        {"ending", play_ending},
        {"exit in handler", play_exit_in_handler},
        {"handler uses the registry", play_handler_uses_the_registry},
        {"fork", play_fork},
        {"late", play_late},
        {"unmapped", play_unmapped},
        {"half overwritten", play_half_overwritten},
    };
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        TEST(test_named_pools_are_listed),
        TEST(test_the_list_ends),
        TEST(test_what_has_gone_without_a_word_is_not_listed),
        TEST(test_a_pool_is_written_to_in_add_only),
        TEST(test_numbers_are_used_again),
        TEST(test_lives_of_one_pool_are_merged),
        TEST(test_what_is_not_merged),
        TEST(test_living_pools_of_one_name),
        TEST(test_groups),
        TEST(test_many_and_long_names),
        TEST(test_more_names_than_are_kept),
        TEST(test_a_pool_that_there_is_no_memory_for_is_not_listed),
        TEST(test_a_setting_that_there_is_no_memory_for),
        TEST(test_refused_records),
        TEST(test_forks_while_threads_are_at_work),
        TEST(test_the_order_at_exit),
        TEST(test_exit_during_exit),
        TEST(test_pools_come_and_go_during_exit),
        TEST(test_a_child_ends_by_itself),
        TEST(test_the_end_after_the_end),
        TEST(test_dead_storage_is_not_looked_at),
        TEST(test_impossible_statistics_are_not_written),
        TEST(test_a_pool_in_the_place_of_another),
        TEST(test_a_full_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
