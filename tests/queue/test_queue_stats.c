/* Queues, including deinitialised ones, in the statistics that KOLK_STATS writes at exit, in each format. */
#include "queue_test.h"

#include "../help/fakes.h"

static kolk_queue jobs, closed;

static void leave_queues(const char *argument) {
    (void)argument;
    make_queue(&jobs, &(kolk_queue_desc){.name = "jobs", .item_size = sizeof(int), .capacity = 9});
    for (int i = 0; i < 5; i++) push_int(&jobs, i);
    make_queue(&closed, &(kolk_queue_desc){.name = "closed", .item_size = 100, .capacity = 2});
    kolk_queue_close(&closed);
    kolk_queue ended;
    make_queue(&ended, &(kolk_queue_desc){.name = "ended", .item_size = 1, .capacity = 3});
    kolk_queue_deinit(&ended);
}

static void assert_says(const char *setting, const char *const *parts, size_t count) {
    ending seen = run_scenario("leave queues", setting, NULL);
    assert_true(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 0);
    for (size_t i = 0; i < count; i++)
        if (!strstr(seen.text, parts[i])) fail_msg("'%s' is not in:\n%s", parts[i], seen.text);
}

static void test_text(void **state) {
    (void)state;
    static const char *const parts[] = {"name    kind   size  alive  peak  capacity  failed  bytes\n",
                                        "ended   queue     1      0     0         3       0     48\n",
                                        "jobs    queue     4      5     5         9       0    144\n",
                                        "closed  queue   100      0     0         2       0    224\n"};
    assert_says("text", parts, LENGTH_OF(parts));
}

static void test_json(void **state) {
    (void)state;
    static const char *const parts[] = {"{\"name\": \"ended\", \"kind\": \"queue\", ",
                                        "{\"name\": \"jobs\", \"kind\": \"queue\", ", "\"count\": 5, ",
                                        "\"capacity\": 9, ", "{\"name\": \"closed\", \"kind\": \"queue\", "};
    assert_says("json", parts, LENGTH_OF(parts));
}

static void test_openmetrics(void **state) {
    (void)state;
    static const char *const parts[] = {"kolk_alive{pool=\"jobs\",kind=\"queue\"} 5\n",
                                        "kolk_capacity{pool=\"closed\",kind=\"queue\"} 2\n"};
    assert_says("openmetrics", parts, LENGTH_OF(parts));
}

static void test_without(void **state) {
    (void)state;
    assert_ending(run_scenario("leave queues", NULL, NULL), 0, "");
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(int argc, char **argv) {
    static const scenario scenarios[] = {{"leave queues", leave_queues}};
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {TEST(test_text), TEST(test_json), TEST(test_openmetrics), TEST(test_without)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
