/* files.h: files, each read as a whole and replaced as a whole. Not in freestanding builds. */
#ifndef KOLK_SRC_FILES_H
#define KOLK_SRC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The text, or other bytes, lie on pages of their own. A zero-initialised struct is the empty text. */
typedef struct kolk_text_ {
    char *start;
    size_t length;
    size_t size; /* of the pages, in bytes */
} kolk_text_;

typedef enum kolk_found_ { KOLK_FOUND_, KOLK_MISSING_, KOLK_UNREADABLE_ } kolk_found_;

/* Reads the whole file. The system must report its length. *text must be all zero, and stays so if the file is
 * missing. */
kolk_found_ kolk_file_read_(const char *name, kolk_text_ *text);

void kolk_text_release_(kolk_text_ *text);

/* Is it anything but a regular file: a device, a pipe, a socket or a folder, perhaps behind symbolic links? Also true
 * for a symbolic link that leads to no file; false if there is nothing of this name. */
bool kolk_file_is_special_(const char *name);

/* A new file that replaces an old one once it is complete. Until then it lies in the same folder as the old one. A
 * special file is written directly. If the name is a symbolic link, the file that it points to is replaced. The old
 * file's permissions are kept. */
typedef struct kolk_new_file_ {
    FILE *out;
    bool beside;
    char name[FILENAME_MAX], own_name[FILENAME_MAX];
} kolk_new_file_;

/* Returns false if the new file cannot be created; nothing has changed then. */
bool kolk_file_begin_(kolk_new_file_ *file, const char *name);

/* Returns false if the new file could not be written; the old file is unchanged then. If the file is `lasting`, it is
 * on the disk before it replaces the old one, and so is the replacement when this returns: whenever the system crashes,
 * the name has one of them, as a whole. Then false may also mean that only the last of these steps has failed. errno
 * tells what has failed. */
bool kolk_file_end_(kolk_new_file_ *file, bool lasting);

#endif
