/* cli/replay/input.h: the lines of a file that is plain text or compressed by zstd; which of them is seen from its
 * first bytes. */
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

/* The next line without its newline, and how long it is (it may hold any bytes); NULL at the end, and where the file
 * cannot be read on. A last line without newline counts as cut off. */
const char *input_line(struct input *input, size_t *length);

/* Number of the line that was given last or could not be given, from 1; 0: the file cannot be read at all. */
uint64_t input_line_number(const struct input *input);

/* Why input_line gave NULL: a sentence without a full stop, or NULL at the end of the file. */
const char *input_problem(const struct input *input);

#endif
