/* kolk/heap.h: blocks of any size, from pools of a few sizes: big trays for luggage, little trays for pocket stuff. A
 * whole heap ends at once.
 *
 *     #include <kolk/kolk.h>
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     static kolk_heap level;                                         // all zero
 *
 *     int main(void) {
 *         if (kolk_heap_init(&level, &(kolk_heap_desc){.name = "level"}) != KOLK_OK) return 1;
 *         char *name = kolk_heap_alloc(&level, 20);
 *         if (!name) return 1;
 *         strcpy(name, "the red castle");
 *         name = kolk_heap_realloc(&level, name, 30);                 // stays where it is: the block has 32 bytes
 *         printf("%s, %zu bytes\n", name, kolk_heap_usable_size(&level, name));  // the red castle, 32 bytes
 *         kolk_heap_free(&level, name);
 *         kolk_heap_alloc(&level, 1000);                              // nobody frees it:
 *         kolk_heap_deinit(&level);                                   // all that is left goes at once
 *     }
 *
 * Each size has its class, which is a pool for many threads (shared.h) with address space of its own. So the address of
 * a block tells its class and its slot, free needs no size, and nothing is kept in a block or beside it. Blocks of more
 * than KOLK_HEAP_LARGEST bytes get pages of the system of their own.
 *
 * Cost      alloc and free: O(1), two dozen instructions without an atomic read-modify-write; about every 32nd call
 *           does one to three atomic operations. The first use of a class, and a thread's first use of a heap, ask the
 *           system for memory. Large blocks: a system call, and a lock for moments.
 * Memory    pages of the system. A block has at most 15 bytes more than was asked for up to 64 bytes, and up to
 *           KOLK_HEAP_LARGEST at most a fifth of its bytes are too many. Metadata: 1 byte and 1 bit a block, out of
 *           line: no write through a dangling pointer reaches it. A thread keeps up to 64 KiB of free blocks of each
 *           class, or one block; of a class that has a max_capacity, a 64th of that at most.
 * Alignment 16 bytes; alloc_aligned gives any power of two.
 * Contents  alloc gives what the last life left, or zeroes. free leaves the block as it is.
 * Checks    every free, realloc and usable_size of every build: a pointer that is not of this heap, not the start of
 *           a block, or a block that is free already is a bug, which is reported to the failure handler.
 * Guards    with the debug setting sample=1000, about one block of 1,000 is a guarded one, if it is of a class, has
 *           256 KiB at most, and is aligned to a page at most. It ends (but for what 16 or its alignment rounds up)
 *           where a page begins that nobody may touch, and there is such a page before it: an overflow ends the
 *           program at the instruction. So does a use after free, as the pages of a freed one may not be touched
 *           until 64 others have been freed, or more; a double free of it is reported until then, and the report
 *           names who allocated and freed it. Each thread's allocs are counted; distances are drawn at random. At
 *           most 256 are alive at a time. With more, or without memory for one within the limit, an ordinary block is
 *           given. They count among the large blocks, not in their class, and in the limit with their pages. Cost:
 *           none to allocs, some 75 instructions to a free, about two system calls to a guarded block; 80 MiB of
 *           addresses. Without the setting none.
 * Threads   any number may call anything at the same time, except init, deinit and is_valid. A block may be freed by
 *           another thread. What a thread has at hand goes home when it ends. Not for signal handlers. A fork's child
 *           goes on; what other threads had at hand is found again, but for blocks that were on their way: some dozens,
 *           or up to 4,096 of one class if a thread was just giving memory back.
 * Tools     under sanitizers and memcheck, or with KOLK_BYPASS=1, each block is one of malloc's, of the size that was
 *           asked for: there are no classes then, and no debug settings; the limit counts.
 * Design    the essay in src/heap/heap.c. Not in freestanding builds; on 64-bit machines only (elsewhere init gives
 *           KOLK_NO_MEMORY).
 */
#ifndef KOLK_HEAP_H
#define KOLK_HEAP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

#define KOLK_HEAP_LARGEST UINT32_C(262144) /* bytes of a block of the largest of kolk's own classes */
#define KOLK_HEAP_CLASSES 64u              /* a heap has at most */

/* What becomes of an alloc whose class is full. */
typedef enum kolk_heap_when_full {
    KOLK_HEAP_NEXT = 0, /* it gets a block of the next larger class that is not; at last, pages of its own */
    KOLK_HEAP_NULL      /* it gets NULL */
} kolk_heap_when_full;

/* A tray: blocks of one size. 0 means default for all but size. */
typedef struct kolk_heap_class {
    /* For reports and statistics; outlives the heap. NULL: the heap's, a slash, and the size; but only the heap's if
     * that is longer than 20 bytes. */
    const char *name;
    size_t size;           /* bytes of a block, at most 2^30; rounded up to a multiple of 16 */
    uint32_t capacity;     /* blocks that there is memory for from the start; 0: none */
    uint32_t max_capacity; /* grows up to it; 0: capacity, and if that is 0 too, to 8 GiB or the machine's memory */
    kolk_heap_when_full when_full;
} kolk_heap_class;

struct kolk_heap;

