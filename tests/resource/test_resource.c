/* The resource pool, sentence by sentence of resource.h: one thread, and a clock that only the tests move. A borrower
 * that waits runs `meanwhile`, which does what another thread would do; then its deadline comes. */
// link: -Wl,--wrap=kolk_now_ns,--wrap=kolk_wait
#include "../help/debug_test.h"

#define MS   INT64_C(1000000)
#define MOST 64

/* ---- The clock --------------------------------------------------------------------------------------------------- */

static int64_t now_ns;
static void (*meanwhile)(void);

int64_t __wrap_kolk_now_ns(void);
bool __wrap_kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline);

int64_t __wrap_kolk_now_ns(void) {
    return now_ns;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is another function's */
bool __wrap_kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    void (*now)(void) = meanwhile;
    meanwhile = NULL;
    if (now) now();
    if (*word != expected) return true;
    if (deadline.ns == KOLK_FOREVER.ns) fail_msg("sleeps for ever");
    if (now_ns < deadline.ns) now_ns = deadline.ns;
    return false;
}

static void pass(int64_t ms) {
    now_ns += ms * MS;
}

static kolk_deadline in(int64_t ms) {
    return (kolk_deadline){now_ns + ms * MS};
}

/* ---- A factory that does as it is told --------------------------------------------------------------------------- */

/* A resource is a number from 1, in the order of creation; what is behind it is in `things`. */
static struct factory {
    kolk_resource_pool pool;
    unsigned created, destroyed, validated, reset;
    bool alive[MOST];
    char keys[MOST][16];
    bool fails, dirty;              /* the next creates, resets */
    bool bad[MOST];                 /* what validate says */
    int64_t create_ms, validate_ms; /* how long they take */
    kolk_deadline deadline;         /* that the last function was given */
    void (*in_create)(void), (*in_destroy)(void), (*in_validate)(void), (*in_reset)(void);
} factory;

static size_t number_of(const void *resource) {
    return (size_t)(uintptr_t)resource;
}

static void run_once(void (**what)(void)) {
    void (*now)(void) = *what;
    *what = NULL;
    if (now) now();
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    struct factory *f = (struct factory *)context;
    assert_int_equal(error->code, 0);
    assert_string_equal(error->text, "");
    f->deadline = deadline;
    pass(f->create_ms);
    run_once(&f->in_create);
    if (f->fails) {
        error->code = 53300;
        snprintf(error->text, sizeof error->text, "too many connections");
        return false;
    }
    assert_true(++f->created < MOST);
    f->alive[f->created] = true;
    snprintf(f->keys[f->created], sizeof f->keys[0], "%s", key);
    *resource = (void *)(uintptr_t)f->created;
    return true;
}

static void destroy(void *context, void *resource) {
    struct factory *f = (struct factory *)context;
    run_once(&f->in_destroy);
    assert_true(f->alive[number_of(resource)]);
    f->alive[number_of(resource)] = false;
    f->destroyed++;
}

static bool validate(void *context, void *resource, kolk_deadline deadline) {
    struct factory *f = (struct factory *)context;
    assert_true(f->alive[number_of(resource)]);
    f->validated++;
    f->deadline = deadline;
    pass(f->validate_ms);
    run_once(&f->in_validate);
    return !f->bad[number_of(resource)];
}

