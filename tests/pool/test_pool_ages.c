/* The order of births: touch, eviction and protection. (Random operations: test_pool_model.c.) */
#include "../help/debug_test.h"

static double cost_of(const void *object, void *context) {
    return *(const double *)object;
}

/* ---- What the header's example promises -------------------------------------------------------------------------- */

static void make_four(kolk_pool *pool, kolk_reuse reuse, void *objects[4]) {
    make_pool(
        pool,
        &(kolk_pool_desc){
            .name = "four", .object_size = 8, .capacity = 4, .reuse = reuse, .full.on_full = kolk_pool_evict_oldest});
    for (int i = 0; i < 4; i++) objects[i] = taken_from(pool);
}

/* promise: "frees the oldest ... evict_oldest implies",
 * "kolk_pool_newer", "kolk_pool_newest", "kolk_pool_older", "kolk_pool_oldest", "Makes a live object the newest" */
static void test_the_oldest_goes_first(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        void *objects[4];
        make_four(&pool, orders[i], objects);
        for (int n = 0; n < 12; n++) assert_ptr_equal(taken_from(&pool), objects[n % 4]);
        kolk_pool_touch(&pool, objects[0]); /* the second object is now the least recently used */
        assert_ptr_equal(taken_from(&pool), objects[1]);
        kolk_pool_protect(&pool, objects[2], true);
        assert_ptr_equal(kolk_pool_oldest(&pool), objects[3]); /* objects[2] is protected, so it is not in the order */
        assert_null(kolk_pool_newer(&pool, objects[2]));
        assert_null(kolk_pool_older(&pool, objects[2]));
        kolk_pool_touch(&pool, objects[2]);
        assert_ptr_equal(taken_from(&pool), objects[3]);
        assert_ptr_equal(taken_from(&pool), objects[0]);
        kolk_pool_protect(&pool, objects[2], false);
        assert_ptr_equal(kolk_pool_newest(&pool), objects[2]);
        assert_ptr_equal(taken_from(&pool), objects[1]);
        end_pool(&pool);
    }
}

/* ---- Misuse ------------------------------------------------------------------------------------------------------ */

#define NEEDS(verb) "kolk: plain: " verb " needs .ages"

static void test_a_pool_without_ages_says_so(void **state) {
    kolk_pool pool, before;
    notes taken;
    begin_notes(&taken);
    make_pool(&pool, &(kolk_pool_desc){.name = "plain", .object_size = 8, .capacity = 4});
    void *object = taken_from(&pool);
    before = pool;
    assert_null(kolk_pool_oldest(&pool));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("oldest"));
    assert_null(kolk_pool_newest(&pool));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("newest"));
    assert_null(kolk_pool_newer(&pool, object));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("newer"));
    assert_null(kolk_pool_older(&pool, object));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("older"));
    kolk_pool_touch(&pool, object);
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("touch"));
    assert_false(kolk_pool_evict_oldest(&pool, 0, NULL));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("evict_oldest"));
    kolk_pool_protect(&pool, object, true);
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("protect"));
    assert_null(kolk_pool_alloc_over(&pool, 1));
    assert_noted(&taken, KOLK_COST_MISSING, "plain", NULL, NO_SLOT, "kolk: plain: alloc_over needs .full.cost");
    assert_false(kolk_pool_evict_cheapest(&pool, 0, NULL));
    assert_noted(&taken, KOLK_COST_MISSING, "plain", NULL, NO_SLOT, "kolk: plain: evict_cheapest needs .full.cost");
    assert_memory_equal(&pool, &before, sizeof pool);
    end_pool(&pool);
}

