/* malloc.c: malloc and its family, served from one heap of kolk, for programs that are unaware of it (LD_PRELOAD).
 *
 * The heap is all zero until the first call. An alloc from an all-zero heap fails on the fast path, and only then
 * checks whether the heap exists. So the check costs nothing later. ld.so, libraries' constructors and other threads
 * may call at any time. While a thread makes the heap, the following holds in that thread:
 *
 *     the environment is read    by getenv, which does not allocate; a file of sizes (KOLK_SIZES) cannot be read,
 *                                because malloc returns NULL, and is ignored: no pool in this library has such sizes
 *     keys and exit handlers     use memory that libc has reserved, because it is so early
 *     memory                     comes from the system
 *
 * A thread's first use of the heap may call calloc, through pthread_setspecific. The thread is registered by then, so
 * the inner call is an ordinary one (src/heap/heap_thread.c). All thread-local variables are created together with the
 * thread (initial-exec), so that accessing them never allocates.
 *
 * Forks: the library is linked with -z initfirst, so its handlers are registered first. They run last before a fork,
 * when no other handler can allocate any more, and first in the child. The library is never unloaded. */
#include "../src/os/system.h"

#include "../src/base/assert.h"
#include "../src/watch/stats.h"
#include "../src/os/lock.h"
#include "../src/os/memory.h"
#include "../src/os/stack.h"
#include "calls.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

/* Functions of C23, which older headers do not declare. */
EXPORT void free_sized(void *block, size_t size);
EXPORT void free_aligned_sized(void *block, size_t align, size_t size);

kolk_heap malloc_heap;

/* ---- The heap ---------------------------------------------------------------------------------------------------- */

static uint8_t is_libc_ready;

/* Runs when ld.so has loaded all libraries. From here on the unwinder may be loaded. */
__attribute__((constructor)) static void note_libc(void) {
    kolk_note_operators_();
    kolk_store_(&is_libc_ready, true, KOLK_RELAXED_);
    kolk_stack_hold_(false);
}

/* Makes the heap at the first call. Returns false if it cannot be made, or if this thread is already making it. */
static bool have_heap(void) {
    static uint32_t lock;
    static uint8_t tried, made; /* only one attempt is made */
    static _Thread_local bool makes;
    if (kolk_load_(&made, KOLK_ACQUIRE_)) return true; /* partner: below */
    if (makes) return false;
    kolk_lock_word_(&lock);
    bool first = !tried;
    if (first) {
        makes = true;
        tried = true;
        if (!kolk_load_(&is_libc_ready, KOLK_RELAXED_)) kolk_stack_hold_(true); /* ld.so may be the caller */
        kolk_stats_at_hold_(true);                                              /* a new thread needs malloc */
        bool is_made = kolk_heap_init_for_malloc_(&malloc_heap, &(kolk_heap_desc){.name = "malloc"}) == KOLK_OK;
        kolk_store_(&made, is_made, KOLK_RELEASE_); /* partner: above */
        makes = false;
    }
    kolk_unlock_word_(&lock);
    if (first) kolk_stats_at_hold_(false);
    return made;
}

/* ---- Allocation -------------------------------------------------------------------------------------------------- */

static void *refuse_with(int error) {
    errno = error;
    return NULL;
}

/* Leaves errno unchanged unless there is no memory. */
KOLK_NOINLINE_ void *alloc_slow(size_t align, size_t size, const void *site) {
    int before = errno;
    void *block = NULL;
    if (have_heap()) {
        bool watches = kolk_heap_watches_(&malloc_heap, size) && align <= KOLK_GRAIN_;
        if (KOLK_UNLIKELY_(watches)) block = kolk_heap_alloc_watched_(&malloc_heap, size, site);
        if (!block) block = kolk_heap_alloc_slow_(&malloc_heap, align, size, site);
    }
    errno = before;
    return block ? block : refuse_with(ENOMEM);
}

static void *realloc_for(void *block, size_t size, const void *site) {
    if (!block) return alloc_for(size, site);
    if (size == 0) {
        kolk_heap_free_at_(&malloc_heap, block, site);
        return NULL;
    }
    void *moved = kolk_heap_realloc_at_(&malloc_heap, block, size, site);
    return moved ? moved : refuse_with(ENOMEM);
}

EXPORT void *malloc(size_t size) {
    void *block = take_at_hand(&malloc_heap, malloc_thread(), size);
    return KOLK_UNLIKELY_(!block) ? alloc_slow(1, size, SITE) : block;
}

static KOLK_NOINLINE_ void *calloc_much(size_t bytes, const void *site) {
    if (has_used(&malloc_heap, malloc_thread(), bytes))
        return kolk_heap_zero_(&malloc_heap, alloc_for(bytes, site), bytes);
    return kolk_heap_zero_slow_(&malloc_heap, alloc_slow(1, bytes, site), bytes);
}

