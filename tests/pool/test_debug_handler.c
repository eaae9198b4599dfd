/* Handlers of the debug mode's failures: one returns, one jumps out, one queries the pool. After each, the pool is
 * valid and usable. */
#include "../help/debug_test.h"

/* ---- Damage, reported by each call that checks for it ------------------------------------------------------------ */

typedef enum call { ALLOC, ALLOC_N, ALLOC_ZEROED, ALLOC_AT, RENEW, FREE, FREE_HANDLE, CLEAR, DEINIT, CALLS } call;

#define SLOTS 6u

/* Slots 0 to 4 were handed out; 1 and 3 are free. The free slot that will be used next is damaged behind its end, and
 * so is slot 0, which is alive. */
typedef struct scene {
    kolk_pool pool;
    unsigned char *objects[SLOTS];
    uint32_t dead; /* the free slot that is used next */
    unsigned reports;
    bool jumps;
    jmp_buf back;
} scene;

static const char *const settings[] = {"guard", "guard,fill", "guard,fill,quarantine=1", "guard,fill,quarantine=9"};

static void set_scene(scene *s, kolk_reuse reuse, const char *debug) {
    make_pool(&s->pool,
              &(kolk_pool_desc){.name = "scene", .object_size = 12, .capacity = 5, .reuse = reuse, .debug = debug});
    for (uint32_t i = 0; i < 5; i++) s->objects[i] = taken_from(&s->pool);
    give_back(&s->pool, s->objects[3]);
    give_back(&s->pool, s->objects[1]);
    s->dead = reuse == KOLK_REUSE_FIFO || s->pool.quarantined ? 3 : 1;
    s->objects[s->dead][12] = 0x21;
    s->objects[0][12] = 0x22;
}

/* A handler may call const functions. So far only the reported part is repaired, so is_valid may be false; this handler
 * repairs the rest first. */
static void look_around(const kolk_failure *failure, void *context) {
    scene *s = (scene *)context;
    const kolk_pool *pool = &s->pool;
    s->reports++;
    assert_int_equal(failure->rule, KOLK_OVERFLOW);
    assert_string_equal(failure->pool, "scene");
    assert_ptr_equal(failure->object, s->objects[failure->slot]);
    assert_true(all_bytes_are(moved(failure->object, 12), 4, 0xfd));
    uint32_t count = 0;
    kolk_cursor cursor = kolk_pool_each(pool);
    for (void *each; (each = kolk_cursor_next(&cursor));) {
        assert_true(kolk_pool_is_live(pool, each));
        assert_ptr_equal(kolk_pool_get(pool, kolk_pool_handle_of(pool, each)), each);
        assert_ptr_equal(kolk_pool_at(pool, kolk_pool_index(pool, each)), each);
        count++;
    }
    assert_int_equal(kolk_pool_count(pool), count);
    assert_int_equal(count, 3);
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    assert_int_equal(stats.count, 3);
    s->objects[0][12] = 0xfd; /* repairs the damage; the test knows all damaged bytes */
    s->objects[s->dead][12] = 0xfd;
    assert_true(kolk_pool_is_valid(pool));
    if (s->jumps) longjmp(s->back, 1);
}

static void *do_call(scene *s, call what) {
    void *objects[2] = {NULL, NULL};
    kolk_pool *pool = &s->pool;
    switch (what) {
    case ALLOC:
        return kolk_pool_alloc(pool);
    case ALLOC_N:
        kolk_pool_alloc_n(pool, objects, 2);
        return objects[0];
    case ALLOC_ZEROED:
        return kolk_pool_alloc_zeroed(pool);
    case ALLOC_AT:
        return kolk_pool_alloc_at(pool, kolk_handle_unpack(UINT64_C(9) << 32 | (s->dead ^ pool->tag)));
    case RENEW:
        return kolk_pool_renew(pool, s->objects[0]);
    case FREE:
        kolk_pool_free(pool, s->objects[0]);
        return NULL;
    case FREE_HANDLE:
        kolk_pool_free_handle(pool, kolk_pool_handle_of(pool, s->objects[0]));
        return NULL;
    case CLEAR:
        kolk_pool_clear(pool);
        return NULL;
    default:
        kolk_pool_deinit(pool);
        return NULL;
    }
}

/* Each slot can be used once. */
static void use_all(kolk_pool *pool) {
    bool seen[5] = {false};
    kolk_pool_clear(pool);
    assert_true(kolk_pool_is_valid(pool));
    for (uint32_t i = 0; i < 5; i++) {
        unsigned char *object = taken_from(pool);
        uint32_t slot = kolk_pool_index(pool, object);
        assert_false(seen[slot]);
        seen[slot] = true;
        memset(object, 1, 12);
    }
    assert_null(kolk_pool_alloc(pool));
    kolk_cursor cursor = kolk_pool_each(pool);
    for (void *each; (each = kolk_cursor_next(&cursor));) give_back(pool, each);
}

