/* shared_test.h: for the tests of the shared pool. Include test.h first. */
#ifndef TESTS_SHARED_TEST_H
#define TESTS_SHARED_TEST_H

#include "inside.h"

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

static inline void make_shared(kolk_shared *pool, const kolk_shared_desc *desc) {
    kolk_status status = kolk_shared_init(pool, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(kolk_shared_is_valid(pool));
}

static inline void end_shared(kolk_shared *pool) {
    assert_true(kolk_shared_is_valid(pool));
    kolk_shared_deinit(pool);
    assert_true(all_bytes_are(pool, sizeof *pool, 0));
}

static inline void make_local(kolk_shared_local *local, kolk_shared *pool) {
    assert_int_equal(kolk_shared_local_init(local, pool), KOLK_OK);
}

static inline uint32_t slot_of(const kolk_shared *pool, const void *object) {
    return (uint32_t)((size_t)((const unsigned char *)object - pool->slots) / pool->stride);
}

#endif
