/* sites_inside.h: what the files share that put addresses of code into words. sites.c has the essay, the modules and
 * stacks, sites_call.c a call, sites_function.c the function, sites_place.c the places in the source. */
#ifndef KOLK_SRC_SITES_INSIDE_H
#define KOLK_SRC_SITES_INSIDE_H

#include "../core/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The caller's text: cut where it is full. */
typedef struct site_text {
    char *text;
    size_t size, length;
} site_text;

static inline void add_text(site_text *out, const char *bytes, size_t length) {
    KOLK_ASSERT(out->length < out->size);
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
#include <link.h>
#include <unistd.h>

typedef struct site_module {
    uintptr_t site;      /* what is looked for */
    uintptr_t base;      /* site - base is its address in the file */
    int file;            /* open for reading; -1 if it can't be found or opened */
    char path[PATH_MAX]; /* as the loader calls it; "" if the site is in no module, or one without a name */
} site_module;

typedef struct module_name {
    uintptr_t site, base;
    uintptr_t called; /* what the call before the site is of; 0: not known */
    bool found, is_libc;
} module_name;

/* The part of a module that the address is in; NULL: it is not in this one. */
const ElfW(Phdr) * kolk_site_part(const struct dl_phdr_info *loaded, uintptr_t address);

module_name kolk_site_module_name(const void *site);

static inline bool kolk_site_read(int file, uint64_t offset, void *bytes, size_t size) {
    return pread(file, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* "on_hit+0x2c". False, and nothing is added: the address is in no function with a name. The file is open. */
bool kolk_site_add_function(site_text *out, const site_module *in);

/* Was some of it compiled by clang? The file is open. */
bool kolk_site_is_by_clang(const site_module *in);

/* A call in words. */
typedef struct site_call {
    const char *function; /* "" or "??": not known */
    const char *place;    /* "collide.c:63", or "" */
    bool is_merged;       /* the compiler has merged it into its caller, so that the address is not its own */
} site_call;

/* The calls of a stack, as they are being written. */
typedef struct site_calls {
    site_text *out;
    size_t at;           /* of the addresses of the stack, the one that is looked at */
    size_t named;        /* and how many of them the calls that were written are of */
    uint32_t left;       /* how many more calls may be written */
    size_t looked_at;    /* how many addresses were searched for a call that is missing before them */
    char inside[128];    /* the function that the address before this one is in */
    bool any;            /* kolk's own count too */
    bool is_stack;       /* the innermost call is of a function of kolk's */
    char typed_verb[16]; /* the last one was of a function that typed functions of this verb call; or "" */
} site_calls;

/* Writes a call at the module's site, unless it is one of kolk's own. */
void kolk_site_add_call(site_calls *calls, const site_module *in, const site_call *call);

/* Writes the calls at these addresses, which all are in this module, whose file is open, with their places. Returns of
 * how many addresses: the others need another way. */
size_t kolk_site_add_places(site_calls *calls, site_module *in, const void *const *stack, size_t count);

#endif
#endif
