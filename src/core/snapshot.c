/* snapshot.c: see snapshot.h. */
#include "snapshot.h"

#include "../base/assert.h"
#include "../base/hash.h"
#include "block.h"
#include "tools.h"

#define BYTE_ORDER_MARK UINT32_C(0x01020304)

kolk_snapshot_start_ kolk_snapshot_start_of_(const char *magic, uint32_t format, uint64_t size) {
    kolk_snapshot_start_ start = {.byte_order = BYTE_ORDER_MARK, .format = format, .size = size};
    memcpy(start.magic, magic, sizeof start.magic);
    return start;
}

size_t kolk_snapshot_seal_(unsigned char *bytes, uint64_t padding, uint64_t size) {
    uint64_t end = round_up(padding, 8), sum;
    KOLK_ASSERT_(size == end + sizeof sum);
    memset(bytes + padding, 0, (size_t)(end - padding));
    kolk_tools_copied_(bytes, (size_t)end);
    sum = kolk_hash_bytes_(bytes, (size_t)end);
    memcpy(bytes + end, &sum, sizeof sum);
    kolk_tools_wrote_(bytes + end, sizeof sum);
    return (size_t)size;
}

kolk_status kolk_snapshot_prove_(const unsigned char *bytes, size_t size, const char *magic, uint32_t format,
                                 size_t header_size) {
    kolk_snapshot_start_ start;
    KOLK_ASSERT_(header_size >= sizeof start);
    if (size < header_size || memcmp(bytes, magic, sizeof start.magic) != 0) return KOLK_NOT_A_SNAPSHOT;
    memcpy(&start, bytes, sizeof start);
    if (start.byte_order != BYTE_ORDER_MARK) return KOLK_OTHER_BYTE_ORDER;
    if (start.format != format) return KOLK_OTHER_VERSION;
    if (start.size != size || size % 8 || size == header_size) return KOLK_DAMAGED_SNAPSHOT;
    bool whole = kolk_hash_bytes_(bytes, size - 8) == kolk_snapshot_load64_(bytes + size - 8);
    return whole ? KOLK_OK : KOLK_DAMAGED_SNAPSHOT;
}

bool kolk_snapshot_is_padded_(const unsigned char *bytes, uint64_t padding, uint64_t size) {
    for (uint64_t i = padding; i < size - 8; i++)
        if (bytes[i] != 0) return false;
    return true;
}

unsigned char *kolk_snapshot_save_(unsigned char *bytes, const unsigned char *objects, size_t stride, size_t size,
                                   uint32_t n) {
    KOLK_ASSERT_(stride >= size);
    size_t step = stride == size ? (size_t)n * size : size; /* objects that lie side by side are copied as one */
    for (uint32_t i = 0; i < n; i += stride == size ? n : 1, bytes += step, objects += stride)
        memcpy(bytes, objects, step);
    return bytes;
}

const unsigned char *kolk_snapshot_load_(const unsigned char *bytes, unsigned char *objects, size_t stride, size_t size,
                                         uint32_t n) {
    KOLK_ASSERT_(stride >= size);
    size_t step = stride == size ? (size_t)n * size : size;
    for (uint32_t i = 0; i < n; i += stride == size ? n : 1, bytes += step, objects += stride) {
        memcpy(objects, bytes, step);
        kolk_tools_wrote_(objects, step);
    }
    return bytes;
}
