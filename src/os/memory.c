/* memory.c: see memory.h. Linux and other POSIX systems by mmap, Windows by VirtualAlloc. */
#include "system.h"

#include "memory.h"

#include "../core/assert.h"

#include <stdint.h>

#if !KOLK_HOSTED

size_t kolk_memory_page(void) {
    return 4096;
}

void *kolk_memory_reserve(size_t size) {
    (void)size;
    return NULL;
}

bool kolk_memory_commit(void *start, size_t size) {
    (void)start, (void)size;
    return false;
}

bool kolk_memory_commits_lazily(void) {
    return false;
}

size_t kolk_memory_discard(void *start, size_t size) {
    (void)start, (void)size;
    return 0;
}

void kolk_memory_decommit(void *start, size_t size) {
    (void)start, (void)size;
}

void kolk_memory_release(void *start, size_t size) {
    (void)start, (void)size;
}

bool kolk_memory_trim(void *start, size_t size) {
    (void)start, (void)size;
    return false;
}

void *kolk_memory_resize(void *start, size_t size, size_t new_size) {
    (void)start, (void)size, (void)new_size;
    return NULL;
}

#elif defined(_WIN32)

#include <windows.h>

static size_t ask_for_page(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void *kolk_memory_reserve(size_t size) {
    return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS);
}

bool kolk_memory_commit(void *start, size_t size) {
    return VirtualAlloc(start, size, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

size_t kolk_memory_discard(void *start, size_t size) {
    size_t page = kolk_memory_page();
    uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)start + size) / page * page;
    if (first >= end) return 0;
    /* Decommitting is the only way to get zero pages back; the commit right after it finds the charge just given up. */
    if (!VirtualFree((void *)first, end - first, MEM_DECOMMIT)) return 0;
    return kolk_memory_commit((void *)first, end - first) ? end - first : 0;
}

void kolk_memory_decommit(void *start, size_t size) {
    VirtualFree(start, size, MEM_DECOMMIT);
}

void kolk_memory_release(void *start, size_t size) {
    (void)size;
    VirtualFree(start, 0, MEM_RELEASE);
}

bool kolk_memory_trim(void *start, size_t size) {
    (void)start, (void)size;
    return false;
}

void *kolk_memory_resize(void *start, size_t size, size_t new_size) {
    (void)start, (void)size, (void)new_size;
    return NULL;
}

#else

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

static size_t ask_for_page(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *kolk_memory_reserve(size_t size) {
    void *start = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

bool kolk_memory_commit(void *start, size_t size) {
    size_t skew = (uintptr_t)start % kolk_memory_page();
    return mprotect((char *)start - skew, size + skew, PROT_READ | PROT_WRITE) == 0;
}

#ifdef __linux__
/* Bytes of these whole pages that memory backs; all of them if the system does not tell. */
static size_t resident_bytes(char *first, size_t size, size_t page) {
    unsigned char states[512];
    size_t bytes = 0;
    for (size_t done = 0; done < size; done += sizeof states * page) {
        size_t part = size - done < sizeof states * page ? size - done : sizeof states * page;
        if (mincore(first + done, part, states) != 0) return size;
        for (size_t i = 0; i < part / page; i++) bytes += (states[i] & 1) * page;
    }
    return bytes;
}
#else
static size_t resident_bytes(char *first, size_t size, size_t page) {
    (void)first, (void)page;
    return size;
}
#endif

size_t kolk_memory_discard(void *start, size_t size) {
    size_t page = kolk_memory_page();
    uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)start + size) / page * page;
    if (first >= end) return 0;
    size_t bytes = resident_bytes((char *)first, end - first, page);
#ifdef __linux__
    int failed = madvise((void *)first, end - first, MADV_DONTNEED);
#else /* elsewhere MADV_DONTNEED may keep the contents: map new pages over the old ones */
    int failed = mmap((void *)first, end - first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                      0) == MAP_FAILED;
#endif
    return failed ? 0 : bytes;
}

/* New pages over the old ones; if there are none, the old ones stay as they are. */
void kolk_memory_decommit(void *start, size_t size) {
    KOLK_ASSERT((uintptr_t)start % kolk_memory_page() == 0);
    (void)mmap(start, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void kolk_memory_release(void *start, size_t size) {
    KOLK_ASSERT(start);
    KOLK_ASSERT((uintptr_t)start % kolk_memory_page() == 0);
    munmap(start, size);
}

bool kolk_memory_trim(void *start, size_t size) {
    KOLK_ASSERT((uintptr_t)start % kolk_memory_page() == 0);
    KOLK_ASSERT(size % kolk_memory_page() == 0);
    return munmap(start, size) == 0;
}

void *kolk_memory_resize(void *start, size_t size, size_t new_size) {
    KOLK_ASSERT((uintptr_t)start % kolk_memory_page() == 0);
#ifdef __linux__
    void *moved = mremap(start, size, new_size, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
#else
    (void)start, (void)size, (void)new_size;
    return NULL;
#endif
}

#endif

#if KOLK_HOSTED
#ifdef _SC_PHYS_PAGES
uint64_t kolk_memory_physical(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? (uint64_t)pages * kolk_memory_page() : UINT64_C(1) << 34;
}
#else
uint64_t kolk_memory_physical(void) {
    return UINT64_C(1) << 34;
}
#endif

#ifdef RLIMIT_AS
uint64_t kolk_memory_addresses(void) {
    struct rlimit all, data; /* data: what is committed counts, touched or not */
    uint64_t most = UINT64_MAX;
    if (getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur != RLIM_INFINITY) most = all.rlim_cur;
    if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY && data.rlim_cur < most)
        most = data.rlim_cur;
    return most;
}
#else
uint64_t kolk_memory_addresses(void) {
    return UINT64_MAX;
}
#endif

bool kolk_memory_commits_lazily(void) {
#ifdef __linux__
    return true;
#else
    return false;
#endif
}

/* The system is asked once, or once by each of several threads that come at the same time. */
size_t kolk_memory_page(void) {
    static size_t known;
    size_t page = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (page == 0) {
        page = ask_for_page();
        KOLK_ASSERT(page > 0 && (page & (page - 1)) == 0);
        __atomic_store_n(&known, page, __ATOMIC_RELAXED);
    }
    return page;
}
#endif
