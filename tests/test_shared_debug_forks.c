/* A shared pool in debug mode, and a process that forks while other threads are in the middle of alloc and free: its child finds
 * no damage that nobody did, and no slot twice. KOLK_TEST_OPS (forks of a run) may be set in the environment. */
// link: -pthread
#include "kolk_debug_test.h"

#include "kolk_shared_test.h"

#include <pthread.h>

enum { MOST = 100, TWICE = 1, REPORTED = 2 };

static kolk_shared pool;
static uint32_t over, reported;

static void note_damage(const kolk_failure *failure, void *context) {
    (void)failure, (void)context;
    __atomic_store_n(&reported, REPORTED, __ATOMIC_RELAXED);
}

/* Long objects: most of the time they are being filled. */
static void *work(void *argument) {
    kolk_local local;
    (void)argument;
    if (kolk_local_init(&local, &pool) != KOLK_OK) abort();
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        void *one = kolk_local_alloc(&local), *other = kolk_local_alloc(&local);
        kolk_local_free(&local, one);
        kolk_local_free(&local, other);
    }
    kolk_local_deinit(&local);
    return NULL;
}

/* What the child exits with. */
static int look_at_all(void) {
    kolk_local local;
    void *objects[MOST];
    int n = 0;
    if (kolk_local_init(&local, &pool) != KOLK_OK) return 99;
    while (n < MOST && (objects[n] = kolk_local_alloc(&local)) != NULL) n++;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (objects[i] == objects[k]) return TWICE;
    for (int i = 0; i < n; i++) kolk_local_free(&local, objects[i]);
    kolk_local_deinit(&local);
    kolk_shared_deinit(&pool);
    return (int)reported;
}

static void test_a_child_finds_no_damage(void **state) {
    (void)state;
    static const char *const settings[] = {"fill", "fill,guard,quarantine=3", "quarantine=2"};
    uint64_t forks = number_from_environment("KOLK_TEST_OPS", 100);
    skip_if_emulated();
    for (size_t n = 0; n < LENGTH_OF(settings); n++) {
        pthread_t threads[2];
        make_shared(&pool,
                    &(kolk_shared_desc){
                        .object_size = 2000, .capacity = 20, .max_threads = 4, .cache = 1, .debug = settings[n]});
        over = reported = 0;
        kolk_set_failure_handler(note_damage, NULL);
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
        for (uint64_t i = 0; i < forks; i++) {
            int status;
            pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) _exit(look_at_all());
            assert_int_equal(waitpid(child, &status, 0), child);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
        }
        __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        assert_int_equal(reported, 0);
        end_shared(&pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {DEBUG_TEST(test_a_child_finds_no_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
