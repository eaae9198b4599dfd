/* sizes.h: capacities from a file (KOLK_SIZES), what pools have needed in each scene (KOLK_STATS=sizes), and the scene. */
#ifndef KOLK_SRC_SIZES_H
#define KOLK_SRC_SIZES_H

#include "kolk/base.h"

#if __STDC_HOSTED__

#include <stdio.h>

/* ---- For pools: without the lock --------------------------------------------------------------------------------- */

/* The capacity that a pool of this name is to have now; 0 if nothing is said about it. Reports what is wrong with the
 * file, if that has not been said. */
uint32_t kolk_sizes_of(const char *name);

/* Reports that a pool cannot have it, for this reason, and what it has instead. */
void kolk_sizes_refuse(const char *name, uint32_t capacity, const char *why);

/* Are peaks to be counted, for each scene anew? */
bool kolk_sizes_are_measured(void);

/* ---- For the registry -------------------------------------------------------------------------------------------- */

/* Reads KOLK_SIZES and its file. Once, under the lock. `measured` is the file that needs are to be
 * written to at exit, if they are and if it is one: then it need not be there yet. */
void kolk_sizes_read_setting(bool measures, const char *measured);

/* Is there a file, or is one to be written? */
bool kolk_sizes_matter(void);

/* The scene that is on, "" if none is; it lives as long as the process. */
const char *kolk_sizes_scene(void);
void kolk_sizes_enter(const char *scene);

/* Notes what a pool has needed in the scene that is on; it was initialised in the scene `born`. Under the lock. */
void kolk_sizes_note(const kolk_stats *stats, const char *born);

/* Writes down what was noted. */
void kolk_sizes_write(FILE *file);

/* At exit: reports the lines that nothing has asked for. */
void kolk_sizes_report_unused(void);

#else

static inline uint32_t kolk_sizes_of(const char *name) {
    (void)name;
    return 0;
}

static inline void kolk_sizes_refuse(const char *name, uint32_t capacity, const char *why) {
    (void)name, (void)capacity, (void)why;
}

static inline bool kolk_sizes_are_measured(void) {
    return false;
}

#endif
#endif
