/* ended.c: see ended.h. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../os/clock.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "ended.h"

static struct {
    uint32_t lock;
    kolk_ended_ all[KOLK_ENDED_];
} ended_spaces;

#define EACH_ENDED(at) for (kolk_ended_ *at = ended_spaces.all; at < ended_spaces.all + KOLK_ENDED_; at++)

/* `place` may be NULL. */
static bool take_ended(kolk_ended_ *place, kolk_ended_ *out) {
    if (!place) return false;
    *out = *place;
    kolk_store_(&place->space, 0, KOLK_RELEASE_);
    return true;
}

static void write_ended(kolk_ended_ *free_place, kolk_ended_ ended) {
    uintptr_t space = ended.space;
    KOLK_ASSERT_(space && !free_place->space);
    ended.space = 0;
    *free_place = ended;
    kolk_store_(&free_place->space, space, KOLK_RELEASE_);
}

static bool take_expired(int64_t since, kolk_ended_ *out) {
    kolk_ended_ *expired = NULL;
    kolk_lock_word_(&ended_spaces.lock);
    EACH_ENDED(at) if (at->space && at->since <= since) expired = at;
    bool found = take_ended(expired, out);
    kolk_unlock_word_(&ended_spaces.lock);
    return found;
}

size_t kolk_ended_expire_(int64_t since) {
    size_t bytes = 0;
    for (kolk_ended_ expired; take_expired(since, &expired); bytes += expired.bytes)
        kolk_memory_release_((void *)expired.space, expired.size);
    return bytes;
}

bool kolk_ended_put_(const kolk_ended_ *ended) {
    int64_t long_ago = kolk_now_ns_() - KOLK_ENDED_TIME_;
    size_t bytes = ended->bytes;
    kolk_ended_ *free_place = NULL;
    kolk_ended_expire_(long_ago);
    if (ended->since <= long_ago) return false;
    kolk_lock_word_(&ended_spaces.lock);
    EACH_ENDED(at) {
        if (at->space)
            bytes += at->bytes;
        else
            free_place = at;
    }
    bool keeps = free_place && bytes <= KOLK_ENDED_BYTES_;
    if (keeps) write_ended(free_place, *ended);
    kolk_unlock_word_(&ended_spaces.lock);
    return keeps;
}

bool kolk_ended_take_(size_t size, kolk_ended_ *out) {
    kolk_ended_ *last = NULL;
    kolk_lock_word_(&ended_spaces.lock);
    EACH_ENDED(at) if (at->space && at->size == size && (!last || at->since > last->since)) last = at;
    bool found = take_ended(last, out);
    kolk_unlock_word_(&ended_spaces.lock);
    return found;
}

bool kolk_ended_has_(const void *address) {
    bool found = false;
    kolk_lock_word_(&ended_spaces.lock);
    EACH_ENDED(at) found |= at->space && (uintptr_t)address - at->space < at->size;
    kolk_unlock_word_(&ended_spaces.lock);
    return found;
}

#endif
