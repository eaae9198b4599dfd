/* kolk_resource_rebind: new functions for a pool in use. When it returns, no old function runs any more. */
#include "../help/test.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { VERSIONS = 3, BORROWERS = 3 };

/* A version of a module: the context of its functions. */
typedef struct version {
    uint32_t inside; /* calls that have not returned */
    uint32_t calls;
    uint32_t unloaded; /* no function may be called with it any more */
    uint32_t hangs;    /* creates wait until it is 0 */
    uint32_t waiting;  /* creates that do */
} version;

#define LOAD(number)         __atomic_load_n(&(number), __ATOMIC_SEQ_CST)
#define STORE(number, value) __atomic_store_n(&(number), value, __ATOMIC_SEQ_CST)

static version versions[VERSIONS];

static void pause_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static void enter(version *module) {
    if (LOAD(module->unloaded)) abort();
    __atomic_add_fetch(&module->inside, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&module->calls, 1, __ATOMIC_SEQ_CST);
}

static void leave(version *module) {
    if (LOAD(module->unloaded)) abort();
    __atomic_sub_fetch(&module->inside, 1, __ATOMIC_SEQ_CST);
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    static char thing;
    version *module = context;
    enter(module);
    if (LOAD(module->hangs)) __atomic_add_fetch(&module->waiting, 1, __ATOMIC_SEQ_CST);
    while (LOAD(module->hangs)) pause_briefly();
    *resource = &thing;
    leave(module);
    return true;
}

static void destroy(void *context, void *resource) {
    enter(context);
    leave(context);
}

static bool validate(void *context, void *resource, kolk_deadline deadline) {
    enter(context);
    pause_briefly();
    leave(context);
    return true;
}

static bool reset(void *context, void *resource) {
    enter(context);
    leave(context);
    return true;
}

static void take_log(void *context, const kolk_resource_event *event) {
    enter(context);
    pause_briefly();
    leave(context);
}

static kolk_resource_pool_desc desc_of(version *module) {
    static const char *const names[VERSIONS] = {"first", "second", "third"};
    return (kolk_resource_pool_desc){.name = names[module - versions],
                                     .context = module,
                                     .create = create,
                                     .destroy = destroy,
                                     .validate = validate,
                                     .reset = reset,
                                     .log = take_log,
                                     .max = 2,
                                     .validate_after_ms = -1,
                                     .slow_borrow_ms = 0};
}

static int begin(void **state) {
    memset(versions, 0, sizeof versions);
    END_IF_IT_HANGS();
    return 0;
}

/* Each function of the second version is called, and none of the first.
 * promise: "replaces your ... function is running any more" */
static void test_all_functions_are_new(void **state) {
    for (int housekeeper = 0; housekeeper < 2; housekeeper++) {
        begin(NULL);
        kolk_resource_pool pool;
        kolk_borrowed borrowed, other;
        kolk_resource_pool_desc first = desc_of(&versions[0]), second = desc_of(&versions[1]);
        first.no_housekeeper = second.no_housekeeper = !housekeeper;
        assert_int_equal(kolk_resource_init(&pool, &first), KOLK_OK);
        assert_int_equal(kolk_resource_borrow(&pool, NULL, &borrowed), KOLK_OK);
        assert_int_equal(kolk_resource_rebind(&pool, &second), KOLK_OK);
        STORE(versions[0].unloaded, 1);
        uint32_t calls = versions[1].calls;
        kolk_resource_give_back(&pool, &borrowed);
        assert_int_equal(versions[1].calls, calls + 1); /* reset */
        assert_int_equal(kolk_resource_borrow(&pool, NULL, &borrowed), KOLK_OK);
        assert_true(versions[1].calls >= calls + 2); /* validate */
        assert_int_equal(kolk_resource_borrow(&pool, NULL, &other), KOLK_OK);
        assert_true(versions[1].calls >= calls + 3); /* create */
        calls = versions[1].calls;
        kolk_deadline soon = kolk_deadline_after(1);
        assert_int_equal(kolk_resource_borrow(&pool, &(kolk_borrow_desc){.deadline = soon}, &(kolk_borrowed){0}),
                         KOLK_TIMEOUT);
        assert_true(versions[1].calls > calls); /* log */
        kolk_resource_pool_stats stats;
        kolk_resource_stats(&pool, &stats);
        assert_string_equal(stats.name, "second");
        kolk_resource_give_back(&pool, &borrowed);
        kolk_resource_give_back(&pool, &other);
        assert_true(kolk_resource_is_valid(&pool));
        kolk_resource_deinit(&pool);
    }
}

