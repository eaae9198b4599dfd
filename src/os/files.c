/* files.c: see files.h. */
#include "system.h"

#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "cancel.h"
#include "files.h"
#include "memory.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_LEFT_BEHIND 100 /* skips at most this many unfinished files of earlier programs */

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static bool read_all_of(FILE *file, kolk_text_ *text) {
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length < 0) return false;
    rewind(file);
    text->length = (size_t)length;
    text->size = text->length + 1;
    text->start = kolk_memory_reserve_(text->size);
    if (!text->start || !kolk_memory_commit_(text->start, text->size)) return false;
    /* Ask for one byte more than the length: a file in /proc or /dev reports length 0, but may still have contents. */
    return fread(text->start, 1, text->size, file) == text->length && !ferror(file);
}

static kolk_found_ read_file(const char *name, kolk_text_ *text) {
    FILE *file = fopen(name, "rb");
    if (!file) return errno == ENOENT ? KOLK_MISSING_ : KOLK_UNREADABLE_;
    bool read = read_all_of(file, text);
    fclose(file);
    if (read) return KOLK_FOUND_;
    kolk_text_release_(text);
    return KOLK_UNREADABLE_;
}

kolk_found_ kolk_file_read_(const char *name, kolk_text_ *text) {
    KOLK_ASSERT_(!text->start);
    int cancel = kolk_cancel_off_();
    kolk_found_ found = read_file(name, text);
    kolk_cancel_restore_(cancel);
    return found;
}

void kolk_text_release_(kolk_text_ *text) {
    if (text->start) kolk_memory_release_(text->start, text->size);
    *text = (kolk_text_){NULL, 0, 0};
}

/* ---- The file itself --------------------------------------------------------------------------------------------- */

#ifdef _WIN32
#include <io.h>
#include <windows.h>

#define EXCLUSIVE "wb" /* the C library of Windows does not support "x" */

typedef struct _stat64 file_facts;

static bool look_at_file(const char *name, file_facts *found) {
    return _stat64(name, found) == 0;
}

static bool is_link(const char *name) {
    (void)name;
    return false;
}

/* Resolves all symbolic links in the name. */
static bool resolve_links(const char *name, char *real) {
    return snprintf(real, FILENAME_MAX, "%s", name) < FILENAME_MAX;
}

static void keep_permissions(FILE *file, const file_facts *old) {
    (void)file, (void)old;
}

static bool replace_file(const char *name, const char *by, bool lasting) {
    return MoveFileExA(by, name, MOVEFILE_REPLACE_EXISTING | (lasting ? MOVEFILE_WRITE_THROUGH : 0));
}

static bool flush_to_disk(FILE *file) {
    return fflush(file) == 0 && _commit(_fileno(file)) == 0;
}

static bool flush_folder_of(const char *name) {
    (void)name; /* MOVEFILE_WRITE_THROUGH has done it */
    return true;
}
#else
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

_Static_assert(FILENAME_MAX >= PATH_MAX, "realpath writes so much");

#define EXCLUSIVE "wbx"

typedef struct stat file_facts;

static bool look_at_file(const char *name, file_facts *found) {
    return stat(name, found) == 0;
}

static bool is_link(const char *name) {
    file_facts found;
    return lstat(name, &found) == 0 && S_ISLNK(found.st_mode);
}

static bool resolve_links(const char *name, char *real) {
    if (realpath(name, real)) return true;
    return snprintf(real, FILENAME_MAX, "%s", name) < FILENAME_MAX; /* the file does not exist yet */
}

static void keep_permissions(FILE *file, const file_facts *old) {
    int ignored = fchmod(fileno(file), old->st_mode & 07777);
    (void)ignored;
}

static bool replace_file(const char *name, const char *by, bool lasting) {
    (void)lasting;
    return rename(by, name) == 0;
}

/* What cannot be flushed, such as a pipe, or a folder in some file systems, has nothing to wait for. */
static bool flush_descriptor(int file) {
#ifdef F_FULLFSYNC /* macOS, where fsync leaves the bytes in the disk's cache */
    if (fcntl(file, F_FULLFSYNC) == 0) return true;
#endif
    return fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP;
}

static bool flush_to_disk(FILE *file) {
    return fflush(file) == 0 && flush_descriptor(fileno(file));
}

static bool flush_folder_of(const char *name) {
    char folder[FILENAME_MAX] = ".";
    const char *last = strrchr(name, '/');
    if (last) memcpy(folder, name, (size_t)(last + 1 - name)), folder[last + 1 - name] = 0;
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) return false;
    bool flushed = flush_descriptor(file);
    int reason = errno;
    close(file);
    errno = reason;
    return flushed;
}
#endif

/* ---- Replacing --------------------------------------------------------------------------------------------------- */

/* A link that leads to no file is special because a rename would replace the link. */
bool kolk_file_is_special_(const char *name) {
    file_facts found;
    return look_at_file(name, &found) ? (found.st_mode & S_IFMT) != S_IFREG : is_link(name);
}

static FILE *open_beside(kolk_new_file_ *file) {
    for (unsigned n = 1; n <= MOST_LEFT_BEHIND; n++) {
        int length = snprintf(file->own_name, FILENAME_MAX, "%s.new%u", file->name, n);
        if (length >= FILENAME_MAX) return NULL;
        FILE *out = fopen(file->own_name, EXCLUSIVE);
        if (out || errno != EEXIST) return out;
    }
    return NULL;
}

bool kolk_file_begin_(kolk_new_file_ *file, const char *name) {
    file_facts old;
    file->beside = !kolk_file_is_special_(name);
    if (!file->beside) {
        file->out = fopen(name, "wb");
        return file->out;
    }
    file->out = resolve_links(name, file->name) ? open_beside(file) : NULL;
    if (file->out && look_at_file(file->name, &old)) keep_permissions(file->out, &old);
    return file->out;
}

bool kolk_file_end_(kolk_new_file_ *file, bool lasting) {
    KOLK_ASSERT_(file->out);
    bool written = !ferror(file->out) && (!lasting || flush_to_disk(file->out));
    int reason = errno;
    if (fclose(file->out) != 0 && written) written = false, reason = errno;
    if (!file->beside) return errno = reason, written;
    if (written && replace_file(file->name, file->own_name, lasting)) return !lasting || flush_folder_of(file->name);
    if (written) reason = errno;
    remove(file->own_name);
    errno = reason;
    return false;
}

#endif
