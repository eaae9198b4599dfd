/* begin.h: the first and the last step, which all inits share.
 *
 * A failure handler may leave an init by longjmp or throw. For the caller, the init has then failed. So every init
 * follows this order and reports only while nothing exists yet:
 *
 *     1  the struct becomes all zero                      kolk_begin_
 *     2  settings are read, and mistakes in them are      kolk_begin_; then, if this kind of pool has them,
 *        reported; the descriptor is checked              kolk_settings_of_, kolk_size_of_, kolk_size_settle_
 *     3  memory is allocated, the struct is filled in
 *     4  the pool is added to the registry                kolk_list_
 *
 * From step 3 on, nothing is reported. */
#ifndef KOLK_SRC_BEGIN_H
#define KOLK_SRC_BEGIN_H

#include "tools.h"
#include "watch.h"

#include <string.h>

/* Has the program the layout of the library's struct, and does it pass a descriptor? */
static inline kolk_status kolk_check_call_(size_t size, size_t own_size, uint32_t abi, const void *desc) {
    if (abi != KOLK_ABI || size != own_size) return KOLK_WRONG_ABI;
    return desc ? KOLK_OK : KOLK_NO_DESCRIPTOR;
}

/* Without a watch: reports each variable of kolk's that is set, because it has no effect (fail.c). */
void kolk_refuse_settings_(void);

/* Sets the struct to zero and reads the process's settings. `size` is the struct's size in the program, `own_size` its
 * size in the library. The init fails with the status that this returns, unless that is KOLK_OK. */
static inline kolk_status kolk_begin_(void *self, size_t size, size_t own_size, uint32_t abi, const void *desc) {
    if (kolk_watch_) {
        kolk_watch_->begins(self, size);
    } else {
        memset(self, 0, size);
        if (KOLK_HOSTED) kolk_refuse_settings_();
    }
    return kolk_check_call_(size, own_size, abi, desc);
}

/* A copy of the name that lives as long as the process, if there is a watch: the text that was passed to an init may
 * lie in a module that is unloaded, or in a buffer that is used again, while the pool still exists. Equal names have
 * the same copy. Takes the process's lock for a name that has no copy yet. */
static inline const char *kolk_name_kept_(const char *name) {
    return kolk_watch_ ? kolk_watch_->named(name) : name;
}

static inline kolk_settings_ kolk_settings_of_(const char *name, const char *own, bool loud) {
    kolk_settings_ none = {0};
    return kolk_watch_ ? kolk_watch_->settings(name, own, loud, false) : none;
}

static inline kolk_settings_ kolk_settings_of_heap_(const char *name, const char *own) {
    kolk_settings_ none = {0};
    return kolk_watch_ ? kolk_watch_->settings(name, own, true, true) : none;
}

/* Adds the complete struct to the registry, which writes the pool's number to `number`, a field of the struct. The
 * registry never writes to a pool again. A pool whose storage is gone without a deinit does no harm: its struct is read
 * by kolk_peek_, and ignored if its facts have changed. */
static inline void kolk_list_(const void *self, size_t size, uint32_t *number, const kolk_kind_ *kind) {
    kolk_tools_wrote_(self, size);
    if (kolk_watch_) kolk_watch_->listed(self, number, kind, false); /* else the struct's number is 0 */
}

static inline void kolk_unlist_(uint32_t number) {
    if (number && kolk_watch_) kolk_watch_->ended(number);
}

static inline void kolk_relist_(uint32_t number, const char *name, kolk_debug *debug) {
    if (kolk_watch_) kolk_watch_->renamed(number, name, debug);
}

static inline bool kolk_is_home_(const void *self, uint32_t number, const char *name, const void *site) {
    return !kolk_watch_ || kolk_watch_->is_home(self, number, name, site);
}

/* ---- The capacity of the file KOLK_SIZES ------------------------------------------------------------------------- */

/* The capacities of a descriptor, and the file's capacity that replaces them. */
typedef struct kolk_size_ {
    const char *name;
    uint32_t *capacity, *max_capacity; /* the descriptor's */
    uint32_t own, own_max;             /* the descriptor's original values */
    uint32_t wanted;                   /* the file's capacity; 0 if it has none */
    bool given;                        /* `wanted` is in the descriptor now */
    const char *refused;               /* the reason why it was taken out again */
} kolk_size_;

/* For an init, before it creates anything: replaces the descriptor's capacity by the one that the file has for the
 * pool's name, unless the caller provides memory. O(lines of the file). */
static inline kolk_size_ kolk_size_of_(const char *name, const void *memory, uint32_t *capacity,
                                       uint32_t *max_capacity) {
    kolk_size_ size = {name, capacity, max_capacity, *capacity, *max_capacity, 0, false, NULL};
    if (kolk_watch_) size.wanted = kolk_watch_->wanted(name);
    size.given = size.wanted && !memory;
    if (!size.given) return size;
    *capacity = size.wanted;
    if (*max_capacity && *max_capacity < size.wanted) *max_capacity = size.wanted;
    return size;
}

/* Must be called when the init with these capacities has failed. If they came from the file, restores the descriptor's
 * own capacities and returns true: the init should try once more. */
static inline bool kolk_size_withdraw_(kolk_size_ *size, kolk_status failure) {
    if (!KOLK_WATCHED_ || !size->given) return false;
    *size->capacity = size->own;
    *size->max_capacity = size->own_max;
    size->refused = kolk_status_text(failure);
    size->given = false;
    return true;
}

/* Must be called between the check of the descriptor and the allocation of memory. Reports it if the pool does not get
 * the file's capacity, either because its memory is the caller's or because that capacity was withdrawn. */
static inline void kolk_size_settle_(const kolk_size_ *size, uint32_t capacity) {
    const char *why = size->refused;
    if (!why && size->wanted > capacity) why = "it is on the caller's memory";
    if (KOLK_WATCHED_ && why) kolk_watch_->refused(size->name, capacity, why);
}

/* May pools have other capacities than their descriptors? Must they count their peaks, starting again in each scene? */
static inline bool kolk_sizes_matter_(void) {
    return kolk_watch_ && kolk_watch_->sizes(false);
}

static inline bool kolk_sizes_are_measured_(void) {
    return kolk_watch_ && kolk_watch_->sizes(true);
}

/* ---- The peak that pools count ----------------------------------------------------------------------------------- */

/* The `peak` of a pool that does not count its peak: no count exceeds this number. */
#define PEAK_IS_FRESH UINT32_MAX

static inline uint32_t kolk_peak_(uint32_t peak, uint32_t fresh) {
    return peak == PEAK_IS_FRESH ? fresh : peak;
}

#endif
