/* sizes.h: capacities from a file (KOLK_SIZES), and the needs of pools in each scene (KOLK_STATS=sizes). */
#ifndef KOLK_SRC_SIZES_H
#define KOLK_SRC_SIZES_H

#include "kolk/base.h"

/* Returns the capacity that the file has for a pool of this name in the current scene; 0 if it has none. Reports
 * mistakes in the file that are not yet reported. Call it without the lock. */
uint32_t kolk_sizes_of_(const char *name);

/* Reports that a pool keeps `capacity` and cannot have the file's, for this reason. Call it without the lock. */
void kolk_sizes_refuse_(const char *name, uint32_t capacity, const char *why);

/* Reads KOLK_SIZES and its file. `measured` is the file to which the needs will be written at exit, or NULL. That file
 * need not exist yet. */
void kolk_sizes_read_setting_(bool measures, const char *measured);

/* Is there a file to read or needs to write? With `measured`: must pools count their peaks, starting again in each
 * scene? */
bool kolk_sizes_count_(bool measured);

/* Returns the current scene, or ""; the text lives as long as the process. */
const char *kolk_sizes_scene_(void);
void kolk_sizes_enter_(const char *scene);

/* Records a pool's need in the current scene. The pool was initialised in the scene `born`. Call it under the lock. */
void kolk_sizes_note_(const kolk_stats *stats, const char *born);

/* Writes the recorded needs into this file, or to stderr if `name` is NULL or the file cannot be written. Call it
 * without the lock. */
void kolk_sizes_write_(const char *name);

/* At exit, reports the lines that no pool or scene has used. */
void kolk_sizes_report_unused_(void);

#endif
