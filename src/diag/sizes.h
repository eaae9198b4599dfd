/* sizes.h: capacities from a file (KOLK_SIZES), and what pools have needed in each scene (KOLK_STATS=sizes). */
#ifndef KOLK_SRC_SIZES_H
#define KOLK_SRC_SIZES_H

#include "kolk/base.h"

#if KOLK_DIAGNOSTICS

/* ---- For pools: without the lock --------------------------------------------------------------------------------- */

/* The capacities of a descriptor, and what the file says instead. */
typedef struct kolk_size {
    const char *name;
    uint32_t *capacity, *max_capacity; /* the descriptor's */
    uint32_t own, own_max;             /* what was there */
    uint32_t wanted;                   /* by the file; 0: it says nothing */
    bool given;                        /* it is in the descriptor now */
    const char *refused;               /* why it was taken out again */
} kolk_size;

/* For an init, before it makes anything (process.h): the descriptor gets the capacity that its name has in the file,
 * unless it brings memory. Reports what is wrong with the file, if that has not been said. O(lines of the file). */
kolk_size kolk_sizes_ask(const char *name, const void *memory, uint32_t *capacity, uint32_t *max_capacity);

/* Due when the init with these capacities has failed. True: that may be due to the file; the descriptor has its own
 * capacities again, and the init should try once more. */
bool kolk_sizes_withdraw(kolk_size *size, kolk_status failure);

/* Due when the descriptor has been checked, and before memory is made. Reports it if this capacity is not what the file
 * says. */
void kolk_sizes_settle(const kolk_size *size, uint32_t capacity);

/* Are peaks to be counted, for each scene anew? */
bool kolk_sizes_are_measured(void);

/* ---- For process.c ----------------------------------------------------------------------------------------------- */

/* The capacity that a pool of this name is to have now; 0 if nothing is said about it. Reports what is wrong with the
 * file, if that has not been said. Without the lock. */
uint32_t kolk_sizes_of(const char *name);

/* Reports that a pool cannot have it, for this reason, and what it has instead. Without the lock. */
void kolk_sizes_refuse(const char *name, uint32_t capacity, const char *why);

/* Reads KOLK_SIZES and its file. `measured` is the file that needs are to be written to at exit, or NULL. That file
 * need not exist yet. */
void kolk_sizes_read_setting(bool measures, const char *measured);

/* Is there a file, or is one to be written? */
bool kolk_sizes_matter(void);

/* The scene that is on, "" if none is; it lives as long as the process. */
const char *kolk_sizes_scene(void);
void kolk_sizes_enter(const char *scene);

/* Notes what a pool has needed in the scene that is on; it was initialised in the scene `born`. Under the lock. */
void kolk_sizes_note(const kolk_stats *stats, const char *born);

/* Writes down what was noted, into this file; to stderr if that is NULL, or cannot be. Without the lock. */
void kolk_sizes_write(const char *name);

/* At exit: reports the lines that nothing has asked for. */
void kolk_sizes_report_unused(void);

#else

typedef int kolk_size;

static inline kolk_size kolk_sizes_ask(const char *name, const void *memory, uint32_t *capacity,
                                       uint32_t *max_capacity) {
    (void)name, (void)memory, (void)capacity, (void)max_capacity;
    return 0;
}

static inline bool kolk_sizes_withdraw(const kolk_size *size, kolk_status failure) {
    (void)size, (void)failure;
    return false;
}

static inline void kolk_sizes_settle(const kolk_size *size, uint32_t capacity) {
    (void)size, (void)capacity;
}

static inline bool kolk_sizes_are_measured(void) {
    return false;
}

#endif

/* ---- The peak that they count ------------------------------------------------------------------------------------ */

/* The peak of a pool that does not count it: no count exceeds it. */
#define PEAK_IS_FRESH UINT32_MAX

static inline uint32_t kolk_peak(uint32_t peak, uint32_t fresh) {
    return peak == PEAK_IS_FRESH ? fresh : peak;
}

#endif
