// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
// together: yes
// variant: HANDLE_OF_ANOTHER_MAP
// variant: HANDLE_OF_A_POOL
// variant: UNTYPED_HANDLE
// variant: ADD_TO_ANOTHER_HANDLE
// variant: ANOTHER_MAP
// variant: A_POOL
// variant: UNTYPED_MAP
// variant: ADD_ANOTHER_TYPE
// variant: GET_ANOTHER_TYPE
// variant: INDEX_ANOTHER_TYPE
// variant: HANDLE_OF_ANOTHER_TYPE
// variant: OBJECTS_OF_ANOTHER_TYPE
// variant: AT_ANOTHER_TYPE
// variant: SLOT_OF_ANOTHER_MAP
// variant: REMOVE_FROM_ANOTHER_MAP
// variant: REMOVE_AN_OBJECT
// variant: EACH_ANOTHER_TYPE
/* Each variant uses something of one slot map, or of a pool, as if it belonged to another slot map. */
#include <kolk/kolk.h>

typedef struct body {
    float x, y;
} body;
typedef struct voice {
    float volume, pitch;
} voice;

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
#ifdef UNTYPED_MAP
    bodies_clear(&b->map);
#endif
#ifdef ADD_ANOTHER_TYPE
    one = voices_add(v, &of_voice);
#endif
#ifdef GET_ANOTHER_TYPE
    other = bodies_get(b, handle);
#endif
#ifdef INDEX_ANOTHER_TYPE
    bodies_index(b, other);
#endif
#ifdef HANDLE_OF_ANOTHER_TYPE
    handle = bodies_handle_of(b, other);
#endif
#ifdef OBJECTS_OF_ANOTHER_TYPE
    other = bodies_objects(b);
#endif
#ifdef AT_ANOTHER_TYPE
    other = bodies_at(b, 0);
#endif
#ifdef SLOT_OF_ANOTHER_MAP
    voices_slot(v, handle);
#endif
#ifdef REMOVE_FROM_ANOTHER_MAP
    voices_remove(v, handle);
#endif
#ifdef REMOVE_AN_OBJECT
    bodies_remove(b, one);
#endif
#ifdef EACH_ANOTHER_TYPE
    KOLK_EACH(bodies, each, v) one = each;
#endif
}
