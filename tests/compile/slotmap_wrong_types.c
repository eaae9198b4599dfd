// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
/* Each WRONG line uses something of one slot map, or of a pool, as if it belonged to another slot map. */
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

void use(bodies *b, voices *v, bullets *pool, body *one, voice *other, bodies_handle handle) {
    voices_handle of_voice;
    one = bodies_get(b, handle);
    other = voices_add(v, &of_voice);
    if (voices_index(v, other) == bodies_index(b, one) || !bodies_remove(b, handle)) return;
    KOLK_EACH(bodies, each, b) one = each;
    KOLK_EACH(bullets, each, pool) one = each;
    WRONG(voices_get(v, handle));
    WRONG(bodies_get(b, bullets_handle_of(pool, one)));
    WRONG(bodies_remove(b, handle.untyped));
    WRONG(voices_add(v, &handle));
    WRONG(bodies_clear(v));
    WRONG(bodies_clear(pool));
    WRONG(bodies_clear(&b->map));
    WRONG(one = voices_add(v, &of_voice));
    WRONG(other = bodies_get(b, handle));
    WRONG(bodies_index(b, other));
    WRONG(handle = bodies_handle_of(b, other));
    WRONG(other = bodies_objects(b));
    WRONG(other = bodies_at(b, 0));
    WRONG(voices_slot(v, handle));
    WRONG(voices_remove(v, handle));
    WRONG(bodies_remove(b, one));
    WRONG(KOLK_EACH(bodies, each, v) one = each);
}
