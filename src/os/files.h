/* files.h: text files, read whole and replaced whole. Not in freestanding builds. */
#ifndef KOLK_SRC_FILES_H
#define KOLK_SRC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* On pages of its own. All zero is the empty text. */
typedef struct kolk_text {
    char *start;
    size_t length;
    size_t size; /* of the pages */
} kolk_text;

typedef enum kolk_found { KOLK_FOUND, KOLK_MISSING, KOLK_UNREADABLE } kolk_found;

/* Reads the whole file. The system must know its length. *text is all zero before, and stays so if it is not found. */
kolk_found kolk_file_read(const char *name, kolk_text *text);

void kolk_text_release(kolk_text *text);

/* Is it there, but a device, a pipe or a folder, so that it has no text to keep? */
bool kolk_file_is_special(const char *name);

/* A file that takes another's place once it is complete. Until then it lies beside that one. A special file is written
 * to directly. A link is followed to the file that is replaced, and the permissions of that file stay. */
typedef struct kolk_new_file {
    FILE *out;
    bool beside;
    char name[FILENAME_MAX], own_name[FILENAME_MAX];
} kolk_new_file;

/* False: nothing has happened. */
bool kolk_file_begin(kolk_new_file *file, const char *name);

/* False: it could not be written, and the old one is there as it was. */
bool kolk_file_end(kolk_new_file *file);

#endif
