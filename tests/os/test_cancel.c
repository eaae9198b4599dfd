/* runs: not:wine */
/* pthread_cancel: no call of kolk is a cancellation point, not even one that waits. Each call is made by a thread whose
 * cancellation is pending already; it must return, with its cancellation state unchanged, and must have released all
 * locks. Otherwise an alarm ends the program. */
#include "../help/test.h"

#include "../help/child.h"

#include <fcntl.h>
#include <pthread.h>

#include "base/atomics.h"
#include "shared/shared_inside.h"

/* A call for a thread. */
#define CALL(name, call)                                                                                               \
    static void name(void) {                                                                                           \
        call;                                                                                                          \
    }

CALL(take_a_nap, usleep(1000))

/* ---- A thread that is being cancelled ---------------------------------------------------------------------------- */

static const char returned[] = "returned"; /* the result of a thread that was not cancelled */

static void *call_cancelled(void *context) {
    void (*const *call)(void) = (void (*const *)(void))context;
    int was;
    pthread_cancel(pthread_self());
    (*call)();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
    return was == PTHREAD_CANCEL_ENABLE ? (void *)(uintptr_t)returned : NULL;
}

static bool returns(void (*call)(void)) {
    pthread_t thread;
    void *result = NULL;
    return pthread_create(&thread, NULL, call_cancelled, &call) == 0 && pthread_join(thread, &result) == 0 &&
           result == returned;
}

/* ---- In processes of their own: what is done once, at the first init or at exit ---------------------------------- */

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    snprintf(folder, sizeof folder, "/tmp/kolk cancel.XXXXXX");
    alarm(60);
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    unlink(in_folder("sizes"));
    unlink(in_folder("stats"));
    return rmdir(folder);
}

static kolk_pool pool;
static kolk_status pool_status = KOLK_TIMEOUT;

static void init_pool(void) {
    kolk_pool_desc desc = {.name = "bullets", .object_size = 16, .capacity = 4};
    pool_status = kolk_pool_init(&pool, &desc);
}

CALL(deinit_pool, kolk_pool_deinit(&pool))

/* promise: base.h "No function ... may be cancelled" */
static void test_first_init_reads_sizes(void **state) {
    static const char sizes[] = "bullets = 9\n";
    FILE *file = fopen(in_folder("sizes"), "w");
    assert_non_null(file);
    fputs(sizes, file);
    fclose(file);
    pid_t child = fork();
    if (child == 0) {
        END_IF_IT_HANGS();
        setenv("KOLK_SIZES", in_folder("sizes"), 1);
        if (!returns(init_pool)) _exit(1);
        if (pool_status != KOLK_OK || pool.capacity != 9) _exit(2);
        deinit_pool();
        init_pool(); /* takes the process's lock, as a fork does */
        _exit(pool.capacity == 9 ? 0 : 3);
    }
    await_child(child);
}

static void *exit_cancelled(void *unused) {
    pthread_cancel(pthread_self());
    exit(0);
}

extern void __gcov_dump(void) __attribute__((weak));

static void test_exit_writes_statistics(void **state) {
    if (__gcov_dump) { /* it writes files at exit, so it is a cancellation point */
        print_message("left out: gcov is cancelled at exit\n");
        skip();
    }
    static const char *const settings[] = {"text:", "sizes:", "text", "sizes"};
    for (size_t i = 0; i < LENGTH_OF(settings); i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            char setting[300];
            END_IF_IT_HANGS();
            bool to_file = strchr(settings[i], ':');
            snprintf(setting, sizeof setting, "%s%s", settings[i], to_file ? in_folder("stats") : "");
            setenv("KOLK_STATS", setting, 1);
            dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
            init_pool();
            pthread_t thread;
            pthread_create(&thread, NULL, exit_cancelled, NULL);
            pthread_join(thread, NULL);
            _exit(4); /* the thread has ended, but not the process */
        }
        await_child(child);
        if (!strchr(settings[i], ':')) continue;
        assert_int_equal(access(in_folder("stats"), R_OK), 0);
        assert_int_equal(access(in_folder("stats.new1"), F_OK), -1);
        unlink(in_folder("stats"));
    }
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static char site_text[300];

