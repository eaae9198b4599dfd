// expect: ok
// flags: -Wpedantic -Wconversion -Wshadow -Wundef -Wdangling-else
// variant: SHARED
/* KOLK_EACH is one statement, nests, and takes any expression for the pool, even a shared one. */
#include <kolk/kolk.h>

#ifdef SHARED
KOLK_SHARED_TYPE(numbers, int)
#else
KOLK_POOL_TYPE(numbers, int)
#endif

int sum(numbers *pools, int n) {
    int total = 0;
    for (int i = 0; i < n; i++)
        KOLK_EACH(numbers, it, pools + i) total += *it;
    if (total)
        KOLK_EACH(numbers, it, n ? &pools[0] : &pools[1]) total -= *it;
    else
        total = 1;
    KOLK_EACH(numbers, a, pools) {
        KOLK_EACH(numbers, b, pools) {
            if (a == b) continue;
            if (*a == *b) return total;
            if (*b > 9) break;
        }
    }
    return total;
}
