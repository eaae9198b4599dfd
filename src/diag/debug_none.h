/* debug_none.h: the functions of debug.h for builds without a debug mode, where kolk_debug_begin_ is never called and
 * no pool has a kolk_debug. */
#ifndef KOLK_SRC_DEBUG_NONE_H
#define KOLK_SRC_DEBUG_NONE_H

static inline void kolk_debug_settle_(kolk_debug_desc_ *desc) {
    desc->settings.flags = 0;
}

static inline kolk_debug *kolk_debug_begin_(const kolk_debug_desc_ *desc) {
    (void)desc;
    return NULL;
}

static inline void kolk_debug_rename_(kolk_debug *debug, const char *name) {
    (void)debug, (void)name;
}

static inline void kolk_debug_end_(kolk_debug *debug, uint32_t end) {
    (void)debug, (void)end;
}

static inline bool kolk_debug_commit_(kolk_debug *debug, uint32_t capacity) {
    (void)debug, (void)capacity;
    return true;
}

static inline uintptr_t *kolk_debug_objects_(const kolk_debug *debug) {
    (void)debug;
    return NULL;
}

static inline uintptr_t kolk_debug_find_(const kolk_debug *debug, const void *object) {
    (void)debug, (void)object;
    return UINT32_MAX;
}

static inline uint32_t kolk_debug_search_(const kolk_debug *debug, uint32_t end, const void *pointer,
                                          uint64_t *inside) {
    (void)debug, (void)end, (void)pointer, (void)inside;
    return UINT32_MAX;
}

static inline void kolk_debug_sites_(const kolk_debug *debug, uint32_t slot, kolk_failure *failure) {
    (void)debug, (void)slot, (void)failure;
}

static inline bool kolk_debug_is_intact_(const kolk_debug *debug, uint32_t slot, const void *object, bool live) {
    (void)debug, (void)slot, (void)object, (void)live;
    return true;
}

static inline void kolk_debug_verify_(const kolk_debug *debug, uint32_t slot, void *object, bool live,
                                      kolk_failure failure) {
    (void)debug, (void)slot, (void)object, (void)live, (void)failure;
}

static inline void *kolk_debug_prepare_(kolk_debug *debug, uint32_t slot, void *object) {
    (void)debug, (void)slot;
    return object;
}

static inline void kolk_debug_begin_life_(kolk_debug *debug, uint32_t slot, const void *object, const void *site) {
    (void)debug, (void)slot, (void)object, (void)site;
}

static inline void kolk_debug_end_life_(kolk_debug *debug, uint32_t slot, const void *site) {
    (void)debug, (void)slot, (void)site;
}

static inline void kolk_debug_wipe_(kolk_debug *debug, uint32_t slot, void *object) {
    (void)debug, (void)slot, (void)object;
}

static inline bool kolk_debug_fails_(kolk_debug *debug) {
    (void)debug;
    return false;
}

static inline void kolk_debug_forget_(kolk_debug *debug, uint32_t from, uint32_t end) {
    (void)debug, (void)from, (void)end;
}

static inline void kolk_debug_unissue_(kolk_debug *debug, uint32_t from, uint32_t end) {
    (void)debug, (void)from, (void)end;
}

static inline void kolk_debug_leaks_(kolk_debug *debug, uint32_t end, kolk_failure failure) {
    (void)debug, (void)end, (void)failure;
}

static inline void kolk_debug_places_(const kolk_debug *debug, uint32_t end, kolk_place_counts_ *counts) {
    (void)debug, (void)end, (void)counts;
}

static inline uint32_t kolk_debug_quarantine_(const kolk_debug *debug) {
    (void)debug;
    return 0;
}

static inline uint32_t *kolk_debug_ring_(kolk_debug *debug, uint32_t n) {
    (void)debug, (void)n;
    return NULL;
}

static inline void kolk_debug_ring_advance_(kolk_debug *debug) {
    (void)debug;
}

#endif
