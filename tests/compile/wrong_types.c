// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
/* Each WRONG line uses something of one pool as if it belonged to another.
 * promise: typed.h "a pool or a handle of the wrong type" */
#include <kolk/kolk.h>

typedef struct bullet {
    float x, y;
} bullet;
typedef struct voice {
    float volume, pitch;
} voice;

KOLK_POOL_TYPE(bullets, bullet)
KOLK_POOL_TYPE(voices, voice)

void use(bullets *b, voices *v, bullet *one, voice *other, bullets_handle handle) {
    voice *some[2];
    bullets_free(b, one);
    voices_free(v, other);
    one = bullets_get(b, handle);
    other = voices_alloc(v);
    voices_alloc_n(v, some, 2);
    if (voices_index(v, other) == bullets_index(b, one)) return;
    KOLK_EACH(bullets, each, b) one = each;
    WRONG(bullets_free(b, other));
    WRONG(voices_get(v, handle));
    WRONG(bullets_get(b, handle.untyped));
    WRONG(bullets_free(v, one));
    WRONG(bullets_clear(&b->pool));
    WRONG(one = voices_alloc(v));
    WRONG(other = bullets_get(b, handle));
    WRONG(bullets_alloc_n(b, some, 2));
    WRONG(one = voices_alloc_run(v, 2));
    WRONG(bullets_index(b, other));
    WRONG(KOLK_EACH(bullets, each, v) bullets_free(b, each));
}