static void test_a_handler_that_returns(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(settings) * LENGTH_OF(orders) * CALLS; n++) {
        scene s = {.jumps = false};
        call what = (call)(n % CALLS);
        set_scene(&s, orders[n / CALLS % 3], settings[n / CALLS / 3]);
        kolk_set_failure_handler(look_around, &s);
        void *object = do_call(&s, what);
        assert_int_equal(s.reports, 1);
        kolk_set_failure_handler(NULL, NULL);
        if (what == DEINIT) {
            assert_true(is_all_zero(&s.pool));
            continue;
        }
        assert_true(kolk_pool_is_valid(&s.pool)); /* and the call succeeded */
        static const uint32_t counts[] = {[ALLOC] = 4, 5, 4, 4, [RENEW] = 3, 2, 2, [CLEAR] = 0};
        assert_ptr_equal(object, what <= ALLOC_AT ? s.objects[s.dead] : what == RENEW ? s.objects[0] : NULL);
        assert_int_equal(kolk_pool_count(&s.pool), counts[what]);
        use_all(&s.pool);
        end_pool(&s.pool);
    }
}

static bool jumps_out(scene *s, call what) {
    if (setjmp(s->back) != 0) return true;
    do_call(s, what);
    return false;
}

static void find_scene(const char *text, size_t length, void *context) {
    bool *found = (bool *)context;
    for (size_t i = 0; i + 7 <= length; i++) *found = *found || memcmp(text + i, "\"scene\"", 7) == 0;
}

/* Is the pool listed in the registry? */
static bool is_listed(void) {
    bool found = false;
    kolk_stats_write(KOLK_STATS_JSON, find_scene, &found);
    return found;
}

static void test_a_handler_that_jumps_out(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(settings) * LENGTH_OF(orders) * CALLS; n++) {
        static scene s; /* static, so that longjmp preserves it */
        memset(&s, 0, sizeof s);
        s.jumps = true;
        call what = (call)(n % CALLS);
        set_scene(&s, orders[n / CALLS % 3], settings[n / CALLS / 3]);
        kolk_set_failure_handler(look_around, &s);
        assert_true(jumps_out(&s, what));
        kolk_set_failure_handler(NULL, NULL);
        assert_int_equal(s.reports, 1);
        assert_true(kolk_pool_is_valid(&s.pool));
        assert_true(is_listed());
        assert_int_equal(kolk_pool_count(&s.pool), 3); /* no object was taken or freed */
        for (uint32_t i = 0; i < 5; i += 2) assert_true(kolk_pool_is_live(&s.pool, s.objects[i]));
        s.reports = 0;
        do_call(&s, what); /* the damage is repaired, so the same call succeeds now */
        assert_int_equal(is_listed(), what != DEINIT);
        if (what == DEINIT) continue;
        assert_true(kolk_pool_is_valid(&s.pool));
        use_all(&s.pool);
        end_pool(&s.pool);
    }
}

/* If the handler jumps out of an alloc, the next alloc must still call on_full. */
static unsigned asked;

static bool on_full(kolk_pool *pool, size_t bytes, void *context) {
    asked++;
    kolk_pool_free(pool, first_alive(pool));
    return true;
}

static jmp_buf back;

static void jump_back(const kolk_failure *failure, void *context) {
    longjmp(back, 1);
}

static bool alloc_n_jumps_out(kolk_pool *pool, uint32_t n) {
    void *objects[2];
    if (setjmp(back) != 0) return true;
    kolk_pool_alloc_n(pool, objects, n);
    return false;
}

static void test_on_full_after_a_jump_out_of_alloc_n(void **state) {
    kolk_pool pool;
    unsigned char *objects[2];
    make_pool(&pool, &(kolk_pool_desc){.object_size = 12, .capacity = 2, .full.on_full = on_full, .debug = "guard"});
    for (int i = 0; i < 2; i++) objects[i] = taken_from(&pool);
    for (int i = 0; i < 2; i++) give_back(&pool, objects[i]);
    objects[0][12] = 1; /* the second object that alloc_n takes */
    kolk_set_failure_handler(jump_back, NULL);
    assert_true(alloc_n_jumps_out(&pool, 2));
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_clear(&pool);
    asked = 0;
    for (int i = 0; i < 2; i++) taken_from(&pool);
    assert_int_equal(asked, 0);
    taken_from(&pool);
    assert_int_equal(asked, 1);
    end_pool(&pool);
}

/* A hook that frees damaged objects is still running after the report, so its own allocs do not call it again. */
static bool free_and_take_back(kolk_pool *pool, size_t bytes, void *context) {
    asked++;
    kolk_pool_free(pool, kolk_pool_at(pool, 0));
    assert_non_null(kolk_pool_alloc(pool));
    assert_null(kolk_pool_alloc(pool));
    return true;
}

static void test_on_full_after_a_report_within_it(void **state) {
    kolk_pool pool;
    reports kept;
    begin_reports(&kept);
    make_pool(&pool, &(kolk_pool_desc){
                         .object_size = 12, .capacity = 1, .full.on_full = free_and_take_back, .debug = "guard,fill"});
    unsigned char *object = taken_from(&pool);
    object[12] = 1;
    asked = 0;
    assert_null(kolk_pool_alloc(&pool));
    assert_int_equal(asked, 1);
    assert_int_equal(kept.count, 1);
    end_pool(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_handler_that_returns),
        DEBUG_TEST(test_a_handler_that_jumps_out),
        DEBUG_TEST(test_on_full_after_a_jump_out_of_alloc_n),
        DEBUG_TEST(test_on_full_after_a_report_within_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
