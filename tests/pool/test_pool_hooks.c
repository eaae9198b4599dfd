/* runs: sample:clang not:qemu not:wine wraps: help/watched_malloc.h */
/* The hooks of an object's life (setup, reset, teardown) and of a full pool: how often they run, in which order, and
 * what they may do. Also tests keep. */
#include "../help/watched_malloc.h"

#include <unistd.h>

/* ---- A diary of hooks -------------------------------------------------------------------------------------------- */

typedef struct diary {
    kolk_pool pool;
    char text[256]; /* "s0 r0 t0": the hook and the slot */
    int setups_that_fail;
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
    return d->setups_that_fail-- <= 0;
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

#define HOOKED(d) .life = {.setup = setup, .reset = reset, .teardown = teardown}, .context = (d)

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* promise: "Runs reset for each live object and teardown", "called once per slot, before ... stays free", "called when
 * a live ... includes it", "called once per slot that is set up" */
static void test_each_hook_runs_when_it_is_due(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        diary d = {.text = ""};
        make_pool(&d.pool, &(kolk_pool_desc){.object_size = 8, .capacity = 3, .reuse = orders[i], HOOKED(&d)});
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

static void test_each_hook_works_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        for (int only = 0; only < 3; only++) {
            diary d = {.text = ""};
            kolk_pool_desc desc = {.object_size = 8, .capacity = 3, .reuse = orders[i], .context = &d};
            if (only == 0) desc.life.setup = setup;
            if (only == 1) desc.life.reset = reset;
            if (only == 2) desc.life.teardown = teardown;
            make_pool(&d.pool, &desc);
            void *first = kolk_pool_alloc(&d.pool);
            void *second = kolk_pool_alloc(&d.pool);
            assert_diary(&d, only == 0 ? "s0 s1" : "");
            kolk_pool_free(&d.pool, second);
            assert_diary(&d, only == 1 ? "r1" : "");
            assert_true(kolk_pool_is_live(&d.pool, first));
            kolk_pool_deinit(&d.pool);
            assert_string_equal(d.text, only == 1 ? "r0" : only == 2 ? "t0 t1" : "");
        }
    }
}

static void test_a_setup_that_fails(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        diary d = {.text = ""};
        kolk_stats stats;
        make_pool(&d.pool, &(kolk_pool_desc){.object_size = 8, .capacity = 1, .reuse = orders[i], HOOKED(&d)});
        d.setups_that_fail = 2;
        assert_null(kolk_pool_alloc(&d.pool));
        assert_null(kolk_pool_alloc_zeroed(&d.pool));
        assert_diary(&d, "s0 s0"); /* the slot stays free, and its setup is tried again */
        kolk_pool_stats(&d.pool, &stats);
        assert_int_equal(stats.failed, 2);
        assert_int_equal(stats.count, 0);
        void *object = kolk_pool_alloc(&d.pool);
        assert_non_null(object);
        kolk_pool_free(&d.pool, object);
        assert_diary(&d, "s0 r0");
        d.setups_that_fail = 1;
        assert_non_null(kolk_pool_alloc(&d.pool)); /* it is already set up */
        kolk_pool_clear(&d.pool);
        kolk_pool_deinit(&d.pool);

        d = (diary){.setups_that_fail = 3};
        make_pool(&d.pool, &(kolk_pool_desc){.object_size = 8, .capacity = 2, .reuse = orders[i], HOOKED(&d)});
        assert_null(kolk_pool_alloc(&d.pool));
        kolk_pool_deinit(&d.pool);
        assert_string_equal(d.text, "s0"); /* no teardown for an object that is not set up */
    }
}

/* ---- reset that frees others: a tree whose nodes are freed with their parent ------------------------------------- */

typedef struct node {
    struct node *children[2];
} node;

static void free_children(void *object, void *context) {
    node *parent = (node *)object;
    kolk_pool *pool = (kolk_pool *)context;
    for (int i = 0; i < 2; i++) {
        if (kolk_pool_is_live(pool, parent->children[i])) kolk_pool_free(pool, parent->children[i]);
        parent->children[i] = NULL;
    }
}

static node *plant(kolk_pool *pool, int levels) {
    node *root = (node *)kolk_pool_alloc(pool);
    assert_non_null(root);
    for (int i = 0; i < 2; i++) root->children[i] = levels > 1 ? plant(pool, levels - 1) : NULL;
    return root;
}

static void test_a_reset_that_frees_a_tree(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){.object_size = sizeof(node),
                                           .capacity = 40,
                                           .reuse = orders[i],
                                           .life.reset = free_children,
                                           .context = &pool});
        node *stays = plant(&pool, 3);
        node *goes = plant(&pool, 4);
        assert_int_equal(kolk_pool_count(&pool), 7 + 15);
        kolk_pool_free(&pool, goes);
        assert_int_equal(kolk_pool_count(&pool), 7);
        assert_true(kolk_pool_is_valid(&pool));
        assert_true(kolk_pool_is_live(&pool, stays->children[1]));
        plant(&pool, 4);
        kolk_pool_clear(&pool); /* some are freed by their parent's reset, others by clear */
        assert_int_equal(kolk_pool_count(&pool), 0);
        assert_true(kolk_pool_is_valid(&pool));
        plant(&pool, 4);
        kolk_pool_deinit(&pool);
        assert_true(is_all_zero(&pool));
    }
}

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

/* With keep, and without a trim, contents survive between lives, for every order of reuse.
 * promise: "contents survive from one life to the next" */
