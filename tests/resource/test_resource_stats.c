/* What is written of resource pools: the table, JSON and OpenMetrics, of pools that are there and at exit also of those
 * that are gone. */
#include "../help/fakes.h"

static char written[20000];

static void put(const char *text, size_t length, void *context) {
    size_t *end = (size_t *)context;
    assert_true(*end + length < sizeof written);
    memcpy(written + *end, text, length);
    *end += length;
    written[*end] = 0;
}

static const char *write_in(kolk_stats_format format) {
    size_t end = 0;
    kolk_stats_write(format, put, &end);
    return written;
}

static void assert_says(const char *text) {
    if (!strstr(written, text)) fail_msg("no \"%s\" in:\n%s", text, written);
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    (void)deadline, (void)error;
    *resource = context;
    return strcmp(key, "none") != 0;
}

static kolk_resource_pool pool;

/* Two are lent, one is idle; one was discarded; one could not be created, one not be had. */
static void begin_links(const char *name) {
    kolk_resource_pool_desc desc = {.name = name, .context = &pool, .create = create, .max = 3, .no_housekeeper = true};
    kolk_borrow borrows[4], none;
    assert_int_equal(kolk_resource_pool_init(&pool, &desc), KOLK_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(kolk_resource_borrow(&pool, NULL, &borrows[i]), KOLK_OK);
    assert_int_equal(kolk_resource_borrow(&pool, &(kolk_borrow_desc){0}, &none), KOLK_FULL);
    kolk_resource_discard(&pool, &borrows[0]);
    assert_int_equal(kolk_resource_borrow(&pool, &(kolk_borrow_desc){.key = "none"}, &none), KOLK_NOT_CREATED);
    assert_int_equal(kolk_resource_borrow(&pool, NULL, &borrows[3]), KOLK_OK);
    kolk_resource_give_back(&pool, &borrows[3]);
}

static void ignore(const kolk_failure *failure, void *context) {
    (void)failure, (void)context;
}

static void end_links(void) {
    kolk_set_failure_handler(ignore, NULL); /* two are lent */
    kolk_resource_pool_deinit(&pool);
    kolk_set_failure_handler(NULL, NULL);
}

static void test_formats(void **state) {
    (void)state;
    begin_links("li\"nks");
    write_in(KOLK_STATS_TEXT);
    assert_says("li\"nks  resource     0      2     3         3       2");
    assert_says("resources      in use        idle     borrows      failed     created    wait p99");
    assert_says("\nli\"nks              2           1           4           2           4  ");
    write_in(KOLK_STATS_JSON);
    assert_says("\"resource\": {\"max\": 3, \"in_use\": 2, \"idle\": 1, \"creating\": 0, \"waiting\": 0, \"peak\": 3, "
                "\"borrows\": 4, \"full\": 1, \"timeouts\": 0, \"failed\": 1, \"created\": 4, \"create_failures\": 1, "
                "\"discarded\": 1, \"invalid\": 0, \"unclean\": 0, \"expired\": 0, \"unused\": 0, \"evicted\": 0, "
                "\"replaced\": 0, \"closed\": 0, \"leaks\": 0, \"wait\": {\"count\": 4, \"sum_ns\": ");
    assert_says("\"use\": {\"count\": 2, ");
    assert_says("}}}\n]}\n");
    write_in(KOLK_STATS_OPENMETRICS);
    assert_says("# TYPE db_client_connection_count gauge\n# HELP db_client_connection_count Resources by state.\n"
                "db_client_connection_count{db_client_connection_pool_name=\"li\\\"nks\",state=\"used\"} 2\n"
                "db_client_connection_count{db_client_connection_pool_name=\"li\\\"nks\",state=\"idle\"} 1\n");
    assert_says("db_client_connection_timeouts_total{db_client_connection_pool_name=\"li\\\"nks\"} 0\n");
    assert_says("# UNIT db_client_connection_wait_time_seconds seconds\n");
    assert_says("_create_time_seconds_bucket{db_client_connection_pool_name=\"li\\\"nks\",le=\"+Inf\"} 4\n");
    end_links();
}

/* Without a resource pool, nothing is said of them. */
static void test_without(void **state) {
    (void)state;
    static fake one;
    add_fake(&one, "one");
    for (int format = KOLK_STATS_TEXT; format <= KOLK_STATS_OPENMETRICS; format++) {
        write_in((kolk_stats_format)format);
        assert_null(strstr(written, "resource"));
        assert_null(strstr(written, "db_client"));
    }
    remove_fake(&one);
}

/* The lives of one name add up; the last number of each kind is that which must not be lost. */
static void test_lives_add_up(void **state) {
    (void)state;
    kolk_records records = {0};
    kolk_resource_stats one = {.max = 1,
                               .in_use = 2,
                               .idle = 3,
                               .creating = 4,
                               .waiting = 5,
                               .peak = 6,
                               .borrows = 7,
                               .leaks = 8,
                               .wait = {.count = 9, .max_ns = 10, .p999_ns = 11, .at_most = {12}},
                               .create = {.sum_ns = 13, .at_most = {[KOLK_TIME_BOUNDS - 1] = 14}}};
    kolk_resource_stats other = one;
    other.max = 100;
    other.peak = 1;
    other.wait.p999_ns = 100;
    kolk_stats stats = {.name = "links", .kind = "resource", .resource = &one};
    kolk_records_add(&records, &stats, true);
    stats.resource = &other;
    kolk_records_add(&records, &stats, true);
    const kolk_resource_stats *sum = records.first->stats.resource;
    assert_ptr_equal(records.first, records.last);
    assert_ptr_not_equal(sum, &one);
    assert_int_equal(sum->max, 100);
    assert_int_equal(sum->in_use, 4);
    assert_int_equal(sum->idle, 6);
    assert_int_equal(sum->creating, 8);
    assert_int_equal(sum->waiting, 10);
    assert_int_equal(sum->peak, 6);
    assert_int_equal(sum->borrows, 14);
    assert_int_equal(sum->leaks, 16);
    assert_int_equal(sum->wait.count, 18);
    assert_int_equal(sum->wait.max_ns, 10);
    assert_int_equal(sum->wait.p999_ns, 100);
    assert_int_equal(sum->wait.at_most[0], 24);
    assert_int_equal(sum->create.sum_ns, 26);
    assert_int_equal(sum->create.at_most[KOLK_TIME_BOUNDS - 1], 28);
    assert_int_equal(one.borrows, 7);
    kolk_records_release(&records);
}

/* ---- At exit ----------------------------------------------------------------------------------------------------- */

static void two_lives(const char *argument) {
    (void)argument;
    for (int life = 0; life < 2; life++) {
        begin_links("links");
        end_links();
    }
}

static void test_at_exit(void **state) {
    (void)state;
    ending end = run_scenario("two lives", "json", NULL);
    assert_true(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0);
    const char *resource = strstr(end.text, "\"resource\": {\"max\": 3, \"in_use\": 4, ");
    if (!resource) fail_msg("%s", end.text);
    assert_non_null(strstr(resource, "\"borrows\": 8, \"full\": 2, "));
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {{"two lives", two_lives}};
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_lives_add_up),
        cmocka_unit_test(test_at_exit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
