/* supply.c: see supply.h. */
#define _GNU_SOURCE
#include "supply.h"

#include <time.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

const char *supply_init(struct supply *supply) {
    const struct verdict *verdict = supply->verdict;
    kolk_status status;
    if (verdict->advice == ADVICE_SHARED) {
        kolk_shared_desc desc = {.object_size = verdict->source->most,
                                 .object_align = verdict->align,
                                 .capacity = verdict->capacity,
                                 .max_threads = verdict->max_threads};
        status = kolk_shared_init(&supply->shared, &desc);
        if (status == KOLK_OK) status = kolk_shared_local_init(&supply->local, &supply->shared);
    } else {
        kolk_pool_desc desc = verdict_pool(verdict, verdict->order);
        status = kolk_pool_init(&supply->pool, &desc);
    }
    return status == KOLK_OK ? NULL : kolk_status_text(status);
}

void supply_deinit(struct supply *supply) {
    kolk_shared_local_deinit(&supply->local);
    kolk_shared_deinit(&supply->shared);
    kolk_pool_deinit(&supply->pool);
}

bool supply_is_sound(const struct supply *supply) {
    if (supply->verdict->advice == ADVICE_SHARED)
        return kolk_shared_count(&supply->shared) == 0 && kolk_shared_is_valid(&supply->shared);
    return kolk_pool_count(&supply->pool) == 0 && kolk_pool_is_valid(&supply->pool);
}

uint64_t supply_bytes(const struct supply *supply) {
    kolk_stats stats;
    if (supply->verdict->advice == ADVICE_SHARED)
        kolk_shared_stats(&supply->shared, &stats);
    else
        kolk_pool_stats(&supply->pool, &stats);
    return stats.bytes_committed;
}

void supply_begin_kolk(const struct verdict *verdict) {
    kolk_pool pool = {0};
    kolk_pool_desc desc = verdict_pool(verdict, KOLK_REUSE_LIFO);
    desc.capacity = 1;
    void *object = kolk_pool_init(&pool, &desc) == KOLK_OK ? kolk_pool_alloc(&pool) : NULL;
    if (object) kolk_pool_free(&pool, object);
    kolk_pool_deinit(&pool);
}

void supply_renew_malloc(void) {
#if defined(__GLIBC__)
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    malloc_trim(0);
#endif
}

double supply_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
