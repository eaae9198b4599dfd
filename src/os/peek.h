/* peek.h: reads memory that may not be mapped. Not in freestanding builds. */
#ifndef KOLK_SRC_PEEK_H
#define KOLK_SRC_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies bytes that may have been freed or unmapped, or may lie in a dead stack frame. The system reads them, so that
 * no signal is raised and no tool reports anything. Returns false if they cannot be read. Slow: it takes one system
 * call, or five. */
bool kolk_peek_(void *to, const void *from, size_t size);

#endif
