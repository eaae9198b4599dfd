/* stats_field.h: a number of 4 or 8 bytes in a struct of statistics, for tables of what there is to write. */
#ifndef KOLK_SRC_STATS_FIELD_H
#define KOLK_SRC_STATS_FIELD_H

#include "../core/assert.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct kolk_field {
    size_t offset, size;
} kolk_field;

#define KOLK_FIELD(type, member)                                                                                       \
    { offsetof(type, member), sizeof((type *)0)->member }

static inline uint64_t kolk_field_of(const void *stats, kolk_field at) {
    uint64_t wide;
    uint32_t narrow;
    const char *from = (const char *)stats + at.offset;
    if (at.size == sizeof narrow) return memcpy(&narrow, from, sizeof narrow), narrow;
    KOLK_ASSERT(at.size == sizeof wide);
    return memcpy(&wide, from, sizeof wide), wide;
}

#endif
