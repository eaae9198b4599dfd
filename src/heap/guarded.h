/* guarded.h: blocks of a heap that end where a page begins that nobody may touch, with another such page before them.
 * So the instruction that goes beyond them ends the program, and so does one that touches a freed block, as its pages
 * may not be touched either until many others have been freed.
 *
 * Any number of threads, without a lock. Nothing is reported here: that is the heap's business. */
#ifndef KOLK_SRC_HEAP_GUARDED_H
#define KOLK_SRC_HEAP_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KOLK_GUARDED_SLOTS   320u
#define KOLK_GUARDED_ALIVE   256u             /* slots that have a block, at most: the last freed ones always wait */
#define KOLK_GUARDED_LARGEST UINT32_C(262144) /* bytes of a block */

/* What is known of a slot and its last block. */
typedef struct kolk_guarded_slot {
    uint64_t state; /* guarded.c tells; 0: it never had a block */
    uintptr_t start;
    size_t size; /* usable bytes */
    uintptr_t alloc_site, free_site;
} kolk_guarded_slot;

/* All zero has no slots. */
typedef struct kolk_guarded {
    kolk_guarded_slot *slots; /* where the memory begins that all of this is in */
    size_t memory_size;
    uintptr_t first; /* address of the first slot: of the page before its block's */
    uint64_t frees;
    uint32_t peak;
} kolk_guarded;

/* False: there is no memory, and no slot. */
bool kolk_guarded_begin(kolk_guarded *guarded);

/* Gives all blocks back, and leaves it all zero. Nobody is at work. */
void kolk_guarded_end(kolk_guarded *guarded);

/* Bytes of the pages that a block of this size and alignment has; 0: there is no such guarded block. */
size_t kolk_guarded_pages(size_t align, size_t size);

/* A block of at least `size` bytes, which read as 0, aligned to `align` and to 16. NULL: all slots are in use, or there
 * is no memory. kolk_guarded_pages is not 0. */
void *kolk_guarded_alloc(kolk_guarded *guarded, size_t align, size_t size, const void *site);

/* Gives the bytes of its pages; 0: this is not the start of a live block, and nothing has changed. Of several threads
 * that free one block, one gets them. */
size_t kolk_guarded_free(kolk_guarded *guarded, const void *block, const void *site);

/* Is this address in a slot, or on a page between them? */
bool kolk_guarded_has(const kolk_guarded *guarded, const void *pointer);

/* Usable bytes; 0: not the start of a live block. */
size_t kolk_guarded_size(const kolk_guarded *guarded, const void *block);

/* The slot of an address that it has. */
uint32_t kolk_guarded_slot_of(const kolk_guarded *guarded, const void *pointer);

/* The first live block of the slots behind that of this block (NULL: of all); NULL: none. */
void *kolk_guarded_next(const kolk_guarded *guarded, const void *block);

/* How many live blocks there are, and bytes of their pages. */
uint32_t kolk_guarded_count(const kolk_guarded *guarded, uint64_t *bytes);

/* For tests: nobody is at work. */
bool kolk_guarded_is_valid(const kolk_guarded *guarded);

#endif
