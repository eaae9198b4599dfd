/* output.c: see output.h. */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(struct output *output, int error) {
    if (!output->error) output->error = error;
    return false;
}

bool output_open(struct output *output, const char *path) {
    output->path = path;
    output->is_new = true;
    output->error = 0;
    output->bytes = output->used = 0;
    output->zstd = ZSTD_createCCtx();
    if (!output->zstd) return fail(output, ENOMEM);
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_compressionLevel, OUTPUT_LEVEL);
    ZSTD_CCtx_setParameter(output->zstd, ZSTD_c_checksumFlag, 1);
    output->descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (output->descriptor < 0 && errno == EEXIST) {
        output->is_new = false;
        output->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    }
    if (output->descriptor >= 0) return true;
    int error = errno;
    ZSTD_freeCCtx(output->zstd);
    return fail(output, error);
}

void output_begin(struct output *output) {
    struct stat file;
    if (fstat(output->descriptor, &file) == 0 && S_ISREG(file.st_mode) && ftruncate(output->descriptor, 0) != 0)
        fail(output, errno);
}

void output_restart(struct output *output) {
    ZSTD_CCtx_reset(output->zstd, ZSTD_reset_session_only);
    output->used = 0;
    if (output->bytes > 0 && (ftruncate(output->descriptor, 0) != 0 || lseek(output->descriptor, 0, SEEK_SET) != 0))
        fail(output, errno);
    output->bytes = 0;
}

static void write_packed(struct output *output, size_t length) {
    for (size_t done = 0; done < length && !output->error;) {
        ssize_t written = write(output->descriptor, output->packed + done, length - done);
        if (written > 0)
            done += (size_t)written;
        else if (written == 0 || errno != EINTR)
            fail(output, written == 0 ? ENOSPC : errno);
    }
    output->bytes += length;
}

/* Compresses the buffered text; ZSTD_e_end also flushes zstd's own buffer. */
static void pack(struct output *output, ZSTD_EndDirective how) {
    ZSTD_inBuffer in = {.src = output->text, .size = output->used};
    output->used = 0;
    for (;;) {
        ZSTD_outBuffer out = {.dst = output->packed, .size = sizeof output->packed};
        size_t rest = ZSTD_compressStream2(output->zstd, &out, &in, how);
        if (ZSTD_isError(rest)) {
            fail(output, ENOMEM);
            return;
        }
        write_packed(output, out.pos);
        if (how == ZSTD_e_end ? rest == 0 : in.pos == in.size) return;
    }
}

char *output_room(struct output *output, size_t size) {
    if (sizeof output->text - output->used < size) pack(output, ZSTD_e_continue);
    return output->text + output->used;
}

void output_text(struct output *output, const char *text, size_t length) {
    while (length > 0) {
        size_t part = length < OUTPUT_ROOM / 4 ? length : OUTPUT_ROOM / 4;
        memcpy(output_room(output, part), text, part);
        output->used += part;
        text += part;
        length -= part;
    }
}

bool output_close(struct output *output) {
    pack(output, ZSTD_e_end);
    ZSTD_freeCCtx(output->zstd);
    if (close(output->descriptor) != 0) fail(output, errno);
    return !output->error;
}

void output_drop(struct output *output) {
    ZSTD_freeCCtx(output->zstd);
    close(output->descriptor);
    if (output->is_new) unlink(output->path);
}
