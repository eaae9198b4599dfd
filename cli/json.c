/* json.c: see json.h. */
#include "json.h"

#include <math.h>

/* Returns the length of the UTF-8 character at `text`, or 0 if it is invalid. Accepts overlong forms and surrogates,
 * which readers of JSON reject. */
static size_t utf8_length(const unsigned char *text) {
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return length;
}

static void print_string(FILE *out, const char *value) {
    fputc('"', out);
    for (const unsigned char *text = (const unsigned char *)value; *text;) {
        size_t length = utf8_length(text);
        if (length == 0)
            fputs("\\ufffd", out); /* file names may contain any bytes */
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if (*text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fwrite(text, 1, length, out);
        text += length > 0 ? length : 1;
    }
    fputc('"', out);
}

static void begin_line(cli_json *json) {
    fputc('\n', json->out);
    fprintf(json->out, "%*s", 2 * json->depth, "");
}

static void begin_value(cli_json *json, const char *key) {
    if (json->follows) fputc(',', json->out);
    if (json->depth > 0) begin_line(json);
    json->follows = true;
    if (!key) return;
    print_string(json->out, key);
    fputs(": ", json->out);
}

void cli_json_open(cli_json *json, const char *key, char bracket) {
    begin_value(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->follows = false;
}

void cli_json_close(cli_json *json, char bracket) {
    json->depth--;
    if (json->follows) begin_line(json);
    fputc(bracket, json->out);
    json->follows = true;
    if (json->depth == 0) fputc('\n', json->out);
}

void cli_json_text(cli_json *json, const char *key, const char *value) {
    begin_value(json, key);
    print_string(json->out, value);
}

void cli_json_count(cli_json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    fprintf(json->out, "%llu", (unsigned long long)value);
}

void cli_json_number(cli_json *json, const char *key, double value) {
    begin_value(json, key);
    if (isfinite(value))
        fprintf(json->out, "%.6g", value);
    else
        fputs("null", json->out);
}

void cli_json_flag(cli_json *json, const char *key, bool value) {
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}
