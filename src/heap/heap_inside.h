/* heap_inside.h: what the files of the heap share, floor by floor from below; heap.c tells which floors there are. */
#ifndef KOLK_SRC_HEAP_INSIDE_H
#define KOLK_SRC_HEAP_INSIDE_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, also in a program that is compiled with it */
#include "kolk/heap.h"

#include "../core/atomics.h"
#include "../diag/debug.h"
#include "../shared/part.h"
#include "guarded.h"
#include "large.h"

/* One class: a pool of blocks of one size, which is made when the first of them is asked for. */
typedef struct kolk_heap_tray {
    kolk_shared pool;
    uint32_t is_made; /* the pool is complete */
    uint32_t size;    /* of a block */
    uint32_t capacity, max_capacity;
    uint32_t cache; /* of a magazine */
    kolk_heap_when_full when_full;
    const char *name;
    char own_name[32];     /* if the user has given none */
    uint64_t asked, given; /* bytes of the allocs that left the fast path */
} kolk_heap_tray;

/* One thread in one heap. The magazine of a class that it has not used yet has no slots, and no free takes the fast
 * path there. */
typedef struct kolk_heap_thread {
    kolk_member member;
    uintptr_t room;                                  /* behind this struct, for further magazines */
    bool asks;                                       /* on_full runs */
    uint32_t turns;                                  /* how often it was off the fast path */
    uint64_t flushed;                                /* when the last sweep was, as it put all into the depots */
    uint64_t random;                                 /* heap_guarded.c tells; 0: not drawn yet */
    int64_t until;                                   /* allocs before the next guarded block */
    bool is_turn;                                    /* the next one gets it */
    kolk_magazine *magazines[KOLK_HEAP_CLASSES + 1]; /* of a size that has no class, the last */
} kolk_heap_thread;

typedef struct kolk_heap_inside kolk_heap_inside;

struct kolk_heap_inside {
    kolk_heap *heap;
    const char *name, *debug;
    bool (*on_full)(kolk_heap *heap, size_t size, void *context);
    void *context;
    unsigned char *space; /* all address space of the classes; heap->base is in it */
    size_t space_size;
    size_t thread_size; /* bytes of a kolk_heap_thread and all of its magazines */
    uint32_t lock;      /* of making classes */
    uint32_t forks;     /* in which process it was made, or what others had at hand was found */
    bool serves_malloc;
    uint64_t limit;    /* bytes; 0: none */
    uint64_t budget;   /* of these, what may still be taken */
    uint64_t failed;   /* allocs that gave NULL */
    uint64_t swept;    /* when memory was given back last, by kolk_now_ns */
    uint32_t sweeping; /* lock */
    kolk_members members;
    kolk_large large;
    uint32_t sample; /* N of sample=N: of N allocs, one gets a guarded block; 0: none does */
    kolk_guarded guarded;
    kolk_heap_inside *next;                /* of the process's heaps */
    uint32_t sizes[KOLK_HEAP_CLASSES + 1]; /* of the classes' blocks, and behind them UINT32_MAX */
    kolk_heap_tray trays[KOLK_HEAP_CLASSES];
};

/* ---- heap_class.c: sizes ----------------------------------------------------------------------------------------- */

/* Fills in the trays' sizes, capacities and names, and the heap's tables. */
kolk_status kolk_heap_set_classes(kolk_heap *heap, kolk_heap_inside *inside, const kolk_heap_desc *desc);

#define KOLK_HEAP_GRAIN    16u        /* each size is a multiple of it */
#define KOLK_HEAP_BY_SIZE  1024u      /* up to here a table has a class for each */
#define KOLK_HEAP_GREATEST (1u << 30) /* bytes of a block of a class */

/* The class of blocks of this size; n_classes if it is larger than all. The heap is not all zero. */
static inline uint32_t kolk_heap_class_for(const kolk_heap *heap, size_t size) {
    if (size <= KOLK_HEAP_BY_SIZE) return heap->by_size[(size + KOLK_HEAP_GRAIN - 1) / KOLK_HEAP_GRAIN];
    if (size > KOLK_HEAP_GREATEST) return heap->n_classes;
    unsigned doubling = 63 - (unsigned)__builtin_clzll(size - 1);
    uint32_t n = heap->by_quarter[(doubling - 10) * 4 + ((size - 1) >> (doubling - 2) & 3)];
    while (heap->inside->sizes[n] < size) n++;
    return n;
}

/* The same, of blocks that are aligned to a power of two. */
uint32_t kolk_heap_class_aligned(const kolk_heap *heap, size_t align, size_t size);

/* The class whose address space this is; n_classes or more: of none. */
static inline uintptr_t kolk_heap_class_at(const kolk_heap *heap, const void *block) {
    return ((uintptr_t)block - heap->base) >> heap->class_shift;
}

/* Bytes of the first sixteenth of a class's address space; the first slot is somewhere in there. */
static inline uint64_t kolk_heap_colours(unsigned class_shift) {
    return UINT64_C(1) << (class_shift - 4);
}

/* The pool of a class, made now if need be; NULL: there is no memory for it. */
kolk_shared *kolk_heap_make_class(kolk_heap *heap, uint32_t n);

/* The pool of the class that this block is of; NULL: of none that was ever used. */
kolk_shared *kolk_heap_pool_of(const kolk_heap *heap, const void *block);

/* ---- heap_thread.c: threads -------------------------------------------------------------------------------------- */

/* The heaps that a thread has used last, by their numbers; where there is none, a thread that has no slots. */
typedef struct kolk_near_heap {
    uint64_t id;
    kolk_heap_thread *thread;
} kolk_near_heap;

