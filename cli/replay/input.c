/* input.c: see input.h. */
#define _POSIX_C_SOURCE 200809L
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct input {
    FILE *file;
    ZSTD_DCtx *zstd; /* NULL if the file is plain text */
    bool in_frame;   /* zstd has not reached the end of the current frame */
    bool has_problem;
    const char *cut; /* see input_cut */
    uint64_t line;
    ZSTD_inBuffer raw; /* input from the file; src is `bytes` */
    size_t begin, end; /* text that has not been returned yet */
    char problem[128];
    unsigned char bytes[65536];
    char text[INPUT_LINE_MOST + 1];
};

static size_t fail(struct input *input, const char *what, const char *why) {
    snprintf(input->problem, sizeof input->problem, "%s%s", what, why);
    input->has_problem = true;
    return 0;
}

/* Reads from the file if no bytes are left. Returns false at the end of the file. */
static bool have_bytes(struct input *input) {
    if (input->raw.pos < input->raw.size) return true;
    input->raw = (ZSTD_inBuffer){.src = input->bytes};
    input->raw.size = fread(input->bytes, 1, sizeof input->bytes, input->file);
    if (ferror(input->file)) return fail(input, "it cannot be read: ", strerror(errno)); /* such as a folder */
    return input->raw.size > 0;
}

struct input *input_open(FILE *file) {
    struct input *input = malloc(sizeof *input);
    if (!input) return NULL;
    input->file = file;
    input->zstd = NULL;
    input->in_frame = input->has_problem = false;
    input->cut = NULL;
    input->line = 0;
    input->begin = input->end = 0;
    input->raw = (ZSTD_inBuffer){.src = input->bytes};
    if (!have_bytes(input)) return input;
    if (input->raw.size < 4 || memcmp(input->bytes, "\x28\xb5\x2f\xfd", 4) != 0) return input;
    input->zstd = ZSTD_createDCtx();
    if (input->zstd) return input;
    free(input);
    return NULL;
}

void input_close(struct input *input) {
    ZSTD_freeDCtx(input->zstd);
    free(input);
}

static size_t read_plain(struct input *input, void *text, size_t size) {
    if (!have_bytes(input)) return 0;
    size_t length = input->raw.size - input->raw.pos;
    if (length > size) length = size;
    memcpy(text, input->bytes + input->raw.pos, length);
    input->raw.pos += length;
    return length;
}

static size_t read_zstd(struct input *input, void *text, size_t size) {
    ZSTD_outBuffer out = {.dst = text, .size = size};
    for (;;) {
        /* Within a frame, zstd may still hold text for which there was no space. So it is called before the file is
         * read. */
        if (input->in_frame || input->raw.pos < input->raw.size) {
            size_t rest = ZSTD_decompressStream(input->zstd, &out, &input->raw);
            if (ZSTD_isError(rest)) return fail(input, "its zstd data are damaged: ", ZSTD_getErrorName(rest));
            input->in_frame = rest > 0;
            if (out.pos > 0) return out.pos;
        }
        if (!have_bytes(input)) {
            if (input->in_frame && !input->has_problem) input->cut = "its zstd data end too early";
            return 0;
        }
    }
}

const char *input_line(struct input *input, size_t *length) {
    if (input->has_problem) return NULL;
    input->line++;
    size_t looked_at = 0;
    for (;;) {
        char *line = input->text + input->begin;
        size_t rest = input->end - input->begin;
        char *newline = rest > looked_at ? memchr(line + looked_at, '\n', rest - looked_at) : NULL;
        if (newline) {
            *length = (size_t)(newline - line);
            input->begin += *length + 1;
            return line;
        }
        memmove(input->text, line, rest);
        input->begin = 0;
        input->end = looked_at = rest;
        if (rest == sizeof input->text) {
            fail(input, "the line is too long", "");
            return NULL;
        }
        size_t more = (input->zstd ? read_zstd : read_plain)(input, input->text + rest, sizeof input->text - rest);
        if (more == 0) {
            if (rest == 0 || input->has_problem) return NULL;
            if (!input->cut) input->cut = "the file ends within the line: it is cut off";
            input->end = 0;
            *length = rest;
            return input->text;
        }
        input->end += more;
    }
}

uint64_t input_line_number(const struct input *input) {
    return input->line;
}

const char *input_cut(const struct input *input) {
    return input->cut;
}

const char *input_problem(const struct input *input) {
    return input->has_problem ? input->problem : NULL;
}
