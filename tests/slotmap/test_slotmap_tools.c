/* runs: not:wine with: src wraps: kolk_tools_hide_ kolk_tools_show_ */
/* Checks the library's reports to memory tools about a slot map's places, with KOLK_BYPASS=1: the program may touch the
 * places of objects and no others. Each byte is checked. The tools' own reports are tested in tests/tools. */
#include "../help/debug_test.h"

#include "slotmap_test.h"
#include "snapshot_block.h"

#include "core/tools.h"

/* All reports to tools, in order. */
static struct {
    struct {
        const unsigned char *start, *end;
        bool hidden;
    } all[5000];
    size_t n;
} told;

void __real_kolk_tools_hide_(const void *bytes, size_t size);
void __real_kolk_tools_show_(const void *bytes, size_t size);
void __wrap_kolk_tools_hide_(const void *bytes, size_t size);
void __wrap_kolk_tools_show_(const void *bytes, size_t size);

static void take_down(const unsigned char *bytes, size_t size, bool hidden) {
    assert_true(told.n < LENGTH_OF(told.all));
    assert_true(size > 0 && size < 1 << 26);
    told.all[told.n].start = bytes;
    told.all[told.n].end = bytes + size;
    told.all[told.n++].hidden = hidden;
}

void __wrap_kolk_tools_hide_(const void *bytes, size_t size) {
    take_down(bytes, size, true);
    __real_kolk_tools_hide_(bytes, size);
}

void __wrap_kolk_tools_show_(const void *bytes, size_t size) {
    take_down(bytes, size, false);
    __real_kolk_tools_show_(bytes, size);
}

static bool is_hidden(const unsigned char *byte) {
    for (size_t n = told.n; n-- > 0;)
        if (byte >= told.all[n].start && byte < told.all[n].end) return told.all[n].hidden;
    return false;
}

/* Asserts that all bytes of this range are hidden, or that none is. */
static void assert_hidden(const unsigned char *from, const unsigned char *to, bool hidden) {
    for (; from < to; from++)
        if (is_hidden(from) != hidden) fail_msg("%d: %s", (int)(to - from), hidden ? "not hidden" : "hidden");
}

static void assert_told(const kolk_slotmap *map) {
    const unsigned char *objects = map->objects, *free = objects + (size_t)map->count * map->stride;
    const unsigned char *end = objects + (size_t)map->capacity * map->stride, *granule = end;
    while ((uintptr_t)granule % 8) granule++;
    assert_hidden(objects, free, false);
    assert_hidden(free, granule, true); /* up to the end of the last granule, which no object uses */
    if (!map->blocks) assert_hidden(objects - 16, objects, false);
    if (!map->blocks && map->memory) assert_hidden(granule, granule + 16, false);
}

static void test_places(void **state) {
    static const char *const settings[] = {NULL, "move"};
    static const uint32_t sizes[] = {1, 12, 8, 40};
    for (unsigned n = 0; n < 2 * 2 * LENGTH_OF(sizes); n++) {
        kolk_slotmap map;
        kolk_slotmap_desc desc = {.object_size = sizes[n / 4], .capacity = 5, .debug = settings[n % 2]};
        desc.max_capacity = n / 2 % 2 ? 100000 : 9; /* arrays take whole pages, or lie close together */
        told.n = 0;
        setenv("KOLK_BYPASS", "1", 1);
        make_map(&map, &desc);
        assert_told(&map);
        for (uint32_t i = 0; i < 9; i++) {
            add_letter(&map, 'a');
            assert_told(&map);
        }
        while (kolk_slotmap_count(&map) > 3) {
            const unsigned char *before = map.objects;
            kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, before));
            assert_told(&map);
            if (map.objects != before) assert_hidden(before, before + (size_t)map.capacity * map.stride, true);
        }
        for (int i = 0; i < 12; i++) { /* enough to reuse the blocks of the setting `move` */
            kolk_slotmap_remove(&map, add_letter(&map, 'b'));
            assert_told(&map);
        }
        block three = take_map_snapshot(&map);
        assert_int_equal(kolk_slotmap_reserve(&map, 9), KOLK_OK);
        add_letter(&map, 'b');
        assert_told(&map);
        block four = take_map_snapshot(&map);
        for (int i = 0; i < 12; i++) {
            block next = i % 2 ? four : three;
            const unsigned char *before = map.objects;
            assert_int_equal(kolk_slotmap_restore(&map, next.bytes, next.size), KOLK_OK);
            assert_told(&map);
            if (map.objects != before) assert_hidden(before, before + (size_t)map.capacity * map.stride, true);
        }
        free(three.bytes);
        free(four.bytes);
        kolk_slotmap_clear(&map);
        assert_told(&map);
        const unsigned char *objects = map.objects, *end = objects + (size_t)map.capacity * map.stride;
        const unsigned char *blocks = desc.max_capacity == 9 ? map.blocks : NULL;
        end_map(&map);
        assert_hidden(objects, end + 8, false);
        if (blocks) assert_hidden(blocks, blocks + 8 * (size_t)sysconf(_SC_PAGESIZE), false); /* one page each */
    }
}

/* Without KOLK_BYPASS, nothing is reported to tools. A map without places is not reported either. */
static void test_silence(void **state) {
    for (unsigned n = 0; n < 2; n++) {
        kolk_slotmap map;
        told.n = 0;
        setenv("KOLK_BYPASS", n ? "1" : "0", 1);
        make_map(&map, &(kolk_slotmap_desc){.object_size = 12, .max_capacity = n ? 9 : 0, .capacity = n ? 0 : 5});
        for (uint32_t i = 0; i < map.capacity; i++) add_letter(&map, 'a');
        kolk_slotmap_clear(&map);
        end_map(&map);
        assert_int_equal(told.n, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {DEBUG_TEST(test_places), DEBUG_TEST(test_silence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
