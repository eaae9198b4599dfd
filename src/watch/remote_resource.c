/* remote_resource.c: the statistics of a resource pool of another process. See remote.h. */
#include "remote.h"

#include "../resource/resource_inside.h"

#if KOLK_REMOTE_

bool kolk_remote_resource_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    kolk_resource_inside_ *inside = (kolk_resource_inside_ *)kolk_remote_copy_(remote, there, sizeof *inside);
    (void)copy;
    if (!inside) return false;
    kolk_resource_sum_up_(inside, &inside->listed);
    inside->listed.name = "";
    kolk_resource_fill_(inside, &out->stats);
    out->more = &inside->listed;
    out->has_allocs = true;
    out->allocs = inside->counts.borrows;
    return true;
}

#endif
