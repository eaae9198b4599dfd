/* runs: not:qemu not:wine */
/* Pools of each kind that were moved, initialised twice, or lost with their storage: no call crashes, statistics are
 * either right or absent, and the debug mode reports what happened. */
#include "kinds.h"

#include "../help/child.h"
#include "../help/listed.h"

#include "watch/registry.h"

#include <sys/mman.h>

static reports kept;

/* Checks that the next report is about "it" and is the last one. */
static void assert_said(kolk_status rule, const char *text) {
    const report *next = next_report(&kept);
    char sentence[200];
    snprintf(sentence, sizeof sentence, "kolk: it: %s", text);
    assert_string_equal(next->sentence, sentence);
    assert_string_equal(next->pool, "it");
    assert_int_equal(next->failure.rule, rule);
    assert_no_more(&kept);
}

static bool is_resource(void) {
    return row_now->kind->init ==
           init_resources; /* its struct only points to the library's memory, so it may be moved */
}

static void watch(bool on) {
    if (on)
        setenv("KOLK_DEBUG", "fill", 1);
    else
        unsetenv("KOLK_DEBUG");
}

/* Does this kind's alloc check where the pool is? A shared pool's does not: after a move, its locals still point to the
 * old place. */
static bool notices_in_take(void) {
    return it->kind->init == init_pool || it->kind->init == init_map;
}

static void move_it(bool watched) {
    static subject there;
    watch(watched);
    begin_it((options){.capacity = 3});
    begin_reports(&kept);
    memcpy(&there, it, sizeof there);
    memset(&it->of, 0xe5, sizeof it->of);
    if (notices_in_take()) assert_non_null(there.kind->take(&there));
    bool told = watched && notices_in_take();
    if (told) assert_said(KOLK_MOVED, "it was moved or copied after its init: a pool must stay where it is");
    if (notices_in_take()) {
        kolk_records_ records = {0};
        kolk_registry_collect_(&records); /* collects the pool from its new place */
        assert_int_equal(records.first->stats.count, 1);
        kolk_records_release_(&records);
    }
    if (notices_in_take()) there.kind->take(&there);
    there.kind->end(&there);
    if (watched && !told)
        assert_said(KOLK_MOVED, "it was moved or copied after its init: a pool must stay where it is");
    assert_no_more(&kept);
    assert_true(all_bytes_are(&there.of, there.kind->size, 0));
    assert_string_equal(listed(it->kind->member), "");
}

static void test_a_pool_that_was_moved(void **state) {
    (void)state;
    if (is_resource()) return;
    move_it(false);
    move_it(true);
}

static void test_a_shared_pool_that_was_moved_before_its_locals(void **state) {
    static kolk_shared there;
    (void)state;
    if (row_now->kind->init != init_shared) return;
    for (int watched = 0; watched < 2; watched++) {
        kolk_shared here;
        kolk_shared_local local;
        watch(watched);
        assert_int_equal(kolk_shared_init(&here, &(kolk_shared_desc){.name = "it", .object_size = 8, .capacity = 3}),
                         KOLK_OK);
        begin_reports(&kept);
        memcpy(&there, &here, sizeof there);
        memset(&here, 0xe5, sizeof here);
        assert_int_equal(kolk_shared_local_init(&local, &there), KOLK_OK);
        if (watched) assert_said(KOLK_MOVED, "it was moved or copied after its init: a pool must stay where it is");
        void *object = kolk_shared_alloc(&local);
        assert_non_null(object);
        assert_true(kolk_shared_is_valid(&there));
        kolk_shared_free(&local, object);
        kolk_shared_local_deinit(&local);
        kolk_shared_deinit(&there);
        assert_no_more(&kept);
    }
}

