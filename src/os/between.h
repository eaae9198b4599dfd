/* between.h: memory that several processes map, and locks that end with the process that has them. Linux only:
 * elsewhere nothing can be made or opened. Not in freestanding builds. */
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

/* The size of the file's pages, which may be huge ones. Its size and those of its mappings are multiples of it. */
size_t kolk_between_page_(int fd);

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

/* May the file be read and written, read only, or neither? */
typedef enum kolk_access_ { KOLK_NO_ACCESS_, KOLK_ACCESS_TO_READ_, KOLK_ACCESS_ } kolk_access_;
kolk_access_ kolk_between_access_(int fd);

/* Maps the file; NULL if there is no room. */
void *kolk_between_map_(int fd, size_t size, bool read_only);
void kolk_between_unmap_(void *start, size_t size);

/* ---- Locks: a file has one for each number ----------------------------------------------------------------------- */

/* A number for the file, which no other file has while this one is mapped. */
uint64_t kolk_between_identity_(int fd);

/* Opens the file once more, to take locks. The process's lock (lock.h) is held until keep or close. -1: there is no
 * descriptor, no /proc, or no right to write; or somebody has closed `fd`, and it is another file now, whose locks
 * would say that everybody is dead. */
int kolk_between_open_(int fd, uint64_t identity);

/* Takes the lock of number n, if nobody has it. */
bool kolk_between_lock_(int opened, uint32_t n);

/* Keeps the locks that were taken, and closes the descriptor: they last until release, until this process ends in
 * whatever way, or until its exec. A fork's child does not have them. NULL: there is no room, and no lock is kept.
 * `page` is that of kolk_between_page_. */
void *kolk_between_keep_(int opened, size_t page);
void kolk_between_close_(int opened);
void kolk_between_release_(void *kept, size_t page);

/* This process, for people: its number, and the name of its program, cut. */
uint32_t kolk_between_number_(void);
void kolk_between_name_(char name[16]);

#endif
