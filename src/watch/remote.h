/* remote.h: reads kolk's pools in another process, which does nothing for it and does not notice it. Linux only.
 *
 * The list of pools of each copy of kolk contains a beacon (registry.c), which a reader finds in the writable memory of
 * the process's modules: the program, libkolk.so, libkolk-malloc.so. The beacon says where the list is and how its
 * entries look. A pool's struct is copied, as the registry copies the structs of its own process, and has to have the
 * facts that it had when it was added. What the struct points to is copied too, so that the kind's own functions can
 * make statistics of it. No pool counts its allocs, but most slots count their lives in 32 bits, which a reader may add
 * up at its own cost.
 *
 * The files, each of which calls only those below:
 *
 *     remote_pools.c                    finds the pools: kolk_stats_write_of
 *     remote_kinds.c  remote_heap.c     the structs of each kind, and what they point to
 *     remote_store.c                    the stores of shared pools and heaps
 *     remote.c                          copies bytes, adds up numbers, asks which memory is resident
 *
 * The other process runs meanwhile, so copies may be torn; and it may be hostile. So no pointer, size or count in a
 * copy is trusted: every pointer that is followed is to a copy whose size is known here. No lock in a copy is trusted
 * either. And nothing can hold up the reader: a whole look reads a limited number of bytes, of which lives may take
 * only half of what is left, so that pools stay readable whose lives cannot be counted. */
#ifndef KOLK_SRC_REMOTE_H
#define KOLK_SRC_REMOTE_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, even if the program defines KOLK_EXTERN */
#include "registry.h"
#include "../store/store.h"

#include <stddef.h>
#include <stdint.h>

#if KOLK_HOSTED && defined __linux__
#define KOLK_REMOTE_ 1
#else
#define KOLK_REMOTE_ 0
#endif

#if KOLK_REMOTE_

typedef struct kolk_remote_ {
    int64_t process;
    uint64_t to_read;      /* bytes that may still be read in this look */
    unsigned char *copies; /* address space for all copies of one pool */
    size_t used, committed;

    int pages;         /* the open file; negative: there is none, or no right to read it */
    uint64_t page;     /* bytes of a page */
    uint64_t to_see;   /* bytes that may still be asked about in this look */
    uint64_t resident; /* bytes of the pool that is read now */
    bool saw, blind;   /* something of it was asked about; something is not known */

    kolk_places_ places; /* of the pool that is read now */
} kolk_remote_;

/* Makes the record of a pool of some kind. `copy` is a copy of its struct, and `there` its address in the other
 * process; for a kind without facts, there is no copy. Returns false if the pool cannot be read. */
typedef bool kolk_remote_kind_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out);

kolk_remote_kind_ kolk_remote_pool_, kolk_remote_slotmap_, kolk_remote_queue_, kolk_remote_bytemap_,
    kolk_remote_shared_, kolk_remote_resource_, kolk_remote_heap_, kolk_remote_heap_class_, kolk_remote_ipc_;

/* The same for a store. `store` is a copy of the one that is `there`. */
bool kolk_remote_store_(kolk_remote_ *remote, const kolk_slot_store_ *store, const kolk_slot_store_ *there,
                        const char *kind, kolk_stats *out);

/* Adds n numbers of 32 bits, which lie `step` bytes apart; or if `step` is 1, the low 7 bits of n bytes. Returns false
 * if they cannot be read, or are too many. */
bool kolk_remote_sum_(kolk_remote_ *remote, const void *from, uint32_t n, size_t step, uint64_t *sum);

/* Copies bytes of the other process. Returns false if they cannot be read, or if this look has read too much. */
#define KOLK_REMOTE_MOST_ (UINT64_C(1) << 30) /* bytes in one look: some seconds at worst */
bool kolk_remote_read_(kolk_remote_ *remote, void *to, const void *from, size_t size);

/* The same, into memory that stays until the next pool is read. Returns NULL if the bytes cannot be read, or if there
 * is no memory. Aligned to 64 bytes. */
void *kolk_remote_copy_(kolk_remote_ *remote, const void *from, size_t size);

/* Opens the list of the process's pages, and closes it. */
void kolk_remote_open_pages_(kolk_remote_ *remote);
void kolk_remote_close_pages_(const kolk_remote_ *remote);

/* Adds to `resident` how many of these bytes are in memory. If that is not known, the pool has no such figure. */
void kolk_remote_see_(kolk_remote_ *remote, const void *start, uint64_t size);

/* Frees the copies. */
void kolk_remote_end_(kolk_remote_ *remote);

#endif
#endif