CALL(ask_for_site, kolk_site_text((const char *)(uintptr_t)ask_for_site + 1, true, site_text, sizeof site_text))

static void test_sites(void **state) {
    int first = open("/dev/null", O_RDONLY), next;
    close(first);
    assert_true(returns(ask_for_site));
    assert_true(*site_text);
    next = open("/dev/null", O_RDONLY);
    close(next);
    assert_int_equal(next, first); /* nothing was left open */
}

/* The default handler prints the leak, and deinit continues. promise: base.h "No function ... may be cancelled" */
static void test_leak(void **state) {
    kolk_pool_desc desc = {.name = "bullets", .object_size = 16, .capacity = 4, .debug = "sites"};
    int before = dup(STDERR_FILENO), none = open("/dev/null", O_WRONLY);
    assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_OK);
    assert_non_null(kolk_pool_alloc(&pool));
    dup2(none, STDERR_FILENO);
    bool right = returns(deinit_pool);
    dup2(before, STDERR_FILENO);
    close(before);
    close(none);
    assert_true(right);
    assert_int_equal(pool.capacity, 0);
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static kolk_queue queue;
static int item;
static kolk_status status;
static kolk_deadline deadline;

static void push(void) {
    item = 1;
    status = kolk_queue_push(&queue, &item, deadline);
}

CALL(pop, status = kolk_queue_pop(&queue, &item, deadline))
CALL(deinit_queue, kolk_queue_deinit(&queue))

static void make_queue(void) {
    kolk_queue_desc desc = {.item_size = sizeof item, .capacity = 1};
    assert_int_equal(kolk_queue_init(&queue, &desc), KOLK_OK);
}

/* promise: queue.h "wait first polls for some 50 microseconds"; base.h "No function ... may be cancelled" */
static void test_polled_queue(void **state) {
    make_queue();
    deadline = KOLK_NOW;
    if (kolk_queue_fd(&queue, KOLK_QUEUE_READABLE) < 0) {
        deinit_queue();
        print_message("skipped: the system has no eventfd\n");
        skip();
    }
    assert_true(kolk_queue_fd(&queue, KOLK_QUEUE_WRITABLE) >= 0);
    for (int i = 0; i < 3; i++) {
        assert_true(returns(push)); /* sets the event that poppers poll */
        assert_int_equal(status, KOLK_OK);
        assert_true(returns(push)); /* resets the event that pushers poll */
        assert_int_equal(status, KOLK_FULL);
        assert_true(returns(pop));
        assert_int_equal(status, KOLK_OK);
        assert_true(returns(pop));
        assert_int_equal(status, KOLK_EMPTY);
        assert_true(kolk_queue_is_valid(&queue));
    }
    assert_true(returns(deinit_queue));
    assert_int_equal(queue.capacity, 0);
}

/* A pending cancellation does not end a wait early. promise: queue.h "pthread_cancel does not end a wait" */
static void test_wait_for_item(void **state) {
    make_queue();
    deadline = kolk_deadline_after(3);
    assert_true(returns(pop));
    assert_int_equal(status, KOLK_TIMEOUT);
    assert_true(kolk_queue_is_valid(&queue));
    deinit_queue();
}

/* A cancellation during the wait does not end it either: it continues until it is served, or the queue ends. */
typedef struct sleeper {
    void (*wait)(void);
    uint32_t has_waited;
} sleeper;

static void *wait_and_then_be_cancelled(void *context) {
    sleeper *me = (sleeper *)context;
    me->wait();
    kolk_store_(&me->has_waited, 1, KOLK_RELEASE_);
    for (;;) pthread_testcancel();
    return NULL;
}