static bool reset(void *context, void *resource) {
    struct factory *f = (struct factory *)context;
    assert_true(f->alive[number_of(resource)]);
    f->reset++;
    run_once(&f->in_reset);
    return !f->dirty;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void begin(kolk_resource_pool_desc desc) {
    memset(&factory, 0, sizeof factory);
    now_ns = 1000000 * MS;
    desc.context = &factory;
    desc.create = create;
    desc.destroy = destroy;
    if (!desc.name) desc.name = "db";
    desc.no_housekeeper = true;
    assert_int_equal(kolk_resource_pool_init(&factory.pool, &desc), KOLK_OK);
}

static void assert_valid(void) {
    assert_true(kolk_resource_pool_is_valid(&factory.pool));
}

/* Not inlined: reports name it. */
__attribute__((noinline)) static kolk_status borrow_for(const char *key, kolk_deadline deadline, kolk_borrow *out) {
    kolk_borrow_desc desc = {.key = key, .deadline = deadline, .who = "the test"};
    kolk_status status = kolk_resource_borrow(&factory.pool, &desc, out);
    assert_true((status == KOLK_OK) == (out->resource != NULL));
    assert_true((status == KOLK_OK) == (out->error.text[0] == 0));
    assert_true((status == KOLK_OK) == !kolk_handle_is_null(out->handle));
    assert_valid();
    return status;
}

static kolk_borrow borrowed(const char *key) {
    kolk_borrow one;
    kolk_status status = borrow_for(key, KOLK_NOW, &one);
    if (status != KOLK_OK) fail_msg("%s: %s", kolk_status_text(status), one.error.text);
    assert_true(factory.alive[number_of(one.resource)]);
    assert_string_equal(factory.keys[number_of(one.resource)], key ? key : "");
    return one;
}

static void return_it(kolk_borrow *one) {
    kolk_resource_give_back(&factory.pool, one);
    assert_null(one->resource);
    assert_valid();
}

/* One is made, and lies idle. */
static void make_idle(unsigned n, const char *key) {
    kolk_borrow all[MOST];
    for (unsigned i = 0; i < n; i++) all[i] = borrowed(key);
    for (unsigned i = 0; i < n; i++) return_it(&all[i]);
}

static kolk_resource_stats stats(void) {
    kolk_resource_stats out;
    kolk_resource_pool_stats(&factory.pool, &out);
    return out;
}

static void tick(void) {
    kolk_resource_tick(&factory.pool, KOLK_FOREVER);
    assert_valid();
}

/* Ends the pool: whatever was made is gone then. */
static void end(void) {
    assert_valid();
    kolk_resource_pool_deinit(&factory.pool);
    assert_null(factory.pool.inside);
    assert_int_equal(factory.destroyed, factory.created);
}

/* ---- The descriptor ---------------------------------------------------------------------------------------------- */

static void test_descriptors_that_are_refused(void **state) {
    (void)state;
    static const struct {
        kolk_resource_pool_desc desc;
        kolk_status status;
    } cases[] = {
        {{.max = 1}, KOLK_CREATE_MISSING},
        {{.create = create, .max = KOLK_RESOURCES_AT_MOST + 1}, KOLK_BAD_MAX},
        {{.create = create, .min_idle = 11}, KOLK_BAD_MIN_IDLE},
        {{.create = create, .max = 3, .min_idle = 4}, KOLK_BAD_MIN_IDLE},
        {{.create = create, .reuse = KOLK_REUSE_LOWEST}, KOLK_BAD_REUSE},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        kolk_resource_pool pool;
        memset(&pool, 0xff, sizeof pool);
        assert_int_equal(kolk_resource_pool_init(&pool, &cases[i].desc), cases[i].status);
        assert_null(pool.inside);
    }
    kolk_resource_pool pool;
    assert_int_equal(kolk_resource_pool_init(&pool, NULL), KOLK_NO_DESCRIPTOR);
    assert_int_equal(kolk_resource_pool_begin(&pool, &cases[0].desc, sizeof pool, KOLK_ABI + 1), KOLK_WRONG_ABI);
}

static void test_all_zero_is_closed(void **state) {
    (void)state;
    kolk_resource_pool pool = {NULL};
    kolk_borrow none;
    kolk_resource_stats all;
    assert_int_equal(kolk_resource_borrow(&pool, NULL, &none), KOLK_CLOSED);
    assert_string_equal(none.error.text, "it is closed");
    assert_int_equal(kolk_resource_pool_close(&pool, KOLK_NOW), KOLK_OK);
    assert_int_equal(kolk_resource_pool_resize(&pool, 3), KOLK_CLOSED);
    assert_int_equal(kolk_resource_fd(&pool), -1);
    kolk_resource_give_back(&pool, &none);
    kolk_resource_tick(&pool, KOLK_FOREVER);
    kolk_resource_pool_evict(&pool);
    kolk_resource_pool_pause(&pool);
    kolk_resource_pool_resume(&pool);
    kolk_resource_pool_stats(&pool, &all);
    assert_int_equal(all.max, 0);
    assert_true(kolk_resource_pool_is_valid(&pool));
    kolk_resource_pool_deinit(&pool);
}

static void test_defaults(void **state) {
    (void)state;
    kolk_borrow all[11];
    begin((kolk_resource_pool_desc){.max = 0});
    for (int i = 0; i < 10; i++) all[i] = borrowed(NULL);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &all[10]), KOLK_FULL);
    int64_t before = now_ns;
    assert_int_equal(kolk_resource_borrow(&factory.pool, NULL, &all[10]), KOLK_TIMEOUT);
    assert_int_equal(now_ns - before, 30000 * MS);
    for (int i = 0; i < 10; i++) return_it(&all[i]);
    pass(600000 - 1);
    tick();
    assert_int_equal(factory.destroyed, 0);
    pass(1);
    tick();
    assert_int_equal(stats().unused, 10);
    end();
}

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

