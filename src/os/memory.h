/* memory.h: pages of the operating system. Only the files of src/os and src/diag/sites*.c know it.
 *
 * A block of address space is reserved once, committed from its start on or in parts, and released whole. On a target
 * without virtual memory (and in freestanding builds) reserve gives NULL, and pools live on the caller's memory. */
#ifndef KOLK_SRC_MEMORY_H
#define KOLK_SRC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a page; what follows is rounded out to whole pages. */
size_t kolk_memory_page(void);

/* Bytes of memory that the machine has; 2^34 where the system does not tell. */
uint64_t kolk_memory_physical(void);

/* Bytes of addresses that the process may have, or commit (ulimit -v, -d); UINT64_MAX: the system sets no limit. */
uint64_t kolk_memory_addresses(void);

/* Address space that may not be touched yet; NULL if there is none. */
void *kolk_memory_reserve(size_t size);

/* Lets a part be touched; it reads as 0 at first. False: nothing has changed. Committing again is harmless. */
bool kolk_memory_commit(void *start, size_t size);

/* Does memory that is committed, and never touched, cost nothing? */
bool kolk_memory_commits_lazily(void);

/* Gives back the contents of the whole pages inside a committed part, which stays committed and then reads as 0.
 * Returns how many bytes memory had backed, as far as the system tells. */
size_t kolk_memory_discard(void *start, size_t size);

/* Takes a committed part of whole pages back. It must not be touched until it is committed again; then it reads as
 * 0. */
void kolk_memory_decommit(void *start, size_t size);

void kolk_memory_release(void *start, size_t size);

/* Gives back whole pages at one end of what was reserved; the others are what has to be released then. False: the
 * system can't do that, and nothing has changed. */
bool kolk_memory_trim(void *start, size_t size);

/* Gives what was reserved, all of which is committed, another size. It may move, with its contents; what is new is
 * committed and reads as 0. NULL: that can't be had (anywhere but on Linux), and nothing has changed. */
void *kolk_memory_resize(void *start, size_t size, size_t new_size);

/* Reserves address space and lets the first `committed` bytes of it be touched. NULL: it cannot be had, and nothing is
 * taken. */
static inline void *kolk_memory_take(size_t size, size_t committed) {
    void *start = kolk_memory_reserve(size);
    if (!start || committed == 0 || kolk_memory_commit(start, committed)) return start;
    kolk_memory_release(start, size);
    return NULL;
}

#endif
