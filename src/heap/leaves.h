/* leaves.h: pieces of memory of 1 KiB each, from which all heaps of the process begin (nursery.h).
 *
 *     the process's     | free leaves: a bit each | records, one for each leaf | leaf 0 | leaf 1 | ...................|
 *     addresses           slot_set.h                who has it, what is in it    used, and committed, from here on
 *
 * What is known about a leaf stands in its record, where no write through a dangling pointer reaches it. A run is up to
 * 64 neighbouring leaves that were taken together.
 *
 * Any number of threads may call these functions. Taking and returning a run costs a few atomic operations. They take a
 * lock only to use new addresses. Leaf 0 is never taken, so 0 means no leaf. */
#ifndef KOLK_SRC_HEAP_LEAVES_H
#define KOLK_SRC_HEAP_LEAVES_H

#include "../base/atomics.h"
#include "heap_sizes.h"

#include <stddef.h>

#define KOLK_LEAF_     1024u /* bytes: 64 grains */
#define KOLK_LEAF_RUN_ 64u   /* the most leaves of a run */

/* A run's owner writes all of this. It is 0 in leaves that were never used, and free leaves have no bits. */
typedef struct kolk_leaf_ {
    _Alignas(8) uint64_t starts; /* a bit for each grain: a block or a gap begins here */
    _Alignas(8) uint64_t alive;  /* a bit for each grain: a live block begins here */
    uint32_t owner;              /* the nursery that has it, or had it last; 0: none yet */
    uint32_t next, before;       /* in a run's first leaf: the neighbours in its owner's list of runs; 0: none.
                                  * In a heap's root, which has no owner, `next` is what its nursery owns leaves as */
    uint8_t length;              /* in a run's first leaf: the run's leaves */
    uint8_t back;                /* the distance to the run's first leaf */
} kolk_leaf_;

typedef struct kolk_leaves_ {
    uintptr_t start;     /* the address of leaf 0 */
    kolk_leaf_ *records; /* by leaf */
    uint32_t fresh;      /* leaves from here on were never used */
} kolk_leaves_;

extern kolk_leaves_ kolk_leaves_all_;

/* Takes n neighbouring leaves, 1 to KOLK_LEAF_RUN_. Returns the first one; 0: there is no memory. Their contents are
 * those of their last use. */
uint32_t kolk_leaves_take_(uint32_t n);

/* Takes a leaf that is no nursery's; 0: there is no memory. */
uint32_t kolk_leaf_alone_(void);

/* Returns leaves of one run. They keep their memory for other runs, as long as that is at most 4 MiB, or as much
 * as is in use, or a quarter of the most that was ever in use. */
void kolk_leaves_give_(uint32_t first, uint32_t n);

/* Releases the memory of free leaves to the system. Returns the bytes, as kolk_memory_discard_ does. */
size_t kolk_leaves_trim_(bool counts);

/* Releases the spaces of ended heaps; and the leaves' addresses, unless a leaf is in use. Called when a program ends or
 * unloads kolk's library. */
void kolk_leaves_end_(void);

/* The leaf that this address is in; 0: none that was ever used. */
static inline uint32_t kolk_leaf_of_(const void *at) {
    uint32_t fresh = kolk_load_(&kolk_leaves_all_.fresh, KOLK_ACQUIRE_); /* partner: use_word */
    uintptr_t leaf = ((uintptr_t)at - kolk_leaves_all_.start) / KOLK_LEAF_;
    return leaf < fresh ? (uint32_t)leaf : 0;
}

/* The same for an address that is known to lie in such a leaf. */
static inline uint32_t kolk_leaf_at_(const void *at) {
    return (uint32_t)(((uintptr_t)at - kolk_leaves_all_.start) / KOLK_LEAF_);
}

static inline kolk_leaf_ *kolk_leaf_record_(uint32_t leaf) {
    return &kolk_leaves_all_.records[leaf];
}

static inline unsigned char *kolk_leaf_start_(uint32_t leaf) {
    return (unsigned char *)(kolk_leaves_all_.start + (uintptr_t)leaf * KOLK_LEAF_);
}

#endif
