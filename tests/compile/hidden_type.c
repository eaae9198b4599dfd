// expect: error: (implicit declaration|undeclared function|invalid declaration|incomplete)
// flags: -Werror=implicit-function-declaration
// variant: ALLOC_OUTSIDE
// variant: ALLOC_AT_OUTSIDE
// variant: INIT_OUTSIDE
// variant: LOOK_INSIDE (incomplete|undefined type)
/* Code that sees only a pool's declaration may use its objects, but can neither allocate nor inspect them.
 * promise: typed.h "only this file's functions create objects" */
#include <kolk/kolk.h>

typedef struct particle particle;
KOLK_POOL_DECLARE(particles, particle)

uint32_t use(particles *all, particles_handle handle) {
    particle *one = particles_get(all, handle);
    KOLK_EACH(particles, each, all) particles_free(all, each);
#ifdef ALLOC_OUTSIDE
    particles_free(all, particles_alloc(all));
#endif
#ifdef ALLOC_AT_OUTSIDE
    particles_free(all, particles_alloc_at(all, handle));
#endif
#ifdef INIT_OUTSIDE
    particles_init(all, 0);
#endif
#ifdef LOOK_INSIDE
    particles_free(all, one + 1);
#endif
    return particles_index(all, one);
}
