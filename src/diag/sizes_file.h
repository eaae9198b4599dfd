/* sizes_file.h: the text of a file of sizes (sizes.h), line by line: read, and written into. Not in freestanding
 * builds. */
#ifndef KOLK_SRC_SIZES_FILE_H
#define KOLK_SRC_SIZES_FILE_H

#include "../os/files.h"
#include "records.h"
#include "words.h"

/* Remarks of kolk's own: # NAME was never needed, and the one behind a size that was not enough. */
#define COMMENT    "# "
#define NEEDLESS   " was never needed"
#define ALL_IN_USE "# all in use, and more were asked for"

typedef enum kolk_line_kind {
    LINE_SIZE,     /* POOL = SLOTS */
    LINE_NEEDLESS, /* the remark of kolk's own that a pool was never needed */
    LINE_SECTION,  /* [SCENE] */
    /* wrong, from here on */
    LINE_NOT_UNDERSTOOD,
    LINE_NO_NUMBER,
    LINE_TWICE
} kolk_line_kind;

/* A line that says something. Comments and blank lines are left out. */
typedef struct kolk_line {
    word text;          /* all of it, but the line feed */
    word name, section; /* of a line that is wrong, the name is what is wrong */
    word digits;        /* where the number stands */
    uint32_t capacity;  /* of a line that is there TWICE, the number of the first */
    uint32_t number;    /* from 1 */
    kolk_line_kind is;
    bool used; /* its pool or scene was there; a sentence about it was said */
    bool told;
} kolk_line;

/* All zero is the empty file. */
typedef struct kolk_sizes_file {
    kolk_text text;
    word body; /* the text, without the mark that some editors put before UTF-8 */
    kolk_line *lines;
    size_t count, lines_size;
    bool wrong; /* one of the lines */
} kolk_sizes_file;

/* *file, all zero before, stays so if it is not found. */
kolk_found kolk_sizes_file_read(kolk_sizes_file *file, const char *name);

void kolk_sizes_file_release(kolk_sizes_file *file);

static inline bool kolk_line_is_wrong(const kolk_line *line) {
    return line->is >= LINE_NOT_UNDERSTOOD;
}

/* Reports what is wrong with it. If nothing is, that no pool or scene asked for it. */
void kolk_line_report(const kolk_line *line, const char *setting, const char *file);

/* Writes a file without wrong lines anew, with what was measured: needs by name, with the scene as their kind ("" for
 * all). */
void kolk_sizes_file_write(FILE *to, const kolk_sizes_file *file, const kolk_records *needs,
                           const kolk_records *scenes);

#endif
