/* runs: processes sample:clang not:qemu not:wine */
/* The statistics as text: the exact output in three formats, which other people's parsers must accept, and
 * KOLK_STATS. */
#include "../help/test.h"

#include "../help/fakes.h"

#include <fcntl.h>
#include <signal.h>

/* ---- What is written --------------------------------------------------------------------------------------------- */

typedef struct text {
    char bytes[400000];
    size_t length, pieces, longest;
} text;

static text written;

static void append(const char *piece, size_t length, void *context) {
    text *to = context;
    assert_ptr_equal(to, &written);
    assert_true(length > 0 && to->length + length < sizeof to->bytes);
    memcpy(to->bytes + to->length, piece, length);
    to->length += length;
    to->bytes[to->length] = 0;
    to->pieces++;
    if (to->longest < length) to->longest = length;
}

static const char *write_in(kolk_stats_format format) {
    memset(&written, 0, sizeof written);
    kolk_stats_write(format, append, &written);
    return written.bytes;
}

/* Removes the last one first, so that the next pools get their entries in order. */
static void remove_fakes(fake *pools, size_t n) {
    while (n-- > 0) remove_fake(&pools[n]);
}

static const kolk_stats largest = {"largest",  "fake",     UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
                                   UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                   UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* ---- Text -------------------------------------------------------------------------------------------------------- */

/* promise: base.h "a table for people ... lists resource pools" */
static void test_a_table(void **state) {
    fake bullets, voices, nameless;
    assert_string_equal(write_in(KOLK_STATS_TEXT), "kolk: no pool has a name\n");
    add_fake(&nameless, "");
    assert_string_equal(write_in(KOLK_STATS_TEXT), "kolk: no pool has a name\n");
    add_fake(&bullets, "bullets");
    add_fake(&voices, "v");
    voices.stats.kind = "slotmap";
    voices.stats.object_size = voices.stats.failed = 0;
    voices.stats.count = 12345;
    voices.stats.peak = voices.stats.capacity = voices.stats.max_capacity = 123456;
    assert_string_equal(write_in(KOLK_STATS_TEXT), "name     kind     size  alive    peak  capacity  failed  bytes\n"
                                                   "bullets  fake       11     13      14        15      20     19\n"
                                                   "v        slotmap     0  12345  123456    123456       0     19\n");
    remove_fake(&voices);
    remove_fake(&bullets);
    remove_fake(&nameless);
}

static void test_a_wide_table(void **state) {
    fake a, wide = {.stats = largest};
    add_fake(&a, "a name that is longer than a name should be");
    kolk_registry_add_(&wide, &wide.mark, &fake_kind, false);
    assert_string_equal(
        write_in(KOLK_STATS_TEXT),
        "name                                         kind                  size       alive        peak"
        "    capacity                failed                 bytes\n"
        "a name that is longer than a name should be  fake                    11          13          14"
        "          15                    20                    19\n"
        "largest                                      fake  18446744073709551615  4294967295  4294967295"
        "  4294967295  18446744073709551615  18446744073709551615\n"
        "name        waiting                 waits\n"
        "largest  4294967295  18446744073709551615\n");
    remove_fake(&wide);
    remove_fake(&a);
}

/* Columns count characters, not bytes; no text moves a terminal's cursor. */
static void test_names_in_a_table(void **state) {
    fake pools[3];
    add_fake(&pools[0], "Schüsse");
    add_fake(&pools[1], "a\tb\n\x1b[2J\x7f");
    add_fake(&pools[2], "弾丸");
    assert_string_equal(write_in(KOLK_STATS_TEXT), "name       kind  size  alive  peak  capacity  failed  bytes\n"
                                                   "Schüsse    fake    11     13    14        15      20     19\n"
                                                   "a?b??[2J?  fake    11     13    14        15      20     19\n"
                                                   "弾丸         fake    11     13    14        15      20     19\n");
    remove_fakes(pools, LENGTH_OF(pools));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* A number for each field of kolk_stats: a new field needs its place in every format. */
_Static_assert(sizeof(void *) != 8 || sizeof(kolk_stats) == 2 * 8 + 2 * 8 + 4 * 4 + 7 * 8 + 4 * 4,
               "kolk_stats has another field: stats.c must write it");

#define JSON_FAKE(name)                                                                                                \
    "{\"name\": \"" name "\", \"kind\": \"fake\", \"object_size\": 11, \"stride\": 12, \"count\": 13, \"peak\": 14, "  \
    "\"capacity\": 15, \"max_capacity\": 16, \"unused_bytes\": 17, \"bytes_reserved\": 18, \"bytes_committed\": 19, "  \
    "\"failed\": 20, \"evictions\": 21, \"wrong_pool\": 22, \"waits\": 23, \"worn_out\": 24, \"recycled\": 25, "       \
    "\"waiting\": 26, \"debug\": []}"

/* promise: base.h "with `sites`, also" */
static void test_json(void **state) {
    fake a, wide = {.stats = largest};
    assert_string_equal(write_in(KOLK_STATS_JSON), "{\"pools\": []}\n");
    add_fake(&a, "a");
    a.stats.waits = 23;
    a.stats.waiting = 26;
    assert_string_equal(write_in(KOLK_STATS_JSON), "{\"pools\": [\n  " JSON_FAKE("a") "\n]}\n");
    wide.stats.debug = KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD;
    kolk_registry_add_(&wide, &wide.mark, &fake_kind, false);
    assert_string_equal(write_in(KOLK_STATS_JSON),
                        "{\"pools\": [\n  " JSON_FAKE(
                            "a") ",\n  "
                                 "{\"name\": \"largest\", \"kind\": \"fake\", \"object_size\": 18446744073709551615, "
                                 "\"stride\": 18446744073709551615, \"count\": 4294967295, \"peak\": 4294967295, "
                                 "\"capacity\": 4294967295, \"max_capacity\": 4294967295, "
                                 "\"unused_bytes\": 18446744073709551615, \"bytes_reserved\": 18446744073709551615, "
                                 "\"bytes_committed\": 18446744073709551615, \"failed\": 18446744073709551615, "
                                 "\"evictions\": 18446744073709551615, \"wrong_pool\": 18446744073709551615, "
                                 "\"waits\": 18446744073709551615, \"worn_out\": 4294967295, \"recycled\": 4294967295, "
                                 "\"waiting\": 4294967295, \"debug\": [\"fill\", \"guard\"]}\n]}\n");
    remove_fake(&wide);
    remove_fake(&a);
}

static void test_words_of_the_debug_mode(void **state) {
    static const struct {
        uint32_t flags;
        const char *words;
    } rows[] = {
        {0, "\"debug\": []}"},
        {KOLK_DEBUG_FILL, "\"debug\": [\"fill\"]}"},
        {KOLK_DEBUG_BYPASS, "\"debug\": [\"bypass\"]}"},
        {UINT32_MAX, "\"debug\": [\"fill\", \"guard\", \"quarantine\", \"sites\", \"trace\", \"bypass\", "
                     "\"move\", \"fail\", \"sample\"]}"},
        {KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_TRACE, "\"debug\": [\"quarantine\", \"trace\"]}"},
        {KOLK_DEBUG_SITES | KOLK_DEBUG_GUARD, "\"debug\": [\"guard\", \"sites\"]}"},
    };
    fake pool;
    add_fake(&pool, "a");
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        pool.stats.debug = rows[i].flags;
        assert_string_equal(strstr(write_in(KOLK_STATS_JSON), "\"debug\"") + strlen(rows[i].words), "\n]}\n");
        assert_non_null(strstr(written.bytes, rows[i].words));
    }
    remove_fake(&pool);
}

#define REPLACED "\xef\xbf\xbd" /* U+FFFD */

/* A name, and its form between quotes; "!" means unchanged. */
static const struct {
    const char *name, *json, *label;
} quoted[] = {
    {"plain", "!", "!"},
    {"two words", "!", "!"},
    {"a\"b", "a\\\"b", "a\\\"b"},
    {"a\\b", "a\\\\b", "a\\\\b"},
    {"a\nb", "a\\nb", "a\\nb"},
    {"\t\r\b\x01\x1f", "\\u0009\\u000d\\u0008\\u0001\\u001f", "!"},
    {"\x7f/", "!", "!"},
    {"{}=,#", "!", "!"},
    /* UTF-8: the first and last of each length */
    {"\xc2\x80\xdf\xbf", "!", "!"},
    {"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", "!", "!"},
    {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "!", "!"},
    /* and invalid bytes, one character each */
    {"\x80\xbf", REPLACED REPLACED, "\\\\x80\\\\xbf"},
    {"\xc0\xaf", REPLACED REPLACED, "\\\\xc0\\\\xaf"},
    {"\xc1\xbf", REPLACED REPLACED, "\\\\xc1\\\\xbf"},
    {"\xe0\x9f\xbf", REPLACED REPLACED REPLACED, "\\\\xe0\\\\x9f\\\\xbf"},
    {"\xed\xa0\x80", REPLACED REPLACED REPLACED, "\\\\xed\\\\xa0\\\\x80"},
    {"\xf0\x8f\xbf\xbf", REPLACED REPLACED REPLACED REPLACED, "\\\\xf0\\\\x8f\\\\xbf\\\\xbf"},
    {"\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED, "\\\\xf4\\\\x90\\\\x80\\\\x80"},
    {"\xf5", REPLACED, "\\\\xf5"},
    {"\xff\xfe", REPLACED REPLACED, "\\\\xff\\\\xfe"},
    /* cut off in the middle, at the end and before another character */
    {"\xc2", REPLACED, "\\\\xc2"},
    {"\xe2\x82", REPLACED REPLACED, "\\\\xe2\\\\x82"},
    {"\xf0\x9f\x98", REPLACED REPLACED REPLACED, "\\\\xf0\\\\x9f\\\\x98"},
    {"\xe2\x82\"", REPLACED REPLACED "\\\"", "\\\\xe2\\\\x82\\\""},
    {"\xc3\xc3\xa9", REPLACED "\xc3\xa9", "\\\\xc3\xc3\xa9"},
};

static void test_any_bytes_in_names(void **state) {
    for (size_t i = 0; i < LENGTH_OF(quoted); i++) {
        fake pool;
        char expected[200];
        add_fake(&pool, quoted[i].name);
        const char *json = strcmp(quoted[i].json, "!") == 0 ? quoted[i].name : quoted[i].json;
        const char *label = strcmp(quoted[i].label, "!") == 0 ? quoted[i].name : quoted[i].label;
        snprintf(expected, sizeof expected, "{\"pools\": [\n  {\"name\": \"%s\", \"kind\": \"fake\", ", json);
        assert_memory_equal(write_in(KOLK_STATS_JSON), expected, strlen(expected));
        snprintf(expected, sizeof expected, "\nkolk_alive{pool=\"%s\",kind=\"fake\"} 13\n", label);
        assert_non_null(strstr(write_in(KOLK_STATS_OPENMETRICS), expected));
        remove_fake(&pool);
    }
}

/* ---- OpenMetrics ------------------------------------------------------------------------------------------------- */

#define METRIC(name, type, unit, help, suffix, number)                                                                 \
    "# TYPE kolk_" name " " type "\n" unit "# HELP kolk_" name " " help "\n"                                           \
    "kolk_" name suffix "{pool=\"a\",kind=\"fake\"} " number "\n"
#define BYTES(name) "# UNIT kolk_" name " bytes\n"

static void test_openmetrics(void **state) {
    fake pool;
    add_fake(&pool, "a");
    pool.stats.waits = 23;
    pool.stats.waiting = 26;
    assert_string_equal(
        write_in(KOLK_STATS_OPENMETRICS),
        METRIC("object_size_bytes", "gauge", BYTES("object_size_bytes"), "Size of an object, as asked for.", "",
               "11") METRIC("stride_bytes", "gauge", BYTES("stride_bytes"), "Bytes from slot to slot.", "",
                            "12") METRIC("alive", "gauge", "", "Objects alive.", "",
                                         "13") METRIC("peak", "gauge", "", "Most slots needed at a time.", "", "14")
            METRIC("capacity", "gauge", "", "Slots that can be used without more memory.", "",
                   "15") METRIC("max_capacity", "gauge", "", "Slots that it may grow to.", "", "16")
                METRIC("unused_bytes", "gauge", BYTES("unused_bytes"), "Bytes of slots that were never needed.", "",
                       "17") METRIC("reserved_bytes", "gauge", BYTES("reserved_bytes"), "Address space.", "", "18")
                    METRIC("committed_bytes", "gauge", BYTES("committed_bytes"), "Bytes that may be touched.", "",
                           "19") METRIC("failed", "counter", "", "Allocations that gave NULL.", "_total", "20")
                        METRIC("evictions", "counter", "", "Objects freed to make room.", "_total", "21") METRIC(
                            "wrong_pool", "counter", "", "Handles of other pools that were looked up.", "_total", "22")
                            METRIC("waits", "counter", "",
                                   "Waits for an object of a shared pool, or at an end of a queue.", "_total",
                                   "23") METRIC("worn_out", "gauge", "", "Free slots whose generations are used up.",
                                                "", "24") METRIC("recycled", "counter", "",
                                                                 "Worn-out slots that were put to use again.", "_total",
                                                                 "25")
                                METRIC("waiting", "gauge", "",
                                       "Threads that wait for an object of a shared pool or at an end of a queue now.",
                                       "", "26") "# EOF\n");
    remove_fake(&pool);
}

/* Prometheus's format has the same samples. The lines before a counter name the samples, and there are no units and no
 * end. promise: base.h "OpenMetrics 1.0 ... called db_client_connections" */
static void test_prometheus(void **state) {
    char open[8000], expected[8000] = "";
    fake pool;
    add_fake(&pool, "a");
    snprintf(open, sizeof open, "%s", write_in(KOLK_STATS_OPENMETRICS));
    for (char *line = strtok(open, "\n"); line; line = strtok(NULL, "\n")) {
        char word[10] = "", name[60] = "";
        int rest = 0;
        if (strncmp(line, "# UNIT ", 7) == 0 || strcmp(line, "# EOF") == 0) continue;
        bool about = sscanf(line, "# %9s %59s%n", word, name, &rest) == 2;
        static const char counters[] = "kolk_failed kolk_evictions kolk_wrong_pool kolk_waits kolk_recycled";
        size_t length = strlen(expected);
        if (about)
            snprintf(expected + length, sizeof expected - length, "# %s %s%s%s\n", word, name,
                     strstr(counters, name) ? "_total" : "", line + rest);
        else
            snprintf(expected + length, sizeof expected - length, "%s\n", line);
    }
    assert_string_equal(write_in(KOLK_STATS_PROMETHEUS), expected);
    assert_non_null(strstr(expected, "# TYPE kolk_failed_total counter\n"));
    remove_fake(&pool);
}

/* Two samples of one metric never have the same labels. */
static void test_pools_of_the_same_name(void **state) {
    fake pools[4];
    for (size_t i = 0; i < LENGTH_OF(pools); i++) {
        add_fake(&pools[i], "twin");
        pools[i].stats.count = (uint32_t)i;
    }
    pools[2].stats.kind = "other";
    assert_non_null(strstr(write_in(KOLK_STATS_OPENMETRICS), "# HELP kolk_alive Objects alive.\n"
                                                             "kolk_alive{pool=\"twin\",kind=\"fake\"} 0\n"
                                                             "kolk_alive{pool=\"twin\",kind=\"fake\",nth=\"2\"} 1\n"
                                                             "kolk_alive{pool=\"twin\",kind=\"other\"} 2\n"
                                                             "kolk_alive{pool=\"twin\",kind=\"fake\",nth=\"3\"} 3\n"
                                                             "# TYPE kolk_peak gauge\n"));
    remove_fakes(pools, LENGTH_OF(pools));
}

/* ---- Other people's parsers -------------------------------------------------------------------------------------- */

/* Runs a Python program, which must exit with 0, with the statistics as its input: in the first interpreter that has
 * the module, which is in this package. */
static void assert_parsed(const char *module, const char *program, const char *package) {
    char command[3000];
    snprintf(command, sizeof command,
             "for python in python3 /usr/bin/python3; do "
             "$python -c 'import %s' 2> /dev/null && exec $python -c '%s'; done; exit 77",
             module, program);
    fflush(NULL);
    signal(SIGPIPE, SIG_IGN); /* from a parser that stops reading */
    FILE *parser = popen(command, "w");
    assert_non_null(parser);
    fwrite(written.bytes, 1, written.length, parser);
    int status = pclose(parser);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("No such parser reads what is written: %s is missing.\n", package);
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Adds pools with all names in `quoted`, with each byte except 0 as a name, with the same name twice, and with the
 * largest numbers. */
static size_t add_odd_pools(fake *pools) {
    static char bytes[256][2];
    size_t n = 0;
    for (size_t i = 0; i < LENGTH_OF(quoted); i++) add_fake(&pools[n++], quoted[i].name);
    for (unsigned byte = 1; byte < 256; byte++) {
        bytes[byte][0] = (char)byte;
        add_fake(&pools[n++], bytes[byte]);
    }
    add_fake(&pools[n++], "twin");
    add_fake(&pools[n++], "twin");
    pools[n].stats = largest;
    kolk_registry_add_(&pools[n], &pools[n].mark, &fake_kind, false);
    return n + 1;
}

static void test_a_json_parser_reads_it(void **state) {
    static fake pools[300];
    size_t n = add_odd_pools(pools);
    write_in(KOLK_STATS_JSON);
    char program[1000];
    snprintf(
        program, sizeof program,
        "import sys, json\n"
        "pools = json.loads(sys.stdin.buffer.read().decode(\"utf-8\", \"strict\"))[\"pools\"]\n"
        "assert len(pools) == %zu, len(pools)\n"
        "assert pools[0][\"name\"] == \"plain\", pools[0]\n"
        "assert pools[2][\"name\"] == chr(97) + chr(34) + chr(98), pools[2]\n"
        "assert [ord(c) for c in pools[5][\"name\"]] == [9, 13, 8, 1, 31], pools[5]\n"
        "assert [pool[\"name\"] for pool in pools[%zu:%zu]] == [chr(c if c < 128 else 65533) for c in range(1, 256)]\n"
        "assert pools[-1][\"failed\"] == 2 ** 64 - 1, pools[-1]\n"
        "assert all(len(pool) == 19 for pool in pools)\n",
        n, LENGTH_OF(quoted), LENGTH_OF(quoted) + 255);
    remove_fakes(pools, n);
    assert_parsed("json", program, "python3");
}

static void test_an_openmetrics_parser_reads_it(void **state) {
    static fake pools[300];
    size_t n = add_odd_pools(pools);
    write_in(KOLK_STATS_OPENMETRICS);
    char program[2000];
    snprintf(program, sizeof program,
             "import sys\n"
             "from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n"
             "families = {f.name: f for f in parse(sys.stdin.buffer.read().decode(\"utf-8\", \"strict\"))}\n"
             "assert len(families) == 16, families.keys()\n"
             "for f in families.values():\n"
             "    assert len(f.samples) == %zu, f\n"
             "    assert f.documentation[-1] == \".\" and f.name.endswith(f.unit), f\n"
             "    labels = [tuple(sorted(s.labels.items())) for s in f.samples]\n"
             "    assert len(set(labels)) == len(labels), f\n"
             "assert families[\"kolk_failed\"].type == \"counter\"\n"
             "assert families[\"kolk_committed_bytes\"].unit == \"bytes\"\n"
             "samples = families[\"kolk_alive\"].samples\n"
             "assert samples[0].labels == {\"pool\": \"plain\", \"kind\": \"fake\"}, samples[0]\n"
             "assert samples[2].labels[\"pool\"] == chr(97) + chr(34) + chr(98), samples[2]\n"
             "assert samples[3].labels[\"pool\"] == chr(97) + chr(92) + chr(98), samples[3]\n"
             "assert samples[4].labels[\"pool\"] == chr(97) + chr(10) + chr(98), samples[4]\n"
             "assert samples[-2].labels[\"nth\"] == \"2\", samples[-2]\n"
             "assert samples[-1].value == 2 ** 32 - 1, samples[-1]\n",
             n);
    remove_fakes(pools, n);
    assert_parsed("prometheus_client.openmetrics.parser", program, "python3-prometheus-client");
}

/* ---- put --------------------------------------------------------------------------------------------------------- */

/* The output comes in few pieces, and is complete however it is split. promise: base.h "none is allocated" */
static void test_pieces(void **state) {
    static fake pools[100];
    static char names[100][3];
    for (size_t i = 0; i < LENGTH_OF(pools); i++) {
        snprintf(names[i], sizeof names[i], "%02u", (unsigned)i % 100);
        add_fake(&pools[i], names[i]);
        pools[i].stats.waits = 23;
        pools[i].stats.waiting = 26;
    }
    write_in(KOLK_STATS_JSON);
    char expected[] = ",\n  " JSON_FAKE("00");
    size_t line = strlen(expected);
    assert_int_equal(written.length, strlen("{\"pools\": [") + 100 * line - 1 + strlen("\n]}\n"));
    for (size_t i = 1; i < 100; i++) {
        memcpy(strstr(expected, "\"name\": \"") + strlen("\"name\": \""), names[i], 2);
        assert_memory_equal(written.bytes + strlen("{\"pools\": [") + i * line - 1, expected, line);
    }
    assert_in_range(written.pieces, written.length / 1024, written.length / 1024 + 1);
    assert_in_range(written.longest, 1, 1024);
    remove_fakes(pools, LENGTH_OF(pools));
}

typedef struct busy_put {
    kolk_pool pools[50];
    size_t made, written_inside;
    fake *victim;
} busy_put;

/* Calls other functions of kolk while it receives the statistics. */
static void put_and_use(const char *piece, size_t length, void *context) {
    busy_put *self = context;
    append(piece, length, &written);
    assert_true(self->made < LENGTH_OF(self->pools));
    make_pool(&self->pools[self->made++], &(kolk_pool_desc){.name = "new", .object_size = 8, .capacity = 1});
    kolk_stats_write(KOLK_STATS_OPENMETRICS, count_bytes, &self->written_inside);
    if (!self->victim) return;
    remove_fake(self->victim);
    memset(self->victim, 0xff, sizeof *self->victim);
    self->victim = NULL;
}

/* Lists the pools that existed when the call began. promise: base.h "Writes the statistics ... empty one" */
static void test_put_may_use_kolk(void **state) {
    static fake pools[20];
    static busy_put self;
    memset(&self, 0, sizeof self);
    static char names[20][2];
    for (size_t i = 0; i < LENGTH_OF(pools); i++) {
        names[i][0] = (char)('a' + i);
        add_fake(&pools[i], names[i]);
    }
    write_in(KOLK_STATS_JSON);
    static text expected;
    expected = written;
    memset(&written, 0, sizeof written);
    self.victim = &pools[19];
    kolk_stats_write(KOLK_STATS_JSON, put_and_use, &self);
    assert_string_equal(written.bytes, expected.bytes);
    assert_true(self.made > 3 && self.written_inside > 1000);
    assert_null(strstr(written.bytes, "new"));
    assert_non_null(strstr(write_in(KOLK_STATS_JSON), "\"new\""));
    for (size_t i = self.made; i-- > 0;) kolk_pool_deinit(&self.pools[i]);
    remove_fakes(pools, 19);
}

/* ---- KOLK_STATS -------------------------------------------------------------------------------------------------- */

/* Real pools: 64 slots of 16 bytes, and 4 + 4 bytes and 1 bit of metadata a slot. */
static void play_pools(const char *argument) {
    static kolk_pool stays, bullets, nameless;
    void *objects[10];
    make_pool(&stays, &(kolk_pool_desc){.name = "voices", .object_size = 16, .capacity = 64});
    make_pool(&nameless, &(kolk_pool_desc){.object_size = 16, .capacity = 64});
    for (uint32_t life = 0; life < 3; life++) {
        char *name = strdup("bullets");
        make_pool(&bullets, &(kolk_pool_desc){.name = name, .object_size = 16, .capacity = life == 1 ? 4 : 64});
        memset(name, 'x', strlen(name));
        free(name);
        for (uint32_t i = 0; i < 7 - life; i++) objects[i] = kolk_pool_alloc(&bullets);
        kolk_pool_free(&bullets, objects[0]);
        if (life == 2) break; /* this one stays */
        kolk_pool_deinit(&bullets);
    }
    assert_non_null(kolk_pool_alloc(&stays));
    fprintf(stderr, "main ends\n");
}

/* Three lives have 6, 3, 4 alive at the end, peaks 7, 4, 5, and 0 + 2 + 0 failed. */
static const char pools_table[] = "name     kind  size  alive  peak  capacity  failed  bytes\n"
                                  "bullets  pool    16      6     7        64       2   1600\n"
                                  "voices   pool    16      1     1        64       0   1600\n";

/* Each format, to stderr and to a file. promise: base.h "at exit, writes statistics ... row with their sums" */
static void test_settings(void **state) {
    char folder[] = "/tmp/kolk-XXXXXX", file[100], setting[200], seen[20000];
    static const char *const silent[] = {NULL, "", "0"};
    static const struct {
        const char *word, *begin, *has, *end;
    } rows[] = {
        {"1", pools_table, "", pools_table},
        {"text", pools_table, "", pools_table},
        {"json", "{\"pools\": [\n  {\"name\": \"bullets\", ", ", \"count\": 6, \"peak\": 7, ", "}\n]}\n"},
        {"openmetrics", "# TYPE kolk_object_size_bytes gauge\n# UNIT",
         "\nkolk_failed_total{pool=\"bullets\",kind=\"pool\"} 2\n", "\n# EOF\n"},
        {"prometheus", "# TYPE kolk_object_size_bytes gauge\n# HELP",
         "\nkolk_failed_total{pool=\"bullets\",kind=\"pool\"} 2\n", "\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(silent); i++)
        assert_ending(run_scenario("pools", silent[i], NULL), 0, "main ends\n");
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/a:b", folder);
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        snprintf(setting, sizeof setting, "%s:%s", rows[i].word, file);
        assert_ending(run_scenario("pools", setting, NULL), 0, "main ends\n");
        FILE *opened = fopen(file, "rb"); /* the previous run's output is gone */
        assert_non_null(opened);
        seen[fread(seen, 1, sizeof seen - 1, opened)] = 0;
        fclose(opened);
        assert_memory_equal(seen, rows[i].begin, strlen(rows[i].begin));
        assert_non_null(strstr(seen, rows[i].has));
        assert_string_equal(seen + strlen(seen) - strlen(rows[i].end), rows[i].end);
        ending printed = run_scenario("pools", rows[i].word, NULL);
        assert_memory_equal(printed.text, "main ends\n", 10);
        assert_memory_equal(printed.text + 10, seen, strlen(seen) < 1000 ? strlen(seen) + 1 : 1000);
    }
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(folder), 0);
}

#define NOT_UNDERSTOOD(setting)                                                                                        \
    "kolk: KOLK_STATS: \"" setting                                                                                     \
    "\" is not understood: 1, text, json, log, openmetrics, prometheus or sizes, each with :FILE behind it if you "    \
    "like\nmain ends\n"

static void test_settings_that_are_not_understood(void **state) {
    static const struct {
        const char *setting, *said;
    } rows[] = {
        {"josn", NOT_UNDERSTOOD("josn")},     {"jso", NOT_UNDERSTOOD("jso")},
        {"jsonl", NOT_UNDERSTOOD("jsonl")},   {"JSON", NOT_UNDERSTOOD("JSON")},
        {"2", NOT_UNDERSTOOD("2")},           {"11", NOT_UNDERSTOOD("11")},
        {"00", NOT_UNDERSTOOD("00")},         {" 1", NOT_UNDERSTOOD(" 1")},
        {":", NOT_UNDERSTOOD(":")},           {":file", NOT_UNDERSTOOD(":file")},
        {"0:file", NOT_UNDERSTOOD("0:file")}, {"1:", NOT_UNDERSTOOD("1:")},
        {"json:", NOT_UNDERSTOOD("json:")},   {"file:json", NOT_UNDERSTOOD("file:json")},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++)
        assert_ending(run_scenario("pools", rows[i].setting, NULL), 0, rows[i].said);
}

static void test_a_file_that_cannot_be_written(void **state) {
    assert_ending(run_scenario("pools", "json:/nowhere/at/all", NULL), 0,
                  "main ends\nkolk: KOLK_STATS: \"/nowhere/at/all\" cannot be written\n");
    assert_ending(run_scenario("pools", "json:/", NULL), 0, "main ends\nkolk: KOLK_STATS: \"/\" cannot be written\n");
    if (access("/dev/full", W_OK) != 0) {
        print_message("A full disk is not tried: there is no /dev/full.\n");
        skip();
    }
    assert_ending(run_scenario("pools", "text:/dev/full", NULL), 0,
                  "main ends\nkolk: KOLK_STATS: \"/dev/full\" cannot be written\n");
    assert_ending(run_scenario("many pools", "json:/dev/full", NULL), 0,
                  "kolk: KOLK_STATS: \"/dev/full\" cannot be written\n");
}

/* More output than the C library's file buffer holds. */
static void play_many_pools(const char *argument) {
    static fake pools[100];
    for (size_t i = 0; i < LENGTH_OF(pools); i++) {
        fill_fake(&pools[i], "many");
        pools[i].stats.object_size = i;
        kolk_registry_add_(&pools[i], &pools[i].mark, &fake_kind, false);
    }
}

static void tell(const kolk_failure *failure, void *context) {
    fprintf(stderr, "rule %d, pool %s, object %d, slot %d: %s\n", failure->rule == KOLK_BAD_SETTING, failure->pool,
            failure->object != NULL, failure->slot == NO_SLOT, failure->sentence);
}

static void play_handler(const char *argument) {
    kolk_set_failure_handler(tell, NULL);
    play_pools(argument);
}

static void test_bad_settings_are_failures(void **state) {
    assert_ending(run_scenario("handler", "no", NULL), 0,
                  "rule 1, pool KOLK_STATS, object 0, slot 1: " NOT_UNDERSTOOD("no"));
    assert_ending(run_scenario("handler", "1:/", NULL), 0,
                  "main ends\nrule 1, pool KOLK_STATS, object 0, slot 1: kolk: KOLK_STATS: \"/\" cannot be written\n");
}

static void play_environment_changes(const char *argument) {
    static kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "first", .object_size = 1, .capacity = 1});
    kolk_pool_deinit(&pool);
    char *was = getenv("KOLK_STATS");
    if (was) memset(was, 'x', strlen(was)); /* as in programs that write their title over it */
    if (argument) setenv("KOLK_STATS", argument, 1);
    make_pool(&pool, &(kolk_pool_desc){.name = "second", .object_size = 1, .capacity = 1});
    kolk_pool_deinit(&pool);
}

/* The environment is read when the first pool is initialised, and never again. */
static void test_the_environment_is_read_once(void **state) {
    assert_ending(run_scenario("environment changes", NULL, "1"), 0, "");
    assert_ending(run_scenario("environment changes", "text:/dev/stderr", "0"), 0,
                  "name    kind  size  alive  peak  capacity  failed  bytes\n"
                  "first   pool     1      0     0         1       0     88\n"
                  "second  pool     1      0     0         1       0     88\n");
}

static void play_no_name(const char *argument) {
    static kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.object_size = 1, .capacity = 1});
    if (argument) kolk_pool_deinit(&pool);
}

