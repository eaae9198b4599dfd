/* SPDX-License-Identifier: Zlib */
/* kolk/heap.h: blocks of any size, from pools of a few sizes: big trays for luggage, little trays for pocket stuff. One
 * deinit frees a whole heap, and all heaps inside it.
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
 * Each size has its class, which is a pool for many threads (shared.h) with its own address space. So the class and the
 * slot of a block follow from its address, free needs no size, and blocks have no headers. A block of more than
 * KOLK_HEAP_LARGEST bytes gets its own pages from the system.
 *
 * A heap begins small. Its first blocks lie side by side in a nursery, in leaves of 1 KiB, of which all heaps of the
 * process take what they need. A class is made when the heap has allocated a thousand blocks of its size (fewer of more
 * than 256 bytes, none of more than 32 KiB), unless a limit leaves too few bytes for it to pay off. So there may be a
 * heap for each request, script, query or frame. A heap with settings, or with classes of its own, has no nursery. A
 * heap may live inside another one (`parent`), and ends with it.
 *
 * Cost      alloc and free are O(1): two dozen instructions without an atomic read-modify-write. About every 32nd call
 *           does one to three atomic operations. For the blocks of a nursery, they take a lock, which is one atomic
 *           operation; an alloc takes some 150 instructions, a free some 240. An alloc may have to search the nursery,
 *           which has at most 2 MiB if the heap can have classes, for a freed block. init and deinit take no system
 *           calls as long as the heap needs no class. The first use of a class, and a thread's first use of a heap that
 *           has classes, ask the system for memory. On average, none of this depends on the number of threads or heaps.
 *           But with more than eight heaps, two of them share one of the eight places where a thread looks first: if a
 *           thread alternates between these two, each change costs some 500 instructions. A large block costs up to
 *           three system calls, and takes a lock for a moment.
 * Memory    pages of the system. A heap takes 1 KiB, and 1 KiB more for its first block. Leaves that heaps return keep
 *           their memory for other heaps: about 4 MiB, or as much as all heaps use now, or a quarter of the most that
 *           they ever used, whichever is most. Waste: a block of up to 64 bytes has at most 15 bytes more than
 *           requested; a block of up to KOLK_HEAP_LARGEST wastes at most a fifth of its bytes. Metadata: 1 byte and 4
 *           bits per block (in a nursery 32 bytes per leaf), outside the blocks, where no write through a dangling
 *           pointer reaches it. That of a class with up to a thousand blocks takes one page. Of each class, a thread
 *           caches at most 256 free blocks and at most 64 KiB of them; but 64 blocks if they have at most 4 KiB, and
 *           one if they are larger than 64 KiB. That makes at most 4.2 MiB for all of kolk's own classes together. If
 *           the class has a max_capacity, a thread caches at most a 64th of that. Memory is committed as it is used.
 *           Pages of freed large blocks are kept for the next large blocks: at most half of the most bytes that large
 *           blocks ever had, but up to 128 MiB all of them, and 4 MiB in any case. They are inaccessible meanwhile,
 *           unless the heap would spend more than a 32nd of the time on that. The heap releases them when it frees a
 *           large block, or when a thread goes to a depot, after they have not been needed for a second (or less, if a
 *           class grows: see kolk_heap_trim). A heap with a limit keeps none, and neither does one on Windows. A class
 *           in use needs two memory mappings, and two more for gaps. Linux allows a process 65,530 mappings
 *           (vm.max_map_count), enough for some 300 heaps that use all of kolk's own sizes.
 * Addresses 16 GiB for the leaves of all heaps together. A heap that needs a class or a large block reserves 8 GiB of
 *           address space for each class, or less if the machine has less memory; 416 GiB for kolk's own classes. So a
 *           process with 128 TiB, as on x86-64, has room for some 300 heaps with classes at a time. Further ones go on
 *           with their nurseries, but get no large blocks. For more heaps with classes, set a limit, or use fewer
 *           classes. With a limit, a class gets at most 2.2 times the limit, so that there is room for ten thousand
 *           heaps of 64 MiB each.
 * Ended     when a heap with classes ends, the process keeps the pages of its classes for the next such heaps: at most
 *           64 MiB of blocks, and of at most eight heaps. They stay accessible, and make way if the system refuses
 *           other memory to a heap. Once no heap has needed half of them for a second, they are released by the next
 *           such heap that begins or ends, or by a thread that goes to a depot. So a process whose last heap with
 *           classes has ended keeps them until kolk_heap_trim or kolk_trim_all (budget.h). A heap with settings, with
 *           classes of its own, or with a limit or budget, also of a parent, releases all at its end, so that a later
 *           use of its blocks crashes. So does any heap where addresses are limited (ulimit -v or -d).
 * Alignment 16 bytes; alloc_aligned gives any power of two.
 * Contents  a new block has bytes of earlier blocks, or zeroes. free does not change the block.
 * Checks    free, realloc and usable_size check the pointer in every build. If it is not from this heap, is not the
 *           start of a block, or is already free, this bug is reported to the failure handler.
 * Guards    with the debug setting sample=1000, about one block in 1,000 is a guarded block. Only blocks of a class can
 *           be guarded, if they have at most 256 KiB and an alignment of at most a page. An inaccessible page lies
 *           before a guarded block, and another one begins at its end (rounded up to 16 or its alignment), so an
 *           overflow crashes the program at that very instruction. So does a use after free, because a freed block's
 *           pages stay inaccessible until at least 64 other guarded blocks have been freed. Until then a double free of
 *           it is reported, with the calls that allocated and freed it. Each thread counts its allocs; the distances
 *           between samples are random. At most 256 guarded blocks are alive at a time. Beyond that, or without memory
 *           within the limit, the alloc returns an ordinary block. Guarded blocks are counted among the large blocks,
 *           not in their class, and their pages count towards the limit. Cost: nothing for other allocs, some 75
 *           instructions for a free, about two system calls for a guarded block, and 80 MiB of address space. Without
 *           the setting there is no cost.
 * Family    children end before their parent, the newest first; then the functions of kolk_heap_on_end are
 *           called. The bytes of a child count towards its own limit and those of all heaps that it lives inside.
 *           Several threads may init and deinit children of one heap at the same time. A child's struct must exist as
 *           long as the child; it may lie in a block of its parent.
 * Settings  a heap that has debug settings, or that is made while KOLK_DEBUG or KOLK_FAIL is set, has no nursery. With
 *           `sites`, the deinit of a heap without a parent reports live blocks (KOLK_LEAK). The end of a child and a
 *           reset do not, because blocks that end together need not be freed one by one.
 * Threads   any number of threads may call any function at the same time, except init, deinit, reset and is_valid. A
 *           block may be freed by another thread. When a thread ends, its cached blocks return to the depot. After the
 *           deinit of the last heap, threads that end no longer call kolk. So a library that contains kolk may then be
 *           unloaded, unless a thread is ending at that moment. Signal handlers must not call these functions. A fork's
 *           child can continue to use the heap, and recovers the blocks that other threads had cached. It loses blocks
 *           that were on their way between threads and depots: some dozens, or up to 4,096 of one class if a thread was
 *           just releasing memory.
 * Tools     under sanitizers and memcheck, or with KOLK_BYPASS=1, each block is a malloc block of exactly the requested
 *           size. There are no classes then, and no debug settings; the limit still applies.
 * Design    the essay in src/heap/heap.c. In freestanding builds, and on 32-bit machines, there are only fixed heaps
 *           (Trays on your memory); init returns KOLK_NO_MEMORY for others.
 */
