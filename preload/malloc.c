/* malloc.c: malloc and its family, served by one heap of kolk: for programs that know nothing of it (LD_PRELOAD).
 *
 * The heap is all zero until the first call. Every alloc of such a heap leaves the fast path and gives NULL, and only
 * then is it looked at whether there is a heap: so that costs nothing later. ld.so, libraries' constructors and other
 * threads may call at any time. What happens while the heap is made, in the one thread that makes it:
 *
 *     the environment is read    by getenv, which does not allocate; reading a file of sizes (KOLK_SIZES) would, gets
 *                                NULL, and is done without: no pool in here has such sizes
 *     keys and exit handlers     are this early in places that libc has ready
 *     memory                     comes from the system
 *
 * A thread's first use of the heap may call calloc, by pthread_setspecific: the thread is known by then, and the inner
 * call is an ordinary one (src/heap/heap_thread.c). All thread-local variables are of the kind that the system makes
 * with the thread (initial-exec), so that no access to one allocates.
 *
 * Forks: the library is linked with -z initfirst, so its handlers are the first that are registered. They run last
 * before a fork, when all who may allocate in a handler have done so, and first in the child. It is never unloaded. */
#include "../src/os/system.h"

#include "../src/core/assert.h"
#include "../src/heap/heap_fast.h"
#include "../src/os/lock.h"
#include "../src/os/memory.h"
#include "../src/os/stack.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/* C23's, which older headers do not have. */
EXPORT void free_sized(void *block, size_t size);
EXPORT void free_aligned_sized(void *block, size_t align, size_t size);

static kolk_heap malloc_heap;

/* ---- The heap ---------------------------------------------------------------------------------------------------- */

static uint8_t is_libc_ready;

/* Runs when ld.so has all libraries in place. From here on the unwinder may be loaded. */
__attribute__((constructor)) static void note_libc(void) {
    kolk_store(&is_libc_ready, true, KOLK_RELAXED);
    kolk_stack_hold(false);
}

/* Makes it if it has not been tried yet; false: there is none, or this is the thread that just makes it. */
static bool have_heap(void) {
    static uint32_t lock;
    static uint8_t tried, made; /* it is tried once */
    static _Thread_local bool makes;
    if (kolk_load(&made, KOLK_ACQUIRE)) return true; /* partner: below */
    if (makes) return false;
    kolk_lock_word(&lock);
    if (!tried) {
        makes = true;
        tried = true;
        if (!kolk_load(&is_libc_ready, KOLK_RELAXED)) kolk_stack_hold(true); /* ld.so may be the caller */
        bool is_made = kolk_heap_init_for_malloc(&malloc_heap, &(kolk_heap_desc){.name = "malloc"}) == KOLK_OK;
        KOLK_ASSERT(!is_made || malloc_heap.place == KOLK_FIRST_HEAP);
        kolk_store(&made, is_made, KOLK_RELEASE); /* partner: above */
        makes = false;
    }
    kolk_unlock_word(&lock);
    return made;
}

/* This thread's part of it. There is no other heap in here, so it is where the first heap of a process is. */
static inline kolk_heap_thread *malloc_thread(void) {
    return kolk_near_heaps[KOLK_FIRST_HEAP].thread;
}

/* ---- Allocation -------------------------------------------------------------------------------------------------- */

static void *refuse_with(int error) {
    errno = error;
    return NULL;
}

/* Leaves errno, unless there is no memory. */
static KOLK_NOINLINE void *alloc_slow(size_t align, size_t size, const void *site) {
    int before = errno;
    void *block = have_heap() ? kolk_heap_alloc_slow(&malloc_heap, align, size, site) : NULL;
    errno = before;
    return block ? block : refuse_with(ENOMEM);
}

static void *alloc_for(size_t size, const void *site) {
    void *block = take_at_hand(&malloc_heap, malloc_thread(), size);
    return KOLK_UNLIKELY(!block) ? alloc_slow(1, size, site) : block;
}

static void *alloc_aligned_for(size_t align, size_t size, const void *site) {
    return align <= KOLK_HEAP_GRAIN ? alloc_for(size, site) : alloc_slow(align, size, site);
}

static void *realloc_for(void *block, size_t size, const void *site) {
    if (!block) return alloc_for(size, site);
    if (size == 0) {
        kolk_heap_free_at(&malloc_heap, block, site);
        return NULL;
    }
    void *moved = kolk_heap_realloc_at(&malloc_heap, block, size, site);
    return moved ? moved : refuse_with(ENOMEM);
}