static void play_nothing(const char *argument) {}

static void test_nothing_to_say(void **state) {
    assert_ending(run_scenario("no name", "1", NULL), 0, "kolk: no pool has a name\n");
    assert_ending(run_scenario("no name", "1", "and deinit"), 0, "kolk: no pool has a name\n");
    assert_ending(run_scenario("nothing", "1", NULL), 0, ""); /* kolk was not used */
}

static void play_setting(const char *setting) {
    assert_int_equal(putenv(strdup(setting)), 0);
    if (strchr(setting, '!'))
        play_no_name(NULL);
    else
        play_pools(NULL);
}

/* Settings in KOLK_DEBUG or KOLK_FAIL for unknown names are reported at exit, because they may be mistyped. The name of
 * an unused class of a heap is not reported. promise: heap.h "KOLK_DEBUG may name a class" */
static void test_names_that_no_pool_has(void **state) {
    static const char *const rows[][2] = {
        {"KOLK_DEBUG=fill:bullets", "main ends\n"},
        {"KOLK_DEBUG=fill:*llet?;fill:v*", "main ends\n"},
        {"KOLK_DEBUG=fill:level/64", "main ends\n"},
        {"KOLK_DEBUG=fill:Bullets",
         "main ends\nkolk: KOLK_DEBUG: no pool is named Bullets; there are: voices, bullets\n"},
        {"KOLK_DEBUG=fill:voices; fill : b*s ;fill: bullet",
         "main ends\nkolk: KOLK_DEBUG: no pool is named bullet; there are: voices, bullets\n"},
        {"KOLK_FAIL=Voices:every=10",
         "main ends\nkolk: KOLK_FAIL: no pool is named Voices; there are: voices, bullets\n"},
        {"KOLK_DEBUG=fill:bullets!", "kolk: KOLK_DEBUG: no pool is named bullets!; none has a name\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++)
        assert_ending(run_scenario("setting", NULL, rows[i][0]), 0, rows[i][1]);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(int argc, char **argv) {
    static const scenario scenarios[] = {
        {"pools", play_pools},     {"many pools", play_many_pools},
        {"handler", play_handler}, {"environment changes", play_environment_changes},
        {"no name", play_no_name}, {"setting", play_setting},
        {"nothing", play_nothing},
    };
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        TEST(test_a_table),
        TEST(test_a_wide_table),
        TEST(test_names_in_a_table),
        TEST(test_json),
        TEST(test_words_of_the_debug_mode),
        TEST(test_any_bytes_in_names),
        TEST(test_openmetrics),
        TEST(test_prometheus),
        TEST(test_pools_of_the_same_name),
        TEST(test_a_json_parser_reads_it),
        TEST(test_an_openmetrics_parser_reads_it),
        TEST(test_pieces),
        TEST(test_put_may_use_kolk),
        TEST(test_settings),
        TEST(test_settings_that_are_not_understood),
        TEST(test_a_file_that_cannot_be_written),
        TEST(test_bad_settings_are_failures),
        TEST(test_the_environment_is_read_once),
        TEST(test_nothing_to_say),
        TEST(test_names_that_no_pool_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
