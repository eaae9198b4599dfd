/* runs: sample:clang not:qemu not:wine wraps: help/watched_malloc.h */
/* The hooks of an object's life (setup, reset, teardown): how often they run, in which order, and what trim and deinit
 * do with them. (What hooks may do: contracts/test_all_hooks.c and test_pool_model.c.) */
#include "../help/watched_malloc.h"

#include "last_life.h"

#include <unistd.h>

/* ---- A diary of hooks -------------------------------------------------------------------------------------------- */

typedef struct diary {
    kolk_pool pool;
    char text[256]; /* "s0 r0 t0": the hook and the slot */
} diary;

static void write_down(diary *d, char hook, const void *object) {
    size_t slot = (size_t)((const unsigned char *)object - d->pool.slots) / d->pool.stride, length = strlen(d->text);
    snprintf(d->text + length, sizeof d->text - length, "%s%c%u", length ? " " : "", hook, (unsigned)slot);
}

#define assert_diary(d, expected)                                                                                      \
    do {                                                                                                               \
        assert_string_equal((d)->text, expected);                                                                      \
        assert_true(kolk_pool_is_valid(&(d)->pool));                                                                   \
        (d)->text[0] = 0;                                                                                              \
    } while (0)

static bool setup(void *object, void *context) {
    diary *d = (diary *)context;
    write_down(d, 's', object);
    assert_false(kolk_pool_is_live(&d->pool, object));
    return true;
}

static void reset(void *object, void *context) {
    diary *d = (diary *)context;
    write_down(d, 'r', object);
    assert_false(kolk_pool_is_live(&d->pool, object)); /* in a hook the object is dead */
}

static void teardown(void *object, void *context) {
    diary *d = (diary *)context;
    write_down(d, 't', object);
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* promise: "Runs reset for each live object and teardown", "called once per slot, before ... stays free", "called when
 * a live ... includes it", "called once per slot that is set up" */
static void test_each_hook_runs_when_it_is_due(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        diary d = {.text = ""};
        make_pool(&d.pool, &(kolk_pool_desc){.object_size = 8,
                                             .capacity = 3,
                                             .reuse = orders[i],
                                             .life.setup = setup,
                                             .life.reset = reset,
                                             .life.teardown = teardown,
                                             .context = &d});
        assert_diary(&d, ""); /* init calls no hook */
        void *objects[3];
        assert_int_equal(kolk_pool_alloc_n(&d.pool, objects, 3), 3);
        assert_diary(&d, "s0 s1 s2");
        kolk_handle handle = kolk_pool_handle_of(&d.pool, objects[2]);
        assert_true(kolk_pool_free_handle(&d.pool, handle));
        kolk_pool_free(&d.pool, objects[0]);
        assert_diary(&d, "r2 r0");
        assert_non_null(kolk_pool_alloc(&d.pool));
        assert_non_null(kolk_pool_alloc_zeroed(&d.pool));
        assert_diary(&d, ""); /* both were already set up */
        kolk_pool_clear(&d.pool);
        assert_diary(&d, "r0 r1 r2");
        kolk_pool_clear(&d.pool);
        assert_diary(&d, ""); /* no object is alive */
        assert_non_null(kolk_pool_alloc(&d.pool));
        kolk_pool_deinit(&d.pool);
        d.pool.slots = (unsigned char *)objects[0]; /* deinit has set it to NULL, but the comparison needs it */
        assert_string_equal(d.text, "r0 t0 t1 t2");
    }
}

/* ---- reset that frees others: a tree whose nodes are freed with their parent ------------------------------------- */

/* ---- trim, keep -------------------------------------------------------------------------------------------------- */

static unsigned setups_seen, teardowns_seen;

static bool make_contents(void *object, void *context) {
    (void)context;
    setups_seen++;
    memset(object, 0x5e, 64);
    return true;
}

static void count_teardown(void *object, void *context) {
    (void)object, (void)context;
    teardowns_seen++;
}

/* Fills the pool, frees all but the first object, and trims. Returns the last object, so that the caller can check its
 * contents. */
static const unsigned char *last_after_trim(kolk_pool *pool, const kolk_pool_desc *desc, size_t *given_back) {
    setups_seen = teardowns_seen = 0;
    make_pool(pool, desc);
    unsigned char *last = NULL;
    for (uint32_t i = 0; i < desc->capacity; i++) {
        last = (unsigned char *)kolk_pool_alloc(pool);
        assert_non_null(last);
        memset(last, 0xaa, 64);
    }
    for (uint32_t i = 1; i < desc->capacity; i++) kolk_pool_free(pool, kolk_pool_at(pool, i));
    *given_back = kolk_pool_trim(pool);
    assert_true(kolk_pool_is_valid(pool));
    return last;
}

