// expect: ok
// flags: -Wpedantic
/* A semicolon after the macros that make functions is optional: neither way causes a warning. */
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
KOLK_RESOURCE_TYPE(links, struct bullet);

KOLK_POOL_TYPE(bullets2, struct bullet)
KOLK_POOL_DECLARE(hidden2, struct bullet)
#pragma GCC diagnostic push
KOLK_POOL_DEFINE(hidden2, struct bullet)
#pragma GCC diagnostic pop
KOLK_POOL_TYPE(shapes2, union shape)
KOLK_POOL_MEMBER(shapes2, struct bullet, bullet)
KOLK_SLOTMAP_TYPE(bodies2, struct bullet)
extern int any_variable;
KOLK_SHARED_TYPE(messages2, struct bullet)
struct any_struct;
KOLK_QUEUE_TYPE(jobs2, struct bullet)
int any_function(void);
KOLK_BYTEMAP_TYPE(peds2, struct bullet)
typedef int any_type;
KOLK_RESOURCE_TYPE(links2, struct bullet)
any_type another_function(void) {
    return 1;
}
__asm__("");
