// expect: error: analyzer-
// flags: -fanalyzer -DKOLK_EXTERN
// compiler: gcc
// variant: DOUBLE_FREE analyzer-double-free
// variant: LEAK analyzer-malloc-leak
// variant: USE_AFTER_FREE analyzer-use-after-free
// variant: NOT_CHECKED analyzer-possible-null-dereference
// variant: FREE_BY_ANOTHER analyzer-mismatching-deallocation
// variant: TYPED_DOUBLE_FREE analyzer-double-free
// variant: TYPED_LEAK analyzer-malloc-leak
/* gcc's analyzer finds the same mistakes with pools as with malloc.
 * promise: pool.h "gcc -fanalyzer -DKOLK_EXTERN finds your double" */
#include <kolk/kolk.h>
#include <stdlib.h>

struct bullet {
    int x, y;
};

KOLK_POOL_TYPE(bullets, struct bullet)

int untyped(kolk_pool *pool, int keep) {
    int *number = kolk_pool_alloc(pool);
#ifndef NOT_CHECKED
    if (!number) return 0;
#endif
    *number = keep;
    int result = *number + 1;
#ifdef FREE_BY_ANOTHER
    free(number);
    return result;
#endif
#ifdef LEAK
    if (keep) return result;
#endif
    kolk_pool_free(pool, number);
#ifdef DOUBLE_FREE
    if (keep) kolk_pool_free(pool, number);
#endif
#ifdef USE_AFTER_FREE
    result = *number;
#endif
    return result;
}

int typed(bullets *pool, int keep) {
    struct bullet *bullet = bullets_alloc(pool);
    if (!bullet) return 0;
    bullet->x = keep;
    int result = bullet->x + 1;
#ifdef TYPED_LEAK
    if (keep) return result;
#endif
    bullets_free(pool, bullet);
#ifdef TYPED_DOUBLE_FREE
    if (keep) bullets_free(pool, bullet);
#endif
    return result;
}
