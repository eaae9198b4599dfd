/* cli/record/output.h: text into a file, compressed by zstd on its way. What cannot be written is dropped, and told at
 * the end: who fills it need not stop. */
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
    bool is_new; /* no such file was there */
    int error;   /* errno's value of what failed first, or 0 */
    uint64_t bytes;
    ZSTD_CCtx *zstd;
    size_t used; /* of text */
    char text[OUTPUT_ROOM];
    char packed[OUTPUT_ROOM];
};

/* Opens the file, and leaves what is in it. False: see error. */
bool output_open(struct output *output, const char *path);

/* The file is to be written: empties it. */
void output_begin(struct output *output);

/* Begins once more. What has been written must be a file for that, or it fails. */
void output_restart(struct output *output);

/* A place for `size` bytes of text, at most a quarter of OUTPUT_ROOM; output->used grows by what the caller has written
 * there. */
char *output_room(struct output *output, size_t size);

void output_text(struct output *output, const char *text, size_t length);

/* Writes what is left and closes the file. False: something could not be written, see error. */
bool output_close(struct output *output);

/* Closes the file, and removes it if it is new. */
void output_drop(struct output *output);

#endif
