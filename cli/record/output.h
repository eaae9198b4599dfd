/* cli/record/output.h: writes text into a file, compressed by zstd. Text that cannot be written is dropped and reported
 * at the end, so the caller need not stop. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

enum { OUTPUT_ROOM = 1 << 18, OUTPUT_LEVEL = 1 };

struct output {
    const char *path;
    int descriptor;
    bool is_new; /* output_open created the file */
    int error;   /* the errno value of the first failure, or 0 */
    uint64_t bytes;
    ZSTD_CCtx *zstd;
    size_t used; /* bytes of `text` */
    char text[OUTPUT_ROOM];
    char packed[OUTPUT_ROOM];
};

/* Opens the file without changing its contents. On failure returns false and sets `error`. */
bool output_open(struct output *output, const char *path);

/* Empties the file before the first write. */
void output_begin(struct output *output);

/* Discards all output and starts again. Fails if output has already been written to something other than a regular
 * file. */
void output_restart(struct output *output);

/* Returns space for `size` bytes of text, at most a quarter of OUTPUT_ROOM. The caller writes there, and adds the
 * number of bytes written to output->used. */
char *output_room(struct output *output, size_t size);

void output_text(struct output *output, const char *text, size_t length);

/* Writes the rest and closes the file. Returns false if some text could not be written, and sets `error`. */
bool output_close(struct output *output);

/* Closes the file, and removes it if it is new. */
void output_drop(struct output *output);

#endif
