/* files.c: see files.h. */
#include "system.h"

#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "cancel.h"
#include "files.h"
#include "memory.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_LEFT_BEHIND 100 /* skips at most this many unfinished files of earlier programs */
#define MOST_LINKS       40  /* as Linux does */

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static bool read_all_of(FILE *file, kolk_text_ *text) {
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length == LONG_MAX) errno = EISDIR;
    if (length < 0 || length == LONG_MAX) return false;
    rewind(file);
    text->length = (size_t)length;
    text->size = text->length + 1;
    text->start = kolk_memory_reserve_(text->size);
    if (!text->start || !kolk_memory_commit_(text->start, text->size)) return false;
    /* Ask for one byte more than the length: a file in /proc or /dev reports length 0, but may still have contents. */
    if (fread(text->start, 1, text->size, file) == text->length && !ferror(file)) return true;
    if (!ferror(file)) errno = EIO;
    return false;
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
#include <fcntl.h>
#include <io.h>
#include <windows.h>

typedef struct _stat64 file_facts;

static bool look_at_file(const char *name, file_facts *found) {
    return _stat64(name, found) == 0;
}

/* Resolves all symbolic links in the name. */
static bool resolve_links(const char *name, char *real) {
    return snprintf(real, FILENAME_MAX, "%s", name) < FILENAME_MAX;
}

/* Creates a file that there is not, which can be read by those only who could read the old one. NULL for `old`: there
 * is none. */
static FILE *create_file(const char *name, const file_facts *old) {
    (void)old;
    int file = _open(name, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE);
    return file < 0 ? NULL : _fdopen(file, "wb");
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
#include <stdlib.h>
#include <unistd.h>

_Static_assert(FILENAME_MAX >= PATH_MAX, "realpath writes so much");

typedef struct stat file_facts;

static bool look_at_file(const char *name, file_facts *found) {
    return stat(name, found) == 0;
}

/* If the file does not exist yet, follows one link after the other, each from the folder in which it lies. */
static bool resolve_links(const char *name, char *real) {
    char target[FILENAME_MAX];
    if (realpath(name, real)) return true;
    if (snprintf(real, FILENAME_MAX, "%s", name) >= FILENAME_MAX) return false;
    for (int links = 0; links < MOST_LINKS; links++) {
        ssize_t length = readlink(real, target, sizeof target - 1);
        if (length < 0) return true; /* it is no link */
        target[length] = 0;
        char *last = strrchr(real, '/'), *from = *target == '/' || !last ? real : last + 1;
        size_t room = (size_t)(real + FILENAME_MAX - from);
        if ((size_t)snprintf(from, room, "%s", target) >= room) return false;
    }
    errno = ELOOP;
    return false;
}

/* Creates a file that there is not, which can be read by those only who could read the old one. NULL for `old`: there
 * is none. */
static FILE *create_file(const char *name, const file_facts *old) {
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? old->st_mode & 0777 : 0666);
    if (file >= 0 && old) {
        int ignored = fchmod(file, old->st_mode & 07777);
        (void)ignored;
    }
    return file < 0 ? NULL : fdopen(file, "wb");
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

bool kolk_file_is_special_(const char *name) {
    file_facts found;
    return look_at_file(name, &found) && (found.st_mode & S_IFMT) != S_IFREG;
}

static FILE *open_beside(kolk_new_file_ *file) {
    file_facts facts, *old = look_at_file(file->name, &facts) ? &facts : NULL;
    for (unsigned n = 1; n <= MOST_LEFT_BEHIND; n++) {
        int length = snprintf(file->own_name, FILENAME_MAX, "%s.new%u", file->name, n);
        if (length >= FILENAME_MAX) return NULL;
        FILE *out = create_file(file->own_name, old);
        if (out || errno != EEXIST) return out;
    }
    return NULL;
}

bool kolk_file_begin_(kolk_new_file_ *file, const char *name) {
    file->beside = !kolk_file_is_special_(name);
    if (!file->beside) {
        file->out = fopen(name, "wb");
        return file->out;
    }
    file->out = resolve_links(name, file->name) ? open_beside(file) : NULL;
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
