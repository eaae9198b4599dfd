/* cli/report/digest.h: a recording, summed up: how much was alive when, how large blocks were and how long they lived,
 * and which calls allocated them, as a tree. */
#ifndef CLI_DIGEST_H
#define CLI_DIGEST_H

#include "../replay/trace.h"

enum {
    DIGEST_STEPS = 400, /* points of time at most */
    DIGEST_DEPTH = 200, /* frames of a path, the innermost; kolk record writes 8, and inlined ones */
    DIGEST_DOUBLINGS =
        48 /* classes of sizes and lives: class n has the numbers from 2^(n-1) to 2^n - 1; class 0 has 0 */
};

/* The most that was alive at a time, within one step. */
struct digest_step {
    uint64_t bytes, blocks;
};

struct digest_class {
    uint64_t blocks, bytes;
};

/* A call path: a frame, and the frames outside of it. Its numbers include all paths that continue it. */
struct digest_path {
    const char *frame; /* in the trace's text; not terminated */
    size_t length;
    uint64_t peak_bytes;  /* of the blocks that are alive at the peak */
    uint64_t bytes;       /* of all blocks; a resize counts as a new block */
    uint64_t blocks;      /* number of blocks */
    uint32_t first, next; /* numbers of its first child and its next sibling; 0: none */
};

/* If it is all zero, it is empty. */
struct digest {
    uint64_t blocks, bytes; /* allocated in all; a resize counts as a new block */
    uint64_t frees, resizes;
    uint64_t peak_bytes, peak_blocks; /* at the moment with the most bytes alive */
    size_t peak_at;                   /* the operation that reached it */
    uint64_t left_bytes, left_blocks; /* alive at the end */
    size_t per_step;                  /* operations */
    struct digest_step steps[DIGEST_STEPS];
    size_t step_count;
    struct digest_class sizes[DIGEST_DOUBLINGS]; /* of all blocks */
    struct digest_class lives[DIGEST_DOUBLINGS]; /* of the freed blocks, in operations from birth to end */
    struct digest_path *paths;                   /* the first one is the root, which has no frame */
    uint32_t path_count;
};

/* Returns false if memory runs out. The trace must outlive the digest. */
bool digest_make(struct digest *digest, const struct trace *trace);
void digest_free(struct digest *digest);

#endif