EXPORT void *malloc(size_t size) {
    void *block = take_at_hand(&malloc_heap, malloc_thread(), size);
    return KOLK_UNLIKELY(!block) ? alloc_slow(1, size, SITE) : block;
}

EXPORT void *calloc(size_t nmemb, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(nmemb, size, &bytes)) return refuse_with(ENOMEM);
    return kolk_heap_zero(&malloc_heap, alloc_for(bytes, SITE), bytes);
}

EXPORT void *realloc(void *ptr, size_t size) {
    return realloc_for(ptr, size, SITE);
}

EXPORT void *reallocarray(void *ptr, size_t nmemb, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(nmemb, size, &bytes)) return refuse_with(ENOMEM);
    return realloc_for(ptr, bytes, SITE);
}

/* ---- Aligned blocks ---------------------------------------------------------------------------------------------- */

static bool is_power_of_two(size_t align) {
    return align && (align & (align - 1)) == 0;
}

/* Says by its answer what is wrong; errno is ENOMEM as well if that is it, as glibc's is. */
EXPORT int posix_memalign(void **memptr, size_t alignment, size_t size) {
    if (!is_power_of_two(alignment) || alignment % sizeof(void *)) return EINVAL;
    void *block = alloc_aligned_for(alignment, size, SITE);
    if (!block) return ENOMEM;
    *memptr = block;
    return 0;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return is_power_of_two(alignment) ? alloc_aligned_for(alignment, size, SITE) : refuse_with(EINVAL);
}

/* glibc's takes the next power of two. */
EXPORT void *memalign(size_t alignment, size_t size) {
    size_t power = 1;
    if (alignment > SIZE_MAX / 2 + 1) return refuse_with(EINVAL);
    while (power < alignment) power *= 2;
    return alloc_aligned_for(power, size, SITE);
}

EXPORT void *valloc(size_t size) {
    return alloc_aligned_for(kolk_memory_page(), size, SITE);
}

EXPORT void *pvalloc(size_t size) {
    size_t page = kolk_memory_page(), bytes;
    if (__builtin_add_overflow(size, page - 1, &bytes)) return refuse_with(ENOMEM);
    return alloc_aligned_for(page, bytes / page * page, SITE);
}

/* ---- Free -------------------------------------------------------------------------------------------------------- */

EXPORT void free(void *ptr) {
    if (KOLK_UNLIKELY(!give_at_hand(&malloc_heap, malloc_thread(), ptr))) kolk_heap_free_slow(&malloc_heap, ptr, SITE);
}

EXPORT void free_sized(void *block, size_t size) {
    (void)size;
    kolk_heap_free_at(&malloc_heap, block, SITE);
}

EXPORT void free_aligned_sized(void *block, size_t align, size_t size) {
    (void)align, (void)size;
    kolk_heap_free_at(&malloc_heap, block, SITE);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

EXPORT size_t malloc_usable_size(void *ptr) {
    return kolk_heap_usable_size(&malloc_heap, ptr);
}

EXPORT int malloc_trim(size_t pad) {
    (void)pad;
    return kolk_heap_trim(&malloc_heap) > 0;
}

/* What glibc's fields mean there: arena is uordblks and fordblks, and blocks with pages of their own come on top. */
EXPORT struct mallinfo2 mallinfo2(void) {
    struct mallinfo2 info = {0};
    kolk_heap_class_stats of;
    for (uint32_t n = 0; n < malloc_heap.n_classes; n++) {
        if (!kolk_heap_class_of(&malloc_heap, n, &of)) continue;
        info.arena += of.stats.bytes_committed;
        info.uordblks += (size_t)of.stats.count * of.stats.stride;
        info.ordblks += of.stats.capacity - of.stats.count;
    }
    info.fordblks = info.arena - info.uordblks;
    if (kolk_heap_class_of(&malloc_heap, malloc_heap.n_classes, &of)) {
        info.hblks = of.stats.count;
        info.hblkhd = of.stats.bytes_committed;
    }
    return info;
}

EXPORT struct mallinfo mallinfo(void) {
    struct mallinfo2 info = mallinfo2();
    return (struct mallinfo){
        .arena = (int)info.arena,
        .ordblks = (int)info.ordblks,
        .hblks = (int)info.hblks,
        .hblkhd = (int)info.hblkhd,
        .uordblks = (int)info.uordblks,
        .fordblks = (int)info.fordblks,
    };
}