static void test_a_copy_of_a_pool_that_is_gone(void **state) {
    static subject copy, before, other;
    (void)state;
    if (is_resource()) return;
    watch(false);
    begin_it((options){.capacity = 3});
    memcpy(&copy, it, sizeof copy);
    memcpy(&before, it, sizeof before);
    end_it();
    begin_it((options){.name = "next", .capacity = 3}); /* it gets the old pool's number, and perhaps its block */
    memcpy(&other, it, sizeof other);
    begin_reports(&kept);
    for (int n = 0; n < 2; n++) {
        copy.kind->end(&copy);
        const report *said = next_report(&kept);
        assert_non_null(strstr(said->sentence, ": it was never initialised, or is a copy of a pool that is deinit'd"));
        assert_int_equal(said->failure.rule, KOLK_MOVED);
        assert_no_more(&kept);
        assert_memory_equal(&copy.of, &before.of, copy.kind->size);
    }
    assert_memory_equal(it, &other, sizeof other);
    assert_is_valid();
    end_it();
}

/* Returns an uninitialised struct, as the stack might hold: words of all sorts, some of which point somewhere. Only
 * with `zeros` can its number be 0, which is also the number of a pool that could not be listed. */
static subject *garbage(uint64_t random, bool zeros) {
    static subject it_seems;
    const uintptr_t each_half = UINTPTR_MAX / UINT32_MAX; /* n times this has n in each 32 bits */
    uintptr_t *words = (uintptr_t *)(void *)&it_seems.of;
    for (size_t i = 0; i < sizeof it_seems.of / sizeof *words; i++) {
        uint64_t way = next_random(&random) % 4, word = next_random(&random), small = word % 1000;
        if (way == 0) words[i] = zeros ? 0 : UINTPTR_MAX;
        if (way == 1) words[i] = zeros ? (uintptr_t)small : (uintptr_t)(small + 1) * each_half;
        if (way == 2) words[i] = (uintptr_t)&words[word % 8];
        if (way == 3) words[i] = (uintptr_t)word;
    }
    it_seems.kind = row_now->kind;
    alarm(20);
    return &it_seems;
}

static void end_garbage(void *round) {
    subject *it_seems = garbage(*(uint64_t *)round, false);
    it_seems->kind->end(it_seems);
}

static void wait_for_garbage(void *round) {
    int item = 0;
    kolk_queue *queue = &garbage(*(uint64_t *)round, true)->of.queue;
    if (queue->number == 0) queue->number = 7;
    kolk_queue_push(queue, &item, KOLK_FOREVER);
}

/* A fast path may crash when it follows a pointer in the struct. But deinit must not crash, and no call may wait for
 * ever. */
