/* cli/replay/heaptrack.h: reads a file of heaptrack, a profiler, as a trace.
 *
 *     v 10400 3                  heaptrack's version, and that of the format: 2 or 3
 *     X PROGRAM ARGUMENT...      it may have newlines
 *     I 1000 5e2922              the machine: size and number of pages
 *     s c /tmp/prog              a string, behind its length; in format 2 it has no length
 *     i ADDRESS MODULE FUNCTION FILE LINE ...
 *                                a place in the program; FUNCTION FILE LINE again for each function that it is inlined
 *                                in, the outermost last. MODULE, FUNCTION and FILE are strings, from 1 on; 0: unknown
 *     t 9 8                      a stack: its innermost place, and the stack of the caller; both from 1 on; 0: none
 *     a 20 9                     blocks of 32 bytes, allocated by stack 9
 *     + 1                        such a block is allocated: it is of the second 'a', as these count from 0 on
 *     - 1                        one of these blocks is freed
 *     c, R, A, S                 the time; memory in use; attached to a running program; leaks to hide
 *
 * Numbers are hexadecimal. A line names only what is in earlier lines. heaptrack_interpret writes such files; the raw
 * ones, which it reads, have neither functions nor 'a'.
 *
 * A free does not tell which block of its 'a' it is for. The one that was allocated first is taken. In eleven programs
 * this was the right one in 77 % of the frees; the one that was allocated last would be in 59 %, and one at random in
 * 55 %. How many blocks are alive, and when all are dead, does not depend on it.
 *
 * A resize is a free and an allocation here, one right after the other. So if a block of another size is allocated
 * right after a free, that may be a resize, and `more` of both operations is 1. calloc and aligned_alloc are like
 * malloc. The file does not have: threads, places of frees, failed allocations, frees of blocks from before the
 * recording, processor time.
 */
#ifndef CLI_HEAPTRACK_H
#define CLI_HEAPTRACK_H

#include "maker.h"

/* Returns true if the first line of the file is that of heaptrack's. */
bool heaptrack_begins(struct span line);

/* Reads the file, of which this is the first line, to its end. On failure returns false, with a sentence. */
bool heaptrack_read(struct maker *maker, struct span first);

#endif
