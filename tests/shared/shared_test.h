/* shared_test.h: what the tests of the shared pool share. Include test.h first. */
#ifndef TESTS_SHARED_TEST_H
#define TESTS_SHARED_TEST_H

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

static inline void make_local(kolk_local *local, kolk_shared *pool) {
    assert_int_equal(kolk_local_init(local, pool), KOLK_OK);
}

/* All that the pool has: slots for `capacity` objects and for full magazines of all locals but one. */
static inline uint32_t all_slots(const kolk_shared *pool) {
    return pool->max_capacity + pool->slack;
}

static inline uint32_t slot_of(const kolk_shared *pool, const void *object) {
    return (uint32_t)((size_t)((const unsigned char *)object - pool->slots) / pool->stride);
}

#endif
