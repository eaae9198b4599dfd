/* The storage that a pool can have (static, or inside a struct), and the cost of making a pool: init touches no
 * memory. */
#include "../help/test.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- What init costs --------------------------------------------------------------------------------------------- */

/* Reads smaps_rollup, for which the kernel counts the pages. Its own counters, such as those of statm, lag behind. The
 * pages of files are left out, because the kernel maps those around an instruction that is run for the first time. */
static long resident_bytes(void) {
    char text[2048] = "";
    if (emulator()) return -1;
#ifdef _WIN32
    return -1; /* wine shows Linux's file, which does not count this memory */
#endif
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    const char *line = length > 0 ? strstr(text, "\nAnonymous:") : NULL;
    long kib;
    return line && sscanf(line, "\nAnonymous: %ld", &kib) == 1 ? kib * 1024 : -1;
}

static bool setup(void *object, void *context) {
    return true;
}

/* promise: "`init` is O(1) and touches no slot" */
static void test_init_touches_no_memory(void **state) {
    if (resident_bytes() < 0) {
        print_message("left out: this program has no /proc/self/smaps_rollup of its own\n");
        skip();
    }
    for (int n = 0; n < 6; n++) {
        kolk_pool pool;
        kolk_pool_desc desc = {
            .object_size = 64, .capacity = 1000000, .reuse = (kolk_reuse)(n % 3), .life.setup = setup};
        if (n >= 3) desc.max_capacity = 2000000;
        long before = resident_bytes();
        make_pool(&pool, &desc);
        assert_true(resident_bytes() - before < 64 * 1024);
        kolk_pool_deinit(&pool);
    }
}

/* Beside its object, a slot has a byte and its place in the stack. The high part of its generation is in pages that are
 * touched when it has had 128 lives. promise: "1 bit; without an OS, on 32 bits: 2 bytes"; README.md "5.2 bytes a
 * slot" */
static void test_what_a_life_touches(void **state) {
    enum { SLOTS = 1000000, LIVES = 130 };
    if (resident_bytes() < 0 || UNDER_ASAN) {
        print_message(
            "left out: this program has no /proc/self/smaps_rollup of its own, or a sanitizer's pages are there too\n");
        skip();
    }
    for (int lowest = 0; lowest < 2; lowest++) {
        kolk_pool pool;
        kolk_reuse reuse = lowest ? KOLK_REUSE_LOWEST : KOLK_REUSE_LIFO;
        make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = SLOTS, .reuse = reuse});
        long before = resident_bytes();
        for (uint32_t n = 0; n < SLOTS; n++) assert_non_null(kolk_pool_alloc(&pool));
        for (uint32_t n = 0; n < SLOTS; n++) kolk_pool_free(&pool, kolk_pool_at(&pool, (n + SLOTS / 2) % SLOTS));
        long touched = resident_bytes() - before;
        assert_in_range(touched, lowest ? SLOTS : 5 * SLOTS, lowest ? 1.2 * SLOTS : 5.2 * SLOTS);
        for (uint32_t n = 0; n < LIVES; n++) kolk_pool_free(&pool, kolk_pool_alloc(&pool));
        assert_in_range(resident_bytes() - before - touched, !lowest, 64 * 1024);
        kolk_pool_deinit(&pool);
    }
}

/* ---- Static storage, before main --------------------------------------------------------------------------------- */

struct bullet {
    float x, y, dx, dy;
};

KOLK_POOL_TYPE(bullets, struct bullet)

static KOLK_POOL_STORAGE(struct bullet, 100) storage; /* in .bss */
static bullets early;

__attribute__((constructor)) static void before_main(void) {
    bullets_init(&early, &(kolk_pool_desc){.name = "early", .memory = &storage, .memory_size = sizeof storage});
    for (int i = 0; i < 10; i++) *bullets_alloc(&early) = (struct bullet){.x = (float)i};
}

/* Nor does the init of a slot map or a queue. A byte map's writes its bytes, but not its objects.
 * promise: slotmap.h "`init` is O(1) and touches no place"; queue.h "init is O(1), apart from the system's work";
 * bytemap.h "pages of the system does not touch the objects" */
static void test_inits_of_other_kinds(void **state) {
    if (resident_bytes() < 0) {
        print_message("left out: this program has no /proc/self/smaps_rollup of its own\n");
        skip();
    }
    if (UNDER_ASAN) {
        print_message("left out: AddressSanitizer is told of each place of a slot map\n");
        skip();
    }
    setenv("KOLK_BYPASS", "0", 1); /* else memcheck is told of each place */
    kolk_slotmap map;
    long before = resident_bytes();
    assert_int_equal(kolk_slotmap_init(&map, &(kolk_slotmap_desc){.object_size = 64, .capacity = 1000000}), KOLK_OK);
    assert_true(resident_bytes() - before < 64 * 1024);
    kolk_slotmap_deinit(&map);

    kolk_queue queue;
    before = resident_bytes();
    assert_int_equal(kolk_queue_init(&queue, &(kolk_queue_desc){.item_size = 64, .capacity = 1000000}), KOLK_OK);
    assert_true(resident_bytes() - before < 64 * 1024);
    kolk_queue_deinit(&queue);

    kolk_bytemap bytes = {0};
    before = resident_bytes();
    assert_int_equal(kolk_bytemap_initialise(&bytes, 1000000, 64), KOLK_OK);
    assert_true(resident_bytes() - before < 1000000 + 64 * 1024);
    kolk_bytemap_flush(&bytes);
    unsetenv("KOLK_BYPASS");
}

static void test_static_storage_before_main(void **state) {
    assert_true(bullets_available(&early) + 10 >= 100);
    assert_int_equal(bullets_count(&early), 10);
    assert_true(bullets_is_valid(&early));
    float expected = 0;
    KOLK_EACH(bullets, bullet, &early) {
        assert_ptr_equal(bullet, storage.objects + (int)expected);
        assert_true(bullet->x == expected);
        expected++;
    }
    assert_true(expected == 10);
    bullets_deinit(&early);
}

/* Wherever the storage is, it is aligned for a pool. promise: typed.h "n objects; you write the declaration" */
static void test_storage_inside_a_struct(void **state) {
    typedef struct owner {
        char odd;
        KOLK_POOL_STORAGE(char, 3) letters;
        char odd_too;
        KOLK_POOL_STORAGE(struct bullet, 7) bullets;
    } owner;
    owner o;
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){
                         .object_size = 1, .capacity = 3, .memory = &o.letters, .memory_size = sizeof o.letters});
    kolk_pool_deinit(&pool);
    make_pool(&pool, &(kolk_pool_desc){.object_size = sizeof(struct bullet),
                                       .object_align = _Alignof(struct bullet),
                                       .capacity = 7,
                                       .memory = &o.bullets,
                                       .memory_size = sizeof o.bullets});
    kolk_pool_deinit(&pool);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_init_touches_no_memory),     TEST(test_what_a_life_touches),     TEST(test_inits_of_other_kinds),
        TEST(test_static_storage_before_main), TEST(test_storage_inside_a_struct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