#ifndef KOLK_HEAP_H
#define KOLK_HEAP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

#define KOLK_HEAP_LARGEST UINT32_C(262144) /* block size of the largest of kolk's own classes, in bytes */
#define KOLK_HEAP_CLASSES 64u              /* the most classes that a heap may have */

/* The behaviour of an alloc whose class is full. */
typedef enum kolk_heap_when_full {
    KOLK_HEAP_NEXT = 0, /* it takes a block of the next larger class that has one, or else gets its own pages */
    KOLK_HEAP_NULL      /* it returns NULL */
} kolk_heap_when_full;

/* A tray: blocks of one size. 0 means the default, except for size. */
typedef struct kolk_heap_class {
    /* For reports and statistics; copied. NULL: the heap's name, a slash, and the size; or the heap's name alone if it
     * is longer than 20 bytes. */
    const char *name KOLK_OR_0_;
    size_t size KOLK_OR_0_;       /* bytes of a block, at most 2^30; rounded up to a multiple of 16 */
    uint32_t capacity KOLK_OR_0_; /* blocks whose memory is committed from the start; 0: none */
    /* the class can grow to this; 0: capacity, or, if that is 0 too, 8 GiB or the machine's memory */
    uint32_t max_capacity KOLK_OR_0_;
    kolk_heap_when_full when_full KOLK_OR_0_;
} kolk_heap_class;

