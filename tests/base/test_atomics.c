/* runs: sample */
/* The compare-and-exchange of a byte that is made of one of a word: neighbours stay as they are, also while other
 * threads change them in both ways. */
#include "../help/threads.h"

#include "base/atomics.h"

#define BYTES 8u
#define STEPS 30000u

static _Alignas(8) uint8_t bytes[BYTES];

static void test_values(void **state) {
    for (unsigned n = 0; n < BYTES; n++) {
        for (unsigned i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(0xf0 + i);
        uint8_t expected = (uint8_t)(0xf0 + n);
        assert_true(kolk_compare_exchange_in_word_(&bytes[n], &expected, 0x5a));
        assert_false(kolk_compare_exchange_in_word_(&bytes[n], &expected, 0xa5));
        assert_int_equal(expected, 0x5a);
        for (unsigned i = 0; i < BYTES; i++) assert_int_equal(bytes[i], i == n ? 0x5a : 0xf0 + i);
    }
}

/* Each byte is counted by two threads. Every second thread uses the operation for which the machine has an instruction
 * or kolk_compare_exchange_in_word_. */
static void *count_byte(void *job) {
    uintptr_t number = *(const uintptr_t *)job;
    uint8_t *at = &bytes[number / 2];
    for (unsigned n = 0; n < STEPS; n++) {
        uint8_t seen = kolk_load_(at, KOLK_RELAXED_);
        if (number % 2)
            while (!kolk_compare_exchange_byte_(at, &seen, (uint8_t)(seen + 1))) {}
        else
            while (!kolk_compare_exchange_in_word_(at, &seen, (uint8_t)(seen + 1))) {}
    }
    return NULL;
}

static void test_neighbours(void **state) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    uintptr_t numbers[THREADS];
    memset(bytes, 0, sizeof bytes);
    for (uintptr_t n = 0; n < THREADS; n++) {
        numbers[n] = n;
        assert_int_equal(pthread_create(&threads[n], NULL, count_byte, &numbers[n]), 0);
    }
    for (unsigned n = 0; n < THREADS; n++) assert_int_equal(pthread_join(threads[n], NULL), 0);
    for (unsigned n = 0; n < THREADS / 2; n++) assert_int_equal(bytes[n], (uint8_t)(2 * STEPS));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_neighbours)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