static void test_a_resource_is_used_again(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrow first = borrowed(NULL);
    void *resource = first.resource;
    return_it(&first);
    kolk_borrow second = borrowed("");
    assert_ptr_equal(second.resource, resource);
    assert_int_equal(factory.created, 1);
    return_it(&second);
    kolk_borrow none = {NULL, {0}, {0, ""}};
    return_it(&none);
    kolk_resource_discard(&factory.pool, &none);
    assert_int_equal(stats().borrows, 2);
    end();
}

static void test_idle_order(void **state) {
    (void)state;
    for (int order = KOLK_REUSE_LIFO; order <= KOLK_REUSE_FIFO; order++) {
        begin((kolk_resource_pool_desc){.max = 3, .reuse = (kolk_reuse)order});
        kolk_borrow all[3];
        for (int i = 0; i < 3; i++) all[i] = borrowed(NULL);
        for (int i = 0; i < 3; i++) {
            pass(1);
            return_it(&all[i]);
        }
        kolk_borrow one = borrowed(NULL);
        assert_int_equal(number_of(one.resource), order == KOLK_REUSE_FIFO ? 1 : 3);
        return_it(&one);
        end();
    }
}

static void test_create_says_why_not(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2});
    factory.fails = true;
    kolk_borrow one;
    assert_int_equal(borrow_for(NULL, in(100), &one), KOLK_NOT_CREATED);
    assert_int_equal(one.error.code, 53300);
    assert_string_equal(one.error.text, "too many connections");
    return_it(&one);
    assert_int_equal(stats().create_failures, 1);
    assert_int_equal(stats().failed, 1);
    assert_int_equal(stats().creating, 0);
    factory.fails = false;
    one = borrowed(NULL);
    return_it(&one);
    end();
}

static void borrow_in_create(void) {
    kolk_borrow one;
    assert_int_equal(stats().creating, 1); /* outside of the lock, and counted */
    assert_int_equal(borrow_for(NULL, in(100), &one), KOLK_IN_HOOK);
    assert_string_equal(one.error.text, "a function of the pool borrows from it, and would wait for itself");
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
}

static void test_create_that_borrows_from_its_own_pool(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2, .max_creating = 1});
    factory.in_create = borrow_in_create;
    kolk_borrow one = borrowed(NULL);
    return_it(&one);
    end();
}

static void test_deadlines_are_handed_on(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .validate = validate, .validate_after_ms = -1});
    kolk_borrow one;
    kolk_deadline deadline = in(70);
    assert_int_equal(borrow_for(NULL, deadline, &one), KOLK_OK);
    assert_int_equal(factory.deadline.ns, deadline.ns);
    return_it(&one);
    deadline = in(90);
    pass(20);
    assert_int_equal(borrow_for(NULL, deadline, &one), KOLK_OK);
    assert_int_equal(factory.deadline.ns, deadline.ns);
    return_it(&one);
    one = borrowed(NULL);
    assert_int_equal(factory.deadline.ns, KOLK_NOW.ns);
    return_it(&one);
    end();
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static kolk_borrow other;

static void return_other(void) {
    return_it(&other);
}

static void test_what_comes_back_goes_to_the_waiter(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed(NULL);
    meanwhile = return_other;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_OK);
    assert_int_equal(number_of(one.resource), 1);
    return_it(&one);
    end();
}

static void return_other_too_late(void) {
    pass(10);
    return_it(&other);
}

/* It is handed over at the deadline: nothing is lost. */
static void test_a_hand_over_at_the_deadline(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 1, .validate = validate, .validate_after_ms = -1});
    other = borrowed(NULL);
    meanwhile = return_other_too_late;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_OK);
    other = one;
    meanwhile = return_other_too_late;
    factory.bad[1] = true;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    assert_int_equal(factory.created, 1); /* the deadline had passed */
    one = borrowed(NULL);
    return_it(&one);
    end();
}

static void newcomer_must_not_overtake(void) {
    kolk_borrow late;
    assert_int_equal(stats().waiting, 1);
    return_it(&other);
    assert_int_equal(stats().waiting, 0);
    assert_int_equal(stats().idle, 0); /* it is the waiter's, which has not run yet */
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &late), KOLK_FULL);
}

