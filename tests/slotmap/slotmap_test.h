/* slotmap_test.h: for the tests of the slot map. Include test.h first. */
#ifndef TESTS_SLOTMAP_TEST_H
#define TESTS_SLOTMAP_TEST_H

#define map_is_zero(map) all_bytes_are(map, sizeof *(map), 0)

static inline void make_map(kolk_slotmap *map, const kolk_slotmap_desc *desc) {
    kolk_status status = kolk_slotmap_init(map, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(kolk_slotmap_is_valid(map));
}

static inline void end_map(kolk_slotmap *map) {
    assert_true(kolk_slotmap_is_valid(map));
    kolk_slotmap_deinit(map);
    assert_true(map_is_zero(map));
}

/* Adds an object whose first byte is `letter`. */
static inline kolk_handle add_letter(kolk_slotmap *map, char letter) {
    kolk_handle handle;
    char *object = (char *)kolk_slotmap_add(map, &handle);
    assert_non_null(object);
    *object = letter;
    assert_true(kolk_slotmap_is_valid(map));
    return handle;
}

/* Returns the first bytes of all objects, in order. */
static inline const char *letters(const kolk_slotmap *map) {
    static char text[64];
    for (uint32_t i = 0; i < kolk_slotmap_count(map); i++) text[i] = *(const char *)kolk_slotmap_at(map, i);
    text[kolk_slotmap_count(map)] = 0;
    return text;
}

static inline char letter_of(const kolk_slotmap *map, kolk_handle handle) {
    const char *object = (const char *)kolk_slotmap_get(map, handle);
    return (char)(object ? *object : '-');
}

#endif
