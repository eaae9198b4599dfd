/* The ParticlePool of Game Programming Patterns: create and animate. The pool knows which particles are in use, so a
 * particle needs no flag, and animate visits no free one. */
#include "kolk.h"
#include <stdio.h>

struct particle {
    double x, y, x_velocity, y_velocity;
    int frames_left;
};
KOLK_POOL_TYPE(particles, struct particle)
KOLK_POOL_STATIC(particles, pool, 4);

/* Returns false when all particles are in use: a sparkle less, which nobody notices. */
static bool create(double x, double y, double x_velocity, double y_velocity, int lifetime) {
    struct particle *made = particles_alloc(&pool);
    if (made) *made = (struct particle){x, y, x_velocity, y_velocity, lifetime};
    return made;
}

static void animate(void) {
    KOLK_EACH(particles, each, &pool) {
        each->x += each->x_velocity;
        each->y += each->y_velocity;
        if (--each->frames_left == 0) particles_free(&pool, each);
    }
}

int main(void) {
    for (int n = 1; n <= 5; n++)
        if (!create(0, 0, n, 1, 2 * n)) printf("particle %d is not created\n", n);
    for (int frame = 0; frame < 5; frame++) {
        printf("%u in use:", particles_count(&pool));
        KOLK_EACH(particles, each, &pool) printf(" (%g, %g)", each->x, each->y);
        printf("\n");
        animate();
    }
    return 0;
}
