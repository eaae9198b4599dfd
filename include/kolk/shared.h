/* kolk/shared.h: one pool of objects that never move, for many threads. Each thread works through a kolk_local of its own;
 * an object may be freed by another thread than the one that allocated it.
 *
 *     #include <kolk/kolk.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     struct message { int number; };
 *     KOLK_SHARED_TYPE(messages, struct message)
 *
 *     static messages pool;                                           // all zero
 *
 *     static void *work(void *argument) {
 *         messages_local local;
 *         if (messages_local_init(&local, &pool) != KOLK_OK) return argument;
 *         for (int i = 0; i < 1000; i++) {
 *             struct message *message = messages_alloc(&local);
 *             if (!message) break;                                    // a hundred are alive
 *             message->number = i;
 *             messages_free(&local, message);
 *         }
 *         messages_local_deinit(&local);
 *         return argument;
 *     }
 *
 *     int main(void) {
 *         if (messages_init(&pool, &(kolk_shared_desc){.name = "messages", .capacity = 100}) != KOLK_OK) return 1;
 *         pthread_t threads[2];
 *         for (int i = 0; i < 2; i++)
 *             if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
 *         for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
 *         printf("%u\n", messages_count(&pool));                      // 0
 *         messages_deinit(&pool);
 *     }
 *
 * (messages_... come from typed.h: the same functions as below, with your type for void *.)
 *
 * A thread keeps up to `cache` free slots at hand, of which it gives and takes without a word to the others. Only when it
 * has none, or too many, does it fetch or bring home some dozens in one atomic step.
 *
 * Cost      alloc, free and get are O(1): a dozen instructions without an atomic read-modify-write; every some dozens of
 *           them, one or a few of these, and a look at one word for 4096 slots at worst.
 * Memory    pages of the system. An object costs its stride, 1 bit, and 4 bytes (1 without handles). Besides, slots for
 *           (max_threads - 1) * cache objects more than max_capacity, by default at most a quarter of it (or max_threads - 1
 *           in a small pool): so much may lie in other threads' caches.
 * Capacity  with up to max_threads locals, `capacity` objects can be alive at any time, and perhaps up to (max_threads - 1)
 *           * cache more. So NULL means: at one moment of the call, at least `capacity` objects were alive (or the system had
 *           no memory for the pool to grow).
 * Contents  alloc gives what the last life left, or zeroes: initialise all of it. free leaves the object as it is.
 * Threads   a kolk_local is one thread's; the functions of kolk_shared may be called by any number of threads at a time, but
 *           for init, deinit and is_valid. alloc, free and get are lock-free (an alloc that grows the pool asks the system
 *           under a lock). What was written to an object before its free is seen by who allocates it next.
 * Design    the essay in src/shared.c. Not in freestanding builds.
 */
#ifndef KOLK_SHARED_H
#define KOLK_SHARED_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor ---------------------------------------------------------------------------------------------------- */

/* Zero means default for all but object_size. */
typedef struct kolk_shared_desc {
    const char *name; /* for reports, statistics and the default tag; must outlive the pool; NULL: none */
    size_t object_size;
    /* A power of two up to 4096. 0: the largest that divides object_size, at most 16. */
    size_t object_align;
    uint32_t capacity;     /* objects that can always be alive before the pool has to grow; 0: none */
    uint32_t max_capacity; /* grows up to it, in place; 0: capacity */
    uint32_t max_threads;  /* locals at a time; 0: 16 */
    uint32_t cache;  /* slots that a thread may keep at hand, up to 2^28; 0: 192, or less so that all of them but one
                            * thread's are at most a quarter of max_capacity, but at least 1 */
    uint32_t tag;    /* of handles; 0: a hash of the name */
    bool no_handles; /* 1 byte a slot instead of 4 */
    bool exact;      /* two threads that free one object at the very same moment: see kolk_local_free */
} kolk_shared_desc;

/* ---- Structs: nothing to read; ask the functions ------------------------------------------------------------------- */

/* What a thread has at hand. It lives in the pool. */
typedef struct kolk_magazine {
    unsigned char *slots;
    uint32_t *lives;      /* of each slot: how often one began or ended; odd: it is alive. NULL: they are in bytes */
    uint8_t *short_lives; /* ... */
    uintptr_t inverse;
    uint32_t stride, bound; /* free leaves the fast path from here on */
    uint32_t top, bottom;   /* free slots: entries from bottom to top, which run on for ever */
    uint32_t mask, cache;
    uint8_t shift;
    bool taken;        /* by a local */
    uint32_t place;    /* in the pool: where it searches first */
    uint32_t *entries; /* mask + 1 */
    KOLK_ALIGNAS(8) uint64_t failed;
} kolk_magazine;

/* A thread's way into the pool. */
typedef struct kolk_local {
    kolk_magazine *magazine;
    struct kolk_shared *pool;
} kolk_local;

/* The parts that different threads write are 128 bytes apart, so that processors don't take them from each other for
 * nothing. All zero is a pool that no local can be made for. Never copy or move it once initialised. */
