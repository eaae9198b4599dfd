/* memory.c: see memory.h. Linux and other POSIX systems use mmap, and so does the web, which knows only whole mappings.
 * Windows uses VirtualAlloc. */
#include "system.h"

#include "memory.h"
#include "../base/assert.h"
#include "../base/atomics.h"

#include <stdint.h>

#if !KOLK_HOSTED || defined(_WIN32) || defined(__EMSCRIPTEN__) /* a mapping stays as it is */

bool kolk_memory_hide_(void *start, size_t size) {
    (void)start, (void)size;
    return false;
}

bool kolk_memory_trim_(void *start, size_t size) {
    (void)start, (void)size;
    return false;
}

void *kolk_memory_resize_(void *start, size_t size, size_t new_size) {
    (void)start, (void)size, (void)new_size;
    return NULL;
}

#endif

#if !KOLK_HOSTED

size_t kolk_memory_page_(void) {
    return 4096;
}

void *kolk_memory_reserve_(size_t size) {
    (void)size;
    return NULL;
}

bool kolk_memory_commit_(void *start, size_t size) {
    (void)start, (void)size;
    return false;
}

void *kolk_memory_map_(size_t size) {
    (void)size;
    return NULL;
}

size_t kolk_memory_discard_(void *start, size_t size, bool counts) {
    (void)start, (void)size, (void)counts;
    return 0;
}

void kolk_memory_decommit_(void *start, size_t size) {
    (void)start, (void)size;
}

void kolk_memory_release_(void *start, size_t size) {
    (void)start, (void)size;
}

#elif defined(_WIN32)

#include <windows.h>

#include <psapi.h>

static size_t ask_for_page(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void *kolk_memory_reserve_(size_t size) {
    return VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_NOACCESS);
}

