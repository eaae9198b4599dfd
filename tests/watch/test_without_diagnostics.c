/* runs: long with: src KOLK_GENERATION_MAX=7 */
/* A program without diagnostics: the messages that it has in their place; and pools without options, which this program
 * uses before its first pool with options. */
#include "../help/test.h"

KOLK_WITHOUT_DIAGNOSTICS

static const char *const variables[] = {"KOLK_DEBUG", "KOLK_STATS", "KOLK_SIZES", "KOLK_FAIL"};

/* Settings in a descriptor are all accepted. promise: base.h "A program that wants no diagnostics ... without sites" */
static void test_that_the_descriptor_may_ask(void **state) {
    kolk_pool pool;
    notes said;
    begin_notes(&said);
    for (size_t i = 0; i < LENGTH_OF(variables); i++) unsetenv(variables[i]);
    make_pool(&pool, &(kolk_pool_desc){.name = "quiet", .object_size = 8, .capacity = 2, .debug = "all"});
    assert_int_equal(said.count, 0); /* they need no message */
    kolk_pool_deinit(&pool);
}

/* promise: base.h "Its first init reports each of these" */
static void test_that_each_variable_is_refused_once(void **state) {
    kolk_pool pool;
    notes said;
    for (size_t i = 0; i < LENGTH_OF(variables); i++) {
        begin_notes(&said);
        setenv(variables[i], "all", 1);
        for (int twice = 0; twice < 2; twice++) {
            make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 2});
            kolk_pool_deinit(&pool);
        }
        unsetenv(variables[i]);
        assert_int_equal(said.count, 1);
        assert_int_equal(said.last.rule, KOLK_BAD_SETTING);
        assert_string_equal(said.pool, variables[i]);
        assert_non_null(strstr(said.sentence, "is set, but this program has no diagnostics"));
    }
}

static void append(const char *text, size_t length, void *context) {
    strncat((char *)context, text, length);
}

/* promise: base.h "A program that wants no diagnostics ... without sites", "Writes at once ... (which is reported, once
 * for several failures in a row), and without diagnostics", "Ends the current ... nothing without diagnostics", "The
 * features of this library that depend", "kolk_features" */
static void test_what_stands_for_diagnostics(void **state) {
    char text[200] = "";
    kolk_stats_write(KOLK_STATS_TEXT, append, text);
    assert_string_equal(text, "kolk: no pool has a name\n");
    *text = 0;
    kolk_stats_write(KOLK_STATS_JSON, append, text);
    assert_string_equal(text, "{\"pools\": []}\n");
    assert_int_equal(kolk_features() & KOLK_HAS_DIAGNOSTICS, 0);
    assert_false(kolk_stats_now());
    kolk_scene("boss fight");
}

/* Uses all features of a pool without options: fresh slots, handles, worn-out slots, a full pool, mistakes. */
static void use(kolk_generations generations) {
    void *objects[100];
    kolk_handle handles[100];
    kolk_pool pool;
    notes said;
    begin_notes(&said);
    make_pool(&pool,
              &(kolk_pool_desc){.name = "plain", .object_size = 24, .capacity = 100, .generations = generations});
    uint32_t slot = NO_SLOT, lives = generations == KOLK_GENERATIONS_STRICT ? 7 : 20;
    for (uint32_t life = 0; life < lives; life++) {
        for (int i = 0; i < 100; i++) {
            assert_non_null(objects[i] = i % 2 ? kolk_pool_alloc(&pool) : kolk_pool_alloc_zeroed(&pool));
            if (generations != KOLK_GENERATIONS_NONE) handles[i] = kolk_pool_handle_of(&pool, objects[i]);
            if (i % 2 == 0) assert_true(all_bytes_are(objects[i], 24, 0));
            memset(objects[i], 0xab, 24);
            assert_true(i % 10 || kolk_pool_is_valid(&pool));
        }
        assert_null(kolk_pool_alloc(&pool));
        assert_true(kolk_pool_is_valid(&pool));
        slot = kolk_pool_index(&pool, objects[50]);
        for (int i = 0; i < 100; i++) {
            if (generations != KOLK_GENERATIONS_NONE) assert_ptr_equal(kolk_pool_get(&pool, handles[i]), objects[i]);
            kolk_pool_free(&pool, objects[i]);
            if (generations != KOLK_GENERATIONS_NONE) assert_null(kolk_pool_get(&pool, handles[i]));
            assert_true(i % 10 || kolk_pool_is_valid(&pool));
        }
    }
    assert_int_equal(kolk_pool_count(&pool), 0);
    kolk_stats stats;
    kolk_pool_stats(&pool, &stats);
    assert_int_equal(stats.failed, lives);
    assert_int_equal(stats.peak, 100);
    bool is_over = generations == KOLK_GENERATIONS_STRICT; /* each slot is worn out for ever */
    assert_int_equal(kolk_pool_alloc(&pool) == NULL, is_over);
    assert_int_equal(said.count, 0);
    kolk_pool_free(&pool, objects[50]);
    assert_int_equal(said.last.rule, KOLK_DOUBLE_FREE);
    assert_int_equal(said.last.slot, slot);
    assert_memory_equal(said.sentence, "kolk: plain: double free of slot ", 33);
    assert_null(strstr(said.sentence, " by ")); /* no sites */
    kolk_pool_free(&pool, &stats);
    assert_int_equal(said.last.rule, KOLK_FOREIGN_POINTER);
    kolk_pool_clear(&pool);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
    assert_true(is_all_zero(&pool));
}

