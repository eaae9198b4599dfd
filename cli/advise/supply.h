/* cli/advise/supply.h: the pool of a verdict, from which a replay takes its objects. */
#ifndef CLI_SUPPLY_H
#define CLI_SUPPLY_H

#include "verdict.h"

enum { SUPPLY_MALLOC = ADVICE_LEAVE }; /* the other supplies are the values of enum advice */

struct supply {
    const struct verdict *verdict; /* other than ADVICE_LEAVE */
    kolk_pool pool;
    kolk_shared shared;
    kolk_shared_local local;
};

/* Makes the pool of supply->verdict, exactly as the advice describes it. Returns a string constant that tells the
 * problem, or NULL if there is none. The rest of the struct must be zero. */
const char *supply_init(struct supply *supply);
void supply_deinit(struct supply *supply); /* also if it was not made */

/* Returns true if nothing is alive in the pool, and it is valid. */
bool supply_is_sound(const struct supply *supply);

/* Returns the bytes that the pool has committed. */
uint64_t supply_bytes(const struct supply *supply);

/* Does what the first pool of a process does once, so that no source pays for it. */
void supply_begin_kolk(const struct verdict *verdict);

/* Makes malloc as it is in a new process: its free pages belong to the system, and so will those that are freed. */
void supply_renew_malloc(void);

/* Returns the processor time of this thread, in nanoseconds. */
double supply_now(void);

/* Returns an object, or NULL if the pool is full. `advice` is that of the verdict, and a compile-time constant where
 * the caller knows it. */
static inline void *supply_take(struct supply *supply, int advice) {
    return advice == ADVICE_SHARED ? kolk_shared_alloc(&supply->local) : kolk_pool_alloc(&supply->pool);
}

/* Frees an object. An arena frees all at once, when none is alive any more. */
static inline void supply_give(struct supply *supply, int advice, void *object, size_t alive) {
    if (advice == ADVICE_SHARED)
        kolk_shared_free(&supply->local, object);
    else if (advice == ADVICE_POOL)
        kolk_pool_free(&supply->pool, object);
    else if (alive == 0)
        kolk_pool_clear(&supply->pool);
}

#endif
