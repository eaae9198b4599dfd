/* cli/advise/sources.h: the sources of a trace, and statistics of their objects' lives.
 *
 * A source allocates objects of one type, as far as the trace shows. If the trace has stacks, a source is identified by
 * the fewest innermost frames for which all objects have one size. This may be node_new() alone, or
 * "xmalloc < list_add" if everything goes through xmalloc(). If no frames are left and sizes still differ, each
 * frequent size becomes a source, and the rest is one source of varying size. This is common with mtrace, which records
 * only one caller. See groups.h.
 *
 * The places where objects are freed are found in the same way. If a place frees objects of one size only, these must
 * come from one pool, since the code there does not tell them apart: their sources are joined to one. Nearly always
 * they are of one type.
 *
 *     node_new     48 bytes ---> node_free     48 only: node_new and node_copy are one source
 *     node_copy    48 bytes --/
 *     name_new     48 bytes ---> names_end     5 to 48: it tells nothing about name_new
 *
 * A place is one line of code. A function like xfree that frees for several callers is a wrapper, and the line is that
 * of its caller.
 *
 * A life lasts from the allocation to the free or the first resize, because a pool cannot hold a resized block.
 */
#ifndef CLI_SOURCES_H
#define CLI_SOURCES_H

#include "groups.h"

/* The beginning or the end of an object of the source. */
struct source_op {
    uint32_t object; /* its number, below the source's peak; reused once the object has ended */
    uint16_t thread;
    bool ends;
};

/* Where objects of a source are allocated or freed: the first `length` bytes of `frames`. */
struct place {
    const char *frames;
    size_t length;
    size_t innermost; /* bytes of `frames` before the frame that identifies the place: those of wrappers */
    uint64_t count;   /* of these objects */
    bool mixed;       /* a place where objects of other sizes are freed too */
};

struct source {
    uint32_t number;    /* in sources.owners */
    const char *frames; /* those of the origin with most allocations: its first `length` bytes identify it */
    size_t length;
    size_t innermost;     /* bytes of `frames` before the frame that identifies it */
    uint64_t least, most; /* sizes of its objects */
    bool by_size;         /* the frames alone do not identify it */
    bool pooled;          /* its objects are in a pool of kolk's, whose name the frames are (KOLK_RECORD_POOLS) */

    struct place *origins; /* where they are allocated, the most frequent first */
    size_t origin_count;
    struct place *ends; /* where they are freed, the most frequent first */
    size_t end_count;

    uint64_t arrays;       /* allocated by calloc of several objects */
    uint64_t grown;        /* allocated by realloc of NULL, as arrays that grow are */
    uint32_t align;        /* the largest alignment that was asked for, or 0 */
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
    uint32_t *owners;     /* by operation of the trace: the number of its source; only set for TRACE_ALLOC */
    struct source_op *ops;
    struct place *places;
};

/* Returns false if memory runs out. The trace must outlive the sources. */
bool sources_find(struct sources *sources, const struct trace *trace);
void sources_free(struct sources *sources);

/* Computes the members from `peak` on, from the source's operations, and replaces the numbers of the trace's blocks in
 * them by numbers of objects. Returns false if memory runs out. */
bool source_look(struct source *source, uint32_t blocks);

#endif