typedef struct kolk_shared {
    unsigned char *slots;
    uint32_t *lives; /* as in kolk_magazine */
    uint8_t *short_lives;
    uint64_t *words;   /* 1 bit a slot that is free and at home; 1 << word_shift of them in each */
    uint64_t *summary; /* 1 bit a word that is not 0 */
    unsigned char *magazines;
    size_t magazine_size;
    uintptr_t inverse;
    uint32_t stride, object_size, tag;
    uint32_t capacity, max_capacity; /* objects; slots are `slack` more */
    uint32_t slack, max_threads, cache;
    uint32_t usable; /* slots that are committed */
    uint32_t lock;   /* of growth, and of who has which magazine */
    uint32_t number; /* in the registry; 0: it is not there */
    uint8_t shift, word_shift, memory;
    bool no_handles, exact;
    const char *name;
    unsigned char *block;
    size_t block_size;
    unsigned char apart[128];
    uint32_t fresh; /* slots from here on were never handed out; only advances */
    unsigned char apart_too[128];
    uint32_t returns; /* how often slots have come home */
    uint32_t wrong_pool;
    unsigned char apart_again[128];
} kolk_shared;

/* ---- Life ------------------------------------------------------------------------------------------------------------ */

/* Anything but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves it all zero. */
static inline kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc);

/* Nobody may use the pool any more: all locals are gone, or will not be used again. */
KOLK_API void kolk_shared_deinit(kolk_shared *pool);

/* Makes a local, for the calling thread. KOLK_TOO_MANY_THREADS: there are max_threads; then it is all zero, and nothing may
 * be allocated or freed by it. */
KOLK_API kolk_status kolk_local_init(kolk_local *local, kolk_shared *pool);

/* Brings its free slots home, and leaves the local all zero. What it has allocated stays alive. */
KOLK_API void kolk_local_deinit(kolk_local *local);

/* Brings its free slots home: before the thread sleeps for long. */
KOLK_API void kolk_local_flush(kolk_local *local);

/* ---- Objects --------------------------------------------------------------------------------------------------------- */

/* An object, or NULL: see Capacity above. */
KOLK_INLINE void *kolk_local_alloc(kolk_local *local);

/* Takes back an object of the pool, whichever thread allocated it, once; its handles are stale from now on. NULL does
 * nothing. A bug of the caller otherwise, which is reported: a double free, a pointer that is not of this pool or not the
 * start of an object. Two threads that free one object at the very same moment are both believed, and the slot is handed
 * out twice; with .exact one of them is reported, for some nanoseconds a free. */
KOLK_INLINE void kolk_local_free(kolk_local *local, void *object);

/* ---- Handles and questions, from any thread -------------------------------------------------------------------------- */

/* The handle of a live object; null, and a report, if it is not one. */
KOLK_API kolk_handle kolk_shared_handle(const kolk_shared *pool, const void *object);

/* The object of a handle, or NULL if it was freed. It may be freed the moment after: whoever looks objects up while others
 * free them must know that they don't free these. After 2^31 lives of its slot a handle is good again. */
KOLK_INLINE void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);

/* Is it the start of a live object? Any pointer may be asked about. */
KOLK_API bool kolk_shared_is_live(const kolk_shared *pool, const void *object);

/* Objects alive: exact while nobody allocates or frees, otherwise nearly. O(slots / 64). */
KOLK_API uint32_t kolk_shared_count(const kolk_shared *pool);

/* The next live object in ascending order of slots; NULL starts, NULL ends. While others work, one that is allocated or
 * freed meanwhile may be visited or not; all others are. */
KOLK_API void *kolk_shared_next(const kolk_shared *pool, const void *object);

KOLK_API void kolk_shared_stats(const kolk_shared *pool, kolk_stats *out);

/* Checks every invariant of src/shared.c, for tests; nobody may allocate or free meanwhile. */
KOLK_API bool kolk_shared_is_valid(const kolk_shared *pool);

/* ---- Inside ---------------------------------------------------------------------------------------------------------- */

/* type_size and type_align are 0, or of the type of a typed pool. */
KOLK_API kolk_status kolk_shared_init_type(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size,
                                           size_t type_align, size_t pool_size, uint32_t abi);

static inline kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc) {
    return kolk_shared_init_type(pool, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

/* The ways out of the fast paths of shared.inl. */
KOLK_API void *kolk_local_alloc_slow(kolk_local *local);
KOLK_API void kolk_local_free_slow(kolk_local *local, void *object);
KOLK_API void *kolk_shared_get_slow(const kolk_shared *pool, kolk_handle handle);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "shared.inl"
#else /* the calls that typed.h would make into shared.inl */
#define kolk_local_alloc_sized(local, stride)        kolk_local_alloc(local)
#define kolk_local_free_sized(local, object, stride) kolk_local_free(local, object)
#define kolk_shared_get_sized(pool, handle, stride)  kolk_shared_get(pool, handle)
#endif
#endif