static void test_no_newcomer_overtakes(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed(NULL);
    meanwhile = newcomer_must_not_overtake;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_OK);
    return_it(&one);
    end();
}

static void discard_other(void) {
    kolk_resource_discard(&factory.pool, &other);
}

/* The room that another one leaves is for the waiter to create in. */
static void test_a_waiter_creates_in_the_room_of_one_that_ended(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed(NULL);
    meanwhile = discard_other;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_OK);
    assert_int_equal(number_of(one.resource), 2);
    assert_int_equal(stats().discarded, 1);
    return_it(&one);
    end();
}

static void test_a_timeout_tells_who_has_them(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrow first = borrowed(NULL);
    other = borrowed(NULL);
    assert_int_equal(borrow_for(NULL, in(20), &one), KOLK_TIMEOUT);
    assert_string_equal(
        one.error.text,
        "2 of 2 in use (several by this thread itself), 0 being created, 0 waiting; the longest by the test for 20 ms");
    assert_int_equal(stats().timeouts, 1);
    kolk_resource_discard(&factory.pool, &other);
    factory.fails = true;
    assert_int_equal(borrow_for(NULL, in(20), &one), KOLK_NOT_CREATED);
    factory.fails = false;
    kolk_resource_pool_resize(&factory.pool, 1);
    pass(3000);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    assert_string_equal(one.error.text,
                        "1 of 1 in use (one by this thread itself), 0 being created, 0 waiting; "
                        "the longest by the test for 3020 ms; 3000 ms ago a create failed: too many connections");
    assert_int_equal(one.error.code, 53300);
    return_it(&first);
    end();
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

static void test_a_second_give_back_is_reported(void **state) {
    (void)state;
    notes taken;
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrow first = borrowed(NULL), copy = first;
    return_it(&first);
    begin_notes(&taken);
    kolk_resource_give_back(&factory.pool, &first);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "db", NULL, 0, "kolk: db: resource 0 is given back a second time");
    other = borrowed(NULL); /* another borrower has it now */
    kolk_resource_discard(&factory.pool, &copy);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "db", NULL, 0, "kolk: db: resource 0 is given back a second time");
    assert_int_equal(stats().in_use, 1);
    return_it(&other);
    assert_silent(&taken);
    end();
    copy.handle = first.handle;
    kolk_resource_give_back(&factory.pool, &copy); /* of a pool that is gone */
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_WRONG_POOL);
}

static void test_a_borrow_of_another_pool_is_reported(void **state) {
    (void)state;
    notes taken;
    kolk_resource_pool second;
    kolk_resource_pool_desc desc = {.name = "db", .context = &factory, .create = create, .no_housekeeper = true};
    begin((kolk_resource_pool_desc){.max = 2});
    assert_int_equal(kolk_resource_pool_init(&second, &desc), KOLK_OK);
    kolk_borrow one = borrowed(NULL);
    begin_notes(&taken);
    kolk_resource_give_back(&second, &one);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_WRONG_POOL);
    assert_true(kolk_handle_equal(taken.last.handle, one.handle));
    assert_int_equal(stats().in_use, 1);
    return_it(&one);
    kolk_resource_pool_deinit(&second);
    end();
}

static void test_reset(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset});
    kolk_borrow one = borrowed(NULL);
    return_it(&one);
    assert_int_equal(factory.reset, 1);
    one = borrowed(NULL);
    factory.dirty = true;
    return_it(&one);
    assert_int_equal(stats().unclean, 1);
    assert_int_equal(stats().idle, 0);
    factory.dirty = false;
    one = borrowed(NULL);
    kolk_resource_discard(&factory.pool, &one); /* needs no reset */
    assert_int_equal(factory.reset, 2);
    end();
}

/* ---- Validity of resources --------------------------------------------------------------------------------------- */

static void test_validate_is_left_out_for_half_a_second(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .validate = validate});
    make_idle(1, NULL);
    pass(499);
    make_idle(1, NULL);
    assert_int_equal(factory.validated, 0);
    pass(500);
    make_idle(1, NULL);
    assert_int_equal(factory.validated, 1);
    end();
    begin((kolk_resource_pool_desc){.max = 1, .validate = validate, .validate_after_ms = -1});
    make_idle(1, NULL); /* just made */
    assert_int_equal(factory.validated, 0);
    make_idle(1, NULL);
    assert_int_equal(factory.validated, 1);
    end();
}

