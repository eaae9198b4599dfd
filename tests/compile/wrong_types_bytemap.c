// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
// together: yes
// variant: DELETE_ANOTHER_TYPE
// variant: ANOTHER_POOL
// variant: UNTYPED_POOL
// variant: NEW_ANOTHER_TYPE
// variant: GET_ANOTHER_TYPE
// variant: INDEX_ANOTHER_TYPE
/* Each variant uses something of one of the GTA trilogy's pools as if it belonged to another. */
#include <kolk/kolk.h>

typedef struct ped {
    float health;
} ped;
typedef struct vehicle {
    int wheels;
} vehicle;

KOLK_BYTEMAP_TYPE(peds, ped)
KOLK_BYTEMAP_TYPE(vehicles, vehicle)

void use(peds *p, vehicles *v, ped *one, vehicle *other, int handle);

void use(peds *p, vehicles *v, ped *one, vehicle *other, int handle) {
    peds_delete(p, one);
    one = peds_get_at(p, handle);
    other = vehicles_new(v);
    if (vehicles_get_index(v, other) == peds_get_index(p, one)) return;
#ifdef DELETE_ANOTHER_TYPE
    peds_delete(p, other);
#endif
#ifdef ANOTHER_POOL
    peds_delete(v, one);
#endif
#ifdef UNTYPED_POOL
    peds_clear(&p->pool);
#endif
#ifdef NEW_ANOTHER_TYPE
    one = vehicles_new(v);
#endif
#ifdef GET_ANOTHER_TYPE
    other = peds_get_at(p, handle);
#endif
#ifdef INDEX_ANOTHER_TYPE
    peds_get_index(p, other);
#endif
}
