/* sizes.h: capacities from a file (KOLK_SIZES), and the needs of pools in each scene (KOLK_STATS=sizes). */
#ifndef KOLK_SRC_SIZES_H
#define KOLK_SRC_SIZES_H

#include "kolk/base.h"

#if KOLK_DIAGNOSTICS

/* ---- For pools: without the lock --------------------------------------------------------------------------------- */

/* The capacities of a descriptor, and the file's capacity that replaces them. */
typedef struct kolk_size_ {
    const char *name;
    uint32_t *capacity, *max_capacity; /* the descriptor's */
    uint32_t own, own_max;             /* the descriptor's original values */
    uint32_t wanted;                   /* the file's capacity; 0 if it has none */
    bool given;                        /* `wanted` is in the descriptor now */
    const char *refused;               /* the reason why it was taken out again */
} kolk_size_;

/* For an init, before it creates anything (process.h): replaces the descriptor's capacity by the one that the file has
 * for the pool's name, unless the caller provides memory. Reports mistakes in the file that are not yet reported.
 * O(lines of the file). */
kolk_size_ kolk_sizes_ask_(const char *name, const void *memory, uint32_t *capacity, uint32_t *max_capacity);

/* Must be called when the init with these capacities has failed. If they came from the file, restores the descriptor's
 * own capacities and returns true: the init should try once more. */
bool kolk_sizes_withdraw_(kolk_size_ *size, kolk_status failure);

/* Must be called between the check of the descriptor and the allocation of memory. Reports it if the pool does not get
 * the file's capacity, either because its memory is the caller's or because that capacity was withdrawn. */
void kolk_sizes_settle_(const kolk_size_ *size, uint32_t capacity);

/* Must pools count their peaks, starting again in each scene? */
bool kolk_sizes_are_measured_(void);

/* ---- For process.c ----------------------------------------------------------------------------------------------- */

/* Returns the capacity that the file has for a pool of this name in the current scene; 0 if it has none. Reports
 * mistakes in the file that are not yet reported. Call it without the lock. */
uint32_t kolk_sizes_of_(const char *name);

/* Reports that a pool keeps `capacity` and cannot have the file's, for this reason. Call it without the lock. */
void kolk_sizes_refuse_(const char *name, uint32_t capacity, const char *why);

/* Reads KOLK_SIZES and its file. `measured` is the file to which the needs will be written at exit, or NULL. That file
 * need not exist yet. */
void kolk_sizes_read_setting_(bool measures, const char *measured);

/* Is there a file to read or needs to write? */
bool kolk_sizes_matter_(void);

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

#else

typedef int kolk_size_;

static inline kolk_size_ kolk_sizes_ask_(const char *name, const void *memory, uint32_t *capacity,
                                         uint32_t *max_capacity) {
    (void)name, (void)memory, (void)capacity, (void)max_capacity;
    return 0;
}

static inline bool kolk_sizes_withdraw_(const kolk_size_ *size, kolk_status failure) {
    (void)size, (void)failure;
    return false;
}

static inline void kolk_sizes_settle_(const kolk_size_ *size, uint32_t capacity) {
    (void)size, (void)capacity;
}

static inline bool kolk_sizes_are_measured_(void) {
    return false;
}

static inline bool kolk_sizes_matter_(void) {
    return false;
}

#endif

/* ---- The peak that pools count ----------------------------------------------------------------------------------- */

/* The `peak` of a pool that does not count its peak: no count exceeds this number. */
#define PEAK_IS_FRESH UINT32_MAX

static inline uint32_t kolk_peak_(uint32_t peak, uint32_t fresh) {
    return peak == PEAK_IS_FRESH ? fresh : peak;
}

#endif
