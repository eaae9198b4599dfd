/* The frame of the kolk command: its parser and help, tables, JSON, numbers for people, work in another process. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "json.h"
#include "measure.h"
#include "print.h"

/* ---- A command with one verb ------------------------------------------------------------------------------------- */

static bool want_slow;
static const char *want_name;
static uint64_t want_count;

static const cli_option options[] = {
    {.name = "slow", .letter = 's', .kind = CLI_FLAG, .value = &want_slow, .help = "take time"},
    {.name = "name", .letter = 'n', .kind = CLI_TEXT, .argument = "NAME", .value = &want_name, .help = "give a name"},
    {.name = "count",
     .kind = CLI_COUNT,
     .argument = "N",
     .value = &want_count,
     .least = 2,
     .most = 50000,
     .fallback = 1234,
     .help = "how many"},
    {0},
};

static int echo(cli_context *cli, int count, char **arguments) {
    fprintf(cli->out, "%d %s %llu json=%d seed=%llu", want_slow, want_name ? want_name : "-",
            (unsigned long long)want_count, cli->json, (unsigned long long)cli->seed);
    for (int i = 0; i < count; i++) fprintf(cli->out, " [%s]", arguments[i]);
    fprintf(cli->out, "\n");
    return count > 0 && !strcmp(arguments[0], "fail") ? cli_fail(CLI_UNREADABLE, "it %s", "failed") : CLI_OK;
}

static const cli_verb cli_echo = {
    .name = "echo",
    .arguments = "[WORD] [WORD]",
    .most_arguments = 2,
    .summary = "says what it was told",
    .details = "More about it.\n",
    .options = options,
    .run = echo,
};

/* The text that the command wrote to stdout or stderr while it ran. */
static char out_text[8192], err_text[1024];

static int divert(FILE *stream, FILE *file) {
    fflush(stream);
    int kept = dup(fileno(stream));
    dup2(fileno(file), fileno(stream));
    return kept;
}