static void test_contents_survive_between_lives(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        setups_seen = 0;
        make_pool(
            &pool,
            &(kolk_pool_desc){
                .object_size = 64, .capacity = 70, .reuse = orders[i], .life.keep = true, .life.setup = make_contents});
        for (int round = 0; round < 5; round++) {
            void *objects[70];
            assert_int_equal(kolk_pool_alloc_n(&pool, objects, 70), 70);
            for (int n = 0; n < 70; n++) assert_true(all_bytes_are(objects[n], 64, 0x5e));
            for (int n = 0; n < 70; n++) kolk_pool_free(&pool, objects[n]);
        }
        assert_int_equal(setups_seen, 70);
        kolk_pool_deinit(&pool);
    }
}

/* A setup hook may use its pool: other allocs do not get the slot that is being set up. */
static kolk_pool *pool_of_setup;
static void *made_by_setup;

static bool setup_that_allocates(void *object, void *context) {
    int *calls = (int *)context;
    (void)object;
    if (++*calls == 1) return false;
    if (*calls == 2) made_by_setup = kolk_pool_alloc(pool_of_setup);
    return true;
}

static void test_a_setup_that_allocates(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        int calls = 0;
        pool_of_setup = &pool;
        make_pool(&pool, &(kolk_pool_desc){.object_size = 8,
                                           .capacity = 4,
                                           .reuse = orders[i],
                                           .life.setup = setup_that_allocates,
                                           .context = &calls});
        assert_null(kolk_pool_alloc(&pool));
        void *object = kolk_pool_alloc(&pool);
        assert_non_null(object);
        assert_non_null(made_by_setup);
        assert_ptr_not_equal(object, made_by_setup);
        assert_int_equal(kolk_pool_count(&pool), 2);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

/* A reset hook may use the pool as well: other allocs do not get the slot that is being reset. */
static void *made_by_reset;

static void reset_that_allocates(void *object, void *context) {
    (void)object;
    made_by_reset = kolk_pool_alloc((kolk_pool *)context);
}

static void test_a_reset_that_allocates(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        void *objects[4];
        make_pool(&pool, &(kolk_pool_desc){.object_size = 8,
                                           .capacity = 4,
                                           .reuse = orders[i],
                                           .life.reset = reset_that_allocates,
                                           .context = &pool});
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 4), 4);
        kolk_pool_free(&pool, objects[1]); /* the pool is full, because the dying object still has its slot */
        assert_null(made_by_reset);
        assert_int_equal(kolk_pool_count(&pool), 3);
        kolk_pool_free(&pool, objects[3]);
        assert_ptr_equal(made_by_reset, objects[1]);
        assert_true(kolk_pool_is_live(&pool, objects[1]));
        assert_int_equal(kolk_pool_count(&pool), 3);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_clear(&pool);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
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
    kolk_handle next_life = kolk_handle_unpack((UINT64_C(2) << 32) ^ pool->tag); /* of slot 0 */
    assert_null(kolk_pool_get(pool, next_life));
    assert_null(kolk_pool_alloc_at(pool, next_life));
}

static void test_what_a_reset_sees(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        notes taken;
        make_pool(&pool, &(kolk_pool_desc){.name = "seen",
                                           .object_size = 8,
                                           .capacity = 4,
                                           .reuse = orders[i],
                                           .life.reset = reset_that_looks,
                                           .context = &pool});
        void *object = kolk_pool_alloc(&pool);
        begin_notes(&taken);
        kolk_pool_free(&pool, object);
        assert_noted(&taken, KOLK_DOUBLE_FREE, "seen", object, 0, "kolk: seen: double free of slot 0");
        assert_int_equal(count_in_reset, 1);
        assert_int_equal(kolk_pool_count(&pool), 0);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

static void *made_by_reset;

static void reset_that_allocates_once(void *object, void *context) {
    (void)object;
    kolk_pool *pool = (kolk_pool *)context;
    if (!made_by_reset) made_by_reset = pool; /* marks the first call */
    if (made_by_reset == pool) made_by_reset = kolk_pool_alloc(pool);
}

static bool clear_all(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes, (void)context;
    kolk_pool_clear(pool);
    return true;
}

/* on_full is not called within a hook. Here it would clear the pool and so free the slot whose reset is running; then
 * the interrupted free would free the slot again. promise: "on_full, on_low ... return KOLK_IN_HOOK" */
static void test_an_alloc_in_a_hook_does_not_ask_on_full(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        void *objects[3];
        make_pool(&pool, &(kolk_pool_desc){.object_size = 24,
                                           .capacity = 3,
                                           .reuse = orders[i],
                                           .life.reset = reset_that_allocates_once,
                                           .full.on_full = clear_all,
                                           .context = &pool});
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 3), 3);
        made_by_reset = NULL;
        kolk_pool_free(&pool, objects[0]);
        assert_null(made_by_reset);
        assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(kolk_pool_count(&pool), 2);
        made_by_reset = &pool + 1; /* the reset allocates no more */
        kolk_pool_deinit(&pool);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_hook_runs_when_it_is_due),
        TEST(test_each_hook_works_alone),
        TEST(test_a_setup_that_fails),
        TEST(test_a_reset_that_frees_a_tree),
        TEST(test_keep_and_trim),
        TEST(test_trim_tears_down_what_it_touches),
        TEST(test_trim_leaves_what_it_cannot_give_back),
        TEST(test_contents_survive_between_lives),
        TEST(test_a_setup_that_allocates),
        TEST(test_a_reset_that_allocates),
        cmocka_unit_test_setup_teardown(test_a_reset_that_allocates_in_deinit, bypass, end_bypass),
        TEST(test_what_a_reset_sees),
        TEST(test_an_alloc_in_a_hook_does_not_ask_on_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
