/* cli/json.h: writes JSON, one call per value. The key is NULL inside an array, and for the outermost object. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
    FILE *out;
    int depth;
    bool follows; /* a value has already been written at this depth */
} cli_json;       /* begin with {.out = cli->out} */

void cli_json_open(cli_json *json, const char *key, char bracket); /* '{' or '[' */
void cli_json_close(cli_json *json, char bracket);                 /* '}' or ']'; closing the outermost ends the line */
void cli_json_text(cli_json *json, const char *key, const char *value);
void cli_json_count(cli_json *json, const char *key, uint64_t value);
void cli_json_number(cli_json *json, const char *key, double value); /* writes null if not finite */
void cli_json_flag(cli_json *json, const char *key, bool value);

#endif
