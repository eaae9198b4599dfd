/* cli/advise/verdict.h: what a source's objects should come from, and why. Nothing here is measured in time: the same
 * trace always gets the same advice. The rules, in this order:
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
 * The end of the recording is such a moment too: what lives to the end needs no free at all.
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
    /* The peak (of an arena, the most that begin before all are freed) and a quarter more; of a shared pool, so many
     * that threads have caches. */
    uint32_t capacity;
    uint32_t align;
    uint32_t max_threads; /* of a shared pool; 0: the default does */
    kolk_reuse order;     /* of a pool */
};

extern const char *const advice_names[]; /* "pool", "shared pool", "arena", "leave it" */

/* False: there is no memory. The name is different from those of the `count` verdicts at `others`. */
bool verdict_of(struct verdict *verdict, const struct source *source, const struct verdict *others, size_t count);

/* Makes a name of the symbol, and of the size where that does not tell it apart. */
void name_pool(struct verdict *verdict, const struct verdict *others, size_t count);

/* The source in words: the frames that its objects have in common, made fit for a terminal or a comment of C. */
void name_print_source(FILE *out, const struct source *source);

/* LIFO, which is the fastest, or LOWEST where it keeps the live objects on half as many pages or less, on average over
 * the time after the peak in which no more than half of it is alive. A walk over them gains by that, and so does giving
 * memory back. Pools that fit into a few pages gain nothing. Appends the reason. False: there is no memory. */
bool order_choose(struct verdict *verdict);

/* A descriptor of this pool for objects whose type is unknown. */
kolk_pool_desc verdict_pool(const struct verdict *verdict, kolk_reuse order);

/* Appends to the reason. */
void verdict_say(struct verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