static void test_the_dead_are_replaced(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 3, .validate = validate, .validate_after_ms = -1});
    make_idle(3, NULL);
    memset(factory.bad, true, 4 * sizeof *factory.bad);
    assert_int_equal(borrow_for(NULL, in(100), &one), KOLK_OK);
    assert_int_equal(number_of(one.resource), 4);
    assert_int_equal(stats().invalid, 3);
    return_it(&one);
    end();
}

/* All that a borrow does has one deadline. */
static void test_a_deadline_is_not_armed_again(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 5, .validate = validate, .validate_after_ms = -1});
    make_idle(5, NULL);
    memset(factory.bad, true, 6 * sizeof *factory.bad);
    factory.validate_ms = 10;
    int64_t before = now_ns;
    assert_int_equal(borrow_for(NULL, in(25), &one), KOLK_TIMEOUT);
    assert_int_equal(now_ns - before, 30 * MS);
    assert_int_equal(factory.created, 5);
    assert_int_equal(stats().idle, 2);
    end();
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void test_keys(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 3});
    kolk_borrow a = borrowed("a"), b = borrowed("b");
    return_it(&a);
    return_it(&b);
    b = borrowed("b");
    assert_int_equal(number_of(b.resource), 2);
    a = borrowed("a");
    assert_int_equal(number_of(a.resource), 1);
    assert_int_equal(factory.created, 2);
    return_it(&a);
    return_it(&b);
    end();
}

static void test_an_idle_one_of_another_key_makes_room(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2});
    make_idle(1, "a");
    pass(1);
    make_idle(1, "b");
    kolk_borrow c = borrowed("c");
    assert_false(factory.alive[1]); /* the one that was idle longest */
    assert_true(factory.alive[2]);
    assert_int_equal(stats().replaced, 1);
    return_it(&c);
    end();
}

static void test_a_waiter_of_another_key_gets_the_room(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed("a");
    meanwhile = return_other;
    assert_int_equal(borrow_for("b", in(5), &one), KOLK_OK);
    assert_int_equal(number_of(one.resource), 2);
    assert_int_equal(stats().replaced, 1);
    return_it(&one);
    end();
}

static void test_keys_have_255_bytes(void **state) {
    (void)state;
    char key[257];
    kolk_borrow one;
    kolk_borrow_desc desc = {.key = key, .deadline = KOLK_NOW, .who = NULL};
    begin((kolk_resource_pool_desc){.max = 1});
    memset(key, 'k', sizeof key);
    key[256] = 0;
    assert_int_equal(kolk_resource_borrow(&factory.pool, &desc, &one), KOLK_KEY_TOO_LONG);
    key[255] = 0;
    assert_int_equal(kolk_resource_borrow(&factory.pool, &desc, &one), KOLK_OK);
    return_it(&one);
    end();
}

/* ---- Upkeep ------------------------------------------------------------------------------------------------------ */

static void test_min_idle(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 4, .min_idle = 2, .idle_timeout_ms = 1000});
    tick();
    assert_int_equal(stats().idle, 2);
    make_idle(4, NULL);
    pass(1000);
    tick();
    assert_int_equal(stats().idle, 2); /* of four */
    kolk_borrow one = borrowed(NULL);
    kolk_resource_discard(&factory.pool, &one);
    tick();
    assert_int_equal(stats().idle, 2);
    end();
}

/* After a failure there is a pause, at first of 10 ms at most, which doubles up to 5 s. */
static void test_backoff(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .min_idle = 1});
    factory.fails = true;
    int64_t most = 10;
    for (int i = 0; i < 20; i++) {
        uint64_t before = stats().create_failures;
        int64_t begin_ns = now_ns;
        tick();
        assert_int_equal(stats().create_failures, before + 1);
        tick();
        assert_int_equal(stats().create_failures, before + 1);
        while (stats().create_failures == before + 1 && now_ns - begin_ns <= most * MS) {
            now_ns += MS / 4;
            tick();
        }
        assert_int_equal(stats().create_failures, before + 2);
        most = most * 4 < 5000 ? most * 4 : 5000; /* two failures a round */
        pass(5001);
    }
    factory.fails = false;
    tick();
    assert_int_equal(stats().idle, 1);
    end();
}

