/* runs: not:qemu wraps: help/system_calls.h */
/* The process's list of heaps, and how a thread finds its record in a heap: with more heaps than it has near ones, with
 * more far heaps than its first table of rows holds, after the last heap has ended, and without memory or a key. */
#include "../help/system_calls.h"

#include "../help/threads.h"
#include "heap/heap_inside.h"
#include "heap_test.h"

#include <pthread.h>
#include <semaphore.h>

enum { MANY = 300, ROWS = 1 << 20, FIRST_ROWS = 16 };

static kolk_heap heaps[MANY];

static const kolk_heap_desc small = {
    .name = "small", .limit = 1 << 22, .classes = &(const kolk_heap_class){.size = 64}, .n_classes = 1};

static uint64_t row_of_heap(unsigned n) {
    return heaps[n].id % ROWS;
}

static void start_heaps(unsigned from, unsigned end) {
    for (unsigned n = from; n < end; n++) make_heap(&heaps[n], &small);
}

static void end_heaps(unsigned from, unsigned end) {
    for (unsigned n = from; n < end; n++) end_heap(&heaps[n]);
}

static void use(unsigned from, unsigned end) {
    for (unsigned n = from; n < end; n++) {
        void *block = kolk_heap_alloc(&heaps[n], 50);
        REQUIRE(block);
        kolk_heap_free(&heaps[n], block);
    }
}

