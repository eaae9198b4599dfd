/* guarded.h: blocks of a heap that end where an inaccessible page begins, with another such page before them. So an
 * access beyond a block ends the program. So does an access to a freed block, because its pages stay inaccessible until
 * many other blocks have been freed.
 *
 * Any number of threads may call these functions, which take no lock. They report no errors; the heap does. */
#ifndef KOLK_SRC_HEAP_GUARDED_H
#define KOLK_SRC_HEAP_GUARDED_H

#include "../core/budget.h"

#include <stddef.h>

#define KOLK_GUARDED_SLOTS_   320u
#define KOLK_GUARDED_ALIVE_   256u             /* the most live blocks; the slots freed last wait for reuse */
#define KOLK_GUARDED_LARGEST_ UINT32_C(262144) /* the most bytes of a block */

/* The record of a slot and its last block. */
typedef struct kolk_guarded_slot_ {
    uint64_t state; /* see guarded.c; 0: it never had a block */
    uintptr_t start;
    size_t size; /* usable bytes */
    uintptr_t alloc_site, free_site;
} kolk_guarded_slot_;

/* A struct that is all zero has no slots. */
typedef struct kolk_guarded_ {
    kolk_guarded_slot_ *slots; /* also the start of the memory of all slots */
    size_t memory_size;
    uintptr_t first; /* address of the first slot, which begins with its inaccessible page */
    uint64_t frees;
    uint32_t peak;
    kolk_budget *budget; /* for the pages of the live blocks; NULL: no limit */
} kolk_guarded_;

/* Makes the slots. False: there is no memory, and there are no slots. */
bool kolk_guarded_begin_(kolk_guarded_ *guarded, kolk_budget *budget);

/* Releases all blocks, and sets the struct to all zero. No other thread may be using it. */
void kolk_guarded_end_(kolk_guarded_ *guarded);

/* Returns a block of at least `size` bytes, which read as 0, aligned to `align` and to 16. NULL: that is too much for a
 * guarded block, all slots are in use, there is no memory, or too little is left of the budget. */
void *kolk_guarded_alloc_(kolk_guarded_ *guarded, size_t align, size_t size, const void *site);

/* False: this is not the start of a live block, and nothing has changed. If several threads free one block, only one of
 * them gets true. */
bool kolk_guarded_free_(kolk_guarded_ *guarded, const void *block, const void *site);

/* Is this address in a slot, or on a page between them? */
bool kolk_guarded_has_(const kolk_guarded_ *guarded, const void *pointer);

/* Usable bytes; 0: not the start of a live block. */
size_t kolk_guarded_size_(const kolk_guarded_ *guarded, const void *block);

/* The slot of an address for which kolk_guarded_has_ is true. */
uint32_t kolk_guarded_slot_of_(const kolk_guarded_ *guarded, const void *pointer);

/* The first live block in the slots behind this block's slot, or in all slots if `block` is NULL. NULL: there is
 * none. */
void *kolk_guarded_next_(const kolk_guarded_ *guarded, const void *block);

/* The number of live blocks, and the bytes of their pages. */
uint32_t kolk_guarded_count_(const kolk_guarded_ *guarded, uint64_t *bytes);

/* For tests, while no other thread is at work. */
bool kolk_guarded_is_valid_(const kolk_guarded_ *guarded);

#endif
