/* cli/advise/sites.h: the sites of a trace, and what the lives of their objects are like.
 *
 * A site is what allocates objects of one kind, as far as the trace can tell. Where it has stacks, a site is told by
 * the fewest frames, from the innermost on, behind which all objects have one size: node_new() by itself, but "xmalloc
 * < list_add" where everything goes through xmalloc(). Where no frames are left and sizes still differ, as under
 * mtrace, which knows one caller only, the sizes that occur often are sites of their own, and the rest is one site of
 * varying size.
 *
 *                     caller + 40 bytes, 48 bytes, 40 bytes ...
 *     xmalloc          mixed: look at the next frame
 *       < list_add     40 only: a site
 *       < tree_add     48 only: a site
 *       < text_add     mixed, and no frame further out tells sizes apart: one site, whose sizes vary
 *
 * A life goes from the allocation to the free, or to the first resize: a resized block is no pool's any more.
 */
#ifndef CLI_SITES_H
#define CLI_SITES_H

#include "../replay/trace.h"

/* An object of the site begins or ends. */
struct site_op {
    uint32_t object; /* a number below the site's peak; used again once the object has ended */
    uint16_t thread;
    bool ends;
};

struct site {
    const char *frames; /* of the trace: its first `length` bytes are what tells the site apart */
    size_t length;
    size_t innermost;     /* bytes of frames before the frame that tells this site apart */
    uint64_t least, most; /* size of its objects */
    bool by_size;         /* frames alone do not tell it apart */

    uint64_t allocations; /* also the lives */
    uint64_t resized;     /* lives that a resize ended */
    uint64_t left;        /* objects alive at the end of the trace */
    struct site_op *ops;  /* as recorded, then the ends of the objects that were left alive */
    size_t count;         /* of them, as recorded: count + left = 2 * allocations */

    /* Not of a site that is few: */
    uint32_t peak;              /* most objects alive at a time */
    uint32_t threads;           /* different ones among the operations */
    uint64_t handed;            /* objects that another thread ended than the one that began them */
    uint64_t together, parties; /* objects that died together with all others, at how many moments */
    uint64_t most_begun;        /* most objects that began between two such moments */
};

struct sites {
    struct site *sites; /* those with most allocations first */
    size_t count;
    uint64_t allocations; /* of all */
    struct site_op *ops;
};

/* False: there is no memory. The trace must outlive the sites. */
bool sites_find(struct sites *sites, const struct trace *trace);
void sites_free(struct sites *sites);

/* A site with fewer allocations is too small to be worth a pool, and to be told apart. */
enum { SITE_LEAST = 100, SITE_SHARE_LEAST = 100 /* one part of so many, of all allocations */ };
bool site_is_few(uint64_t allocations, uint64_t of_all);

/* Fills in what a site's operations tell, from peak on. Until then their objects are blocks of the trace. False: there
 * is no memory. */
bool site_look(struct site *site, uint32_t blocks);

#endif
