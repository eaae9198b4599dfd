/* cli/advise/wrappers.h: functions of a program that allocate or free one block for their callers, such as
 *
 *     void *xmalloc(size_t size)     returns what malloc, calloc or another wrapper allocates, in each call
 *     void xfree(void *block)        frees its parameter, or the block whose header is before it, in each call
 *
 * malloc, calloc and free are the first ones. A function that sometimes returns or keeps another block, as one with a
 * free list or a count of references does, is none. */
#ifndef CLI_WRAPPERS_H
#define CLI_WRAPPERS_H

#include "code.h"

enum { WRAPPER_PARAMETERS = 8 /* the most that are looked at */ };

struct wrapper {
    const struct code_file *file; /* NULL: it is of malloc's family */
    const char *name;
    size_t length;
    size_t begin, end; /* tokens: the braces of its body */
    size_t call;       /* token: the call in there that allocates or frees */

    size_t parameters[WRAPPER_PARAMETERS]; /* tokens: their names */
    size_t count;
    uint32_t pointers; /* a bit for each parameter: it is a void * */
    uint32_t takes;    /* those that make up the size, or the one that is freed */

    bool allocates; /* it returns a void * */
    bool frees;
    bool zeroed;
    bool header; /* the block is larger than what the caller asks for */
};

struct wrappers {
    struct wrapper *wrappers;
    size_t count, room;
};

/* Finds those in the files that are named. Returns false if memory runs out. */
bool wrappers_find(struct wrappers *wrappers, const struct code *code);
void wrappers_free(struct wrappers *wrappers);

/* The one with this name, or NULL. */
const struct wrapper *wrappers_named(const struct wrappers *wrappers, const char *name, size_t length);

/* The one whose body has this line, or NULL. */
const struct wrapper *wrappers_at(const struct wrappers *wrappers, const char *file, size_t length, uint32_t line);

/* The index of the comma, or of the parenthesis, behind the argument that begins at `at`. */
size_t wrappers_argument(const struct code_file *file, size_t at, size_t close);

#endif
