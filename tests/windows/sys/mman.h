/* sys/mman.h: anonymous pages, by VirtualAlloc. munmap takes only whole mappings. */
#ifndef TESTS_WINDOWS_SYS_MMAN_H
#define TESTS_WINDOWS_SYS_MMAN_H

#include <stddef.h>

#define PROT_NONE     0
#define PROT_READ     1
#define PROT_WRITE    2
#define MAP_PRIVATE   1
#define MAP_ANONYMOUS 2
#define MAP_NORESERVE 4
#define MAP_FIXED     8 /* over pages that mmap returned */
#define MAP_FAILED    ((void *)-1)

void *mmap(void *start, size_t size, int protection, int flags, int file, long long offset);
int mprotect(void *start, size_t size, int protection);
int munmap(void *start, size_t size);
int mincore(void *start, size_t size, unsigned char *states);

#endif
