// expect: error: incompatible
// c++: error: (convert|conversion|no matching function|incompatible)
// flags: -Wpedantic -Wconversion -Wshadow
/* Each WRONG line uses something of one of the GTA trilogy's pools as if it belonged to another. */
#include <kolk/kolk.h>

typedef struct ped {
    float health;
} ped;
typedef struct vehicle {
    int wheels;
} vehicle;

KOLK_BYTEMAP_TYPE(peds, ped)
KOLK_BYTEMAP_TYPE(vehicles, vehicle)

void use(peds *p, vehicles *v, ped *one, vehicle *other, int handle) {
    peds_delete(p, one);
    one = peds_get_at(p, handle);
    other = vehicles_new(v);
    if (vehicles_get_index(v, other) == peds_get_index(p, one)) return;
    WRONG(peds_delete(p, other));
    WRONG(peds_delete(v, one));
    WRONG(peds_clear(&p->pool));
    WRONG(one = vehicles_new(v));
    WRONG(other = peds_get_at(p, handle));
    WRONG(peds_get_index(p, other));
}
