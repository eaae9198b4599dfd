// expect: ok
// flags: -Wpedantic -Wconversion -Wshadow -Wundef
/* The type of storage composes with all specifiers of a declaration, and its size is a constant. */
#include <kolk/kolk.h>

struct bullet {
    float x, y;
};

static KOLK_POOL_STORAGE(struct bullet, 256) memory;
static _Thread_local KOLK_POOL_STORAGE(struct bullet, 16) memory_of_each_thread;
_Alignas(4096) static KOLK_POOL_STORAGE(char, 100) aligned;
typedef KOLK_POOL_STORAGE(double, 1) one;

_Static_assert(sizeof memory >= KOLK_POOL_BYTES(sizeof(struct bullet), _Alignof(struct bullet), 256), "enough");
_Static_assert(_Alignof(one) >= 8, "aligned for a pool's words");
_Static_assert(KOLK_POOL_BYTES(24, 8, 1000) == 24 * 1000 + 1024 + 8 * 16 + 2 * 4000, "slots, states, bits, two arrays");

kolk_status init(kolk_pool *pool, int which) {
    struct level {
        char name[3];
        KOLK_POOL_STORAGE(struct bullet, 4) inside;
    };
    static struct level level;
    kolk_pool_desc desc = {.object_size = 8, .memory = &memory, .memory_size = sizeof memory};
    if (which == 1) desc.memory = &memory_of_each_thread, desc.memory_size = sizeof memory_of_each_thread;
    if (which == 2) desc.memory = &aligned, desc.memory_size = sizeof aligned;
    if (which == 3) desc.memory = &level.inside, desc.memory_size = sizeof level.inside;
    return kolk_pool_init(pool, &desc);
}
