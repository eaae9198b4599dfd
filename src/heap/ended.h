/* ended.h: the memory of ended heaps' classes, which the process keeps for a while, because the next heap that needs
 * classes gets it at less cost than new pages from the system: they are in memory already.
 *
 *     all | 416 GiB of addresses, of which blocks have used 47 MiB, since 3.1 s | . | 416 GiB ... | . | ... |
 *
 * A space is the addresses of all classes of a heap, with the pages that these have committed. It goes from heap to
 * heap as a whole. Only heaps with kolk's own classes keep their spaces, so in each space of the same size, all blocks
 * and records of a class have the same places. The records read as 0, as in a new space. Blocks have their old bytes.
 *
 * A fork may interrupt another thread at any line. An entry counts while its `space` is not 0: `space` is written last
 * by put and first by take. So the child finds no space twice, and loses at most the one that was being put or
 * taken. */
#ifndef KOLK_SRC_ENDED_H
#define KOLK_SRC_ENDED_H

#include "kolk/heap.h"

#define KOLK_ENDED_       8u                  /* spaces */
#define KOLK_ENDED_BYTES_ ((size_t)64 << 20)  /* of all of them */
#define KOLK_ENDED_TIME_  INT64_C(1000000000) /* ns */

typedef struct kolk_ended_ {
    uintptr_t space;                   /* 0: none */
    size_t size;                       /* bytes of addresses */
    size_t bytes;                      /* bytes of blocks that have been used */
    int64_t since;                     /* kolk_now_ns_ at the end of the last heap that used at least half of these */
    uint32_t slots[KOLK_HEAP_CLASSES]; /* by class: how many of its first slots have been used */
} kolk_ended_;

/* Keeps a space, unless no heap has used half of its bytes within KOLK_ENDED_TIME_, or all spaces would have more than
 * KOLK_ENDED_BYTES_, or there are KOLK_ENDED_ of them. False: it is still the caller's. */
bool kolk_ended_put_(const kolk_ended_ *ended);

/* Takes a space with this many bytes of addresses, of several the one that was used last. False: there is none. */
bool kolk_ended_take_(size_t size, kolk_ended_ *out);

/* Does this address lie in one of the spaces? */
bool kolk_ended_has_(const void *at);

/* Releases the spaces that have been here since this time or longer. Returns their bytes. */
size_t kolk_ended_expire_(int64_t since);

#endif
