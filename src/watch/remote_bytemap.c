/* remote_bytemap.c: the statistics of a byte map of another process. See remote.h. */
#include "remote.h"

#include "kolk/bytemap.h"

#if KOLK_REMOTE_

bool kolk_remote_bytemap_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    kolk_bytemap *pool = (kolk_bytemap *)copy;
    (void)there;
    if (!pool->initialized_state || pool->count < 0) return false;
    pool->byte_map = (uint8_t *)kolk_remote_copy_(remote, pool->byte_map, (size_t)pool->count);
    if (!pool->byte_map) return false;
    kolk_bytemap_stats(pool, &out->stats);
    if (pool->object_size <= UINT32_MAX)
        kolk_remote_see_(remote, pool->object_list, (uint64_t)pool->count * pool->object_size);
    return true;
}

#endif
