/* spare.h: the pages of freed large blocks, which a heap keeps for a while, because the next large block gets them
 * at less cost than new pages from the system: they are in memory already.
 *
 *     all | 6 MiB, since 3.1 s | . | 20 MiB, since 3.8 s | . | ... |
 *
 * A spare is hidden: nobody may touch it, so a use after free crashes as if the system had taken the pages back. To
 * hide a page and show it again takes half as long as to write it. So a heap that frees large blocks all the time hides
 * only as many as it can in a 32nd of the time. Spares that no block has needed for a second are released; when a class
 * grows, also those that none has needed since the last sweep (heap_trim.c).
 *
 * A fork may interrupt another thread at any line. An entry counts while its `start` is not 0: `start` is written last
 * by put and first by take. So the child finds no mapping twice, and loses at most the one that was being put or
 * taken. */
#ifndef KOLK_SRC_SPARE_H
#define KOLK_SRC_SPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KOLK_SPARES_     32u
#define KOLK_SPARE_TIME_ INT64_C(1000000000) /* ns */

typedef struct kolk_spare_ {
    uintptr_t start; /* 0: none */
    size_t size;
    int64_t since;  /* kolk_now_ns_ when its last pages were put here */
    bool is_hidden; /* at least a part of it is inaccessible */
} kolk_spare_;

/* All zero: there are none. Any number of threads may call these functions; none holds the lock during a system
 * call. */
typedef struct kolk_spares_ {
    uint32_t lock;
    int64_t spent; /* until this time, hiding has used up its part of the time */
    kolk_spare_ all[KOLK_SPARES_];
} kolk_spares_;

/* Keeps whole pages, unless they have more than `most` bytes. Neighbouring spares become one. If they have more than
 * `most` bytes together, or all entries are taken, those that were not needed for the longest time are released. With
 * `has_gaps`, some of the pages are inaccessible already; then all will be. */
void kolk_spares_put_(kolk_spares_ *spares, void *start, size_t size, bool has_gaps, size_t most);

/* Takes `size` bytes, which are whole pages, from the smallest spare that has as many; NULL: none has. They are
 * accessible, and have their old contents. */
void *kolk_spares_take_(kolk_spares_ *spares, size_t size);

/* Releases the spares that have been here since this time or longer. Returns their bytes. */
size_t kolk_spares_expire_(kolk_spares_ *spares, int64_t since);

size_t kolk_spares_bytes_(const kolk_spares_ *spares);

#endif
