/* cli/advise/verdict.h: which allocator a source's objects should come from, and why. Nothing is timed here, so the
 * same trace always gets the same advice. The rules, in this order:
 *
 *     sizes differ                                    leave it
 *     1 % or more are resized by realloc              leave it: the program treats them as blocks from malloc
 *     1 % or more are arrays by calloc                leave it: another run may need other lengths
 *     1 % or more come from realloc of NULL, and
 *     there are fewer than 1,000 of them              leave it: arrays that happened not to grow
 *     aligned to more than a page                     leave it
 *     larger than two pages                           leave it: using them takes longer than any allocator
 *     the size is not a multiple of 4                 leave it: text, not objects of a type
 *     never more than one alive                       leave it: keep one and reuse it
 *     several threads allocate or free them           a shared pool
 *     19 of 20 die together with all others, at
 *     moments with at least 16 of them on average     an arena: free all at once
 *     else                                            a pool
 *
 * The end of the recording counts as such a moment too, because objects that live to the end need no free.
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

    /* Not set for ADVICE_LEAVE: */
    char name[80]; /* of the pool: an identifier that no other pool has */
    /* The peak plus a tenth, or plus twice its root if that is more. For an arena, the peak is the most objects
     * allocated before all are freed. A shared pool has at least the capacity that the threads' caches need. */
    uint32_t capacity;
    uint32_t align;
    uint32_t max_threads;                          /* of a shared pool; 0: the default suffices */
    enum cxx { CXX_NOT, CXX_CLASS, CXX_NODE } cxx; /* objects of C++'s new; nodes of a container of its library */
};

/* Returns the class of kolk.hpp that takes the objects, such as "kolk::pool"; NULL if they are not of C++. */
const char *verdict_class(const struct verdict *verdict);

/* The length of the name without "_pool". */
int verdict_stem(const struct verdict *verdict);

/* Prints the members of the descriptor, in braces. */
void verdict_print_desc(FILE *out, const struct verdict *verdict);

/* Prints how to declare the pool in C++, in one line or two that begin with `indent`. */
void verdict_print_class(FILE *out, const struct verdict *verdict, const char *indent);

extern const char *const advice_names[]; /* "pool", "shared pool", "arena", "leave it" */

/* The name differs from those of the `count` verdicts at `others`. */
void verdict_of(struct verdict *verdict, const struct source *source, const struct verdict *others, size_t count);

/* Names the pool after its symbol, and adds the size if the symbol alone does not identify the source. */
void name_pool(struct verdict *verdict, const struct verdict *others, size_t count);

/* Prints text from the trace in a form that is safe in a terminal and in a C comment. */
void name_print(FILE *out, const char *text, size_t length);

/* Prints where the source's objects are allocated, as "list_add (list.c:9), through xmalloc", with " and " between
 * origins. */
void name_print_source(FILE *out, const struct source *source);

/* Prints the function that the place calls, "xmalloc", if its frames within are of wrappers. */
void name_print_wrapper(FILE *out, const struct place *place);

/* Prints a sentence with the places where most of them are freed; nothing if none is. */
void name_print_ends(FILE *out, const struct source *source);

/* Returns the capacity for a source with this peak. */
uint32_t verdict_capacity(uint64_t peak);

/* Returns max_capacity: so many objects that the machine's memory ends first. The program had no limit with malloc, and
 * may not expect one. Until objects need them, these are addresses, which cost nothing. */
uint32_t verdict_most(const struct verdict *verdict);

/* Returns a descriptor of this pool for objects whose type is unknown. */
kolk_pool_desc verdict_pool(const struct verdict *verdict);

/* Appends to the reason. */
void verdict_say(struct verdict *verdict, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