EXPORT void *calloc(size_t nmemb, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(nmemb, size, &bytes)) return refuse_with(ENOMEM);
    if (KOLK_UNLIKELY_(bytes >= KOLK_HEAP_SPARSE_)) return calloc_much(bytes, SITE);
    return kolk_heap_zero_(&malloc_heap, alloc_for(bytes, SITE), bytes);
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

/* Returns the error; ENOMEM is also stored in errno, as glibc does. */
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

/* Rounds the alignment up to a power of two, as glibc does. */
EXPORT void *memalign(size_t alignment, size_t size) {
    size_t power = 1;
    if (alignment > SIZE_MAX / 2 + 1) return refuse_with(EINVAL);
    while (power < alignment) power *= 2;
    return alloc_aligned_for(power, size, SITE);
}

EXPORT void *valloc(size_t size) {
    return alloc_aligned_for(kolk_memory_page_(), size, SITE);
}

EXPORT void *pvalloc(size_t size) {
    size_t page = kolk_memory_page_(), bytes;
    if (__builtin_add_overflow(size, page - 1, &bytes)) return refuse_with(ENOMEM);
    return alloc_aligned_for(page, bytes / page * page, SITE);
}

/* ---- Free -------------------------------------------------------------------------------------------------------- */

/* A pointer that comes before the first alloc is not a block. Makes the heap, so that the report contains its name. */
static KOLK_NOINLINE_ void expect_block(const void *block) {
    if (KOLK_UNLIKELY_(!malloc_heap.root) && block) have_heap();
}

KOLK_NOINLINE_ void free_slow(void *block, const void *site) {
    expect_block(block);
    kolk_heap_free_slow_(&malloc_heap, block, site);
}

EXPORT void free(void *ptr) {
    if (KOLK_UNLIKELY_(!give_at_hand(&malloc_heap, malloc_thread(), ptr))) free_slow(ptr, SITE);
}

EXPORT void free_sized(void *block, size_t size) {
    (void)size;
    free_for(block, SITE);
}

EXPORT void free_aligned_sized(void *block, size_t align, size_t size) {
    (void)align, (void)size;
    free_for(block, SITE);
}

/* ---- glibc's own names, for programs that put their own functions in front of malloc ----------------------------- */

#if !defined(__clang__) && __GNUC__ >= 9
#pragma GCC diagnostic ignored "-Wmissing-attributes" /* these aliases need not have malloc's attributes */
#endif

EXPORT void *__libc_malloc(size_t size) __attribute__((alias("malloc")));
EXPORT void *__libc_calloc(size_t nmemb, size_t size) __attribute__((alias("calloc")));
EXPORT void *__libc_realloc(void *ptr, size_t size) __attribute__((alias("realloc")));
EXPORT void *__libc_memalign(size_t alignment, size_t size) __attribute__((alias("memalign")));
EXPORT void *__libc_valloc(size_t size) __attribute__((alias("valloc")));
EXPORT void *__libc_pvalloc(size_t size) __attribute__((alias("pvalloc")));
EXPORT void __libc_free(void *ptr) __attribute__((alias("free")));

/* ---- Questions --------------------------------------------------------------------------------------------------- */

static KOLK_NOINLINE_ size_t usable_size_slow(const void *block) {
    expect_block(block);
    return kolk_heap_usable_size(&malloc_heap, block);
}

EXPORT size_t malloc_usable_size(void *ptr) {
    size_t size = size_at_hand(&malloc_heap, malloc_thread(), ptr);
    return KOLK_UNLIKELY_(!size) ? usable_size_slow(ptr) : size;
}

EXPORT int malloc_trim(size_t pad) {
    (void)pad;
    return kolk_heap_trim_now_(&malloc_heap, false) > 0;
}

/* The fields have the same meaning as in glibc: arena is uordblks plus fordblks, and does not include blocks with pages
 * of their own. */
EXPORT struct mallinfo2 mallinfo2(void) {
    struct mallinfo2 info = {0};
    kolk_heap_class_stats of;
    for (uint32_t n = 0; n < malloc_heap.n_classes; n++) {
        if (!kolk_heap_stats_of_class(&malloc_heap, n, &of)) continue;
        info.arena += of.stats.bytes_committed;
        info.uordblks += (size_t)of.stats.count * of.stats.stride;
        info.ordblks += of.stats.capacity - of.stats.count;
    }
    info.fordblks = info.arena - info.uordblks;
    const kolk_heap_inside_ *inside = kolk_heap_grown_(&malloc_heap);
    uint64_t guarded;
    if (!inside) return info;
    /* The statistics of the heap also have the pages that are kept of freed blocks. */
    info.hblks = kolk_guarded_count_(&inside->guarded, &guarded) + kolk_load_(&inside->large.count, KOLK_RELAXED_);
    info.hblkhd = guarded + kolk_load_(&inside->large.bytes, KOLK_RELAXED_);
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