/* touch and protect report each pointer that is not a live object. A walk may continue from a dead object. */
static void test_wrong_pointers(void **state) {
    for (unsigned mode = 0; mode < DEBUG_MODES; mode++) {
        kolk_pool pool;
        notes taken;
        int foreign = 0;
        const char *debug = begin_debug_mode(mode);
        make_pool(&pool,
                  &(kolk_pool_desc){.name = "aged", .object_size = 16, .capacity = 4, .ages = true, .debug = debug});
        void *dead = taken_from(&pool), *live = taken_from(&pool);
        kolk_pool_free(&pool, dead);
        begin_notes(&taken);
        kolk_pool_touch(&pool, dead);
        assert_noted(&taken, KOLK_DEAD_OBJECT, "aged", dead, 0, "kolk: aged: touch of slot 0, which is free");
        kolk_pool_protect(&pool, dead, true);
        assert_noted(&taken, KOLK_DEAD_OBJECT, "aged", dead, 0, "kolk: aged: protect of slot 0, which is free");
        kolk_pool_touch(&pool, &foreign);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", &foreign, NO_SLOT,
                     "kolk: aged: touch of a pointer that does not belong to this pool");
        kolk_pool_protect(&pool, NULL, true);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", NULL, NO_SLOT, "kolk: aged: protect of NULL");
        kolk_pool_touch(&pool, moved(live, 4));
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "aged", moved(live, 4), 1,
                     "kolk: aged: touch of a pointer into slot 1, at byte 4 of it");
        assert_null(kolk_pool_newer(&pool, NULL));
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", NULL, NO_SLOT, "kolk: aged: newer of NULL");
        assert_null(kolk_pool_older(&pool, &foreign));
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", &foreign, NO_SLOT,
                     "kolk: aged: older of a pointer that does not belong to this pool");
        if (mode == 0) {
            void *never = moved(live, 16);
            assert_null(kolk_pool_newer(&pool, never));
            assert_noted(&taken, KOLK_NEVER_ISSUED, "aged", never, 2,
                         "kolk: aged: newer of slot 2, which was never handed out");
        }
        assert_ptr_equal(kolk_pool_newer(&pool, dead), live);
        assert_null(kolk_pool_newer(&pool, live));
        assert_silent(&taken);
        assert_true(kolk_pool_is_valid(&pool));
        end_pool(&pool);
        abort_on_failure(state);
    }
}

/* ---- Hooks within hooks ------------------------------------------------------------------------------------------ */

typedef struct renewer {
    kolk_pool pool;
    void *renewed;
    int evicted;
} renewer;

static void renew_instead(void *object, void *context) {
    renewer *r = (renewer *)context;
    r->evicted++;
    r->renewed = kolk_pool_renew(&r->pool, object);
    assert_non_null(r->renewed);
}

/* on_evict renews the object that is to be evicted: it stays, also where its lives cannot be told apart by handles. */
static void test_an_eviction_that_renews(void **state) {
    static const kolk_generations ways[] = {KOLK_GENERATIONS_RECYCLE, KOLK_GENERATIONS_NONE};
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        for (size_t way = 0; way < LENGTH_OF(ways); way++) {
            renewer r = {.evicted = 0};
            make_pool(&r.pool, &(kolk_pool_desc){.name = "renewer",
                                                 .object_size = 8,
                                                 .capacity = 2,
                                                 .reuse = orders[i],
                                                 .generations = ways[way],
                                                 .ages = true,
                                                 .full.on_full = kolk_pool_evict_oldest,
                                                 .full.on_evict = renew_instead,
                                                 .context = &r});
            taken_from(&r.pool);
            taken_from(&r.pool);
            assert_null(kolk_pool_alloc(&r.pool));
            assert_false(kolk_pool_evict_oldest(&r.pool, 0, NULL));
            assert_int_equal(r.evicted, 2);
            assert_true(kolk_pool_is_live(&r.pool, r.renewed));
            assert_int_equal(kolk_pool_count(&r.pool), 2);
            kolk_pool_clear(&r.pool);
            end_pool(&r.pool);
        }
    }
}

static void jump_out(const kolk_failure *failure, void *context) {
    assert_int_equal(failure->rule, KOLK_OVERFLOW);
    longjmp(*(jmp_buf *)context, 1);
}

static bool alloc_jumps_out(kolk_pool *pool, double cost) {
    jmp_buf back;
    kolk_set_failure_handler(jump_out, &back);
    if (setjmp(back) != 0) return true;
    if (cost > 0)
        kolk_pool_alloc_over(pool, cost);
    else
        kolk_pool_alloc(pool);
    return false;
}