static void test_keep_and_trim(void **state) {
    (void)state;
    uint32_t capacity = (uint32_t)(16 * (size_t)sysconf(_SC_PAGESIZE) / 64);
    kolk_pool pool;
    size_t given_back;
    kolk_pool_desc desc = {.object_size = 64, .capacity = capacity};
    const unsigned char *last = last_after_trim(&pool, &desc, &given_back);
    assert_true(all_bytes_are(last, 64, 0)); /* returned to the system, so it reads as 0 */
    assert_int_equal(given_back, 15 * sysconf(_SC_PAGESIZE));
    kolk_pool_deinit(&pool);

    desc.life.keep = true; /* nothing could make the contents again */
    last = last_after_trim(&pool, &desc, &given_back);
    assert_int_equal(given_back, 0);
    assert_true(all_bytes_are(last, 64, 0xaa));
    kolk_pool_deinit(&pool);

    desc.life.teardown = count_teardown; /* teardown cannot make them either */
    last = last_after_trim(&pool, &desc, &given_back);
    assert_int_equal(given_back, 0);
    assert_int_equal(teardowns_seen, 0);
    assert_true(all_bytes_are(last, 64, 0xaa));
    kolk_pool_deinit(&pool);
    assert_int_equal(teardowns_seen, capacity);

    desc.life.setup = make_contents; /* setup can make them */
    last = last_after_trim(&pool, &desc, &given_back);
    assert_true(all_bytes_are(last, 64, 0));
    uint32_t page = (uint32_t)(sysconf(_SC_PAGESIZE) / 64), torn_down = 15 * page;
    assert_int_equal(given_back, 15 * sysconf(_SC_PAGESIZE));
    assert_int_equal(setups_seen, capacity);
    assert_int_equal(teardowns_seen, torn_down); /* objects in the first page are unchanged */
    for (uint32_t i = 1; i < capacity; i++) {
        const void *object = kolk_pool_alloc(&pool);
        assert_int_equal(kolk_pool_index(&pool, object), i); /* low slots come first */
        assert_true(all_bytes_are(object, 64, i < page ? 0xaa : 0x5e));
    }
    assert_int_equal(setups_seen, capacity + torn_down); /* set up again after the trim */
    kolk_pool_deinit(&pool);
    assert_int_equal(teardowns_seen, capacity + torn_down);
}

