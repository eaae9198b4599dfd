/* cli/advise/groups.h: groups operations of a trace by the fewest innermost frames of their stacks that tell sizes
 * apart. Allocations are grouped to sources like this, and frees to the places where objects of one type are freed.
 *
 *                     caller + 40 bytes, 48 bytes, 40 bytes ...
 *     xmalloc          mixed: look at the next frame
 *       < list_add     40 only: a group
 *       < tree_add     48 only: a group
 *       < text_add     mixed, and no frame further out tells sizes apart: one group, whose sizes vary
 */
#ifndef CLI_GROUPS_H
#define CLI_GROUPS_H

#include "../replay/map.h"
#include "../replay/trace.h"

struct group {
    const char *frames; /* in the trace's text: its first `length` bytes identify the group */
    size_t length;
    size_t innermost;     /* bytes of `frames` before the frame that identifies this group */
    uint64_t least, most; /* sizes */
    uint64_t count;       /* of operations */
    bool by_size;         /* the frames alone do not identify it */
};

/* If it is all zero, there are none. */
struct groups {
    struct group *groups;
    size_t count, room;
    uint64_t operations; /* of all groups */
    struct pair *pairs;  /* of caller and size */
    size_t pair_count, pair_room;
    struct map numbers; /* of the pairs */
};

/* Counts an operation by this caller on a block of this size. Returns false if memory runs out. */
bool groups_add(struct groups *groups, uint32_t caller, uint64_t size);

/* Makes the groups, once all operations have been counted. Returns false if memory runs out. The trace must outlive
 * them. */
bool groups_make(struct groups *groups, const struct trace *trace);

/* Returns the number of the group of an operation that has been counted. */
uint32_t groups_find(const struct groups *groups, uint32_t caller, uint64_t size);

void groups_free(struct groups *groups);

/* A group with fewer allocations than this is not worth a pool, or being told apart by its own frames or size. */
enum { SOURCE_LEAST = 100, SOURCE_SHARE_LEAST = 100 /* 1/SOURCE_SHARE_LEAST of all allocations */ };
bool source_is_few(uint64_t allocations, uint64_t of_all);

#endif
