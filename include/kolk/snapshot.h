/* SPDX-License-Identifier: Zlib */
/* kolk/snapshot.h: snapshots as deltas, for a rollback, and as files, for a saved game.
 *
 *     size_t size = bullets_snapshot(&pool, now, room);        // each frame, in two buffers in turn
 *     undo[frame % 8].size = kolk_snapshot_delta(now, size, last, last_size, undo[frame % 8].bytes, undo_room);
 *     ...
 *     size = room;                                             // back by one frame
 *     if (kolk_snapshot_apply(last, last_size, undo[n].bytes, undo[n].size, now, &size) != KOLK_OK) ...
 *     if (bullets_restore(&pool, now, size) != KOLK_OK) ...
 *     ...
 *     if (kolk_snapshot_save("game.save", now, size) != KOLK_OK) ...
 *
 * The bytes are snapshots of pools or slot maps, several of them one behind the other, your own bytes, or all of this.
 * Snapshots of pools and slot maps come first, each where the other piece has it, so that their deltas are small.
 *
 * Cost      O(bytes of both pieces), by words of 8. bench/README.md states times and sizes.
 * Memory    yours; `save` and `load` use pages of the system as long as they run. Never malloc.
 * Contents  a delta and a file are in the machine's byte order, and contain the number of their format, sizes, and a
 *           checksum. Whatever their bytes are, nothing is read or written outside the memory that you give, and a
 *           status tells what is wrong. A forger can compute checksums: the restore that follows proves the snapshot.
 * Threads   any thread may call them at any time, with memory that no other thread changes meanwhile.
 * Design    src/core/snapshot_delta.c; examples/rollback.c and examples/savegame.c.
 */
#ifndef KOLK_SNAPSHOT_H
#define KOLK_SNAPSHOT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes what makes `now` out of `base`, and returns its size in bytes: about what has changed, and 56 bytes. Objects
 * of pools are compared with those in the same slots, so births and deaths cost no more than their own objects; those
 * of slot maps with those at the same places. (A pool without free slots has no order of reuse in its snapshot. So its
 * first free slot adds 4 bytes a slot.) Returns 0 if `room` is too small; now_size + 96 always suffices. The delta must
 * not overlap the two. A base of size 0 may be NULL. */
KOLK_API_ size_t kolk_snapshot_delta(const void *base, size_t base_size, const void *now, size_t now_size, void *delta,
                                     size_t room);

/* Makes the same `now` again at `block`, which must not overlap the others. *size is the room there, in bytes, and
 * becomes the size of the block. KOLK_NO_ROOM: the block needs more, and *size says how much. KOLK_OTHER_BASE: the
 * delta was made against other bytes. KOLK_NOT_A_SNAPSHOT, KOLK_OTHER_BYTE_ORDER, KOLK_OTHER_VERSION,
 * KOLK_DAMAGED_SNAPSHOT, KOLK_FORGED_SNAPSHOT: as for a restore. After an error, what is at `block` is of no use. */
KOLK_API_ kolk_status kolk_snapshot_apply(const void *base, size_t base_size, const void *delta, size_t delta_size,
                                          void *block, size_t *size);

/* Saves these bytes in a file, which replaces an older one of this name as a whole: it is written and flushed to the
 * disk under another name in the same folder (path.new1), and then renamed. If the program or the system crashes,
 * `path` is the old file or the new one, never a part. What crashes leave under the other names (path.new1 to
 * path.new100), you may delete; once there are 100, saves fail (EEXIST). The old file's permissions stay, but not an
 * owner other than the program's. A symbolic link still leads to the file. KOLK_NOT_SAVED: see errno; the old file is
 * unchanged, unless the last step has failed, the flush of the folder: then the new file is complete, but may be gone
 * after a crash of the system. KOLK_NO_MEMORY: nothing has changed. Not in freestanding builds. */
KOLK_API_ kolk_status kolk_snapshot_save(const char *path, const void *block, size_t size);

/* Loads what kolk_snapshot_save has written, as kolk_snapshot_apply does: *size is the room, then the size; to learn
 * it, call with room 0 first, which reads the file too. KOLK_NO_FILE: there is none, as before the first save.
 * KOLK_NOT_READ: see errno. KOLK_NOT_A_SNAPSHOT, KOLK_DAMAGED_SNAPSHOT and the others: it is not such a file, or has
 * been changed. Not in freestanding builds. */
KOLK_API_ kolk_status kolk_snapshot_load(const char *path, void *block, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
