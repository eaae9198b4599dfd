/* At exit, each object that is still alive in a pool with the debug setting `sites` is reported once, if the pool was
 * not deinitialised. */
#include "../help/debug_test.h"

static kolk_pool pools[3];

/* Checks a line that the default handler printed; sites may follow the sentence. */
static void assert_line(const char **text, const char *beginning) {
    if (strncmp(*text, beginning, strlen(beginning)) != 0) assert_string_equal(*text, beginning);
    const char *end = strchr(*text, '\n');
    assert_non_null(end);
    *text = end + 1;
}

static void start(unsigned n, const char *name, const char *debug) {
    kolk_pool_desc desc = {.name = name, .object_size = 8, .capacity = 9, .debug = debug};
    if (kolk_pool_init(&pools[n], &desc) != KOLK_OK) _exit(1);
}

/* Allocates an object. All callers share one site, even if the compiler unrolls their loops. */
__attribute__((noinline)) static void *take(unsigned n) {
    void *object = kolk_pool_alloc(&pools[n]);
    __asm__ volatile("");
    return object;
}

static void leak(void) {
    start(0, "first", "sites=1");
    start(1, "second", "fill,guard"); /* it leaks too, but has no setting to report it */
    start(2, "third", "sites");
    for (int i = 0; i < 2; i++) take(0);
    kolk_pool_alloc(&pools[0]); /* at a different site */
    kolk_pool_alloc(&pools[1]);
    kolk_pool_alloc(&pools[2]);
    exit(0);
}

static void leak_nothing(void) {
    start(0, "first", "sites");
    start(1, "second", "sites");
    kolk_pool_free(&pools[0], kolk_pool_alloc(&pools[0]));
    kolk_pool_alloc(&pools[1]);
    kolk_pool_clear(&pools[1]);
    fprintf(stderr, "nothing else");
    exit(0);
}

static void leak_and_end_at_once(void) {
    start(0, "first", "sites");
    kolk_pool_alloc(&pools[0]);
    _exit(0);
}

static void run(void (*body)(void), char *text, size_t size) {
    int status = run_apart(body, text, size);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_leaks_at_exit(void **state) {
    char bytes[4000];
    const char *text = bytes;
    run(leak, bytes, sizeof bytes);
    assert_line(&text, "kolk: first: 2 objects are still alive, the oldest in slot 0");
    assert_line(&text, "kolk: first: 1 object is still alive, in slot 2");
    assert_line(&text, "kolk: third: 1 object is still alive, in slot 0");
    assert_string_equal(text, "");
}

static void test_no_leaks_at_exit(void **state) {
    char text[1000];
    run(leak_nothing, text, sizeof text);
    assert_string_equal(text, "nothing else");
    run(leak_and_end_at_once, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_leaks_at_exit),
        DEBUG_TEST(test_no_leaks_at_exit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