/* Slots cross page boundaries: a slot that has lost part of its memory is set up again. */
static void test_trim_tears_down_what_it_touches(void **state) {
    (void)state;
    enum { STRIDE = 1000, SLOTS = 40 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    kolk_pool pool;
    setups_seen = teardowns_seen = 0;
    make_pool(&pool, &(kolk_pool_desc){.object_size = STRIDE,
                                       .capacity = SLOTS,
                                       .life.setup = make_contents,
                                       .life.teardown = count_teardown});
    for (int i = 0; i < SLOTS; i++) assert_non_null(kolk_pool_alloc(&pool));
    for (uint32_t i = 3; i < 30; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
    size_t from = (3 * STRIDE + page - 1) / page * page, to = 30 * STRIDE / page * page;
    assert_int_equal(kolk_pool_trim(&pool), to - from);
    unsigned touched = 0;
    for (size_t i = 3; i < 30; i++) touched += (i + 1) * STRIDE > from && i * STRIDE < to;
    assert_int_equal(teardowns_seen, touched);
    for (uint32_t i = 3; i < 30; i++) {
        const void *object = kolk_pool_alloc(&pool);
        assert_int_equal(kolk_pool_index(&pool, object), i);
        assert_true(all_bytes_are(object, 64, 0x5e));
    }
    assert_int_equal(setups_seen, SLOTS + touched);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
}

/* A dead slot that fills no whole page, but crosses a page boundary, keeps its contents. */
static void test_trim_leaves_what_it_cannot_give_back(void **state) {
    (void)state;
    uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE), size = page / 4 * 3;
    kolk_pool pool;
    setups_seen = teardowns_seen = 0;
    make_pool(&pool,
              &(kolk_pool_desc){
                  .object_size = size, .capacity = 3, .life.setup = make_contents, .life.teardown = count_teardown});
    for (int i = 0; i < 3; i++) assert_non_null(kolk_pool_alloc(&pool));
    kolk_pool_free(&pool, kolk_pool_at(&pool, 1));
    assert_int_equal(kolk_pool_trim(&pool), 0);
    assert_non_null(kolk_pool_alloc(&pool));
    assert_int_equal(setups_seen, 3);
    assert_int_equal(teardowns_seen, 0);
    kolk_pool_deinit(&pool);
}

static void ignore_leaks(const kolk_failure *failure, void *context) {
    (void)context;
    assert_int_equal(failure->rule, KOLK_LEAK);
}

/* Objects that resets allocate during deinit are reset as well, and with bypass their malloc blocks are freed. */
typedef struct ending {
    kolk_pool pool;
    uint32_t born, resets, wanted; /* wanted: the most objects to allocate */
} ending;

static void reset_that_wants_more(void *object, void *context) {
    ending *e = (ending *)context;
    (void)object;
    e->resets++;
    if (e->born < e->wanted && kolk_pool_alloc(&e->pool)) e->born++;
}

static void teardown_of_what_is_dead(void *object, void *context) {
    (void)object;
    assert_int_equal(kolk_pool_count(&((ending *)context)->pool), 0);
}

/* 3 of 8 slots are alive: 3 lower ones are free again, and the last 2 were never used. */
static void end_with(kolk_pool_desc desc, uint32_t wanted, uint32_t expected) {
    ending e = {.wanted = wanted};
    void *objects[6];
    desc.name = "ends";
    desc.object_size = 1000;
    desc.capacity = 8;
    desc.life.reset = reset_that_wants_more;
    desc.context = &e;
    make_pool(&e.pool, &desc);
    e.born = wanted; /* no reset may allocate yet */
    assert_int_equal(kolk_pool_alloc_n(&e.pool, objects, 6), 6);
    for (int i = 0; i < 3; i++) kolk_pool_free(&e.pool, objects[i]);
    e.resets = 0;
    e.born = 3;
    kolk_pool_deinit(&e.pool);
    assert_int_equal(e.born, expected);
    assert_int_equal(e.resets, expected);
    assert_true(is_all_zero(&e.pool));
    assert_int_equal(heap.count, 0);
}

/* promise: "A reset hook ... ended too" */
static void test_a_reset_that_allocates_in_deinit(void **state) {
    (void)state;
    static const char *const debug[] = {NULL, "fill,guard,quarantine=2,sites", "BYPASS"};
    for (int i = 0; i < 3 * 2 * 2 * 3; i++) {
        kolk_pool_desc desc = {.reuse = orders[i % 3], .debug = debug[i / 12]};
        if (i / 3 % 2) desc.max_capacity = 100000;
        if (i / 6 % 2) desc.life.teardown = teardown_of_what_is_dead;
        setenv("KOLK_BYPASS", i / 12 == 2 ? "1" : "0", 1);
        if (i / 12 == 2) desc.debug = NULL;
        kolk_set_failure_handler(ignore_leaks, NULL);
        end_with(desc, 4, 4);
        end_with(desc, UINT32_MAX, 8); /* once per slot */
    }
}

/* Within a reset the object is dead, though the count still includes it. Freeing it is reported, as for any dead
 * object. */
static uint32_t count_in_reset;

static void reset_that_looks(void *object, void *context) {
    kolk_pool *pool = (kolk_pool *)context;
    count_in_reset = kolk_pool_count(pool);
    assert_null(first_alive(pool));
    kolk_pool_free(pool, object);
    for (uint64_t life = 1; life <= 2; life++) { /* of slot 0, which is neither free nor worn out yet */
        kolk_handle next_life = kolk_handle_unpack((life << 32) ^ pool->tag);
        assert_null(kolk_pool_get(pool, next_life));
        assert_null(kolk_pool_alloc_at(pool, next_life));
    }
}

static void test_what_a_reset_sees(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * LENGTH_OF(orders); i++) {
        kolk_pool pool;
        notes taken;
        make_pool(&pool, &(kolk_pool_desc){.name = "seen",
                                           .object_size = 8,
                                           .capacity = 4,
                                           .reuse = orders[i % 3],
                                           .life.reset = reset_that_looks,
                                           .context = &pool});
        void *object = kolk_pool_alloc(&pool);
        if (i >= 3) be_in_last_life(&pool, 0);
        begin_notes(&taken);
        kolk_pool_free(&pool, object);
        assert_noted(&taken, KOLK_DOUBLE_FREE, "seen", object, 0, "kolk: seen: double free of slot 0");
        assert_int_equal(count_in_reset, 1);
        assert_int_equal(kolk_pool_count(&pool), 0);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_hook_runs_when_it_is_due),
        TEST(test_keep_and_trim),
        TEST(test_trim_tears_down_what_it_touches),
        TEST(test_trim_leaves_what_it_cannot_give_back),
        cmocka_unit_test_setup_teardown(test_a_reset_that_allocates_in_deinit, bypass, end_bypass),
        TEST(test_what_a_reset_sees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
