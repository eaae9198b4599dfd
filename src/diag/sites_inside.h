/* sites_inside.h: what the files share that put an address of code into words. sites.c has the essay and the module,
 * and sites_function.c the function, sites_place.c the place in the source. */
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
#include <unistd.h>

typedef struct site_module {
    uintptr_t site;      /* what is looked for */
    uintptr_t base;      /* site - base is its address in the file */
    int file;            /* open for reading; -1 if it can't be found or opened */
    char path[PATH_MAX]; /* as the loader calls it; "" if the site is in no module, or one without a name */
} site_module;

static inline bool kolk_site_read(int file, uint64_t offset, void *bytes, size_t size) {
    return pread(file, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* "on_hit+0x2c". False, and nothing is added: the address is in no function with a name. The file is open. */
bool kolk_site_add_function(site_text *out, const site_module *in);

/* " (collide.c:63)", or nothing. The file is open. */
void kolk_site_add_place(site_text *out, site_module *in);

#endif
#endif
