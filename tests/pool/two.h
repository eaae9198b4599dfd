/* two.h: a pool of 2 slots that overflows into one of 3, unless a test changes that. Include debug_test.h first. */
#ifndef TESTS_TWO_H
#define TESTS_TWO_H

#include "../help/debug_test.h"

#define SIZE 24u

typedef struct two {
    kolk_pool first, second;
} two;

/* `a` and `b` override the descriptors of two plain pools with 2 and 3 slots. */
static inline void make_two(two *t, kolk_pool_desc a, kolk_pool_desc b) {
    b.name = "second";
    if (!b.object_size) b.object_size = SIZE;
    if (!b.capacity && !b.max_capacity) b.capacity = 3;
    b.tag = 2;
    make_pool(&t->second, &b);
    a.name = "first";
    if (!a.object_size) a.object_size = SIZE;
    if (!a.capacity) a.capacity = 2;
    a.tag = 1;
    a.full.overflow = &t->second;
    make_pool(&t->first, &a);
}

static inline void end_two(two *t) {
    assert_true(kolk_pool_is_valid(&t->second));
    end_pool(&t->first);
    end_pool(&t->second);
}

static inline void assert_counts(const two *t, uint32_t first, uint32_t second) {
    assert_int_equal(kolk_pool_count(&t->first), first);
    assert_int_equal(kolk_pool_count(&t->second), second);
}

#endif