static void restore(FILE *stream, int kept, FILE *file, char *text, size_t size) {
    fflush(stream);
    dup2(kept, fileno(stream));
    close(kept);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* Runs a line of words separated by spaces. */
static int run(const char *line) {
    static const cli_verb *const verbs[] = {&cli_echo, NULL};
    char words[256], *argv[16];
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    argv[argc] = NULL;
    FILE *out = tmpfile(), *err = tmpfile();
    int kept_out = divert(stdout, out), kept_err = divert(stderr, err);
    int code = cli_run(verbs, argc, argv);
    restore(stdout, kept_out, out, out_text, sizeof out_text);
    restore(stderr, kept_err, err, err_text, sizeof err_text);
    return code;
}

static void options_go_where_the_table_says(void **state) {
    (void)state;
    static const struct {
        const char *line, *out;
    } rows[] = {
        {"kolk echo", "0 - 1234 json=0 seed=1\n"},
        {"kolk echo a b", "0 - 1234 json=0 seed=1 [a] [b]\n"},
        {"kolk echo a --slow b --name x", "1 x 1234 json=0 seed=1 [a] [b]\n"},
        {"kolk echo -s -n x --count 2", "1 x 2 json=0 seed=1\n"},
        {"kolk echo -nx --count=50000 --json --seed=18446744073709551615",
         "0 x 50000 json=1 seed=18446744073709551615\n"},
        {"kolk echo --name=", "0  1234 json=0 seed=1\n"},
        {"kolk echo --name --slow -", "0 --slow 1234 json=0 seed=1 [-]\n"},
        {"kolk echo -- --slow", "0 - 1234 json=0 seed=1 [--slow]\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(run(rows[i].line), CLI_OK);
        assert_string_equal(out_text, rows[i].out);
        assert_string_equal(err_text, "");
    }
}

static void what_is_not_understood_is_said(void **state) {
    (void)state;
    static const struct {
        const char *line, *sentence;
    } rows[] = {
        {"kolk --slow echo", "kolk: expected a verb before --slow; 'kolk help' lists them\n"},
        {"kolk ech", "kolk: there is no verb 'ech'; 'kolk help' lists them\n"},
        {"kolk help ech", "kolk: there is no verb 'ech'; 'kolk help' lists them\n"},
        {"kolk help echo x", "kolk: help takes one verb, and there is one more: 'x'\n"},
        {"kolk echo a b c", "kolk: echo takes [WORD] [WORD], and there is one more: 'c'\n"},
        {"kolk echo --slo", "kolk: echo has no option --slo; 'kolk help echo' lists what it has\n"},
        {"kolk echo --slow2=3", "kolk: echo has no option --slow2; 'kolk help echo' lists what it has\n"},
        {"kolk echo -xy", "kolk: echo has no option -x; 'kolk help echo' lists what it has\n"},
        {"kolk echo --slow=1", "kolk: --slow takes no value: '--slow=1'\n"},
        {"kolk echo -sn", "kolk: --slow takes no value: '-sn'\n"},
        {"kolk echo --name", "kolk: --name expects a value: NAME\n"},
        {"kolk echo --count 1", "kolk: --count expects a whole number from 2 to 50,000, not '1'\n"},
        {"kolk echo --count 50001", "kolk: --count expects a whole number from 2 to 50,000, not '50001'\n"},
        {"kolk echo --count=", "kolk: --count expects a whole number from 2 to 50,000, not ''\n"},
        {"kolk echo --seed -1", "kolk: --seed expects a whole number from 0, not '-1'\n"},
        {"kolk echo --seed 0x1", "kolk: --seed expects a whole number from 0, not '0x1'\n"},
        {"kolk echo --seed 18446744073709551616",
         "kolk: --seed expects a whole number from 0, not '18446744073709551616'\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(run(rows[i].line), CLI_USAGE);
        assert_string_equal(err_text, rows[i].sentence);
        assert_string_equal(out_text, "");
    }
}

static void help_is_made_from_the_table(void **state) {
    (void)state;
    static const char begins[] = "kolk echo: says what it was told\n"
                                 "\n"
                                 "  kolk echo [OPTION...] [WORD] [WORD]\n"
                                 "\n"
                                 "Options\n"
                                 "  -s, --slow         take time\n"
                                 "  -n, --name NAME    give a name\n"
                                 "      --count N      how many (1,234)\n"
                                 "\n"
                                 "Options of every verb\n"
                                 "      --json         print the result as JSON\n"
                                 "  -o, --output FILE  write the result to FILE, or with - to stdout\n";
    static const char *const lines[] = {"kolk help echo", "kolk echo --help", "kolk echo -h a b c d",
                                        "kolk --help echo"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(run(lines[i]), CLI_OK);
        assert_memory_equal(out_text, begins, strlen(begins));
        assert_non_null(strstr(out_text, "\n\nMore about it.\n"));
    }
    assert_int_equal(run("kolk help"), CLI_OK);
    assert_non_null(strstr(out_text, "\n  echo               says what it was told\n"));
    assert_int_equal(run("kolk"), CLI_USAGE);
    assert_non_null(strstr(out_text, "\n  echo               says what it was told\n"));
    assert_int_equal(run("kolk echo --version"), CLI_OK);
    assert_memory_equal(out_text, "kolk ", 5);
}

static void a_failed_verb_leaves_no_output(void **state) {
    (void)state;
    assert_int_equal(run("kolk echo fail"), CLI_UNREADABLE);
    assert_string_equal(out_text, "");
    assert_string_equal(err_text, "kolk: it failed\n");
    assert_int_equal(run("kolk echo -o /dev/full"), CLI_FAILED);
    assert_string_equal(err_text, "kolk: /dev/full: cannot be written: No space left on device\n");
    assert_int_equal(run("kolk echo -o /none/such"), CLI_FAILED);
    assert_string_equal(err_text, "kolk: /none/such: cannot be written: No such file or directory\n");
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static void numbers_are_for_people(void **state) {
    (void)state;
    assert_string_equal(cli_count(0).text, "0");
    assert_string_equal(cli_count(999).text, "999");
    assert_string_equal(cli_count(1000).text, "1,000");
    assert_string_equal(cli_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(cli_bytes(0).text, "0 B");
    assert_string_equal(cli_bytes(1023).text, "1023 B");
    assert_string_equal(cli_bytes(1024).text, "1.0 KiB");
    assert_string_equal(cli_bytes(1024 * 1024 - 1).text, "1.0 MiB");
    assert_string_equal(cli_bytes(UINT64_MAX).text, "16.0 EiB");
    assert_string_equal(cli_share(3, 8).text, "37.5 %");
    double values[] = {5, 1, 4, 2};
    assert_true(fabs(cli_quantile(values, 4, 0.5) - 3) < 1e-9);
    assert_true(fabs(cli_quantile(values, 4, 1) - 5) < 1e-9);
    assert_true(fabs(cli_quantile(values, 1, 0.5) - 1) < 1e-9);
    assert_true(fabs(cli_quantile(values, 0, 0.5)) < 1e-9);
}

/* Measurements and files may say what is impossible: then there is no number. */
static void impossible_numbers_are_not_printed(void **state) {
    (void)state;
    static const double numbers[] = {-INFINITY, -1e300, -1, -1e-9, 0, 1e-9, 1, 1e300, INFINITY, NAN};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    for (int i = 0; i < NUMBERS; i++) {
        double number = numbers[i];
        bool is_time = number >= 0 && number <= 1;
        assert_true(is_time == (strcmp(cli_time(number, 1, " ms").text, "not known") != 0));
        for (int j = 0; j < NUMBERS; j++) {
            double whole = numbers[j], percent = strtod(cli_share(number, whole).text, NULL);
            if (strcmp(cli_share(number, whole).text, "not known") != 0)
                assert_true(whole > 0 && number >= 0 && number <= whole && percent >= 0 && percent <= 100);
            if (strcmp(cli_times(number, whole).text, "not known") != 0) assert_true(whole > 0 && number >= 0);
        }
    }
    assert_string_equal(cli_share(0, 0).text, "not known");
    assert_string_equal(cli_share(8, 8).text, "100.0 %");
    assert_string_equal(cli_share(9, 8).text, "not known");
    assert_string_equal(cli_times(3, 2).text, "1.50");
    assert_string_equal(cli_time(1e15, 3, " ns").text, "1000000000000000.000 ns");
    assert_string_equal(cli_time(12.34, 1, " ms").text, "12.3 ms");
}

static void tables_are_aligned(void **state) {
    (void)state;
    char *text = NULL;
    size_t length = 0;
    cli_context cli = {.out = open_memstream(&text, &length)};
    cli_table table;
    cli_table_begin(&table, "lrl");
    fprintf(table.rows, "name\tcount\tnote\n\xc3\xa4\t1\t\nlonger\t22\tx\na line that is longer than all of them\n");
    cli_table_end(&table, &cli);
    cli.color = true;
    cli_table_begin(&table, "r");
    fprintf(table.rows, "bold\nplain\n");
    cli_table_end(&table, &cli);
    fclose(cli.out);
    assert_string_equal(text, "name    count  note\n"
                              "\xc3\xa4           1  \n"
                              "longer     22  x\n"
                              "a line that is longer than all of them\n"
                              "\033[1mbold\033[0m\n"
                              "plain\n");
    free(text);
}

static void json_is_json(void **state) {
    (void)state;
    char *text = NULL;
    size_t length = 0;
    cli_json json = {.out = open_memstream(&text, &length)};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "te\"xt", "a\\b\n\x01 \xc3\xa4 \xff\xe2\x82");
    cli_json_count(&json, "count", UINT64_MAX);
    cli_json_open(&json, "list", '[');
    cli_json_number(&json, NULL, 0.25);
    cli_json_number(&json, NULL, INFINITY);
    cli_json_open(&json, NULL, '{');
    cli_json_close(&json, '}');
    cli_json_close(&json, ']');
    cli_json_flag(&json, "flag", true);
    cli_json_close(&json, '}');
    fclose(json.out);
    assert_string_equal(text, "{\n"
                              "  \"te\\\"xt\": \"a\\\\b\\u000a\\u0001 \xc3\xa4 \\ufffd\\ufffd\\ufffd\",\n"
                              "  \"count\": 18446744073709551615,\n"
                              "  \"list\": [\n"
                              "    0.25,\n"
                              "    null,\n"
                              "    {}\n"
                              "  ],\n"
                              "  \"flag\": true\n"
                              "}\n");
    free(text);
}

/* ---- Another process --------------------------------------------------------------------------------------------- */

static int here;

static void add(const void *input, void *result) {
    here = 1;
    *(uint64_t *)result += *(const uint64_t *)input;
}

static void die(const void *input, void *result) {
    (void)result;
    raise(*(const int *)input);
}

static void leave(const void *input, void *result) {
    (void)result;
    _exit(*(const int *)input);
}

static void touch_megabyte(const void *input, void *result) {
    (void)input;
    uint64_t before = cli_resident();
    static volatile char bytes[1 << 20];
    for (size_t i = 0; i < sizeof bytes; i += 1024) bytes[i] = 1;
    *(uint64_t *)result = cli_resident() - before;
}

static void work_can_be_done_elsewhere(void **state) {
    (void)state;
    uint64_t result = 40, two = 2;
    assert_true(cli_isolated(add, &two, &result, sizeof result));
    assert_int_equal(result, 42);
    assert_int_equal(here, 0);
    FILE *err = tmpfile();
    int signal = SIGKILL, code = 0, kept = divert(stderr, err);
    bool killed = cli_isolated(die, &signal, &result, sizeof result);
    bool left = cli_isolated(leave, &code, &result, sizeof result);
    restore(stderr, kept, err, err_text, sizeof err_text);
    assert_false(killed);
    assert_false(left);
    assert_string_equal(err_text, "kolk: a child process was ended: Killed\nkolk: a child process ended too early\n");
    assert_int_equal(result, 42);
}

static void resident_memory_is_seen(void **state) {
    (void)state;
    if (cli_resident() == 0) skip(); /* no /proc/self/smaps_rollup */
    uint64_t grown = 0;
    assert_true(cli_isolated(touch_megabyte, NULL, &grown, sizeof grown));
    assert_in_range(grown, (1 << 20) - 65536, 3 << 20); /* half-used pages from before; sanitizers' shadow memory */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_go_where_the_table_says),
        cmocka_unit_test(what_is_not_understood_is_said),
        cmocka_unit_test(help_is_made_from_the_table),
        cmocka_unit_test(a_failed_verb_leaves_no_output),
        cmocka_unit_test(numbers_are_for_people),
        cmocka_unit_test(impossible_numbers_are_not_printed),
        cmocka_unit_test(tables_are_aligned),
        cmocka_unit_test(json_is_json),
        cmocka_unit_test(work_can_be_done_elsewhere),
        cmocka_unit_test(resident_memory_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
