/* cli/advise/uses.h: the calls of malloc's family and of its wrappers in a program's files, and what is understood of
 * them. */
#ifndef CLI_USES_H
#define CLI_USES_H

#include "wrappers.h"

enum call_kind {
    CALL_ALLOC,
    CALL_FREE,
    CALL_OTHER /* realloc and the like, a macro that calls one of them, or a function's name that is no call */
};

struct call {
    const struct code_file *file;
    size_t word, close; /* tokens: the function's name, and the last parenthesis; close 0: it is no call */
    size_t begin, end;  /* tokens: the expression that is freed */
    enum call_kind kind;
    const struct wrapper *wrapper; /* malloc, calloc, free or a wrapper; NULL for CALL_OTHER */
    struct type type;              /* what is allocated or freed; "" if it is not known */
    const char *problem; /* why the call cannot be rewritten, a sentence without a full stop; NULL if it can be */
};

struct uses {
    struct call *calls; /* in the order of files and lines */
    size_t count, room;
    struct wrappers wrappers;
};

/* Returns false if memory runs out. The code must outlive the calls. */
bool uses_find(struct uses *uses, const struct code *code);
void uses_free(struct uses *uses);

/* The line of its first token. */
uint32_t call_line(const struct call *call);

#endif
