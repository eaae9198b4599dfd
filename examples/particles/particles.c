#include "particles.h"

#include <math.h>
#include <stdio.h>

struct particle {
    double x, y, dx, dy;
    int frames_left;
};
KOLK_POOL_DEFINE(particles, particle)

kolk_status particles_start(particles *pool, uint32_t capacity) {
    return particles_init(pool, &(kolk_pool_desc){.name = "particles", .capacity = capacity});
}

particle *particles_create_moving(particles *pool, double x, double y, double dx, double dy, int frames) {
    particle *created = particles_alloc(pool);
    if (created) *created = (particle){x, y, dx, dy, frames};
    return created;
}

particle *particles_create_thrown(particles *pool, double x, double y, double angle) {
    return particles_create_moving(pool, x, y, cos(angle), sin(angle), 3);
}

particle *particles_create(particles *pool, double x, double y) {
    return particles_create_moving(pool, x, y, 0, 0, 2);
}

void particles_animate(particles *pool) {
    KOLK_EACH(particles, each, pool) {
        each->x += each->dx;
        each->y += each->dy;
        if (--each->frames_left == 0) particles_free(pool, each);
    }
}

void particles_print(const particles *pool) {
    printf("%u alive:", particles_count(pool));
    KOLK_EACH(particles, each, pool) printf("  (%g, %g) %d left", each->x, each->y, each->frames_left);
    printf("\n");
}
