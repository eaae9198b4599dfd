/* runs: not:qemu */
/* How often, and for how long, is a waiter overtaken when others keep popping (or pushing)? It must be served in the
 * end. The times are printed but not judged. KOLK_TEST_OPS (calls of the waiter) may be set in the environment. */
#include "queue_test.h"

#ifndef CALLS
#define CALLS 300
#endif

enum { RIVALS = 3 };

typedef struct contest {
    kolk_queue queue;
    int end;
    bool over;
    uint64_t served; /* successful calls of the rivals at this end */
} contest;

static kolk_status pass_one(kolk_queue *queue, int end, kolk_deadline deadline) {
    int item = 1;
    return end == KOLK_QUEUE_WRITABLE ? kolk_queue_push(queue, &item, deadline)
                                      : kolk_queue_pop(queue, &item, deadline);
}

/* Takes items or cells at the end repeatedly, and waits if it must. */
static void *compete(void *argument) {
    contest *c = (contest *)argument;
    while (!__atomic_load_n(&c->over, __ATOMIC_RELAXED))
        if (pass_one(&c->queue, c->end, KOLK_FOREVER) == KOLK_OK) __atomic_fetch_add(&c->served, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Provides items or cells slowly, so that most of the time there is none. */
static void *provide(void *argument) {
    contest *c = (contest *)argument;
    while (!__atomic_load_n(&c->over, __ATOMIC_RELAXED)) {
        pass_one(&c->queue, !c->end, KOLK_FOREVER);
        for (int64_t until = kolk_now_ns_() + 3000; kolk_now_ns_() < until;) {}
    }
    return NULL;
}

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_line(const char *what, const char *unit, uint64_t *numbers, size_t n, uint64_t divisor) {
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    print_message("  %-10s p50 %6" PRIu64 "  p90 %6" PRIu64 "  p99 %6" PRIu64 "  most %6" PRIu64 " %s\n", what,
                  numbers[n / 2] / divisor, numbers[n * 9 / 10] / divisor, numbers[n * 99 / 100] / divisor,
                  numbers[n - 1] / divisor, unit);
}

static void hold_contest(uint32_t capacity, int end, size_t calls) {
    static contest c;
    pthread_t threads[RIVALS + 1];
    uint64_t *overtaken = (uint64_t *)calloc(calls, sizeof *overtaken),
             *waited = (uint64_t *)calloc(calls, sizeof *waited);
    memset(&c, 0, sizeof c);
    c.end = end;
    make_ints(&c.queue, capacity);
    for (int i = 0; i <= RIVALS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < RIVALS ? compete : provide, &c), 0);
    for (size_t i = 0; i < calls; i++) {
        uint64_t before = __atomic_load_n(&c.served, __ATOMIC_RELAXED);
        int64_t begin = kolk_now_ns_();
        assert_int_equal(pass_one(&c.queue, end, KOLK_FOREVER), KOLK_OK); /* served in the end */
        waited[i] = (uint64_t)(kolk_now_ns_() - begin);
        overtaken[i] = __atomic_load_n(&c.served, __ATOMIC_RELAXED) - before;
    }
    __atomic_store_n(&c.over, true, __ATOMIC_RELAXED);
    kolk_queue_shutdown(&c.queue);
    for (int i = 0; i <= RIVALS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    print_message("capacity %u, %s, %d rivals:\n", capacity, end == KOLK_QUEUE_WRITABLE ? "push" : "pop", RIVALS);
    print_line("overtaken", "times", overtaken, calls, 1);
    print_line("waited", "us", waited, calls, 1000);
    free(overtaken);
    free(waited);
    end_queue(&c.queue);
}

static void test_who_waits_is_served(void **state) {
    (void)state;
    size_t calls = (size_t)number_from_environment("KOLK_TEST_OPS", CALLS);
    for (int end = 0; end < 2; end++) {
        hold_contest(1, end, calls);
        hold_contest(64, end, calls);
    }
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_who_waits_is_served, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
