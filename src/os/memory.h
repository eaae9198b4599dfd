/* memory.h: pages of the operating system. Only the files of src/os and src/diag/sites*.c call it.
 *
 * A block of address space is reserved once, committed from its start onwards or in parts, and released as a whole. On
 * a target without virtual memory, and in freestanding builds, kolk_memory_reserve_ returns NULL, and pools need memory
 * from the caller. */
#ifndef KOLK_SRC_MEMORY_H
#define KOLK_SRC_MEMORY_H

#include "kolk/base.h"

/* Does the system have pages? If not, no code to ask for some is compiled. The tests on devices bring their own. */
#ifndef KOLK_PAGES_
#define KOLK_PAGES_ KOLK_HOSTED
#endif

/* malloc aligns each block to this number of bytes or more. */
#define KOLK_MALLOC_ALIGN_ (2 * sizeof(void *))

/* The size of a page in bytes. The functions below round ranges out to whole pages. */
size_t kolk_memory_page_(void);

/* The size of the machine's memory in bytes; 2^34 if the system does not report it. */
uint64_t kolk_memory_physical_(void);

/* The bytes that the process may reserve or commit, whichever is less (ulimit -v, -d); UINT64_MAX if there is no
 * limit. */
uint64_t kolk_memory_addresses_(void);

/* Reserves address space that must not be touched yet. Returns NULL if there is none. It takes no memory, even if the
 * process locks all its memory, and is not part of core dumps until it is committed. */
void *kolk_memory_reserve_(size_t size);

/* Makes a part usable; it reads as 0 at first. On failure returns false and changes nothing. Committing a part again is
 * harmless. */
bool kolk_memory_commit_(void *start, size_t size);

/* Reserves and commits in one step. Returns NULL if there is no memory. */
void *kolk_memory_map_(size_t size);

/* Releases the memory behind the whole pages inside a committed part. The part stays committed and then reads as 0.
 * Returns the size of these pages. With `counts`, only the pages that were in memory count, as far as the system
 * reports it. Counting takes a system call that some sandboxes lack. */
size_t kolk_memory_discard_(void *start, size_t size, bool counts);

/* Makes whole committed pages inaccessible, with their contents, until they are committed again. Returns false, and
 * changes nothing, if the system cannot do that. */
bool kolk_memory_hide_(void *start, size_t size);

/* Undoes the commit of whole pages. They must not be touched until they are committed again; then they read as 0. */
void kolk_memory_decommit_(void *start, size_t size);

void kolk_memory_release_(void *start, size_t size);

/* Releases whole pages at one end of a reservation; the rest must be released later. Returns false, and changes
 * nothing, if the system cannot do that. */
bool kolk_memory_trim_(void *start, size_t size);

/* Resizes a fully committed reservation. It may move, together with its contents; new pages are committed and read as
 * 0. On failure returns NULL and changes nothing. Only Linux can grow a reservation; Windows can neither grow nor
 * shrink it. */
void *kolk_memory_resize_(void *start, size_t size, size_t new_size);

/* Reserves address space and commits the first `committed` bytes of it. Returns NULL, and keeps nothing, on failure. */
static inline void *kolk_memory_take_(size_t size, size_t committed) {
    void *start = kolk_memory_reserve_(size);
    if (!start || committed == 0 || kolk_memory_commit_(start, committed)) return start;
    kolk_memory_release_(start, size);
    return NULL;
}

#endif
