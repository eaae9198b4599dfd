/* cli/advise/phase.h: phases of a program: a request, a frame, a file. The blocks that a function allocates, itself or
 * through others, have many sizes, and all of them end before the next phase begins. Such blocks may come from a heap
 * of their own, whose end frees them at once.
 *
 *     blocks of handle() and what it calls    ###  #  ##      ####   ##       ## ##  #
 *     alive                                  /        \_     /         \_    /        \_
 *                                            a phase   end    a phase   end   a phase  end
 *
 * The phase is as long as a call of the function: each ends while the function runs.
 *
 * Blocks that are freed while others are still allocated are freed in the heap. Those that are freed after the last
 * allocation of the phase are left to its end: they are at least half of all, or there is no phase. */
#ifndef CLI_PHASE_H
#define CLI_PHASE_H

#include "gain.h"

enum phase_op {
    PHASE_NONE,  /* the operation is on a block of no phase */
    PHASE_BLOCK, /* an allocation, a resize or a free in the phase */
    PHASE_LEFT,  /* a free that the end of the heap makes unnecessary */
    PHASE_END    /* the last free of the phase */
};

struct phase {
    const char *function; /* in the trace's text, `length` bytes; NULL: there is no phase */
    size_t length;
    uint64_t phases, blocks;
    uint64_t together;    /* blocks that are left to the end */
    uint64_t least, most; /* sizes */
    const char *end; /* frames of the last free of a phase, `end_length` bytes, the last of which is the function */
    size_t end_length;
    uint8_t *ops;     /* by operation of the trace: enum phase_op */
    struct gain gain; /* against malloc */
};

/* Finds the function with the most blocks in phases, if any. Returns false if memory runs out. The trace must outlive
 * the phase. */
bool phase_find(struct phase *phase, const struct trace *trace);
void phase_free(struct phase *phase);

/* Is time gained, in one run or if it is repeated? */
bool phase_gains(const struct phase *phase);

#endif