static void assert_records(unsigned from, unsigned end, uint32_t expected) {
    for (unsigned n = from; n < end; n++) assert_int_equal(heaps[n].inside->records, expected);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* A new heap takes over the row of an ended one, but not its id. */
static void test_rows(void **state) {
    (void)state;
    start_heaps(0, 40);
    for (unsigned n = 0; n < 40; n++) {
        assert_int_equal(row_of_heap(n), n + 1);
        assert_int_equal(heaps[n].place, (n + 1) % KOLK_NEAR_HEAPS_);
    }
    use(0, 40);
    for (unsigned n = 3; n < 40; n += 7) {
        uint64_t before = heaps[n].id;
        end_heap(&heaps[n]);
        make_heap(&heaps[n], &small);
        assert_int_equal(row_of_heap(n), before % ROWS);
        assert_true(heaps[n].id > before);
        use(n, n + 1);
    }
    end_heap(&heaps[5]);
    end_heap(&heaps[9]);
    make_heap(&heaps[5], &small);
    make_heap(&heaps[9], &small);
    assert_int_equal(row_of_heap(5) + row_of_heap(9), 16);
    use(0, 40);
    assert_records(0, 40, 1);
    end_heaps(0, 40);
}

/* ---- Far heaps --------------------------------------------------------------------------------------------------- */

static void *use_all(void *unused) {
    (void)unused;
    use(0, 20); /* their rows are in the first pages */
    use(0, MANY);
    use(0, MANY);
    return NULL;
}

static void *use_few(void *unused) {
    (void)unused;
    use(0, 20);
    use(0, 20);
    return NULL;
}

/* However a thread switches between heaps, it has one record in each, which the next thread takes over.
 * promise: "eight places where a thread looks first" */
static void test_far_heaps(void **state) {
    (void)state;
    start_heaps(0, MANY);
    for (unsigned round = 0; round < 3; round++) {
        run_thread(use_all, NULL);
        run_thread(use_few, NULL);
        assert_records(0, MANY, 1);
    }
    use(0, MANY);
    assert_records(0, MANY, 1);
    run_thread(use_few, NULL);
    assert_records(0, 20, 2); /* the second one is this thread's */
    end_heaps(0, MANY);
}

/* ---- The last heap ----------------------------------------------------------------------------------------------- */

static sem_t may_go_on, has_gone_on;

static void pass(sem_t *first, sem_t *second) {
    sem_post(first);
    while (sem_wait(second) != 0) {}
}

static void *outlive_all(void *unused) {
    (void)unused;
    for (unsigned round = 0; round < 3; round++) {
        use(0, 30);
        pass(&has_gone_on, &may_go_on);
        use(0, 4); /* other heaps with the same rows */
        use(0, 4);
        pass(&has_gone_on, &may_go_on);
    }
    return NULL;
}

/* A thread that has used far heaps outlives all of them. promise: "After the deinit ... ending at that moment" */
static void test_outliving_all(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(sem_init(&may_go_on, 0, 0), 0);
    assert_int_equal(sem_init(&has_gone_on, 0, 0), 0);
    start_heaps(0, 30);
    assert_int_equal(pthread_create(&thread, NULL, outlive_all, NULL), 0);
    for (unsigned round = 0; round < 3; round++) {
        while (sem_wait(&has_gone_on) != 0) {}
        assert_records(0, 30, 1);
        end_heaps(0, 30);
        start_heaps(0, 4);
        pass(&may_go_on, &has_gone_on);
        assert_records(0, 4, 1);
        end_heaps(0, 4);
        start_heaps(0, 30);
        if (round < 2) sem_post(&may_go_on);
    }
    use(0, 4);
    sem_post(&may_go_on);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_heaps(0, 30);
}

static unsigned heaps_used;

static void *use_and_wait(void *unused) {
    (void)unused;
    use(0, heaps_used);
    pass(&has_gone_on, &may_go_on);
    return NULL;
}

/* A thread that ends does not touch heaps that took over the rows of ended heaps it had used. */
static void test_rows_of_others(void **state) {
    (void)state;
    for (heaps_used = 4; heaps_used <= 40; heaps_used += 12) {
        pthread_t thread;
        start_heaps(0, 40);
        assert_int_equal(pthread_create(&thread, NULL, use_and_wait, NULL), 0);
        while (sem_wait(&has_gone_on) != 0) {}
        end_heaps(1, 40);
        start_heaps(1, 40);
        use(0, 40);
        sem_post(&may_go_on);
        assert_int_equal(pthread_join(thread, NULL), 0);
        use(0, 40);
        assert_records(1, 40, 1);
        run_thread(use_few, NULL);
        assert_records(0, 20, 2); /* this thread still has its own */
        end_heaps(0, 40);
    }
}

/* ---- No memory, no key ------------------------------------------------------------------------------------------- */

static void *use_without_memory(void *block) {
    use(0, 8);
    refuse(1, true);
    REQUIRE(!kolk_heap_alloc(&heaps[8], 50)); /* the first far heap */
    kolk_heap_free(&heaps[8], block);
    REQUIRE(!kolk_heap_is_live(&heaps[8], block));
    use(0, 8);
    refuse(0, false);
    use(0, 9);
    use(0, 9);
    return NULL;
}

static void test_no_memory_for_far_heaps(void **state) {
    (void)state;
    start_heaps(0, 9);
    void *block = kolk_heap_alloc(&heaps[8], 50);
    assert_non_null(block);
    use(0, 8);
    run_thread(use_without_memory, block);
    assert_records(0, 9, 2);
    end_heaps(0, 9);
}

static void test_no_memory_for_rows(void **state) {
    (void)state;
    unsigned refused = 0;
    if (sizeof(void *) < 8) skip();
    start_heaps(0, FIRST_ROWS - 1);
    for (unsigned nth = 1; nth < 100; nth++) {
        kolk_heap *last = &heaps[FIRST_ROWS - 1];
        refuse(nth, true);
        kolk_status status = kolk_heap_init(last, &small);
        refuse(0, false);
        if (status == KOLK_OK) break;
        assert_int_equal(status, KOLK_NO_MEMORY);
        assert_true(all_bytes_are(last, sizeof *last, 0));
        refused++;
    }
    assert_in_range(refused, 5, 50); /* two calls each for the heap and the rows, one for the heap's address space */
    use(0, FIRST_ROWS);
    end_heaps(0, FIRST_ROWS);
}

static void *use_three(void *unused) {
    (void)unused;
    use(0, 3);
    return NULL;
}

static void test_no_key(void **state) {
    (void)state;
    skip_on_windows(); /* its keys do not run out */
    static pthread_key_t keys[5000];
    unsigned n = 0;
    if (sizeof(void *) < 8) skip();
    while (n < LENGTH_OF(keys) && pthread_key_create(&keys[n], NULL) == 0) n++;
    assert_in_range(n, 1, LENGTH_OF(keys) - 1);
    assert_int_equal(kolk_heap_init(&heaps[0], &small), KOLK_NO_MEMORY);
    assert_true(all_bytes_are(&heaps[0], sizeof heaps[0], 0));
    assert_int_equal(pthread_key_delete(keys[--n]), 0);
    for (unsigned round = 0; round < 3; round++) { /* all heaps share one key, which the last heap deletes */
        start_heaps(0, 3);
        run_thread(use_three, NULL);
        end_heaps(0, 3);
    }
    while (n-- > 0) assert_int_equal(pthread_key_delete(keys[n]), 0);
}

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {REFUSAL_TEST(test_rows),
                                       REFUSAL_TEST(test_far_heaps),
                                       REFUSAL_TEST(test_outliving_all),
                                       REFUSAL_TEST(test_rows_of_others),
                                       REFUSAL_TEST(test_no_memory_for_far_heaps),
                                       REFUSAL_TEST(test_no_memory_for_rows),
                                       REFUSAL_TEST(test_no_key)};
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
