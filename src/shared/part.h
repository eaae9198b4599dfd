/* part.h: a shared pool as a part of something larger, which is a heap: it is one class of blocks, its slots are in
 * address space that the heap has reserved, and its threads are the heap's, each with magazines of many such pools. */
#ifndef KOLK_SRC_SHARED_PART_H
#define KOLK_SRC_SHARED_PART_H

#include "magazine.h"
#include "member.h"

typedef struct kolk_part_desc {
    const char *name, *debug;
    size_t size, align;    /* of the objects; align divides the address of range */
    uint32_t capacity;     /* objects that there is memory for from the start */
    uint32_t max_capacity; /* 0: as many as the range has room for */
    uint32_t cache;        /* of a magazine; 0: none keeps any */
    unsigned char *range;  /* address space for the objects */
    size_t range_size;
    uint32_t colour;       /* bytes before its metadata, so that several parts' do not meet in the processor's caches */
    kolk_members *members; /* the threads */
    uint64_t *budget;      /* bytes that it may take, shared with others; NULL: any */
} kolk_part_desc;

/* Ends by kolk_shared_end. */
kolk_status kolk_shared_init_part(kolk_shared *pool, const kolk_part_desc *desc);

/* Lists it, if it could not be listed yet, as another thread was just forking. */
void kolk_shared_list_part(kolk_shared *pool);

/* The two halves of kolk_shared_deinit. The first one is for pools that have a debug mode: it tells what is damaged,
 * and what is alive, and changes nothing, since the handler may longjmp. The second one tells nothing any more. */
void kolk_shared_prove_all(const kolk_shared *pool, const void *site);
void kolk_shared_end(kolk_shared *pool, const void *site);

/* Bytes of a magazine of this pool, for the thread that has the member. */
size_t kolk_shared_magazine_size(const kolk_shared *pool);

/* Makes an empty magazine in this memory; the member, which is the calling thread's, has it from now on. */
kolk_magazine *kolk_shared_add_magazine(kolk_shared *pool, kolk_member *member, void *memory);

/* kolk_local_alloc and kolk_local_free, off the fast path, by the caller at `site`. */
void *kolk_shared_alloc_at(kolk_local *local, const void *site);
void kolk_shared_free_at(kolk_local *local, void *object, const void *site);

/* Frees an object for a thread that has no magazine. */
void kolk_shared_free_alone(kolk_shared *pool, void *object, const void *site);

/* Puts what is in the magazine of a thread that has ended into the depot. */
void kolk_shared_reclaim_magazine(kolk_shared *pool, kolk_magazine *magazine);

/* Gives back the whole pages of free slots that nobody has asked for since the last sweep. Returns how many bytes
 * memory had backed. One thread at a time, at any time. Magazines keep what they have. */
size_t kolk_shared_sweep(kolk_shared *pool);

/* Reports that this is no live object of the pool, with what is wrong; `verb` is what was asked for. */
void kolk_shared_refuse(const kolk_shared *pool, const void *object, const char *verb, const void *site);

#endif
