/* The statistics that are written about resource pools, as a table, as JSON and as OpenMetrics. They cover existing
 * pools and, at exit, also pools that have ended. */
#include "../help/fakes.h"

#include "watch/stats.h"
#include "resource/resource_inside.h"

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
    *resource = context;
    return strcmp(key, "none") != 0;
}

static kolk_resource_pool pool;

/* Two are lent, one is idle, one was discarded; one create failed, and one borrow found the pool full. */
static void begin_links(const char *name) {
    kolk_resource_pool_desc desc = {.name = name, .context = &pool, .create = create, .max = 3, .no_housekeeper = true};
    kolk_borrowed borrows[4], none;
    assert_int_equal(kolk_resource_init(&pool, &desc), KOLK_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(kolk_resource_borrow(&pool, NULL, &borrows[i]), KOLK_OK);
    assert_int_equal(kolk_resource_borrow(&pool, &(kolk_borrow_desc){0}, &none), KOLK_FULL);
    kolk_resource_discard(&pool, &borrows[0]);
    assert_int_equal(kolk_resource_borrow(&pool, &(kolk_borrow_desc){.key = "none"}, &none), KOLK_NOT_CREATED);
    assert_int_equal(kolk_resource_borrow(&pool, NULL, &borrows[3]), KOLK_OK);
    kolk_resource_give_back(&pool, &borrows[3]);
}

static void ignore(const kolk_failure *failure, void *context) {}

static void end_links(void) {
    kolk_set_failure_handler(ignore, NULL); /* two are lent, which deinit reports */
    kolk_resource_deinit(&pool);
    kolk_set_failure_handler(NULL, NULL);
}

static void test_formats(void **state) {
    begin_links("li\"nks");
    write_in(KOLK_STATS_TEXT);
    assert_memory_equal(
        written, "resources  max  in use  peak  idle  waiting  borrows  full  timeouts  failed  created  leaks  ", 93);
    assert_says("\nli\"nks       3       2     3     1        0        4     1         0       1        4      0  ");
    write_in(KOLK_STATS_JSON);
    assert_says("\"resource\": {\"max\": 3, \"in_use\": 2, \"idle\": 1, \"creating\": 0, \"waiting\": 0, \"peak\": 3, "
                "\"borrows\": 4, \"full\": 1, \"timeouts\": 0, \"failed\": 1, \"created\": 4, \"create_failures\": 1, "
                "\"discarded\": 1, \"invalid\": 0, \"unclean\": 0, \"expired\": 0, \"unused\": 0, \"evicted\": 0, "
                "\"replaced\": 0, \"closed\": 0, \"detached\": 0, \"leaks\": 0, \"wait\": {\"count\": 4, \"sum_ns\": ");
    assert_says("\"use\": {\"count\": 2, ");
    assert_says("}}}\n]}\n");
    write_in(KOLK_STATS_OPENMETRICS);
    assert_says("# TYPE db_client_connection_count gauge\n# HELP db_client_connection_count Resources by state.\n"
                "db_client_connection_count{db_client_connection_pool_name=\"li\\\"nks\",state=\"used\"} 2\n"
                "db_client_connection_count{db_client_connection_pool_name=\"li\\\"nks\",state=\"idle\"} 1\n");
    assert_says("db_client_connection_timeouts_total{db_client_connection_pool_name=\"li\\\"nks\"} 0\n");
    assert_says("# TYPE kolk_resource_borrows counter\n# HELP kolk_resource_borrows Borrows that succeeded.\n"
                "kolk_resource_borrows_total{pool=\"li\\\"nks\"} 4\n# TYPE kolk_resource_full counter\n");
    assert_says("kolk_resource_create_failures_total{pool=\"li\\\"nks\"} 1\n");
    assert_says("kolk_resource_destroyed_total{pool=\"li\\\"nks\",cause=\"discarded\"} 1\n"
                "kolk_resource_destroyed_total{pool=\"li\\\"nks\",cause=\"invalid\"} 0\n");
    assert_says("# UNIT db_client_connection_wait_time_seconds seconds\n");
    assert_says("_create_time_seconds_bucket{db_client_connection_pool_name=\"li\\\"nks\",le=\"+Inf\"} 4\n");
    write_in(KOLK_STATS_PROMETHEUS);
    assert_says("# TYPE db_client_connections gauge\n# HELP db_client_connections Resources by state.\n"
                "db_client_connections{db_client_connection_pool_name=\"li\\\"nks\",state=\"used\"} 2\n");
    assert_says("# TYPE kolk_resource_borrows_total counter\n"
                "# HELP kolk_resource_borrows_total Borrows that succeeded.\n"
                "kolk_resource_borrows_total{pool=\"li\\\"nks\"} 4\n");
    assert_says("# TYPE db_client_connection_wait_time_seconds histogram\n# HELP ");
    end_links();
}

/* Memory pools have one table, resource pools another. promise: base.h "a table for people ... lists resource pools" */
static void test_two_tables(void **state) {
    static fake one;
    add_fake(&one, "bullets");
    begin_links("links");
    write_in(KOLK_STATS_TEXT);
    assert_memory_equal(written,
                        "name     kind  size  alive  peak  capacity  failed  bytes\n"
                        "bullets  fake    11     13    14        15      20     19\n"
                        "resources  max  in use  ",
                        58 * 2 + 24);
    end_links();
    remove_fake(&one);
}

static void add_numbers(kolk_records_ *records, kolk_resource_pool_stats *numbers, kolk_record_of_ of) {
    kolk_stats stats = {.name = numbers->name, .kind = "resource", .peak = numbers->peak};
    kolk_records_add_whole_(records, &(kolk_record_){.stats = stats, .extra = &kolk_resource_extra_, .more = numbers},
                            of);
}

/* All numbers of kolk_resource_pool_stats differ here, and the machine-readable formats contain all of
 * them. promise: "`creating` excludes ... had to wait", "kolk_resource_stats" */
static void test_all_numbers(void **state) {
    enum { GAUGES = 6, COUNTERS = 15 };
    kolk_records_ records = {0};
    kolk_resource_pool_stats numbers = {.name = "all"};
    uint32_t *gauge = &numbers.max;
    uint64_t *counter = &numbers.borrows;
    for (uint32_t i = 0; i < GAUGES; i++) gauge[i] = 1000 + i;
    for (uint32_t i = 0; i < COUNTERS; i++) counter[i] = 2000 + i;
    add_numbers(&records, &numbers, KOLK_RECORD_ALONE_);
    for (int format = KOLK_STATS_JSON; format <= KOLK_STATS_PROMETHEUS; format++) {
        size_t end = 0;
        char number[16];
        kolk_records_write_(&records, (kolk_stats_format)format, put, &end);
        for (unsigned i = 0; i < GAUGES + COUNTERS; i++) {
            snprintf(number, sizeof number, " %u", i < GAUGES ? 1000 + i : 2000 + i - GAUGES);
            assert_says(number);
        }
    }
    kolk_records_release_(&records);
}

static void write_records(const kolk_records_ *records, kolk_stats_format format) {
    size_t end = 0;
    kolk_records_write_(records, format, put, &end);
}

/* Times in the table, as numbers and as histograms: of two pools with one name, beside a memory pool. */
static void test_times(void **state) {
    kolk_records_ records = {0};
    kolk_resource_pool_stats numbers = {.name = "db",
                                        .wait = {.count = 7,
                                                 .sum_ns = UINT64_C(3000000001),
                                                 .max_ns = UINT64_C(1500000000000),
                                                 .p50_ns = 50,
                                                 .p90_ns = 90,
                                                 .p99_ns = 999,
                                                 .p999_ns = 9990,
                                                 .at_most = {1, 3, 6}},
                                        .use = {.p50_ns = 9996},
                                        .create = {.p50_ns = 99960}};
    kolk_stats memory = {.name = "bullets", .kind = "pool"};
    add_numbers(&records, &numbers, KOLK_RECORD_ALONE_);
    kolk_records_add_(&records, &memory, KOLK_RECORD_ALONE_);
    add_numbers(&records, &numbers, KOLK_RECORD_ALONE_);
    write_records(&records, KOLK_STATS_TEXT);
    assert_says("    999 ns    1500 s  10.0 us      100 us\n");
    write_records(&records, KOLK_STATS_JSON);
    assert_says("\"wait\": {\"count\": 7, \"sum_ns\": 3000000001, \"max_ns\": 1500000000000, \"p50_ns\": 50, "
                "\"p90_ns\": 90, \"p99_ns\": 999, \"p999_ns\": 9990}, \"use\"");
    write_records(&records, KOLK_STATS_OPENMETRICS);
    assert_says(
        "wait_time_seconds_bucket{db_client_connection_pool_name=\"db\",le=\"0.000131071\"} 1\n"
        "db_client_connection_wait_time_seconds_bucket{db_client_connection_pool_name=\"db\",le=\"0.000524287\"} "
        "3\n");
    assert_says("wait_time_seconds_sum{db_client_connection_pool_name=\"db\"} 3.000000001\n");
    assert_says("wait_time_seconds_count{db_client_connection_pool_name=\"db\",nth=\"2\"} 7\n");
    assert_null(strstr(written, "pool_name=\"bullets\""));

    numbers.wait.p99_ns = 1000;
    numbers.wait.max_ns = 999400;
    numbers.use.p50_ns = 9994;
    numbers.create.p50_ns = 999600;
    write_records(&records, KOLK_STATS_TEXT); /* the records have copies of the numbers */
    assert_says("    999 ns    1500 s  10.0 us      100 us\n");
    kolk_records_release_(&records);
    add_numbers(&records, &numbers, KOLK_RECORD_ALONE_);
    write_records(&records, KOLK_STATS_TEXT);
    assert_says("   1.00 us    999 us  9.99 us     1.00 ms\n");
    kolk_records_release_(&records);
}

/* If there is no resource pool, the statistics do not mention resource pools. */
static void test_without(void **state) {
    static fake one;
    add_fake(&one, "one");
    for (int format = KOLK_STATS_TEXT; format <= KOLK_STATS_PROMETHEUS; format++) {
        write_in((kolk_stats_format)format);
        assert_null(strstr(written, "resource"));
        assert_null(strstr(written, "db_client"));
    }
    remove_fake(&one);
}

/* The numbers of ended pools with one name are added up, including the last member of each group of numbers. */
static void test_lives_add_up(void **state) {
    kolk_records_ records = {0};
    kolk_resource_pool_stats one = {.name = "links",
                                    .max = 1,
                                    .in_use = 2,
                                    .idle = 3,
                                    .creating = 4,
                                    .waiting = 5,
                                    .peak = 6,
                                    .borrows = 7,
                                    .leaks = 8,
                                    .wait = {.count = 9, .max_ns = 10, .p999_ns = 11, .at_most = {12}},
                                    .create = {.sum_ns = 13, .at_most = {[KOLK_TIME_BOUNDS - 1] = 14}}};
    kolk_resource_pool_stats other = one;
    other.max = 100;
    other.peak = 1;
    other.wait.p999_ns = 100;
    add_numbers(&records, &one, KOLK_RECORD_ENDED_);
    add_numbers(&records, &other, KOLK_RECORD_ENDED_);
    const kolk_resource_pool_stats *sum = records.first->more;
    assert_ptr_equal(records.first, records.last);
    assert_ptr_not_equal(sum, &one);
    assert_int_equal(sum->max, 100);
    assert_int_equal(sum->in_use, 2);
    assert_int_equal(sum->idle, 3);
    assert_int_equal(sum->creating, 4);
    assert_int_equal(sum->waiting, 5);
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
    kolk_records_release_(&records);
}

/* ---- At exit ----------------------------------------------------------------------------------------------------- */

static void two_lives(const char *argument) {
    for (int life = 0; life < 2; life++) {
        begin_links("links");
        end_links();
    }
}

static void test_at_exit(void **state) {
    skip_on_windows();
    ending end = run_scenario("two lives", "json", NULL);
    assert_true(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0);
    const char *resource = strstr(end.text, "\"resource\": {\"max\": 3, \"in_use\": 2, ");
    if (!resource) fail_msg("%s", end.text);
    assert_non_null(strstr(resource, "\"borrows\": 8, \"full\": 2, "));
}

/* The child has a pool of its own, and deinitialises its parent's pool or not. */
static void fork_and_end(const char *argument) {
    kolk_resource_pool own;
    static kolk_pool memory;
    kolk_resource_pool_desc desc = {.name = "child's", .create = create, .no_housekeeper = true};
    make_pool(&memory, &(kolk_pool_desc){.name = "memory", .object_size = 1, .capacity = 1});
    begin_links("links");
    pid_t child = fork();
    if (child == 0) {
        assert_int_equal(kolk_resource_init(&own, &desc), KOLK_OK);
        write_in(KOLK_STATS_JSON);
        assert_says("child's");
        assert_null(strstr(written, "links"));
        if (argument) kolk_resource_deinit(&pool);
        exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    _exit(0);
}

/* promise: "kolk_stats_write and KOLK_STATS ... own pools" */
static void test_a_child_leaves_out_its_parents(void **state) {
    skip_on_windows(); /* no forks */
    static const char *const ways[] = {NULL, "with deinit"};
    for (size_t i = 0; i < LENGTH_OF(ways); i++) {
        ending end = run_scenario("fork", "json", ways[i]);
        assert_int_equal(end.status, 0);
        assert_non_null(strstr(end.text, "\"name\": \"child's\""));
        assert_non_null(strstr(end.text, "\"name\": \"memory\""));
        if (strstr(end.text, "links")) fail_msg("%s", end.text);
    }
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {{"two lives", two_lives}, {"fork", fork_and_end}};
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),     cmocka_unit_test(test_two_tables),
        cmocka_unit_test(test_all_numbers), cmocka_unit_test(test_times),
        cmocka_unit_test(test_without),     cmocka_unit_test(test_lives_add_up),
        cmocka_unit_test(test_at_exit),     cmocka_unit_test(test_a_child_leaves_out_its_parents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
