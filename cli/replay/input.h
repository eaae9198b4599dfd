/* cli/replay/input.h: reads the lines of a file, which is plain text or compressed by zstd, as its first bytes show. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { INPUT_LINE_MOST = 1 << 20 }; /* bytes; names of C++ functions are long, and so are lines with a thousand pools */

struct input;

/* Returns NULL if memory runs out. The file remains the caller's. */
struct input *input_open(FILE *file);
void input_close(struct input *input);

/* Returns the next line without its newline, and its length, because a line may contain any bytes. Returns NULL at the
 * end, or if reading fails. */
const char *input_line(struct input *input, size_t *length);

/* Returns why the last line may not be whole, in a sentence without a full stop, once that line or NULL was returned:
 * it has no newline, or the file's compressed data end too early. Returns NULL if the file seems to be whole. */
const char *input_cut(const struct input *input);

/* Returns the number, from 1, of the last line returned or of the line that failed; 0 if nothing could be read. */
uint64_t input_line_number(const struct input *input);

/* Returns why input_line returned NULL, in a sentence without a full stop, or NULL at the end of the file. */
const char *input_problem(const struct input *input);

#endif
