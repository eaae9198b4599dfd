/* The debug setting `fill`: new objects and freed ones hold its patterns; every write after free is found, reported
 * with its bytes, and repaired. (In all states of a pool: test_pool_model.c.) */
#include "../help/debug_test.h"

#define POISON 0x1deadb0bu /* in the machine's byte order */
#define NEW    0xcd

static unsigned char poison(size_t at) {
    const uint32_t word = POISON;
    return ((const unsigned char *)&word)[at % 4];
}

static bool is_poisoned(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != poison(i)) return false;
    return true;
}

/* ---- What objects are filled with -------------------------------------------------------------------------------- */

/* Allocates, checks, writes, frees and checks all slots, so that slots are new, reused, and added by growth. */
static void live_and_die(kolk_pool *pool, uint32_t n, size_t size) {
    for (int life = 0; life < 3; life++) {
        void *objects[70];
        for (uint32_t i = 0; i < n; i++) {
            objects[i] = taken_from(pool);
            assert_true(all_bytes_are(objects[i], size, NEW));
            memset(objects[i], (int)i, size);
        }
        for (uint32_t i = 0; i < n; i++) {
            assert_true(all_bytes_are(objects[i], size, (unsigned char)i)); /* no other object has overwritten it */
            give_back(pool, objects[i]);
            assert_true(is_poisoned((const unsigned char *)objects[i], size));
        }
    }
}

/* promise: base.h "a freed object ... keep, setup or teardown" */
static void test_patterns_of_all_sizes_and_alignments(void **state) {
    for (size_t size = 1; size <= 300; size += SLOW ? 7 : 1) {
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){.object_size = size,
                                           .capacity = 3,
                                           .reuse = orders[size % 3],
                                           .debug = size % 2 ? "fill" : "fill,guard"});
        live_and_die(&pool, 3, size);
        end_pool(&pool);
    }
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t size = 1; size < 30; size += 9) {
            kolk_pool pool;
            make_pool(&pool, &(kolk_pool_desc){.object_size = size,
                                               .object_align = align,
                                               .capacity = 3,
                                               .debug = size % 2 ? "fill" : "fill,guard"});
            assert_int_equal((uintptr_t)taken_from(&pool) % align, 0);
            kolk_pool_clear(&pool);
            live_and_die(&pool, 3, size);
            end_pool(&pool);
        }
    }
}

/* ---- Writes after free ------------------------------------------------------------------------------------------- */

/* A pool "dead" whose slots 0 to 3 were handed out; 1 and 2 are free again, and 1 is next. */
typedef struct fixture {
    kolk_pool pool;
    unsigned char *objects[4];
    reports kept;
} fixture;

#define SIZE 30u

static void start(fixture *f, kolk_reuse reuse) {
    make_pool(&f->pool,
              &(kolk_pool_desc){.name = "dead", .object_size = SIZE, .capacity = 4, .reuse = reuse, .debug = "fill"});
    for (int i = 0; i < 4; i++) f->objects[i] = taken_from(&f->pool);
    give_back(&f->pool, f->objects[reuse == KOLK_REUSE_LIFO ? 2 : 1]);
    give_back(&f->pool, f->objects[reuse == KOLK_REUSE_LIFO ? 1 : 2]);
    begin_reports(&f->kept);
}

static void test_a_write_after_free_is_found_at_reuse(void **state) {
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        fixture f;
        start(&f, orders[n]);
        f.objects[1][7] = 0x2a;
        assert_false(kolk_pool_is_valid(&f.pool));
        assert_no_more(&f.kept); /* is_valid finds it and reports nothing */
        assert_ptr_equal(taken_from(&f.pool), f.objects[1]);
        assert_damage(&f.kept, KOLK_WRITE_AFTER_FREE, "dead", f.objects[1], 1, 7, 1,
                      "kolk: dead: write after free to slot 1: 2a written at byte 7 of it");
        assert_no_more(&f.kept);
        assert_true(all_bytes_are(f.objects[1], SIZE, NEW));
        assert_ptr_equal(taken_from(&f.pool), f.objects[2]); /* slot 2 is undamaged */
        assert_no_more(&f.kept);
        end_pool(&f.pool);
    }
}

static void test_every_byte_counts(void **state) {
    for (uint32_t at = 0; at < SIZE; at++) {
        fixture f;
        char sentence[100];
        start(&f, KOLK_REUSE_LIFO);
        f.objects[1][at] ^= 0x80;
        snprintf(sentence, sizeof sentence, "kolk: dead: write after free to slot 1: %02x written at byte %u of it",
                 poison(at) ^ 0x80, at);
        assert_ptr_equal(taken_from(&f.pool), f.objects[1]);
        assert_damage(&f.kept, KOLK_WRITE_AFTER_FREE, "dead", f.objects[1], 1, at, 1, sentence);
        end_pool(&f.pool);
    }
}

