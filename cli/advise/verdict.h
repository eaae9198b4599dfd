/* cli/advise/verdict.h: which allocator a source's objects should come from, and why. No times are measured here: the
 * same trace always gets the same advice. The rules, in this order:
 *
 *     sizes differ                                    leave it
 *     1 % or more are resized by realloc              leave it: the program takes them for malloc's blocks
 *     larger than two pages                           leave it: using them takes longer than any allocator
 *     the size is no multiple of 4                    leave it: text, not objects of a type
 *     never more than one alive                       leave it: keep one and use it again
 *     several threads allocate or free them           a shared pool
 *     19 of 20 die together with all others, at
 *     moments with at least 16 of them on average     an arena: free all at once
 *     else                                            a pool
 *
 * The end of the recording counts as such a moment too: objects that live to the end need no free.
 */
#ifndef CLI_VERDICT_H
#define CLI_VERDICT_H

#include "sources.h"

#include <kolk/kolk.h>

enum advice { ADVICE_POOL, ADVICE_SHARED, ADVICE_ARENA, ADVICE_LEAVE };

struct verdict {
    const struct source *source;
    enum advice advice;
    char reason[640]; /* sentences */

    /* Not for ADVICE_LEAVE: */
    char name[80]; /* of the pool: an identifier, different from others' */
    /* The peak and a quarter more. An arena's peak is the most objects allocated before all are freed. A shared pool
     * has at least the capacity that threads' caches need. */
    uint32_t capacity;
    uint32_t align;
    uint32_t max_threads; /* of a shared pool; 0: the default suffices */
    kolk_reuse order;     /* of a pool */
};

extern const char *const advice_names[]; /* "pool", "shared pool", "arena", "leave it" */

/* False: there is no memory. The name is different from those of the `count` verdicts at `others`. */
bool verdict_of(struct verdict *verdict, const struct source *source, const struct verdict *others, size_t count);

/* Names the pool after its symbol, and adds the size if the symbol is not unique. */
void name_pool(struct verdict *verdict, const struct verdict *others, size_t count);

/* Prints the frames that the source's objects have in common, made safe for a terminal and for a comment in C. */
void name_print_source(FILE *out, const struct source *source);

/* Chooses LIFO, the fastest order, or LOWEST if it keeps the live objects on at most half as many pages. The pages are
 * averaged over the time after the peak in which at most half the peak is alive. Fewer pages make iteration faster and
 * let more memory go back to the system. Pools that fit into a few pages gain nothing. Appends the reason. Returns
 * false if memory runs out. */
bool order_choose(struct verdict *verdict);

/* A descriptor of this pool for objects whose type is unknown. */
kolk_pool_desc verdict_pool(const struct verdict *verdict, kolk_reuse order);

/* Appends to the reason. */
void verdict_say(struct verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
