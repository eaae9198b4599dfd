/* cli/replay/trace.h: a program's calls of malloc, read from the text that glibc's mtrace writes.
 *
 *     = Start
 *     @ CALLER + ADDRESS SIZE      malloc and its family; the address is (nil) if it failed
 *     @ CALLER - ADDRESS           free
 *     @ CALLER < ADDRESS           realloc, from here ...
 *     @ CALLER > ADDRESS SIZE      ... to here: always the next line
 *     @ CALLER ! ADDRESS SIZE      a realloc that failed
 *     = End
 *
 * kolk record writes the same, with more kinds of line, which tell the functions of malloc's family apart:
 *
 *     @ CALLER + ADDRESS SIZE            malloc
 *     @ CALLER * ADDRESS COUNT SIZE      calloc of COUNT objects of SIZE bytes
 *     @ CALLER % ADDRESS ALIGNMENT SIZE  posix_memalign, aligned_alloc, memalign, valloc, pvalloc
 *     < (nil)                            realloc of NULL ...
 *     @ CALLER > ADDRESS SIZE            ... which is an allocation
 *     = Thread NUMBER              the operations that follow were done by this thread, until the next such line
 *     = Call CALLER FRAMES         the stack of a CALLER, here a word, in any line: functions, the innermost first,
 *                                  with " < " between them
 *     = Run PLAIN KOLK             nanoseconds of processor time: of a run of the program as it is, and of one under
 *                                  libkolk-malloc.so, neither of them recorded; up to 21 such lines
 *     = Ran PROCESSOR RECORDING WALL     nanoseconds: the processor time that the program took, how much of that was
 *                                  for recording (0 if it is that of a run without recording), and the time that passed
 *
 * Addresses from 2^63 on are objects of a zone of the program's own, or of kolk's pools, whose CALLER has the pool's
 * name as its FRAMES (kolk_record.h). The block in which they lie has its own lines.
 *
 * CALLER is a file with a function or an address in it. "@ CALLER" is missing if glibc could not determine the caller.
 * C++'s operators new and delete are functions that call malloc and free, so they are in FRAMES, or left by a jump.
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
enum { TRACE_RUNS_MOST = 21 };
enum { TRACE_THREAD_MOST = UINT16_MAX };
#define TRACE_SIZE_MOST (UINT64_C(1) << 47) /* bytes per block; no address space has more */

typedef enum trace_kind { TRACE_ALLOC, TRACE_FREE, TRACE_REALLOC } trace_kind;

/* How a block was allocated. */
typedef enum trace_by { TRACE_BY_MALLOC, TRACE_BY_CALLOC, TRACE_BY_ALIGNED, TRACE_BY_REALLOC } trace_by;

#define TRACE_NOBODY UINT32_MAX

typedef struct trace_op {
    uint64_t size; /* not set for TRACE_FREE; COUNT * SIZE for calloc */
    uint32_t block;
    uint32_t caller; /* one number for each CALLER; TRACE_NOBODY for a TRACE_FREE that was not recorded */
    uint16_t thread;
    uint8_t kind;  /* trace_kind */
    uint8_t by;    /* trace_by; only set for TRACE_ALLOC */
    uint32_t more; /* COUNT or ALIGNMENT, or UINT32_MAX if it is larger; 0 if there is none */
} trace_op;

/* Processor times of two runs, one after the other. */
struct trace_run {
    uint64_t plain_ns, kolk_ns;
};

/* If it is all zero, the trace is empty. */
struct trace {
    trace_op *ops;
    size_t count;
    uint32_t blocks, callers;
    char **names;     /* of the callers: the FRAMES, or CALLER itself; "" if the caller is missing */
    uint64_t failed;  /* allocations that returned NULL */
    uint64_t own;     /* allocations that are not malloc's */
    uint64_t unknown; /* frees and reallocs of blocks from before the recording */

    /* The file is cut off in this line, so that the lines before it are all that there is; 0: it is whole. Names of
     * stacks and processor times are at the end of what kolk record writes. */
    uint64_t cut_line;

    struct trace_run runs[TRACE_RUNS_MOST];
    size_t run_count;

    /* From "= Ran"; 0 if there is no such line: */
    uint64_t processor_ns; /* of the program, recording included */
    uint64_t recording_ns;
    uint64_t wall_ns;
};

/* Returns the processor time of a program without that of recording; 0 if it is not known well. The time of recording
 * is an estimate, which was between half and twice of what it should be for five programs, and 0.3 of it for one that
 * ran for 2 ms. So it must be no more than a third of the whole. What was left was then 11 % too small to 29 % too
 * large for the five. */
uint64_t trace_program_ns(uint64_t processor_ns, uint64_t recording_ns);

/* "line 7: expected ...", without a full stop. */
struct trace_problem {
    char text[256];
};

/* Reads the file to its end, or to where it is cut off. On failure returns false, leaves the trace empty and describes
 * the error in `problem`. */
bool trace_read(struct trace *trace, FILE *file, struct trace_problem *problem);
void trace_free(struct trace *trace);

/* Returns true if every block is allocated before it is freed or resized, and all numbers are below their bounds. */
bool trace_is_valid(const struct trace *trace);

#endif
