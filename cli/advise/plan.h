/* cli/advise/plan.h: what to change in a program's files so that the objects of a source come from its pool.
 *
 * Two witnesses must agree before a call is rewritten: the recording, and the types in the text.
 *
 *     recording    at this line blocks of this source are allocated or freed, and no others
 *     text         the call allocates or frees one object of this type, and a call of malloc or free is all that it is
 *
 * A call that the recording did not reach is rewritten if its type says that it belongs to the pool. All calls are
 * rewritten, or none: an object of the pool that reached free, or a block of malloc that reached the pool, would end
 * the program. So one call that is not understood, and may be given such an object, leaves the pool to be done by
 * hand. Functions of the program that only allocate or free for others count as malloc and free: see wrappers.h. */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "advise.h"
#include "uses.h"

/* A place that the recording or the text names. */
struct step {
    const char *frame; /* "list_add (list.c:12)"; NULL: the recording does not reach it */
    size_t length;
    const struct call *call; /* NULL: none is found there */
    bool frees;
    char problem[160]; /* why it is not rewritten; "" if it can be */
};

struct plan {
    const struct verdict *verdict;
    struct type type; /* "" if it is not known */
    const struct wrapper
        *wrapper; /* all of its objects are allocated through it; NULL: by malloc itself, or by several */
    struct step *steps;
    size_t count, room;
    char problem[240]; /* "" if there is none; then there may be one of a step */
    bool certain;      /* there is no problem */
    bool through;      /* a line that allocates calls a wrapper, and is not understood; then the type is not known */
    bool in_two_files; /* among the sources is kolk.h, without a folder kolk: the program has kolk.h and kolk.c */

    /* If it is certain: */
    const struct code_file *home, *main; /* where the type is defined; where main is */
    uint32_t home_line, main_line;       /* after which the declarations, and the call of the beginning, go */
};

struct plans {
    struct code code;
    struct uses uses;
    struct plan *plans; /* one for each pool, those with most allocations first */
    size_t count;
};

/* Plans the changes for advisor's verdicts, with the files in this folder. Returns false if memory runs out. */
bool plans_make(struct plans *plans, const struct advisor *advisor, const char *folder);
void plans_free(struct plans *plans);

#endif
