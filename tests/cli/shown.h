/* shown.h: captures the output of a stop of the demo's tour. Include it first. */
#ifndef TESTS_SHOWN_H
#define TESTS_SHOWN_H

#include "../help/test.h"

#include "demo/stops.h"

/* The text that a stop of the tour prints, or its JSON; to be freed. */
static inline char *shown(int (*stop)(cli_context *, const struct demo *, cli_json *), bool as_json) {
    struct demo demo = {.directory = "."};
    char *text = NULL;
    size_t length = 0;
    cli_context cli = {.out = open_memstream(&text, &length), .seed = 1};
    cli_json json = {.out = cli.out};
    if (as_json) cli_json_open(&json, NULL, '{');
    assert_int_equal(stop(&cli, &demo, as_json ? &json : NULL), CLI_OK);
    if (as_json) cli_json_close(&json, '}');
    fclose(cli.out);
    return text;
}

static inline void assert_has(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%s", part, text);
}

/* A line of more than 80 columns would be broken by most terminals. */
static inline void assert_fits(const char *text) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        assert_in_range(length, 0, 80);
        text += length + (text[length] == '\n');
    }
}

#endif
