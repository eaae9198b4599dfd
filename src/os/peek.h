/* peek.h: reads memory that may not be there. Not in freestanding builds. */
#ifndef KOLK_SRC_PEEK_H
#define KOLK_SRC_PEEK_H

#include <stdbool.h>
#include <stddef.h>

/* Copies bytes that may be of a dead stack frame, freed or not mapped any more: the system reads them, so that there is
 * no signal, and no tool has anything to report. False: they cannot be read. Slow: one call of the system, or five. */
bool kolk_peek(void *to, const void *from, size_t size);

#endif
