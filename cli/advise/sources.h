/* cli/advise/sources.h: the sources of a trace, and what the lives of their objects are like.
 *
 * A source is what allocates objects of one type, as far as the trace can tell. Where it has stacks, a source is told
 * by the fewest frames, from the innermost on, behind which all objects have one size: node_new() by itself, but
 * "xmalloc < list_add" where everything goes through xmalloc(). Where no frames are left and sizes still differ, as
 * under mtrace, which knows one caller only, the sizes that occur often are sources of their own, and the rest is one
 * source of varying size.
 *
 *                     caller + 40 bytes, 48 bytes, 40 bytes ...
 *     xmalloc          mixed: look at the next frame
 *       < list_add     40 only: a source
 *       < tree_add     48 only: a source
 *       < text_add     mixed, and no frame further out tells sizes apart: one source, whose sizes vary
 *
 * A life goes from the allocation to the free, or to the first resize: a resized block is no pool's any more.
 */
#ifndef CLI_SOURCES_H
#define CLI_SOURCES_H

#include "../replay/trace.h"

/* An object of the source begins or ends. */
struct source_op {
    uint32_t object; /* a number below the source's peak; used again once the object has ended */
    uint16_t thread;
    bool ends;
};

struct source {
    const char *frames; /* of the trace: its first `length` bytes are what tells the source apart */
    size_t length;
    size_t innermost;     /* bytes of frames before the frame that tells this source apart */
    uint64_t least, most; /* size of its objects */
    bool by_size;         /* frames alone do not tell it apart */

    uint64_t allocations;  /* also the lives */
    uint64_t resized;      /* lives that a resize ended */
    uint64_t left;         /* objects alive at the end of the trace */
    struct source_op *ops; /* as recorded, then the ends of the objects that were left alive */
    size_t count;          /* of them, as recorded: count + left = 2 * allocations */

    /* Not of a source that is few: */
    uint32_t peak;              /* most objects alive at a time */
    uint32_t threads;           /* different ones among the operations */
    uint64_t handed;            /* objects that another thread ended than the one that began them */
    uint64_t together, parties; /* objects that died together with all others, at how many moments */
    uint64_t most_begun;        /* most objects that began between two such moments */
};

struct sources {
    struct source *sources; /* those with most allocations first */
    size_t count;
    uint64_t allocations; /* of all */
    struct source_op *ops;
};

/* False: there is no memory. The trace must outlive the sources. */
bool sources_find(struct sources *sources, const struct trace *trace);
void sources_free(struct sources *sources);

/* A source with fewer allocations is too small to be worth a pool, and to be told apart. */
enum { SOURCE_LEAST = 100, SOURCE_SHARE_LEAST = 100 /* one part of so many, of all allocations */ };
bool source_is_few(uint64_t allocations, uint64_t of_all);

/* Fills in what a source's operations tell, from peak on. Until then their objects are blocks of the trace. False:
 * there is no memory. */
bool source_look(struct source *source, uint32_t blocks);

#endif