static void test_a_struct_that_was_never_initialised(void **state) {
    (void)state;
    unsigned reported = 0;
    watch(false);
    for (uint64_t round = 1; round <= 20; round++) {
        char text[4000];
        int status = run_child(end_garbage, &round, text, sizeof text);
        bool said = strstr(text, "it was never initialised, or is a copy of a pool that is deinit'd");
        if (!WIFEXITED(status) && !said) fail_msg("round %d: status %x, \"%s\"", (int)round, (unsigned)status, text);
        reported += said;
        if (row_now->kind->init != init_queue) continue;
        status = run_child(wait_for_garbage, &round, text, sizeof text);
        assert_false(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    }
    assert_true(reported > 15);
}

static void test_initialised_twice(void **state) {
    (void)state;
    if (is_resource()) return;
    for (int watched = 0; watched < 2; watched++) {
        watch(watched);
        begin_it((options){.capacity = 3});
        bool takes = it->kind->can & TAKES, erased = it->kind->wants_zero;
        if (takes) it->kind->take(it);
        options again = {.name = "it", .object_size = 24, .capacity = 3};
        begin_reports(&kept);
        if (erased) assert_int_equal(it->kind->init(it, &again), KOLK_NOT_FLUSHED);
        if (erased) memset(&it->of, 0, it->kind->size);
        assert_int_equal(it->kind->init(it, &again), KOLK_OK);
        if (watched && erased)
            assert_said(KOLK_LEAK, "it was not deinit'd before its place was initialised again: what it had is lost");
        else if (watched && takes)
            assert_said(KOLK_LEAK, "initialised again without a deinit: 1 object is lost");
        else if (watched)
            assert_said(KOLK_LEAK, "initialised again without a deinit: its memory is lost");
        assert_no_more(&kept);
        assert_is_valid();
        if (it->kind->init != init_heap) assert_string_equal(listed(it->kind->member), "it ");
        end_it();
    }
}

/* The storage of a pool is unmapped before its deinit. promise: bytemap.h "leaves the arrays ... leave the pool out" */
static void test_lost_with_its_storage(void **state) {
    (void)state;
    if (is_resource()) return;
    for (int watched = 0; watched < 2; watched++) {
        watch(watched);
        subject *own = it;
        char before[1000]; /* a lost heap's trays are still listed, because the library owns their memory */
        strcpy(before, listed(NULL));
        size_t size = (sizeof *it + 4095) / 4096 * 4096;
        it = (subject *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(it != MAP_FAILED);
        begin_it((options){.capacity = 3});
        if (it->kind->can & TAKES) it->kind->take(it);
        if (it->kind->init == init_heap) strcat(before, "it ");
        assert_int_equal(munmap(it, size), 0);
        it = own;
        assert_string_equal(listed(NULL), before);
        begin_reports(&kept);
        kolk_homes_report_lost_(false);
        if (watched)
            assert_said(KOLK_LEAK, "its storage was freed or went out of scope without a deinit, or it was moved: "
                                   "what it had is lost");
        assert_no_more(&kept);
        kolk_homes_report_lost_(true); /* the loss is reported only once */
        assert_no_more(&kept);
    }
}

/* Any part of the struct may have been overwritten. */
static void test_a_struct_that_was_overwritten(void **state) {
    (void)state;
    uint64_t random = number_from_environment("KOLK_TEST_SEED", 5);
    watch(false);
    begin_it((options){.capacity = 3});
    if (it->kind->can & TAKES) it->kind->take(it);
    static subject before;
    memcpy(&before, it, sizeof before);
    size_t size = is_resource() ? 0 : it->kind->size;
    for (unsigned n = 0; n < (does_a_part() ? 300u : 5000u) && size; n++) {
        unsigned char *bytes = (unsigned char *)&it->of;
        size_t from = random_below(&random, (uint32_t)size),
               end = from + 1 + random_below(&random, (uint32_t)(size - from));
        uint64_t way = next_random(&random) % 3;
        for (size_t at = from; at < end; at++)
            bytes[at] = way == 0 ? 0 : way == 1 ? 0xff : (unsigned char)next_random(&random);
        kolk_records_ records = {0};
        kolk_registry_collect_(&records);
        for (const kolk_record_ *at = records.first; at; at = at->next) {
            assert_string_equal(at->stats.name, "it");
            assert_in_range(at->stats.count, 0, at->stats.capacity);
            assert_in_range(at->stats.peak, 0, at->stats.capacity);
            assert_in_range(at->stats.object_size, 0, 32); /* it is 24 bytes; trays round it up */
        }
        kolk_records_release_(&records);
        memcpy(it, &before, sizeof before);
    }
    if (it->kind->init != init_heap) assert_string_equal(listed(it->kind->member), "it ");
    end_it();
}

int main(void) {
    static const contract contracts[] = {
        CONTRACT(test_a_pool_that_was_moved, 0, IN(PLAIN)),
        CONTRACT(test_a_shared_pool_that_was_moved_before_its_locals, 0, IN(PLAIN)),
        CONTRACT(test_a_copy_of_a_pool_that_is_gone, 0, IN(PLAIN)),
        CONTRACT(test_a_struct_that_was_never_initialised, 0, IN(PLAIN)),
        CONTRACT(test_initialised_twice, 0, IN(PLAIN)),
        CONTRACT(test_lost_with_its_storage, 0, IN(PLAIN)),
        CONTRACT(test_a_struct_that_was_overwritten, 0, IN(PLAIN)),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), NULL, plain_environment);
}
