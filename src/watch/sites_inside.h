/* sites_inside.h: declarations that the sites*.c files share. sites.c has the essay, modules and stacks; sites_call.c
 * prints a call and its function; sites_name.c shortens its name in C++; sites_source.c finds its source lines. */
#ifndef KOLK_SRC_SITES_INSIDE_H
#define KOLK_SRC_SITES_INSIDE_H

#include "../base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The caller's buffer. Text that does not fit is cut. */
typedef struct site_text {
    char *text;
    size_t size, length;
} site_text;

static inline void add_text(site_text *out, const char *bytes, size_t length) {
    KOLK_ASSERT_(out->length < out->size);
    size_t room = out->size - 1 - out->length;
    if (length > room) length = room;
    memcpy(out->text + out->length, bytes, length);
    out->length += length;
    out->text[out->length] = 0;
}

static inline void add_hex(site_text *out, const char *before, uintptr_t number) {
    char text[2 * sizeof number + 4];
    add_text(out, text, (size_t)snprintf(text, sizeof text, "%s0x%" PRIxPTR, before, number));
}

#ifdef __linux__

#include <limits.h>
#include <unistd.h>

typedef struct site_module {
    uintptr_t site;      /* the address to look up */
    uintptr_t base;      /* site - base is its address in the file */
    int file;            /* open for reading; -1 if the file cannot be found or opened */
    char path[PATH_MAX]; /* the loader's name for it; "" if the module has no name, or there is no module */
} site_module;

static inline bool kolk_site_read_(int file, uint64_t offset, void *bytes, size_t size) {
    return pread(file, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Shortens the name of a C++ function that was just added: see sites_name.c. */
void kolk_site_shorten_(site_text *out, size_t start);

/* Was any part of the module compiled by clang? The file must be open. */
bool kolk_site_is_by_clang_(const site_module *in);

/* The texts of one call. */
typedef struct site_call {
    const char *function; /* "" or "??" if unknown */
    const char *source;   /* "collide.c:63", or "" */
    bool is_merged;       /* the function was merged into its caller, so the address is the caller's */
} site_call;

/* The state while the calls of a stack are being written. */
typedef struct site_calls {
    site_text *out;
    size_t at;           /* the index of the stack's address that is being processed */
    size_t named;        /* the number of the stack's addresses that the printed calls cover */
    uint32_t left;       /* the number of calls that may still be written */
    bool begun;          /* the innermost call is behind us */
    bool any;            /* kolk's own calls are printed, too */
    char typed_verb[16]; /* the verb of the typed functions that call the last function; "" if none do */
} site_calls;

/* Writes the call at the module's site, unless it is one of kolk's own. */
void kolk_site_add_call_(site_calls *calls, const site_module *in, const site_call *call);

/* Writes the calls at these addresses, with their source lines. All must be in this module, and its file must be open.
 * Returns the number of addresses done; the caller writes the others without source lines. */
size_t kolk_site_add_sources_(site_calls *calls, site_module *in, const void *const *stack, size_t count);

#endif
#endif
