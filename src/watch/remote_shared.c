/* remote_shared.c: the statistics of a shared pool of another process. See remote.h. */
#include "remote.h"

#include "../shared/shared_inside.h"

#if KOLK_REMOTE_

bool kolk_remote_shared_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    const kolk_shared *pool = (const kolk_shared *)copy;
    const kolk_shared_inside_ *inside =
        (const kolk_shared_inside_ *)kolk_remote_copy_(remote, pool->inside, sizeof *inside);
    (void)there;
    if (!inside || !kolk_remote_store_(remote, &inside->store, &pool->inside->store, "shared", &out->stats))
        return false;
    kolk_shared_add_waits_(inside, &out->stats);
    if (inside->store.lives) { /* which count the beginnings and the ends of lives */
        out->has_allocs = kolk_remote_sum_(remote, inside->store.lives, kolk_store_fresh_(&inside->store),
                                           sizeof(uint32_t), &out->allocs);
        out->allocs = (out->allocs + out->stats.count) / 2;
    }
    return true;
}

#endif
