/* The walk from the oldest object to the newest, while its body does everything to the objects. */
#include "../help/debug_test.h"

struct thing {
    uint32_t number;
};
KOLK_POOL_TYPE(things, struct thing)

enum { SLOTS = 12, ROUNDS = 4000 };

/* What the walk still has to visit, in order; and how often each object was visited. */
static struct {
    things pool;
    struct thing *due[SLOTS];
    uint32_t count, number;
    uint64_t random;
} it;

/* The object ends, or leaves its place in the order. */
static void is_not_due(const struct thing *object) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < it.count; i++)
        if (it.due[i] != object) it.due[kept++] = it.due[i];
    it.count = kept;
}

static struct thing *any_object(struct thing *current) {
    uint32_t choice = random_below(&it.random, 4);
    if (choice == 0 && things_is_live(&it.pool, current)) return current;
    if (choice == 1 && it.count) return it.due[0]; /* the next one */
    return things_at(&it.pool, random_below(&it.random, SLOTS));
}

static void act(struct thing *current) {
    struct thing *object = any_object(current), *oldest = things_oldest(&it.pool);
    uint32_t choice = random_below(&it.random, 7);
    if (choice == 0 && object) {
        is_not_due(object);
        things_free(&it.pool, object);
    } else if (choice == 1 && object) {
        is_not_due(object);
        things_touch(&it.pool, object);
    } else if (choice == 2 && object) {
        is_not_due(object);
        things_protect(&it.pool, object, true);
        if (random_below(&it.random, 2)) things_protect(&it.pool, object, false);
    } else if (choice == 3 && object) {
        is_not_due(object);
        assert_non_null(things_renew(&it.pool, object));
    } else if (choice == 4 && oldest) {
        is_not_due(oldest);
        assert_true(kolk_pool_evict_oldest(&it.pool.pool, 0, NULL));
    } else { /* in a full pool, renews the oldest object */
        if (it.pool.pool.on_full && things_available(&it.pool) == 0 && oldest) is_not_due(oldest);
        struct thing *made = things_alloc(&it.pool);
        if (made) made->number = it.number++;
    }
}

static void walk(void) {
    it.count = 0;
    for (int acts = 0; acts < 4; acts++) act(NULL);
    for (struct thing *each = things_oldest(&it.pool); each; each = things_newer(&it.pool, each))
        it.due[it.count++] = each;
    KOLK_EACH_OLDEST(things, each, &it.pool) {
        if (it.count == 0 || it.due[0] != each) fail_msg("object %u is visited out of turn", each->number);
        is_not_due(each);
        for (uint32_t acts = random_below(&it.random, 6); acts > 0; acts--) act(each);
    }
    assert_int_equal(it.count, 0);
    assert_true(things_is_valid(&it.pool));
}

/* promise: "A walk from the oldest ... in the order when it begins", "Meanwhile any object ... current and the next
 * one", "What is born or touched ... visit it again", "kolk_pool_each_oldest", "kolk_age_cursor_next"; typed.h
 * "Loops over each live object of a pool with .ages ... evicted and touched" */
static void test_the_body_may_do_anything(void **state) {
    for (unsigned n = 0; n < 3 * LENGTH_OF(orders); n++) {
        static const char *const modes[] = {NULL, "fill", "guard"};
        it.random = 1 + n;
        kolk_pool_desc desc = {
            .name = "things", .capacity = SLOTS, .ages = true, .reuse = orders[n % 3], .debug = modes[n / 3]};
        if (n % 2) desc.full.on_full = kolk_pool_evict_oldest;
        assert_int_equal(things_init(&it.pool, &desc), KOLK_OK);
        for (int round = 0; round < ROUNDS; round++) walk();
        end_pool(&it.pool.pool);
    }
}

/* Of both, the slots are used again at once. promise: "A step is O(1) ... older than the current one" */
static void test_current_and_next_are_born_again(void **state) {
    kolk_pool_desc desc = {.name = "things", .capacity = 4, .ages = true};
    assert_int_equal(things_init(&it.pool, &desc), KOLK_OK);
    struct thing *all[4];
    for (int i = 0; i < 4; i++) all[i] = things_alloc(&it.pool);
    int visited = 0;
    KOLK_EACH_OLDEST(things, each, &it.pool) {
        visited++;
        if (each == all[0]) continue;
        assert_ptr_equal(each, visited == 2 ? all[1] : all[3]);
        if (visited != 2) continue;
        things_free(&it.pool, all[1]);
        things_free(&it.pool, all[2]);
        assert_ptr_equal(things_alloc(&it.pool), all[2]);
        assert_ptr_equal(things_alloc(&it.pool), all[1]);
    }
    assert_int_equal(visited, 3);
    end_pool(&it.pool.pool);
}

/* promise: "A restore ends the walk" */
static void test_a_restore_ends_it(void **state) {
    static uint64_t block[64];
    kolk_pool_desc desc = {.name = "things", .capacity = 8, .ages = true};
    assert_int_equal(things_init(&it.pool, &desc), KOLK_OK);
    assert_non_null(things_alloc(&it.pool));
    size_t size = kolk_pool_snapshot(&it.pool.pool, block, sizeof block);
    assert_true(size > 0);
    for (int i = 0; i < 6; i++) assert_non_null(things_alloc(&it.pool));
    int visited = 0;
    KOLK_EACH_OLDEST(things, each, &it.pool)
    if (++visited == 3) assert_int_equal(kolk_pool_restore(&it.pool.pool, block, size), KOLK_OK);
    assert_int_equal(visited, 3);
    assert_true(things_is_valid(&it.pool));
    end_pool(&it.pool.pool);
}

static void test_without_ages_it_is_reported(void **state) {
    notes taken;
    begin_notes(&taken);
    assert_int_equal(things_init(&it.pool, &(kolk_pool_desc){.name = "things", .capacity = 1}), KOLK_OK);
    assert_non_null(things_alloc(&it.pool));
    KOLK_EACH_OLDEST(things, each, &it.pool) fail_msg("object %u is visited", each->number);
    assert_int_equal(taken.last.rule, KOLK_AGES_MISSING);
    end_pool(&it.pool.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_body_may_do_anything),
        cmocka_unit_test(test_current_and_next_are_born_again),
        cmocka_unit_test(test_a_restore_ends_it),
        cmocka_unit_test(test_without_ages_it_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
