/* between.h: memory that several processes map, and locks that end with the process that has them. Linux only: elsewhere
 * nothing can be made or opened. Not in freestanding builds. */
#ifndef KOLK_SRC_BETWEEN_H
#define KOLK_SRC_BETWEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__linux__) && !defined(__EMSCRIPTEN__)
#define KOLK_BETWEEN_ 1
#else
#define KOLK_BETWEEN_ 0
#endif

/* Makes an empty file without a name; -1 if there is no descriptor left. */
int kolk_between_make_(void);

/* Gives an empty file its size, and seals it against any other size if it can be sealed. Returns false if there is no
 * room, or if the file may not be written. */
bool kolk_between_resize_(int fd, uint64_t size);

/* The file's size; 0 if it has none. */
uint64_t kolk_between_size_(int fd);

/* Can nobody make it smaller? */
bool kolk_between_is_sealed_(int fd);

/* Another descriptor of it; -1 if there is none left. */
int kolk_between_copy_(int fd);
void kolk_between_drop_(int fd);

/* Opens the file once more, with the rights that `fd` has, for locks of this process alone: a fork's child has them
 * only until it is noticed (forks.h), and no other program ever. -1: there is no descriptor or no /proc, or there are
 * KOLK_MOST_LOCKS_ already. */
#define KOLK_MOST_LOCKS_ 256
int kolk_between_open_(int fd, bool *read_only);
void kolk_between_close_(int fd);

/* Maps the file; NULL if there is no room. */
void *kolk_between_map_(int fd, size_t size, bool read_only);
void kolk_between_unmap_(void *start, size_t size);

/* Takes the lock of number n, if nobody else has it. The locks of a process end when it does, in whatever way, or at
 * its exec. Threads of the process that use the same descriptor share the lock. */
bool kolk_between_lock_(int fd, uint32_t n);
void kolk_between_unlock_(int fd, uint32_t n);

/* This process, for people: its number, and the name of its program, cut. */
uint32_t kolk_between_number_(void);
void kolk_between_name_(char name[16]);

#endif