struct kolk_heap;

/* Zero means the default for all members. */
typedef struct kolk_heap_desc {
    const char *name KOLK_OR_0_; /* for reports and statistics; copied; NULL: none */
    /* The most bytes that its blocks may take, including free blocks that have memory; 0: no limit. Near the limit, an
     * alloc releases free memory first, once enough was freed for that to be worth it. */
    uint64_t limit KOLK_OR_0_;
    /* The bytes of its blocks count towards it (budget.h); NULL: none. A heap inside another one counts towards that
     * one's. */
    struct kolk_budget *budget KOLK_OR_0_;
    const char *debug KOLK_OR_0_; /* settings, as in shared pools (base.h); KOLK_DEBUG may name a class: "level/64" */
    /* The classes, in ascending order of size; read only during init. NULL: kolk's own classes, four for each doubling
     * of the size. A block that is larger than the last class gets its own pages. */
    const kolk_heap_class *classes KOLK_OR_0_;
    uint32_t n_classes KOLK_OR_0_; /* 0 if `classes` is NULL */
    /* Called before an alloc or realloc of `bytes` bytes returns NULL. If it returns true, it may have made room, and
     * the call is tried once more. If it returns false, the call returns NULL. The hook may use the heap; an alloc
     * inside it does not call it again. A thread may be inside the hooks of eight heaps at a time. See Hooks
     * below. */
    bool (*on_full)(struct kolk_heap *heap, size_t bytes, void *context) KOLK_OR_0_;
    void *context KOLK_OR_0_;
    /* The heap inside which the new one lives; NULL: none. The new heap ends at the latest when its parent ends or is
     * reset, and its bytes count towards the limits of all heaps inside which it lives. */
    struct kolk_heap *parent KOLK_OR_0_;
    void *memory KOLK_OR_0_;       /* see Trays on your memory; NULL: pages of the system */
    size_t memory_size KOLK_OR_0_; /* bytes of memory */
} kolk_heap_desc;

/* ---- Struct ------------------------------------------------------------------------------------------------------ */

/* A zero-initialised heap has no memory. Never copy or move a heap once it is initialised. */
typedef struct kolk_heap {
    uintptr_t base; /* where the address space of all classes begins */
    uint64_t id;    /* unique in the process for ever; 0: none */
    uint32_t n_classes;
    uint32_t place;                   /* where threads look for it first */
    uint32_t number;                  /* number in the registry; 0: not registered */
    uint8_t class_shift;              /* each class has 1 << class_shift bytes of address space */
    uint8_t by_size[65];              /* the class of blocks of up to 16 * n bytes */
    uint8_t by_quarter[80];           /* larger sizes: the first class to try, by quarters of doublings from 1,024 */
    struct kolk_heap_inside_ *inside; /* the classes and large blocks; NULL: none was needed so far */
    struct kolk_heap_root_ *root;     /* all else; NULL in a fixed heap */
    struct kolk_fixed_ *fixed;        /* the trays on the caller's memory; else NULL */
} kolk_heap;

/* Hooks are on_full and the functions of kolk_heap_on_end. They must return, and may call anything, except that a hook
 * must neither end nor reset its own heap or one that its heap lives inside. To try that is a bug of the caller
 * (KOLK_IN_HOOK), and changes nothing. */

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the heap is left all zero. Usually
 * takes no system call, unless the descriptor has classes or settings. */
KOLK_FOLDED_INLINE_ kolk_status kolk_heap_init(kolk_heap *heap, const kolk_heap_desc *desc);