#define KOLK_NEAR_HEAPS 8u
#define KOLK_FIRST_HEAP 1u /* the place of the first heap of the process */

extern _Thread_local kolk_near_heap kolk_near_heaps[KOLK_NEAR_HEAPS] __attribute__((tls_model("initial-exec")));
extern kolk_heap_thread kolk_no_heap_thread;

static inline kolk_heap_thread *kolk_heap_near(const kolk_heap *heap) {
    const kolk_near_heap *near_heap = &kolk_near_heaps[heap->place];
    return KOLK_UNLIKELY(near_heap->id != heap->id) ? &kolk_no_heap_thread : near_heap->thread;
}

/* Bytes of a thread's record with a magazine of each class. */
size_t kolk_heap_thread_size(const kolk_heap *heap, const kolk_heap_inside *inside);

/* The calling thread in this heap, which is not all zero; NULL: there is no memory for it. */
kolk_heap_thread *kolk_heap_thread_of(kolk_heap *heap);

/* Puts what the calling thread has at hand into the depots. */
void kolk_heap_flush(kolk_heap_inside *inside, kolk_heap_thread *thread);

/* Its magazine of a class whose pool is made. */
kolk_magazine *kolk_heap_magazine(kolk_heap_thread *thread, kolk_heap_inside *inside, uint32_t n);

/* In a fork's child, once: what threads had that are not there goes to the depots; true: so there may be more now. */
bool kolk_heap_reclaim_after_fork(kolk_heap_inside *inside);

/* Lists a heap, so that threads that end give back what they have of it; takes it off the list. */
bool kolk_heap_list(kolk_heap_inside *inside);
void kolk_heap_unlist(kolk_heap_inside *inside);
void kolk_heap_end_threads(kolk_heap_inside *inside);

/* ---- heap_ask.c -------------------------------------------------------------------------------------------------- */

/* Says what is wrong with a pointer that is no live block. */
void kolk_heap_refuse(const kolk_heap *heap, const void *block, const char *verb, const void *site);

/* Usable bytes of a live block; 0: it is none. */
size_t kolk_heap_size_of(const kolk_heap *heap, const void *block);

/* ---- heap_large.c ------------------------------------------------------------------------------------------------ */

/* NULL: there is no memory, or the limit is reached. */
void *kolk_heap_alloc_large(kolk_heap_inside *inside, size_t align, size_t size);

/* False: it is no large block. */
bool kolk_heap_free_large(kolk_heap_inside *inside, void *block);

/* Gives a large block, which has `before` bytes, this size; it may move. NULL: it is as it was. */
void *kolk_heap_resize_large(kolk_heap_inside *inside, void *block, size_t before, size_t size);

/* ---- heap_guarded.c ---------------------------------------------------------------------------------------------- */

/* From now on, of `sample` allocs one gets a guarded block. None does if it is 0, or if there is no memory. */
void kolk_heap_begin_guarded(kolk_heap_inside *inside, uint32_t sample);

/* A guarded block, if it is the calling thread's turn to get one. NULL: it gets another block. */
void *kolk_heap_sample(kolk_heap *heap, size_t align, size_t size, const void *site);

/* Counts what an alloc off the fast path did: the magazine had `before` slots, and has `now`. */
static inline void kolk_heap_count_alloc(kolk_heap_thread *thread, uint32_t before, uint32_t now) {
    thread->until -= 1 + (int64_t)now - before;
}

/* Counts what a free did, in a heap that samples. The magazine had `before` slots. */
void kolk_heap_count_free(const kolk_heap_inside *inside, kolk_heap_thread *thread, kolk_local *local, uint32_t before);

/* False: it is no live guarded block. */
bool kolk_heap_free_guarded(kolk_heap_inside *inside, const void *block, const void *site);

/* Says what is wrong with failure.object. False: it does not point into the last block of a guarded slot. */
bool kolk_heap_refuse_guarded(const kolk_heap_inside *inside, kolk_failure failure, const char *verb);

/* ---- heap_trim.c: memory goes back to the system ----------------------------------------------------------------- */

/* For a thread that is off the fast path anyway: at times a sweep, if the last one was a while ago. */
void kolk_heap_decay(kolk_heap_inside *inside, kolk_heap_thread *thread);

/* ---- heap.c, heap_resize.c: by the caller at `site` -------------------------------------------------------------- */

/* Asks on_full, if this thread is not in it already; true: the alloc or realloc is to be tried once more. */
bool kolk_heap_ask_for_room(kolk_heap *heap, size_t size);

/* Off the fast paths of heap_fast.h. A heap that is all zero gives NULL. */
void *kolk_heap_alloc_slow(kolk_heap *heap, size_t align, size_t size, const void *site);
void kolk_heap_free_slow(kolk_heap *heap, void *block, const void *site);

void *kolk_heap_alloc_at(kolk_heap *heap, size_t size, const void *site);
void *kolk_heap_realloc_at(kolk_heap *heap, void *block, size_t size, const void *site);
void kolk_heap_free_at(kolk_heap *heap, void *block, const void *site);

/* Makes a block that was just allocated, which may be NULL, read as 0, and returns it. */
void *kolk_heap_zero(const kolk_heap *heap, void *block, size_t size);

/* ---- heap_memory.c ----------------------------------------------------------------------------------------------- */

/* kolk_heap_init for a heap that serves malloc: whatever tools there are, its blocks never come from malloc. */
kolk_status kolk_heap_init_for_malloc(kolk_heap *heap, const kolk_heap_desc *desc);

#endif
