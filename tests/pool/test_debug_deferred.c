/* debug.h alone, called as a pool with deferred free calls it: between end_life and wipe, reports treat an object as
 * freed, but it can still be read. */
#include "../help/debug_test.h"

#include "watch/debug.h"

enum { SLOTS = 5, SIZE = 40, SLOT = 3 };

static uint32_t told_of_frees;

static void on_free(const char *pool, const void *object, void *context) {
    assert_string_equal(pool, "deferred");
    assert_null(context);
    told_of_frees++;
}

static kolk_debug *begin(uint32_t flags) {
    kolk_debug_desc_ desc = {.name = "deferred", .noun = "slot", .object_size = SIZE, .object_align = 8};
    desc.settings.flags = flags | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE;
    desc.max_capacity = SLOTS;
    told_of_frees = 0;
    kolk_set_profiler(&(kolk_profiler){NULL, on_free, NULL});
    kolk_debug *debug = kolk_debug_lay_out_(&desc);
    assert_non_null(debug);
    assert_true(kolk_debug_commit_(debug, SLOTS));
    return debug;
}

static const char alloc_site, free_site; /* only their addresses are used */

static void assert_sites(const kolk_debug *debug, const void *alloc, const void *free) {
    kolk_failure failure = {.pool = "deferred"};
    kolk_debug_sites_(debug, SLOT, &failure);
    assert_true(failure.sites);
    assert_ptr_equal(failure.alloc_site, alloc);
    assert_ptr_equal(failure.free_site, free);
}

/* Begins and ends a life. Returns its object, which is not yet wiped. */
static unsigned char *live_and_end(kolk_debug *debug, void *place) {
    unsigned char *object = (unsigned char *)kolk_debug_prepare_(debug, SLOT, place);
    assert_non_null(object);
    kolk_debug_begin_life_(debug, SLOT, object, &alloc_site);
    memset(object, 0x5a, SIZE);
    assert_sites(debug, &alloc_site, NULL);

    kolk_debug_end_life_(debug, SLOT, &free_site);
    assert_sites(debug, &alloc_site, &free_site);
    assert_int_equal(told_of_frees, 0);
    assert_true(all_bytes_are(object, SIZE, 0x5a)); /* AddressSanitizer would report a bad read */
    reports kept;
    begin_reports(&kept);
    kolk_debug_leaks_(debug, SLOTS);
    assert_no_more(&kept); /* it counts as freed, so it is not a leak */
    return object;
}

static void test_an_ended_life_can_be_read_until_it_is_wiped(void **state) {
    static uint64_t places[SLOTS][SIZE / 8];
    const uint32_t fill = 0x1deadb0b;
    kolk_debug *debug = begin(KOLK_DEBUG_FILL);
    unsigned char *object = live_and_end(debug, places[SLOT]);
    assert_false(kolk_debug_is_intact_(debug, SLOT, object, false));
    kolk_debug_wipe_(debug, SLOT, object);
    assert_int_equal(told_of_frees, 1);
    assert_true(kolk_debug_is_intact_(debug, SLOT, object, false));
    for (unsigned i = 0; i < SIZE; i += sizeof fill) assert_memory_equal(object + i, &fill, sizeof fill);
    assert_sites(debug, &alloc_site, &free_site);
    kolk_debug_unmake_(debug, SLOTS);
}

static void test_its_block_is_freed_when_it_is_wiped(void **state) {
    kolk_debug *debug = begin(KOLK_DEBUG_BYPASS);
    unsigned char *object = live_and_end(debug, NULL);
    assert_int_equal(kolk_debug_find_(debug, object, 0, NULL), SLOT);
    kolk_debug_wipe_(debug, SLOT, object);
    assert_int_equal(told_of_frees, 1);
    assert_sites(debug, &alloc_site, &free_site);
    kolk_debug_unmake_(debug, SLOTS);
}

int main(void) {
    const struct CMUnitTest tests[] = {DEBUG_TEST(test_an_ended_life_can_be_read_until_it_is_wiped),
                                       DEBUG_TEST(test_its_block_is_freed_when_it_is_wiped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
