/* remote.c: copies bytes of another process. See remote.h. */
#include "remote.h"

#if KOLK_REMOTE_

#include "../core/tools.h"
#include "../os/memory.h"
#include "../os/peek.h"

#include <string.h>

#define COPIES ((size_t)1 << 29) /* address space for the copies of one pool; 2^32 bits */
#define LEAST  2048u             /* a small read takes as long as one of 2 KiB */

bool kolk_remote_read_(kolk_remote_ *remote, void *to, const void *from, size_t size) {
    uint64_t cost = size > LEAST ? size : LEAST;
    if (cost > remote->to_read) return false;
    remote->to_read -= cost;
    if (!kolk_peek_of_(remote->process, to, from, size)) return false;
    kolk_tools_wrote_(to, size);
    return true;
}

void *kolk_remote_copy_(kolk_remote_ *remote, const void *from, size_t size) {
    if (!remote->copies) remote->copies = kolk_memory_reserve_(COPIES);
    size_t end = remote->used + (size + 63) / 64 * 64;
    if (!remote->copies || size > COPIES || end > COPIES) return NULL;
    if (end > remote->committed) {
        if (!kolk_memory_commit_(remote->copies + remote->committed, end - remote->committed)) return NULL;
        remote->committed = end;
    }
    void *copy = remote->copies + remote->used;
    remote->used = end;
    return kolk_remote_read_(remote, copy, from, size) ? copy : NULL;
}

bool kolk_remote_sum_(kolk_remote_ *remote, const void *from, uint32_t n, size_t step, uint64_t *sum) {
    unsigned char bytes[4096];
    if ((uint64_t)n * step > remote->to_read / 2) return false;
    const unsigned char *at = (const unsigned char *)from;
    for (size_t left = n * step; left;) {
        size_t size = left < sizeof bytes ? left : sizeof bytes;
        uint32_t number;
        if (!kolk_remote_read_(remote, bytes, at, size)) return false;
        for (size_t i = 0; i < size; i += step) {
            if (step == 1)
                number = bytes[i] % 128u;
            else
                memcpy(&number, bytes + i, sizeof number);
            *sum += number;
        }
        at += size;
        left -= size;
    }
    return true;
}

void kolk_remote_end_(kolk_remote_ *remote) {
    if (remote->copies) kolk_memory_release_(remote->copies, COPIES);
}

#endif