/* Renews the only object, in one slot and, when that is worn out, in the other one, which was free. */
static void renew(kolk_generations generations) {
    kolk_pool pool;
    notes said;
    begin_notes(&said);
    make_pool(&pool, &(kolk_pool_desc){.name = "plain", .object_size = 24, .capacity = 2, .generations = generations});
    void *object = kolk_pool_alloc(&pool), *other = kolk_pool_alloc(&pool), *next = object;
    kolk_pool_free(&pool, other);
    unsigned renewals = 0;
    while (renewals < 300 && (next = kolk_pool_renew(&pool, object)) != NULL) {
        if (generations == KOLK_GENERATIONS_NONE) assert_ptr_equal(next, object);
        object = next;
        renewals++;
        assert_true(kolk_pool_is_live(&pool, object) && kolk_pool_count(&pool) == 1);
        assert_true(kolk_pool_is_valid(&pool));
    }
    assert_int_equal(renewals, generations == KOLK_GENERATIONS_STRICT ? 6 + 6 : 300);
    assert_int_equal(kolk_pool_count(&pool), next != NULL);
    assert_int_equal(said.count, 0);
    kolk_pool_free(&pool, next);
    assert_null(kolk_pool_renew(&pool, object));
    assert_int_equal(said.last.rule, KOLK_DEAD_OBJECT);
    kolk_pool_deinit(&pool);
}

static void use_each(void) {
    for (int n = KOLK_GENERATIONS_RECYCLE; n <= KOLK_GENERATIONS_NONE; n++) renew((kolk_generations)n);
    use(KOLK_GENERATIONS_RECYCLE);
    use(KOLK_GENERATIONS_STRICT);
    use(KOLK_GENERATIONS_NONE);
}

static unsigned resets;

static void count_reset(void *object, void *context) {
    resets++;
}

static void test_pools_without_options(void **state) {
    kolk_pool zero = {0}, before, after;
    assert_null(kolk_pool_alloc(&zero));
    kolk_pool_deinit(&zero);
    use_each();

    make_pool(&before, &(kolk_pool_desc){.object_size = 8, .capacity = 2});
    assert_non_null(kolk_pool_alloc(&before));
    kolk_pool_desc desc = {.object_size = 8, .capacity = 2, .life.reset = count_reset, .reuse = KOLK_REUSE_FIFO};
    desc.full.headroom = 1;
    make_pool(&after, &desc); /* from here on, options are linked in */
    assert_non_null(kolk_pool_alloc(&after));
    assert_null(kolk_pool_alloc(&after));
    assert_non_null(kolk_pool_alloc_urgent(&after));
    assert_non_null(kolk_pool_alloc(&before));
    assert_null(kolk_pool_alloc(&before));
    assert_true(kolk_pool_is_valid(&before));
    assert_true(kolk_pool_is_valid(&after));
    kolk_pool_deinit(&before);
    kolk_pool_deinit(&after);
    assert_int_equal(resets, 2);
    use_each();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_that_the_descriptor_may_ask),
        cmocka_unit_test(test_that_each_variable_is_refused_once),
        cmocka_unit_test(test_what_stands_for_diagnostics),
        cmocka_unit_test(test_pools_without_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
