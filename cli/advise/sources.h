/* cli/advise/sources.h: the sources of a trace, and statistics of their objects' lives.
 *
 * A source allocates objects of one type, as far as the trace shows. If the trace has stacks, a source is identified by
 * the fewest innermost frames for which all objects have one size. This may be node_new() alone, or
 * "xmalloc < list_add" if everything goes through xmalloc(). If no frames are left and sizes still differ, each
 * frequent size becomes a source, and the rest is one source of varying size. This is common with mtrace, which records
 * only one caller.
 *
 *                     caller + 40 bytes, 48 bytes, 40 bytes ...
 *     xmalloc          mixed: look at the next frame
 *       < list_add     40 only: a source
 *       < tree_add     48 only: a source
 *       < text_add     mixed, and no frame further out tells sizes apart: one source, whose sizes vary
 *
 * A life lasts from the allocation to the free or the first resize, because a pool cannot hold a resized block.
 */
#ifndef CLI_SOURCES_H
#define CLI_SOURCES_H

#include "../replay/trace.h"

/* The beginning or the end of an object of the source. */
struct source_op {
    uint32_t object; /* its number, below the source's peak; reused once the object has ended */
    uint16_t thread;
    bool ends;
};

struct source {
    const char *frames; /* in the trace's text: its first `length` bytes identify the source */
    size_t length;
    size_t innermost;     /* bytes of `frames` before the frame that identifies this source */
    uint64_t least, most; /* sizes of its objects */
    bool by_size;         /* the frames alone do not identify it */

    uint64_t allocations;  /* also the number of lives */
    uint64_t resized;      /* lives that ended with a resize */
    uint64_t left;         /* objects still alive at the end of the trace */
    struct source_op *ops; /* as recorded, followed by the ends of the objects that were left alive */
    size_t count;          /* recorded operations: count + left = 2 * allocations */

    /* Not set for a source with too few allocations: */
    uint32_t peak;              /* the most objects alive at a time */
    uint32_t threads;           /* how many threads did the operations */
    uint64_t handed;            /* objects freed by a thread other than the one that allocated them */
    uint64_t together, parties; /* objects that died together with all others; the moments at which this happened */
    uint64_t most_begun;        /* the most objects allocated between two such moments */
};

struct sources {
    struct source *sources; /* the source with the most allocations comes first */
    size_t count;
    uint64_t allocations; /* of all sources */
    struct source_op *ops;
};

/* Returns false if memory runs out. The trace must outlive the sources. */
bool sources_find(struct sources *sources, const struct trace *trace);
void sources_free(struct sources *sources);

/* A source with fewer allocations than this is not worth a pool, or being told apart by its own frames or size. */
enum { SOURCE_LEAST = 100, SOURCE_SHARE_LEAST = 100 /* 1/SOURCE_SHARE_LEAST of all allocations */ };
bool source_is_few(uint64_t allocations, uint64_t of_all);

/* Computes the members from `peak` on from the source's operations, and replaces the numbers of the trace's blocks in
 * them by numbers of objects. Returns false if memory runs out. */
bool source_look(struct source *source, uint32_t blocks);

#endif