static void test_lifetimes_end_at_different_times(void **state) {
    (void)state;
    unsigned at_once = 0, before;
    begin((kolk_resource_pool_desc){.max = 20, .max_lifetime_ms = 1000, .max_creating = 20});
    make_idle(20, NULL);
    kolk_borrow used = borrowed(NULL);
    pass(899);
    tick();
    assert_int_equal(factory.destroyed, 0);
    for (int ms = 0; ms <= 101; ms++) {
        before = factory.destroyed;
        pass(1);
        tick();
        if (factory.destroyed - before > at_once) at_once = factory.destroyed - before;
    }
    assert_int_equal(factory.destroyed, 19);
    assert_true(at_once < 8);
    assert_true(factory.alive[number_of(used.resource)]); /* in use: it ends when it comes back */
    return_it(&used);
    assert_int_equal(stats().expired, 20);
    end();
}

static void test_keepalive(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2, .validate = validate, .keepalive_ms = 100});
    make_idle(2, NULL);
    pass(99);
    tick();
    assert_int_equal(factory.validated, 0);
    pass(1);
    factory.bad[1] = true;
    tick();
    assert_int_equal(factory.validated, 2);
    assert_int_equal(stats().invalid, 1);
    assert_int_equal(stats().idle, 1);
    tick();
    assert_int_equal(factory.validated, 2);
    pass(600000 - 100);
    tick();
    assert_int_equal(stats().unused, 1); /* keepalive is no use */
    end();
}

static void test_a_tick_has_a_deadline(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 5, .idle_timeout_ms = 10});
    make_idle(5, NULL);
    pass(10);
    for (unsigned i = 1; i <= 5; i++) {
        kolk_resource_tick(&factory.pool, KOLK_NOW);
        assert_int_equal(factory.destroyed, i);
    }
    end();
}

static void test_leaks(void **state) {
    (void)state;
    notes taken;
    begin((kolk_resource_pool_desc){.max = 1, .leak_after_ms = 2000});
    kolk_borrow one = borrowed(NULL);
    begin_notes(&taken);
    pass(1999);
    tick();
    assert_silent(&taken);
    pass(1);
    tick();
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_ptr_equal(taken.last.object, one.resource);
    const char *by = "kolk: db: a resource that was borrowed by the test in thread test_resource";
    if (!emulator()) assert_non_null(strstr(taken.sentence, by)); /* whose own threads have other names */
    assert_non_null(strstr(taken.sentence, " is not given back after 2000 ms"));
    tick();
    assert_int_equal(taken.count, 1); /* once */
    pass(500);
    return_it(&one);
    assert_int_equal(taken.count, 2);
    assert_non_null(strstr(taken.sentence, " is given back now, after 2500 ms"));
    one = borrowed(NULL);
    return_it(&one);
    assert_int_equal(taken.count, 2);
    assert_int_equal(stats().leaks, 1);
    end();
}

/* ---- Steering ---------------------------------------------------------------------------------------------------- */

static void evict_now(void) {
    kolk_resource_pool_evict(&factory.pool);
}

static void test_evict(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 3});
    make_idle(2, NULL);
    kolk_borrow one = borrowed(NULL);
    evict_now();
    assert_valid();
    assert_int_equal(stats().evicted, 1); /* the idle one */
    assert_true(factory.alive[number_of(one.resource)]);
    return_it(&one);
    assert_int_equal(stats().evicted, 2);
    factory.in_create = evict_now; /* made before, ready after */
    one = borrowed(NULL);
    assert_int_equal(number_of(one.resource), 4);
    assert_int_equal(stats().evicted, 3);
    return_it(&one);
    end();
}

static bool is_key_a(const char *key, const void *resource, bool in_use, void *context) {
    assert_true(factory.alive[number_of(resource)]);
    ((unsigned *)context)[in_use]++;
    return strcmp(key, "a") == 0;
}

static void test_evict_by_a_predicate(void **state) {
    (void)state;
    unsigned asked[2] = {0, 0};
    begin((kolk_resource_pool_desc){.max = 4});
    kolk_borrow a = borrowed("a"), b = borrowed("b");
    make_idle(1, "c");
    kolk_borrow second = borrowed("a");
    return_it(&second);
    assert_int_equal(kolk_resource_pool_evict_if(&factory.pool, is_key_a, asked), 2);
    assert_valid();
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 2);
    assert_int_equal(stats().evicted, 1);
    return_it(&a);
    return_it(&b);
    assert_int_equal(stats().evicted, 2);
    assert_int_equal(stats().idle, 2);
    end();
}

