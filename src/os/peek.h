/* peek.h: reads memory that may not be mapped. Not in freestanding builds. */
#ifndef KOLK_SRC_PEEK_H
#define KOLK_SRC_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies bytes that may have been freed or unmapped, or may lie in a dead stack frame. The system reads them, so that
 * no signal is raised and no tool reports anything. Returns false if they cannot be read. Slow: it takes one system
 * call, or five. */
bool kolk_peek_(void *to, const void *from, size_t size);

/* Copies n words from different places. A word that cannot be read becomes 0. On Linux, it takes one system call for
 * many words. */
void kolk_peek_words_(uintptr_t *to, const uintptr_t *const *from, size_t n);

#ifdef __linux__
/* Copies bytes of another process. Returns false if they cannot all be read. */
bool kolk_peek_of_(int64_t process, void *to, const void *from, size_t size);
#endif

#endif
