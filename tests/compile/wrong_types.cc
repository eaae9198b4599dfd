// expect: error: (convert|no known conversion|no matching function|incompatible)
// variant: FREE_ANOTHER_TYPE
// variant: HANDLE_OF_ANOTHER_POOL
// variant: ALLOC_ANOTHER_TYPE
// variant: MEMBER_OF_ANOTHER_TYPE static_cast
/* wrong_types.c as C++. */
#include <kolk/kolk.h>

struct bullet {
    float x, y;
};
struct voice {
    float volume, pitch;
};
union shape {
    bullet round;
    voice loud;
};

KOLK_POOL_TYPE(bullets, bullet)
KOLK_POOL_TYPE(voices, voice)
KOLK_POOL_TYPE(shapes, union shape)
KOLK_POOL_MEMBER(shapes, bullet, round)
#ifdef MEMBER_OF_ANOTHER_TYPE
KOLK_POOL_MEMBER(shapes, bullet, loud)
#endif

void use(bullets *b, voices *v, bullet *one, voice *other, bullets_handle handle);

void use(bullets *b, voices *v, bullet *one, voice *other, bullets_handle handle) {
    bullets_free(b, one);
    voices_free(v, other);
    one = bullets_get(b, handle);
#ifdef FREE_ANOTHER_TYPE
    bullets_free(b, other);
#endif
#ifdef HANDLE_OF_ANOTHER_POOL
    voices_get(v, handle);
#endif
#ifdef ALLOC_ANOTHER_TYPE
    one = voices_alloc(v);
#endif
}
