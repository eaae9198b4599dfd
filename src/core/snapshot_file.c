/* snapshot_file.c: files of snapshots. A file is a delta against nothing (snapshot_delta.c), which has the sizes and
 * the checksum that a file needs. Not in freestanding builds. */
#include "kolk/snapshot.h"

#if KOLK_HOSTED

#include "../os/cancel.h"
#include "../os/files.h"
#include "../os/memory.h"

#define DELTA_MORE 96u /* more than a delta against nothing is longer than what it contains */

static kolk_status write_lasting(const char *path, const void *bytes, size_t size) {
    kolk_new_file_ file;
    int cancel = kolk_cancel_off_();
    bool written = kolk_file_begin_(&file, path);
    if (written) {
        (void)fwrite(bytes, 1, size, file.out);
        written = kolk_file_end_(&file, true);
    }
    kolk_cancel_restore_(cancel);
    return written ? KOLK_OK : KOLK_NOT_SAVED;
}

kolk_status kolk_snapshot_save(const char *path, const void *block, size_t size) {
    size_t room = size + DELTA_MORE;
    void *bytes = room > size ? kolk_memory_reserve_(room) : NULL;
    if (!bytes) return KOLK_NO_MEMORY;
    kolk_status status = KOLK_NO_MEMORY;
    if (kolk_memory_commit_(bytes, room))
        status = write_lasting(path, bytes, kolk_snapshot_delta(NULL, 0, block, size, bytes, room));
    kolk_memory_release_(bytes, room);
    return status;
}

kolk_status kolk_snapshot_load(const char *path, void *block, size_t *size) {
    kolk_text_ text = {NULL, 0, 0};
    kolk_found_ found = kolk_file_read_(path, &text);
    if (found != KOLK_FOUND_) return found == KOLK_MISSING_ ? KOLK_NO_FILE : KOLK_NOT_READ;
    kolk_status status = kolk_snapshot_apply(NULL, 0, text.start, text.length, block, size);
    kolk_text_release_(&text);
    return status;
}

#endif
