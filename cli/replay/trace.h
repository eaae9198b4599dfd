/* cli/replay/trace.h: a program's calls of malloc, read from the text that glibc's mtrace writes.
 *
 *     = Start
 *     @ CALLER + ADDRESS SIZE      malloc, calloc, memalign; the address is (nil) if it failed
 *     @ CALLER - ADDRESS           free
 *     @ CALLER < ADDRESS           realloc, from here ...
 *     @ CALLER > ADDRESS SIZE      ... to here: always the next line
 *     @ CALLER ! ADDRESS SIZE      a realloc that failed
 *     = End
 *
 * kolk record writes the same, with two more kinds of line:
 *
 *     = Thread NUMBER              the operations that follow were done by this thread, until the next such line
 *     = Call CALLER FRAMES         the stack of a CALLER, here a word, in any line: functions, the innermost first,
 *                                  with " < " between them
 *
 * CALLER is a file with a function or an address in it. "@ CALLER" is missing if glibc could not determine the caller.
 * Numbers are hexadecimal. The trace of a program that ends without calling muntrace has no "= End".
 *
 * Addresses are replaced by block numbers. The number of a freed block is reused first, so `blocks`, the count of
 * different numbers, is also the most blocks alive at a time.
 *
 * Some operations of a real recording cannot be replayed. Failed allocations, and frees of blocks that were allocated
 * before the recording began, are left out and counted. If an allocation returns an address that is still alive, the
 * old block is freed first, because threads may be recorded in a different order from that in which they ran.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { TRACE_OPS_MOST = 1 << 26 }; /* 1.5 GiB of them */
enum { TRACE_THREAD_MOST = UINT16_MAX };
#define TRACE_SIZE_MOST (UINT64_C(1) << 47) /* bytes per block; no address space has more */

typedef enum trace_kind { TRACE_ALLOC, TRACE_FREE, TRACE_REALLOC } trace_kind;

typedef struct trace_op {
    uint64_t size; /* not set for TRACE_FREE */
    uint32_t block;
    uint32_t caller; /* one number for each CALLER; not set for TRACE_FREE */
    uint16_t thread;
    uint8_t kind; /* trace_kind */
} trace_op;

/* If it is all zero, the trace is empty. */
struct trace {
    trace_op *ops;
    size_t count;
    uint32_t blocks, callers;
    char **names;     /* of the callers: the FRAMES, or CALLER itself; "" if the caller is missing */
    uint64_t failed;  /* allocations that returned NULL */
    uint64_t unknown; /* frees and reallocs of blocks from before the recording */
};

/* "line 7: expected ...", without a full stop. */
struct trace_problem {
    char text[256];
};

/* Reads the file to its end. On failure returns false, leaves the trace empty and describes the error in `problem`. */
bool trace_read(struct trace *trace, FILE *file, struct trace_problem *problem);
void trace_free(struct trace *trace);

/* Returns true if every block is allocated before it is freed or resized, and all numbers are below their bounds. */
bool trace_is_valid(const struct trace *trace);

#endif
