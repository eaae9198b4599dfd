/* Tries each operation of atomics.h, bits.h and compiler.h: what it returns, what it writes, and that it writes nothing
 * beside that. Then threads change numbers at the same time. */
#include "base/atomics.h"
#include "base/bits.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) return printf("operations.c:%d: %s\n", __LINE__, #condition), 1;                             \
    } while (0)

/* Defines a function that tries all operations of one type, between two numbers that must stay as they are. */
#define TRY_NUMBERS(name, type)                                                                                        \
    static int name(void) {                                                                                            \
        struct {                                                                                                       \
            KOLK_ALIGNAS(8) type before;                                                                               \
            KOLK_ALIGNAS(sizeof(type)) type at;                                                                        \
            type behind;                                                                                               \
        } it;                                                                                                          \
        memset(&it, 0xa5, sizeof it);                                                                                  \
        type was, high = (type)((type)1 << (8 * sizeof(type) - 2)), kept = it.behind;                                  \
        kolk_store_(&it.at, high, KOLK_RELAXED_);                                                                      \
        REQUIRE(kolk_load_(&it.at, KOLK_RELAXED_) == high);                                                            \
        kolk_store_(&it.at, 3, KOLK_RELEASE_);                                                                         \
        REQUIRE(kolk_load_(&it.at, KOLK_ACQUIRE_) == 3);                                                               \
        kolk_store_(&it.at, high, KOLK_SEQ_CST_);                                                                      \
        REQUIRE(kolk_load_((const type *)&it.at, KOLK_SEQ_CST_) == high);                                              \
        REQUIRE(kolk_exchange_(&it.at, 5, KOLK_ACQ_REL_) == high && it.at == 5);                                       \
        REQUIRE(kolk_fetch_add_(&it.at, high, KOLK_RELAXED_) == 5 && it.at == high + 5);                               \
        REQUIRE(kolk_fetch_sub_(&it.at, 6, KOLK_RELAXED_) == high + 5 && it.at == high - 1);                           \
        REQUIRE(kolk_fetch_or_(&it.at, high, KOLK_RELAXED_) == high - 1 && it.at == high + (high - 1));                \
        REQUIRE(kolk_fetch_and_(&it.at, (type)(high + 6), KOLK_RELAXED_) == high + (high - 1) && it.at == high + 6);   \
        was = 1;                                                                                                       \
        REQUIRE(!kolk_compare_exchange_(&it.at, &was, 2, KOLK_ACQ_REL_, KOLK_RELAXED_));                               \
        REQUIRE(was == high + 6 && it.at == high + 6);                                                                 \
        REQUIRE(kolk_compare_exchange_(&it.at, &was, 2, KOLK_ACQ_REL_, KOLK_RELAXED_) && it.at == 2);                  \
        while (!kolk_compare_exchange_weak_(&it.at, &was, 7, KOLK_ACQ_REL_, KOLK_RELAXED_)) REQUIRE(was == 2);         \
        REQUIRE(it.at == 7 && it.before == kept && it.behind == kept);                                                 \
        return 0;                                                                                                      \
    }
TRY_NUMBERS(try_8, uint8_t)
TRY_NUMBERS(try_32, uint32_t)
TRY_NUMBERS(try_64, uint64_t)
TRY_NUMBERS(try_signed, int64_t)

static int try_others(void) {
    bool flag = false;
    kolk_raw_store_(&flag, true, KOLK_RELEASE_);
    REQUIRE(kolk_raw_load_(&flag, KOLK_ACQUIRE_) == true);
    REQUIRE(kolk_raw_exchange_(&flag, false, KOLK_ACQ_REL_) == true && !flag);
    int numbers[2] = {1, 2}, *at = NULL;
    kolk_raw_store_(&at, &numbers[1], KOLK_RELEASE_);
    int *seen = kolk_raw_load_(&at, KOLK_ACQUIRE_);
    REQUIRE(seen == &numbers[1] && kolk_raw_load_(&at, KOLK_RELAXED_) == seen);
    uint32_t number = 1;
    KOLK_SET_(&number, 2);
    REQUIRE(KOLK_SEEN_(&number) == 2);
    KOLK_PUBLISH_(&number, UINT32_MAX);
    REQUIRE(KOLK_SEEN_(&number) == UINT32_MAX);
    kolk_pause_();
    return 0;
}

static int try_bits(void) {
    REQUIRE(kolk_bits_count_(0) == 0 && kolk_bits_count_(UINT64_MAX) == 64);
    for (unsigned i = 0; i < 64; i++) {
        for (unsigned k = 0; k <= i; k++) {
            uint64_t word = UINT64_C(1) << i | UINT64_C(1) << k;
            REQUIRE(kolk_bits_highest_(word) == i && kolk_bits_lowest_(word) == k);
            REQUIRE(KOLK_LOWEST_BIT_(word) == k && KOLK_FOLDED_LOWEST_BIT_(word) == k);
            REQUIRE(i >= 32 || kolk_bits_highest_32_((uint32_t)word) == i);
            REQUIRE(kolk_bits_count_(word) == 1u + (i != k) && kolk_bits_count_(~word) == 63u - (i != k));
        }
        REQUIRE(kolk_bits_count_(UINT64_MAX >> i) == 64 - i);
    }
    return 0;
}

enum { THREADS = 3, ROUNDS = 20000 };

static KOLK_ALIGNAS(8) uint64_t sum, turns;
static uint8_t bytes[8];
static uint32_t lock, plain;

/* Each thread counts in its own byte, although all bytes lie in one word; `plain` is changed only under the lock. */
static void *count(void *own) {
    for (int i = 0; i < ROUNDS; i++) {
        kolk_fetch_add_(&sum, (uint64_t)1 << 31, KOLK_RELAXED_);
        kolk_fetch_add_((uint8_t *)own, 1, KOLK_RELAXED_);
        while (kolk_exchange_(&lock, 1, KOLK_ACQUIRE_)) kolk_pause_();
        plain++;
        kolk_store_(&lock, 0, KOLK_RELEASE_);
        uint64_t seen = kolk_load_(&turns, KOLK_RELAXED_);
        while (!kolk_compare_exchange_(&turns, &seen, seen + (UINT64_C(1) << 32) + 1, KOLK_RELAXED_, KOLK_RELAXED_)) {}
    }
    return NULL;
}

static int try_threads(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&threads[i], NULL, count, &bytes[i]) == 0);
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE(sum == (uint64_t)THREADS * ROUNDS << 31);
    REQUIRE(plain == THREADS * ROUNDS);
    REQUIRE(turns == ((UINT64_C(1) << 32) + 1) * THREADS * ROUNDS);
    for (int i = 0; i < THREADS; i++) REQUIRE(bytes[i] == (uint8_t)ROUNDS);
    return 0;
}

int main(void) {
    return try_8() || try_32() || try_64() || try_signed() || try_others() || try_bits() || try_threads();
}