/* Frees all blocks at once, and keeps their memory for new ones; large and guarded blocks are freed as by `free`. All
 * heaps inside this one end, and functions added by kolk_heap_on_end are called, before that. No thread may use the
 * heap meanwhile. Afterwards all threads may use it as before, but no longer the old blocks: a free of an old small
 * block is reported as a double free, until a new block takes its slot. O(the most blocks that were ever alive at a
 * time), but with a small constant: 0.3 ns a block. In debug mode, it frees the blocks one by one. */
KOLK_USES_(1) void kolk_heap_reset(kolk_heap *heap);

/* Frees the heap with all of its blocks, after all heaps inside it, whose structs become all zero. No thread may use
 * any of these any more. If pages are kept: O(the most blocks that were ever alive at a time), but with a small
 * constant, 0.2 ns a block. */
KOLK_USES_(1) void kolk_heap_deinit(kolk_heap *heap);

/* For hot reload: replaces on_full, context and name, and the names of classes if they are given. The other members
 * must be 0, or as they were at the init; `debug` is ignored. Otherwise changes nothing and returns
 * KOLK_LAYOUT_CHANGED, KOLK_MOVED, KOLK_IN_HOOK, or KOLK_CLOSED if the heap is all zero. No thread may be inside a
 * call. Functions that were added with kolk_heap_on_end stay: they must not lie in a module that is unloaded before the
 * heap ends. */
KOLK_FOLDED_INLINE_ kolk_status kolk_heap_rebind(kolk_heap *heap, const kolk_heap_desc *desc);

/* Calls function(context) when the heap ends or is reset, before its blocks do: to close a file, for example. The
 * functions are called in reverse order, the last added first, and only once. They may use the heap. Returns false if
 * there is no memory; the function is not called then. */
KOLK_USES_(1) bool kolk_heap_on_end(kolk_heap *heap, void (*function)(void *context), void *context);

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* Returns a block of at least `size` bytes (0 counts as 1), aligned to 16. NULL: there is no memory, the limit is
 * reached, or the class is full and set to KOLK_HEAP_NULL. Blocks that other threads have cached count as used. */
KOLK_USES_(1) void *kolk_heap_alloc(kolk_heap *heap, size_t size);

/* The same; the first `size` bytes of the block are 0. */
KOLK_USES_(1) void *kolk_heap_alloc_zeroed(kolk_heap *heap, size_t size);

/* The same, aligned to a power of two. Returns NULL if `align` is not a power of two. */
KOLK_USES_(1) void *kolk_heap_alloc_aligned(kolk_heap *heap, size_t align, size_t size);

/* Resizes the block to `size` bytes. It stays where it is if `size` fits into the block and is more than half of it, or
 * if `size` fits and the block has at most 64 bytes. Otherwise its contents move, or the system moves the pages of a
 * large block. A large block releases the pages that it no longer needs. If `block` is NULL, allocates. Returns NULL if
 * there is no memory; the block is unchanged then. A block that moves loses the alignment of alloc_aligned. */
KOLK_USES_(1) void *kolk_heap_realloc(kolk_heap *heap, void *block, size_t size);

/* Frees a block of this heap; any thread may have allocated it. Does not change errno. NULL does nothing. Any other
 * pointer is a bug of the caller and is reported. If two threads free the same block at the very same moment, this may
 * go unnoticed: see kolk_shared_free in shared.h. */
KOLK_USES_(1) void kolk_heap_free(kolk_heap *heap, void *block);

/* Allocates up to n blocks of at least `size` bytes each, as kolk_heap_alloc does, and returns how many. If these are
 * fewer than n, kolk_heap_alloc would return NULL for the next one. on_full is called for each block that finds no
 * room. It must not free the blocks of this call, which walks already visit. For sizes of a class, whole words of
 * blocks come from the depot, past the thread's cache, which costs about half of n single calls. Otherwise this is a
 * loop: in debug mode, with sample, for large blocks, and from the nursery. */
KOLK_USES_(1) size_t kolk_heap_alloc_n(kolk_heap *heap, size_t size, void **blocks, size_t n);

/* Frees n blocks, of any sizes, in the order of the array, each as kolk_heap_free does; NULL entries are skipped. Does
 * not change errno, nor the array. A pointer that kolk_heap_free would refuse, or that is in the array twice, is
 * reported as there, and the others are freed all the same. (If the failure handler jumps out, the blocks behind that
 * pointer stay alive.) This costs less than n single calls. It saves most for many blocks of one size in a row, more
 * than a thread caches, in about the order of their allocation. */