static void cancel_in_wait(sleeper *one, void (*wait)(void), bool (*is_asleep)(void), void (*end_wait)(void)) {
    pthread_t thread;
    void *result;
    *one = (sleeper){.wait = wait};
    assert_int_equal(pthread_create(&thread, NULL, wait_and_then_be_cancelled, one), 0);
    while (!is_asleep()) take_a_nap();
    for (int n = 0; n < 20; n++) take_a_nap();
    assert_int_equal(pthread_cancel(thread), 0);
    for (int n = 0; n < 20; n++) take_a_nap();
    assert_int_equal(kolk_load_(&one->has_waited, KOLK_ACQUIRE_), 0);
    end_wait();
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(one->has_waited, 1);
}

static bool somebody_pops(void) {
    return kolk_load_(&queue.ends[KOLK_QUEUE_READABLE].asleep, KOLK_ACQUIRE_);
}

static void push_two(void) {
    int two = 2;
    assert_int_equal(kolk_queue_push(&queue, &two, KOLK_NOW), KOLK_OK);
}

CALL(shut_down, kolk_queue_shutdown(&queue))

static void test_cancelled_while_it_waits(void **state) {
    sleeper one;
    make_queue();
    deadline = KOLK_FOREVER;
    cancel_in_wait(&one, pop, somebody_pops, push_two);
    assert_int_equal(status, KOLK_OK);
    assert_int_equal(item, 2);
    cancel_in_wait(&one, pop, somebody_pops, shut_down);
    assert_int_equal(status, KOLK_SHUTDOWN);
    kolk_queue_reopen(&queue);
    assert_true(kolk_queue_is_valid(&queue));
    deinit_queue();
}

/* ---- Shared pools ------------------------------------------------------------------------------------------------ */

static kolk_shared shared;
static kolk_shared_local local;
static void *object;

CALL(init_local, status = kolk_shared_local_init(&local, &shared))

static void wait_for_object(void) {
    if (kolk_shared_local_init(&local, &shared) != KOLK_OK) return;
    object = kolk_shared_alloc_wait(&local, deadline);
    kolk_shared_local_deinit(&local);
}

static void make_shared(uint32_t capacity) {
    kolk_shared_desc desc = {.object_size = 16, .capacity = capacity, .max_threads = 2, .cache = KOLK_NO_CACHE};
    assert_int_equal(kolk_shared_init(&shared, &desc), KOLK_OK);
}

/* Init of a local checks under the pool's lock whether another thread has ended. */
static void test_one_local_too_many(void **state) {
    kolk_shared_local two[2];
    make_shared(10);
    for (int i = 0; i < 2; i++) assert_int_equal(kolk_shared_local_init(&two[i], &shared), KOLK_OK);
    assert_true(returns(init_local));
    assert_int_equal(status, KOLK_TOO_MANY_THREADS);
    for (int i = 0; i < 2; i++) kolk_shared_local_deinit(&two[i]);
    assert_true(kolk_shared_is_valid(&shared));
    kolk_shared_deinit(&shared);
}

static kolk_shared_local holder;
static void *held;

static bool somebody_waits(void) {
    return kolk_load_(&shared.inside->store.depot.waiting, KOLK_ACQUIRE_);
}

CALL(give_one, kolk_shared_free(&holder, held))

/* promise: shared.h "ends a wait; pthread_cancel does not"; base.h "No function ... may be cancelled" */
static void test_wait_for_object(void **state) {
    sleeper one;
    make_shared(1);
    assert_int_equal(kolk_shared_local_init(&holder, &shared), KOLK_OK);
    held = kolk_shared_alloc(&holder);
    assert_non_null(held);
    object = held;
    deadline = kolk_deadline_after(3);
    assert_true(returns(wait_for_object));
    assert_null(object);
    deadline = KOLK_FOREVER;
    cancel_in_wait(&one, wait_for_object, somebody_waits, give_one);
    assert_ptr_equal(object, held);
    kolk_shared_free(&holder, object);
    kolk_shared_local_deinit(&holder);
    assert_true(kolk_shared_is_valid(&shared));
    kolk_shared_deinit(&shared);
}