static void evict_oldest(kolk_pool *pool, void *context) {
    kolk_pool_evict_oldest(pool, 0, context);
}

static void evict_cheapest(kolk_pool *pool, void *context) {
    kolk_pool_evict_cheapest(pool, 0, context);
}

/* An eviction finds that its object is damaged, and the handler jumps out. The next eviction succeeds. */
static void test_a_longjmp_out_of_an_eviction(void **state) {
    static const struct {
        bool (*on_full)(kolk_pool *, size_t, void *);
        void (*on_low)(kolk_pool *, void *);
    } hooks[] = {{kolk_pool_evict_oldest, NULL},
                 {kolk_pool_evict_cheapest, NULL},
                 /* alloc_over: */ {NULL, NULL},
                 {NULL, evict_oldest},
                 {NULL, evict_cheapest}};
    for (unsigned n = 0; n < 3 * LENGTH_OF(hooks); n++) {
        kolk_pool pool;
        bool low = hooks[n / 3].on_low, over = !low && !hooks[n / 3].on_full;
        make_pool(&pool, &(kolk_pool_desc){.name = "hurt",
                                           .object_size = 8,
                                           .capacity = 3,
                                           .reuse = orders[n % 3],
                                           .ages = true,
                                           .full.cost = cost_of,
                                           .full.on_full = hooks[n / 3].on_full,
                                           .full.on_low = hooks[n / 3].on_low,
                                           .full.low_water = low,
                                           .debug = "guard"});
        for (int i = 0; i < 3 - low; i++) *(double *)kolk_pool_alloc(&pool) = i;
        unsigned char *first = (unsigned char *)kolk_pool_at(&pool, 0);
        first[8] ^= 1;
        assert_true(alloc_jumps_out(&pool, over));
        abort_on_failure(state);
        assert_true(kolk_pool_is_valid(&pool)); /* the damage is repaired */
        assert_int_equal(kolk_pool_count(&pool), 3 - low);
        assert_ptr_equal(kolk_pool_oldest(&pool), first);
        if (low) assert_non_null(kolk_pool_alloc(&pool)); /* on_low was already called */
        if (!low) assert_ptr_equal(over ? kolk_pool_alloc_over(&pool, 1) : kolk_pool_alloc(&pool), first);
        assert_int_equal(kolk_pool_count(&pool), 3);
        end_pool(&pool);
    }
}

/* ---- The typed skin ---------------------------------------------------------------------------------------------- */

typedef struct voice {
    double volume;
} voice;

KOLK_POOL_TYPE(voices, voice)

static double volume_of(const void *object, void *context) {
    return ((const voice *)object)->volume;
}

static void test_typed(void **state) {
    voices pool;
    assert_int_equal(
        voices_init(&pool,
                    &(kolk_pool_desc){
                        .name = "voices", .capacity = 3, .ages = true, .full.cost = volume_of, .full.headroom = 1}),
        KOLK_OK);
    voice *a = voices_alloc(&pool), *b = voices_alloc(&pool);
    a->volume = 1, b->volume = 2;
    assert_null(voices_alloc(&pool));
    voice *urgent = voices_alloc_urgent(&pool);
    assert_non_null(urgent);
    urgent->volume = 3;
    voices_touch(&pool, a);
    assert_ptr_equal(voices_oldest(&pool), b);
    assert_ptr_equal(voices_newest(&pool), a);
    assert_ptr_equal(voices_newer(&pool, b), urgent);
    assert_ptr_equal(voices_older(&pool, a), urgent);
    voices_protect(&pool, a, true);
    assert_null(voices_alloc_over(&pool, 1.5));
    voices_protect(&pool, a, false);
    assert_ptr_equal(voices_alloc_over(&pool, 1.5), a);
    assert_int_equal(voices_tick(&pool, 64), 0);
    assert_true(voices_is_valid(&pool));
    voices_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_the_oldest_goes_first),
        DEBUG_TEST(test_a_pool_without_ages_says_so),
        DEBUG_TEST(test_wrong_pointers),
        DEBUG_TEST(test_an_eviction_that_renews),
        DEBUG_TEST(test_a_longjmp_out_of_an_eviction),
        DEBUG_TEST(test_typed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