KOLK_USES_(1) void kolk_heap_free_n(kolk_heap *heap, void *const *blocks, size_t n);

/* Returns how many bytes the block has: at least the requested size. All of them may be used. Returns 0 for NULL. Any
 * other pointer that is not a live block is reported; the result is then 0. */
KOLK_USES_(1) size_t kolk_heap_usable_size(kolk_heap *heap, const void *block);

/* ---- Questions --------------------------------------------------------------------------------------------------- */

/* Is this the start of a live block of this heap? Any pointer is allowed. */
KOLK_API_ bool kolk_heap_is_live(const kolk_heap *heap, const void *block);

/* Returns the next live block after this one, which may have been freed since. NULL begins the walk, and NULL ends it.
 * The order is: the nursery's blocks by address; then those of the classes by class and address; then guarded blocks;
 * then large ones. Blocks that other threads allocate or free during the walk may or may not be visited. A step is
 * O(slots to the next block); in a nursery O(its leaves); among large blocks O(all of them). A pointer into a class's
 * addresses that is not one of its blocks is a bug of the caller; the result is NULL. */
KOLK_API_ void *kolk_heap_next(const kolk_heap *heap, const void *block);

/* Statistics of one class, with the nursery's blocks of its size. `asked` and `given` show the waste: the bytes that
 * sampled allocs requested, and the bytes of the blocks that they got. A thread samples one alloc each time it goes to
 * the depot; a fixed heap samples the allocs that raise the peak. Allocs from a nursery are not sampled, so both are 0
 * until the size has its class. The peak is the class's plus the nursery's, which counts to 65,535. */
typedef struct kolk_heap_class_stats {
    kolk_stats stats;
    uint64_t asked, given;
} kolk_heap_class_stats;

/* Classes are numbered from 0; n == n_classes selects the large and the guarded blocks, whose bytes include the pages
 * that are kept of freed ones. Returns false if there is no such class, or if it has not been used yet; *out is then
 * all zero except for its name and size. As long as the heap has no classes, all have the heap's name. */
KOLK_API_ bool kolk_heap_stats_of_class(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out);

/* The sums over all classes, large blocks and guarded blocks. `stride` and `object_size` are 0. */
KOLK_API_ void kolk_heap_stats(const kolk_heap *heap, kolk_stats *out);

/* Releases whole pages without live blocks to the system immediately, except pages with blocks that other threads have
 * cached. Released pages no longer count towards limits and budgets. Returns how many of their bytes had been backed by
 * memory, as mincore says, which a sandbox may not support; pages that were kept of freed large blocks and of ended
 * heaps all count.
 *
 * Without this call, threads that go to a depot release the pages that have not been used for a second. That time is
 * 10 ms when a class grows, or longer in a large heap. So a heap that no thread uses keeps its memory. A nursery keeps
 * the leaves between its live blocks until this call, or until a limit needs them. */
KOLK_USES_(1) size_t kolk_heap_trim(kolk_heap *heap);

/* Checks every invariant of src/heap/heap.c, for tests; no other thread may use the heap meanwhile. */
KOLK_API_ bool kolk_heap_is_valid(const kolk_heap *heap);