/* promise: README.md "slot 17: 00 00 80 3f written at byte 8" */
static void test_the_bytes_that_changed(void **state) {
    const struct {
        uint32_t from, size, offset, count;
        const char *what; /* the bytes between "slot 1: " and " written"; NULL: they depend on the machine */
    } cases[] = {
        {0, 4, 0, 4, "00 00 00 00"},
        {0, SIZE, 0, SIZE, "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ..."},
        {2, 16, 2, 16, "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"},
        {2, 17, 2, 17, "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 ..."},
        {28, 2, 28, 2, "00 00"},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        fixture f;
        char sentence[200];
        start(&f, KOLK_REUSE_LIFO);
        memset(f.objects[1] + cases[i].from, 0, cases[i].size);
        assert_ptr_equal(taken_from(&f.pool), f.objects[1]);
        snprintf(sentence, sizeof sentence, "kolk: dead: write after free to slot 1: %s written at byte %u of it",
                 cases[i].what, cases[i].offset);
        assert_damage(&f.kept, KOLK_WRITE_AFTER_FREE, "dead", f.objects[1], 1, cases[i].offset, cases[i].count,
                      sentence);
        end_pool(&f.pool);
    }
    /* unchanged bytes between the changed ones are printed, but not counted */
    fixture f;
    char sentence[200];
    start(&f, KOLK_REUSE_LIFO);
    f.objects[1][4] = f.objects[1][7] = 0x77;
    assert_ptr_equal(taken_from(&f.pool), f.objects[1]);
    snprintf(sentence, sizeof sentence,
             "kolk: dead: write after free to slot 1: 77 %02x %02x 77 written at byte 4 of it", poison(5), poison(6));
    assert_damage(&f.kept, KOLK_WRITE_AFTER_FREE, "dead", f.objects[1], 1, 4, 2, sentence);
    end_pool(&f.pool);
}

/* When the handler is called, the damage is already repaired. */
static void look_at_the_object(const kolk_failure *failure, void *context) {
    ++*(unsigned *)context;
    assert_int_equal(failure->offset, 3);
    assert_true(is_poisoned((const unsigned char *)failure->object, SIZE));
}

static void test_it_is_put_right_before_the_handler_is_called(void **state) {
    fixture f;
    unsigned calls = 0;
    start(&f, KOLK_REUSE_LIFO);
    kolk_set_failure_handler(look_at_the_object, &calls);
    f.objects[1][3] = 9;
    assert_ptr_equal(taken_from(&f.pool), f.objects[1]);
    f.objects[2][3] = 9;
    kolk_pool_clear(&f.pool);
    f.objects[0][3] = 9;
    kolk_pool_deinit(&f.pool);
    assert_int_equal(calls, 3);
}

/* ---- Pages that were returned to the system ---------------------------------------------------------------------- */

static void test_pages_given_back_are_no_damage(void **state) {
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        reports kept;
        void *objects[200];
        begin_reports(&kept);
        make_pool(&pool, &(kolk_pool_desc){.name = "pages",
                                           .object_size = 500,
                                           .capacity = 200,
                                           .reuse = orders[n],
                                           .debug = n ? "fill" : "fill,guard"});
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 200), 200);
        for (int i = 0; i < 200; i++)
            if (i != 100) kolk_pool_free(&pool, objects[i]);
        assert_true(kolk_pool_is_valid(&pool));
        assert_true(kolk_pool_trim(&pool) >= 65536);
        assert_true(kolk_pool_is_valid(&pool));
        ((unsigned char *)objects[3])[9] = 1; /* in a page returned to the system, so it cannot be detected */
        for (uint32_t i = 0; i < 50; i++) {
            unsigned char *object = taken_from(&pool);
            assert_true(all_bytes_are(object, 500, NEW));
            give_back(&pool, object);
            assert_true(is_poisoned(object, 500));
        }
        kolk_pool_trim(&pool);
        kolk_pool_clear(&pool);
        assert_true(kolk_pool_is_valid(&pool));
        assert_no_more(&kept);

        /* A slot that shares its pages with a live one keeps them, and is still watched. */
        unsigned char *neighbour = (unsigned char *)objects[101];
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 101), 101);
        assert_true(kolk_pool_index(&pool, objects[100]) == 100 || n == 1);
        for (int i = 0; n != 1 && i < 100; i++) kolk_pool_free(&pool, objects[i]);
        neighbour[0] = 3;
        kolk_pool_trim(&pool);
        if (n != 1) assert_false(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
        if (n == 1) continue; /* FIFO used other slots */
        assert_damage(&kept, KOLK_WRITE_AFTER_FREE, "pages", neighbour, 101, 0, 1,
                      "kolk: pages: write after free to slot 101: 03 written at byte 0 of it");
        assert_no_more(&kept);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_patterns_of_all_sizes_and_alignments),
        DEBUG_TEST(test_a_write_after_free_is_found_at_reuse),
        DEBUG_TEST(test_every_byte_counts),
        DEBUG_TEST(test_the_bytes_that_changed),
        DEBUG_TEST(test_it_is_put_right_before_the_handler_is_called),
        DEBUG_TEST(test_pages_given_back_are_no_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