static void resume_now(void) {
    assert_int_equal(stats().waiting, 1);
    kolk_resource_pool_resume(&factory.pool);
}

static void test_pause(void **state) {
    (void)state;
    kolk_borrow one, used;
    begin((kolk_resource_pool_desc){.max = 2});
    make_idle(1, NULL);
    used = borrowed(NULL);
    kolk_resource_pool_pause(&factory.pool);
    return_it(&used);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    assert_string_equal(one.error.text, "paused, 0 of 2 in use, 0 being created, 0 waiting");
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_TIMEOUT);
    meanwhile = resume_now;
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_OK);
    assert_int_equal(factory.created, 1);
    return_it(&one);
    end();
}

static void test_resize(void **state) {
    (void)state;
    kolk_borrow all[4], one;
    begin((kolk_resource_pool_desc){.max = 2, .min_idle = 1});
    all[0] = borrowed(NULL);
    all[1] = borrowed(NULL);
    assert_int_equal(kolk_resource_pool_resize(&factory.pool, 4), KOLK_OK);
    all[2] = borrowed(NULL);
    all[3] = borrowed(NULL);
    return_it(&all[3]);
    assert_int_equal(kolk_resource_pool_resize(&factory.pool, 0), KOLK_BAD_MAX);
    assert_int_equal(kolk_resource_pool_resize(&factory.pool, KOLK_RESOURCES_AT_MOST + 1), KOLK_BAD_MAX);
    assert_int_equal(kolk_resource_pool_resize(&factory.pool, 1), KOLK_OK);
    assert_valid();
    assert_int_equal(stats().idle, 0);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    return_it(&all[0]);
    return_it(&all[1]);
    assert_int_equal(factory.destroyed, 3);
    return_it(&all[2]);
    assert_int_equal(factory.destroyed, 3);
    end();
}

static void close_now(void) {
    notes taken;
    begin_notes(&taken);
    assert_int_equal(kolk_resource_pool_close(&factory.pool, KOLK_NOW), KOLK_TIMEOUT);
    assert_int_equal(taken.count, 1);
}

static void test_close_turns_waiters_away(void **state) {
    (void)state;
    kolk_borrow one;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed(NULL);
    meanwhile = close_now;
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_CLOSED);
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_CLOSED);
    notes taken;
    begin_notes(&taken);
    return_it(&other); /* does not open it again */
    assert_int_equal(taken.count, 1);
    assert_int_equal(stats().closed, 1);
    assert_int_equal(stats().idle, 0);
    assert_int_equal(kolk_resource_pool_close(&factory.pool, KOLK_NOW), KOLK_OK);
    end();
}

static void test_close_waits_for_what_is_lent(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2});
    make_idle(2, NULL);
    other = borrowed(NULL);
    meanwhile = return_other;
    assert_int_equal(kolk_resource_pool_close(&factory.pool, in(10)), KOLK_OK);
    assert_int_equal(factory.destroyed, 2);
    end();
}

static void close_in_reset(void) {
    assert_int_equal(kolk_resource_pool_close(&factory.pool, KOLK_NOW), KOLK_TIMEOUT);
}

/* What comes back does not open a pool again. */
static void test_close_while_a_resource_is_reset(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset});
    kolk_borrow one = borrowed(NULL);
    factory.in_reset = close_in_reset;
    return_it(&one);
    assert_int_equal(stats().closed, 1);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_CLOSED);
    end();
}

static void evict_in_reset(void) {
    kolk_resource_pool_evict(&factory.pool);
}

/* After reset, a look at the pool once more. */
static void test_evict_while_a_resource_is_reset(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset});
    kolk_borrow one = borrowed(NULL);
    factory.in_reset = evict_in_reset;
    return_it(&one);
    assert_int_equal(stats().evicted, 1);
    end();
}

static void test_deinit_names_the_holders(void **state) {
    (void)state;
    notes taken;
    begin((kolk_resource_pool_desc){.max = 2});
    other = borrowed(NULL);
    make_idle(1, NULL);
    begin_notes(&taken);
    pass(7);
    kolk_resource_pool_deinit(&factory.pool);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_non_null(strstr(taken.sentence, "by the test"));
    assert_non_null(strstr(taken.sentence, "after 7 ms"));
    assert_int_equal(factory.destroyed, 1);
    assert_true(factory.alive[number_of(other.resource)]); /* its borrower's now */
}

