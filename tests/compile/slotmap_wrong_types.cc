// expect: error: (convert|no known conversion|no matching function|incompatible)
// variant: HANDLE_OF_ANOTHER_MAP
// variant: HANDLE_OF_A_POOL
// variant: UNTYPED_HANDLE
// variant: ADD_TO_ANOTHER_HANDLE
// variant: ANOTHER_MAP
// variant: A_POOL
// variant: ADD_ANOTHER_TYPE
// variant: INDEX_ANOTHER_TYPE
// variant: EACH_ANOTHER_TYPE
/* slotmap_wrong_types.c as C++. */
#include <kolk/kolk.h>

struct body {
    float x, y;
};
struct voice {
    float volume, pitch;
};

KOLK_SLOTMAP_TYPE(bodies, body)
KOLK_SLOTMAP_TYPE(voices, voice)
KOLK_POOL_TYPE(bullets, body)

void use(bodies *b, voices *v, bullets *pool, body *one, voice *other, bodies_handle handle);

void use(bodies *b, voices *v, bullets *pool, body *one, voice *other, bodies_handle handle) {
    voices_handle of_voice;
    one = bodies_get(b, handle);
    other = voices_add(v, &of_voice);
    if (voices_index(v, other) == bodies_index(b, one) || !bodies_remove(b, handle)) return;
    KOLK_EACH(bodies, each, b) one = each;
    KOLK_EACH(bullets, each, pool) one = each;
#ifdef HANDLE_OF_ANOTHER_MAP
    voices_get(v, handle);
#endif
#ifdef HANDLE_OF_A_POOL
    bodies_get(b, bullets_handle_of(pool, one));
#endif
#ifdef UNTYPED_HANDLE
    bodies_remove(b, handle.untyped);
#endif
#ifdef ADD_TO_ANOTHER_HANDLE
    voices_add(v, &handle);
#endif
#ifdef ANOTHER_MAP
    bodies_clear(v);
#endif
#ifdef A_POOL
    bodies_clear(pool);
#endif
#ifdef ADD_ANOTHER_TYPE
    one = voices_add(v, &of_voice);
#endif
#ifdef INDEX_ANOTHER_TYPE
    bodies_index(b, other);
#endif
#ifdef EACH_ANOTHER_TYPE
    KOLK_EACH(bodies, each, v) one = each;
#endif
}
