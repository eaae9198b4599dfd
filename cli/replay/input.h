/* cli/replay/input.h: the lines of a file, plain text or compressed by zstd, which the first bytes show. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { INPUT_LINE_MOST = 65536 }; /* bytes; names of C++ functions are long */

struct input;

/* NULL if there is no memory. The file stays the caller's. */
struct input *input_open(FILE *file);
void input_close(struct input *input);

/* Returns the next line without its newline, and its length, since it may hold any bytes. Returns NULL at the end, or
 * if reading fails. A last line without a newline counts as cut off. */
const char *input_line(struct input *input, size_t *length);

/* The number, from 1, of the line that was returned last or that failed; 0: nothing could be read. */
uint64_t input_line_number(const struct input *input);

/* Why input_line returned NULL: a sentence without a full stop, or NULL at the end of the file. */
const char *input_problem(const struct input *input);

#endif
