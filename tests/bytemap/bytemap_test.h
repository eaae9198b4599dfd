/* bytemap_test.h: shared by the tests of kolk_bytemap. Include it first. */
#ifndef TESTS_BYTEMAP_TEST_H
#define TESTS_BYTEMAP_TEST_H

#include "../help/test.h"

#define OBJECT_SIZE 12u /* 3 << 2 */

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

static inline void make_bytemap(kolk_bytemap *pool, int32_t count) {
    memset(pool, 0, sizeof *pool);
    assert_int_equal(kolk_bytemap_initialise(pool, count, OBJECT_SIZE), KOLK_OK);
    assert_true(kolk_bytemap_is_valid(pool));
}

/* Makes this many objects. */
static inline void make_objects(kolk_bytemap *pool, int32_t n) {
    while (n-- > 0) assert_non_null(kolk_bytemap_new(pool));
}

/* Returns the start of a slot, whether it is in use or not. */
static inline void *slot_of(const kolk_bytemap *pool, int32_t index) {
    return pool->object_list + (size_t)index * pool->object_size;
}

static inline int32_t handle_of_new(kolk_bytemap *pool) {
    void *object = kolk_bytemap_new(pool);
    return object ? kolk_bytemap_get_index(pool, object) : KOLK_BYTEMAP_NULL;
}

/* Foreign arrays, with slots 1 and 4 in use. */
typedef struct owner {
    _Alignas(8) unsigned char objects[6][OBJECT_SIZE];
    uint8_t bytes[6];
    int32_t first_free;
} owner;

static const owner some_owner = {.bytes = {0x80, 0x07, 0x83, 0xff, 0x00, 0x80}, .first_free = 4};

static inline kolk_bytemap_view view_of(owner *o) {
    return (kolk_bytemap_view){.name = "theirs",
                               .object_list = o->objects,
                               .byte_map = o->bytes,
                               .object_size = OBJECT_SIZE,
                               .count = 6,
                               .first_free = o->first_free};
}

#endif
