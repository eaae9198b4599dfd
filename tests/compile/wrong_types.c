// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
// together: yes
// variant: FREE_ANOTHER_TYPE
// variant: HANDLE_OF_ANOTHER_POOL
// variant: UNTYPED_HANDLE
// variant: ANOTHER_POOL
// variant: UNTYPED_POOL
// variant: ALLOC_ANOTHER_TYPE
// variant: GET_ANOTHER_TYPE
// variant: ALLOC_N_ANOTHER_TYPE
// variant: ALLOC_RUN_ANOTHER_TYPE
// variant: INDEX_ANOTHER_TYPE
// variant: EACH_ANOTHER_TYPE
/* Each variant uses something of one pool as if it belonged to another.
 * promise: typed.h "a pool or a handle of the wrong type"; README.md "A handle of another ... error in C++" */
#include <kolk/kolk.h>

typedef struct bullet {
    float x, y;
} bullet;
typedef struct voice {
    float volume, pitch;
} voice;

KOLK_POOL_TYPE(bullets, bullet)
KOLK_POOL_TYPE(voices, voice)

void use(bullets *b, voices *v, bullet *one, voice *other, bullets_handle handle);

void use(bullets *b, voices *v, bullet *one, voice *other, bullets_handle handle) {
    voice *some[2];
    bullets_free(b, one);
    voices_free(v, other);
    one = bullets_get(b, handle);
    other = voices_alloc(v);
    voices_alloc_n(v, some, 2);
    if (voices_index(v, other) == bullets_index(b, one)) return;
    KOLK_EACH(bullets, each, b) one = each;
#ifdef FREE_ANOTHER_TYPE
    bullets_free(b, other);
#endif
#ifdef HANDLE_OF_ANOTHER_POOL
    voices_get(v, handle);
#endif
#ifdef UNTYPED_HANDLE
    bullets_get(b, handle.untyped);
#endif
#ifdef ANOTHER_POOL
    bullets_free(v, one);
#endif
#ifdef UNTYPED_POOL
    bullets_clear(&b->pool);
#endif
#ifdef ALLOC_ANOTHER_TYPE
    one = voices_alloc(v);
#endif
#ifdef GET_ANOTHER_TYPE
    other = bullets_get(b, handle);
#endif
#ifdef ALLOC_N_ANOTHER_TYPE
    bullets_alloc_n(b, some, 2);
#endif
#ifdef ALLOC_RUN_ANOTHER_TYPE
    one = voices_alloc_run(v, 2);
#endif
#ifdef INDEX_ANOTHER_TYPE
    bullets_index(b, other);
#endif
#ifdef EACH_ANOTHER_TYPE
    KOLK_EACH(bullets, each, v) bullets_free(b, each);
#endif
}
