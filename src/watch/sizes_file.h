/* sizes_file.h: reads the lines of a file of sizes (sizes.h), and updates them. Not in freestanding builds. */
#ifndef KOLK_SRC_SIZES_FILE_H
#define KOLK_SRC_SIZES_FILE_H

#include "../os/files.h"
#include "records.h"
#include "words.h"

typedef enum kolk_line_kind_ {
    LINE_OTHER,   /* a comment, or blank */
    LINE_SIZE,    /* POOL = SLOTS */
    LINE_SECTION, /* [SCENE] */
    /* the kinds from here on are invalid lines */
    LINE_NOT_UNDERSTOOD,
    LINE_NO_NUMBER,
    LINE_TWICE
} kolk_line_kind_;

typedef struct kolk_line_ {
    word text;          /* the whole line without its line feed */
    word name, section; /* in an invalid line, the name is the invalid part */
    word digits;        /* the number in the text */
    uint32_t capacity;  /* for LINE_TWICE, the number of the first such line */
    uint32_t number;    /* from 1 */
    kolk_line_kind_ is;
    bool used; /* a pool or scene of this name has existed */
    bool told; /* it was reported */
} kolk_line_;

/* A zero-initialised struct is the empty file. */
typedef struct kolk_sizes_file_ {
    kolk_text_ text;
    word body; /* the text without its UTF-8 byte order mark */
    kolk_line_ *lines;
    size_t count, lines_size;
    bool wrong; /* one of the lines is invalid */
} kolk_sizes_file_;

/* *file must be all zero, and stays so if the file is not found. */
kolk_found_ kolk_sizes_file_read_(kolk_sizes_file_ *file, const char *name);

void kolk_sizes_file_release_(kolk_sizes_file_ *file);

static inline bool kolk_line_is_wrong_(const kolk_line_ *line) {
    return line->is >= LINE_NOT_UNDERSTOOD;
}

/* Reports the mistake in a line or, if it has none, that no pool or scene has used it. */
void kolk_line_report_(const kolk_line_ *line, const char *setting, const char *file);

/* Rewrites a file that has no invalid lines, with the measured needs. The `kind` of a need is its scene; "" means all
 * scenes. */
void kolk_sizes_file_write_(FILE *to, const kolk_sizes_file_ *file, const kolk_records_ *needs,
                            const kolk_records_ *scenes);

#endif