bool kolk_memory_commit_(void *start, size_t size) {
    return VirtualAlloc(start, size, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

void *kolk_memory_map_(size_t size) {
    return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/* Returns how many bytes of these whole pages are in memory; returns all of them if the system does not report it. */
static size_t resident_bytes(char *first, size_t size, size_t page) {
    PSAPI_WORKING_SET_EX_INFORMATION pages[64];
    size_t bytes = 0;
    for (size_t done = 0; done < size;) {
        DWORD count = 0;
        for (; count < sizeof pages / sizeof *pages && done < size; done += page)
            pages[count++].VirtualAddress = first + done;
        if (!QueryWorkingSetEx(GetCurrentProcess(), pages, count * (DWORD)sizeof *pages)) return size;
        while (count-- > 0) bytes += pages[count].VirtualAttributes.Valid * page;
    }
    return bytes;
}

size_t kolk_memory_discard_(void *start, size_t size, bool counts) {
    size_t page = kolk_memory_page_();
    uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)start + size) / page * page;
    if (first >= end) return 0;
    size_t bytes = counts ? resident_bytes((char *)first, end - first, page) : end - first;
    /* Decommitting is the only way to get zero pages back. The commit right after it can reuse the commit charge that
     * it releases. */
    if (!VirtualFree((void *)first, end - first, MEM_DECOMMIT)) return 0;
    return kolk_memory_commit_((void *)first, end - first) ? bytes : 0;
}

void kolk_memory_decommit_(void *start, size_t size) {
    VirtualFree(start, size, MEM_DECOMMIT);
}

void kolk_memory_release_(void *start, size_t size) {
    (void)size;
    VirtualFree(start, 0, MEM_RELEASE);
}

#elif defined(__EMSCRIPTEN__)

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A reservation is a block of malloc, which is there at once, and as a whole until its release. mmap would take more
 * memory for MAP_FIXED, and munmap of another size than mmap's never gives its lock back: sizes are whole pages. */

static size_t ask_for_page(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t size) {
    size_t page = kolk_memory_page_();
    return (size + page - 1) / page * page;
}

void *kolk_memory_map_(size_t size) {
    if (size > SIZE_MAX - kolk_memory_page_()) return NULL;
    void *start = mmap(NULL, whole_pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

void *kolk_memory_reserve_(size_t size) {
    return kolk_memory_map_(size);
}

bool kolk_memory_commit_(void *start, size_t size) {
    (void)start, (void)size;
    return true;
}

size_t kolk_memory_discard_(void *start, size_t size, bool counts) {
    (void)start, (void)size, (void)counts;
    return 0;
}

void kolk_memory_decommit_(void *start, size_t size) {
    memset(start, 0, size);
}

void kolk_memory_release_(void *start, size_t size) {
    munmap(start, whole_pages(size));
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

/* Reservations of at least this size are kept out of core dumps, because gdb would read a whole reservation to write
 * it. */
#define MUCH ((size_t)64 << 20)

#ifdef MADV_DONTDUMP
static void set_dumped(void *start, size_t size, bool is_dumped) {
    (void)madvise(start, size, is_dumped ? MADV_DODUMP : MADV_DONTDUMP);
}
#else
static void set_dumped(void *start, size_t size, bool is_dumped) {
    (void)start, (void)size, (void)is_dumped;
}
#endif

void *kolk_memory_reserve_(size_t size) {
    void *start = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    if (size >= MUCH) set_dumped(start, size, false);
    return start;
}

bool kolk_memory_commit_(void *start, size_t size) {
    size_t skew = (uintptr_t)start % kolk_memory_page_();
    if (mprotect((char *)start - skew, size + skew, PROT_READ | PROT_WRITE) != 0) return false;
    set_dumped((char *)start - skew, size + skew, true);
    return true;
}

void *kolk_memory_map_(size_t size) {
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

#ifdef __linux__
/* Returns how many bytes of these whole pages are in memory; returns all of them if the system does not report it. */
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

size_t kolk_memory_discard_(void *start, size_t size, bool counts) {
    size_t page = kolk_memory_page_();
    uintptr_t first = ((uintptr_t)start + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)start + size) / page * page;
    if (first >= end) return 0;
    size_t bytes = counts ? resident_bytes((char *)first, end - first, page) : end - first;
#ifdef __linux__
    int failed = madvise((void *)first, end - first, MADV_DONTNEED);
#else /* elsewhere MADV_DONTNEED may keep the contents: map new pages over the old ones */
    int failed = mmap((void *)first, end - first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                      0) == MAP_FAILED;
#endif
    return failed ? 0 : bytes;
}

bool kolk_memory_hide_(void *start, size_t size) {
    KOLK_ASSERT_((uintptr_t)start % kolk_memory_page_() == 0);
    return mprotect(start, size, PROT_NONE) == 0;
}

/* Maps new pages over the old ones. If that fails, the old ones stay as they are. */
void kolk_memory_decommit_(void *start, size_t size) {
    KOLK_ASSERT_((uintptr_t)start % kolk_memory_page_() == 0);
    (void)mmap(start, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    set_dumped(start, size, false);
}

void kolk_memory_release_(void *start, size_t size) {
    KOLK_ASSERT_(start);
    KOLK_ASSERT_((uintptr_t)start % kolk_memory_page_() == 0);
    munmap(start, size);
}

bool kolk_memory_trim_(void *start, size_t size) {
    KOLK_ASSERT_((uintptr_t)start % kolk_memory_page_() == 0);
    KOLK_ASSERT_(size % kolk_memory_page_() == 0);
    return munmap(start, size) == 0;
}

void *kolk_memory_resize_(void *start, size_t size, size_t new_size) {
    KOLK_ASSERT_((uintptr_t)start % kolk_memory_page_() == 0);
#ifdef __linux__
    void *moved = mremap(start, size, new_size, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
#else
    if (new_size < size && munmap((char *)start + new_size, size - new_size) == 0) return start;
    return NULL;
#endif
}

#endif

#if KOLK_HOSTED
#ifdef _SC_PHYS_PAGES
uint64_t kolk_memory_physical_(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? (uint64_t)pages * kolk_memory_page_() : UINT64_C(1) << 34;
}
#else
uint64_t kolk_memory_physical_(void) {
    return UINT64_C(1) << 34;
}
#endif

#ifdef RLIMIT_AS
uint64_t kolk_memory_addresses_(void) {
    struct rlimit all, data; /* the data limit counts committed pages, touched or not */
    uint64_t most = UINT64_MAX;
    if (getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur != RLIM_INFINITY) most = all.rlim_cur;
    if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY && data.rlim_cur < most)
        most = data.rlim_cur;
    return most;
}
#else
uint64_t kolk_memory_addresses_(void) {
    return UINT64_MAX;
}
#endif

/* Asks the system only once, except that threads which call this at the same time may each ask. */
size_t kolk_memory_page_(void) {
    static size_t known;
    size_t page = kolk_raw_load_(&known, KOLK_RELAXED_);
    if (page == 0) {
        page = ask_for_page();
        KOLK_ASSERT_(page > 0 && (page & (page - 1)) == 0);
        kolk_raw_store_(&known, page, KOLK_RELAXED_);
    }
    return page;
}
#endif
