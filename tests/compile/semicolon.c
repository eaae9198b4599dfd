// expect: ok
/* A semicolon behind the macros that make functions is no error, and no warning but with -Wpedantic. Without one they
 * are silent there too: see each.c and others. */
#include <kolk/kolk.h>

struct bullet {
    float x, y;
};
union shape {
    float x;
    struct bullet bullet;
};

KOLK_POOL_TYPE(bullets, struct bullet);
KOLK_POOL_DECLARE(hidden, struct bullet);
KOLK_POOL_DEFINE(hidden, struct bullet);
KOLK_POOL_TYPE(shapes, union shape);
KOLK_POOL_MEMBER(shapes, struct bullet, bullet);
KOLK_SLOTMAP_TYPE(bodies, struct bullet);
KOLK_SHARED_TYPE(messages, struct bullet);
KOLK_QUEUE_TYPE(jobs, struct bullet);
KOLK_BYTEMAP_TYPE(peds, struct bullet);