/* ---- Resource pools ---------------------------------------------------------------------------------------------- */

static kolk_resource_pool resources;
static kolk_borrowed borrow;

static bool create_resource(void *context, const char *key, kolk_deadline until, void **resource, kolk_error *error) {
    *resource = context;
    return true;
}

static void init_resources(void) {
    kolk_resource_pool_desc desc = {.context = &item, .create = create_resource, .max = 1, .min_idle = 1};
    status = kolk_resource_init(&resources, &desc);
}

static void borrow_resource(void) {
    status = kolk_resource_borrow(&resources, &(kolk_borrow_desc){.deadline = deadline}, &borrow);
}

CALL(give_resource_back, kolk_resource_give_back(&resources, &borrow))
CALL(close_resources, kolk_resource_close(&resources, KOLK_NOW))
CALL(close_and_wait, status = kolk_resource_close(&resources, KOLK_FOREVER))
CALL(deinit_resources, kolk_resource_deinit(&resources))

static kolk_borrowed lent;

CALL(give_back_what_is_lent, kolk_resource_give_back(&resources, &lent))

static bool somebody_borrows(void) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&resources, &stats);
    return stats.waiting;
}

/* Init starts a maker, and deinit joins it. promise: resource.h "no effect before they return" */
static void test_resources(void **state) {
    deadline = KOLK_FOREVER;
    assert_true(returns(init_resources));
    assert_int_equal(status, KOLK_OK);
    assert_true(returns(borrow_resource));
    assert_int_equal(status, KOLK_OK);
    lent = borrow;
    deadline = kolk_deadline_after(3);
    assert_true(returns(borrow_resource));
    assert_int_equal(status, KOLK_TIMEOUT);
    borrow = lent;
    if (kolk_resource_fd(&resources) >= 0) { /* borrow resets it and give_back sets it */
        lent = borrow;
        deadline = KOLK_NOW;
        assert_true(returns(borrow_resource));
        assert_int_equal(status, KOLK_FULL);
        borrow = lent;
    }
    assert_true(returns(give_resource_back));
    assert_true(returns(close_resources));
    assert_true(kolk_resource_is_valid(&resources));
    assert_true(returns(deinit_resources));
    assert_null(resources.inside);
}

static bool is_closed(void) {
    kolk_borrowed none;
    return kolk_resource_borrow(&resources, &(kolk_borrow_desc){0}, &none) == KOLK_CLOSED;
}

static void test_cancelled_while_it_borrows(void **state) {
    sleeper one;
    deadline = KOLK_FOREVER;
    init_resources();
    borrow_resource();
    assert_int_equal(status, KOLK_OK);
    lent = borrow;
    cancel_in_wait(&one, borrow_resource, somebody_borrows, give_back_what_is_lent);
    assert_int_equal(status, KOLK_OK);
    lent = borrow;
    cancel_in_wait(&one, close_and_wait, is_closed, give_back_what_is_lent);
    assert_int_equal(status, KOLK_OK);
    assert_true(kolk_resource_is_valid(&resources));
    deinit_resources();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_init_reads_sizes), /* first: the environment is read once */
        cmocka_unit_test(test_exit_writes_statistics),
        cmocka_unit_test(test_sites),
        cmocka_unit_test(test_leak),
        cmocka_unit_test(test_polled_queue),
        cmocka_unit_test(test_wait_for_item),
        cmocka_unit_test(test_cancelled_while_it_waits),
        cmocka_unit_test(test_one_local_too_many),
        cmocka_unit_test(test_wait_for_object),
        cmocka_unit_test(test_resources),
        cmocka_unit_test(test_cancelled_while_it_borrows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