static void *rebind_to_second(void *pool) {
    kolk_resource_pool_desc second = desc_of(&versions[1]);
    if (kolk_resource_rebind(pool, &second) != KOLK_OK) abort();
    if (LOAD(versions[0].inside)) abort(); /* it was to wait for this call */
    STORE(versions[0].unloaded, 1);
    return NULL;
}

static void test_it_waits_for_a_function_that_runs(void **state) {
    kolk_resource_pool pool;
    kolk_borrowed borrowed;
    pthread_t thread;
    kolk_resource_pool_desc first = desc_of(&versions[0]), third = desc_of(&versions[2]);
    versions[0].hangs = 1;
    assert_int_equal(kolk_resource_init(&pool, &first), KOLK_OK);
    assert_int_equal(kolk_resource_borrow(&pool, &(kolk_borrow_desc){.deadline = KOLK_NOW}, &borrowed), KOLK_FULL);
    while (!LOAD(versions[0].waiting)) pause_briefly();
    assert_int_equal(pthread_create(&thread, NULL, rebind_to_second, &pool), 0);
    for (int n = 0; n < 100; n++) pause_briefly(); /* the other thread probably waits by now */
    assert_false(LOAD(versions[0].unloaded));
    STORE(versions[0].hangs, 0);
    assert_int_equal(kolk_resource_rebind(&pool, &third), KOLK_OK); /* at the same time */
    pthread_join(thread, NULL);
    assert_int_equal(kolk_resource_borrow(&pool, NULL, &borrowed), KOLK_OK);
    kolk_resource_give_back(&pool, &borrowed);
    kolk_resource_deinit(&pool);
}

static uint32_t done;

static void *borrow_often(void *pool) {
    while (!LOAD(done)) {
        kolk_borrowed borrowed;
        if (kolk_resource_borrow(pool, NULL, &borrowed) != KOLK_OK) abort();
        if (borrowed.generation % 2)
            kolk_resource_discard(pool, &borrowed);
        else
            kolk_resource_give_back(pool, &borrowed);
    }
    return NULL;
}

static void test_while_threads_borrow(void **state) {
    kolk_resource_pool pool;
    pthread_t threads[BORROWERS];
    kolk_resource_pool_desc desc = desc_of(&versions[0]);
    STORE(done, 0);
    assert_int_equal(kolk_resource_init(&pool, &desc), KOLK_OK);
    for (int n = 0; n < BORROWERS; n++) assert_int_equal(pthread_create(&threads[n], NULL, borrow_often, &pool), 0);
    unsigned now = 0, rebinds = does_a_part() ? 100 : 1000;
    for (unsigned n = 0; n < rebinds; n++) {
        unsigned next = (now + 1) % VERSIONS;
        STORE(versions[next].unloaded, 0);
        desc = desc_of(&versions[next]);
        assert_int_equal(kolk_resource_rebind(&pool, &desc), KOLK_OK);
        assert_int_equal(LOAD(versions[now].inside), 0);
        STORE(versions[now].unloaded, 1); /* from here on, its functions abort */
        if (n % 8 == 0) kolk_resource_evict(&pool);
        now = next;
    }
    STORE(done, 1);
    for (int n = 0; n < BORROWERS; n++) pthread_join(threads[n], NULL);
    assert_true(kolk_resource_is_valid(&pool));
    kolk_resource_deinit(&pool);
}

/* tests/contracts/test_all_rebinds.c has more of them. promise: "Each function ... pool is all zero" */
static void test_what_is_refused(void **state) {
    kolk_resource_pool pool;
    const kolk_resource_pool_desc own = desc_of(&versions[0]);
    assert_int_equal(kolk_resource_init(&pool, &own), KOLK_OK);
    assert_int_equal(kolk_resource_rebind_abi_(&pool, &own, sizeof pool, KOLK_ABI + 1), KOLK_WRONG_ABI);
    kolk_resource_deinit(&pool);
    assert_int_equal(kolk_resource_rebind(&pool, &own), KOLK_CLOSED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_functions_are_new, begin),
        cmocka_unit_test_setup(test_it_waits_for_a_function_that_runs, begin),
        cmocka_unit_test_setup(test_while_threads_borrow, begin),
        cmocka_unit_test_setup(test_what_is_refused, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
