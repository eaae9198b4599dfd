/* The rest of the program sees only this header. It declares particles, but not their layout. So a particle comes into
 * being only through one of the three create functions, and nobody can forget to initialise one. */
#ifndef PARTICLES_H
#define PARTICLES_H

#include "kolk.h"

typedef struct particle particle;
KOLK_POOL_DECLARE(particles, particle)

kolk_status particles_start(particles *pool, uint32_t capacity);

/* NULL when the pool is full: the screen is full of sparkles already, just don't create another. */
particle *particles_create(particles *pool, double x, double y);
particle *particles_create_thrown(particles *pool, double x, double y, double angle);
particle *particles_create_moving(particles *pool, double x, double y, double dx, double dy, int frames);

/* Moves all of them by one frame; those whose time is up are freed. */
void particles_animate(particles *pool);
void particles_print(const particles *pool);

#endif