/* ---- The environment --------------------------------------------------------------------------------------------- */

static void test_forced_failures(void **state) {
    (void)state;
    kolk_borrow one;
    setenv("KOLK_FAIL", "db:every=2", 1);
    begin((kolk_resource_pool_desc){.max = 4});
    one = borrowed(NULL);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &other), KOLK_NOT_CREATED);
    assert_string_equal(other.error.text, "KOLK_FAIL makes it fail");
    assert_int_equal(factory.created, 1);
    return_it(&one);
    end();
}

static void test_sites(void **state) {
    (void)state;
    notes taken;
    setenv("KOLK_DEBUG", "sites,fill,guard:db", 1);
    begin((kolk_resource_pool_desc){.max = 1, .leak_after_ms = 10});
    kolk_borrow one = borrowed(NULL);
    begin_notes(&taken);
    pass(10);
    tick();
    assert_int_equal(taken.count, 1);
    if (!emulator()) assert_non_null(strstr(taken.sentence, " in borrow_for"));
    return_it(&one);
    end();
}

static void test_percentiles(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1});
    for (int64_t ms = 1; ms <= 1000; ms++) {
        kolk_borrow one = borrowed(NULL);
        pass(ms);
        return_it(&one);
    }
    kolk_times use = stats().use;
    assert_int_equal(use.count, 1000);
    assert_int_equal(use.sum_ns, 500500 * MS);
    assert_int_equal(use.max_ns, 1000 * MS);
    const struct {
        uint64_t got, exact;
    } all[] = {{use.p50_ns, 500 * MS}, {use.p90_ns, 900 * MS}, {use.p99_ns, 990 * MS}, {use.p999_ns, 999 * MS}};
    for (size_t i = 0; i < LENGTH_OF(all); i++)
        assert_true(all[i].got >= all[i].exact && all[i].got <= all[i].exact + all[i].exact / 8);
    assert_int_equal(stats().wait.p999_ns, 0);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_descriptors_that_are_refused),
        DEBUG_TEST(test_all_zero_is_closed),
        DEBUG_TEST(test_defaults),
        DEBUG_TEST(test_a_resource_is_used_again),
        DEBUG_TEST(test_idle_order),
        DEBUG_TEST(test_create_says_why_not),
        DEBUG_TEST(test_create_that_borrows_from_its_own_pool),
        DEBUG_TEST(test_deadlines_are_handed_on),
        DEBUG_TEST(test_what_comes_back_goes_to_the_waiter),
        DEBUG_TEST(test_a_hand_over_at_the_deadline),
        DEBUG_TEST(test_no_newcomer_overtakes),
        DEBUG_TEST(test_a_waiter_creates_in_the_room_of_one_that_ended),
        DEBUG_TEST(test_a_timeout_tells_who_has_them),
        DEBUG_TEST(test_a_second_give_back_is_reported),
        DEBUG_TEST(test_a_borrow_of_another_pool_is_reported),
        DEBUG_TEST(test_reset),
        DEBUG_TEST(test_validate_is_left_out_for_half_a_second),
        DEBUG_TEST(test_the_dead_are_replaced),
        DEBUG_TEST(test_a_deadline_is_not_armed_again),
        DEBUG_TEST(test_keys),
        DEBUG_TEST(test_an_idle_one_of_another_key_makes_room),
        DEBUG_TEST(test_a_waiter_of_another_key_gets_the_room),
        DEBUG_TEST(test_keys_have_255_bytes),
        DEBUG_TEST(test_min_idle),
        DEBUG_TEST(test_backoff),
        DEBUG_TEST(test_lifetimes_end_at_different_times),
        DEBUG_TEST(test_keepalive),
        DEBUG_TEST(test_a_tick_has_a_deadline),
        DEBUG_TEST(test_leaks),
        DEBUG_TEST(test_evict),
        DEBUG_TEST(test_evict_by_a_predicate),
        DEBUG_TEST(test_pause),
        DEBUG_TEST(test_resize),
        DEBUG_TEST(test_close_turns_waiters_away),
        DEBUG_TEST(test_close_waits_for_what_is_lent),
        DEBUG_TEST(test_close_while_a_resource_is_reset),
        DEBUG_TEST(test_evict_while_a_resource_is_reset),
        DEBUG_TEST(test_deinit_names_the_holders),
        DEBUG_TEST(test_forced_failures),
        DEBUG_TEST(test_sites),
        DEBUG_TEST(test_percentiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