/* Zero means default for all. */
typedef struct kolk_heap_desc {
    const char *name; /* for reports and statistics; outlives the heap; NULL: none */
    /* Bytes that its blocks may take, those that are free but have memory included; 0: no limit. */
    uint64_t limit;
    const char *debug; /* settings, as in shared pools (base.h); KOLK_DEBUG may name a class: "level/64" */
    /* The sizes, in ascending order; read during init only. NULL: kolk's own, of which there are four to each doubling.
     * What is larger than the last one gets pages of its own. */
    const kolk_heap_class *classes;
    uint32_t n_classes;
    /* Asked before an alloc or realloc of `size` bytes gives NULL. True: it has freed something, the call is tried once
     * more. It may use the heap; an alloc inside it does not ask again. */
    bool (*on_full)(struct kolk_heap *heap, size_t size, void *context);
    void *context;
} kolk_heap_desc;

/* ---- Struct ------------------------------------------------------------------------------------------------------ */

/* All zero is a heap that has no memory. Never copy or move it once initialised. */
typedef struct kolk_heap {
    uintptr_t base; /* of the address space of all classes */
    uint64_t id;    /* no other heap of the process ever has it; 0: none */
    uint32_t n_classes;
    uint32_t place;         /* where threads look for it first */
    uint32_t number;        /* in the registry; 0: it is not there */
    uint8_t class_shift;    /* each class has 1 << class_shift bytes of addresses */
    uint8_t by_size[65];    /* the class of blocks of up to 16 * n bytes */
    uint8_t by_quarter[80]; /* the first class to look at for larger ones: by the quarters of doublings from 1,024 */
    struct kolk_heap_inside *inside;
} kolk_heap;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Anything but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves it all zero. */
static inline kolk_status kolk_heap_init(kolk_heap *heap, const kolk_heap_desc *desc);

/* Ends the heap with all of its blocks. No thread may use them, nor the heap, any more. */
KOLK_API void kolk_heap_deinit(kolk_heap *heap);

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* A block of at least `size` bytes (0 counts as 1), aligned to 16. NULL: there is no memory, the limit is reached, or
 * the class is full and gives NULL then. What other threads have at hand counts as full. */
KOLK_API void *kolk_heap_alloc(kolk_heap *heap, size_t size);

/* The same; its first `size` bytes are 0. */
KOLK_API void *kolk_heap_alloc_zeroed(kolk_heap *heap, size_t size);

/* The same, aligned to a power of two. NULL if `align` is none. */
KOLK_API void *kolk_heap_alloc_aligned(kolk_heap *heap, size_t align, size_t size);

/* Gives the block `size` bytes: it stays where it is if they fit, and fill more than half of it; else its contents
 * move, or the system moves the pages of a large one. NULL for `block` allocates. NULL comes back if there is no
 * memory; the block is as it was then. The alignment of alloc_aligned is lost when it moves. */
KOLK_API void *kolk_heap_realloc(kolk_heap *heap, void *block, size_t size);

/* Takes back a block of this heap, whichever thread allocated it, once. It leaves errno. NULL does nothing. Anything
 * else is a bug of the caller and is reported. Two threads that free one block at the very same moment are both
 * believed: see kolk_local_free in shared.h. */
KOLK_API void kolk_heap_free(kolk_heap *heap, void *block);

/* Bytes that the block has, at least as many as were asked for: all of them may be used. 0 for NULL. Anything but a
 * live block is reported, and gives 0. */
KOLK_API size_t kolk_heap_usable_size(kolk_heap *heap, const void *block);

/* ---- Questions --------------------------------------------------------------------------------------------------- */

/* Is it the start of a live block of this heap? Any pointer may be asked about. */
KOLK_API bool kolk_heap_is_live(const kolk_heap *heap, const void *block);

/* The next live block after this one (which may have been freed since), by class and address; then the guarded
 * ones, then the large ones.
 * NULL starts, NULL ends. Blocks that other threads allocate or free during the walk may be visited or not. A step is
 * O(slots to the next one), among the large blocks O(all of them). */
KOLK_API void *kolk_heap_next(const kolk_heap *heap, const void *block);

/* The n-th class (from 0), or, for n_classes, the large and the guarded blocks. `asked` and `given` tell the waste:
 * they add up what some allocs asked for, one out of each time that a thread went to the depot, and what blocks they
 * got. */
typedef struct kolk_heap_class_stats {
    kolk_stats stats;
    uint64_t asked, given;
} kolk_heap_class_stats;

/* False: there is no such class, or it has not been used yet; *out is all zero but for its name and size. */
KOLK_API bool kolk_heap_class_of(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out);

/* The sums of all classes and of the others. `stride` and `object_size` are 0. */
KOLK_API void kolk_heap_stats(const kolk_heap *heap, kolk_stats *out);

/* Gives whole pages that no live block lies in back to the system, now, but for those of blocks that other threads have
 * at hand. Returns how many bytes memory had backed. Without it that is done for pages which nobody has used for a
 * second, by a thread that goes to a depot once in a while: so a heap that nobody uses keeps what it has. Large blocks
 * go back when they are freed. */
KOLK_API size_t kolk_heap_trim(kolk_heap *heap);

/* Checks every invariant of src/heap/heap.c, for tests; nobody may use the heap meanwhile. */
KOLK_API bool kolk_heap_is_valid(const kolk_heap *heap);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

KOLK_API kolk_status kolk_heap_init_abi(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi);

static inline kolk_status kolk_heap_init(kolk_heap *heap, const kolk_heap_desc *desc) {
    return kolk_heap_init_abi(heap, desc, sizeof *heap, KOLK_ABI);
}

#ifdef __cplusplus
}
#endif
#endif