/* ---- Trays on your memory ------------------------------------------------------------------------------------------
 *
 * A fixed heap lives in memory that you provide, and never asks a system for more: for microcontrollers, and wherever
 * the most that is ever needed is known in advance. It also works in freestanding builds and on 32-bit machines.
 *
 *     static const kolk_heap_class trays[] = {{.size = 32, .capacity = 100}, {.size = 160, .capacity = 20}};
 *     static KOLK_ALIGNAS(16) unsigned char
 *         memory[KOLK_HEAP_BYTES + KOLK_HEAP_TRAY_BYTES(32, 100) + KOLK_HEAP_TRAY_BYTES(160, 20)];
 *
 *     kolk_heap_init(&heap, &(kolk_heap_desc){
 *         .classes = trays, .n_classes = 2, .memory = memory, .memory_size = sizeof memory});
 *
 *     .memory     aligned to 16; it need not be zero. It must exist until deinit, and hold neither the kolk_heap nor
 *                 the array of classes.
 *     .classes    must be given, each with a capacity of at most 2^24. No class grows.
 *     .when_full  KOLK_HEAP_NEXT: if the tray is full, alloc takes a block of the next larger tray that has one.
 *
 * There are no large blocks: an alloc that no tray can serve returns NULL, after on_full has been called. A block of a
 * size that is a multiple of 32 or 64 is aligned to that. Each tray hands out its lowest free block. A realloc to a
 * smaller size never fails: the block stays where it is if no smaller tray has one. All classes count as used; those
 * without a name have the heap's.
 *
 * Cost      alloc and free are O(1): a step for each factor of 64 in the tray's capacity, and for a full tray one step
 *           to the next. free finds the tray in log2(trays) steps. Neither loops over blocks.
 * Memory    a bit and a 63rd of a bit for each block, outside the blocks; a record for each tray.
 * Contents  a new block has the bytes that the memory had before. Under sanitizers and memcheck, free blocks must not
 *           be touched; blocks have the sizes of their trays.
 * Threads   one thread at a time; an interrupt handler counts as another thread.
 * Limits    `limit`, `budget` and `parent` must be 0. Debug settings and KOLK_FAIL have no effect. kolk_heap_on_end
 *           returns false, and kolk_heap_trim returns 0. */

/* How many bytes of memory a fixed heap with these classes needs: the sum of the macros below. It may be called before
 * any init. Returns 0 if the descriptor is bad; memory and memory_size are not checked. */
KOLK_API_ size_t kolk_heap_memory_size(const kolk_heap_desc *desc);

/* The same as constants: for the heap, and for each tray. */
/* clang-format off */
#define KOLK_HEAP_BYTES KOLK_ROUND_UP_(16 + 4 * sizeof(void *), 8)
#define KOLK_HEAP_TRAY_BYTES(size, capacity)                                                                           \
    (KOLK_TRAY_RECORD_ + 8 * KOLK_TRAY_WORDS_(capacity) + KOLK_TRAY_ALIGN_(KOLK_ROUND_UP_(size, 16)) - 8 +             \
     KOLK_ROUND_UP_(size, 16) * KOLK_SIZE_(capacity))
/* clang-format on */

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

#define KOLK_TRAY_RECORD_      KOLK_ROUND_UP_(48 + 7 * sizeof(void *), 8)
#define KOLK_TRAY_ALIGN_(size) ((size) % 64 == 0 ? 64 : (size) % 32 == 0 ? 32 : 16)
/* The words of all levels above this many blocks: a level's last word is alone. */
#define KOLK_TRAY_LEVEL_(n)  ((KOLK_SIZE_(n) + 63) / 64)
#define KOLK_TRAY_LEVEL2_(n) ((KOLK_SIZE_(n) + 4095) / 4096)
#define KOLK_TRAY_LEVEL3_(n) ((KOLK_SIZE_(n) + 262143) / 262144)
#define KOLK_TRAY_WORDS_(n)                                                                                            \
    (KOLK_TRAY_LEVEL_(n) + (KOLK_TRAY_LEVEL_(n) > 1) * KOLK_TRAY_LEVEL2_(n) +                                          \
     (KOLK_TRAY_LEVEL2_(n) > 1) * KOLK_TRAY_LEVEL3_(n) + (KOLK_TRAY_LEVEL3_(n) > 1))

KOLK_API_ kolk_status kolk_heap_init_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size, uint32_t abi);

KOLK_FOLDED_INLINE_ kolk_status kolk_heap_init(kolk_heap *heap, const kolk_heap_desc *desc) {
    return kolk_heap_init_abi_(heap, desc, sizeof *heap, KOLK_ABI);
}

KOLK_API_ kolk_status kolk_heap_rebind_abi_(kolk_heap *heap, const kolk_heap_desc *desc, size_t heap_size,
                                            uint32_t abi);

KOLK_FOLDED_INLINE_ kolk_status kolk_heap_rebind(kolk_heap *heap, const kolk_heap_desc *desc) {
    return kolk_heap_rebind_abi_(heap, desc, sizeof *heap, KOLK_ABI);
}

#ifdef __cplusplus
}
#endif
#endif
